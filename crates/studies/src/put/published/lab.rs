//! Table 4: a lab run of NexentaEdge on 10 targets and 2 gateways, with chunks of 16 KiB.
//!
//! The paper gives the hardware and three numbers. It does not say how many puts a gateway has at once, which
//! disks the replicas are on, how much processor time a chunk takes, or how long the run was, so this is a
//! comparison of a model without processors with a whole product, and is expected to differ.
//!
//! What the numbers say of themselves: 23,351.91 chunks/s times 2.4505 ms are 57.2 puts at once (Little's
//! law), 28.6 for each gateway, which `in_flight` follows. 2.4505 us, as printed, are less than the 13.1 us
//! that 16 KiB take on a link of 10 Gbit/s. 396.12 MB/s are 16,963 bytes for each chunk, 3.5 % more than 16
//! KiB.

use towtank_negotiation::Protocol;
use towtank_puts::{Fidelity, Spec};
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::{DEVIATIONS, SOURCE};
use crate::published::student;
use crate::put::view::View;

/// Chunks per second, as printed.
const RATE: f64 = 23_351.91;
/// Megabytes per second, as printed.
const MEGABYTES: f64 = 396.12;
/// The latency as printed, in a unit that cannot be microseconds.
const LATENCY: f64 = 2.4505;

const LEFT_OUT: &str = "one run of the lab; ours must lie within the range of 99 % of single runs here, unless that range is wider than half \
     the printed number. Assumed: disks of 800 MB/s, a group of all ten targets, 29 puts at once (from the printed rate and \
     latency). The model has no processors, and the product does its work there";

/// The claims about the lab run.
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    views
        .iter()
        .filter(|view| is_lab(&view.settled.spec, view.protocol))
        .flat_map(|view| of_lab(view))
        .collect()
}

fn is_lab(spec: &Spec, protocol: Protocol) -> bool {
    protocol == Protocol::ReplicastM
        && spec.fidelity == Fidelity::Model
        && (spec.gateways, spec.servers) == (2, 10)
        && spec.chunk.get() == 16 << 10
}

fn of_lab(view: &View<'_>) -> Vec<Claim> {
    let (mega, ms) = (f64::from(16 << 10) / 1e6, 1e-3);
    let near = |name: &str, measure: &str, unit: &str, factor: f64, published: f64| {
        let ours = ours(view, measure, factor)?;
        let far = view.deviation(measure) * factor * DEVIATIONS;
        let statement = format!("{measure} of the lab cluster with chunks of 16 KiB, in {unit}");
        // With such a tolerance half the printed number would pass, too: nothing can be decided.
        let (ours, tolerance) = if far * 2.0 > published {
            (Reading { low: None.into(), high: None.into(), ..ours }, Tolerance::Interval)
        } else {
            (ours, Tolerance::Range { low: published - far, high: published + far })
        };
        Some(judged(name, &statement, unit, (published, ours), tolerance, LEFT_OUT))
    };
    let rate = ours(view, "chunks_per_second", 1.0);
    let latency = ours(view, "put_latency_mean_us", 1.0);
    let bound = rate.map(|ours| {
        let statement = "without processors, the cluster stores at least as much as in the lab";
        let note = "a bound: disks, links and control messages alone";
        judged("table_4_bound", statement, "chunks/s", (RATE, ours), Tolerance::AtLeast, note)
    });
    let unit = latency.map(|ours| {
        let statement = "a put of 16 KiB takes longer than the 2.4505 us that are printed";
        let note =
            "so the printed unit is wrong; with ms, Little's law gives 57.2 puts at once, and with us 0.06";
        judged("table_4_unit", statement, "us", (LATENCY, ours), Tolerance::Above, note)
    });
    let claims = [
        near("table_4_chunks_per_second", "chunks_per_second", "chunks/s", 1.0, RATE),
        near("table_4_megabytes", "chunks_per_second", "MB/s", mega, MEGABYTES),
        near("table_4_latency", "put_latency_mean_us", "ms", ms, LATENCY),
        bound,
        unit,
    ];
    claims.into_iter().flatten().collect()
}

fn ours(view: &View<'_>, measure: &str, factor: f64) -> Option<Reading> {
    let mean = student(&view.values(measure))?;
    let (low, high) = mean.range?;
    Some(Reading::with_range(mean.mean * factor, low * factor, high * factor))
}

fn judged(
    name: &str,
    statement: &str,
    unit: &str,
    (published, ours): (f64, Reading),
    tolerance: Tolerance,
    note: &str,
) -> Claim {
    let draft = ClaimDraft {
        name: name.to_owned(),
        source: format!("{SOURCE}, table 4"),
        statement: statement.to_owned(),
        unit: unit.to_owned(),
        published: Reading::of(published),
        ours,
        tolerance,
        fitted: false,
        note: Some(note.to_owned()),
    };
    draft.judge()
}
