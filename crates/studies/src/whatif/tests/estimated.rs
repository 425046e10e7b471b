//! Large recoveries, whose other settings and speeds are tried with fewer objects.

use towtank_rebuild::recovery::Recovery;

use super::*;
use crate::rebuild::levers::{self, Estimate, Tried};
use crate::rebuild::resources::resources;

/// So many groups with 300 objects each, on three of four devices in turn.
fn large(groups: usize) -> Folder {
    let held: Vec<[u32; 3]> = (0..groups).map(|at| HELD[at % HELD.len()]).collect();
    let (mut folder, objects) = (four(&held, None), 300);
    let text = String::from_utf8(folder.0["pgs"].clone()).expect("it is text");
    let text = text.replace("\"num_objects\":10}", &format!("\"num_objects\":{objects}}}"));
    let text = text.replace("\"num_bytes\":41943040", &format!("\"num_bytes\":{}", objects << 20_u64));
    folder.0.insert("pgs".to_owned(), text.into_bytes());
    folder
}

/// What the trials find without an estimate and with one, and the error of the estimate.
fn both(folder: Folder, text: &str) -> (Vec<Tried>, Vec<Tried>, Option<f64>) {
    let text = format!("study = \"whatif\"\n{FOUR}{text}");
    let document = Document::parse(&Source::file("asked.toml", text)).unwrap().with_files(Arc::new(folder));
    let outline = document.outline().unwrap();
    let draft = outline.points()[0].draft();
    let ready = case::Ready::check(draft.read().unwrap(), draft).unwrap();
    let context = RunContext::alone(Seed(3), 0);
    let recovery: Recovery<'_> = ready.real.recovery(&ready.staged, &context);
    let recovered = recovery.run(&context).unwrap();
    let resources = resources(&recovery, &recovered);
    let estimate = Estimate::of(&recovery, &recovered, &context).unwrap();
    let tried = |estimate| {
        levers::tried(&recovery, &recovered, (&resources, ready.real.alternatives()), estimate, &context)
            .unwrap()
    };
    (tried(None), tried(estimate.as_ref()), estimate.as_ref().map(Estimate::error))
}

/// A change is estimated to take what it takes with all objects, within 2 %, and more changes are tried.
/// 720 of the 960 groups are affected. With 480, below the least number for an estimate, one trial was 22 %
/// off.
#[test]
fn estimated_trials_are_like_whole_ones() {
    for keys in
        ["", "\nqueue = \"mclock\"\nceph_release = 18", "\nrecovery_sleep = \"0s\"\nmax_backfills = 2"]
    {
        let (whole, estimated, error) = both(large(960), &format!("mark_out = \"osd.3\"{keys}"));
        let error = error.expect("960 groups with 300 objects are many");
        assert!(error.abs() <= 0.02, "{error}");
        assert!(!whole.is_empty() && estimated.len() >= whole.len(), "{whole:?}, {estimated:?}");
        for one in &whole {
            let same = estimated.iter().find(|other| other.change == one.change).expect(&one.change);
            match (one.time_s, same.time_s) {
                (Some(whole), Some(estimated)) => {
                    assert!((estimated / whole - 1.0).abs() < 0.02, "{}: {whole}, {estimated}", one.change);
                }
                (whole, estimated) => assert_eq!(whole, estimated, "{}", one.change),
            }
        }
    }
}

/// Few objects are tried as they are, and nothing is said of an estimate. Many are, and it is said.
#[test]
fn an_estimate_is_told() {
    let (whole, same, error) = both(large(64), "mark_out = \"osd.3\"");
    assert_eq!((whole, error), (same, None));
    let told = |groups| {
        let seen = outcome(&Whatif, large(groups), &format!("{FOUR}mark_out = \"osd.3\""));
        Warning::by_severity(seen.warnings).join("; ").contains("were estimated with one object in")
    };
    assert!(told(960));
    assert!(!told(64));
}
