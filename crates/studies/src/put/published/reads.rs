//! Gets where disks read faster than they write.
//!
//! The paper describes gets (section II.C) and simulates puts only, so nothing of it is judged here. What is
//! judged follows from the disks: with one gateway nothing waits, and a get takes as much less time as the
//! disk reads faster, to the nanosecond; with as many gateways as servers, faster reads must make gets faster
//! beside puts, and more of them.

use towtank_metrics::{Pairing, ratio_95};
use towtank_negotiation::Protocol::{self, ReplicastH, ReplicastM, UchCcp};
use towtank_puts::Spec;
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};
use towtank_units::{Percent, Rate};

use crate::published::reading;
use crate::put::view::View;

const SOURCE: &str = "disks that read faster than they write: their own times";

/// The numbers of gateways: one alone, and as many as servers.
const ALONE: u32 = 1;
const MANY: u32 = 90;
/// The speeds of reads in MiB/s; the first is that of writes.
const READS_MIB: [u64; 2] = [400, 1000];
/// A disk's time is rounded up to whole nanoseconds, once with each speed.
const ROUNDED_US: f64 = 0.002;

/// All claims that these views allow.
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    [UchCcp, ReplicastM, ReplicastH].into_iter().flat_map(|protocol| of_protocol(views, protocol)).collect()
}

fn of_protocol(views: &[&View<'_>], protocol: Protocol) -> Vec<Claim> {
    let pair = |gateways: u32| {
        let find = |mib: u64| views.iter().find(|view| fits(view, protocol, gateways, mib));
        Some((*find(READS_MIB[0])?, *find(READS_MIB[1])?))
    };
    let mut claims: Vec<Claim> =
        pair(ALONE).and_then(|(slow, fast)| saved(protocol, slow, fast)).into_iter().collect();
    if let Some((slow, fast)) = pair(MANY) {
        claims.extend(beside_puts(protocol, slow, fast));
    }
    claims
}

fn fits(view: &View<'_>, protocol: Protocol, gateways: u32, reads_mib: u64) -> bool {
    let spec = &view.settled.spec;
    let speed = |rate: Option<Rate>| rate.map(Rate::bytes_per_second);
    view.protocol == protocol
        && spec.gateways == gateways
        && spec.read_share > Percent::ZERO
        && speed(spec.disk_read) == Some(reads_mib << 20)
        && spec.disk.bytes_per_second() == READS_MIB[0] << 20
}

/// The time of a disk for a chunk, in microseconds.
fn disk_us(spec: &Spec, reads: Option<Rate>) -> f64 {
    let rate = reads.unwrap_or(spec.disk).bytes_per_second();
    spec.chunk.get() as f64 / rate as f64 * 1e6
}

fn snake_case(protocol: Protocol) -> String {
    protocol.name().replace('-', "_")
}

/// Without a queue, a get is faster by what the disk saves.
fn saved(protocol: Protocol, slow: &View<'_>, fast: &View<'_>) -> Option<Claim> {
    let of = |view: &View<'_>| view.values("get_latency_mean_us");
    let differences: Vec<f64> = of(slow).iter().zip(of(fast)).map(|(slow, fast)| slow - fast).collect();
    let [before, after] = [slow, fast].map(|view| {
        let spec = &view.settled.spec;
        disk_us(spec, spec.disk_read)
    });
    let draft = ClaimDraft {
        name: format!("read_time_saved_{}", snake_case(protocol)),
        source: SOURCE.to_owned(),
        statement: format!(
            "{}: without a queue, a get takes as much less time as the disk reads faster",
            protocol.name()
        ),
        unit: "us".to_owned(),
        published: Reading::of(before - after),
        ours: reading(&differences),
        tolerance: Tolerance::Absolute { amount: ROUNDED_US },
        fitted: false,
        note: Some("times are rounded up to whole nanoseconds, which is the tolerance".to_owned()),
    };
    (!differences.is_empty()).then(|| draft.judge())
}

/// Under load, from the same cluster with disks that read as they write.
fn beside_puts(protocol: Protocol, slow: &View<'_>, fast: &View<'_>) -> [Claim; 3] {
    let values = |view: &View<'_>, measure: &str| view.values(measure);
    let latencies =
        |view: &View<'_>| [values(view, "put_latency_mean_us"), values(view, "get_latency_mean_us")];
    let advantage = |view: &View<'_>| -> Vec<f64> {
        let [puts, gets] = latencies(view);
        puts.iter().zip(gets).map(|(put, get)| put / get).collect()
    };
    let (name, own) = (protocol.name(), snake_case(protocol));
    let greater = |what: &str, statement: String, left: &[f64], right: &[f64]| {
        let ratio = ratio_95(left, right, Pairing::Independent);
        ClaimDraft::greater(&format!("{what}_{own}"), SOURCE, &statement, ratio).judge()
    };
    let [puts, gets] = latencies(fast);
    let rate = "gets_per_second";
    [
        greater(
            "get_faster_than_put",
            format!("{name}: where disks read faster than they write, a get takes less time than a put"),
            &puts,
            &gets,
        ),
        greater(
            "get_gains_on_put",
            format!("{name}: a get is faster beside a put than where disks read as they write"),
            &advantage(fast),
            &advantage(slow),
        ),
        greater(
            "gets_per_second",
            format!("{name}: more chunks are fetched than where disks read as they write"),
            &values(fast, rate),
            &values(slow, rate),
        ),
    ]
}
