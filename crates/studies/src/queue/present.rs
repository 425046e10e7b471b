//! All replicates of all points, compared with the closed forms: tables, claims and warnings.

use towtank_report::{Cell, Claim, ClaimDraft, Column, Reading, Table, Tolerance, Verdict, Warning, human};

use super::observed::Shown;
use super::scenario::{LONGEST, rounded_span};
use super::service::Tail;
use super::view::{APART_MOST, RareWaits, View};
use super::{Queue, answer, figures};
use towtank_study::{Points, Presentation};

/// The presentation of all points of the study.
pub fn present(points: &Points<'_, Queue>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().filter_map(View::of).collect();
    let swept = points.swept;
    let mut presentation = Presentation { warnings: warnings(&views), ..Presentation::default() };
    if views.is_empty() {
        return presentation;
    }
    presentation.answer = if swept { answer::of_sweep(&views) } else { answer::of_point(&views[0]) };
    presentation.tables = vec![against_closed_forms(&views, swept), by_station(&views, swept)];
    presentation.figures = if swept { figures::of_sweep(&views) } else { figures::of_point(&views[0]) };
    presentation.headline = points.first_measure(["wait_mean", "sojourn_mean"]);
    presentation.main_figure = presentation.figures.first().map(|figure| figure.id.clone());
    presentation.claims =
        views.iter().enumerate().flat_map(|(at, view)| claims(view, swept.then_some(at))).collect();
    presentation
}

/// An empty table of simulated values and closed forms: its id, its title and what it says; the point comes
/// first in a sweep.
fn table([id, title, about]: [&str; 3], texts: &[&str], numbers: &[&str], swept: bool) -> Table {
    let texts = swept.then_some("point").into_iter().chain(texts.iter().copied()).map(Column::text);
    let numbers = numbers.iter().map(|name| Column::number(*name, ""));
    let difference = Column::number("difference", "percent");
    Table::new(id, title, texts.chain(numbers).chain([difference]).collect()).about(about)
}

/// A row of it: texts, values, and how far the simulated value is from the closed form.
fn row<const N: usize>(
    point: Option<&str>,
    texts: &[&str],
    (simulated, theory): (Option<f64>, Option<f64>),
    values: [Option<f64>; N],
) -> Vec<Cell> {
    let difference = simulated.zip(theory).map(|(simulated, theory)| (simulated / theory - 1.0) * 100.0);
    let texts = point.into_iter().chain(texts.iter().copied()).map(Cell::from);
    texts.chain(values.into_iter().chain([difference]).map(Cell::from)).collect()
}

fn against_closed_forms(views: &[View<'_>], swept: bool) -> Table {
    let about =
        "Means over replicates with their 95 % intervals. The difference is relative to the closed form.";
    let heading = ["closed_forms", "Simulation and closed forms", about];
    let mut table = table(heading, &["measure", "unit"], &["simulated", "low", "high", "closed_form"], swept);
    for view in views {
        let point = swept.then_some(&*view.label);
        for Shown { name, unit, theory, .. } in view.measures() {
            let mean = view.mean(&name);
            let rare = of_waits(&name) && view.rare_waits().is_some();
            let range = mean.and_then(|mean| mean.range).filter(|_| !rare);
            let mean = mean.map(|mean| mean.mean);
            let values = [mean, range.map(|(low, _)| low), range.map(|(_, high)| high), theory];
            table.push(row(point, &[&name, unit], (mean, theory), values));
        }
    }
    table
}

fn by_station(views: &[View<'_>], swept: bool) -> Table {
    let about = "All replicates together. Quantiles are within 0.4 % of the value that was simulated.";
    let heading = ["stations", "Results of each station", about];
    let mut table = table(heading, &["station", "measure", "unit"], &["simulated", "closed_form"], swept);
    for view in views {
        let point = swept.then_some(&*view.label);
        for (name, theory, seen) in view.stations() {
            let response = |q: f64| seen.responses.quantile(q).map(|estimate| estimate.value / 1e9);
            let mean = seen.responses.mean().map(|ns| ns / 1e9);
            let p99 = theory.law_of_times.map(|law| law.response_quantile(0.99));
            let arrivals = seen.responses.count() as f64 / view.seconds;
            for (measure, unit, values) in [
                ("Arrival rate", "jobs/s", [Some(arrivals), Some(theory.load.arrival_rate)]),
                ("Utilisation", "fraction", [seen.utilisation(), theory.load.utilisation()].map(Some)),
                ("Jobs, mean", "jobs", [Some(seen.number_mean()), theory.number_mean()]),
                ("Mean response", "s", [mean, theory.response_mean()]),
                ("Response, 99th percentile", "s", [response(0.99), p99]),
            ] {
                table.push(row(point, &[name, measure, unit], values.into(), values));
            }
        }
    }
    table
}

/// The tolerance for a measure and the source of its formula.
fn judged(measure: &str, station: String) -> Option<(Tolerance, String)> {
    match measure {
        // The two sides differ only by jobs present at the two ends of the span, by less than the noise that
        // an interval would show.
        "little_ratio" => Some((Tolerance::Relative { fraction: 0.01 }, "Little 1961".to_owned())),
        "jobs_measured" => None,
        _ => Some((Tolerance::Interval, station)),
    }
}

/// For a sweep, only the most important claims; all of them would fill pages.
const CLAIMED_IN_SWEEPS: [&str; 2] = ["number_mean", "wait_mean"];

/// Claims that compare published theory with our values. A single replicate has no interval to judge by, and
/// a stopped run is no evidence.
fn claims(view: &View<'_>, swept_at: Option<usize>) -> Vec<Claim> {
    let outcomes = view.point.result.outcomes;
    if outcomes.len() < 2 || outcomes.iter().any(|outcome| outcome.partial) {
        return Vec::new();
    }
    let station = view.theory.source();
    let claim = |measure: Shown| {
        let short = measure.name.split('[').next().unwrap_or_default();
        if swept_at.is_some() && !CLAIMED_IN_SWEEPS.contains(&short) {
            return None;
        }
        let (tolerance, source) = judged(&measure.name, station.clone())?;
        let (theory, mean) = (measure.theory?, view.mean(&measure.name)?);
        let (low, high) = mean.range?;
        let rare = view.rare_waits().filter(|_| of_waits(&measure.name));
        let wide = view.is_wide(&measure);
        let heavy = view.is_heavy(&measure.name);
        let at = if view.label.is_empty() { String::new() } else { format!(" with {}", view.label) };
        let mut claim = ClaimDraft {
            name: swept_at.map_or_else(|| measure.name.clone(), |at| format!("{}_{at}", measure.name)),
            source,
            statement: format!("{}{at}", measure.about),
            unit: measure.unit.to_owned(),
            published: Reading::of(theory),
            // A range over replicates of which few or none saw a wait says nothing, nor does a wide one.
            ours: match rare {
                None if !wide && !heavy => Reading::with_range(mean.mean, low, high),
                _ => Reading::of(mean.mean),
            },
            tolerance,
            fitted: false,
            note: rare
                .map(too_rare)
                .or_else(|| heavy.then(|| TOO_HEAVY.to_owned()))
                .or_else(|| wide.then(|| too_wide((low, high), measure.unit))),
        }
        .judge();
        if claim.verdict == Verdict::Misses {
            let count = mean.count;
            claim.note = Some(format!(
                "mean of {count} seeds; on average, one of twenty true claims misses its 95 % range by chance"
            ));
        }
        Some(claim)
    };
    view.measures().into_iter().filter_map(claim).collect()
}

const TOO_HEAVY: &str = "a few long services decide this mean, whose variance is infinite: a 95 % interval does not \
                         hold it in 95 of 100 runs";

fn too_wide((low, high): (f64, f64), unit: &str) -> String {
    format!(
        "the 95 % interval is {}, with an end more than {:.0} % from the closed form: too wide to judge by; a longer `span` or \
         more replicates make it narrower",
        human::range(low, high, unit),
        APART_MOST * 100.0
    )
}

/// Whether a measure is a mean over visits most of which may not wait.
fn of_waits(measure: &str) -> bool {
    ["waiting_mean", "wait_share", "wait_mean"].contains(&measure) || measure.starts_with("wait_mean[")
}

fn too_rare(rare: RareWaits) -> String {
    let RareWaits { visits, seen, expected } = rare;
    let (seen, visited) = (human::digits(seen as f64), human::digits(visits as f64));
    let Some((chance, enough)) = expected else {
        return format!(
            "{seen} of {visited} visits waited: too few to judge by; a longer `span` or more replicates have more"
        );
    };
    format!(
        "{seen} of {visited} visits waited, and theory expects {}: too few to judge by; it takes {} visits or more, by a longer \
         `span` or more replicates",
        human::digits(visits as f64 * chance),
        human::digits(enough)
    )
}

/// A warm-up of fewer relaxation times than this leaves a trace of the empty start (e^-5 is under 1 %).
const WARM_UP_LEAST: f64 = 5.0;
/// A span of fewer relaxation times than this has too few independent stretches for a mean.
const SPAN_LEAST: f64 = 100.0;

fn warnings(views: &[View<'_>]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for view in views {
        warnings.extend(of_tail(view));
        let relaxation = view.theory.relaxation();
        let at = view.at();
        let times = [
            ("warm_up", view.point.scenario.warm_up, WARM_UP_LEAST, "the empty start still biases the means"),
            ("span", view.point.scenario.span, SPAN_LEAST, "the mean of a single replicate is uncertain"),
        ];
        for (key, span, least, effect) in times {
            let count = span.as_secs_f64() / relaxation;
            if count < least {
                let enough = rounded_span(least * relaxation).map(|enough| enough.to_string());
                let enough =
                    enough.unwrap_or_else(|| format!("more than the {LONGEST} that can be simulated"));
                warnings.push(Warning::unknown(format!(
                    "`{key}` is {span}{at}, only {count:.1} relaxation times of the slowest station, so {effect}; \
                     {least:.0} of them are {enough}"
                )));
            }
        }
    }
    warnings
}

/// What service times without a variance do to the means of a run.
fn of_tail(view: &View<'_>) -> Option<Warning> {
    let at = view.at();
    match view.theory.tail() {
        Tail::Light => None,
        Tail::Waits => Some(Warning::unknown(format!(
            "a Pareto shape of at most 3{at} can give waits an infinite variance: a few long services decide their mean, and \
             intervals of waits and numbers of jobs are too narrow"
        ))),
        Tail::Times => Some(Warning::unknown(format!(
            "a Pareto shape of at most 2{at} gives service times an infinite variance: at one server the mean wait is infinite, \
             and the longer the run, the longer the mean that it shows"
        ))),
    }
}
