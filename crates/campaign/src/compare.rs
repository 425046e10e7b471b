//! Compares two results: what differs, by how much, and whether that is more than chance.
//!
//! Points are paired by their settings, measures by their names. If both campaigns kept their runs and share
//! a seed, replicates are paired too: replicate r of both drew the same random numbers, so the interval of
//! the differences is narrower than that of either mean. Otherwise two means count as different only if their
//! 95 % intervals do not overlap. This is a conservative rule: means whose intervals overlap may still
//! differ.
//!
//! The result is a [`Report`] of the study `compare`, so it is printed, written and gated like any other. Its
//! summary holds the differences, B minus A.

mod layout;
mod notes;
mod row;
mod side;

use std::collections::BTreeMap;

use serde_json::json;
use towtank_report::{Answer, Measure, Ordered, PointSummary, Report, SweepAxis, Warning};

use crate::fingerprint::Fingerprint;
use row::{Compared, Row, Verdict};

pub use side::{LoadError, Side, load_side};

/// Why two results cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The two have no point in common.
    #[error(
        "{a} sweeps over {a_axes} and {b} over {b_axes}, and they have no point in common: compare results that share \
         some values"
    )]
    NoCommonPoint {
        /// Name of the first result.
        a: String,
        /// Its sweep axes, in words.
        a_axes: String,
        /// Name of the second result.
        b: String,
        /// Its sweep axes, in words.
        b_axes: String,
    },
    /// The two have no measure in common.
    #[error(
        "{a} is a result of the study `{a_study}` and {b} of `{b_study}`, and they have no measure in common: compare \
         results of one study"
    )]
    NoCommonMeasure {
        /// Name of the first result.
        a: String,
        /// Its study.
        a_study: String,
        /// Name of the second result.
        b: String,
        /// Its study.
        b_study: String,
    },
}

/// Compares two results.
///
/// # Errors
/// If they have no point or no measure in common.
pub fn compare(a: &Side, b: &Side) -> Result<Report, CompareError> {
    let (points_a, points_b) = (a.point_summaries(), b.point_summaries());
    let pairs = pair_points(&points_a, &points_b);
    if pairs.is_empty() {
        return Err(no_common_point(a, b));
    }
    let rows: Vec<Row> = pairs
        .iter()
        .flat_map(|&(at_a, at_b)| {
            row::rows(
                Compared { side: a, at: at_a, point: &points_a[at_a] },
                Compared { side: b, at: at_b, point: &points_b[at_b] },
            )
        })
        .collect();
    if rows.is_empty() {
        return Err(CompareError::NoCommonMeasure {
            a: a.name.clone(),
            a_study: a.report.study.clone(),
            b: b.name.clone(),
            b_study: b.report.study.clone(),
        });
    }
    let axes = &a.report.sweep;
    let mut report = Report {
        study: "compare".to_owned(),
        title: title(a, b),
        answer: Answer::of(answer(&rows)).comparing("comparison"),
        results_version: a.report.results_version.max(b.report.results_version),
        scenario: json!({ "a": a.report.scenario, "b": b.report.scenario }),
        scenario_hash: joint("scenarios", Some(&a.report.scenario_hash), Some(&b.report.scenario_hash)),
        seed: a.report.seed,
        replicates: a.report.replicates.min(b.report.replicates),
        digest: Some(joint("digests", a.report.digest.as_deref(), b.report.digest.as_deref())),
        partial: a.report.partial || b.report.partial,
        tables: layout::tables(a, b, &rows),
        figures: layout::figures(a, b, &rows),
        warnings: notes::notes(a, b).into_iter().map(Warning::note).collect(),
        ..Report::default()
    };
    if axes.is_empty() {
        report.summary = differences_of(&rows);
    } else {
        report.points = point_differences(&rows);
        report.sweep = common_axes(axes, &report.points);
    }
    Ok(report)
}

/// Indexes of the points that both have, in the order of the first.
fn pair_points(a: &[PointSummary], b: &[PointSummary]) -> Vec<(usize, usize)> {
    let partners: BTreeMap<String, usize> =
        b.iter().enumerate().map(|(at, point)| (identity(point), at)).collect();
    let partner = |point: &PointSummary| partners.get(&identity(point)).copied();
    a.iter().enumerate().filter_map(|(at, point)| Some((at, partner(point)?))).collect()
}

/// A point's settings as text, independent of the order of its keys.
fn identity(point: &PointSummary) -> String {
    let mut settings: Vec<String> =
        point.settings.iter().map(|(key, value)| format!("{key:?}={value}")).collect();
    settings.sort();
    settings.join(",")
}

fn no_common_point(a: &Side, b: &Side) -> CompareError {
    let axes = |side: &Side| {
        let keys: Vec<String> = side.report.sweep.iter().map(|axis| format!("`{}`", axis.key)).collect();
        if keys.is_empty() { "nothing".to_owned() } else { keys.join(" and ") }
    };
    CompareError::NoCommonPoint { a: a.name.clone(), a_axes: axes(a), b: b.name.clone(), b_axes: axes(b) }
}

fn title(a: &Side, b: &Side) -> String {
    let named = |side: &Side| format!("{} ({})", side.report.title, side.name);
    if a.report.title == b.report.title {
        return format!("{}: {} and {} compared", a.report.title, a.name, b.name);
    }
    format!("{} and {} compared", named(a), named(b))
}

/// The comparison in one sentence.
fn answer(rows: &[Row]) -> String {
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let nowhere = rows.iter().filter(|row| row.has_no_value_anywhere()).count();
    let parts = [
        (count(Verdict::Higher), "higher"),
        (count(Verdict::Lower), "lower"),
        (count(Verdict::Equal), "equal"),
        (count(Verdict::Unclear), "not clearly different"),
        (count(Verdict::NoInterval), "different but without an interval to judge by"),
        (count(Verdict::NoValue) - nowhere, "without a value on one side"),
        (nowhere, "without a value on both sides"),
    ];
    let words = parts.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = words.map(|(count, word)| format!("{count} {word}")).collect();
    let values = if rows.len() == 1 { "value" } else { "values" };
    format!("B against A, of {} {values}: {}.", rows.len(), words.join(", "))
}

fn joint(purpose: &str, a: Option<&str>, b: Option<&str>) -> String {
    Fingerprint::of(purpose).part(a.unwrap_or_default()).part(b.unwrap_or_default()).hex()
}

fn differences_of(rows: &[Row]) -> Ordered<Measure> {
    rows.iter().map(|row| (row.measure.clone(), row.difference_measure())).collect()
}

fn point_differences(rows: &[Row]) -> Vec<PointSummary> {
    let of_one_point = rows.chunk_by(|one, next| one.settings == next.settings);
    let point = |rows: &[Row]| PointSummary {
        settings: rows[0].settings.clone(),
        label: rows[0].label.clone(),
        summary: differences_of(rows),
        digest: None,
        partial: rows[0].partial,
    };
    of_one_point.map(point).collect()
}

/// The axes with the values that both sides have.
fn common_axes(axes: &[SweepAxis], points: &[PointSummary]) -> Vec<SweepAxis> {
    let used = |axis: &SweepAxis, value: &serde_json::Value| {
        points.iter().any(|point| point.settings.get(&axis.key) == Some(value))
    };
    let cut = |axis: &SweepAxis| SweepAxis {
        key: axis.key.clone(),
        values: axis.values.iter().filter(|value| used(axis, value)).cloned().collect(),
    };
    axes.iter().map(cut).collect()
}

#[cfg(test)]
mod tests;
