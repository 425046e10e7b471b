//! Splits a text map into words, each with its position.

use super::TextError;

/// The line and column at which a word starts, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub line: u32,
    pub column: u32,
}

/// A word or a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub place: Place,
}

/// Splits a text into words; `#` starts a comment. The second value is the position of the end of the text.
pub(super) fn words(text: &str) -> Result<(Vec<Word<'_>>, Place), TextError> {
    let mut words = Vec::new();
    let mut end = Place { line: 1, column: 1 };
    for (line, content) in text.lines().enumerate() {
        let line = line as u32 + 1;
        let content = &content[..content.find('#').unwrap_or(content.len())];
        let mut rest = content;
        loop {
            rest = rest.trim_start();
            let Some(first) = rest.chars().next() else { break };
            let column = content[..content.len() - rest.len()].chars().count() as u32 + 1;
            let place = Place { line, column };
            let length = match first {
                '{' | '}' | '[' | ']' => 1,
                _ => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            };
            if length == 0 {
                return Err(TextError::at(place, format!("`{first}` is not allowed here"))
                    .hint("names consist of letters, digits, `_`, `-` and `.`"));
            }
            words.push(Word { text: &rest[..length], place });
            rest = &rest[length..];
        }
        end = Place { line, column: content.chars().count() as u32 + 1 };
    }
    Ok((words, end))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')
}
