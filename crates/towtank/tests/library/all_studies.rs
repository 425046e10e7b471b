//! What holds for all studies: names of keys and measures, and the scenarios that are shipped.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use towtank_operate::whatif::Whatif;
use towtank_recovery::keys::Keys;
use towtank_report::title;
use towtank_scenario::{Document, Source};
use towtank_studies::rebuild::Rebuild;
use towtank_study::{Question, check, keys_of};

use crate::cluster;

/// The keys for exports have the same names in all studies, and their former names are still accepted.
#[test]
fn exports_have_one_name_and_keep_their_old_ones() {
    let hash = |text: &str| {
        let document = Document::parse(&Source::file("a.toml", text.to_owned())).unwrap();
        let document = document.with_files(Arc::new(cluster::folder()));
        check(towtank::studies(), document)
            .unwrap_or_else(|problems| panic!("{problems:?}"))
            .resolved()
            .hash()
            .to_owned()
    };
    let text = |study: &str, change: &str, map: &str, dump: &str| {
        hash(&format!(
            "study = \"{study}\"\n{map} = \"crush.txt\"\n{dump} = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n{change}"
        ))
    };
    let (out, fail) = ("mark_out = \"osd.5\"", "fail = \"osd.5\"");
    assert_eq!(text("preview", out, "crush_map", "osd_dump"), text("preview", out, "map", "osd_dump"));
    assert_eq!(text("whatif", fail, "crush_map", "osd_dump"), text("whatif", fail, "ceph_map", "ceph_dump"));
}

/// Placement algorithms have the same names in all studies; their former names are still accepted.
#[test]
fn placements_are_understood_under_their_former_names() {
    let hash = |text: String| {
        let document = Document::parse(&Source::file("a.toml", text.clone())).unwrap();
        check(towtank::studies(), document)
            .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
            .resolved()
            .hash()
            .to_owned()
    };
    for (old, new) in [
        ("crush", "crush-straw2"),
        ("crush_straw", "crush-straw"),
        ("crush_vring", "crush-vring"),
        ("crush_straw2", "crush-straw2"),
        ("static_modulo", "static-modulo"),
        ("ring", "ring"),
    ] {
        let place = |name: &str| hash(format!("study = \"place\"\nalgorithm = \"{name}\""));
        let rebuild = |name: &str| hash(format!("study = \"rebuild\"\nplacement = \"{name}\""));
        assert_eq!(place(old), place(new), "{old}");
        assert_eq!(rebuild(old), rebuild(new), "{old}");
    }
    let swept = |names: &str| hash(format!("study = \"place\"\n[sweep]\nalgorithm = {names}"));
    assert_eq!(swept("[\"ring\", \"crush-straw2\"]"), swept("[\"ring\", \"crush\"]"));
}

#[test]
fn every_name_of_a_study_stands_alone() {
    for study in towtank::studies() {
        let mut names: Vec<&str> = study.measures().iter().map(|measure| measure.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{}", study.name());
    }
}

#[test]
fn titles_of_all_studies_are_in_words_and_leave_the_unit_out() {
    for study in towtank::studies() {
        for measure in study.measures() {
            let fault = title::fault(measure.title, measure.unit);
            assert_eq!(fault, None, "{}: `{}` is titled `{}`", study.name(), measure.name, measure.title);
        }
    }
}

/// The flags of what recoveries share are the same in both studies of recoveries.
#[test]
fn shared_keys_have_one_flag() {
    let shared = keys_of::<Keys>();
    let flags = |all: &'static [towtank_study::Flag]| -> BTreeSet<(&str, &str)> {
        let of_shared = all.iter().filter(|flag| shared.contains(flag.key));
        of_shared.map(|flag| (flag.name, flag.key)).collect()
    };
    assert_eq!(flags(Whatif::FLAGS), flags(Rebuild::FLAGS));
}

/// The directories of scenarios.
fn directories() -> [PathBuf; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    [root.clone(), root.join("papers")]
}

/// The texts of all shipped scenarios.
fn texts() -> Vec<String> {
    let files = directories().into_iter().flat_map(|directory| {
        std::fs::read_dir(directory).expect("the scenarios lie beside the crates").flatten()
    });
    let scenarios = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"));
    scenarios.map(|file| std::fs::read_to_string(file.path()).expect("a scenario is text")).collect()
}

#[test]
fn every_shipped_scenario_belongs_to_a_study_that_is_there() {
    let known: Vec<String> =
        towtank::studies().iter().map(|study| format!("study = \"{}\"", study.name())).collect();
    let texts = texts();
    assert!(texts.len() > 40, "{} scenarios", texts.len());
    for text in texts {
        assert!(text.lines().any(|line| known.iter().any(|known| line.trim() == known)), "{text}");
    }
}
