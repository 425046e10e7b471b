//! The library used by a caller other than the command: the observer's events, stopping a run, and the files
//! in a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use towtank::{Alternative, compare, merge, preview_of_memory, run, run_alternatives};
use towtank::{Document, Observer, Options, Registry, Remark, Scenario, Trouble, Which};
use towtank_campaign::{Progress, Shard, Stop};

/// A single counter at a load of one half, with a short run.
const COUNTER: &str = "\
study = \"queue\"
replicates = 4
warm_up = \"10s\"
span = \"100s\"

[stations.counter]
service_rate = \"10/s\"
arrival_rate = \"5/s\"
";

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut document = Document::parse(COUNTER).expect("it is TOML");
    for (key, value) in settings {
        document.set(key, value).expect("the key exists");
    }
    document.check(&Registry::builtin()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// One run at a time, so that a test knows their order.
fn one_by_one(out: Option<&Path>) -> Options {
    Options { jobs: Some(std::num::NonZeroUsize::MIN), out: out.map(Path::to_owned), ..Options::default() }
}

/// A directory that does not exist yet.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("street").join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("the directory of an earlier run can be removed");
    }
    path
}

/// Records events, and stops a campaign after this many runs have ended.
#[derive(Default)]
struct Notes {
    heard: Mutex<Vec<String>>,
    stop: Stop,
    stop_after: Option<usize>,
}

impl Notes {
    fn note(&self, text: String) {
        self.heard.lock().expect("nobody panics").push(text);
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("nobody panics").clone()
    }
}

impl Observer for Notes {
    fn stop(&self) -> &Stop {
        self.note("stop flag".to_owned());
        &self.stop
    }

    fn begins(&self) {
        self.note("begins".to_owned());
    }

    fn campaign(&self, progress: Progress) {
        self.note(format!("{} of {}", progress.done, progress.total));
        if self.stop_after == Some(progress.done) {
            self.stop.raise();
        }
    }

    fn ended(&self, which: Which, events: u64) {
        assert!(events > 0);
        self.note(format!("replicate {}", which.replicate));
    }

    fn ends(&self) {
        self.note("ends".to_owned());
    }

    fn remark(&self, remark: &Remark<'_>) {
        let lines = match remark {
            Remark::Missing(lines) | Remark::Double(lines) => lines.len(),
            _ => 0,
        };
        let place = env!("CARGO_TARGET_TMPDIR");
        self.note(format!("{remark} {lines}").replace(place, "TMP"));
    }
}

#[test]
fn an_observer_hears_of_all_of_it_in_order() {
    let notes = Notes::default();
    let ran = run(&scenario(&[("replicates", "2")]), &one_by_one(None), &notes).expect("it runs");
    assert_eq!((ran.done.runs, ran.done.of, ran.interrupted), (2, 2, false));
    let want = ["begins", "stop flag", "0 of 2", "replicate 0", "1 of 2", "replicate 1", "2 of 2", "ends"];
    assert_eq!(notes.heard(), want);
}

#[test]
fn what_is_stopped_says_how_far_it_came_and_goes_on_from_there() {
    let out = fresh("stopped");
    let (scenario, options) = (scenario(&[]), one_by_one(Some(&out)));
    let notes = Notes { stop_after: Some(3), ..Notes::default() };
    let ran = run(&scenario, &options, &notes).expect("to stop is no trouble");
    assert!(ran.interrupted);
    assert_eq!((ran.done.runs, ran.done.of), (3, 4));
    assert_eq!(ran.report.expect("something is done").summary["wait_mean"].n(), 3);

    let notes = Notes::default();
    let ran = run(&scenario, &options, &notes).expect("it goes on");
    assert_eq!((ran.done.runs, ran.interrupted), (4, false));
    let last = notes.heard().pop();
    assert_eq!(
        last.as_deref(),
        Some("3 runs were already finished and are kept from `TMP/street/stopped` 0")
    );

    let never_begun = Notes { stop_after: Some(0), ..Notes::default() };
    let ran = run(&scenario, &one_by_one(None), &never_begun).expect("to stop is no trouble");
    assert!(ran.interrupted && ran.report.is_none());
}

#[test]
fn parts_make_the_whole() {
    let registry = Registry::builtin();
    let scenario = scenario(&[]);
    let whole = run(&scenario, &Options::default(), &()).expect("it runs").report.expect("there is a report");
    let parts = ["part-1", "part-2"].map(fresh);
    for (number, part) in (1..).zip(&parts) {
        let shard = Shard::new(number, 2).expect("there are two");
        let ran = run(&scenario, &Options { shard, ..one_by_one(Some(part)) }, &()).expect("it runs");
        assert_eq!((ran.done.runs, ran.done.of), (2, 2));
        assert!(ran.report.is_none(), "a part has no report of its own");
        assert!(!part.join("report.json").exists());
    }
    let gates = ["wait_mean > 0s".to_owned()];
    let out = Options { out: Some(fresh("merged")), ..Options::default() };
    let merged = merge(&registry, &parts, &gates, &out, &()).expect("they fit together");
    assert!(merged.complete);
    assert_eq!(merged.unmet.len(), 1);
    assert_eq!(merged.report.to_json(), whole.to_json());
    let written = fs::read_to_string(out.out.expect("it was given").join("report.json"));
    assert_eq!(written.expect("it was written"), whole.to_json());

    let notes = Notes::default();
    let merged = merge(&registry, &parts[..1], &gates, &Options::default(), &notes).expect("half of it");
    assert!(!merged.complete && merged.unmet.is_empty(), "a gate is about the whole");
    assert_eq!(notes.heard(), ["no part has these runs: 1"]);
}

#[test]
fn a_part_is_not_judged_by_gates() {
    let mut document = Document::parse(COUNTER).expect("it is TOML");
    document.fail_if("wait_mean > 1s");
    let scenario = document.check(&Registry::builtin()).expect("nothing is wrong");
    let shard = Shard::new(1, 2).expect("there are two");
    let refused = run(&scenario, &Options { shard, ..Options::default() }, &());
    let Err(Trouble::Input(problems)) = refused else { panic!("a gate is about the whole") };
    insta::assert_snapshot!(problems, @"a gate cannot be evaluated on part 1/2: it applies to the whole campaign");
    let hint = problems.iter().next().and_then(towtank_scenario::Problem::next_step).expect("there is one");
    assert!(hint.ends_with("towtank merge DIR… --fail-if 'wait_mean > 1s'"), "{hint}");
}

#[test]
fn a_part_that_is_kept_nowhere_is_refused() {
    let shard = Shard::new(1, 2).expect("there are two");
    let refused = run(&scenario(&[]), &Options { shard, ..Options::default() }, &());
    let Err(Trouble::Input(problems)) = refused else { panic!("its runs would be lost") };
    insta::assert_snapshot!(problems, @"no directory is given for part 1/2, so its results would be lost");
}

#[test]
fn what_is_wrong_with_scenario_and_gates_is_reported_together() {
    let mut document = Document::parse(COUNTER).expect("it is TOML");
    document.set("span", "-1s").expect("the key exists");
    document.fail_if("wait_men > 1s");
    let problems = document.check(&Registry::builtin()).err().expect("two things are wrong");
    assert_eq!(problems.len(), 2, "{problems}");
}

#[test]
fn two_results_are_compared_and_no_report_lands_on_a_campaign() {
    let (a, b) = (fresh("a"), fresh("b"));
    for (dir, rate) in [(&a, "5/s"), (&b, "8/s")] {
        let scenario = scenario(&[("stations.counter.arrival_rate", rate)]);
        run(&scenario, &one_by_one(Some(dir)), &()).expect("it runs");
    }
    let out = fresh("compared");
    let registry = Registry::builtin();
    let report = compare(&[&a, &b], &registry, Some(&out)).expect("they can be compared");
    assert_eq!(report.study, "compare");
    assert!(out.join("report.html").exists());
    let before = fs::read(a.join("report.json")).expect("it is there");
    assert!(matches!(compare(&[&a, &b], &registry, Some(&a)), Err(Trouble::Input(_))));
    assert_eq!(fs::read(a.join("report.json")).expect("it is there"), before);
    assert!(matches!(compare(&[&a, &a.join("absent")], &registry, None), Err(Trouble::Input(_))));
}

#[test]
fn versions_are_compared_as_their_runs_would_be() {
    let rates = ["5/s", "6/s", "8/s"];
    let versions = rates.map(|rate| Alternative {
        name: rate.to_owned(),
        scenario: scenario(&[("stations.counter.arrival_rate", rate)]),
    });
    let registry = Registry::builtin();
    let ran = run_alternatives(&versions, &registry, &one_by_one(None), &()).expect("they run");
    assert!(!ran.interrupted && ran.done.runs == ran.done.of);
    let found = ran.report.expect("nobody stopped them");
    // Pairs of replicates are known without a directory.
    let dirs = rates.map(|rate| {
        let dir = fresh(&format!("version-{}", rate.trim_end_matches("/s")));
        let scenario = scenario(&[("stations.counter.arrival_rate", rate)]);
        run(&scenario, &one_by_one(Some(&dir)), &()).expect("it runs");
        dir
    });
    let dirs: Vec<&Path> = dirs.iter().map(AsRef::as_ref).collect();
    let want = compare(&dirs, &registry, None).expect("they can be compared");
    assert_eq!(found.summary, want.summary);
    assert!(found.summary["wait_mean[B]"].interval().is_some());
    // Without the runs there are no pairs, so the intervals differ.
    let reports: Vec<_> = dirs.iter().map(|dir| dir.join("report.json")).collect();
    let reports: Vec<&Path> = reports.iter().map(AsRef::as_ref).collect();
    assert_ne!(compare(&reports, &registry, None).expect("they can be compared").summary, want.summary);
    assert!(matches!(
        run_alternatives(&versions[..1], &registry, &one_by_one(None), &()),
        Err(Trouble::Input(_))
    ));
}

#[test]
fn memory_is_known_beforehand() {
    let preview = preview_of_memory(&scenario(&[]), &one_by_one(None)).expect("it fits");
    assert_eq!((preview.jobs, preview.all), (1, preview.each));
    assert!(preview.each.expect("the study estimates").get() > 0);
    assert!(preview.refusal.is_none());
}
