//! The study against the studies it joins, against a cluster worked by hand, against laws, and against
//! measurements of a live cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use towtank_report::Outcome;
use towtank_scenario::{Document, Files, Source};
use towtank_streams::Seed;

use super::*;
use crate::{Prepared, Study};

#[derive(Debug)]
struct Folder(BTreeMap<String, Vec<u8>>);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

fn files(folder: &str, names: &[&str]) -> Folder {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let read = |name: &&str| {
        let bytes = std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        ((*name).to_owned(), bytes)
    };
    Folder(names.iter().map(read).collect())
}

/// The cluster of the guides: four hosts, copies on hdd and shards on all devices.
fn example() -> Folder {
    files("../../docs/examples/cluster", &["crush.txt", "osd_dump.json", "pg_dump.json.gz"])
}

const EXAMPLE: &str =
    "crush_map = \"crush.txt\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n";

fn prepared(study: &dyn Study, folder: Folder, text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let text = format!("study = \"{}\"\n{text}", study.name());
    let document = Document::parse(&Source::file("asked.toml", text))?.with_files(Arc::new(folder));
    let outline = document.outline()?;
    study.check(outline.points()[0].draft())
}

fn outcome(study: &dyn Study, folder: Folder, text: &str) -> Outcome {
    let prepared = prepared(study, folder, text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    prepared.run(&RunContext::alone(Seed(3), 1)).unwrap()
}

fn whatif(text: &str) -> Outcome {
    outcome(&Whatif, example(), &format!("{EXAMPLE}{text}"))
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = &outcome.measures[measure];
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

/// A failure has the numbers of a rebuild where nothing but the lost data moves.
#[test]
fn a_failure_is_that_of_a_rebuild() {
    for failed in ["osd.3", "osd.7", "osd.11"] {
        let text = format!("{EXAMPLE}fail = \"{failed}\"");
        let rebuilt = outcome(&crate::rebuild::Rebuild, example(), &text);
        let seen = whatif(&format!("fail = \"{failed}\""));
        assert_eq!(value(&seen, "moved_objects"), value(&rebuilt, "objects_rebuilt"), "{failed}");
        assert_eq!(value(&seen, "written_bytes"), value(&rebuilt, "bytes_rebuilt"), "{failed}");
        for measure in [
            "time_to_full_redundancy_s",
            "time_to_two_copies_s",
            "transfer_s",
            "aggregate_rate_bytes_per_s",
            "lost_objects",
            "stuck_objects",
            "below_min_size",
        ] {
            assert_eq!(value(&seen, measure), value(&rebuilt, measure), "{failed}: {measure}");
        }
        assert_eq!(value(&seen, "time_to_clean_s"), value(&seen, "time_to_full_redundancy_s"));
    }
}

/// A change of the map moves what a preview says, and writes as much: but for rounding, as sizes are rounded
/// object by object here and group by group there.
#[test]
fn a_change_moves_what_a_preview_says() {
    for change in [
        "mark_out = \"osd.6\"",
        "crush_reweight = \"osd.6=2.91\"",
        "reweight = \"osd.6=0.8\"",
        "pgp_num = \"rbd=128\"",
        "pg_num = \"rbd=512\"\npgp_num = \"rbd=512\"",
        "add_host = \"h9=4x3.638:hdd@default\"",
    ] {
        let shown = outcome(&crate::preview::Preview, example(), &format!("{EXAMPLE}{change}"));
        let seen = whatif(change);
        for measure in ["moved_bytes", "moved_groups", "minimum_bytes", "upmaps_dropped", "fill_max_after"] {
            assert_eq!(value(&seen, measure), value(&shown, measure), "{change}: {measure}");
        }
        let (moved, written) = (value(&seen, "moved_bytes"), value(&seen, "written_bytes"));
        assert!((written - moved).abs() <= 4.0 * value(&seen, "moved_objects"), "{change}: {written} of {moved}");
        assert_eq!(value(&seen, "time_to_full_redundancy_s"), 0.0, "{change}");
        assert!(value(&seen, "time_to_clean_s") > 3.2, "{change}");
    }
}
