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

/// Exports whose osd dump has these numbers of a pool.
pub(crate) fn pool_with(folder: Folder, name: &str, numbers: &[(&str, u32)]) -> Folder {
    let Folder(mut files) = folder;
    let mut dump: serde_json::Value = serde_json::from_slice(&files["osd_dump.json"]).expect("it is JSON");
    let pools = dump["pools"].as_array_mut().expect("there are pools");
    let pool = pools.iter_mut().find(|pool| pool["pool_name"] == name).expect("it is there");
    numbers.iter().for_each(|(key, number)| pool[*key] = (*number).into());
    files.insert("osd_dump.json".to_owned(), dump.to_string().into_bytes());
    Folder(files)
}

/// Exports with the names `map`, `osds` and `pgs`, of which each group without devices is served where the
/// map puts it.
pub(crate) fn placed(folder: Folder) -> Folder {
    use towtank_imports::{File, ceph};
    use towtank_placement::crush::NONE;
    use towtank_placement::crush::pools::{PgId, Placer};
    let Folder(mut files) = folder;
    let file = |name| File { name, bytes: files[name].as_slice() };
    let map = ceph::read_map(file("map")).expect("it is a map").value;
    let dump = ceph::read_osd_dump(file("osds")).expect("it is a dump").value;
    let mut groups: serde_json::Value = serde_json::from_slice(&files["pgs"]).expect("it is JSON");
    let overlay = dump.overlay();
    let placer = Placer::new(&map, &overlay);
    for stat in groups.as_array_mut().expect("a list of groups") {
        let id = stat["pgid"].as_str().expect("an id").split_once('.').expect("a pool and a number");
        let id = PgId { pool: id.0.parse().unwrap(), seed: u32::from_str_radix(id.1, 16).unwrap() };
        let pool = dump.pools.iter().find(|pool| pool.id == id.pool).expect("its pool");
        if stat["acting"].as_array().is_some_and(Vec::is_empty) {
            let place = placer.place(&pool.placed(), id.seed);
            (stat["up"], stat["acting"]) = (place.up.devices.into(), place.acting.devices.into());
            if let Some(primary) = stat.get_mut("acting_primary") {
                *primary = place.acting.primary.unwrap_or(-1).into();
            }
            // Nothing serves a group whose devices are all down.
            let is_down = stat["acting"].as_array().is_some_and(|osds| osds.iter().all(|osd| *osd == NONE));
            if is_down {
                stat["state"] = "down".into();
            }
        }
    }
    files.insert("pgs".to_owned(), groups.to_string().into_bytes());
    Folder(files)
}

/// Exports of real clusters.
pub(crate) fn live(names: &[&str]) -> Folder {
    files("../imports/tests/exports", names)
}
