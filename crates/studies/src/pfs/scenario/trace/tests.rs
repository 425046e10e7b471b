//! Every sample of a trace is replayed; which records are left out; and which files are refused.

use std::fmt;
use std::sync::Arc;

use towtank_report::Outcome;
use towtank_scenario::{Document, Files, Problems, Source};
use towtank_streams::Seed;

use super::*;
use crate::pfs::Pfs;
use towtank_study::{Prepared, RunContext, Study};

/// The samples of the crate that reads traces, and files that a test makes.
struct Folder(Vec<(&'static str, &'static str)>);

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("samples")
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if let Some((_, text)) = self.0.iter().find(|(name, _)| *name == path) {
            return Ok(text.as_bytes().to_vec());
        }
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/samples/");
        std::fs::read(format!("{samples}{path}")).map_err(|_| "no such file".to_owned())
    }
}

const MADE: [(&str, &str); 6] = [
    ("empty.csv", ""),
    ("blank.csv", "\n\n"),
    ("back.csv", "1,R,0,4096,300\n1,R,0,4096,100\n1,W,8192,4096,900\n"),
    ("odd.csv", "1,R,0,4096,100\n1,W,0,0,200\n2,W,0,5000000000,300\n2,R,1152921504606846976,1,400\n"),
    ("nothing.csv", "1,R,0,0,100\n1,W,0,0,200\n"),
    ("broken.csv", "1,R,0,4096,100\n1,X,0,4096,200\n"),
];

fn check(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let source = Source::file("pfs.toml", format!("study = \"pfs\"\n{text}"));
    let document = Document::parse(&source)?.with_files(Arc::new(Folder(MADE.to_vec())));
    Pfs.check(document.outline()?.points()[0].draft())
}

fn outcome(text: &str) -> Outcome {
    let prepared = check(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    prepared.run(&RunContext::alone(Seed(1), 0)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = outcome.measures.get(measure).unwrap_or_else(|| panic!("no {measure}"));
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

fn done(outcome: &Outcome) -> u64 {
    (value(outcome, "requests_per_s") * value(outcome, "makespan_s")).round() as u64
}

/// The records of each sample, and how many of them are closes, syncs, trims, copies and requests of no
/// bytes.
const SAMPLES: [(&str, u64); 13] = [
    ("pfssim.trace", 12),
    ("pfssim-v0.13.trace", 11),
    ("msr.csv", 15),
    ("alibaba.csv", 15),
    ("tencent.csv", 15),
    ("systor17.csv", 15),
    ("spc.spc", 15),
    ("ibm-cos.txt", 17),
    ("fio-v2.log", 15),
    ("fio-v3.log", 13),
    ("blkparse.txt", 5),
    ("dxt.txt", 7),
    ("oracle-general.bin", 16),
];

/// The number of records that the warnings report as left out.
fn left_out(outcome: &Outcome) -> u64 {
    let first =
        outcome.warnings.iter().map(|warning| &warning.text).find(|text| text.contains("are not replayed"));
    first.map_or(0, |text| text.split(' ').next().and_then(|word| word.parse().ok()).expect("a count"))
}

/// The records that are done and those reported as left out add up to all records of the trace.
fn all_counted(outcome: &Outcome, records: u64) -> Result<(), String> {
    let (done, left_out) = (done(outcome), left_out(outcome));
    if done + left_out == records {
        Ok(())
    } else {
        Err(format!("{records}: {done} done, {left_out} left out"))
    }
}

#[test]
fn every_sample_is_replayed_or_what_is_not_is_said() {
    for (sample, records) in SAMPLES {
        for speed in ["1x", "1000x"] {
            let outcome = outcome(&format!("[trace]\nfile = \"{sample}\"\nspeed = \"{speed}\""));
            assert_eq!(all_counted(&outcome, records), Ok(()), "{sample}: {:?}", outcome.warnings);
            assert!(all_counted(&outcome, records + 1).is_err(), "{sample}: a lost record is noticed");
        }
    }
}

/// Twice the speed halves the time where requests come far apart, and a limit of half the records replays
/// half of them.
#[test]
fn speed_and_limit_are_kept() {
    let of = |more: &str| outcome(&format!("[trace]\nfile = \"alibaba.csv\"\n{more}"));
    let (once, twice) = (of("speed = \"0.0001x\""), of("speed = \"0.0002x\""));
    let ratio = value(&once, "makespan_s") / value(&twice, "makespan_s");
    assert!((ratio - 2.0).abs() < 0.1, "{ratio}");
    assert_eq!(done(&of("limit = 4")), 4);
    let closed = of("loop = \"closed\"");
    assert!(value(&closed, "makespan_s") < value(&once, "makespan_s") / 2.0);
}

/// A trace beside generated work is one application of two, each with its own measures.
#[test]
fn a_trace_runs_beside_generated_work() {
    let text = "clients = 4\nfiles = 2\n[applications.volumes]\nclients = 2\ntrace.file = \"msr.csv\"\ntrace.loop = \"closed\"\n\
                [applications.batch]\nworkload = \"read\"";
    let outcome = outcome(text);
    assert!(value(&outcome, "throughput_bytes_per_s[volumes]") > 0.0);
    assert!(value(&outcome, "slowdown[volumes]") >= 0.99);
    let resolved = check(text).expect("it is sound").resolved();
    assert_eq!(resolved["applications"]["volumes"]["trace"]["format"], "msr");
}

#[test]
fn records_that_go_back_or_cannot_be_replayed_are_reported() {
    let of = |file: &str| {
        let outcome = outcome(&format!("[trace]\nfile = \"{file}\"\nformat = \"alibaba\""));
        Warning::texts(outcome.warnings)
    };
    // The first record is at 0, so none can be before it; others may be earlier than the one before them.
    let refusal = |text: &str| match check(text) {
        Ok(_) => panic!("{text} was taken"),
        Err(problems) => problems.iter().map(|one| one.message().to_owned()).collect::<Vec<_>>().join("\n"),
    };
    assert!(refusal("[trace]\nfile = \"back.csv\"").contains("line 2"));
    assert_eq!(
        of("odd.csv"),
        [
            "3 of 4 records of `odd.csv` are not replayed: 1 beyond 1 EiB of a file, 1 of 4 GiB or more, 1 of no bytes"
        ]
    );
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let refusal = |text: &str| match check(text) {
        Ok(_) => panic!("{text} was taken"),
        Err(problems) => {
            let lines = problems.iter().map(|problem| {
                format!("{}\n  hint: {}", problem.message(), problem.next_step().unwrap_or("none"))
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    };
    let all = [
        refusal("[trace]\nfile = \"absent.csv\""),
        refusal("[trace]\nfile = \"empty.csv\""),
        refusal("[trace]\nfile = \"blank.csv\"\nformat = \"msr\""),
        refusal("[trace]\nfile = \"msr.csv\"\nformat = \"msrc\""),
        refusal("[trace]\nfile = \"msr.csv\"\nformat = \"spc\""),
        refusal("[trace]\nfile = \"broken.csv\"\nformat = \"alibaba\""),
        refusal("[trace]\nfile = \"nothing.csv\"\nformat = \"alibaba\""),
        refusal("[trace]\nfile = \"back.csv\"\nformat = \"alibaba\""),
        refusal("[trace]\nfile = \"msr.csv\"\nspeed = \"fast\""),
        refusal("[trace]\nfile = \"msr.csv\"\nspeed = \"0x\""),
        refusal("[trace]\nfile = \"fio-v2.log\"\nloop = \"open\""),
        refusal("flows = 2\n[trace]\nfile = \"fio-v2.log\""),
        refusal("weights = \"1:2\"\n[trace]\nfile = \"msr.csv\""),
        refusal("weights = \"1:2\"\n[trace]\nfile = \"msr.csv\"\napplication = \"app3\""),
        refusal("[applications.a.trace]\nfile = \"msr.csv\"\napplication = \"a\""),
        refusal("[trace]\nfile = \"msr.csv\"\n[applications.a.trace]\nfile = \"msr.csv\""),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn speeds_read_back() {
    for (text, millionths) in
        [("2x", 2_000_000), ("0.5x", 500_000), ("1.000001x", 1_000_001), ("12 x", 12_000_000)]
    {
        assert_eq!(speed_of(text), Some(millionths), "{text}");
        assert_eq!(speed_of(&text_of(millionths)), Some(millionths), "{text}");
    }
    for text in ["2", "x", "-1x", ".5x", "1.x", "0.0000001x", "1e3x", "99999999999999999999x"] {
        assert_eq!(speed_of(text), None, "{text}");
    }
}

/// Records take the estimated memory, in addition to the file itself.
#[test]
fn memory_has_the_records_and_the_file() {
    let of = |limit: u32| {
        let text = format!("cache.direct = true\n[trace]\nfile = \"msr.csv\"\nlimit = {limit}");
        check(&text).expect("it is sound").memory_estimate().expect("it is estimated").get()
    };
    let file = std::fs::metadata(concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/samples/msr.csv"));
    let file = file.expect("it is there").len();
    assert!(of(1) > file + 32);
    assert!(of(15) >= of(1) + 14 * 32);
}
