//! Excerpts for messages: quoted text is cut to a readable length, since a flag may have a thousand values.

use std::ops::Range;

/// Characters of a flag that are shown around an error.
const LINE_MAX: usize = 100;
/// Characters that are kept before the error.
const BEFORE_MAX: usize = 40;
/// The most characters of a message, enough for a long path.
const MESSAGE_MAX: usize = 700;
/// The most characters of a message without a blank. Paths are rarely longer.
const WORD_MAX: usize = 200;

/// A line, and the columns to mark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    pub line: String,
    pub columns: Range<usize>,
}

/// The part of `line` around the characters `marked`, with `…` for omitted parts. `head`, the flag's name, is
/// kept.
pub(crate) fn around(line: &str, head: &str, marked: Range<usize>) -> Marked {
    let chars: Vec<char> = line.chars().collect();
    if chars.len() <= LINE_MAX {
        return Marked { line: line.to_owned(), columns: marked };
    }
    let mut shown = String::new();
    let from = if marked.end <= LINE_MAX { 0 } else { marked.start.saturating_sub(BEFORE_MAX) };
    if from > 0 {
        let head = if line.starts_with(head) { head } else { "" };
        shown = format!("{head} …").trim_start().to_owned();
    }
    let shift = shown.chars().count();
    let to = (from + LINE_MAX - shift).min(chars.len());
    shown.extend(&chars[from..to]);
    let place = |at: usize| at.clamp(from, to) - from + shift;
    let columns = place(marked.start)..place(marked.end);
    if to < chars.len() {
        shown.push('…');
    }
    Marked { line: shown, columns }
}

/// A message of limited length: the middle of a long one is omitted.
pub(crate) fn clipped(message: &str) -> String {
    let words: Vec<String> = message.split(' ').map(|word| without_middle(word, WORD_MAX)).collect();
    without_middle(&words.join(" "), MESSAGE_MAX)
}

/// The first two thirds and the last third of at most `max` characters.
fn without_middle(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let tail = max / 3;
    let start: String = text.chars().take(max - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_stay_as_they_are() {
        let marked = around("--set a=1", "--set", 8..9);
        assert_eq!(marked, Marked { line: "--set a=1".to_owned(), columns: 8..9 });
    }

    #[test]
    fn what_is_marked_is_in_view() {
        let line = format!("--set {}=bad{}", "k".repeat(300), "v".repeat(5_000));
        for marked in [0..5, 6..306, 307..310, 307..5_310, 5_309..5_310, 5_310..5_310] {
            let shown = around(&line, "--set", marked.clone());
            let columns: Vec<char> = shown.line.chars().collect();
            assert!(columns.len() <= LINE_MAX + 1, "{marked:?}: {}", shown.line);
            assert!(shown.line.starts_with("--set "), "{}", shown.line);
            let wanted: String = line.chars().skip(marked.start).take(shown.columns.len()).collect();
            let found: String = columns[shown.columns.clone()].iter().collect();
            assert_eq!(found, wanted, "{marked:?}");
            assert!(marked.is_empty() || !shown.columns.is_empty(), "{marked:?}");
        }
        assert_eq!(&around(&line, "--set", 307..310).line[..20], format!("--set …{}", "k".repeat(11)));
    }

    #[test]
    fn long_messages_lose_their_middle() {
        assert_eq!(clipped("`a` is no name"), "`a` is no name");
        let long = clipped(&format!("`{}` is no name", "ü".repeat(10_000)));
        assert!(long.starts_with("`üüü") && long.ends_with("ü` is no name") && long.contains('…'), "{long}");
        assert!(long.chars().count() < WORD_MAX + 20);
        assert!(clipped(&"a, ".repeat(10_000)).chars().count() <= MESSAGE_MAX + 1);
    }
}
