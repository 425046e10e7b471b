//! The answer and the tables of a backfill: one row per point and discovery.

use towtank_report::{Cell, Column, Status, Table, Warning, human};

use super::Backfill;
use super::figures;
use super::observed::prefix;
use super::published;
use super::view::View;
use crate::published::is_published;
use crate::{Points, Presentation};

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Backfill>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let Some(first) = views.first() else { return Presentation::default() };
    let as_published = |view: &&View<'_>| is_published(&Backfill, view.point.result.scenario, &["discovery"]);
    let published: Vec<&View<'_>> = views.iter().filter(as_published).collect();
    let claims = published::claims(&published);
    let figures = figures::all(&views, points.swept);
    let status =
        if views.iter().all(|view| unsafe_at(view).is_empty()) { Status::Safe } else { Status::NotSafe };
    Presentation {
        headline: headline(points, &views),
        status: Some(status),
        main_figure: figures.first().map(|figure| figure.id.clone()),
        answer: if points.swept { answer_of_sweep(&views) } else { answer(first) },
        tables: vec![discoveries(&views, points.swept)],
        figures,
        claims,
        warnings: warnings(&views),
    }
}

/// The time of the discovery whose backfills are the shortest at the first point.
fn headline(points: &Points<'_, Backfill>, views: &[View<'_>]) -> Option<String> {
    let view = views.first()?;
    let mut methods = view.methods();
    methods.sort_by(|left, right| {
        let time = |method| view.mean(method, "backfill_s").unwrap_or(f64::INFINITY);
        time(left).total_cmp(&time(right))
    });
    let best = if methods.len() > 1 { prefix(methods.first()?) } else { String::new() };
    let names = ["backfill_s", "clean_s"].map(|measure| format!("{best}{measure}"));
    points.first_measure(names.iter().map(String::as_str))
}

/// What does not become safe at a point, for each discovery.
fn unsafe_at(view: &View<'_>) -> Vec<String> {
    let told = |method: &'static str| {
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
    view.methods().into_iter().filter_map(told).collect()
}

/// The answer: first what is unsafe or unknown, then the time of each discovery, the shortest first.
fn answer(view: &View<'_>) -> String {
    let mut told = unsafe_at(view);
    let mut times: Vec<(f64, &str)> = view
        .methods()
        .into_iter()
        .filter_map(|method| Some((view.mean(method, "backfill_s")?, method)))
        .collect();
    times.sort_by(|left, right| left.0.total_cmp(&right.0));
    let Some(&(least, best)) = times.first() else {
        let by_log = view.methods().first().and_then(|method| view.mean(method, "objects_recovered_by_log"));
        told.push(match by_log {
            Some(count) if count > 0.0 => {
                format!("No backfill is needed: log recovery copies {} objects.", human::digits(count))
            }
            Some(_) if no_backfill(view) => {
                "No backfill is needed: the log covers the outage, and no object changed in it.".to_owned()
            }
            _ => "The time of a backfill is not known.".to_owned(),
        });
        return told.join(" ");
    };
    let shown = human::Shown::fitting(least, "s");
    let others: Vec<String> =
        times[1..].iter().map(|(time, method)| format!("{method} {}", shown.quantity(*time))).collect();
    let stale = view.mean(best, "objects_stale").map_or_else(String::new, |count| {
        let all = f64::from(view.scenario.objects_per_group)
            * view.runs(best).map(|run| run.backfills.0).max().unwrap_or(1).max(1) as f64;
        format!(" for {} stale objects of {}", human::digits(count), human::digits(all))
    });
    let with = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    told.push(format!("The backfill takes {} with {best}{stale}{with}.", shown.quantity(least)));
    told.join(" ")
}

/// Whether no run of any discovery began a backfill.
fn no_backfill(view: &View<'_>) -> bool {
    view.methods().into_iter().flat_map(|method| view.runs(method)).all(|run| run.backfills.0 == 0)
}

fn answer_of_sweep(views: &[View<'_>]) -> String {
    let mut shares: Vec<(f64, &str, &str)> = Vec::new();
    for view in views {
        for method in view.methods().into_iter().filter(|method| *method != "scan") {
            if let Some(share) = view.mean(method, "share_of_scan") {
                shares.push((share, method, &view.label));
            }
        }
    }
    shares.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut told: Vec<String> = views.iter().flat_map(unsafe_at).collect();
    told.push(match (shares.first(), shares.last()) {
        (Some(best), Some(worst)) => format!(
            "Fastest is {} with {}: {:.0} % of a scan's time; slowest is {} with {}: {:.0} %.",
            best.1,
            best.2,
            100.0 * best.0,
            worst.1,
            worst.2,
            100.0 * worst.0
        ),
        _ => "The table has the time of each discovery.".to_owned(),
    });
    told.join(" ")
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
