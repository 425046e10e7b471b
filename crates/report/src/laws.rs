//! Laws of every report, whatever the study: a report that breaks one is wrong, and the error is ours.
//!
//! - A share (a measure or a column in `fraction`) lies between 0 and 1. Values that may exceed 1 have the
//!   unit `ratio`.
//! - Times, sizes, rates and counts are not negative: every measure whose unit is not a percentage, a ratio
//!   or a bare number.
//! - The low end of an interval is at most the value, and the value at most the high end; this holds for
//!   claims too.
//! - A mean is taken over at most as many replicates as there are.
//! - A bound on a rate is at least the rate; a mean is at most the maximum; a quantile is at most the next
//!   one.
//! - The headline names a measure, the main figure a figure, and a title leaves the unit out.
//! - A chord diagram has a row and a column of flows for each member, and flows to choose from have different
//!   names.
//! - Where there are chapters, each claim is in one part, and what a part names exists.
//! - The verdict of a claim follows from its numbers, so none holds or misses without a number. Claims of a
//!   run that was stopped are not judged, and only those.
//!
//! Relations between two measures are checked where both are means over equally many replicates. Laws of a
//! model (what is sent is received) are not checked here: each study audits its own.

use std::fmt;

use crate::{Cell, Claim, Figure, Kind, Measure, Num, Ordered, Reading, Report, Table, Verdict, title};

/// A law that a report breaks, with the offending numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The law in words.
    pub law: &'static str,
    /// The offending names and values.
    pub found: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, but {}", self.law, self.found)
    }
}

/// Sums of shares and intervals of equal values may be off by rounding: far above 2^-52 times the terms of
/// any sum here, far below any number that is shown.
const ROUNDING: f64 = 1e-9;

/// A rate and its bound.
const BOUNDS: [(&str, &str); 2] = [
    ("aggregate_rate_bytes_per_s", "bound_rate_bytes_per_s"),
    ("aggregate_rate_bytes_per_s", "ideal_rate_bytes_per_s"),
];

/// Parts of names: of two measures whose names differ only in such a pair, the first is at most the second.
const RISING: [(&str, &str); 5] =
    [("_p50", "_p99"), ("_p99", "_p999"), ("_mean", "_max"), ("_min", "_mean"), ("_min", "_max")];

/// Units whose numbers may be negative: differences and bare numbers.
const SIGNED: [&str; 5] = ["", "ratio", "share", "%", "percent"];

/// Measures that are differences although they have a unit of counts.
const DIFFERENCES: [&str; 1] = ["headroom"];

/// Every law that the report breaks, in the order of the report.
#[must_use]
pub fn laws(report: &Report) -> Vec<Broken> {
    let mut broken = Vec::new();
    of_front(&mut broken, report);
    of_measures(&mut broken, "", &report.summary, report.replicates);
    for point in &report.points {
        of_measures(&mut broken, &format!(" at {}", point.label), &point.summary, report.replicates);
    }
    report.runs.iter().chain(&report.tables).for_each(|table| of_table(&mut broken, table));
    report.figures.iter().for_each(|figure| of_chord(&mut broken, figure));
    report.claims.iter().for_each(|claim| of_claim(&mut broken, claim, report));
    let law = "each claim is in one part of the chapters";
    broken.extend(crate::chapter::faults(report).into_iter().map(|found| Broken { law, found }));
    broken
}

/// What the page shows first.
fn of_front(broken: &mut Vec<Broken>, report: &Report) {
    let mut breaks = |law, found| broken.push(Broken { law, found });
    let summaries =
        || std::iter::once(&report.summary).chain(report.points.iter().map(|point| &point.summary));
    let measure = |name: &str| summaries().find_map(|summary| summary.get(name));
    if let Some(name) = report.headline.as_ref().filter(|name| measure(name).is_none()) {
        breaks("the headline names a measure", format!("there is no `{name}`"));
    }
    if let Some(id) =
        report.main_figure.as_ref().filter(|id| report.figures.iter().all(|each| each.id != **id))
    {
        breaks("the main figure is one of the figures", format!("there is no `{id}`"));
    }
    for (name, text) in &report.titles {
        match measure(name).map(|measure| title::fault(text, measure.unit())) {
            None => breaks("a title belongs to a measure", format!("there is no `{name}`")),
            Some(Some(fault)) => {
                breaks("a title is in words, without the unit", format!("`{text}`: {fault}"));
            }
            Some(None) => {}
        }
    }
}

fn of_measures(broken: &mut Vec<Broken>, at: &str, summary: &Ordered<Measure>, replicates: u32) {
    let mut breaks = |law, found| broken.push(Broken { law, found });
    for (name, measure) in summary {
        let Some(value) = measure.value() else { continue };
        if measure.unit() == "fraction" && !(-ROUNDING..=1.0 + ROUNDING).contains(&value) {
            breaks("a share is between 0 and 1", format!("`{name}`{at} is {value}"));
        }
        let signed = SIGNED.contains(&measure.unit()) || DIFFERENCES.contains(&name.as_str());
        if value < 0.0 && measure.unit() != "fraction" && !signed {
            let unit = measure.unit();
            breaks(
                "times, sizes, rates and counts are not negative",
                format!("`{name}`{at} is {value} {unit}"),
            );
        }
        if let Some((low, high)) = measure.interval().filter(|range| !ordered(range.0, value, range.1)) {
            breaks("a value is within its interval", format!("`{name}`{at} is {value} in {low} to {high}"));
        }
        if replicates > 0 && measure.n() > replicates {
            let n = measure.n();
            breaks(
                "a mean covers no more replicates than there are",
                format!("`{name}`{at} is a mean over {n} of {replicates}"),
            );
        }
    }
    for (lesser, greater, law) in relations(summary) {
        let (Some(less), Some(more)) = (summary.get(&lesser), summary.get(&greater)) else { continue };
        if let (Some(less), Some(more)) = (less.value(), more.value().filter(|_| less.n() == more.n()))
            && exceeds(less, more)
        {
            breaks(law, format!("`{lesser}`{at} is {less} and `{greater}` {more}"));
        }
    }
}

/// Pairs of measures of which the first must not exceed the second, with the law.
fn relations(summary: &Ordered<Measure>) -> Vec<(String, String, &'static str)> {
    let mut found: Vec<(String, String, &'static str)> = BOUNDS
        .iter()
        .map(|(rate, bound)| {
            ((*rate).to_owned(), (*bound).to_owned(), "a bound on a rate is at least the rate")
        })
        .collect();
    for name in summary.keys() {
        for (part, next) in RISING {
            // `_p99` is also a prefix of `_p999`.
            let Some(at) = name.find(part) else { continue };
            let (front, back) = (&name[..at], &name[at + part.len()..]);
            if back.is_empty() || back.starts_with('_') {
                let law = "quantiles do not decrease, and a mean is between the minimum and the maximum";
                found.push((name.clone(), format!("{front}{next}{back}"), law));
            }
        }
    }
    found
}

fn of_table(broken: &mut Vec<Broken>, table: &Table) {
    for (at, column) in table.columns().iter().enumerate().filter(|(_, column)| column.unit == "fraction") {
        for row in table.rows() {
            let Some(value) = row.get(at).and_then(|cell| match cell {
                Cell::Number(number) => number.as_f64(),
                _ => None,
            }) else {
                continue;
            };
            if !(-ROUNDING..=1.0 + ROUNDING).contains(&value) {
                let (name, id) = (&column.name, table.id());
                let found = format!("`{name}` in the table `{id}` is {value}");
                broken.push(Broken { law: "a share is between 0 and 1", found });
            }
        }
    }
}

/// The flows of a chord diagram: those that are drawn first, and those to choose from.
fn of_chord(broken: &mut Vec<Broken>, figure: &Figure) {
    let Kind::Chord { labels, matrix, name, others, .. } = &figure.kind else { return };
    let others = || others.iter().map(|other| (&other.name, &other.labels, &other.matrix));
    let id = &figure.id;
    let mut names: Vec<&String> = Vec::new();
    for (name, labels, matrix) in std::iter::once((name, labels, matrix)).chain(others()) {
        let square = |matrix: &[Vec<Num>]| {
            matrix.len() == labels.len() && matrix.iter().all(|row| row.len() == labels.len())
        };
        if !square(matrix) {
            let (members, rows) = (labels.len(), matrix.len());
            let found = format!(
                "`{name}` of the figure `{id}` has {members} members and {rows} rows, or uneven rows"
            );
            broken.push(Broken { law: "a chord diagram has a row and a column for each member", found });
        }
        if names.contains(&name) || name.is_empty() && others().next().is_some() {
            let found = format!("`{name}` in the figure `{id}` is empty or there twice");
            broken.push(Broken { law: "flows to choose from have different names", found });
        }
        names.push(name);
    }
}

fn of_claim(broken: &mut Vec<Broken>, claim: &Claim, report: &Report) {
    let name = &claim.name;
    for (whose, Reading { value, low, high }) in [("published", claim.published), ("ours", claim.ours)] {
        let known = value.get().zip(low.get().zip(high.get()));
        if let Some((value, (low, high))) = known.filter(|(value, (low, high))| !ordered(*low, *value, *high))
        {
            let found = format!("`{whose}` of the claim `{name}` is {value} in {low} to {high}");
            broken.push(Broken { law: "a value is within its interval", found });
        }
    }
    let judged = claim.verdict != Verdict::NotJudged;
    // A report of several scenarios has no table of runs; those that were finished before are judged.
    let of_one_run = report.runs.is_some();
    if judged && report.partial && of_one_run || !judged && !report.partial {
        let law = "claims of a run that was stopped are not judged, and only those";
        let found = format!("the claim `{name}` says `{}`", claim.verdict.name());
        broken.push(Broken { law, found });
    }
    if !judged {
        return;
    }
    let implied = claim.tolerance.verdict(claim.published, claim.ours);
    let said = claim.would_be.unwrap_or(claim.verdict);
    if said != implied || claim.would_be.is_some() != (claim.verdict == Verdict::Fitted) {
        let (said, implied) = (said.name(), implied.name());
        let found = format!("the claim `{name}` says `{said}`, but its numbers give `{implied}`");
        broken.push(Broken { law: "a verdict follows from the numbers of its claim", found });
    }
}

fn ordered(low: f64, value: f64, high: f64) -> bool {
    !exceeds(low, value) && !exceeds(value, high)
}

/// Whether the first exceeds the second by more than rounding.
fn exceeds(less: f64, more: f64) -> bool {
    less - more > ROUNDING * less.abs().max(more.abs())
}

#[cfg(test)]
mod tests;
