//! The claims about gets where disks read faster, on runs of one gateway, and on numbers that agree with them
//! and on numbers that do not.

use serde_json::{Value as Json, json};
use towtank_metrics::Histogram;
use towtank_negotiation::Protocol::{self, ReplicastH, ReplicastM, UchCcp};
use towtank_report::Claim;

use super::*;

const PROTOCOLS: [Protocol; 3] = [UchCcp, ReplicastM, ReplicastH];
const SPEEDS: [u64; 2] = [400, 1000];

fn settings(gateways: u32, reads_mib: u64) -> Vec<(String, Json)> {
    vec![
        ("gateways".to_owned(), json!(gateways)),
        ("disk_read".to_owned(), json!(format!("{reads_mib}MiB/s"))),
    ]
}

/// A point of `put-reads`.
fn text(gateways: u32, reads_mib: u64) -> String {
    format!(
        "protocol = \"uch-ccp,replicast-m,replicast-h\"\nservers = 90\nchunk = \"128KiB\"\ndisk = \"400MiB/s\"\n\
         read_share = \"50%\"\nduration = \"10ms\"\ngateways = {gateways}\ndisk_read = \"{reads_mib}MiB/s\""
    )
}

/// Ten replicates with these latencies of gets and puts and gets per second, which scatter by a thousandth.
fn made([get_us, put_us, gets]: [f64; 3]) -> Vec<Outcome> {
    let one = |seed: u32| {
        let factor = 1.0 + 0.001 * (f64::from(seed) - 4.5) / 4.5;
        let mut outcome = Outcome::default();
        for protocol in PROTOCOLS {
            let (name, before) = (protocol.name(), observed::prefix(protocol));
            outcome.measure(format!("{before}get_latency_mean_us"), get_us * factor, "us");
            outcome.measure(format!("{before}put_latency_mean_us"), put_us * factor, "us");
            outcome.measure(format!("{before}gets_per_second"), gets * factor, "gets/s");
            let observed = json!({ "protocol": name, "latencies": Histogram::new(), "got": Histogram::new(), "traces": [] });
            outcome.series.insert(name.to_owned(), observed);
        }
        outcome
    };
    (0..10).map(one).collect()
}

/// The claims on outcomes with slow reads and with fast ones.
fn claims(gateways: u32, outcomes: [&[Outcome]; 2]) -> Vec<Claim> {
    let resolved = SPEEDS.map(|speed| prepare(&text(gateways, speed)).resolved());
    let settings = SPEEDS.map(|speed| settings(gateways, speed));
    let points: Vec<PointResult<'_>> = (0..2)
        .map(|at| PointResult { settings: &settings[at], scenario: &resolved[at], outcomes: outcomes[at] })
        .collect();
    Put.present(&points).claims
}

fn verdicts(claims: &[Claim], what: &str) -> Vec<Verdict> {
    claims.iter().filter(|claim| claim.name.starts_with(what)).map(|claim| claim.verdict).collect()
}

/// The real machines: one gateway, three protocols, both speeds.
#[test]
fn one_gateway_saves_what_the_disk_saves() {
    let ran = SPEEDS.map(|speed| {
        let prepared = prepare(&text(1, speed));
        (0..10).map(|seed| run_as(&*prepared, seed, Executor::Sequential, 1)).collect::<Vec<_>>()
    });
    let right = claims(1, [&ran[0], &ran[1]]);
    assert_eq!(verdicts(&right, "read_time_saved"), [Verdict::Holds; 3], "{right:#?}");
    // A disk that reads as fast as it writes whatever is asked of it.
    let ignored = claims(1, [&ran[0], &ran[0]]);
    assert_eq!(verdicts(&ignored, "read_time_saved"), [Verdict::Misses; 3]);
}

#[test]
fn faster_reads_under_load_are_distinguished_from_slow_ones() {
    const KINDS: [&str; 3] = ["get_faster_than_put", "get_gains_on_put", "gets_per_second"];
    let check = |slow: [f64; 3], fast: [f64; 3], want: [Verdict; 3]| {
        let claims = claims(90, [&made(slow), &made(fast)]);
        for (kind, want) in KINDS.into_iter().zip(want) {
            assert_eq!(verdicts(&claims, kind), [want; 3], "{kind} of {slow:?} and {fast:?}");
        }
    };
    let (slow, fast) = ([900.0, 1_300.0, 40_000.0], [600.0, 1_100.0, 50_000.0]);
    let (holds, misses) = (Verdict::Holds, Verdict::Misses);
    check(slow, fast, [holds; 3]);
    // The speeds exchanged: a get is still faster than a put, since it moves one copy.
    check(fast, slow, [holds, misses, misses]);
    // Reads that are made by the slower path.
    check(slow, [1_500.0, 1_100.0, 30_000.0], [misses; 3]);
    // A key without effect. The scatter of gets beside puts is none, so it misses outright.
    check(slow, slow, [holds, misses, Verdict::CannotTell]);
}

/// Another point, or too few seeds, is no claim.
#[test]
fn only_the_published_point_is_judged() {
    let ten = made([600.0, 1_100.0, 50_000.0]);
    assert_eq!(claims(90, [&ten[..9], &ten]).len(), 0);
    assert_eq!(claims(30, [&ten, &ten]).len(), 0);
}
