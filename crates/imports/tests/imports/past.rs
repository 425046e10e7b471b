//! What was kept of a real event, read back: `docs/examples/event`, whose page says how it was recorded. Then
//! damaged: cut, changed, and random.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::Read as _;
use std::path::PathBuf;

use proptest::prelude::*;
use towtank_imports::past::{Clock, Format, Is, Record, Sample, Seen, Work, Zone, read};
use towtank_imports::{File, ImportError, Imported};

const FSID: &str = "4cdcc9f4-b44f-43ef-8538-f93a81b0cf20";

const FILES: [(&str, Format, usize); 10] = [
    ("before.report.json.gz", Format::Report, 1),
    ("during2.report.json.gz", Format::Report, 1),
    ("during2.pg_dump.json.gz", Format::Groups, 1),
    ("ceph.log.gz", Format::Log, 146),
    ("prometheus.json.gz", Format::Prometheus, 9),
    ("status.txt", Format::Status, 26),
    ("status.json.gz", Format::Status, 26),
    ("pg_stat.txt", Format::Status, 26),
    ("before.perf_dump.txt.gz", Format::Perf, 0),
    ("after.perf_dump.txt.gz", Format::Perf, 0),
];

fn bytes(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/event").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    unpacked
}

fn of_bytes(bytes: &[u8]) -> Result<Imported<Record>, ImportError> {
    read(File { name: "past", bytes }, None)
}

fn of_text(text: &str) -> Record {
    of_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{error}, {:?}: {text}", error.hint)).value
}

fn error_of(text: &str) -> String {
    let error = of_bytes(text.as_bytes()).expect_err(text);
    assert!(error.hint.is_some(), "{error} says no next step");
    error.to_string()
}

#[test]
fn every_file_of_the_event_is_read() {
    for (name, format, samples) in FILES {
        let Imported { value, notes } =
            of_bytes(&bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (value.format, value.clock, value.samples.len()),
            (format, Clock::Zoned, samples),
            "{name}"
        );
        assert_eq!(notes, [""; 0], "{name}");
        let names_cluster = matches!(name, "status.txt" | "status.json.gz" | "ceph.log.gz");
        let knows = names_cluster || format == Format::Report;
        assert_eq!(value.fsid.as_deref(), knows.then_some(FSID), "{name}");
    }
}

/// The same question was asked as text and as JSON, one after the other.
#[test]
fn text_and_json_of_one_status_say_the_same() {
    let (text, json) = (of_bytes(&bytes("status.txt")).unwrap(), of_bytes(&bytes("status.json.gz")).unwrap());
    let (mut compared, mut rates) = (0, Vec::new());
    for (text, json) in text.value.samples.iter().zip(&json.value.samples) {
        let seconds = (json.at_us - text.at_us) / 1_000_000;
        assert!((0..4).contains(&seconds), "{seconds}");
        if text.clean != json.clean || text.degraded != json.degraded {
            continue;
        }
        compared += 1;
        assert_eq!((text.groups, text.copies), (json.groups, json.copies));
        assert_eq!((text.devices_up, text.devices_in), (json.devices_up, json.devices_in));
        if let (Some(text), Some(json)) = (text.bytes_per_s, json.bytes_per_s) {
            // Text has two digits, and between the two questions the rate may have fallen.
            rates.push((text / json - 1.0).abs() < 0.05);
        }
    }
    let same = rates.iter().filter(|same| **same).count();
    assert!(same >= 8 && 3 * same >= 2 * rates.len(), "{rates:?}");
    assert!(compared >= 20, "{compared} of 26");
}

#[test]
fn the_log_says_what_became_of_the_device() {
    let Record { seen, samples, .. } = of_bytes(&bytes("ceph.log.gz")).unwrap().value;
    let after = |seen: &&Seen| seen.at_us > 1_795_859_600_000_000;
    let later: Vec<(i32, Is)> = seen.iter().filter(after).map(|seen| (seen.device, seen.is)).collect();
    assert_eq!(later, [(3, Is::Down), (3, Is::Out)]);
    let most = samples.iter().filter_map(|sample| sample.degraded).max();
    assert_eq!(most, Some(706));
    let last = samples.iter().rev().find(|sample| sample.degraded.is_some()).unwrap();
    assert_eq!((last.degraded, last.misplaced, last.clean), (Some(0), Some(0), Some(33)));
}

#[test]
fn counters_of_devices_are_the_same_in_both_files() {
    let of = |name: &str| of_bytes(&bytes(name)).unwrap().value.work;
    let (dump, prometheus) = (of("after.perf_dump.txt.gz"), of("prometheus.json.gz"));
    assert_eq!(dump.len(), 5, "the lost device does not answer");
    for Work { device, objects, bytes, .. } in dump {
        let last = |value: &dyn Fn(&Work) -> Option<u64>| {
            prometheus.iter().filter(|work| work.device == device).filter_map(value).max()
        };
        assert_eq!(last(&|work| work.objects), objects, "{device:?}");
        assert_eq!(last(&|work| work.bytes), bytes, "{device:?}");
    }
}

const TIDY: &str = "time,degraded_objects,misplaced_objects,bytes_per_s\n\
                    2026-11-28T09:41:12Z,364,,\n2026-11-28T09:41:14Z,0,12,1024.5\n";

#[test]
fn tables_of_several_kinds() {
    let tidy = of_text(TIDY);
    let sample = |seconds: i64, line| Sample {
        at_us: (1_795_858_872 + seconds) * 1_000_000,
        line,
        ..Sample::default()
    };
    let want = [
        Sample { degraded: Some(364), ..sample(0, 2) },
        Sample { degraded: Some(0), misplaced: Some(12), bytes_per_s: Some(1024.5), ..sample(2, 3) },
    ];
    assert_eq!(tidy.samples, want, "an empty cell is missing, and not 0");
    let grafana = "\"Time\",\"ceph_num_objects_degraded{instance=\"\"h:9283\"\", job=\"\"ceph\"\"}\",\"other\"\n\
                   1795858872000,364,5\n1795858874000,0,6\n";
    let degraded: Vec<_> = of_text(grafana).samples.iter().map(|one| (one.at_us, one.degraded)).collect();
    assert_eq!(degraded, want.clone().map(|one| (one.at_us, one.degraded)));
    let local = "sep=;\nTime;ceph_num_objects_degraded\n2026-11-28 09:41:12;364\n";
    assert_eq!(of_text(local).clock, Clock::Local);
    let zone: Zone = "+01:00".parse().unwrap();
    let there = read(File { name: "past", bytes: local.as_bytes() }, Some(zone)).unwrap().value;
    assert_eq!((there.clock, there.samples[0].at_us), (Clock::Zoned, want[0].at_us - 3_600_000_000));
    assert_eq!(of_text("time,degraded_objects\n-0.5,3\n1.5,2\n").clock, Clock::Start);
}

#[test]
fn pools_are_added_where_all_have_a_value() {
    let answer = |body: &str| {
        format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{body}]}}}}")
    };
    let series = |labels: &str, values: &str| {
        format!(
            "{{\"metric\":{{\"__name__\":\"ceph_pool_recovering_bytes_per_sec\"{labels}}},\"values\":[{values}]}}"
        )
    };
    let pool = |pool: u32, values: &str| series(&format!(",\"pool_id\":\"{pool}\""), values);
    let text = answer(&[pool(1, "[10,\"1\"],[25,\"2\"]"), pool(2, "[10,\"5\"],[40,\"7\"]")].join(","));
    let Imported { value, notes } = of_bytes(text.as_bytes()).unwrap();
    let rates: Vec<_> = value.samples.iter().map(|one| (one.at_us, one.bytes_per_s)).collect();
    assert_eq!(rates, [(10_000_000, Some(6.0))]);
    assert_eq!(notes.len(), 1, "{notes:?}");
    // Planted: two clusters in one Prometheus, where one value would count.
    let two = answer(&[series("", "[10,\"1\"]"), series(",\"job\":\"b\"", "[10,\"2\"]")].join(","));
    let want = "`past`: `ceph_pool_recovering_bytes_per_sec`: it is 1 and 2 at the same time, 10 s";
    assert_eq!(error_of(&two), want);
    let standby = answer(&[series("", "[10,\"1\"]"), series(",\"job\":\"b\"", "[10,\"1\"]")].join(","));
    assert_eq!(of_text(&standby).samples[0].bytes_per_s, Some(1.0), "the same value twice counts once");
}

#[test]
fn what_cannot_be_read_is_refused_with_a_next_step() {
    let check = |text: &str, want: &str| assert_eq!(error_of(text), format!("`past`: {want}"), "{text}");
    check(
        "time,degraded_objects\n2026-11-28T09:41:12Z,1.2 K\n",
        "`line 2, degraded_objects`: `1.2 K` is not a plain number",
    );
    check("time,degraded_objects\n5,1.5\n", "`ceph_num_objects_degraded`: 1.5 is not a count");
    check("time,degraded_objects\n5,-1\n", "`ceph_num_objects_degraded`: -1 is not a count");
    check("time,degraded_objects\n5,1\n3,1\n9,1\n", "`line 3`: the time goes back");
    check("time,degraded_objects,x\n5,1\n", "`line 2`: it has 2 cells, and the heading 3");
    check("time,other\n5,1\n", "none of its columns is known: `time,other`");
    check("a,b\n5,1\n", "this is nothing that says how a recovery went; it begins with `a,b`");
    check(
        "33 pgs: 33 active+clean; 1 B data, 2 GiB used, 4 GiB / 8 GiB avail\n",
        "it is what `ceph` printed, without the time",
    );
    check(
        "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"too long\"}",
        "Prometheus answered `error`: too long",
    );
    check(
        "2026-11-28T09:41:12Z\n2026-11-28T09:41:15Z\n",
        "it is what `ceph` printed at some times, and says nothing of a recovery",
    );
    check("{}", "this JSON says nothing of a recovery");
    let line = |at: &str| {
        format!(
            "{at} mgr.x (mgr.1) 1 : cluster [DBG] pgmap v1: 1 pgs: 1 active+clean; 0 B data, 1 GiB used, 1 GiB / 2 GiB avail\n"
        )
    };
    let back = line("2026-11-28T09:41:12Z") + &line("2026-11-28T08:41:12Z");
    check(&back, "`line 2`: the time goes back by 3600 s");
    let mixed = line("2026-11-28T09:41:12Z") + &line("2026-11-28 09:41:13");
    check(&mixed, "the time at line 1 has a zone, and that at line 2 has none");
    let other = "5dcc9f44-b44f-43ef-8538-f93a81b0cf20";
    let status = String::from_utf8(bytes("status.txt")).unwrap();
    let two = format!("{status}{}", status.replace(FSID, other).replace("2026-11-28", "2026-11-29"));
    assert!(
        error_of(&two).ends_with(&format!("it is of the cluster {other}, and what is before it of {FSID}"))
    );
}

/// A summary of a log, with what it says.
fn summary(at_s: i64, degraded: u64, misplaced: u64, copies: u64) -> String {
    let share = |count: u64, what: &str| match count {
        0 => String::new(),
        _ => format!("; {count}/{copies} objects {what} ({:.3}%)", 100.0 * count as f64 / copies as f64),
    };
    format!(
        "2026-11-28T{:02}:{:02}:{:02}.5+0000 mgr.x (mgr.1) {at_s} : cluster [DBG] pgmap v{at_s}: 33 pgs: 2 active+undersized+degraded, \
         31 active+clean; 225 MiB data, 2.4 GiB used, 46 GiB / 48 GiB avail; 3.3 KiB/s rd, 7 op/s{}{}; 2.0 MiB/s, 16 objects/s recovering\n",
        at_s / 3_600,
        at_s / 60 % 60,
        at_s % 60,
        share(degraded, "degraded"),
        share(misplaced, "misplaced")
    )
}

proptest! {
    #[test]
    fn what_a_log_says_is_read_back(counts in prop::collection::vec((0..5_000_u64, 0..5_000_u64), 1..20)) {
        let text: String =
            (0..).zip(&counts).map(|(at, (degraded, misplaced))| summary(2 * at, *degraded, *misplaced, 5_400)).collect();
        let found: Vec<(u64, u64)> = of_text(&text)
            .samples.iter().map(|one| (one.degraded.unwrap(), one.misplaced.unwrap())).collect();
        prop_assert_eq!(found, counts);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A file that is cut says less than the whole, and nothing else.
    #[test]
    fn cut_files_say_nothing_else(which in 0..FILES.len(), cut in any::<prop::sample::Index>()) {
        let (name, format, _) = FILES[which];
        let bytes = bytes(name);
        let whole = of_bytes(&bytes).unwrap().value;
        let Ok(Imported { value: part, .. }) = of_bytes(&bytes[..cut.index(bytes.len())]) else { return Ok(()) };
        prop_assert_eq!(part.format, format);
        // Of the last one the rates, which come last, may be cut off.
        let mut samples = part.samples.clone();
        if let (Some(last), Some(own)) = (samples.last_mut(), whole.samples.get(part.samples.len().wrapping_sub(1))) {
            last.bytes_per_s = last.bytes_per_s.or(own.bytes_per_s);
            last.objects_per_s = last.objects_per_s.or(own.objects_per_s);
        }
        prop_assert!(whole.samples.starts_with(&samples), "{} {:?}", name, part.samples.last());
        prop_assert!(whole.seen.starts_with(&part.seen));
        prop_assert!(whole.work.starts_with(&part.work), "{}", name);
    }

    /// A digit of a count that was changed is noticed by the share beside it: the summary is left out.
    #[test]
    fn changed_counts_are_left_out(degraded in 1..5_000_u64, at in 0..4_usize, digit in b'0'..=b'9') {
        let text = summary(0, degraded, 0, 5_400) + &summary(2, 7, 0, 5_400);
        let place = text.find(&format!("; {degraded}/")).unwrap() + 2;
        let mut bytes = text.into_bytes();
        let at = place + at % degraded.to_string().len();
        let was = std::mem::replace(&mut bytes[at], digit);
        let Imported { value, notes } = of_bytes(&bytes).unwrap();
        let is_same = was == digit;
        prop_assert_eq!(value.samples.len(), 1 + usize::from(is_same));
        prop_assert_eq!(notes.is_empty(), is_same, "{:?}", notes);
    }

    #[test]
    fn damaged_files_never_panic(
        which in 0..FILES.len(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = bytes(FILES[which].0);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        names_the_file(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        names_the_file(&bytes);
    }

    #[test]
    fn anything_at_all_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        names_the_file(&bytes);
    }
}

fn names_the_file(bytes: &[u8]) {
    if let Err(error) = of_bytes(bytes) {
        assert!(error.to_string().starts_with("`past`: "), "{error}");
    }
}
