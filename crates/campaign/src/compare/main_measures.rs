//! The measures by which results are compared, and which way each of them is better.

use towtank_metrics::Better;
use towtank_report::{Measure, title};

use super::Side;
use super::against::Against;
use super::row::{Row, Verdict};

/// The most measures where no study names its own: a choice, so that they fit a screen.
const UNNAMED_MAX: usize = 8;

/// A measure by which results are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Main {
    pub name: String,
    /// In words, without the unit.
    pub title: String,
}

/// The main measures, the first of all first: those that the studies name, or else their headlines and the
/// first ones that differ. Those without a value anywhere are left out.
pub(crate) fn main_measures(first: &Side, others: &[Against<'_>]) -> Vec<Main> {
    let sides = || std::iter::once(first).chain(others.iter().map(|other| other.side));
    let mut names: Vec<&str> = sides().filter_map(|side| side.report.headline.as_deref()).collect();
    let chosen = sides().flat_map(|side| &side.report.answer.measures);
    names.extend(chosen.map(String::as_str));
    let rows = || others.iter().flat_map(|other| &other.rows);
    if sides().all(|side| side.report.answer.measures.is_empty()) {
        let differs = |row: &&Row| !matches!(row.verdict(), Verdict::Equal | Verdict::NoValue);
        names.extend(rows().filter(differs).map(|row| row.measure.as_str()).take(UNNAMED_MAX));
        // Where nothing differs, something must be shown.
        names.extend(rows().take(1).map(|row| row.measure.as_str()));
    }
    let headline = names.first().copied();
    // What is zero everywhere says little, unless it is the main one.
    let says =
        |value: Option<f64>, name: &str| value.is_some_and(|value| value != 0.0 || headline == Some(name));
    let has_value = |name: &str| {
        rows().any(|row| row.measure == name && (says(row.a.value(), name) || says(row.b.value(), name)))
    };
    let mut found: Vec<Main> = Vec::new();
    for name in names.into_iter().filter(|name| has_value(name)) {
        if found.iter().all(|main| main.name != name) {
            let unit = rows().find(|row| row.measure == name).map_or("", |row| row.a.unit());
            found.push(Main { name: name.to_owned(), title: title_of(sides(), name, unit) });
        }
    }
    found
}

/// The title that a study gives, or the name in words.
pub(crate) fn title_of<'a>(mut sides: impl Iterator<Item = &'a Side>, name: &str, unit: &str) -> String {
    let given = sides.find_map(|side| side.report.titles.get(name).cloned());
    given.unwrap_or_else(|| title::of(name, unit))
}

/// Parts of names of what nobody wants more of.
const UNWANTED: [&str; 11] = [
    "lost", "loss", "stuck", "missing", "unplaced", "dropped", "failed", "refused", "moved", "homeless",
    "error",
];

/// Parts of names of rates that are no achievement: limits, and what arrives.
const NEUTRAL: [&str; 5] = ["ideal", "bound", "arrival", "offered", "rate_of_failures"];

/// Which way a measure is better, where its name and unit tell that: less time, more per second, and less of
/// what is lost, stuck or moved.
pub(crate) fn better(name: &str, measure: &Measure) -> Option<Better> {
    let base = name.split('[').next().unwrap_or(name);
    let has = |parts: &[&str]| base.split('_').any(|word| parts.contains(&word));
    let unit = measure.unit();
    if has(&UNWANTED) || matches!(unit, "s" | "ms" | "us" | "ns" | "min" | "h" | "d") {
        return Some(Better::Lower);
    }
    let rate = unit.ends_with("/s") || unit == "per_s";
    (rate && !has(&NEUTRAL)).then_some(Better::Higher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_better_is_known_where_name_or_unit_tell_it() {
        let cases = [
            ("time_to_clean_s", "s", Some(Better::Lower)),
            ("latency_p99_us[batch]", "us", Some(Better::Lower)),
            ("lost_objects", "objects", Some(Better::Lower)),
            ("moved_bytes", "bytes", Some(Better::Lower)),
            ("client_operations_per_s", "operations/s", Some(Better::Higher)),
            ("bound_rate_bytes_per_s", "bytes/s", None),
            ("load_deviation", "ratio", None),
            ("closed_form", "", None),
        ];
        for (name, unit, want) in cases {
            assert_eq!(better(name, &Measure::new(1.0, unit, 1)), want, "{name}");
        }
    }
}
