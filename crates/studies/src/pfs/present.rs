//! The answer and the tables of a parallel file system.

use towtank_report::{Answer, Cell, Column, Label, Standing, Status, Table, Warning, human};
use towtank_units::SimSpan;

use super::observed::Run;
use super::scenario::Replays;
use super::view::{DISKS, View};
use super::{Pfs, compared, figures, published};
use crate::published::is_published;
use towtank_study::{Points, Presentation};

/// A part that is busy for at least this share of the time is called the bottleneck.
const BUSY: f64 = 0.9;

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Pfs>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let Some(first) = views.first() else { return Presentation::default() };
    let as_published = |view: &&View<'_>| is_published(&Pfs, view.point.result.scenario, &["alone"]);
    let judged: Vec<&View<'_>> = views.iter().filter(as_published).collect();
    let mut tables = vec![applications(&views, points.swept)];
    tables.push(busy(&views, points.swept));
    tables.push(servers(&views, points.swept));
    let figures = figures::all(&views, points.swept);
    let measures: &[&str] = match first.mean("throughput_bytes_per_s") {
        Some(rate) if rate > 0.0 => &["throughput_bytes_per_s"],
        _ => &["requests_per_s", "throughput_bytes_per_s"],
    };
    let answer = if points.swept { answer_of_sweep(&views) } else { answer(first) };
    Presentation {
        headline: points.first_measure(measures.iter().copied()),
        main_figure: figures.first().map(|figure| figure.id.clone()),
        answer: answer.with_verdict(Standing::worst(views.iter().filter_map(status))),
        tables,
        figures,
        claims: published::claims(&judged),
        warnings: warnings(&views),
    }
}

/// At risk where requests remain undone or come faster than they are done; nothing else is judged.
fn status(view: &View<'_>) -> Option<(String, Standing)> {
    let unfinished = unfinished(view).then(|| "the run ended before all requests were done".to_owned());
    let reason = unfinished.or_else(|| overloads(view).into_iter().next())?;
    Some((view.label.clone(), Standing::new(Status::AtRisk, reason.trim_end_matches('.'))))
}

fn unfinished(view: &View<'_>) -> bool {
    view.runs().any(|run| run.ended.is_none())
}

fn answer(view: &View<'_>) -> Answer {
    let mut finding = match (view.mean("throughput_bytes_per_s"), view.mean("requests_per_s")) {
        (Some(rate), _) if rate > 0.0 => format!("Throughput is {}", human::quantity(rate, "bytes/s")),
        (_, Some(rate)) if rate > 0.0 => format!("Throughput is {}", human::quantity(rate, "requests/s")),
        _ => "No request of the measured phase was completed".to_owned(),
    };
    if let (Some(mean), Some(most)) = (view.mean("latency_mean_s"), view.mean("latency_p99_s")) {
        let [mean, most] = human::alike([mean, most], "s");
        finding += &format!("; a request takes {mean} on average, and 99 % take at most {most}");
    }
    let mut answer = Answer::of(finding + ".");
    if unfinished(view) {
        answer.push(Label::Also, "the run ended before all requests were done");
    }
    for overload in overloads(view) {
        answer.push(Label::Also, overload);
    }
    let names = view.scenario.names();
    if names.len() > 1 {
        let shares: Vec<String> = names
            .iter()
            .filter_map(|name| Some(format!("{name} {:.1} %", 100.0 * view.mean(&format!("share[{name}]"))?)))
            .collect();
        if !shares.is_empty() {
            let shares = shares.join(", ");
            answer.push(Label::Also, format!("shares while all applications have requests: {shares}"));
        }
    }
    let bottleneck = bottleneck(view);
    if !bottleneck.is_empty() {
        answer.push(Label::Limit, bottleneck);
    }
    answer
}

/// What to know first of each application whose requests arrive faster than they are served.
fn overloads(view: &View<'_>) -> Vec<String> {
    let names = view.scenario.names();
    names.iter().enumerate().filter_map(|(number, name)| overload(view, number, name)).collect()
}

fn overload(view: &View<'_>, number: usize, name: &str) -> Option<String> {
    let application = &view.scenario.applications[name];
    let rate = application.arrival_rate.filter(|rate| !rate.is_zero() && application.trace.is_none())?;
    let asked = rate.per_second_f64() * f64::from(application.clients);
    let runs: Vec<(f64, f64, f64)> = view.runs().filter_map(|run| served(run, number)).collect();
    let mean = |of: fn(&(f64, f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let (requests, span, latency) = (mean(|one| one.0), mean(|one| one.1), mean(|one| one.2));
    let served = requests / span;
    // The client with the longest gaps determines the end, and its gaps are random.
    let by_chance = 3.0 / (requests / f64::from(application.clients)).sqrt();
    if runs.is_empty() || served > asked * (1.0 - SHORT_OF - by_chance) || latency < SHORT_OF * span {
        return None;
    }
    let [served_shown, asked_shown] = human::alike([served, asked], "requests/s");
    Some(format!(
        "The arrival rate of `{name}` cannot be served: {served_shown} of {asked_shown}, {} %. The longer requests arrive, the more \
         of them wait: latencies depend on the length of the run.",
        human::digits(100.0 * served / asked)
    ))
}

/// The share of arrivals that must be missing, and the share of the run that a request must take, before a
/// rate counts as one that cannot be served: a free choice.
const SHORT_OF: f64 = 0.05;

/// Requests that an application had done, in how many seconds, and the mean latency of one.
fn served(run: &Run, number: usize) -> Option<(f64, f64, f64)> {
    let one = &run.applications[number];
    let span = if run.ended.is_some() { one.last - run.began } else { run.measured };
    let latency = one.latencies.mean()? / 1e9;
    (span > 0.0).then_some((one.requests as f64, span, latency))
}

/// The part that limits the throughput.
fn bottleneck(view: &View<'_>) -> String {
    // Nobody waits for a disk that only writes back in the background.
    let waits = |run: &Run| run.throttled > 0 || run.pages.1 > 0;
    let disks_count = view.scenario.cache.direct || view.runs().any(waits);
    let mut parts = view.parts();
    parts.retain(|(_, part)| disks_count || *part != DISKS);
    match parts.first() {
        Some((share, part)) if *share >= BUSY => {
            format!("The bottleneck is {part}: busy {:.0} % of the time.", 100.0 * share)
        }
        Some((share, part)) if *share > 0.0 => format!(
            "No part that clients wait for is saturated: the busiest is {part}, {:.0} %. Clients wait for the steps of their \
             requests, for the scheduler, or for a free flow.",
            100.0 * share
        ),
        _ => String::new(),
    }
}

fn answer_of_sweep(views: &[View<'_>]) -> Answer {
    let mut sentences = compared::sentences(views);
    let unfinished = views
        .iter()
        .filter(|view| unfinished(view))
        .map(|view| format!("With {}, the run ended before all requests were done.", view.label));
    sentences.extend(unfinished);
    for view in views {
        sentences.extend(overloads(view).into_iter().map(|words| format!("With {}: {words}", view.label)));
    }
    Answer::of_sentences(sentences).by_measures([
        "throughput_bytes_per_s",
        "requests_per_s",
        "latency_mean_s",
        "latency_p99_s",
        "jain_index",
    ])
}

/// In tables of a sweep, the first column names the point.
fn point_columns(swept: bool) -> Vec<Column> {
    if swept { vec![Column::text("point")] } else { Vec::new() }
}

fn point_cells(view: &View<'_>, swept: bool) -> Vec<Cell> {
    if swept { vec![Cell::from(view.label.clone())] } else { Vec::new() }
}

fn applications(views: &[View<'_>], swept: bool) -> Table {
    let mut columns = point_columns(swept);
    columns.push(Column::text("application"));
    columns.extend([
        Column::number("clients", "clients"),
        Column::number("weight", ""),
        Column::number("share", "fraction"),
        Column::number("share_sd", ""),
        Column::number("throughput", "bytes/s"),
        Column::number("latency_mean", "s"),
        Column::number("latency_p99", "s"),
        Column::number("slowdown", "ratio"),
    ]);
    let about = "Means over the replicates. Shares are of the bytes that servers moved while all applications had requests";
    let mut table = Table::new("applications", "Results of each application", columns).about(about);
    for view in views {
        let several = view.scenario.names().len() > 1;
        for (name, application) in &view.scenario.applications {
            let mut row = point_cells(view, swept);
            let of = |measure: &str| {
                Cell::from(view.mean(&if several {
                    format!("{measure}[{name}]")
                } else {
                    measure.to_owned()
                }))
            };
            row.push(Cell::from(name.as_str()));
            row.push(Cell::from(f64::from(application.clients)));
            row.push(Cell::from(f64::from(application.weight)));
            let measures = [
                "share",
                "share_sd",
                "throughput_bytes_per_s",
                "latency_mean_s",
                "latency_p99_s",
                "slowdown",
            ];
            row.extend(measures.map(of));
            table.push(row);
        }
    }
    table
}

fn busy(views: &[View<'_>], swept: bool) -> Table {
    let mut columns = point_columns(swept);
    columns.extend([Column::text("part"), Column::number("busy", "fraction")]);
    let about =
        "Share of the measured time that each part is busy: means over nodes and replicates, busiest first";
    let mut table = Table::new("parts", "Utilisation of each part", columns).about(about);
    for view in views {
        for (share, part) in view.parts() {
            let mut row = point_cells(view, swept);
            row.extend([Cell::from(part), Cell::from(Some(share))]);
            table.push(row);
        }
    }
    table
}

/// The maximum number of servers per point in a table.
const SERVERS_SHOWN_MAX: usize = 64;

/// The work of each data server: all of them, or those with the busiest disks, sorted by their numbers.
fn servers(views: &[View<'_>], swept: bool) -> Table {
    let mut columns = point_columns(swept);
    columns.extend([
        Column::number("server", ""),
        Column::number("disk_busy", "fraction"),
        Column::number("memory_busy", "fraction"),
        Column::number("sending", "fraction"),
        Column::number("receiving", "fraction"),
        Column::number("queue_depth", "jobs"),
        Column::number("throughput", "bytes/s"),
    ]);
    let about = "Means over the replicates, in the measured time. With more than 64 servers, the 64 with the busiest disks";
    let mut table = Table::new("servers", "Load of each data server", columns).about(about);
    for view in views {
        let mut all: Vec<(usize, [f64; 6])> = view.servers().into_iter().enumerate().collect();
        if all.len() > SERVERS_SHOWN_MAX {
            // Of equals, the one with the lower number comes first.
            all.sort_by(|left, right| right.1[0].total_cmp(&left.1[0]).then(left.0.cmp(&right.0)));
            all.truncate(SERVERS_SHOWN_MAX);
            all.sort_by_key(|one| one.0);
        }
        for (number, values) in all {
            let mut row = point_cells(view, swept);
            row.push(Cell::from(number as f64));
            row.extend(values.map(|value| Cell::from(Some(value))));
            table.push(row);
        }
    }
    table
}

fn warnings(views: &[View<'_>]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for view in views {
        let lost: u64 = view.runs().map(|run| run.lost).sum();
        if lost > 0 {
            let place = if view.label.is_empty() { String::new() } else { format!(" ({})", view.label) };
            let lost = human::digits(lost as f64);
            warnings.push(Warning::note(format!(
                "{lost} messages were lost and sent again after `network.timeout`{place}: TCP would resend sooner, and reduce its rate"
            )));
        }
    }
    warnings.extend(views.iter().filter_map(longer_samples));
    for view in views {
        let reserved: u64 = view
            .scenario
            .applications
            .values()
            .filter_map(|one| one.reservation)
            .map(towtank_units::Rate::bytes_per_second)
            .sum();
        let disk = &view.scenario.disk;
        let most = disk.read.bytes_per_second().max(disk.write.bytes_per_second());
        if reserved > most && disk.model == super::scenario::DiskModel::Rate && disk.drive.is_none() {
            let [reserved, most] = human::alike([reserved as f64, most as f64], "bytes/s");
            warnings.push(Warning::note(format!(
                "reservations add up to {reserved} at each server, but its disk has {most}: not all can be met"
            )));
        }
    }
    warnings.dedup();
    warnings
}

/// A note that samples are longer than the user set them; a default is only an estimate.
fn longer_samples(view: &View<'_>) -> Option<Warning> {
    let set = view.scenario.sample;
    let longest = view.runs().map(|run| run.sample).fold(0.0, f64::max);
    let is_default = set == view.scenario.hundredth(&Replays::new());
    if is_default || longest <= set.as_secs_f64() * 1.5 {
        return None;
    }
    let place = if view.label.is_empty() { String::new() } else { format!(" ({})", view.label) };
    let limit = human::digits(f64::from(towtank_pfs::INTERVALS_MAX));
    let longest = SimSpan::from_ns_f64_floor(longest * 1e9);
    Some(Warning::note(format!(
        "a sample of shares and throughput is {longest} long, not {set} as `sample` says, because a run has at most {limit} of \
         them{place}: set `sample` to {longest} or more"
    )))
}
