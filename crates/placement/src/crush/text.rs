//! The text map: what `crushtool -d` prints, operators edit, and `crushtool -c` compiles.
//!
//! The grammar is that of Ceph 16.2.15, including its peculiarities that affect the binary map (numbers wrap
//! to 32 bits, buckets are ordered by one pass of swaps, weights go through single precision). From later
//! releases, rules without `min_size` and `max_size` and multi-step-retry rules are accepted. An error gives
//! line, column, reason and, if there is one, a hint.

mod compile;
mod lex;
mod print;
mod syntax;

/// The `min_size` and `max_size` that Quincy and later releases, which have none, write into the binary map.
const UNSAID_SIZES: (u8, u8) = (1, 100);

pub use compile::compile;
pub use print::{PrintError, print};

/// Why a text is not a valid map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
#[non_exhaustive]
pub struct TextError {
    /// The line of the error, counted from 1.
    pub line: u32,
    /// The column of the error in characters, counted from 1.
    pub column: u32,
    /// What is wrong: value, limit and place.
    pub reason: String,
    /// How to correct it, if known.
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
