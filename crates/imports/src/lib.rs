//! Readers of other tools' files: bytes in, typed values out, without judging the content.
//!
//! [`iops`] reads results of benchmarks. [`ceph`] reads what `ceph … -f json` prints, and CRUSH maps in each
//! of their forms; [`swift`] reads rings of OpenStack Swift. Real exports are irregular, and what can be read
//! without guessing is read: gzip, a line of text before the JSON, `nan` and `inf` where JSON has no such
//! number. Everything else is rejected with the file and the key or byte.
//!
//! Left out on purpose: opening files (bytes are arguments), and judging what was read: whether two dumps
//! belong together is for the caller to decide.
//!
//! **Invariant:** no input makes a reader panic. None takes more memory than a fixed multiple of its size,
//! and files above [`FILE_MAX_BYTES`] (for groups, [`GROUPS_MAX_BYTES`]; for rings,
//! [`RING_MAX_BYTES`](swift::RING_MAX_BYTES)) are rejected.

pub mod ceph;
mod envelope;
mod error;
pub mod iops;
mod moment;
pub mod past;
pub mod swift;
mod table;

pub use envelope::{FILE_MEMORY_PER_BYTE, GROUPS_MEMORY_PER_BYTE, INPUT_MAX_BYTES};
pub use error::ImportError;

/// A file: its name for messages, and its content.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The name as the user gave it.
    pub name: &'a str,
    /// Its content, possibly compressed by gzip.
    pub bytes: &'a [u8],
}

/// A value read from a file, with notes for users of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported<T> {
    /// The value.
    pub value: T,
    /// What was skipped or replaced to read it, each with the file's name; a sentence without a full stop.
    pub notes: Vec<String>,
}

impl<T> Imported<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Imported<U> {
        Imported { value: change(self.value), notes: self.notes }
    }
}
