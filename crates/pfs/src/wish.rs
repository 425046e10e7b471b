//! One request of a client, and the client's place in the work.

use serde::{Deserialize, Serialize};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operation {
    /// It reads bytes.
    Read,
    /// It writes bytes.
    Write,
    /// It creates a file; nothing is read or written.
    Create,
    /// It asks for a file's attributes.
    Stat,
    /// It removes a file.
    Remove,
    /// It opens a file, which returns its layout.
    Open,
    /// It waits until servers have all that its client has written to a file.
    Sync,
}

impl Operation {
    /// Whether data servers take part in it.
    #[must_use]
    pub fn moves_bytes(self) -> bool {
        matches!(self, Operation::Read | Operation::Write)
    }
}

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wish {
    /// The operation.
    pub operation: Operation,
    /// The file.
    pub file: u64,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// A client's place in the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rank {
    /// Its application.
    pub application: u16,
    /// Its number among the clients of its application.
    pub rank: u32,
    /// The number of clients of its application.
    pub of: u32,
    /// The number of its application's first file among all files of the run.
    pub first_file: u64,
}
