//! Exports for the tests of studies of real clusters, in folders that are read from memory.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
pub(crate) use towtank_study::testing::Folder;

/// The text of a compressed file.
pub(crate) fn unpacked(folder: &Folder, name: &str) -> String {
    let mut text = String::new();
    GzDecoder::new(folder.0[name].as_slice()).read_to_string(&mut text).expect("it is compressed text");
    text
}

/// Files of a folder, which is relative to this crate.
pub(crate) fn files(folder: &str, names: &[&str]) -> Folder {
    Folder::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), names)
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
