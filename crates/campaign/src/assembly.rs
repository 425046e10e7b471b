//! Builds a report from outcomes: means over replicates with their 95 % intervals, digests, and warnings.
//!
//! **Invariant:** the report is a function of the plan and the available outcomes, taken in plan order. It
//! does not depend on when, where and by which process they were run.

use std::collections::BTreeSet;

use towtank_report::runs::Run;
use towtank_report::{
    Interval, Measure, Measurement, Ordered, Outcome, PointSummary, Report, Severity, Table, Warning,
};

use crate::fingerprint::Fingerprint;
use crate::point_file::Stored;
use crate::{Ledger, Plan, PointOutcomes, PointSpec, Task};

/// A report without the parts that only the study can add (tables, figures, claims, its own warnings), and
/// the outcomes that it needs for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// Header, summaries, digests and warnings.
    pub report: Report,
    /// The outcomes of each point, in plan order. A point without any outcome has an empty entry.
    pub points: Vec<PointOutcomes>,
}

/// Builds the report of the available outcomes, with intervals by the units of measures. `executor` says how
/// the kernel ran; it is in no digest.
#[must_use]
pub fn assemble(plan: &Plan, ledger: Ledger, executor: &str) -> Assembled {
    assemble_by(plan, ledger, executor, &|_| Interval::OfUnit)
}

/// The same with the interval that each measure has, by its name.
#[must_use]
pub fn assemble_by(
    plan: &Plan,
    ledger: Ledger,
    executor: &str,
    interval: &dyn Fn(&str) -> Interval,
) -> Assembled {
    let open = ledger.missing().len();
    let points = ledger.into_points();
    let mut warnings = incomplete(plan, &points, open);
    warnings.extend(half_missing(plan, &points));
    warnings.extend(outcome_warnings(plan, &points));
    let summaries: Vec<PointSummary> =
        plan.points().iter().zip(&points).map(|(spec, point)| summarise(spec, point, interval)).collect();
    let digest = summaries.iter().fold(Fingerprint::of("towtank campaign digest 1"), |print, point| {
        print.part(point.digest.as_deref().unwrap_or_default())
    });
    let header = plan.header();
    let mut report = Report {
        results_version: header.results_version,
        study: header.study.clone(),
        title: header.title.clone(),
        scenario: header.scenario.clone(),
        scenario_hash: header.scenario_hash.clone(),
        seed: header.seed,
        replicates: plan.replicates(),
        executor: executor.to_owned(),
        digest: points.iter().any(|point| !point.outcomes.is_empty()).then(|| digest.hex()),
        events: points.iter().flat_map(|point| &point.outcomes).map(|outcome| outcome.events).sum(),
        partial: open > 0,
        sweep: plan.axes().to_vec(),
        warnings: Warning::by_severity(warnings),
        ..Report::default()
    };
    report.runs = runs_table(&summaries, &points);
    if plan.axes().is_empty() {
        report.summary = summaries.into_iter().next().map(|point| point.summary).unwrap_or_default();
    } else {
        report.points = summaries;
    }
    Assembled { report, points }
}

/// A row for each available replicate.
fn runs_table(summaries: &[PointSummary], points: &[PointOutcomes]) -> Option<Table> {
    let row = |(task, outcome): (Task, _)| {
        let settings = &summaries[task.point].settings;
        Run { settings, replicate: task.replicate, outcome }
    };
    towtank_report::runs::table(&runs(points).map(row).collect::<Vec<_>>())
}

fn summarise(spec: &PointSpec, point: &PointOutcomes, interval: &dyn Fn(&str) -> Interval) -> PointSummary {
    PointSummary {
        settings: spec.settings.iter().cloned().collect(),
        label: spec.short_label(),
        summary: names(point)
            .into_iter()
            .map(|name| {
                let mean = mean_over(&name, point, interval(&name));
                (name, mean)
            })
            .collect(),
        digest: point_digest(point),
        partial: point.partial,
    }
}

/// Every measure of a point, in the order in which its replicates first name them.
fn names(point: &PointOutcomes) -> Vec<String> {
    let first: Ordered<()> = measurements(point).map(|(name, _)| (name.clone(), ())).collect();
    first.into_keys().collect()
}

/// The mean of one measure over the replicates that have a value.
fn mean_over(name: &str, point: &PointOutcomes, interval: Interval) -> Measure {
    let found: Vec<_> = point.outcomes.iter().filter_map(|outcome| outcome.measures.get(name)).collect();
    let unit = found.first().map_or("", |first| first.unit());
    let values: Vec<f64> = found.iter().filter_map(|measurement| measurement.value()).collect();
    let count =
        u32::try_from(values.len()).expect("no more values than replicates, of which there are a u32");
    if let Some(other) = found.iter().find(|measurement| measurement.unit() != unit) {
        let reason = format!("its replicates disagree about the unit: `{unit}` and `{}`", other.unit());
        return Measure::missing(unit, count, reason);
    }
    Measure::over(&values, unit, interval).unwrap_or_else(|| {
        let reason = found.iter().find_map(|measurement| measurement.reason());
        Measure::missing(unit, 0, reason.unwrap_or("no replicate gave a value"))
    })
}

/// The digest of a point: of its replicates' digests, in order.
fn point_digest(point: &PointOutcomes) -> Option<String> {
    if point.outcomes.is_empty() {
        return None;
    }
    let mut print = Fingerprint::of("towtank point digest 1");
    for (replicate, outcome) in point.replicates.iter().zip(&point.outcomes) {
        print = print.number(u64::from(*replicate)).part(outcome_digest(outcome));
    }
    Some(print.hex())
}

/// The digest from the kernel, or, if the study runs no kernel, that of the whole outcome.
fn outcome_digest(outcome: &Outcome) -> String {
    outcome.digest.clone().unwrap_or_else(|| {
        let stored = Stored::new(outcome).expect("every outcome here was stored as text before");
        Fingerprint::of("towtank outcome digest 1").part(stored.text()).hex()
    })
}

fn incomplete(plan: &Plan, points: &[PointOutcomes], open: usize) -> Vec<Warning> {
    let total = plan.task_count();
    let stopped = |point: &&PointOutcomes| point.outcomes.iter().any(|outcome| outcome.partial);
    let shown = points.iter().filter(stopped).count();
    match (open, total, shown) {
        (0, _, _) => Vec::new(),
        (_, 1, 0) => vec![Warning::unknown("the run was stopped before it had a value")],
        (_, 1, _) => {
            vec![Warning::unknown("the run was stopped early: the values cover only what was committed")]
        }
        _ => {
            let verb = if open == 1 { "is missing or was" } else { "are missing or were" };
            let missing = format!("{open} of {total} runs {verb} stopped early");
            let shown = (shown > 0).then(|| {
                format!(
                    "no run of {shown} of {} points was finished: their values cover only what was committed",
                    points.len()
                )
            });
            [Some(missing), shown].into_iter().flatten().map(Warning::unknown).collect()
        }
    }
}

/// Warnings for means over only some of the replicates, which can mislead because the others have no value.
fn half_missing(plan: &Plan, points: &[PointOutcomes]) -> Vec<Warning> {
    let mut gaps: Ordered<Occurrences> = Ordered::new();
    for (at, point) in points.iter().enumerate() {
        let with_value: BTreeSet<&String> =
            measurements(point).filter(|(_, m)| m.value().is_some()).map(|(name, _)| name).collect();
        for (replicate, outcome) in point.replicates.iter().zip(&point.outcomes) {
            for (name, measurement) in &outcome.measures {
                if let Some(reason) = measurement.reason()
                    && with_value.contains(name)
                {
                    let place = Task { point: at, replicate: *replicate };
                    gaps.entry(name.clone()).or_insert_with(|| Occurrences::first(place, reason)).count += 1;
                }
            }
        }
    }
    let total = points.iter().map(|point| point.outcomes.len()).sum::<usize>();
    let words = gaps.into_iter().map(|(name, occurrences)| {
        let Occurrences { count, place, reason } = occurrences;
        let (place, runs) = (plan.place(place), plan.word_for_runs());
        Warning::unknown(format!(
            "`{name}` has no value in {count} of {total} {runs} (first {place}: {reason}); its means are over the others"
        ))
    });
    words.collect()
}

/// Warnings of the runs: each text once, with how often it occurs and where first.
fn outcome_warnings(plan: &Plan, points: &[PointOutcomes]) -> Vec<Warning> {
    let mut texts: Ordered<(Severity, Occurrences)> = Ordered::new();
    for (place, outcome) in runs(points) {
        for Warning { severity, text } in &outcome.warnings {
            let (_, occurrences) =
                texts.entry(text.clone()).or_insert_with(|| (*severity, Occurrences::first(place, "")));
            occurrences.count += 1;
        }
    }
    let total = points.iter().map(|point| point.outcomes.len()).sum::<usize>();
    let words = texts.into_iter().map(|(text, (severity, occurrences))| match occurrences.count {
        count if count >= total => Warning { severity, text },
        count => {
            let (place, runs) = (plan.place(occurrences.place), plan.word_for_runs());
            Warning { severity, text: format!("{text} (in {count} of {total} {runs}, first {place})") }
        }
    });
    words.collect()
}

struct Occurrences {
    count: usize,
    place: Task,
    reason: String,
}

impl Occurrences {
    fn first(place: Task, reason: &str) -> Self {
        Self { count: 0, place, reason: reason.to_owned() }
    }
}

fn measurements(point: &PointOutcomes) -> impl Iterator<Item = (&String, &Measurement)> {
    point.outcomes.iter().flat_map(|outcome| &outcome.measures)
}

/// Every outcome with its task.
fn runs(points: &[PointOutcomes]) -> impl Iterator<Item = (Task, &Outcome)> {
    points.iter().enumerate().flat_map(|(point, found)| {
        let tasks = found.replicates.iter().map(move |&replicate| Task { point, replicate });
        tasks.zip(&found.outcomes)
    })
}

#[cfg(test)]
mod tests;
