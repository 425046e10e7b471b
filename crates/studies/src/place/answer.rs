//! The answer in words, and its warnings.
//!
//! Algorithms are compared by paired intervals over the replicates ([`Ranked`]): one name stands alone only
//! where it differs from all others. Evenness and movement are compared each by itself, and the most even one
//! is not named without what it moves.

use towtank_metrics::{Better, Chance};
use towtank_placement::algorithms::guarantees::Balance;
use towtank_report::{Answer, Warning, human};

use super::view::View;
use towtank_study::ranking::{Ranked, by_replicate};

/// The answer to the question of the study.
pub(super) fn answer(views: &[View<'_>]) -> Answer {
    match views {
        [one] => Answer::of(of_one(one).unwrap_or_default()),
        all => {
            let sentences = [evenness(all), unplaced(all), movement(all), draws(all), one_run(all)];
            let measures = ["load_deviation", "moved_over_minimum"];
            let answer = Answer::of_sentences(sentences.into_iter().flatten());
            answer.comparing("placements").by_measures(measures)
        }
    }
}

fn percent(value: f64) -> String {
    human::digits(100.0 * value)
}

/// A range of values: `3.19 to 7.05`, or one of them where both look the same.
fn range(values: impl Iterator<Item = f64>, factor: f64) -> Option<String> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let [low, high] = [values.first()?, values.last()?].map(|value| human::digits(factor * value));
    Some(if low == high { low } else { format!("{low} to {high}") })
}

fn of_one(view: &View<'_>) -> Option<String> {
    let moves = match view.value("moved_over_minimum") {
        Some(times) => format!("moves {} times what the weights require", human::digits(times)),
        None => format!(
            "moves {} % of the copies, where none need to move",
            percent(view.value("moved_fraction")?)
        ),
    };
    let lost = view.value("unplaced_fraction").filter(|share| *share > 0.0);
    let begins = match lost {
        Some(share) => {
            format!(
                "{} % of the copies have no server; of the others, the standard deviation",
                percent(share)
            )
        }
        None => "the standard deviation".to_owned(),
    };
    Some(format!(
        "{}: {begins} of load is {} % of the expected load ({} % with independent draws), and the change {moves}.",
        view.label,
        percent(view.value("load_deviation")?),
        percent(view.value("load_deviation_binomial")?),
    ))
}

/// The next step where a single run of each is compared.
fn one_run(views: &[View<'_>]) -> Option<String> {
    let single = views.iter().all(|view| view.point.result.outcomes.len() == 1);
    single.then(|| "To compare them, set `replicates` to 5 or more.".to_owned())
}

/// The placements that give up copies, by name.
fn unplaced(views: &[View<'_>]) -> Option<String> {
    let lost = |view: &View<'_>| view.value("unplaced_fraction").filter(|share| *share > 0.0);
    let losing: Vec<String> = views
        .iter()
        .filter_map(|view| Some(format!("{} ({} %)", view.label, percent(lost(view)?))))
        .collect();
    (!losing.is_empty()).then(|| format!("Copies without a server: {}.", losing.join(", ")))
}

fn ranked(views: &[View<'_>], measure: &str) -> Ranked {
    let candidate = |view: &View<'_>| (view.label.clone(), by_replicate(view.point.result, measure));
    Ranked::of(views.iter().map(candidate).collect(), Better::Lower, Chance::Seeds)
}

fn evenness(views: &[View<'_>]) -> Option<String> {
    let ranked = ranked(views, "load_deviation");
    let of = |indices: &[usize], measure: &str, factor: f64| {
        range(indices.iter().filter_map(|index| views[*index].value(measure)), factor)
    };
    let all = ranked.ranking().order.as_slice();
    if ranked.is_tied() {
        return Some(format!(
            "No placement is found to be more even than the others ({}): loads deviate by {} %.",
            ranked.why_tied(),
            of(all, "load_deviation", 100.0)?,
        ));
    }
    let (best, worst) = (ranked.ranking().best.as_slice(), ranked.ranking().worst.as_slice());
    Some(format!(
        "Most even: {}: loads deviate by {} %, and the change moves {}; least even: {}, {} %.",
        ranked.best(),
        of(best, "load_deviation", 100.0)?,
        moved(views, best)?,
        ranked.worst(),
        of(worst, "load_deviation", 100.0)?,
    ))
}

/// What a load would deviate if each copy were drawn by itself.
fn draws(views: &[View<'_>]) -> Option<String> {
    let independent = range(views.iter().filter_map(|view| view.value("load_deviation_binomial")), 100.0)?;
    Some(format!(
        "Loads deviate by their standard deviation, in percent of the expected load; with independent draws by {independent} %."
    ))
}

/// What the change moves with some placements: `1 to 61 times what the weights require`.
fn moved(views: &[View<'_>], indices: &[usize]) -> Option<String> {
    let values =
        |measure: &str| indices.iter().filter_map(|index| views[*index].value(measure)).collect::<Vec<_>>();
    let times = values("moved_over_minimum");
    if times.len() == indices.len() {
        return Some(format!("{} times what the weights require", range(times.into_iter(), 1.0)?));
    }
    Some(format!("{} % of the copies", range(values("moved_fraction").into_iter(), 100.0)?))
}

fn movement(views: &[View<'_>]) -> Option<String> {
    let has_minimum = views.iter().all(|view| view.value("moved_over_minimum").is_some());
    let ranked = ranked(views, if has_minimum { "moved_over_minimum" } else { "moved_fraction" });
    let ranking = ranked.ranking();
    if ranked.is_tied() {
        let moves = moved(views, &ranking.order)?;
        return Some(match ranking.order.len() {
            0 | 1 => format!("The change moves {moves}."),
            _ => format!("The change moves {moves} ({}).", ranked.why_tied()),
        });
    }
    Some(format!(
        "The change moves least with {}: {}; most with {}: {}.",
        ranked.best(),
        moved(views, &ranking.best)?,
        ranked.worst(),
        moved(views, &ranking.worst)?,
    ))
}

/// What must be known before the numbers are read.
pub(super) fn warnings(views: &[View<'_>]) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = views.iter().filter_map(given_up).collect();
    warnings.extend(views.iter().filter_map(idle));
    warnings
}

/// Copies that an algorithm gives up before the change, after it, or when a server fails.
fn given_up(view: &View<'_>) -> Option<Warning> {
    let [before, after] = [view.value("unplaced_fraction")?, view.value("unplaced_after_fraction")?];
    let unrebuilt = view.value("unrebuilt")?;
    if before <= 0.0 && after <= 0.0 && unrebuilt <= 0.0 {
        return None;
    }
    let scenario = &view.point.scenario;
    let why = if scenario.algorithm.bucket().is_some() {
        "CRUSH gives a copy up when its tries are used up, each of which finds a server that has one"
    } else {
        "too few servers can take them"
    };
    Some(Warning::danger(format!(
        "{}: {} % of the copies have no server, {} % after the change, and {} copies of the failed server are not \
         rebuilt ({why}); loads and movement are those of the copies that exist. Use more servers, fewer replicas or \
         weights that differ less",
        view.label,
        percent(before),
        percent(after),
        human::digits(unrebuilt),
    )))
}

/// Servers that hold nothing because they fill no group.
fn idle(view: &View<'_>) -> Option<Warning> {
    let Balance::WithinGroups { members, idle } = view.placement()?.guarantees().balance else { return None };
    (idle > 0).then(|| {
        Warning::note(format!(
            "{}: {idle} of {} servers are in no group and hold nothing, since groups have {members} servers; use a \
             multiple of {members}",
            view.label, view.point.scenario.servers,
        ))
    })
}
