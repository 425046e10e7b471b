//! Constants that are learned from events of a real cluster, and of drawn ones.

mod drawn;
mod events;
mod other_cluster;
mod wrong;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use towtank_imports::File;
use towtank_imports::past::read;
use towtank_past::{Past, Source, happened, join};
use towtank_scenario::{Files, Problems};

use super::*;

/// Files of this crate by their paths.
#[derive(Debug)]
struct Kept;

impl Files for Kept {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The exports before one of the thirteen events, or before one of the other cluster, whose names have two
/// parts.
fn exports(name: &str) -> Vec<(String, String)> {
    let kinds = ["crush_dump", "osd_dump", "pg_dump", "osd_df"];
    let keys = ["crush_map", "osd_dump", "pg_dump", "osd_df"];
    let (folder, of, count) = match name.split_once('/') {
        Some((_, of)) => ("", of, 3),
        None => ("events16", name, 4),
    };
    let folder = crates().join("operate/src/whatif/golden").join(folder);
    let path = |kind: &str| folder.join(format!("{of}.{kind}.json.gz")).display().to_string();
    keys.iter().zip(kinds).take(count).map(|(key, kind)| ((*key).to_owned(), path(kind))).collect()
}

fn past(name: &str, bytes: &[u8]) -> Past {
    let record = read(File { name, bytes }, None).unwrap_or_else(|error| panic!("{error}")).value;
    join(vec![Source { name: name.to_owned(), record }]).unwrap()
}

/// What is learned of a table of counts.
fn of_table(
    (name, table): (&str, &[u8]),
    exports: Vec<(String, String)>,
    (changes, at_s): (&[&str], f64),
    keys: &[(&str, &str)],
) -> Result<Learning, Problems> {
    let past = past(name, table);
    let events = happened(&past).unwrap();
    let asked = Asked {
        past: &past,
        event: &events[0],
        files: vec![name.to_owned()],
        exports,
        changes: changes.iter().map(|change| (*change).to_owned()).collect(),
        at_us: Some((at_s * 1e6) as i64),
        keys: keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    };
    learn(&asked, Arc::new(Kept))
}
