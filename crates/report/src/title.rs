//! Titles of measures in words: `time_to_full_redundancy_s` is shown as "Time to full redundancy", since its
//! unit is shown beside its value.
//!
//! A study may give a better title; this is the one that its name gives.

/// Endings of names, in underscores, that say what is taken of a quantity, and how a title says it.
const STATISTICS: [(&str, &str, &str); 7] = [
    ("_mean", "Mean ", ""),
    ("_min", "Minimum ", ""),
    ("_max", "Maximum ", ""),
    ("_p50", "", ", median"),
    ("_p90", "", ", 90th percentile"),
    ("_p99", "", ", 99th percentile"),
    ("_p999", "", ", 99.9th percentile"),
];

/// Words that no title ends with: short forms of units, which are shown beside the value.
const UNIT_WORDS: [&str; 9] = ["s", "ms", "us", "ns", "bytes", "byte", "fraction", "percent", "%"];

/// The title that a name and its unit give: the words of the name, without the unit at their end.
///
/// ```
/// use towtank_report::title;
/// assert_eq!(title::of("put_latency_p99_us", "us"), "Put latency, 99th percentile");
/// assert_eq!(title::of("share[batch]", "fraction"), "Share of batch");
/// ```
#[must_use]
pub fn of(name: &str, unit: &str) -> String {
    let (base, label) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((base, label)) => (base, format!(" of {label}")),
        None => (name, String::new()),
    };
    let words = without_unit(base, unit);
    let found = STATISTICS.iter().find_map(|(ending, before, after)| {
        let rest = words.strip_suffix(ending).filter(|rest| !rest.is_empty())?;
        Some(format!("{before}{}{after}", rest.replace('_', " ")))
    });
    capital(&(found.unwrap_or_else(|| words.replace('_', " ")) + &label))
}

/// A name without the unit at its end; a rate of things is named as one.
fn without_unit(name: &str, unit: &str) -> String {
    if unit.ends_with("/s") {
        let spelled = format!("_{}", unit.replace('/', "_per_"));
        if let Some(rest) = name.strip_suffix(&spelled).filter(|rest| !rest.is_empty()) {
            return rest.to_owned();
        }
        let rest = ["_per_second", "_per_s"].iter().find_map(|ending| name.strip_suffix(ending));
        return rest.map_or_else(|| name.to_owned(), |things| format!("rate_of_{things}"));
    }
    let own = (!unit.is_empty()).then_some(unit);
    let strip = |word: &str| {
        let rest = name.strip_suffix(word)?.strip_suffix('_')?;
        (!rest.is_empty()).then(|| rest.to_owned())
    };
    own.into_iter().chain(UNIT_WORDS).find_map(strip).unwrap_or_else(|| name.to_owned())
}

/// The same with a capital at the beginning.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// What is wrong with a title, if anything: it is not written in words, or it ends with the unit.
#[must_use]
pub fn fault(title: &str, unit: &str) -> Option<&'static str> {
    let lower = title.to_lowercase();
    let last = lower.rsplit(' ').next().unwrap_or_default();
    let unit = unit.to_lowercase();
    let spelled = unit.replace('/', " per ");
    if title.trim().is_empty() {
        Some("it is empty")
    } else if title.contains('_') {
        Some("it is a name, not words")
    } else if UNIT_WORDS.contains(&last) {
        Some("it ends with a unit")
    } else if !unit.is_empty() && (last == unit || lower.ends_with(&format!(" {spelled}"))) {
        Some("it repeats the unit of its value")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{fault, of};

    #[test]
    fn a_title_is_the_name_in_words_without_its_unit() {
        let cases = [
            ("time_to_full_redundancy_s", "s", "Time to full redundancy"),
            ("aggregate_rate_bytes_per_s", "bytes/s", "Aggregate rate"),
            ("requests_per_s", "requests/s", "Rate of requests"),
            ("chunks_per_second", "chunks/s", "Rate of chunks"),
            ("moved_bytes", "bytes", "Moved"),
            ("lost_objects", "objects", "Lost"),
            ("objects_affected", "objects", "Objects affected"),
            ("disk_busy_max", "fraction", "Maximum disk busy"),
            ("latency_p99_s[batch job]", "s", "Latency, 99th percentile of batch job"),
            ("little_ratio", "", "Little ratio"),
            ("s", "s", "S"),
        ];
        for (name, unit, title) in cases {
            assert_eq!(of(name, unit), title, "{name}");
        }
    }

    #[test]
    fn a_title_that_is_a_name_or_ends_with_a_unit_is_found() {
        assert_eq!(fault("Time until all copies are back", "s"), None);
        assert_eq!(fault("Time to full redundancy s", "s"), Some("it ends with a unit"));
        assert_eq!(fault("Moved bytes", "bytes"), Some("it ends with a unit"));
        assert_eq!(fault("Lost objects", "objects"), Some("it repeats the unit of its value"));
        assert_eq!(fault("Chunks per s", "chunks/s"), Some("it ends with a unit"));
        assert_eq!(fault("Done jobs per s", "jobs/s"), Some("it ends with a unit"));
        assert_eq!(fault("lost_objects", ""), Some("it is a name, not words"));
        assert_eq!(fault(" ", ""), Some("it is empty"));
    }
}
