//! What the PFSsim paper says of its own set-up, held against the same set-up here.
//!
//! The text of the paper has trends and no values: its plots are not in it. Rates and overheads are those of a later
//! configuration of the simulator's authors; nothing was fitted to what is judged. A tolerance of a ratio is that of the
//! reference's list, which was written before this model was.

use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::present::View;
use super::scenario::{Preset, Workload};

const PAPER: &str = "PFSsim: simulating I/O schedulers of parallel file systems";

/// The claims that these points can judge.
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

/// The mean with its 95 % interval over seeds.
fn reading(values: &[f64]) -> Reading {
    match towtank_metrics::mean_interval_95(values) {
        Some(mean) => {
            let (low, high) = mean.range.unwrap_or((mean.mean, mean.mean));
            Reading::with_range(mean.mean, low, high)
        }
        None => Reading::default(),
    }
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
    let rate = "throughput_bytes_per_s";
    let range = |low: f64, high: f64| Tolerance::Range { low, high };
    let (read, write) = (Workload::Read, Workload::Write);
    let judged: [(&str, &str, f64, Option<Reading>, Tolerance); 9] = [
        (
            "t1_read_doubles",
            "reads: 8 clients move twice as much as 4",
            2.0,
            ratio(read, (8, 4), rate),
            range(1.9, 2.1),
        ),
        (
            "t2_read_drops",
            "reads drop sharply at 16 clients: less than a quarter of 8",
            0.25,
            ratio(read, (16, 8), rate),
            Tolerance::AtMost,
        ),
        (
            "t3_read_stable",
            "reads are stable from 32 to 64 clients",
            1.0,
            ratio(read, (64, 32), rate),
            range(0.9, 1.1),
        ),
        (
            "t4_write_falls_8",
            "writes fall from 4 to 8 clients",
            1.0,
            ratio(write, (8, 4), rate),
            Tolerance::AtMost,
        ),
        (
            "t4_write_falls_16",
            "writes fall from 8 to 16 clients",
            1.0,
            ratio(write, (16, 8), rate),
            Tolerance::AtMost,
        ),
        (
            "t4_write_falls_32",
            "writes fall from 16 to 32 clients",
            1.0,
            ratio(write, (32, 16), rate),
            Tolerance::AtMost,
        ),
        (
            "t4_write_flattens",
            "writes hardly change from 32 to 64 clients",
            1.0,
            ratio(write, (64, 32), rate),
            range(0.9, 1.1),
        ),
        (
            "t5_read_latency",
            "the time of a read grows faster than the clients, from 8 to 16",
            2.0,
            ratio(read, (16, 8), "latency_mean_s"),
            Tolerance::AtLeast,
        ),
        (
            "t5_write_latency",
            "the time of a write grows faster than the clients, from 4 to 8",
            2.0,
            ratio(write, (8, 4), "latency_mean_s"),
            Tolerance::AtLeast,
        ),
    ];
    judged
        .into_iter()
        .filter_map(|(name, statement, published, ours, tolerance)| {
            Some(claim(name, statement, published, ours?, tolerance))
        })
        .collect()
}

/// Figure 4: shares by weight, and how much they vary.
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
        claims.push(claim(&name, &statement, 1.0, ours, Tolerance::Above));
    }
    claims
}
