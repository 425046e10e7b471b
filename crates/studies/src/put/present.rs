//! All replicates of all points: one row per protocol and point, and the sentence at the head of the report.

use towtank_negotiation::Protocol;
use towtank_puts::Fidelity;
use towtank_report::{Cell, Column, Figure, Status, Table, Warning, human};
use towtank_units::Percent;

use super::Put;
use super::cut_off::cut_off;
use super::figures;
use super::observed::{OF_GETS, OF_PUTS, prefix};
use super::published;
use super::view::View;
use crate::published::is_published;
use crate::{Points, Presentation};

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Put>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().flat_map(View::all_of).collect();
    if views.is_empty() {
        return Presentation::default();
    }
    // Each protocol has its own run, so the other protocols of the list have no influence on it.
    let of_paper = |view: &&View<'_>| is_published(&Put, view.result.scenario, &["protocol"]);
    let figures = figures::all(&views);
    Presentation {
        answer: answer(&views),
        headline: headline(points, &views),
        status: status(&views),
        main_figure: main_figure(&figures, views.len() == 1),
        tables: std::iter::once(counted(&views)).chain(multicast(&views)).collect(),
        figures,
        claims: published::claims(&views.iter().filter(of_paper).collect::<Vec<_>>()),
        warnings: warnings(&views),
    }
}

/// The view that does most.
fn best<'v, 'a>(views: &'v [View<'a>]) -> Option<&'v View<'a>> {
    let rate = |view: &View<'_>| {
        let rates = ["chunks_per_second", "gets_per_second"].map(|rate| view.mean(rate));
        rates.into_iter().flatten().map(|mean| mean.mean).sum::<f64>()
    };
    views.iter().max_by(|left, right| rate(left).total_cmp(&rate(right)))
}

/// The rate of the protocol that does most.
fn headline(points: &Points<'_, Put>, views: &[View<'_>]) -> Option<String> {
    let best = best(views)?;
    let before = if best.settled.protocols.len() == 1 { String::new() } else { prefix(best.protocol) };
    let names = ["chunks_per_second", "gets_per_second"].map(|rate| format!("{before}{rate}"));
    points.first_measure(names.iter().map(String::as_str))
}

/// One run's rate is a single bar, so its latencies are drawn first.
fn main_figure(figures: &[Figure], alone: bool) -> Option<String> {
    let latencies = || figures.iter().find(|figure| alone && figure.id.contains("latencies"));
    latencies().or_else(|| figures.first()).map(|figure| figure.id.clone())
}

/// Nothing where all operations ended well.
fn status(views: &[View<'_>]) -> Option<Status> {
    let some = |measure: &str| {
        views.iter().any(|view| view.mean(measure).is_some_and(|mean| mean.mean > 0.0)).then_some(())
    };
    let failed = ["puts_failed", "gets_failed", "chunks_dropped"].into_iter().find_map(some);
    let late =
        || views.iter().any(|view| is_too_short(view) || overload(view).is_some() || cut_off(view).is_some());
    let at_risk = || (failed.is_some() || late()).then_some(Status::AtRisk);
    some("violations").map(|()| Status::NotSafe).or_else(at_risk)
}

fn answer(views: &[View<'_>]) -> String {
    let short: Vec<&View<'_>> = views.iter().filter(|view| is_too_short(view)).collect();
    let unfit: Vec<String> =
        views.iter().filter_map(|view| overload(view).or_else(|| cut_off(view))).collect();
    let more = match unfit.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        count => format!("The same is true of {count} more."),
    };
    let told = too_short(&short).into_iter().chain(unfit.into_iter().take(NAMED_MAX));
    let told = told.chain([more, of_best(views)]);
    told.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The most protocols and points that the answer names for one reason.
const NAMED_MAX: usize = 3;

/// Whether no operation was completed in any replicate.
fn is_too_short(view: &View<'_>) -> bool {
    let some = |measure: &str| view.values(measure).into_iter().any(|count| count > 0.0);
    !view.values("puts_measured").is_empty() && !some("puts_measured") && !some("gets_measured")
}

/// What to know first where no operation was completed.
fn too_short(views: &[&View<'_>]) -> Option<String> {
    let spec = &views.first()?.settled.spec;
    let what = match spec.read_share {
        share if share == Percent::FULL => "get",
        share if share > Percent::ZERO => "put or get",
        _ => "put",
    };
    let span = match views {
        [one] => human::quantity(one.spans_s().into_iter().fold(0.0, f64::max), "s"),
        _ => "span".to_owned(),
    };
    let mut names: Vec<String> = views.iter().take(NAMED_MAX).map(|view| view.name()).collect();
    if views.len() > NAMED_MAX {
        names.push(format!("and {} more", views.len() - NAMED_MAX));
    }
    let idle = views.iter().map(|view| view.settled.idle_put()).max()?;
    let idle = human::quantity(idle.as_secs_f64(), "s");
    Some(format!(
        "{}: no {what} was completed in the measured {span}, so that its latency is not known: set `duration` to several times \
         {idle}, which a put takes on idle nodes, or use smaller chunks or faster disks.",
        names.join("; ")
    ))
}

/// What to know first where chunks arrive faster than they are stored. No protocol is judged by a run in
/// which few chunks wait at the end: there, the load only fluctuates.
fn overload(view: &View<'_>) -> Option<String> {
    let asked = view.settled.spec.arrival_rate?.per_second_f64();
    let rates = ["chunks_per_second", "gets_per_second"].map(|rate| view.mean(rate));
    let served: f64 = rates.into_iter().flatten().map(|mean| mean.mean).sum();
    let runs = view.observed.len() as f64;
    let waiting = view.observed.iter().map(|one| one.waiting as f64).sum::<f64>() / runs;
    let span = view.spans_s().iter().sum::<f64>() / runs;
    let missing = (asked - served) * span;
    let by_chance = 4.0 * (asked * span / runs).sqrt();
    if missing < SHORT_OF * asked * span + by_chance || waiting < missing / 2.0 {
        return None;
    }
    let [served_shown, asked_shown] = human::alike([served, asked], "chunks/s");
    Some(format!(
        "{} cannot serve the arrival rate: {served_shown} of {asked_shown}, {} %. {} chunks wait when the run ends, and the longer \
         the run, the more: latencies depend on `duration`.",
        view.name(),
        human::digits(100.0 * served / asked),
        human::digits(waiting)
    ))
}

/// The share of arrivals that must be missing before a rate counts as one that cannot be served: a free
/// choice.
const SHORT_OF: f64 = 0.02;

fn of_best(views: &[View<'_>]) -> String {
    let Some(best) = best(views) else { return String::new() };
    let verb = if views.iter().any(View::reads) { "stored or read" } else { "stored" };
    match (views, told(best)) {
        (_, None) => String::new(),
        ([_], Some(words)) => format!("{words}."),
        (_, Some(words)) => format!("Most chunks per second are {verb} by {words}."),
    }
}

fn told(view: &View<'_>) -> Option<String> {
    let busy = human::digits(view.mean("disk_utilisation")?.mean * 100.0);
    let puts = done_of(view, "chunks", "put");
    let gets = done_of(view, "gets", "get");
    let (rates, latencies): (Vec<String>, Vec<String>) = [puts, gets].into_iter().flatten().unzip();
    let (rates, latencies) = (rates.join(" and "), latencies.join(" and "));
    (!rates.is_empty())
        .then(|| format!("{}: {rates}, disks {busy} % busy, {latencies} on average", view.name()))
}

/// The number per second, and how long each takes.
fn done_of(view: &View<'_>, what: &str, one: &str) -> Option<(String, String)> {
    let rate = view.mean(&format!("{what}_per_second"))?.mean;
    let latency = view.mean(&format!("{one}_latency_mean_us"))?.mean / 1e6;
    let (rate, latency) = (human::digits(rate), human::quantity(latency, "s"));
    Some((format!("{rate} {what}/s"), format!("a {one} takes {latency}")))
}

fn counted(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("protocol"), Column::text("point"), Column::text("fidelity")];
    // Measures of gets are left out where there are none.
    let of_gets = if views.iter().any(View::reads) { OF_GETS } else { &[] };
    let measures = || OF_PUTS.iter().chain(of_gets);
    columns.extend(measures().map(|measure| Column::number(measure.name, measure.unit)));
    let about = "Means over the replicates.";
    let mut table = Table::new("protocols", "Results of each protocol", columns).about(about);
    for view in views {
        let fidelity = match view.settled.spec.fidelity {
            Fidelity::Model => "model",
            Fidelity::Surge => "surge",
        };
        let mut row: Vec<Cell> =
            vec![view.protocol.name().into(), view.label.as_str().into(), fidelity.into()];
        row.extend(measures().map(|measure| Cell::from(view.mean(measure.name).map(|mean| mean.mean))));
        table.push(row);
    }
    table
}

/// The multicast groups that Replicast-M needs if all of them are configured in advance; none without it.
fn multicast(views: &[View<'_>]) -> Option<Table> {
    let columns = vec![
        Column::text("point"),
        Column::number("negotiating_groups", ""),
        Column::number("rendezvous_groups", ""),
        Column::number("forwarding_rules", ""),
    ];
    let about = "Replicast-M sends to rendezvous groups: subsets of a negotiating group, from two members to as many as there \
                 are replicas. Configured in advance, each needs a rule in every switch.";
    let mut table = Table::new("multicast", "Multicast groups of Replicast-M", columns).about(about);
    for view in views.iter().filter(|view| view.protocol == Protocol::ReplicastM) {
        let terms = view.settled.spec.terms(view.protocol);
        let counts = [u64::from(terms.groups()), terms.rendezvous_groups(), terms.forwarding_rules()];
        let mut row: Vec<Cell> = vec![view.label.as_str().into()];
        row.extend(counts.map(|count| Cell::from(count as f64)));
        table.push(row);
    }
    (!table.rows().is_empty()).then_some(table)
}

/// Fewer puts than this do not determine a tail.
const PUTS_FOR_TAIL: u64 = 1_000;

fn warnings(views: &[View<'_>]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for view in views {
        let (puts, name) = (view.latencies().count(), view.name());
        if puts < PUTS_FOR_TAIL && view.settled.spec.read_share < Percent::FULL {
            warnings.push(Warning::unknown(format!(
                "{name}: {puts} puts are too few for p99.9; lengthen `duration` or add replicates"
            )));
        }
        if let Some(failed) = view.mean("puts_failed").filter(|failed| failed.mean > 0.0) {
            warnings.push(Warning::danger(format!(
                "{name}: {} puts per replicate were given up because no servers were left",
                failed.mean
            )));
        }
        let gets = view.got().count();
        if gets < PUTS_FOR_TAIL && view.reads() {
            warnings.push(Warning::unknown(format!(
                "{name}: {gets} gets are too few for p99.9; lengthen `duration` or add replicates"
            )));
        }
        if let Some(failed) = view.mean("gets_failed").filter(|failed| failed.mean > 0.0) {
            warnings.push(Warning::danger(format!(
                "{name}: {} gets per replicate were given up because no server with the chunk answered",
                failed.mean
            )));
        }
        if let Some(broken) = view.mean("violations").filter(|broken| broken.mean > 0.0) {
            warnings.push(Warning::danger(format!(
                "{name}: {} violations per replicate: transfers outside their window, or windows that overlap",
                broken.mean
            )));
        }
    }
    warnings
}
