//! All replicates of all points beside the closed forms: tables, claims and warnings.

use metrics::{MeanInterval, mean_interval_95};
use report::{Cell, Claim, ClaimDraft, Column, Reading, Table, Tolerance};

use super::closed_form::Mmk;
use super::figures;
use super::observed::{MEASURES, Observed, expected};
use super::scenario::{Scenario, Theory};
use crate::{PointResult, Presentation};

/// One point, with everything that tables and figures need of it.
pub struct View<'a> {
    /// The point.
    pub result: &'a PointResult<'a>,
    /// Its scenario.
    pub scenario: Scenario,
    /// What theory says.
    pub theory: Theory,
    /// What its replicates counted together.
    pub observed: Observed,
    /// The swept keys with their values: `stations.counter.servers = 2`; empty without a sweep.
    pub label: String,
}

impl<'a> View<'a> {
    /// `None` if no replicate got past its warm-up.
    fn of(result: &'a PointResult<'a>) -> Option<View<'a>> {
        let scenario: Scenario = serde_json::from_value(result.scenario.clone()).ok()?;
        let theory = scenario.theory_unchecked()?;
        let mut observed = result.outcomes.iter().filter_map(figures::observed_of);
        let mut all = observed.next()?;
        observed.for_each(|one| all.merge(&one));
        let settings = result.settings.iter().map(|(key, value)| match value {
            serde_json::Value::String(text) => format!("{key} = {text}"),
            other => format!("{key} = {other}"),
        });
        let label = settings.collect::<Vec<_>>().join(", ");
        Some(View { result, scenario, theory, observed: all, label })
    }

    /// The mean of a measure over the replicates that have it.
    #[must_use]
    pub fn mean(&self, measure: &str) -> Option<MeanInterval> {
        let values = self.result.outcomes.iter().filter_map(|outcome| outcome.measures.get(measure)?.value());
        mean_interval_95(&values.collect::<Vec<f64>>())
    }

    /// Names of the stations with what theory and simulation say of them.
    pub fn stations(&self) -> impl Iterator<Item = (&str, &Mmk, &super::observed::ObservedStation)> {
        let names = self.scenario.stations.keys().map(String::as_str);
        names
            .zip(&self.theory.stations)
            .zip(&self.observed.stations)
            .map(|((name, theory), observed)| (name, theory, observed))
    }
}

/// What the study says about all its points.
#[must_use]
pub fn present(points: &[PointResult<'_>]) -> Presentation {
    let views: Vec<View<'_>> = points.iter().filter_map(View::of).collect();
    let swept = points.len() > 1;
    let mut presentation = Presentation { warnings: warnings(&views), ..Presentation::default() };
    if views.is_empty() {
        return presentation;
    }
    presentation.tables = vec![against_closed_forms(&views, swept), by_station(&views, swept)];
    presentation.figures = if swept { figures::of_sweep(&views) } else { figures::of_point(&views[0]) };
    presentation.claims =
        views.iter().enumerate().flat_map(|(at, view)| claims(view, swept.then_some(at))).collect();
    presentation
}

fn against_closed_forms(views: &[View<'_>], swept: bool) -> Table {
    let mut columns = vec![Column::text("measure"), Column::text("unit"), Column::number("simulated", "")];
    columns.extend(["low", "high", "closed_form", "difference_percent"].map(|name| Column::number(name, "")));
    if swept {
        columns.insert(0, Column::text("point"));
    }
    let about =
        "Means over replicates with their 95 % intervals. The difference is relative to the closed form.";
    let mut table = Table::new("closed_forms", "Simulated and by formula", columns).about(about);
    for view in views {
        for (measure, theory) in MEASURES.iter().zip(expected(&view.theory)) {
            let mean = view.mean(measure.name);
            let range = mean.and_then(|mean| mean.range);
            let difference = mean.zip(theory).map(|(mean, theory)| (mean.mean / theory - 1.0) * 100.0);
            let mut row: Vec<Cell> =
                vec![measure.name.into(), measure.unit.into(), mean.map(|mean| mean.mean).into()];
            row.extend(
                [range.map(|(low, _)| low), range.map(|(_, high)| high), theory, difference].map(Cell::from),
            );
            if swept {
                row.insert(0, view.label.as_str().into());
            }
            table.push(row);
        }
    }
    table
}

fn by_station(views: &[View<'_>], swept: bool) -> Table {
    let mut columns =
        vec![Column::text("station"), Column::number("servers", ""), Column::number("arrivals", "per_s")];
    for (name, unit) in
        [("utilisation", "fraction"), ("number_mean", "jobs"), ("response_mean", "s"), ("response_p99", "s")]
    {
        columns.push(Column::number(name, unit));
        columns.push(Column::number(format!("{name}_by_formula"), unit));
    }
    if swept {
        columns.insert(0, Column::text("point"));
    }
    let about = "All replicates together. Quantiles are within 0.4 % of the value that was simulated.";
    let mut table = Table::new("stations", "Station by station", columns).about(about);
    for view in views {
        let seconds = view.observed.span.as_secs_f64();
        for (name, theory, observed) in view.stations() {
            let p99 = observed.responses.quantile(0.99).map(|estimate| estimate.value / 1e9);
            let mut row: Vec<Cell> = vec![
                name.into(),
                observed.servers.into(),
                (observed.responses.count() as f64 / seconds).into(),
                (observed.busy_mean() / f64::from(observed.servers)).into(),
                theory.utilisation().into(),
                observed.number_mean().into(),
                theory.number_mean().into(),
                observed.responses.mean().map(|ns| ns / 1e9).into(),
                theory.response_mean().into(),
                p99.into(),
                theory.response_quantile(0.99).into(),
            ];
            if swept {
                row.insert(0, view.label.as_str().into());
            }
            table.push(row);
        }
    }
    table
}

/// How a measure is judged against its formula, and where the formula comes from.
fn judged(measure: &str, single: bool) -> Option<(Tolerance, &'static str)> {
    let station = if single {
        "A. K. Erlang 1917; L. Kleinrock, Queueing Systems 1, 1975, ch. 3"
    } else {
        "J. R. Jackson, Operations Research 5, 1957"
    };
    let little = "J. D. C. Little, Operations Research 9, 1961";
    match measure {
        "number_mean" | "waiting_mean" | "utilisation" | "throughput" | "wait_share" | "wait_mean"
        | "sojourn_mean" => Some((Tolerance::Interval, station)),
        // A quantile comes out of buckets, and its mean over replicates is a little off in finite runs.
        "sojourn_p50" | "sojourn_p99" | "wait_p99" => Some((Tolerance::Relative { fraction: 0.03 }, station)),
        // Only jobs at the two ends of the span make the two sides differ.
        "little_ratio" => Some((Tolerance::Relative { fraction: 0.01 }, little)),
        _ => None,
    }
}

/// What theory published, beside ours. A single replicate has no range to judge by, and a stopped run is no evidence.
fn claims(view: &View<'_>, swept_at: Option<usize>) -> Vec<Claim> {
    let outcomes = view.result.outcomes;
    if outcomes.len() < 2 || outcomes.iter().any(|outcome| outcome.partial) {
        return Vec::new();
    }
    let single = view.theory.stations.len() == 1;
    let claim = |(measure, theory): (&crate::MeasureSpec, Option<f64>)| {
        let (tolerance, source) = judged(measure.name, single)?;
        let (theory, mean) = (theory?, view.mean(measure.name)?);
        let at = if view.label.is_empty() { String::new() } else { format!(" with {}", view.label) };
        let ours = mean
            .range
            .map_or(Reading::of(mean.mean), |(low, high)| Reading::with_range(mean.mean, low, high));
        let seeds = format!("mean of {} seeds", mean.count);
        let note = match tolerance {
            Tolerance::Interval => {
                format!("{seeds}; of twenty true claims one misses its 95 % range by chance")
            }
            _ => seeds,
        };
        Some(
            ClaimDraft {
                name: swept_at.map_or(measure.name.to_owned(), |at| format!("{}_{at}", measure.name)),
                source: source.to_owned(),
                statement: format!("{}{at}", measure.about),
                unit: measure.unit.to_owned(),
                published: Reading::of(theory),
                ours,
                tolerance,
                fitted: false,
                note: Some(note),
            }
            .judge(),
        )
    };
    MEASURES.iter().zip(expected(&view.theory)).filter_map(claim).collect()
}

/// Fewer relaxation times than this of warm-up leave a trace of the empty start (e^-5 is under 1 %).
const WARM_UP_LEAST: f64 = 5.0;
/// Fewer relaxation times than this are too few independent stretches for a mean.
const SPAN_LEAST: f64 = 100.0;

fn warnings(views: &[View<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for view in views {
        let relaxation = view.theory.relaxation();
        let at = if view.label.is_empty() { String::new() } else { format!(" ({})", view.label) };
        let times = [
            ("warm_up", view.scenario.warm_up, WARM_UP_LEAST, "the empty start still shows in the means"),
            ("span", view.scenario.span, SPAN_LEAST, "the mean of a single replicate is far from sure"),
        ];
        for (key, span, least, effect) in times {
            let Some(span) = span else { continue };
            let count = span.as_secs_f64() / relaxation;
            if count < least {
                let enough = super::scenario::rounded_span(least * relaxation);
                warnings.push(format!(
                    "`{key}` is {span}{at}, only {count:.1} relaxation times of the slowest station, so {effect}; {least:.0} of them are {enough}"
                ));
            }
        }
    }
    warnings
}
