//! Text from files and flags, made safe for a terminal.
//!
//! A name in a foreign scenario may contain escape sequences, which would recolour, move or rewrite what a
//! terminal shows, and direction marks, which show a text in another order than it is read (CVE-2021-42574).

/// The text on one line, with a mark in place of each character that a terminal would interpret.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// The same, with the line breaks kept.
#[must_use]
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { c } else { shown(c) }).collect()
}

fn shown(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        c if is_obeyed(c) => MARK,
        c => c,
    }
}

/// Unicode's replacement character.
const MARK: char = '\u{fffd}';

/// Whether a terminal or an editor interprets this character instead of showing it.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    let direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let line = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || direction || line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        for (text, want) in [
            ("µs and 10 GiB, „so“ – 日本", "µs and 10 GiB, „so“ – 日本"),
            ("\u{1b}[31mred", "\u{fffd}[31mred"),
            ("\u{9b}31mred", "\u{fffd}31mred"),
            ("a\rb\tc\nd", "a b c d"),
            ("user\u{202e}toor", "user\u{fffd}toor"),
            ("\u{2066}a\u{2069}", "\u{fffd}a\u{fffd}"),
        ] {
            assert_eq!(printable(text), want);
        }
        assert_eq!(printable_lines("a\n\u{1b}b"), "a\n\u{fffd}b");
    }
}
