//! The path of a key: `cluster.servers`, `stations[0].rate`, `link."10 Gbit".delay`.

use std::fmt;
use std::str::FromStr;

use crate::Problem;

/// The keys and positions from the top of a scenario to a value. Empty for the scenario itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Vec<Segment>);

/// One step of a [`KeyPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A key of a table.
    Key(String),
    /// A position in a list, counted from 0.
    Index(usize),
}

impl KeyPath {
    /// The path of the scenario itself.
    #[must_use]
    pub fn root() -> KeyPath {
        KeyPath::default()
    }

    /// This path, extended by a key.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> KeyPath {
        self.then(Segment::Key(key.into()))
    }

    /// This path, extended by a position in a list.
    #[must_use]
    pub fn index(&self, index: usize) -> KeyPath {
        self.then(Segment::Index(index))
    }

    fn then(&self, segment: Segment) -> KeyPath {
        let mut longer = self.clone();
        longer.0.push(segment);
        longer
    }

    /// The steps of the path.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether this is the scenario itself.
    #[must_use]
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path without its last step, and the last step.
    #[must_use]
    pub fn split_last(&self) -> Option<(KeyPath, &Segment)> {
        let (last, rest) = self.0.split_last()?;
        Some((KeyPath(rest.to_vec()), last))
    }

    /// Whether `other` is this path or lies below it.
    #[must_use]
    pub(crate) fn covers(&self, other: &KeyPath) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The path of `other` from here; none if it does not lie here or below.
    pub(crate) fn rest_of(&self, other: &KeyPath) -> Option<KeyPath> {
        other.0.strip_prefix(&self.0[..]).map(|rest| KeyPath(rest.to_vec()))
    }

    /// Reads a path at the start of `text` and returns how many bytes it took. In a list `a.0.b` is
    /// equivalent to `a[0].b`.
    ///
    /// # Errors
    /// The error in the path, and its byte position.
    pub(crate) fn read_prefix(text: &str) -> Result<(KeyPath, usize), KeyPathError> {
        Reader { text, at: 0 }.path()
    }
}

impl From<Vec<Segment>> for KeyPath {
    fn from(segments: Vec<Segment>) -> KeyPath {
        KeyPath(segments)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    write_key(f, key)?;
                }
            }
        }
        Ok(())
    }
}

fn write_key(f: &mut fmt::Formatter<'_>, key: &str) -> fmt::Result {
    if !key.is_empty() && key.chars().all(is_bare) {
        return f.write_str(key);
    }
    f.write_str("\"")?;
    for c in key.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{:04X}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// An error in the text of a key path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KeyPathError {
    /// The error.
    pub message: String,
    /// Its byte position.
    pub at: usize,
}

impl FromStr for KeyPath {
    type Err = KeyPathError;

    fn from_str(text: &str) -> Result<KeyPath, KeyPathError> {
        let (path, used) = KeyPath::read_prefix(text)?;
        match text[used..].chars().next() {
            None => Ok(path),
            Some(c) => Err(KeyPathError { message: format!("{c:?} is not allowed in a key"), at: used }),
        }
    }
}

impl From<KeyPathError> for Problem {
    fn from(error: KeyPathError) -> Problem {
        Problem::new(error.message)
            .hint("write keys as `table.key`, lists as `list[0].key`, keys with other characters in quotes")
    }
}

/// Deeper than any scenario, and shallow enough for any stack.
const SEGMENTS_MAX: usize = 64;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn path(mut self) -> Result<(KeyPath, usize), KeyPathError> {
        let mut segments = vec![Segment::Key(self.one_key()?)];
        loop {
            if segments.len() > SEGMENTS_MAX {
                return self.fail(format!("a key has at most {SEGMENTS_MAX} parts"));
            }
            match self.peek() {
                Some('.') => {
                    self.at += 1;
                    segments.push(Segment::Key(self.one_key()?));
                }
                Some('[') => {
                    self.at += 1;
                    segments.push(Segment::Index(self.one_index()?));
                }
                _ => return Ok((KeyPath(segments), self.at)),
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, KeyPathError> {
        Err(KeyPathError { message: message.into(), at: self.at })
    }

    fn one_key(&mut self) -> Result<String, KeyPathError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some(c) if is_bare(c) => {
                let rest = &self.text[self.at..];
                let len = rest.find(|c| !is_bare(c)).unwrap_or(rest.len());
                self.at += len;
                Ok(rest[..len].to_owned())
            }
            Some(c) => self.fail(format!("a key cannot begin with {c:?}")),
            None => self.fail("a key is missing"),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, KeyPathError> {
        let start = self.at;
        self.at += 1;
        let mut key = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                c if c == quote => return Ok(key),
                '\\' if quote == '"' => key.push(self.escape()?),
                c => key.push(c),
            }
        }
        self.at = start;
        self.fail("the quote is not closed")
    }

    fn escape(&mut self) -> Result<char, KeyPathError> {
        let Some(c) = self.peek() else { return self.fail("the quote is not closed") };
        self.at += c.len_utf8();
        match c {
            '"' | '\\' => Ok(c),
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'u' => {
                let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
                match u32::from_str_radix(digits, 16).ok().and_then(char::from_u32) {
                    Some(c) => {
                        self.at += 4;
                        Ok(c)
                    }
                    None => self.fail("`\\u` takes four hexadecimal digits of a character"),
                }
            }
            c => self.fail(format!("`\\{c}` is not an escape sequence")),
        }
    }

    fn one_index(&mut self) -> Result<usize, KeyPathError> {
        let rest = &self.text[self.at..];
        let len = rest.find(']').unwrap_or(rest.len());
        match rest[..len].parse() {
            Ok(index) if len < rest.len() => {
                self.at += len + 1;
                Ok(index)
            }
            _ => self.fail("a position in a list is a whole number in brackets, from `[0]`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_read_and_print() {
        for text in
            ["seed", "cluster.servers", "stations[0].rate", "link.\"10 Gbit\".delay", "a[1][2]", "a.\"\""]
        {
            assert_eq!(text.parse::<KeyPath>().expect(text).to_string(), text);
        }
        assert_eq!("'x y'.z".parse::<KeyPath>().expect("quoted").to_string(), "\"x y\".z");
    }

    #[test]
    fn broken_paths_say_where() {
        for (text, at) in [("", 0), ("a.", 2), ("a b", 1), ("a[x]", 2), ("a[1", 2), ("\"a", 0), (".a", 0)] {
            assert_eq!(text.parse::<KeyPath>().expect_err(text).at, at, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(segments in prop::collection::vec(
            prop_oneof![any::<String>().prop_map(Segment::Key), any::<usize>().prop_map(Segment::Index)], 0..5
        )) {
            let mut all = vec![Segment::Key("first".to_owned())];
            all.extend(segments);
            let path = KeyPath(all);
            prop_assert_eq!(path.to_string().parse::<KeyPath>(), Ok(path));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = text.parse::<KeyPath>();
        }
    }
}
