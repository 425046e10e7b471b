//! Exports for the tests of studies of real clusters, in folders that are read from memory.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use towtank_scenario::Files;

/// Files by name.
#[derive(Clone, Debug)]
pub(crate) struct Folder(pub(crate) BTreeMap<String, Vec<u8>>);

impl Folder {
    /// The text of a compressed file.
    pub(crate) fn unpacked(&self, name: &str) -> String {
        let mut text = String::new();
        GzDecoder::new(self.0[name].as_slice()).read_to_string(&mut text).expect("it is compressed text");
        text
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

/// Files of a folder, which is relative to this crate.
pub(crate) fn files(folder: &str, names: &[&str]) -> Folder {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let read = |name: &&str| {
        let bytes = std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        ((*name).to_owned(), bytes)
    };
    Folder(names.iter().map(read).collect())
}

/// The cluster of the guides: four hosts, copies on hdd and shards on all devices.
pub(crate) fn example() -> Folder {
    files("../../docs/examples/cluster", &["crush.txt", "osd_dump.json", "pg_dump.json.gz"])
}

/// The keys that read [`example`].
pub(crate) const EXAMPLE: &str =
    "crush_map = \"crush.txt\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n";

/// Exports of real clusters.
pub(crate) fn live(names: &[&str]) -> Folder {
    files("../imports/tests/exports", names)
}
