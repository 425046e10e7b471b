//! The journal file of an embedded tree: it is allocated in advance, so that unwritten space is zeros.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jnl")
}

/// The only journal in a directory.
pub fn of(directory: &Path) -> PathBuf {
    let names = std::fs::read_dir(directory).expect("it is there").map(|entry| entry.expect("listed").path());
    let mut journals: Vec<PathBuf> = names.filter(|path| is_journal(path)).collect();
    assert_eq!(journals.len(), 1, "{journals:?}");
    journals.pop().expect("there is one")
}

const ZEROS: [u8; 4096] = [0; 4096];

/// The written part of a journal: everything before the zeros at its end.
pub fn read(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).expect("a journal can be read");
    // Whole blocks are compared faster than their bytes.
    let empty = bytes.rchunks(ZEROS.len()).take_while(|block| **block == ZEROS[..block.len()]).count();
    bytes.truncate(bytes.len().saturating_sub(empty * ZEROS.len()));
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(written);
    bytes
}

/// Writes a journal, with the same allocation as the tree's.
pub fn write(path: &Path, bytes: &[u8]) {
    const ALLOCATED: u64 = 64 << 20;
    let mut file = File::create(path).expect("a journal can be written");
    file.write_all(bytes).expect("a journal can be written");
    file.set_len(ALLOCATED.max(bytes.len() as u64)).expect("a file can be longer");
}
