//! The one sentence at the head of the report: how long jobs wait, and whether theory agrees.

use towtank_metrics::{Better, Chance};
use towtank_report::human;

use super::observed::ROWS;
use super::view::{RareWaits, View, up_to_two_digits};
use crate::ranking::{Ranked, by_replicate};

/// The answer of a scenario; empty where a value for it is missing.
#[must_use]
pub fn of_point(view: &View<'_>) -> String {
    let single = view.theory.stations.len() == 1;
    let measure = if single { "wait_mean" } else { "sojourn_mean" };
    let Some(mean) = view.mean(measure) else { return String::new() };
    let does = if single { "waits" } else { "takes" };
    let sure = match mean.range {
        Some((low, high)) => format!(" (95 % interval {})", human::range(low, high, "s")),
        None => " in this one replicate".to_owned(),
    };
    let shown = human::Shown::fitting(mean.mean, "s");
    if let Some(rare) = view.rare_waits().filter(|_| single) {
        return of_rare_waits(view, rare, mean.mean);
    }
    let formula =
        formula(view, measure).map(|formula| format!(", where theory says {}", shown.quantity(formula)));
    let ours = shown.quantity(mean.mean);
    let wide = view.is_wide(measure);
    let untold = if wide { ", though the interval is too wide to tell whether that is right" } else { "" };
    let (busiest, load) = busiest(view);
    let load = human::digits(load * 100.0);
    let place = if single {
        format!("; its servers are busy {load} % of the time")
    } else {
        format!("; the busiest station is {busiest}, at {load} %")
    };
    format!("A job {does} {ours} on average{sure}{}{untold}{place}.", formula.unwrap_or_default())
}

/// The answer for a station at which waits are so rare that the run says nothing about their mean.
fn of_rare_waits(view: &View<'_>, rare: RareWaits, mean: f64) -> String {
    let RareWaits { visits, seen, chance, enough } = rare;
    let count = |count: f64| human::digits(count);
    let waited = match seen {
        0 => format!("None of {} jobs waited", count(visits as f64)),
        _ => format!(
            "{} of {} jobs waited, and the mean wait of all is {}",
            count(seen as f64),
            count(visits as f64),
            human::quantity(mean, "s")
        ),
    };
    let theory = formula(view, "wait_mean").map_or_else(String::new, |wait| {
        format!(
            ", where theory says that one in {} waits, and the mean is {}",
            count(up_to_two_digits(1.0 / chance)),
            human::quantity(wait, "s")
        )
    });
    format!(
        "{waited}{theory}. The run cannot tell whether that is right: it takes {} jobs or more, by a longer `span` or more \
         replicates. The servers are busy {} % of the time.",
        count(enough),
        count(busiest(view).1 * 100.0)
    )
}

/// The answer of a sweep: where the wait is shortest and where it is longest.
#[must_use]
pub fn of_sweep(views: &[View<'_>]) -> String {
    let wait = |view: &View<'_>| (view.label.clone(), by_replicate(view.point.result, "wait_mean"));
    let ranked = Ranked::of(views.iter().map(wait).collect(), Better::Lower, Chance::Seeds);
    match ranked.ends() {
        Some(_) if ranked.is_tied() => format!(
            "The mean wait of a visit is {} at all points, tied: {}.",
            ranked.range("s"),
            ranked.why_tied()
        ),
        Some(ends) if ranked.ranking().order.len() > 1 => {
            let [least, most] = human::alike(ends, "s");
            format!(
                "The mean wait of a visit lies between {least} with {} and {most} with {}.",
                ranked.best(),
                ranked.worst()
            )
        }
        _ => String::new(),
    }
}

/// The closed form of a measure.
fn formula(view: &View<'_>, measure: &str) -> Option<f64> {
    let named = ROWS.iter().find(|row| row.name == measure)?;
    (named.theory)(&view.theory)
}

/// The station with the highest utilisation, as simulated, and its utilisation.
fn busiest<'a>(view: &'a View<'_>) -> (&'a str, f64) {
    let loads = view.stations().map(|(name, _, observed)| (name, observed.utilisation()));
    loads.max_by(|(_, left), (_, right)| left.total_cmp(right)).expect("a scenario has a station")
}
