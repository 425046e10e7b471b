//! What the thesis says of recovering 1,000 objects in groups of different size (figures 17 and 18), and of
//! the bytes that are sent (figure 28).

use towtank_merkle::sizing::distinct;
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::super::view::View;
use super::{draft, find, reading};

/// Stale objects.
const STALE: f64 = 1_000.0;
/// Leaves of the trees of figure 18.
const LEAVES: [u32; 5] = [1_024, 2_048, 4_096, 8_192, 16_384];
/// The tolerance for a flat line of figure 28: a change that a plot of 500 MB does not show.
const FLAT: f64 = 0.05;

/// The claims that can be judged on these points.
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    figure_17(views).into_iter().chain(figure_18(views)).chain(figure_28(views)).collect()
}

fn of_thousand<'v, 'p>(views: &[&'v View<'p>], objects: u32, ranges: u32) -> Option<&'v View<'p>> {
    let fits = |view: &&&View<'p>| {
        let scenario = view.scenario;
        (scenario.objects_per_group, scenario.ranges, scenario.stale_objects)
            == (objects, ranges, Some(1_000))
    };
    views.iter().find(fits).copied()
}

/// Seconds without trees, for groups of this many objects.
fn scans(views: &[&View<'_>], objects: u32) -> Option<Vec<f64>> {
    Some(of_thousand(views, objects, LEAVES[0])?.values("scan", "backfill_s"))
        .filter(|values| !values.is_empty())
}

fn figure_17(views: &[&View<'_>]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let Some(small) = scans(views, 5_000) else { return claims };
    // "About 150 seconds", and "150 to 200" a page later: good to half of a step of 50.
    let statement = "recovering 1,000 objects alone takes about 150 s: 20 % of 5,000 stale";
    let tolerance = Tolerance::Range { low: 125.0, high: 175.0 };
    let alone = draft("figure_17_alone", statement, 150.0, reading(&small), tolerance);
    let note = "fitted: `recovery_cost`, and `cached_objects` makes comparing free here";
    let note = Some(note.to_owned());
    claims.push(ClaimDraft { unit: "s".to_owned(), fitted: true, note, ..alone }.judge());
    if let Some(large) = scans(views, 100_000) {
        let recovery = small.iter().sum::<f64>() / small.len() as f64;
        let checking: Vec<f64> = large.iter().map(|seconds| (seconds - recovery) / recovery).collect();
        let statement =
            "checking every object of 100,000 takes more than double the time of recovering 1,000 of them";
        let draft = draft("figure_17_checking", statement, 2.0, reading(&checking), Tolerance::AtLeast);
        claims.push(draft.judge());
    }
    let times: Option<Vec<f64>> = [5_000, 10_000, 20_000, 100_000]
        .into_iter()
        .map(|objects| Some(scans(views, objects)?.iter().sum::<f64>()))
        .collect();
    if let Some(times) = times {
        let least = times.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min);
        let statement = "the more objects a group has, the longer it takes to recover 1,000 of them";
        claims.push(draft("figure_17_grows", statement, 1.0, Reading::of(least), Tolerance::AtLeast).judge());
    }
    claims
}

/// The time for 1 % of 100,000 objects, without that of recovery, over the time of a scan: never below the
/// ideal of equation (6).
fn figure_18(views: &[&View<'_>]) -> Vec<Claim> {
    let Some(small) = scans(views, 5_000) else { return Vec::new() };
    let recovery = small.iter().sum::<f64>() / small.len() as f64;
    let judged = |leaves: u32| {
        let view = of_thousand(views, 100_000, leaves)?;
        let scan = view.mean("scan", "backfill_s")? - recovery;
        let real: Vec<f64> =
            view.values("merkle", "backfill_s").iter().map(|one| (one - recovery) / scan).collect();
        let ideal = distinct(f64::from(leaves), STALE) / f64::from(leaves);
        let over: Vec<f64> = real.iter().map(|share| share / ideal).collect();
        let name = format!("figure_18_{leaves}");
        let statement = format!("with {leaves} ranges, discovery is slower than its ideal by equation (6)");
        Some(draft(&name, &statement, 1.0, reading(&over), Tolerance::AtLeast).judge())
    };
    LEAVES.into_iter().filter_map(judged).collect()
}

/// The total bytes from the first write to the end of the backfill hardly change with trees.
fn figure_28(views: &[&View<'_>]) -> Vec<Claim> {
    let judged = |thousands: u32| {
        let view = find(views, 1_000 * thousands, 10, 16_384)?;
        let scenario = view.scenario;
        let size = scenario.object_size.get() as f64;
        // Each object is written once, and each stale one again: to the primary and from there to the others.
        let objects = f64::from(scenario.objects_per_group);
        let copies = scenario.redundancy().width;
        let written = (objects * f64::from(copies)
            + f64::from(scenario.stale_count()) * f64::from(copies - scenario.down))
            * size;
        let sent = |method: &str| view.values(method, "sent_bytes");
        let change: Vec<f64> = sent("merkle")
            .iter()
            .zip(sent("scan"))
            .map(|(trees, scan)| (trees - scan).abs() / (written + scan))
            .collect();
        let statement = format!(
            "{thousands},000 objects, 10 % stale: trees hardly change the bytes sent since the first write"
        );
        let name = format!("figure_28_{thousands}k");
        let tolerance = Tolerance::Absolute { amount: FLAT };
        Some(draft(&name, &statement, 0.0, reading(&change), tolerance).judge())
    };
    [5, 10, 20, 50].into_iter().filter_map(judged).collect()
}
