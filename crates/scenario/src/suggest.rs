//! "Did you mean": the known word nearest to a mistyped one.

/// The candidate that was probably meant, if one is near enough.
///
/// Case, `-` and `_` do not count. Otherwise a word may differ in a third of its letters (a swap of neighbours counts once),
/// or begin the candidate, or begin with it.
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

/// A word is compared up to this many letters: nobody mistypes a longer one, and the comparison is quadratic.
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
}
