//! Other tools' files: bytes in, typed values out, and no opinion about what is in them.
//!
//! [`iops`] reads what benchmarks measured. [`ceph`] reads what `ceph … -f json` prints, and CRUSH maps in
//! each of their forms. Real exports are messy, and what can be read without guessing is read: gzip, a line
//! of words before the JSON, `nan` and `inf` where JSON has no such number. Everything else is refused with
//! the file and the key.
//!
//! What is deliberately absent: opening files (bytes are arguments), and judging what was read: whether two
//! dumps belong together is the question of whoever uses them.
//!
//! **Invariant:** no input makes any of this panic. None takes more memory than a fixed multiple of its size,
//! and above [`FILE_MAX_BYTES`] (of groups, [`GROUPS_MAX_BYTES`]) it is refused.

pub mod ceph;
mod envelope;
mod error;
pub mod iops;

pub use envelope::{
    FILE_MAX_BYTES, FILE_MEMORY_PER_BYTE, GROUPS_MAX_BYTES, GROUPS_MEMORY_PER_BYTE, INPUT_MAX_BYTES,
    UNPACKED_RATIO_MAX,
};
pub use error::ImportError;

/// A file: its name for messages, and what is in it.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// As the user named it.
    pub name: &'a str,
    /// Its contents, perhaps packed by gzip.
    pub bytes: &'a [u8],
}

/// What was read, with what a reader of the results must know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported<T> {
    /// The value.
    pub value: T,
    /// What was passed over to get it, each with the file's name; a sentence without a full stop.
    pub notes: Vec<String>,
}

impl<T> Imported<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Imported<U> {
        Imported { value: change(self.value), notes: self.notes }
    }
}
