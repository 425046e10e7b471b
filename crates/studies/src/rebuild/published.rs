//! What the first paper says of rebuilds, compared with the same set-ups here; `qos` has what a study of
//! Ceph's queues says of recovery beside a client.
//!
//! The paper's figures are not published as numbers, so what its abstract and slides say in words is judged:
//! object by object faster and with less spread than groups, linear in the servers (which is the ideal that
//! the abstract speaks of), a higher rate with more active peers, faster for one data set than for the other,
//! the rate between a pair of servers, and the headline rate. What the slides say of the sizes of files and
//! objects was used to propose them, so these claims are `fitted`. The extent that one seek covers
//! (`seek_extent`) was chosen, once, so that the headline's rate on 1,024 servers comes out; that claim is
//! `fitted`, and the others are judged with the same value. A comparison over seeds is judged by its 95 %
//! interval, so a few seeds decide nothing.

mod qos;

use towtank_metrics::{Contrast, Pairing, ratio_95, spread_ratio_95};
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};
use towtank_units::Bytes;

use super::settled::Settled;
use super::view::View;
use crate::published::student;
use towtank_placement::algorithms::Algorithm;

const SOURCE: &str =
    "Impact of Data Placement on Resilience in Large-Scale Object Storage Systems, MSST 2016";

/// The abstract's own tolerance for linear scaling.
const NEAR: f64 = 0.05;

const GIB: f64 = 1_073_741_824.0;

/// Data on each server in the published comparison.
const PER_SERVER: Bytes = Bytes::from_mib(60 << 20);

/// Groups of the published comparison.
const GROUPS: u32 = 4_096;

/// The claims that can be judged on these points.
#[must_use]
pub fn claims(views: &[View<'_>]) -> Vec<Claim> {
    if views.iter().any(|view| view.result.outcomes.iter().any(|outcome| outcome.partial)) {
        return Vec::new();
    }
    let mut claims = Vec::new();
    let mut sizes: Vec<u32> = views.iter().map(|view| view.scenario.servers).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // Where data sets are compared, nothing else is: rebuild-scaling judges the sizes, with its own seeds.
    let compares_data = views.iter().any(|view| is_of(view, "mira"));
    for &servers in sizes.iter().filter(|_| !compares_data) {
        let objects = find(views, servers, Algorithm::CrushVring, None);
        let groups = find(views, servers, Algorithm::CrushStraw, Some(GROUPS));
        if let (Some(objects), Some(groups)) = (objects, groups) {
            claims.extend(compared(servers, objects, groups));
            // The slides look at one sample on 64 servers.
            claims.extend((sizes == [64]).then(|| active_peers(groups)));
        }
        if servers == 1_024
            && let Some(objects) = objects
        {
            claims.extend(headline(objects));
            let bases = sizes.iter().filter(|&&base| base < servers);
            let bases = bases.filter_map(|&base| find(views, base, Algorithm::CrushVring, None));
            claims.extend(bases.map(|few| linear(few, objects)));
        }
    }
    claims.extend(sizes.iter().filter_map(|&servers| data_sets(views, servers)));
    claims.extend(fullest_bins(views));
    claims.extend(pair(views));
    claims.extend(qos::claims(views));
    claims.extend(peers(views));
    if let [first, .., last] = sizes[..] {
        let groups = |servers| {
            let view = find(views, servers, Algorithm::CrushStraw, Some(GROUPS));
            view.filter(|view| view.scenario.per_server.is_none_or(|bytes| bytes == PER_SERVER))
        };
        if let (Some(small), Some(large)) = (groups(first), groups(last)) {
            let name = format!("groups_fall_behind_{first}_to_{last}");
            let statement = "with 4,096 groups the share of the ideal rate falls as servers are added";
            claims.push(greater(&name, statement, ratio(small, large, SHARE)));
        }
    }
    claims
}

const RATE: &str = "aggregate_rate_bytes_per_s";
const SHARE: &str = "ideal_share";

fn find<'v, 'p>(
    views: &'v [View<'p>],
    servers: u32,
    placement: Algorithm,
    groups: Option<u32>,
) -> Option<&'v View<'p>> {
    views.iter().find(|view| {
        let scenario = &view.scenario;
        scenario.servers == servers && scenario.placement == placement && scenario.groups == groups
    })
}

/// The ratio of a measure at the first point to that at the second. They share seeds but not random draws,
/// so they are compared as independent samples.
fn ratio(first: &View<'_>, second: &View<'_>, measure: &str) -> Option<Contrast> {
    ratio_95(&first.values(measure), &second.values(measure), Pairing::Independent)
}

/// The claim that the first of two values is the greater.
fn greater(name: &str, statement: &str, ratio: Option<Contrast>) -> Claim {
    let note = ratio.map(|ratio| format!("{:.2} times", ratio.value));
    ClaimDraft { note, ..ClaimDraft::greater(name, SOURCE, statement, ratio) }.judge()
}

fn reading(ratio: Option<Contrast>) -> Reading {
    ratio.map_or_else(Reading::default, Reading::from)
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

/// Objects against groups on the same number of servers.
fn compared(servers: u32, objects: &View<'_>, groups: &View<'_>) -> Vec<Claim> {
    vec![
        greater(
            &format!("objects_faster_{servers}"),
            "placement object by object is faster than 4,096 groups",
            ratio(objects, groups, RATE),
        ),
        greater(
            &format!("objects_steadier_{servers}"),
            "object by object, the rate varies less over seeds than with groups",
            spread_ratio_95(&groups.values(RATE), &objects.values(RATE)),
        ),
    ]
}

/// The claim that the rate of each survivor on many servers is that on few servers.
fn linear(few: &View<'_>, many: &View<'_>) -> Claim {
    let base = few.scenario.servers;
    judged(
        &format!("linear_scaling_{base}_to_{}", many.scenario.servers),
        "object by object, 1,024 servers are within 5 % of the rate that small runs project",
        (1.0, reading(ratio(many, few, "rate_per_survivor_bytes_per_s"))),
        Tolerance::Absolute { amount: NEAR },
        format!("the rate of a survivor, over that on {base} servers"),
    )
}

/// Within one run, servers with more active peers have higher rates.
fn active_peers(groups: &View<'_>) -> Claim {
    let ours = reading_of(groups, "peers_rate_correlation", 1.0);
    let statement = "servers with more active peers were generally able to sustain a higher rate";
    let note = "Spearman's rank correlation over the survivors of a run; the statement is that it is above 0";
    judged("active_peers_higher_rate_64", statement, (0.0, ours), Tolerance::Above, note.to_owned())
}

/// The rate at which one server sends its data to another.
fn pair(views: &[View<'_>]) -> Option<Claim> {
    // All servers but one have a copy of the only group, so one survivor sends and one takes.
    let of_a_pair =
        |scenario: &Settled| scenario.groups == Some(1) && scenario.replicas + 1 == scenario.servers;
    let one_group = |view: &&View<'_>| of_a_pair(view.scenario);
    let view = views.iter().find(one_group)?;
    let draft = ClaimDraft {
        name: "pair_streaming_rate".to_owned(),
        source: SOURCE.to_owned(),
        statement: "data can be streamed between pairs of servers at about 1.5 GiB/s".to_owned(),
        unit: "GiB/s".to_owned(),
        published: Reading::of(1.5),
        ours: reading_of(view, RATE, GIB),
        tolerance: Tolerance::Absolute { amount: 0.05 },
        fitted: false,
        note: Some(
            "all objects of one group, from its first survivor to its only target, without seeks".to_owned(),
        ),
    };
    let reason = "the slides say ~1.5 without a tolerance; half a unit of its last digit is taken";
    Some(draft.judge().loosened(reason))
}

/// The mean of a measure over seeds with its interval, in a unit.
fn reading_of(view: &View<'_>, measure: &str, unit: f64) -> Reading {
    match student(&view.values(measure)).map(|mean| (mean.mean / unit, mean.range)) {
        Some((value, Some((low, high)))) => Reading::with_range(value, low / unit, high / unit),
        Some((value, None)) => Reading::of(value),
        None => Reading::default(),
    }
}

/// The name of a view's data set.
fn is_of(view: &View<'_>, wanted: &str) -> bool {
    let preset = serde_json::to_value(&view.scenario.population);
    preset.is_ok_and(|preset| preset.get("preset").is_some_and(|name| name == wanted))
}

/// Which sizes hold the most bytes, of the objects of one data set and of the files of the other.
fn fullest_bins(views: &[View<'_>]) -> Vec<Claim> {
    if ["1000-genomes", "mira"].iter().any(|name| !views.iter().any(|view| is_of(view, name))) {
        return Vec::new();
    }
    let bins = [
        (
            "genomes_fullest_object_bin",
            "objects of 64 MiB hold more bytes of 1000 Genomes than those of any other size",
            ("1000-genomes", "object_sizes"),
            64.0 * 1_048_576.0,
        ),
        (
            "mira_fullest_file_bin",
            "files between 256 and 512 GiB hold more bytes of Mira than those of any other size",
            ("mira", "file_sizes"),
            256.0 * GIB,
        ),
    ];
    bins.into_iter()
        .filter_map(|(name, statement, of, from)| fullest_bin((name, statement), views, of, from))
        .collect()
}

/// The power of two from which on sizes hold the most bytes. A bin agrees or does not: there is no tolerance.
fn fullest_bin(
    (name, statement): (&str, &str),
    views: &[View<'_>],
    (set, histogram): (&str, &str),
    from: f64,
) -> Option<Claim> {
    let view = views.iter().find(|view| is_of(view, set))?;
    let shown = view.point.kept.iter().find_map(|kept| kept.population.as_ref())?;
    let (ours, share) = shown.fullest_bin(histogram)?;
    let draft = ClaimDraft {
        name: name.to_owned(),
        source: SOURCE.to_owned(),
        statement: statement.to_owned(),
        unit: "bytes".to_owned(),
        published: Reading::of(from),
        ours: Reading::of(ours),
        tolerance: Tolerance::Absolute { amount: 0.0 },
        fitted: true,
        note: Some(format!(
            "the lower end of the bin, a power of two, which holds {:.0} % of the bytes; the sizes were proposed to have it",
            100.0 * share
        )),
    };
    Some(draft.judge())
}

/// The two data sets on clusters of one size.
fn data_sets(views: &[View<'_>], servers: u32) -> Option<Claim> {
    let of = |wanted: &str| views.iter().find(|view| view.scenario.servers == servers && is_of(view, wanted));
    let (genomes, mira) = (of("1000-genomes")?, of("mira")?);
    let claim = judged(
        &format!("mira_slower_{servers}"),
        "1000 Genomes is rebuilt twice as fast as Mira",
        (2.0, reading(ratio(genomes, mira, RATE))),
        Tolerance::Absolute { amount: 0.5 },
        "both data sets are proposals that meet what is published of them, not the paper's files".to_owned(),
    );
    Some(claim.loosened("the slides say 2x without a tolerance; half a unit of that digit is taken"))
}

/// The claims about one placement with an increasing number of groups.
fn peers(views: &[View<'_>]) -> Option<Claim> {
    let alike = |view: &View<'_>| (view.scenario.servers, view.scenario.placement);
    let grouped = views.iter().all(|view| {
        let scenario = view.scenario;
        scenario.groups.is_some() && scenario.settings.clients.is_none() && alike(view) == alike(&views[0])
    });
    if views.len() < 3 || !grouped {
        return None;
    }
    let mean = |view: &View<'_>, measure: &str| Some(view.mean(measure)?.mean);
    let mut points = Vec::new();
    for view in views {
        points.push((mean(view, "servers_writing")?, view));
    }
    points.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (first, last) = (points.first()?, points.last()?);
    let all = ratio(last.1, first.1, RATE)?;
    let steps = points.windows(2).map(|pair| ratio(pair[1].1, pair[0].1, RATE));
    // The step whose rise is least certain decides.
    let low =
        |step: &Option<Contrast>| step.and_then(|step| step.range).map_or(f64::NEG_INFINITY, |range| range.0);
    let least = steps.min_by(|left, right| low(left).total_cmp(&low(right)))?;
    let statement = "the more peers are active, the higher the rate";
    let note = format!(
        "the smallest of {} steps from {:.1} to {:.1} servers that write rebuilt data; in all, the rate grows {:.1} times",
        points.len() - 1,
        first.0,
        last.0,
        all.value
    );
    let draft = ClaimDraft::greater("more_peers_higher_rate", SOURCE, statement, least);
    Some(ClaimDraft { note: Some(note), ..draft }.judge())
}

/// The abstract's rate on 1,024 servers.
fn headline(objects: &View<'_>) -> Option<Claim> {
    let ideal = objects.mean("ideal_rate_bytes_per_s")?.mean / GIB;
    let ours = reading_of(objects, RATE, GIB);
    let draft = ClaimDraft {
        name: "headline_rate_1024".to_owned(),
        source: SOURCE.to_owned(),
        statement: "410 GiB/s on 1,024 servers".to_owned(),
        unit: "GiB/s".to_owned(),
        published: Reading::of(410.0),
        ours,
        tolerance: Tolerance::Relative { fraction: 0.01 },
        fitted: true,
        note: Some(format!(
            "`seek_extent` was chosen to match this rate; the ideal here is {ideal:.0} GiB/s"
        )),
    };
    Some(draft.judge())
}

#[cfg(test)]
mod tests;
