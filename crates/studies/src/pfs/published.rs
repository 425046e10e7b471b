//! What the PFSsim paper says of its own set-up, compared with the same set-up here.
//!
//! The text of the paper gives trends and no values; its plots are not available as numbers. Rates and
//! overheads are those of a later configuration of the simulator's authors. The variation of a disk's time
//! was chosen for the deviations of figure 4, and the claims about these say so; nothing else was fitted. The
//! tolerance of a ratio is that of the reference's list, which was written before this model.

use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::scenario::{Preset, Workload};
use super::view::View;
use crate::published::reading;

const PAPER: &str = "PFSsim: simulating I/O schedulers of parallel file systems";

/// The claims that can be judged on these points.
#[must_use]
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    let whole = |view: &&&View<'_>| {
        view.scenario.preset == Preset::Paper
            && view.runs().all(|run| run.ended.is_some() || view.scenario.duration.is_some())
    };
    let views: Vec<&View<'_>> = views.iter().filter(whole).copied().collect();
    curves(&views).into_iter().chain(shares(&views)).collect()
}

fn claim(name: &str, statement: &str, published: f64, ours: Reading, tolerance: Tolerance) -> Claim {
    let draft = ClaimDraft {
        name: name.to_owned(),
        source: PAPER.to_owned(),
        statement: statement.to_owned(),
        unit: String::new(),
        published: Reading::of(published),
        ours,
        tolerance,
        fitted: false,
        note: None,
    };
    draft.judge()
}

/// A claim that a value exceeds 1, where a key was chosen to make it so.
fn fitted(name: &str, statement: &str, ours: Reading, note: &str) -> Claim {
    let draft = ClaimDraft {
        name: name.to_owned(),
        source: PAPER.to_owned(),
        statement: statement.to_owned(),
        unit: String::new(),
        published: Reading::of(1.0),
        ours,
        tolerance: Tolerance::Above,
        fitted: true,
        note: Some(note.to_owned()),
    };
    draft.judge()
}

/// Figures 2 and 3: throughput over the number of clients.
fn curves(views: &[&View<'_>]) -> Vec<Claim> {
    let find = |workload: Workload, clients: u32, measure: &str| {
        let fits = |view: &&&View<'_>| {
            let mut all = view.scenario.applications.values();
            view.scenario.applications.len() == 1
                && all.all(|one| one.workload == workload && one.clients == clients)
        };
        let values = views.iter().find(fits)?.point.values(measure);
        Some(values).filter(|values| !values.is_empty())
    };
    let ratio = |workload: Workload, (over, under): (u32, u32), measure: &str| {
        let over = find(workload, over, measure)?;
        let under = find(workload, under, measure)?;
        let ratios = towtank_metrics::ratio_95(&over, &under, towtank_metrics::Pairing::Independent);
        Some(ratios.map_or_else(Reading::default, Reading::from))
    };
    let judged = |one: &Curve| {
        let ours = ratio(one.workload, one.clients, one.measure)?;
        Some(claim(one.name, one.statement, one.published, ours, one.tolerance))
    };
    CURVES.iter().filter_map(judged).collect()
}

/// A claim about a curve: the ratio of a measure at two numbers of clients.
struct Curve {
    name: &'static str,
    statement: &'static str,
    workload: Workload,
    clients: (u32, u32),
    measure: &'static str,
    published: f64,
    tolerance: Tolerance,
}

const RATE: &str = "throughput_bytes_per_s";
const LATENCY: &str = "latency_mean_s";
const SAME: Tolerance = Tolerance::Range { low: 0.9, high: 1.1 };

const fn read(
    name: &'static str,
    statement: &'static str,
    clients: (u32, u32),
    measure: &'static str,
) -> Curve {
    Curve { name, statement, workload: Workload::Read, clients, measure, published: 1.0, tolerance: SAME }
}

const fn write(
    name: &'static str,
    statement: &'static str,
    clients: (u32, u32),
    measure: &'static str,
) -> Curve {
    Curve {
        workload: Workload::Write,
        tolerance: Tolerance::AtMost,
        ..read(name, statement, clients, measure)
    }
}

const CURVES: [Curve; 9] = [
    Curve {
        published: 2.0,
        tolerance: Tolerance::Range { low: 1.9, high: 2.1 },
        ..read("t1_read_doubles", "reads: 8 clients have twice the throughput of 4", (8, 4), RATE)
    },
    Curve {
        published: 0.25,
        tolerance: Tolerance::AtMost,
        ..read(
            "t2_read_drops",
            "reads: 16 clients have less than a quarter of the throughput of 8",
            (16, 8),
            RATE,
        )
    },
    read("t3_read_stable", "reads: throughput is stable from 32 to 64 clients", (64, 32), RATE),
    write("t4_write_falls_8", "writes: throughput falls from 4 to 8 clients", (8, 4), RATE),
    write("t4_write_falls_16", "writes: throughput falls from 8 to 16 clients", (16, 8), RATE),
    write("t4_write_falls_32", "writes: throughput falls from 16 to 32 clients", (32, 16), RATE),
    Curve {
        tolerance: SAME,
        ..write(
            "t4_write_flattens",
            "writes: throughput hardly changes from 32 to 64 clients",
            (64, 32),
            RATE,
        )
    },
    Curve {
        published: 2.0,
        tolerance: Tolerance::AtLeast,
        ..read(
            "t5_read_latency",
            "reads: latency grows faster than the number of clients, from 8 to 16",
            (16, 8),
            LATENCY,
        )
    },
    Curve {
        published: 2.0,
        tolerance: Tolerance::AtLeast,
        ..write(
            "t5_write_latency",
            "writes: latency grows faster than the number of clients, from 4 to 8",
            (8, 4),
            LATENCY,
        )
    },
];

/// Figure 4: shares by weight, and their variation.
fn shares(views: &[&View<'_>]) -> Vec<Claim> {
    let find = |weight: u32| {
        let fits = |view: &&&View<'_>| {
            let weights: Vec<u32> = view.scenario.applications.values().map(|one| one.weight).collect();
            let scheduler = view.scenario.schedulers.first().map(ToString::to_string);
            weights == [1, weight] && scheduler.as_deref() == Some("sfq:4")
        };
        views.iter().find(fits).copied()
    };
    let mut claims = Vec::new();
    for (weight, published) in [(1, 0.5), (2, 2.0 / 3.0), (4, 0.8)] {
        let Some(view) = find(weight) else { continue };
        let name = format!("t6_share_1_{weight}");
        let statement = format!("SFQ(4) with weights 1 and {weight}: the second group's share");
        let tolerance = Tolerance::Absolute { amount: 0.01 };
        claims.push(claim(
            &name,
            &statement,
            published,
            reading(&view.point.values("share[app2]")),
            tolerance,
        ));
    }
    for (less, more) in [(1, 2), (2, 4)] {
        let (Some(less_view), Some(more_view)) = (find(less), find(more)) else { continue };
        let (below, above) =
            (less_view.point.values("share_sd[app2]"), more_view.point.values("share_sd[app2]"));
        let ratio = towtank_metrics::ratio_95(&above, &below, towtank_metrics::Pairing::Independent);
        let ours = ratio.map_or_else(Reading::default, Reading::from);
        let name = format!("t7_deviation_{less}_{more}");
        let statement = format!("the share varies more with weights 1:{more} than with 1:{less}");
        let note = "the variation of a disk's time (`disk.jitter`) was chosen because this claim needs some";
        claims.push(fitted(&name, &statement, ours, note));
    }
    claims
}
