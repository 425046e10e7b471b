//! The journal of an embedded tree as a file: it is allocated beforehand, so that what was not written is
//! zeros.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jnl")
}

/// The one journal of a directory.
pub fn of(directory: &Path) -> PathBuf {
    let names = std::fs::read_dir(directory).expect("it is there").map(|entry| entry.expect("listed").path());
    let mut journals: Vec<PathBuf> = names.filter(|path| is_journal(path)).collect();
    assert_eq!(journals.len(), 1, "{journals:?}");
    journals.pop().expect("there is one")
}

/// What was written of a journal: all up to the zeros at its end.
pub fn read(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).expect("a journal can be read");
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(written);
    bytes
}

/// Writes a journal, allocated as it is by the tree.
pub fn write(path: &Path, bytes: &[u8]) {
    const ALLOCATED: u64 = 64 << 20;
    let mut file = File::create(path).expect("a journal can be written");
    file.write_all(bytes).expect("a journal can be written");
    file.set_len(ALLOCATED.max(bytes.len() as u64)).expect("a file can be longer");
}
