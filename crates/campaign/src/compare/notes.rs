//! Warnings for readers of a comparison: how the two results differ apart from their values.

use std::collections::BTreeSet;

use super::{Side, identity};
use crate::differences;

/// One sentence per difference, the most serious first.
pub(crate) fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    let (left, right) = (&a.report, &b.report);
    let mut tell = |differ: bool, text: String| {
        if differ {
            notes.push(text);
        }
    };
    let both = |one: &dyn std::fmt::Display, other: &dyn std::fmt::Display| {
        format!("{one} in {}, {other} in {}", a.name, b.name)
    };
    tell(left.study != right.study, format!("the studies differ ({})", both(&left.study, &right.study)));
    tell(
        left.results_version != right.results_version,
        format!(
            "the results versions differ ({}): the model itself changed between them",
            both(&left.results_version, &right.results_version)
        ),
    );
    tell(
        left.towtank != right.towtank,
        format!("they were made by different versions of Towtank ({})", both(&left.towtank, &right.towtank)),
    );
    for side in [a, b] {
        tell(side.report.partial, format!("{} is partial: not all of its runs are done", side.name));
    }
    tell(
        left.seed != right.seed,
        format!(
            "the seeds differ ({}): replicates cannot be paired, so the noise of both adds up",
            both(&left.seed, &right.seed)
        ),
    );
    tell(
        left.replicates != right.replicates,
        format!("the numbers of replicates differ ({})", both(&left.replicates, &right.replicates)),
    );
    let keys: Vec<String> =
        differences(&left.scenario, &right.scenario).into_iter().map(|key| key.key).collect();
    tell(!keys.is_empty(), format!("the scenarios differ in {}", listed(&keys)));
    let inputs = keys.is_empty() && left.scenario_hash != right.scenario_hash;
    tell(
        inputs && left.results_version == right.results_version,
        "the scenarios are equal, but the contents of their input files differ".to_owned(),
    );
    notes.extend(only_one_has(a, b));
    notes.extend(a.notes.iter().chain(&b.notes).cloned());
    if left.digest.is_some() && left.digest == right.digest {
        notes.push("the two are the same result: their digests are equal".to_owned());
    }
    notes
}

/// Keys as a short list for a sentence.
fn listed(keys: &[String]) -> String {
    const SHOWN: usize = 8;
    let quoted: Vec<String> = keys.iter().take(SHOWN).map(|key| format!("`{key}`")).collect();
    match keys.len().saturating_sub(SHOWN) {
        0 => quoted.join(", "),
        more => format!("{} and {more} more keys", quoted.join(", ")),
    }
}

/// Points and measures that only one side has.
fn only_one_has(a: &Side, b: &Side) -> Vec<String> {
    let (points_a, points_b) = (a.point_summaries(), b.point_summaries());
    let mut notes = Vec::new();
    for (own, others, side) in [(&points_a, &points_b, a), (&points_b, &points_a, b)] {
        let known: BTreeSet<String> = others.iter().map(identity).collect();
        let alone = own.iter().filter(|point| !known.contains(&identity(point)));
        let labels: Vec<String> = alone.map(|point| point.label.clone()).collect();
        if !labels.is_empty() {
            notes.push(format!("only {} has the points {}", side.name, listed(&labels)));
        }
        let names = |points: &[towtank_report::PointSummary]| -> Vec<String> {
            let all = points.iter().flat_map(|point| point.summary.keys().cloned());
            all.map(|name| (name, ())).collect::<towtank_report::Ordered<()>>().into_keys().collect()
        };
        let theirs = names(others);
        let missing: Vec<String> = names(own).into_iter().filter(|name| !theirs.contains(name)).collect();
        if !missing.is_empty() {
            notes.push(format!("only {} has the measures {}", side.name, listed(&missing)));
        }
    }
    notes
}
