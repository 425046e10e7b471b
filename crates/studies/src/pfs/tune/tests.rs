//! Searches with known answers, and goals that cannot be met.

use towtank_report::Measure;
use towtank_scenario::gate::Known;
use towtank_scenario::{Document, KeyPath, Setting, Source};
use towtank_streams::Seed;

use super::*;
use crate::pfs::Pfs;
use towtank_study::{Prepared, RunContext, Study};

/// A scenario whose trials are simulated.
struct Simulated {
    text: String,
    resolved: serde_json::Value,
    goals: Vec<Gate>,
    runs: usize,
}

fn prepared(text: &str, changes: &[(String, String)]) -> Box<dyn Prepared> {
    let source = Source::file("pfs.toml", format!("study = \"pfs\"\n{text}"));
    let mut document = Document::parse(&source).expect("it is TOML");
    for (key, value) in changes {
        let path: KeyPath = key.parse().expect("it is a key");
        document.set(Setting::of_flag("--set", &path, value).expect("it is a value")).expect("it can be set");
    }
    let outline = document.outline().expect("it has one point");
    Pfs.check(outline.points()[0].draft()).unwrap_or_else(|problems| panic!("{changes:?}: {problems:?}"))
}

impl Simulated {
    fn new(text: &str, goals: &[&str]) -> Simulated {
        let resolved = prepared(text, &[]).resolved();
        let measures = Pfs.measures_of(&resolved);
        let known: Vec<Known<'_>> =
            measures.iter().map(|measure| Known::new(measure.name, measure.unit)).collect();
        let read = |goal: &&str| Gate::parse("--goal", goal, &known).expect("it is a goal");
        Simulated { text: text.to_owned(), goals: goals.iter().map(read).collect(), resolved, runs: 0 }
    }
}

impl Trials for Simulated {
    fn scenario(&self) -> &serde_json::Value {
        &self.resolved
    }

    fn goals(&self) -> &[Gate] {
        &self.goals
    }

    fn run(&mut self, changes: &[(String, String)]) -> Result<Summary, TrialError> {
        self.runs += 1;
        let outcome = prepared(&self.text, changes).run(&RunContext::alone(Seed(1), 0)).expect("it runs");
        let measure = |one: &towtank_report::Measurement| match one.value() {
            Some(value) => Measure::new(value, one.unit(), 1),
            None => Measure::missing(one.unit(), 1, one.reason().unwrap_or_default()),
        };
        Ok(outcome.measures.iter().map(|(name, one)| (name.clone(), measure(one))).collect())
    }
}

const TWO: &str = "preset = \"paper\"\nclients = 32\nfiles = 8\nfile_size = \"1MiB\"\nduration = \"20s\"\nalone = false\ncache.direct = true\n\
                   disk.jitter = \"0%\"\n[applications.batch]\n[applications.users]\n";

/// Four servers admit batch at a rate X each, so that it moves 4 X: at most 8 MB/s is 2 MB/s per server. The
/// initial content of its buckets, a tenth of a second at each, comes on top.
#[test]
fn a_token_bucket_that_must_be_at_most_so_much_is_found() {
    let text = format!("scheduler = \"token-bucket\"\n{TWO}");
    let mut trials = Simulated::new(&text, &["throughput_bytes_per_s[batch] < 8MB/s"]);
    let found = find(&mut trials, &[]).expect("it is found");
    assert!(found.met, "{}", found.answer.text);
    let rate = found.answer.data["settings"]["applications.batch.rate"].as_str().expect("a rate is set");
    let rate: f64 = rate.trim_end_matches("B/s").parse().expect("it is in bytes");
    assert!((1_850_000.0..=2_020_000.0).contains(&rate), "{rate}\n{}", found.answer.text);
    assert!(trials.runs <= 20, "{} runs", trials.runs);
    assert_eq!(found.answer.data["tried"], trials.runs);
    let command = found.answer.data["rule"][0].as_str().expect("there is a rule");
    assert!(command.ends_with("/sys/fs/cgroup/batch/io.max"), "{command}");
}

/// Half of the disks is all that one of two can be sure of by a weight of 1; three quarters need a weight of
/// at least 3, and the least power of two that suffices is 4.
#[test]
fn a_share_is_had_by_the_least_weight_that_is_enough() {
    let text = format!("scheduler = \"sfq:2\"\n{TWO}");
    let mut trials = Simulated::new(&text, &["share[users] > 72%"]);
    let found = find(&mut trials, &[]).expect("it is found");
    assert!(found.met, "{}", found.answer.text);
    assert_eq!(found.answer.data["settings"], serde_json::json!({ "applications.users.weight": "4" }));
}

/// No setting makes requests faster than a disk; the answer says so first, with the nearest setting and its
/// miss.
#[test]
fn a_goal_that_cannot_be_met_is_said_to_be() {
    let text = format!("scheduler = \"sfq:4\"\n{TWO}");
    let mut trials = Simulated::new(&text, &["latency_p99_s[users] < 5ms"]);
    let found = find(&mut trials, &[]).expect("it ends");
    assert!(!found.met);
    let text = &found.answer.text;
    assert!(text.starts_with("No setting that was tried meets the goals. "), "{text}");
    // A single replicate has no interval.
    assert!(
        text.contains("nearest is ") && text.contains("one run of each cannot tell near ones apart"),
        "{text}"
    );
    assert!(text.contains("missed by "), "{text}");
    assert_eq!(found.answer.data["met"], false);
    assert!(found.answer.data["goals"][0]["missed_by"].as_f64().expect("it is a number") > 1.0);
    assert!(trials.runs <= TRIALS_MAX + 1, "{} runs", trials.runs);
}

/// Goals that are met already change nothing, after one run.
#[test]
fn goals_that_are_met_change_nothing() {
    let text = format!("scheduler = \"sfq:4\"\n{TWO}");
    let mut trials = Simulated::new(&text, &["latency_p99_s[users] < 1h"]);
    let found = find(&mut trials, &[]).expect("it ends");
    assert_eq!((found.met, trials.runs), (true, 1));
    assert!(
        found.answer.text.starts_with("The scenario meets the goals without a change."),
        "{}",
        found.answer.text
    );
}

/// Of several schedulers the first that can meet the goals is taken; a single scheduler without any setting
/// is refused.
#[test]
fn schedulers_are_set_side_by_side() {
    let text = format!("scheduler = \"fifo:4\"\n{TWO}");
    let mut trials = Simulated::new(&text, &["share[users] > 60%"]);
    let refused = find(&mut trials, &[]).expect_err("a fifo has nothing to set").to_string();
    assert_eq!(refused, "`fifo:4` has no setting that could meet the goals");
    let found = find(&mut trials, &["fifo:4", "sfq:4", "drr:4"].map(str::to_owned)).expect("it is found");
    assert!(found.met, "{}", found.answer.text);
    assert_eq!(found.answer.data["settings"]["scheduler"], "sfq:4");
}

/// What is printed for Ceph was simulated with Ceph's idle age, unless another is given.
#[test]
fn rules_for_ceph_are_tried_with_its_idle_age() {
    let text = format!("scheduler = \"fifo:4\"\n{TWO}");
    for (tried, used) in [
        ("mclock:4", "mclock:4:idle-after=5min"),
        ("mclock:4:idle-after=0s", "mclock:4:idle-after=0s"),
        ("sfq:4", "sfq:4"),
    ] {
        let mut trials = Simulated::new(&text, &["share[users] > 60%"]);
        let found = find(&mut trials, &[tried.to_owned()]).expect("it is found");
        assert!(found.met, "{tried}: {}", found.answer.text);
        assert_eq!(found.answer.data["settings"]["scheduler"], used);
    }
}

/// Settings that miss the goals by as much are counted: of a measure that nothing changes, all of them.
#[test]
fn a_nearest_setting_among_equals_is_one_of_them() {
    let text = format!("scheduler = \"fifo:4\"\n{TWO}");
    let mut trials = Simulated::new(&text, &["disk_busy < 1%"]);
    let found = find(&mut trials, &["sfq:4".to_owned()]).expect("it ends");
    assert!(!found.met, "{}", found.answer.text);
    let head = found.answer.text.lines().next().unwrap_or_default();
    assert!(!head.contains("The nearest is ") || !head.contains("by as much"), "{head}");
}

fn lines(scheduler: &str, values: &[(&str, Key, u64)]) -> String {
    let text = format!("scheduler = \"{scheduler}\"\n{TWO}limit = \"3MB/s\"");
    let base: Settled = serde_json::from_value(prepared(&text, &[]).resolved()).expect("it reads back");
    let values = values.iter().map(|&(name, key, value)| ((name.to_owned(), key), value)).collect();
    rule::lines(&base, &Settings { scheduler: scheduler.to_owned(), values }).join("\n")
}

#[test]
fn rules_are_in_the_words_of_their_products() {
    insta::assert_snapshot!(lines("tbf:8", &[("batch", Key::RequestRate, 120)]), @r#"
    lctl set_param ost.OSS.ost_io.nrs_policies="tbf jobid"
    lctl set_param ost.OSS.ost_io.nrs_tbf_rule="start batch jobid={batch} rate=120"
    "#);
    let values = [("users", Key::Weight, 8), ("users", Key::Reservation, 2_000_000)];
    insta::assert_snapshot!(lines("mclock:4", &values), @r"
    ceph config set osd osd_mclock_profile custom
    ceph config set osd osd_mclock_max_sequential_bandwidth_hdd 13653333
    ceph config set osd osd_mclock_scheduler_client_res 0.146  # users
    ceph config set osd osd_mclock_scheduler_client_wgt 8  # users
    ceph config set osd osd_mclock_scheduler_client_lim 0.220  # users
    ceph config set osd osd_mclock_scheduler_background_recovery_res 0  # batch
    ceph config set osd osd_mclock_scheduler_background_recovery_wgt 1  # batch
    ceph config set osd osd_mclock_scheduler_background_recovery_lim 0  # batch
    ");
    insta::assert_snapshot!(lines("token-bucket", &[("batch", Key::Rate, 2_000_000)]), @r#"
    echo "MAJOR:MINOR rbps=2000000 wbps=2000000" > /sys/fs/cgroup/batch/io.max
    "#);
    insta::assert_snapshot!(lines("bfq:4", &[("users", Key::Weight, 8)]), @r"
    echo bfq > /sys/block/DEVICE/queue/scheduler
    echo 1 > /sys/fs/cgroup/batch/io.bfq.weight
    echo 8 > /sys/fs/cgroup/users/io.bfq.weight
    ");
    assert_eq!(lines("sfq:4", &[("users", Key::Weight, 8)]), "");
}
