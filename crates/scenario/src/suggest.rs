//! "Did you mean": the known words nearest to a mistyped one.

/// A hint such as "did you mean `servers`?", if any candidate is near enough. If the word is the beginning of
/// several candidates, the hint names each of them.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// The most candidates in a hint.
    const SHOWN_MAX: usize = 4;
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let best = nearest(word, candidates.iter().copied())?;
    let folded = fold(word);
    let begun: Vec<&str> =
        candidates.into_iter().filter(|candidate| fold(candidate).starts_with(&folded)).collect();
    let meant = if begun.contains(&best) && begun.len() <= SHOWN_MAX { begun } else { vec![best] };
    let quoted: Vec<String> = meant.iter().map(|name| format!("`{name}`")).collect();
    let (last, rest) = quoted.split_last()?;
    Some(if rest.is_empty() {
        format!("did you mean {last}?")
    } else {
        format!("did you mean {} or {last}?", rest.join(", "))
    })
}

/// The nearest candidate, if one is near enough.
///
/// Case, `-` and `_` are ignored. Otherwise a word may differ in a third of its letters (a swap of neighbours
/// counts once), or be a prefix of the candidate, or have it as a prefix.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let Some(distance) = distance(&folded, &fold(candidate)) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// A word is compared only up to this many letters, because the comparison is quadratic.
const LETTERS_MAX: usize = 64;

fn distance(word: &str, candidate: &str) -> Option<usize> {
    let letters = word.chars().count();
    if letters > LETTERS_MAX {
        return None;
    }
    let distance = strsim::damerau_levenshtein(word, candidate);
    if distance * 3 <= letters.max(candidate.chars().count()) {
        return Some(distance);
    }
    let shorter = letters.min(candidate.chars().count());
    let begins = candidate.starts_with(word) || word.starts_with(candidate);
    (shorter >= 3 && begins).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["servers", "service_mean", "seed", "replicates", "end"];
        for (word, want) in [
            ("severs", Some("servers")),
            ("Servers", Some("servers")),
            ("service-mean", Some("service_mean")),
            ("sede", Some("seed")),
            ("seeds", Some("seed")),
            ("replicate", Some("replicates")),
            ("rep", Some("replicates")),
            ("disks", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), want, "{word}");
        }
    }

    #[test]
    fn a_beginning_may_mean_several() {
        let known = ["wait_mean", "wait_p99", "sojourn_mean"];
        for (word, want) in [
            ("wait", "did you mean `wait_mean` or `wait_p99`?"),
            ("wait_meen", "did you mean `wait_mean`?"),
            ("sojourn", "did you mean `sojourn_mean`?"),
        ] {
            assert_eq!(did_you_mean(word, known).as_deref(), Some(want));
        }
        assert_eq!(did_you_mean("zebra", known), None);
    }
}
