//! An event that was kept in all forms.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::PathBuf;

use towtank_imports::File;
use towtank_imports::past::{Is, Record, read};
use towtank_past::{Event, Past, PastError, Source, Span, disagreements, happened, join, shown};

/// 2026-11-28T09:53:33.313Z, when the device was killed.
const KILLED_US: i64 = 1_795_859_613_313_000;
/// When the log first says that all is clean.
const CLEAN_US: i64 = 1_795_859_700_001_603;

const NAMES: [&str; 17] = [
    "before.report.json.gz",
    "during1.report.json.gz",
    "during2.report.json.gz",
    "during3.report.json.gz",
    "after.report.json.gz",
    "before.pg_dump.json.gz",
    "during1.pg_dump.json.gz",
    "during2.pg_dump.json.gz",
    "during3.pg_dump.json.gz",
    "after.pg_dump.json.gz",
    "ceph.log.gz",
    "prometheus.json.gz",
    "status.txt",
    "status.json.gz",
    "pg_stat.txt",
    "before.perf_dump.txt.gz",
    "after.perf_dump.txt.gz",
];

fn source(name: &str) -> Source {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/event").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let record = read(File { name, bytes: &bytes }, None).unwrap_or_else(|error| panic!("{error}")).value;
    Source { name: name.to_owned(), record }
}

fn sources(is_wanted: impl Fn(&str) -> bool) -> Vec<Source> {
    NAMES.into_iter().filter(|name| is_wanted(name)).map(source).collect()
}

fn only_event(past: &Past) -> Event {
    let mut events = happened(past).unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    events.remove(0)
}

fn holds(span: Span, at_us: i64, lag_us: i64) -> bool {
    span.after_us.is_none_or(|after| after <= at_us + lag_us)
        && (at_us..=at_us + lag_us).contains(&span.by_us)
}

#[test]
fn all_files_together_say_what_happened() {
    let past = join(sources(|_| true)).unwrap();
    assert_eq!(past.fsid.as_deref(), Some("4cdcc9f4-b44f-43ef-8538-f93a81b0cf20"));
    assert_eq!(disagreements(&past), [""; 0]);
    assert_eq!(past.work().len(), 50, "of Prometheus and the devices");
    let event = only_event(&past);
    assert_eq!((event.degraded_max, event.misplaced_max, event.moved), (Some(706), Some(0), true));
    assert_eq!(event.warnings, [""; 0]);
    let became: Vec<(i32, Is)> = event.changes.iter().map(|change| (change.device, change.is)).collect();
    assert_eq!(became, [(3, Is::Down), (3, Is::Out)]);
    assert!(holds(event.changes[0].when, KILLED_US, 1_000_000), "{:?}", event.changes[0]);
    assert!(holds(event.began, KILLED_US, 7_000_000), "{:?}", event.began);
    assert_eq!(event.clean.map(|clean| clean.by_us), Some(CLEAN_US));
    assert_eq!(shown(past.clock, event.ended.unwrap().by_us), "2026-11-28T09:54:53.9Z");
}

/// Each source alone tells the same event within its delay.
#[test]
fn each_source_alone_is_enough() {
    let check = |is_wanted: &dyn Fn(&str) -> bool, lag_s: i64, knows_device: bool| {
        let past = join(sources(is_wanted)).unwrap();
        let event = only_event(&past);
        let lag_us = lag_s * 1_000_000;
        assert!(holds(event.began, KILLED_US, lag_us), "{:?}", event.began);
        let clean = event.clean.unwrap();
        assert!((CLEAN_US - 2_000_000..=CLEAN_US + lag_us).contains(&clean.by_us), "{clean:?}");
        let down = event.changes.iter().find(|change| change.is == Is::Down);
        assert_eq!(down.is_some(), knows_device, "{:?}", event.changes);
        if let Some(down) = down {
            assert_eq!(down.device, 3);
            assert!(holds(down.when, KILLED_US, lag_us), "{down:?}");
        }
        assert_eq!(event.warnings.len(), usize::from(!knows_device), "{:?}", event.warnings);
    };
    check(&|name| name == "ceph.log.gz", 7, true);
    check(&|name| name == "prometheus.json.gz", 30, true);
    check(&|name| name == "status.txt", 12, false);
    check(&|name| name == "status.json.gz", 12, false);
    check(&|name| name == "pg_stat.txt", 12, false);
    check(&|name| name.contains("report") || name.contains("pg_dump"), 30, true);
}

/// The lost device is shown by a report after all is clean, and the one before enclosed the change.
#[test]
fn two_reports_enclose_a_change() {
    let around =
        |name: &str| matches!(name, "before.report.json.gz" | "after.report.json.gz" | "pg_stat.txt");
    let event = only_event(&join(sources(around)).unwrap());
    let became: Vec<(i32, Is)> = event.changes.iter().map(|change| (change.device, change.is)).collect();
    assert_eq!(became, [(3, Is::Down), (3, Is::Out)]);
    assert!(event.changes.iter().all(|change| holds(change.when, KILLED_US, 120_000_000)), "{event:?}");
    assert_eq!(event.warnings, [""; 0]);
    // Planted: with the later report alone it may have been down for long, and with the first alone it is up.
    let only =
        |name: &str| only_event(&join(sources(|other| other == name || other == "pg_stat.txt")).unwrap());
    assert_eq!(only("before.report.json.gz").changes, []);
    assert!(only("after.report.json.gz").changes.iter().all(|change| change.when.after_us.is_none()));
}

/// A source with a sample each quarter of a minute saw 0 while groups were peering, and 0 again at the end.
#[test]
fn a_source_that_saw_groups_peering_does_not_end_the_event() {
    let mut all = sources(|name| name == "ceph.log.gz" || name == "prometheus.json.gz");
    let seldom = &mut all[1].record.samples;
    let peering_us = KILLED_US + 37_000_000;
    for sample in seldom.iter_mut().filter(|sample| sample.at_us > peering_us - 5_000_000) {
        sample.degraded = Some(0);
    }
    let alone = only_event(&join(vec![all[1].clone()]).unwrap()).ended.unwrap();
    assert!(alone.by_us < CLEAN_US - 40_000_000, "planted: alone it says so");
    let past = join(all).unwrap();
    assert_eq!(shown(past.clock, only_event(&past).ended.unwrap().by_us), "2026-11-28T09:54:53.9Z");
}

/// Prometheus shows the device as up after the log says that it is down: it is no second change.
#[test]
fn a_source_that_lags_behind_changes_nothing() {
    let past = join(sources(|name| name == "ceph.log.gz" || name == "prometheus.json.gz")).unwrap();
    assert_eq!(only_event(&past).changes.len(), 2);
}

#[test]
fn planted_disagreements_are_found() {
    let changed = |change: &dyn Fn(&mut Record)| {
        let mut all = sources(|name| name == "ceph.log.gz" || name == "status.txt");
        change(&mut all[1].record);
        disagreements(&join(all).unwrap())
    };
    assert_eq!(changed(&|_| ()), [""; 0]);
    let more = changed(&|record| {
        for sample in &mut record.samples {
            sample.degraded = sample.degraded.map(|count| count * 11 / 10);
        }
    });
    assert_eq!(
        more,
        ["`ceph.log.gz` and `status.txt` differ in 5 of 45 counts of degraded objects, most at \
          2026-11-28T09:53:49.6Z: 706 and 776"]
    );
    // A zone that is wrong by half an hour, and by a minute.
    let shifted = |minutes: i64| {
        changed(&|record| record.samples.iter_mut().for_each(|sample| sample.at_us += minutes * 60_000_000))
    };
    let apart = shifted(30);
    assert_eq!(apart.len(), 2, "{apart:?}");
    assert!(apart[0].ends_with("and no other file has any then: is its zone right?"), "{apart:?}");
    assert!(shifted(1)[0].contains("differ in"), "{:?}", shifted(1));
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let error = |change: &dyn Fn(&mut Record)| {
        let mut all = sources(|name| name == "status.txt" || name == "before.report.json.gz");
        change(&mut all[1].record);
        let error = join(all).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string()
    };
    let other = "0dcc9f44-b44f-43ef-8538-f93a81b0cf20";
    assert_eq!(
        error(&|record| record.fsid = Some(other.to_owned())),
        format!(
            "`before.report.json.gz` is of the cluster 4cdcc9f4-b44f-43ef-8538-f93a81b0cf20, and `status.txt` of {other}"
        )
    );
    let local = error(&|record| record.clock = towtank_imports::past::Clock::Local);
    assert_eq!(
        local,
        "the times of `before.report.json.gz` have a zone, and those of `status.txt` have no zone"
    );
    let none = join(sources(|name| name.contains("perf_dump"))).unwrap_err();
    assert_eq!(none, PastError::NoSamples);
    let quiet = happened(&join(sources(|name| name.starts_with("before"))).unwrap()).unwrap_err();
    assert_eq!(
        quiet.to_string(),
        "nothing is degraded or misplaced from 2026-11-28T09:53:11.6Z to 2026-11-28T09:53:11.8Z (samples: 2)"
    );
}

/// What is left of the event where its files are cut is said.
#[test]
fn a_file_that_covers_a_part_says_so() {
    let part = |from_us: i64, to_us: i64| {
        let mut log = source("ceph.log.gz");
        log.record.samples.retain(|sample| (from_us..to_us).contains(&sample.at_us));
        only_event(&join(vec![log]).unwrap()).warnings
    };
    let ended = part(0, CLEAN_US - 20_000_000);
    assert_eq!(ended, ["it was not over in the last sample, at 2026-11-28T09:54:39.9Z"]);
    let began = part(KILLED_US + 60_000_000, i64::MAX);
    assert_eq!(
        began,
        [
            "something was left in the first sample already, at 2026-11-28T09:54:33.9Z: when it began is not known"
        ]
    );
}
