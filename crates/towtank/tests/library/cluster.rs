//! The cluster of the guides: four hosts, copies on hdd and shards on all devices.

use std::path::Path;

use towtank_study::testing::Folder;

/// The keys that name its exports.
pub const KEYS: &str =
    "crush_map = \"crush.txt\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n";

/// Reports of a recovery under way.
pub fn reports() -> Folder {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/underway");
    Folder::of(&directory, &["1.report.json.gz", "3.report.json.gz"])
}

/// Its exports, with these beside them.
pub fn folder() -> Folder {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster");
    let Folder(mut files) = Folder::of(&directory, &["crush.txt", "osd_dump.json", "pg_dump.json.gz"]);
    files.extend(reports().0);
    Folder(files)
}
