//! Events of which counts alone are kept.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::PathBuf;

use proptest::prelude::*;
use towtank_imports::File;
use towtank_imports::past::read;
use towtank_past::{Event, Source, happened, join};

fn events(name: &str, bytes: &[u8]) -> Vec<Event> {
    let record = read(File { name, bytes }, None).unwrap_or_else(|error| panic!("{error}")).value;
    happened(&join(vec![Source { name: name.to_owned(), record }]).unwrap()).unwrap()
}

/// When all was clean as it was measured, in seconds, and the most that was degraded and misplaced.
const MEASURED: [(&str, f64, u64, u64); 13] = [
    ("C1", 85.64, 356, 0),
    ("C3", 50.64, 0, 369),
    ("CL1", 63.19, 0, 318),
    ("E1", 17.0, 171, 0),
    ("E3", 75.53, 180, 0),
    ("M1", 48.87, 400, 0),
    ("M10", 64.62, 406, 0),
    ("M11", 98.24, 371, 0),
    ("M3", 46.83, 479, 0),
    ("M4", 91.44, 479, 0),
    ("M5", 42.92, 0, 57),
    ("M7", 15.58, 0, 135),
    ("M9", 67.42, 0, 357),
];

#[test]
fn thirteen_events_are_found_as_they_were_measured() {
    for (name, clean_s, degraded, misplaced) in MEASURED {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/events16/{name}.csv.gz"));
        let events = events(name, &std::fs::read(path).unwrap());
        // The second device of M11 was lost when the copies of the first were made again.
        assert_eq!(events.len(), if name == "M11" { 2 } else { 1 }, "{name}");
        let last = events.last().unwrap();
        let by_s = last.clean.unwrap().by_us as f64 / 1e6;
        assert!((by_s - clean_s).abs() < 0.02, "{name}: {by_s} and {clean_s}");
        assert_eq!((last.degraded_max, last.misplaced_max), (Some(degraded), Some(misplaced)), "{name}");
        let unknown = "no file says what became of a device: ";
        let others: Vec<&String> = last.warnings.iter().filter(|one| !one.starts_with(unknown)).collect();
        assert!(others.is_empty() && last.moved, "{name}: {others:?}");
    }
}

/// A table of counts, one each 5 s.
fn table(counts: &[u64]) -> String {
    let rows = (0..).zip(counts).map(|(at, count)| format!("{},{count}\n", 5 * at));
    format!("time,degraded_objects\n{}", rows.collect::<String>())
}

fn warnings(counts: &[u64]) -> Vec<String> {
    let events = events("counts", table(counts).as_bytes());
    assert_eq!(events.len(), 1);
    let device = "no file says what became of a device";
    events[0].warnings.iter().filter(|one| !one.starts_with(device)).cloned().collect()
}

#[test]
fn what_is_odd_is_said_first() {
    let falling: Vec<u64> = [0].into_iter().chain((0..=20).rev().map(|step| 10 * step)).collect();
    assert_eq!(warnings(&falling), [""; 0]);
    let stuck = [&[0][..], &[300; 20]].concat();
    assert_eq!(
        warnings(&stuck),
        [
            "the recovery never moved, from 5.0 s to 100.0 s: a flag may have stopped it, or no device could take copies"
        ]
    );
    assert_eq!(
        warnings(&stuck[..8]),
        ["it was not over in the last sample, at 35.0 s"],
        "not watched for long"
    );
    let mut twice = falling.clone();
    twice.truncate(15);
    twice.extend(&falling[4..]);
    assert_eq!(
        warnings(&twice),
        ["`counts` has 170 left at 75.0 s, after 130: a second event, or another change of the map"]
    );
    // Groups that are peering count nothing for a short time.
    let mut dip = falling.clone();
    (dip[3], dip[4], dip[12]) = (0, 0, 0);
    assert_eq!(warnings(&dip), [""; 0]);
    let gap = table(&falling[..9]) + "945,130\n950,0\n";
    let said = events("counts", gap.as_bytes()).remove(0).warnings;
    assert_eq!(said[1], "`counts` says nothing from 40.0 s to 945.0 s");
}

proptest! {
    /// An event is where the counts are not 0, whatever they are, and the sum of all is none more.
    #[test]
    fn events_enclose_all_that_was_left(counts in prop::collection::vec(prop_oneof![Just(0), 0..500_u64], 2..60)) {
        prop_assume!(counts.iter().any(|count| *count > 0));
        let events = events("counts", table(&counts).as_bytes());
        let inside = |at_us: i64| {
            let is_in = |event: &&Event| {
                event.began.by_us <= at_us && event.ended.is_none_or(|ended| at_us < ended.by_us)
            };
            events.iter().filter(is_in).count()
        };
        for (at, count) in (0..).zip(&counts) {
            let around = inside(5_000_000 * at);
            prop_assert!(around <= 1, "events overlap");
            prop_assert!(*count == 0 || around == 1, "{count} is in no event");
        }
        let most = events.iter().filter_map(|event| event.degraded_max).max();
        prop_assert_eq!(most, counts.iter().copied().max());
        let is_over = counts.last() == Some(&0);
        prop_assert_eq!(events.last().and_then(|event| event.ended).is_some(), is_over);
    }
}
