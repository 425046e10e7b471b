//! What the study of mClock and WPQ in Ceph's developer documentation measured on disks with their metadata
//! on flash, compared with the same set-up here.
//!
//! The study does not say everything: groups, the device that was away and the depth of the client are
//! those of the example in the documentation of its tool. Two values were fitted: the cost of a request of
//! the disk, to the client's operations while nothing is rebuilt (the study's baseline, which is no row of
//! its table), and the client's weight under WPQ, to its operations in the boosted run. Claims about these
//! are marked so; all others are judged. Each row of the study is a mean of three runs on one placement of
//! the groups, which follows from the number of the pool; that number is inferred from the steps of the test.

use towtank_metrics::{Pairing, ratio_95};
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::super::view::View;
use crate::published::reading;
use towtank_recovery::queue::Profile;

const SOURCE: &str = "QoS Study with mClock and WPQ Schedulers, Ceph developer documentation, 2021";

/// The tolerance of times, rates and latencies.
const NEAR: f64 = 0.15;

/// The client's operations per second while nothing is rebuilt.
const BASELINE: f64 = 340.0;

/// A row of the study.
struct Row {
    name: &'static str,
    words: &'static str,
    /// Seconds of the recovery, and objects per second, where the study has them.
    recovery: Option<(f64, f64)>,
    /// The client's operations per second.
    operations: f64,
    /// Their mean latency in milliseconds.
    latency_ms: f64,
}

const fn row(
    (name, words): (&'static str, &'static str),
    recovery: Option<(f64, f64)>,
    (operations, latency_ms): (f64, f64),
) -> Row {
    Row { name, words, recovery, operations, latency_ms }
}

const WPQ: Row = row(("wpq", "WPQ as shipped"), Some((647.0, 5.8)), (308.0, 208.0));
const BOOSTED: Row = row(("wpq_boosted", "WPQ with 1,000 backfills"), None, (146.0, 433.0));

const PROFILES: [(Profile, Row); 3] = [
    (
        Profile::HighClientOps,
        row(("high_client_ops", "high_client_ops"), Some((1_409.0, 3.0)), (271.0, 235.0)),
    ),
    (Profile::Balanced, row(("balanced", "balanced"), Some((966.0, 4.0)), (248.0, 258.0))),
    (
        Profile::HighRecoveryOps,
        row(("high_recovery_ops", "high_recovery_ops"), Some((747.0, 5.0)), (240.0, 265.0)),
    ),
];

const TIME: &str = "transfer_s";
const OPERATIONS: &str = "client_operations_per_s";

/// The claims that can be judged on these points.
#[must_use]
pub fn claims(views: &[View<'_>]) -> Vec<Claim> {
    let with_client = || views.iter().filter(|view| view.scenario.keys.clients.client_depth.is_some());
    let mut claims = Vec::new();
    let profile = |view: &View<'_>| view.scenario.settings.mclock.map(|mclock| mclock.profile);
    let under = |wanted: Profile| with_client().find(|view| profile(view) == Some(wanted));
    for (profile, row) in &PROFILES {
        claims.extend(under(*profile).into_iter().flat_map(|view| of_row(view, row, false)));
    }
    for pair in PROFILES.windows(2) {
        if let (Some(first), Some(second)) = (under(pair[0].0), under(pair[1].0)) {
            claims.extend(in_order((&pair[0].1, first), (&pair[1].1, second)));
        }
    }
    for view in with_client().filter(|view| profile(view).is_none()) {
        let boosted = view.scenario.settings.max_backfills > 1;
        claims.extend(of_row(view, if boosted { &BOOSTED } else { &WPQ }, boosted));
    }
    claims.extend(with_client().next().map(baseline));
    claims
}

fn draft(name: String, statement: String, unit: &str, (published, ours): (f64, Reading)) -> ClaimDraft {
    ClaimDraft {
        name,
        source: SOURCE.to_owned(),
        statement,
        unit: unit.to_owned(),
        published: Reading::of(published),
        ours,
        tolerance: Tolerance::Relative { fraction: NEAR },
        fitted: false,
        note: None,
    }
}

/// The four numbers of a row, or the two that it has.
fn of_row(view: &View<'_>, row: &Row, fitted: bool) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut add = |what: &str, words: &str, unit: &str, numbers: (f64, Vec<f64>)| {
        let name = format!("qos_{}_{what}", row.name);
        let statement = format!("{}: {words}", row.words);
        let note = fitted.then(|| "fitted: `client_weight`".to_owned());
        let draft = draft(name, statement, unit, (numbers.0, reading(&numbers.1)));
        claims.push(ClaimDraft { fitted, note, ..draft }.judge());
    };
    let times = view.values(TIME);
    if let Some((seconds, rate)) = row.recovery {
        let objects = view.values("objects_rebuilt");
        let rates = objects.iter().zip(&times).map(|(objects, seconds)| objects / seconds).collect();
        add("recovery", "time of the recovery", "s", (seconds, times));
        add("objects", "objects recovered per second", "objects/s", (rate, rates));
    }
    add(
        "client",
        "operations of the client per second",
        "operations/s",
        (row.operations, view.values(OPERATIONS)),
    );
    let waits = view.values("client_write_latency_mean_us").iter().map(|us| us / 1e3).collect();
    add("latency", "mean latency of the client's writes", "ms", (row.latency_ms, waits));
    claims
}

/// Of two profiles, the first gives the client more and the recovery less. Both runs of a seed have the
/// same groups, so they are compared in pairs.
fn in_order(first: (&Row, &View<'_>), second: (&Row, &View<'_>)) -> [Claim; 2] {
    let (one, other) = (first.0.name, second.0.name);
    let claim = |what: &str, statement: String, measure: &str| {
        let ratio = ratio_95(&first.1.values(measure), &second.1.values(measure), Pairing::Paired);
        let name = format!("qos_order_{what}_{one}_{other}");
        ClaimDraft::greater(&name, SOURCE, &statement, ratio).judge()
    };
    [
        claim("recovery", format!("the recovery takes longer with {one} than with {other}"), TIME),
        claim("client", format!("the client gets more with {one} than with {other}"), OPERATIONS),
    ]
}

/// The client's operations while nothing is rebuilt, to which the cost of a request is fitted.
fn baseline(view: &View<'_>) -> Claim {
    let ours = reading(&view.values("client_operations_quiet_per_s"));
    let statement = "operations of the client per second while nothing is rebuilt".to_owned();
    let draft = draft("qos_baseline".to_owned(), statement, "operations/s", (BASELINE, ours));
    ClaimDraft { fitted: true, note: Some("fitted: `io_cost`".to_owned()), ..draft }.judge()
}
