//! Large recoveries, whose other settings and speeds are tried with fewer objects.

use towtank_rebuild::recovery::Recovery;
use towtank_streams::{Draws, Purpose, Uniform as _};

use super::coarse::LIMITS;
use super::*;
use towtank_recovery::estimate::Estimate;
use towtank_recovery::levers::{self, Tried};
use towtank_recovery::resources::resources;

/// So many groups with 300 objects each, on three of four devices in turn.
fn large(groups: usize) -> Folder {
    filled(groups, 300)
}

fn filled(groups: usize, objects: u64) -> Folder {
    let held: Vec<[u32; 3]> = (0..groups).map(|at| HELD[at % HELD.len()]).collect();
    let mut folder = four(&held, None);
    let text = String::from_utf8(folder.0["pgs"].clone()).expect("it is text");
    let text = text.replace("\"num_objects\":10}", &format!("\"num_objects\":{objects}}}"));
    let text = text.replace("\"num_bytes\":41943040", &format!("\"num_bytes\":{}", objects << 20));
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
    let estimate = Estimate::of(&recovery, &recovered, LIMITS, &context).unwrap();
    let tried = |estimate| {
        let settings = ready.real.levers();
        levers::tried(&recovery, &recovered, (&resources, settings), estimate, &context).unwrap()
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

/// The errors of estimated trials over drawn recoveries, in ascending order: groups, objects in a group and
/// limits are drawn, under each queue.
fn errors(recoveries: u32) -> Vec<f64> {
    let mut errors = Vec::new();
    let mut draws = Draws::new(Seed(11), 0, 0);
    for turn in 0..recoveries {
        let mut draw = |bound: u64| draws.of(Purpose(0)).below(bound);
        let (groups, objects) = (680 + draw(400) as usize, 250 + draw(300));
        let queue = match turn % 3 {
            0 => format!("recovery_sleep = \"{}ms\"\nqueue = \"wpq\"", draw(30)),
            1 => format!("recovery_sleep = \"0s\"\nqueue = \"wpq\"\nmax_backfills = {}", 1 + draw(4)),
            _ => format!("queue = \"mclock\"\nceph_release = {}", 16 + draw(4)),
        };
        let disk = format!("disk_read = \"{}MB/s\"\ndisk_write = \"{0}MB/s\"", 60 + draw(400));
        let text = format!("mark_out = \"osd.3\"\n{queue}\n{disk}");
        let (whole, estimated, error) = both(filled(groups, objects), &text);
        if error.is_none() {
            assert_eq!(whole, estimated, "without an estimate nothing differs");
            continue;
        }
        for one in &whole {
            let same = estimated.iter().find(|other| other.change == one.change).expect(&one.change);
            if let (Some(whole), Some(estimated)) = (one.time_s, same.time_s) {
                println!("{:.4} {} in {text:?}", estimated / whole - 1.0, one.change);
                errors.push((estimated / whole - 1.0).abs());
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    errors
}

/// In the median, a trial is off by no more than what is accepted of the recovery without a change.
/// `ESTIMATES=60` in the environment draws more; docs/whatif.md has that result.
#[test]
fn the_median_error_of_estimated_trials_is_small() {
    let asked = std::env::var("ESTIMATES").ok().and_then(|count| count.parse().ok());
    let errors = errors(asked.unwrap_or(3));
    let (count, most) = (errors.len(), errors.last().copied().expect("some trials are estimated"));
    println!(
        "{count} trials: median {:.4}, 95 % {:.4}, most {most:.4}",
        errors[count / 2],
        errors[count * 95 / 100]
    );
    assert!(errors[count / 2] <= 0.02, "{errors:?}");
}

/// Few objects are tried as they are, and nothing is said of an estimate. Many are, and it is said.
#[test]
fn an_estimate_is_reported() {
    let (whole, same, error) = both(large(64), "mark_out = \"osd.3\"");
    assert_eq!((whole, error), (same, None));
    let warns = |groups| {
        let seen = outcome(&Whatif, large(groups), &format!("{FOUR}mark_out = \"osd.3\""));
        Warning::texts(seen.warnings).join("; ").contains("were estimated with one object in")
    };
    assert!(warns(960));
    assert!(!warns(64));
}
