//! The text map: what `crushtool -d` prints, operators edit, and `crushtool -c` compiles.
//!
//! The grammar is that of Ceph 16.2.15, whose ways are kept where they show in the binary map (numbers wrap
//! to 32 bits, buckets are put in order by one pass of swaps, weights go through single precision). From
//! later releases, rules without `min_size` and `max_size` are read; multi-step-retry rules are refused by
//! name and line. A problem is told with its line, its column, the reason and, where there is one, what to
//! do.

mod compile;
mod lex;
mod print;
mod syntax;

pub use compile::compile;
pub use print::{PrintError, print};

/// Why a text is no map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
#[non_exhaustive]
pub struct TextError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong: value, limit, place.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl TextError {
    fn at(place: lex::Place, reason: impl Into<String>) -> Self {
        Self { line: place.line, column: place.column, reason: reason.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
