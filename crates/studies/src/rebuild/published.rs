//! What the first paper says of rebuilds, held against the same set-ups here.
//!
//! The paper's figures are not published as numbers, so what its abstract and slides say in words is judged: object by object
//! near the ideal and with less spread than groups, linear in the servers, faster for one data set than for the other, and the
//! headline rate. How much of an object one seek is good for, and how many objects a disk works on at once, were chosen so that the slope of the headline comes out; that claim is `fitted`,
//! and the others must hold with the same values.

use report::{Claim, ClaimDraft, Reading, Tolerance};

use super::present::View;
use super::scenario::{Placement, Preset};

const SOURCE: &str =
    "Impact of Data Placement on Resilience in Large-Scale Object Storage Systems, MSST 2016";

/// Fewer seeds than this have no spread to speak of.
const SEEDS_MIN: usize = 3;

/// Groups of the published comparison.
const GROUPS: u32 = 4_096;

/// The claims that these points can judge.
#[must_use]
pub fn claims(views: &[View<'_>]) -> Vec<Claim> {
    let all = views.iter().all(|view| {
        view.scenario.preset == Preset::Paper
            && view.result.outcomes.len() >= SEEDS_MIN
            && view.result.outcomes.iter().all(|outcome| !outcome.partial)
    });
    if !all {
        return Vec::new();
    }
    let mut claims = Vec::new();
    let mut sizes: Vec<u32> = views.iter().map(|view| view.scenario.servers).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for &servers in &sizes {
        let objects = find(views, servers, Placement::CrushVring, None);
        let groups = find(views, servers, Placement::CrushStraw, Some(GROUPS));
        if let (Some(objects), Some(groups)) = (objects, groups) {
            claims.extend(compared(servers, objects, groups));
        }
        if servers == 1_024
            && let Some(objects) = objects
        {
            claims.extend(headline(objects));
            claims.extend(
                find(views, sizes[0], Placement::CrushVring, None).and_then(|few| linear(few, objects)),
            );
        }
    }
    claims.extend(data_sets(views));
    claims.extend(peers(views));
    if let [first, .., last] = sizes[..] {
        let share = |servers| share(find(views, servers, Placement::CrushStraw, Some(GROUPS))?);
        if let (Some(small), Some(large)) = (share(first), share(last)) {
            claims.push(is_so(
                &format!("groups_fall_behind_{first}_to_{last}"),
                "with 4,096 groups the share of the ideal rate falls as servers are added",
                large < small,
                format!("from {:.0} % of the ideal to {:.0} %", 100.0 * small, 100.0 * large),
            ));
        }
    }
    claims
}

fn find<'v, 'p>(
    views: &'v [View<'p>],
    servers: u32,
    placement: Placement,
    groups: Option<u32>,
) -> Option<&'v View<'p>> {
    views.iter().find(|view| {
        let scenario = &view.scenario;
        scenario.servers == servers && scenario.placement == placement && scenario.groups == groups
    })
}

fn share(view: &View<'_>) -> Option<f64> {
    Some(view.mean("ideal_share")?.mean)
}

fn judged(
    name: &str,
    statement: &str,
    (published, ours): (f64, Reading),
    tolerance: Tolerance,
    note: String,
) -> Claim {
    let draft = ClaimDraft {
        name: name.to_owned(),
        source: SOURCE.to_owned(),
        statement: statement.to_owned(),
        unit: String::new(),
        published: Reading::of(published),
        ours,
        tolerance,
        fitted: false,
        note: Some(note),
    };
    draft.judge()
}

/// A statement that is so or is not: 1 or 0.
fn is_so(name: &str, statement: &str, so: bool, note: String) -> Claim {
    let ours = Reading::of(f64::from(u8::from(so)));
    judged(name, statement, (1.0, ours), Tolerance::Absolute { amount: 0.0 }, note)
}

/// Objects against groups on equally many servers.
fn compared(servers: u32, objects: &View<'_>, groups: &View<'_>) -> Vec<Claim> {
    let spread = |view: &View<'_>| {
        let values = view.values("aggregate_rate_bytes_per_s");
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        (square / (values.len() - 1) as f64).sqrt() / mean
    };
    let mut claims = Vec::new();
    if let (Some(of_objects), Some(of_groups)) = (share(objects), share(groups)) {
        claims.push(judged(
            &format!("objects_near_ideal_{servers}"),
            "object by object, the aggregate rate is near the ideal; no number is published, and a tenth is taken as near",
            (1.0, Reading::of(of_objects)),
            Tolerance::Absolute { amount: 0.1 },
            format!("groups reach {:.0} % of the ideal", 100.0 * of_groups),
        ));
        claims.push(is_so(
            &format!("objects_faster_{servers}"),
            "object by object is faster than 4,096 groups",
            of_objects > of_groups,
            format!("{:.2} times as fast", of_objects / of_groups),
        ));
    }
    let (of_objects, of_groups) = (spread(objects), spread(groups));
    claims.push(is_so(
        &format!("objects_steadier_{servers}"),
        "object by object, the rate is spread less over seeds than with groups",
        of_objects < of_groups,
        format!(
            "standard deviation over mean: {:.1} % against {:.1} %",
            100.0 * of_objects,
            100.0 * of_groups
        ),
    ));
    claims
}

/// Whether the rate grows with the servers.
fn linear(few: &View<'_>, many: &View<'_>) -> Option<Claim> {
    let rate = |view: &View<'_>| Some(view.mean("aggregate_rate_bytes_per_s")?.mean);
    let grown = f64::from(many.scenario.servers) / f64::from(few.scenario.servers);
    let share = rate(many)? / (rate(few)? * grown);
    Some(judged(
        "linear_scaling_1024",
        "object by object, 1,024 servers are within 5 % of the rate that small runs project",
        (1.0, Reading::of(share)),
        Tolerance::Absolute { amount: 0.05 },
        format!("projected from {} servers", few.scenario.servers),
    ))
}

/// The two data sets on one cluster.
fn data_sets(views: &[View<'_>]) -> Option<Claim> {
    let of = |wanted: &str| {
        views.iter().find(|view| {
            let preset = serde_json::to_value(&view.scenario.population);
            preset.is_ok_and(|preset| preset.get("preset").is_some_and(|name| name == wanted))
        })
    };
    let (genomes, mira) = (of("1000-genomes")?, of("mira")?);
    let rate = |view: &View<'_>| Some(view.mean("aggregate_rate_bytes_per_s")?.mean);
    Some(judged(
        &format!("mira_slower_{}", mira.scenario.servers),
        "1000 Genomes is rebuilt about twice as fast as Mira",
        (2.0, Reading::of(rate(genomes)? / rate(mira)?)),
        Tolerance::Absolute { amount: 0.5 },
        "both data sets are proposals that meet what is published of them, not the paper's files".to_owned(),
    ))
}

/// One way of placing in more and more groups.
fn peers(views: &[View<'_>]) -> Option<Claim> {
    let alike = |view: &View<'_>| (view.scenario.servers, view.scenario.placement);
    let grouped = views.iter().all(|view| view.scenario.groups.is_some() && alike(view) == alike(&views[0]));
    if views.len() < SEEDS_MIN || !grouped {
        return None;
    }
    let mean = |view: &View<'_>, measure: &str| Some(view.mean(measure)?.mean);
    let mut points = Vec::new();
    for view in views {
        points.push((mean(view, "servers_writing")?, mean(view, "aggregate_rate_bytes_per_s")?));
    }
    points.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (first, last) = (points.first()?, points.last()?);
    let note = format!(
        "from {:.1} to {:.1} servers that take something in, the rate grows {:.1} times",
        first.0,
        last.0,
        last.1 / first.1
    );
    let rises = points.windows(2).all(|pair| pair[0].1 < pair[1].1);
    Some(is_so("more_peers_higher_rate", "the more peers are active, the higher the rate", rises, note))
}

/// The abstract's rate on 1,024 servers.
fn headline(objects: &View<'_>) -> Option<Claim> {
    const GIB: f64 = 1_073_741_824.0;
    let mean = objects.mean("aggregate_rate_bytes_per_s")?;
    let ideal = objects.mean("ideal_rate_bytes_per_s")?.mean / GIB;
    let ours = match mean.range {
        Some((low, high)) => Reading::with_range(mean.mean / GIB, low / GIB, high / GIB),
        None => Reading::of(mean.mean / GIB),
    };
    let draft = ClaimDraft {
        name: "headline_rate_1024".to_owned(),
        source: SOURCE.to_owned(),
        statement: "410 GiB/s on 1,024 servers, within 5 % of linear scaling projected from small runs"
            .to_owned(),
        unit: "GiB/s".to_owned(),
        published: Reading::of(410.0),
        ours,
        tolerance: Tolerance::Relative { fraction: 0.05 },
        fitted: true,
        note: Some(format!(
            "the ideal here is {ideal:.0} GiB/s; `seek_extent` was chosen by the published slope"
        )),
    };
    Some(draft.judge())
}
