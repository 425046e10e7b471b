//! The origin of input text: a file or a flag, and a range in it.
//!
//! Lines and columns count from 1; columns count characters, as editors do.

use std::ops::Range;
use std::sync::Arc;

/// A text that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    kind: SourceKind,
    name: String,
    text: String,
}

/// The kind of text, which determines how a place in it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A file: reported as `name:line:column`.
    File,
    /// A flag or an environment variable: reported by quoting it.
    Flag,
}

impl Source {
    /// A file with this name and text.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source { kind: SourceKind::File, name: name.into(), text: text.into() })
    }

    /// A flag with its value as given: `--set` and `--set cluster.servers=8`.
    pub fn flag(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source { kind: SourceKind::Flag, name: name.into(), text: text.into() })
    }

    /// Whether it is a file or a flag.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        self.kind
    }

    /// The file's name as the user gave it, or the flag's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A part of a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    source: Arc<Source>,
    span: Range<usize>,
}

impl Place {
    /// The bytes `span` of `source`, extended to whole characters.
    #[must_use]
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Place {
        let text = source.text();
        let start = floor_boundary(text, span.start.min(text.len()));
        let end = ceil_boundary(text, span.end.clamp(start, text.len()));
        Place { source: Arc::clone(source), span: start..end }
    }

    /// The whole of `source`, reported without a line.
    #[must_use]
    pub fn whole(source: &Arc<Source>) -> Place {
        Place { source: Arc::clone(source), span: 0..source.text().len() }
    }

    /// The source that it is a part of.
    #[must_use]
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Its byte range in the source's text.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The text itself.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text()[self.span.clone()]
    }

    /// Line and column of its first character, from 1.
    #[must_use]
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = &self.source.text()[..self.span.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// Whether it is all of its source.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.span.start == 0 && self.span.end == self.source.text().len()
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_from_one() {
        let source = Source::file("a.toml", "a = 1\nµs = \"ü\"\n");
        let at = |needle: &str| {
            let start = source.text().find(needle).expect("the needle is in the text");
            Place::new(&source, start..start + needle.len()).line_and_column()
        };
        assert_eq!(at("a = 1"), (1, 1));
        assert_eq!(at("µs"), (2, 1));
        assert_eq!(at("\"ü"), (2, 6));
    }

    #[test]
    fn a_span_inside_a_character_or_past_the_end_is_moved() {
        let source = Source::file("a.toml", "üb");
        assert_eq!(Place::new(&source, 1..1).text(), "ü");
        assert_eq!(Place::new(&source, 2..9).text(), "b");
        assert_eq!(Place::new(&source, 7..9).text(), "");
    }
}
