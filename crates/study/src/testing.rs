//! For tests of studies: files in memory, and measures beside values that were computed by hand.

use std::collections::BTreeMap;
use std::path::Path;

use towtank_scenario::Files;

pub mod by_hand;

/// Files by name.
#[derive(Clone, Debug)]
pub struct Folder(pub BTreeMap<String, Vec<u8>>);

impl Folder {
    /// The files of these names in a directory.
    ///
    /// # Panics
    /// When one of them cannot be read.
    #[must_use]
    pub fn of(directory: &Path, names: &[&str]) -> Folder {
        let read = |name: &&str| {
            let bytes = std::fs::read(directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            ((*name).to_owned(), bytes)
        };
        Folder(names.iter().map(read).collect())
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}
