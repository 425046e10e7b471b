//! Warnings for readers of a comparison: how a result differs from the first one apart from its values.

use std::collections::BTreeSet;

use towtank_report::{Ordered, PointSummary, Warning};

use super::{Side, identity};

/// The warnings of all results, each once.
pub(crate) fn notes(sides: &[Side]) -> Vec<Warning> {
    let mut notes: Vec<Warning> = Vec::new();
    let (first, others) = sides.split_first().expect("two results or more are compared");
    let partial = sides.iter().filter(|side| side.report.partial);
    notes.extend(
        partial
            .map(|side| Warning::unknown(format!("{} is partial: not all of its runs are done", side.name))),
    );
    for other in others {
        notes.extend(pair(first, other));
    }
    notes.extend(sides.iter().flat_map(|side| &side.notes).map(|note| Warning::note(note.clone())));
    let mut once: Vec<Warning> = Vec::new();
    for note in notes {
        if !once.contains(&note) {
            once.push(note);
        }
    }
    Warning::by_severity(once)
}

/// How two results differ, the most serious first.
fn pair(a: &Side, b: &Side) -> Vec<Warning> {
    let mut notes = Vec::new();
    let (left, right) = (&a.report, &b.report);
    let mut tell = |differ: bool, make: fn(String) -> Warning, text: String| {
        if differ {
            notes.push(make(text));
        }
    };
    let both = |one: &dyn std::fmt::Display, other: &dyn std::fmt::Display| {
        format!("{one} in {}, {other} in {}", a.name, b.name)
    };
    let studies = format!(
        "they are results of different studies ({}): measures of one name may mean different things",
        both(&left.study, &right.study)
    );
    tell(left.study != right.study, Warning::unknown, studies);
    // Each study counts the versions of its own results.
    tell(
        left.study == right.study && left.results_version != right.results_version,
        Warning::unknown,
        format!(
            "the results versions differ ({}): the model itself changed between them",
            both(&left.results_version, &right.results_version)
        ),
    );
    tell(
        left.towtank != right.towtank,
        Warning::note,
        format!("they were made by different versions of Towtank ({})", both(&left.towtank, &right.towtank)),
    );
    tell(
        left.seed != right.seed,
        Warning::note,
        format!(
            "the seeds differ ({}): replicates cannot be paired, so the noise of both adds up",
            both(&left.seed, &right.seed)
        ),
    );
    tell(
        left.replicates != right.replicates,
        Warning::note,
        format!("the numbers of replicates differ ({})", both(&left.replicates, &right.replicates)),
    );
    let inputs = left.scenario == right.scenario && left.scenario_hash != right.scenario_hash;
    tell(
        inputs && left.results_version == right.results_version,
        Warning::note,
        format!(
            "the scenarios of {} and {} are equal, but the contents of their input files differ",
            a.name, b.name
        ),
    );
    notes.extend(only_one_has(a, b).into_iter().map(Warning::note));
    if left.digest.is_some() && left.digest == right.digest && a.point_summaries() == b.point_summaries() {
        let text = format!("{} and {} are the same result: their digests are equal", a.name, b.name);
        notes.push(Warning::note(text));
    }
    notes
}

/// Keys as a short list for a sentence.
fn listed(keys: &[String]) -> String {
    const SHOWN: usize = 8;
    let quoted: Vec<String> = keys.iter().take(SHOWN).map(|key| format!("`{key}`")).collect();
    match keys.len().saturating_sub(SHOWN) {
        0 => quoted.join(", "),
        more => format!("{} and {more} more", quoted.join(", ")),
    }
}

/// Points and measures that only one side has.
fn only_one_has(a: &Side, b: &Side) -> Vec<String> {
    let (points_a, points_b) = (a.point_summaries(), b.point_summaries());
    let mut notes = Vec::new();
    for (own, others, [side, other]) in [(&points_a, &points_b, [a, b]), (&points_b, &points_a, [b, a])] {
        let lacks = |what: &str, keys: &[String]| {
            format!("{} has {what} that {} does not have: {}", side.name, other.name, listed(keys))
        };
        let known: BTreeSet<String> = others.iter().map(identity).collect();
        let alone = own.iter().filter(|point| !known.contains(&identity(point)));
        let labels: Vec<String> = alone.map(|point| point.label.clone()).collect();
        if !labels.is_empty() {
            notes.push(lacks("points", &labels));
        }
        let names = |points: &[PointSummary]| -> Vec<String> {
            let all = points.iter().flat_map(|point| point.summary.keys().cloned());
            all.map(|name| (name, ())).collect::<Ordered<()>>().into_keys().collect()
        };
        let theirs = names(others);
        let missing: Vec<String> = names(own).into_iter().filter(|name| !theirs.contains(name)).collect();
        if !missing.is_empty() {
            notes.push(lacks("measures", &missing));
        }
    }
    notes
}
