//! The answer and the tables of a backfill: one row per point and discovery.

use std::cmp::Ordering;

use towtank_metrics::{Better, Chance};
use towtank_report::{Answer, Cell, Column, Standing, Status, Step, Table, Warning, human};

use super::Backfill;
use super::figures;
use super::observed::{Run, prefix};
use super::published;
use super::view::View;
use crate::published::is_published;
use towtank_study::ranking::Ranked;
use towtank_study::{Points, Presentation};

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Backfill>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let Some(first) = views.first() else { return Presentation::default() };
    let as_published = |view: &&View<'_>| is_published(&Backfill, view.point.result.scenario, &["discovery"]);
    let published: Vec<&View<'_>> = views.iter().filter(as_published).collect();
    let claims = published::claims(&published);
    let figures = figures::all(&views, points.swept);
    let said = Answer::of_sentences(if points.swept { answer_of_sweep(&views) } else { answer(first) });
    Presentation {
        headline: headline(points, &views),
        main_figure: figures.first().map(|figure| figure.id.clone()),
        answer: Answer { course: if points.swept { Vec::new() } else { course(first) }, ..said }
            .with_verdict(Some(status(&views)))
            .comparing("discoveries"),
        tables: vec![discoveries(&views, points.swept)],
        figures,
        claims,
        warnings: warnings(&views),
    }
}

/// The discoveries of a point by the times of their backfills.
fn by_time(view: &View<'_>) -> Ranked {
    let time = |method: &'static str| (method.to_owned(), view.by_replicate(method, "backfill_s"));
    Ranked::of(view.methods().into_iter().map(time).collect(), Better::Lower, Chance::Seeds)
}

/// The time of the discovery whose backfills are the shortest at the first point; of the first of those that
/// are tied.
fn headline(points: &Points<'_, Backfill>, views: &[View<'_>]) -> Option<String> {
    let view = views.first()?;
    let methods = view.methods();
    let ranked = by_time(view);
    let first = ranked.ranking().best.iter().min().map_or(0, |best| *best);
    let best = if methods.len() > 1 { prefix(methods.get(first)?) } else { String::new() };
    let names = ["backfill_s", "clean_s"].map(|measure| format!("{best}{measure}"));
    points.first_measure(names.iter().map(String::as_str))
}

/// Whether all groups become clean.
fn status(views: &[View<'_>]) -> Standing {
    let sentences = views.iter().flat_map(unsafe_at);
    let standings = sentences.map(|sentence| Standing::new(Status::NotSafe, sentence.trim_end_matches('.')));
    Standing::worst(standings.map(|one| (String::new(), one)))
        .unwrap_or_else(|| Standing::new(Status::Safe, "all groups become clean in every replicate"))
}

/// What does not become safe at a point, for each discovery.
fn unsafe_at(view: &View<'_>) -> Vec<String> {
    let sentence = |method: &'static str| {
        let runs = || view.runs(method);
        let unclean: u64 = runs().map(|run| run.groups.1).max().unwrap_or(0);
        let unfinished: u64 = runs().map(|run| run.backfills.1).max().unwrap_or(0);
        let place = if view.label.is_empty() { String::new() } else { format!(" and {}", view.label) };
        (unclean > 0 || unfinished > 0).then(|| {
            format!(
                "With {method}{place}, {unclean} groups do not become clean and {unfinished} backfills do not end."
            )
        })
    };
    view.methods().into_iter().filter_map(sentence).collect()
}

/// The time of each discovery, the shortest first; in their own order where the discoveries are tied.
fn answer(view: &View<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let ranked = by_time(view);
    let (methods, ranking) = (view.methods(), ranked.ranking());
    let times: Vec<(f64, &str)> = ranking
        .order
        .iter()
        .filter_map(|at| Some((view.mean(methods[*at], "backfill_s")?, methods[*at])))
        .collect();
    let Some(&(least, best)) = times.first() else {
        sentences.push(without_time(view));
        return sentences;
    };
    let shown = human::Shown::fitting(least, "s");
    let stale = view.mean(best, "objects_stale").map_or_else(String::new, |count| {
        let all = f64::from(view.scenario.objects_per_group)
            * view.runs(best).map(|run| run.backfills.0).max().unwrap_or(1).max(1) as f64;
        format!(" for {} stale objects of {}", human::digits(count), human::digits(all))
    });
    if ranked.is_tied() {
        let mut own = times.clone();
        own.sort_by_key(|(_, method)| methods.iter().position(|own| own == method));
        let own: Vec<String> =
            own.iter().map(|(time, method)| format!("{} with {method}", shown.quantity(*time))).collect();
        sentences.push(format!("The backfill{stale} takes {}: {}.", own.join(", "), ranked.why_tied()));
        return sentences;
    }
    let slower = times.iter().filter(|(_, method)| !ranking.best.iter().any(|at| methods[*at] == *method));
    let others: Vec<String> =
        slower.map(|(time, method)| format!("{method} {}", shown.quantity(*time))).collect();
    let with = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    let range = if ranking.best.len() > 1 { ranked.range_of_best("s") } else { shown.quantity(least) };
    sentences.push(format!("The backfill takes {range} with {}{stale}{with}.", ranked.best()));
    sentences
}

/// The time of something that happens in a run, if it does.
type TimeOf = fn(&Run) -> Option<f64>;

/// What happens when. With several discoveries each has its own course, so none is given; nor is there one
/// where not all groups become clean.
fn course(view: &View<'_>) -> Vec<Step> {
    let [method] = view.methods()[..] else { return Vec::new() };
    let one = view.runs(method).all(|run| run.backfills.0 == 1);
    let [begins, knows, ends] = if one {
        ["the backfill begins", "it is known what to look at", "the backfill ends"]
    } else {
        ["the first backfill begins", "every backfill knows what to look at", "the last backfill ends"]
    };
    let steps: [(&str, TimeOf); 5] = [
        (begins, |run| run.course.begun_s),
        (knows, |run| run.course.discovered_s),
        ("log recovery ends", |run| run.course.log_ended_s),
        (ends, |run| run.course.ended_s),
        ("all groups are clean", |run| run.clean_s),
    ];
    let of = |step: TimeOf| view.runs(method).filter_map(step).collect::<Vec<f64>>();
    let runs = view.runs(method).count();
    if runs == 0 || of(|run| run.clean_s).len() < runs {
        return Vec::new();
    }
    let known = steps.into_iter().filter_map(|(what, step)| Step::over(&of(step), what));
    let mut course: Vec<Step> = known.collect();
    course.sort_by(|one, next| one.at_s.get().partial_cmp(&next.at_s.get()).unwrap_or(Ordering::Equal));
    let back = match view.scenario.down {
        1 => "the device is back".to_owned(),
        down => format!("{down} devices are back"),
    };
    course.insert(0, Step::at(0.0, back));
    // What happens at one time on the clock is one step.
    course.into_iter().fold(Vec::new(), |mut joined: Vec<Step>, step| {
        match joined.last_mut() {
            Some(before) if before.when() == step.when() => {
                *before = Step { what: format!("{}, {}", before.what, step.what), ..step };
            }
            _ => joined.push(step),
        }
        joined
    })
}

/// What is said where no discovery has a time.
fn without_time(view: &View<'_>) -> String {
    let by_log = view.methods().first().and_then(|method| view.mean(method, "objects_recovered_by_log"));
    match by_log {
        Some(count) if count > 0.0 => {
            format!("No backfill is needed: log recovery copies {} objects.", human::digits(count))
        }
        Some(_) if no_backfill(view) => {
            "No backfill is needed: the log covers the outage, and no object changed in it.".to_owned()
        }
        _ => "The time of a backfill is not known.".to_owned(),
    }
}

/// Whether no run of any discovery began a backfill.
fn no_backfill(view: &View<'_>) -> bool {
    view.methods().into_iter().flat_map(|method| view.runs(method)).all(|run| run.backfills.0 == 0)
}

fn answer_of_sweep(views: &[View<'_>]) -> Vec<String> {
    let of = |view: &View<'_>| -> Vec<(String, Vec<Option<f64>>)> {
        let methods = view.methods().into_iter().filter(|method| *method != "scan");
        let candidate = |method: &'static str| {
            (format!("{method} with {}", view.point.said()), view.by_replicate(method, "share_of_scan"))
        };
        methods.map(candidate).collect()
    };
    let ranked = Ranked::of(views.iter().flat_map(of).collect(), Better::Lower, Chance::Seeds);
    vec![match ranked.ends() {
        Some(_) if ranked.is_tied() => format!(
            "The discoveries and points take {} of a scan's time: {}.",
            ranked.range("share"),
            ranked.why_tied()
        ),
        Some(_) if ranked.ranking().order.len() > 1 => format!(
            "Fastest is {}: {} of a scan's time; slowest is {}: {}.",
            ranked.best(),
            ranked.range_of_best("share"),
            ranked.worst(),
            ranked.range_of_worst("share")
        ),
        _ => "The table has the time of each discovery.".to_owned(),
    }]
}

const MEASURES: [(&str, &str); 8] = [
    ("backfill_s", "s"),
    ("share_of_scan", ""),
    ("discovery_s", "s"),
    ("objects_looked_at", "objects"),
    ("objects_recovered", "objects"),
    ("objects_removed", "objects"),
    ("exchanged_bytes", "bytes"),
    ("memory_bytes_per_device", "bytes"),
];

fn discoveries(views: &[View<'_>], swept: bool) -> Table {
    let mut columns = if swept { vec![Column::text("point")] } else { Vec::new() };
    columns.push(Column::text("discovery"));
    columns.extend(MEASURES.map(|(name, unit)| Column::number(name, unit)));
    let about = "Means over the replicates. objects_looked_at: objects whose versions were compared, on the side that compared more";
    let mut table = Table::new("discoveries", "Cost of each discovery", columns).about(about);
    for view in views {
        for method in view.methods() {
            let mut row = if swept { vec![Cell::from(view.label.clone())] } else { Vec::new() };
            row.push(Cell::from(method));
            row.extend(MEASURES.map(|(name, _)| Cell::from(view.mean(method, name))));
            table.push(row);
        }
    }
    table
}

fn warnings(views: &[View<'_>]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for view in views {
        for method in view.methods() {
            let fell_back = view.runs(method).map(|run| run.fell_back).max().unwrap_or(0);
            if fell_back > 0 {
                let place = if view.label.is_empty() { String::new() } else { format!(" ({})", view.label) };
                let backfills =
                    if fell_back == 1 { "1 backfill".to_owned() } else { format!("{fell_back} backfills") };
                warnings.push(Warning::note(format!(
                    "{method}{place}: {backfills} fell back to levels of the tree or to a scan: more objects differed than \
                     `sketch_cells` can hold, or no replica kept what was needed"
                )));
            }
        }
        if view.scenario.cached_objects > 0 && view.scenario.objects_per_group <= view.scenario.cached_objects
        {
            warnings.push(Warning::note(format!(
                "comparing objects is free: `objects_per_group` {} is at most `cached_objects` {}, which is a hypothesis",
                view.scenario.objects_per_group, view.scenario.cached_objects
            )));
        }
    }
    warnings.dedup();
    warnings
}
