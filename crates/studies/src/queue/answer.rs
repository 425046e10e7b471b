//! The answer: how long jobs wait, and whether theory agrees.

use towtank_metrics::{Better, Chance};
use towtank_report::{Answer, Label, human};

use super::view::{RareWaits, View, up_to_two_digits};
use towtank_study::ranking::{Ranked, by_replicate};

/// The answer of a scenario; empty where a value for it is missing.
pub(crate) fn of_point(view: &View<'_>) -> Answer {
    let single = view.theory.stations.len() == 1;
    let measure = if single { "wait_mean" } else { "sojourn_mean" };
    let Some(mean) = view.mean(measure) else { return Answer::default() };
    let does = if single { "waits" } else { "takes" };
    let sure = match mean.range {
        Some((low, high)) => format!(" (95 % interval {})", human::range(low, high, "s")),
        None => " in this one replicate".to_owned(),
    };
    let shown = human::Shown::fitting(mean.mean, "s");
    if let Some(rare) = view.rare_waits().filter(|_| single) {
        return Answer::of_sentences(of_rare_waits(view, rare, mean.mean));
    }
    let ours = shown.quantity(mean.mean);
    let row = view.measure(measure);
    let formula = match row.as_ref().and_then(|row| row.theory) {
        Some(formula) => format!(", where theory says {}", shown.quantity(formula)),
        None => ", for which there is no closed form".to_owned(),
    };
    let wide = row.is_some_and(|row| view.is_wide(&row));
    let doubt = match (wide, view.is_heavy(measure)) {
        (_, true) => ", though a few long services decide such a mean, and the interval does not hold it",
        (true, false) => ", though the interval is too wide to tell whether that is right",
        (false, false) => "",
    };
    let (busiest, load) = busiest(view);
    let load = human::digits(load * 100.0);
    let place = if single {
        format!("its servers are busy {load} % of the time")
    } else {
        format!("the busiest station is {busiest}, at {load} %")
    };
    let mut answer = Answer::of(format!("A job {does} {ours} on average{sure}{formula}{doubt}."));
    answer.push(Label::Limit, place);
    if let Some(classes) = of_classes(view) {
        answer.push(Label::Also, classes);
    }
    answer.comparing("closed_forms")
}

/// What the classes wait, each with its closed form; none where all jobs are alike.
fn of_classes(view: &View<'_>) -> Option<String> {
    let classes = view.point.scenario.classes.iter().filter_map(|class| {
        let measure = format!("wait_mean[{}]", class.name);
        let mean = view.mean(&measure)?.mean;
        let shown = human::Shown::fitting(mean, "s");
        let theory = view.measure(&measure)?.theory;
        let theory = theory.map(|theory| format!(" (theory {})", shown.quantity(theory)));
        Some(format!("{} {}{}", class.name, human::quantity(mean, "s"), theory.unwrap_or_default()))
    });
    let classes: Vec<String> = classes.collect();
    (!classes.is_empty()).then(|| format!("by class, a visit waits {}", classes.join("; ")))
}

/// The answer for a station at which waits are so rare that the run says nothing about their mean.
fn of_rare_waits(view: &View<'_>, rare: RareWaits, mean: f64) -> Vec<String> {
    let RareWaits { visits, seen, expected } = rare;
    let count = human::digits;
    let of_all = human::quantity(mean, "s");
    let waited = match (count(seen as f64), count(visits as f64)) {
        (_, visits) if seen == 0 => format!("None of {visits} jobs waited"),
        (seen, visits) => format!("{seen} of {visits} jobs waited, and the mean wait of all is {of_all}"),
    };
    let busy = format!("the servers are busy {} % of the time", count(busiest(view).1 * 100.0));
    let more = "a longer `span` or more replicates";
    let Some(((chance, enough), wait)) = expected.zip(view.theory.wait_mean()) else {
        let few = format!("these are too few waits to tell their mean: take {more}");
        return vec![format!("{waited}, and there is no closed form."), few, busy];
    };
    let (share, mean) = (count(up_to_two_digits(1.0 / chance)), human::quantity(wait, "s"));
    let needed = count(enough);
    vec![
        format!("{waited}, where theory says that one in {share} waits, and the mean is {mean}."),
        format!("the run cannot tell whether that is right: it takes {needed} jobs or more, by {more}"),
        busy,
    ]
}

/// The answer of a sweep: where the wait is shortest and where it is longest, of all jobs and of each class.
pub(crate) fn of_sweep(views: &[View<'_>]) -> Answer {
    let mut sentences = vec![compared(views, "wait_mean", "The mean wait of a visit")];
    // A class counts if all points have it.
    let has = |view: &View<'_>, name: &str| view.point.scenario.classes.iter().any(|one| one.name == name);
    for class in views.iter().take(1).flat_map(|first| &first.point.scenario.classes) {
        if views.iter().all(|view| has(view, &class.name)) {
            let measure = format!("wait_mean[{}]", class.name);
            sentences.push(compared(views, &measure, &format!("That of {}", class.name)));
        }
    }
    let measures = ["wait_mean", "wait_p99", "utilisation"];
    Answer::of_sentences(sentences.into_iter().flatten()).by_measures(measures)
}

/// Where a measure is shortest and longest, as far as the replicates tell.
fn compared(views: &[View<'_>], measure: &str, what: &str) -> Option<String> {
    let sample = |view: &View<'_>| (view.point.said(), by_replicate(view.point.result, measure));
    let waits = Ranked::of(views.iter().map(sample).collect(), Better::Lower, Chance::Seeds);
    let ends = waits.ends().filter(|_| waits.ranking().order.len() > 1)?;
    Some(if waits.is_tied() {
        format!("{what} is {} at all points: {}.", waits.range("s"), waits.why_tied())
    } else {
        let [least, most] = human::alike(ends, "s");
        format!("{what} lies between {least} with {} and {most} with {}.", waits.best(), waits.worst())
    })
}

/// The station with the highest utilisation, as simulated, and its utilisation.
fn busiest<'a>(view: &'a View<'_>) -> (&'a str, f64) {
    let loads = view.stations().map(|(name, _, observed)| (name, observed.utilisation()));
    loads.max_by(|(_, left), (_, right)| left.total_cmp(right)).expect("a scenario has a station")
}
