//! One request of a client, and the client's place in the work.

use serde::{Deserialize, Serialize};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operation {
    /// It reads bytes.
    Read,
    /// It writes bytes.
    Write,
    /// It makes a file; nothing is read or written.
    Create,
    /// It asks for a file's attributes.
    Stat,
    /// It removes a file.
    Remove,
    /// It opens a file: its layout is told.
    Open,
    /// It waits until servers have what its client has written of a file.
    Sync,
}

impl Operation {
    /// Whether data servers have a part in it.
    #[must_use]
    pub fn moves_bytes(self) -> bool {
        matches!(self, Operation::Read | Operation::Write)
    }
}

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wish {
    /// What it does.
    pub operation: Operation,
    /// To which file.
    pub file: u64,
    /// From which byte on.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// A client's place in the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rank {
    /// Its application.
    pub application: u16,
    /// Its number among the clients of it.
    pub rank: u32,
    /// How many these are.
    pub of: u32,
    /// The number of its application's first file among all of the run.
    pub first_file: u64,
}
