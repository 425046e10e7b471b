//! All replicates of all points: one row per protocol and point, and the sentence at the head of the report.

use towtank_metrics::{Better, Chance};
use towtank_negotiation::Protocol;
use towtank_puts::Fidelity;
use towtank_report::{Answer, Cell, Column, Figure, Standing, Status, Table, Warning, human};
use towtank_units::Percent;

use super::Put;
use super::cut_off::cut_off;
use super::figures;
use super::observed::{OF_GETS, OF_PUTS, prefix};
use super::published;
use super::view::View;
use crate::published::is_published;
use towtank_study::ranking::Ranked;
use towtank_study::{Points, Presentation};

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
        answer: answer(&views).with_verdict(status(&views)),
        headline: headline(points, &views),
        main_figure: main_figure(&figures, views.len() == 1),
        tables: std::iter::once(counted(&views)).chain(multicast(&views)).collect(),
        figures,
        claims: published::claims(&views.iter().filter(of_paper).collect::<Vec<_>>()),
        warnings: warnings(&views),
    }
}

/// The protocols and points by the chunks that they store and read per second.
fn by_rate(views: &[View<'_>]) -> Ranked {
    let rates = |view: &View<'_>| -> Vec<Option<f64>> {
        let [puts, gets] = ["chunks_per_second", "gets_per_second"].map(|rate| view.by_replicate(rate));
        let sum = |(put, get): (Option<f64>, Option<f64>)| {
            (put.is_some() || get.is_some()).then(|| put.unwrap_or(0.0) + get.unwrap_or(0.0))
        };
        puts.into_iter().zip(gets).map(sum).collect()
    };
    let candidates = views.iter().map(|view| (view.said(), rates(view))).collect();
    Ranked::of(candidates, Better::Higher, Chance::Seeds)
}

/// The rate of the protocol that does most; of the first of those that are tied.
fn headline(points: &Points<'_, Put>, views: &[View<'_>]) -> Option<String> {
    let best = views.get(*by_rate(views).ranking().best.iter().min()?)?;
    let before = if best.settled.protocols.len() == 1 { String::new() } else { prefix(best.protocol) };
    let names = ["chunks_per_second", "gets_per_second"].map(|rate| format!("{before}{rate}"));
    points.first_measure(names.iter().map(String::as_str))
}

/// One run's rate is a single bar, so its latencies are drawn first.
fn main_figure(figures: &[Figure], alone: bool) -> Option<String> {
    let latencies = || figures.iter().find(|figure| alone && figure.id.contains("latencies"));
    latencies().or_else(|| figures.first()).map(|figure| figure.id.clone())
}

/// What makes a status of a protocol: a measure above 0, and the words for it.
const NOT_WELL: [(&str, Status, &str); 4] = [
    ("violations", Status::NotSafe, "transfers outside their window, or windows that overlap, per replicate"),
    ("puts_failed", Status::AtRisk, "puts per replicate were given up because no servers were left"),
    (
        "gets_failed",
        Status::AtRisk,
        "gets per replicate were given up because no server with the chunk answered",
    ),
    (
        "chunks_dropped",
        Status::AtRisk,
        "chunks per replicate were given up because their bids had no window in common",
    ),
];

/// Nothing where all operations ended well.
fn status(views: &[View<'_>]) -> Option<Standing> {
    let of = |view: &View<'_>| {
        let counted = NOT_WELL.iter().filter_map(|(measure, status, words)| {
            let count = view.mean(measure).filter(|mean| mean.mean > 0.0)?.mean;
            Some(Standing::new(*status, format!("{}: {} {words}", view.said(), human::digits(count))))
        });
        let late = too_short(&[view]).filter(|_| is_too_short(view));
        let late = late.or_else(|| overload(view)).or_else(|| cut_off(view));
        let late = late.map(|sentence| Standing::new(Status::AtRisk, sentence.trim_end_matches('.')));
        counted.chain(late).collect::<Vec<Standing>>()
    };
    Standing::worst(views.iter().flat_map(of).map(|one| (String::new(), one)))
}

fn answer(views: &[View<'_>]) -> Answer {
    let short: Vec<&View<'_>> = views.iter().filter(|view| is_too_short(view)).collect();
    let unfit: Vec<String> =
        views.iter().filter_map(|view| overload(view).or_else(|| cut_off(view))).collect();
    let more = match unfit.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        count => format!("The same is true of {count} more."),
    };
    let unfit = too_short(&short).into_iter().chain(unfit.into_iter().take(NAMED_MAX)).chain([more]);
    let answer = Answer::of_sentences(of_best(views).into_iter().chain(unfit));
    if views.len() > 1 { answer.comparing("protocols") } else { answer }
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
    let mut names: Vec<String> = views.iter().take(NAMED_MAX).map(|view| view.said()).collect();
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
        view.said(),
        human::digits(100.0 * served / asked),
        human::digits(waiting)
    ))
}

/// The share of arrivals that must be missing before a rate counts as one that cannot be served: a free
/// choice.
const SHORT_OF: f64 = 0.02;

/// What is done per second, and by which protocol or point most of it; those that are tied are compared by
/// how long an operation takes.
fn of_best(views: &[View<'_>]) -> Vec<String> {
    if let [one] = views {
        return rates_and_latencies(one).map(|words| format!("{words}.")).into_iter().collect();
    }
    let reads = views.iter().any(View::reads);
    let (stored, store) = if reads { ("stored or read", "store or read") } else { ("stored", "store") };
    let by_rate = by_rate(views);
    if let Some(best) = by_rate.winner() {
        let words = rates_and_latencies(&views[best]);
        let sentence = |words| format!("Most chunks per second are {stored} by {words}.");
        return words.map(sentence).into_iter().collect();
    }
    let best = &by_rate.ranking().best;
    if best.is_empty() {
        return Vec::new();
    }
    let tied: Vec<&View<'_>> = best.iter().map(|at| &views[*at]).collect();
    let rates = by_rate.range_of_best("chunks/s");
    let latencies = by_latency(&tied);
    let first = match by_rate.is_tied() {
        true => {
            format!("{} {store} {}: {}.", by_rate.all(), by_rate.range("chunks/s"), by_rate.why_tied())
        }
        false => format!("Most chunks per second are {stored} by {}: {rates}.", by_rate.best()),
    };
    vec![first, latencies]
}

/// The ends of the mean latencies of those that are tied by their rate; empty where latencies are tied too.
fn by_latency(views: &[&View<'_>]) -> String {
    let (one, measure) = match views.iter().all(|view| view.settled.spec.read_share == Percent::FULL) {
        true => ("get", "get_latency_mean_us"),
        false => ("put", "put_latency_mean_us"),
    };
    let candidates = views.iter().map(|view| (view.said(), view.by_replicate(measure))).collect();
    let ranked = Ranked::of(candidates, Better::Lower, Chance::Seeds);
    if ranked.is_tied() || ranked.ends().is_none() {
        return String::new();
    }
    let seconds = |range: [f64; 2]| human::alike(range.map(|micros| micros / 1e6), "s");
    let [best, worst] = ranked.ends().map(seconds).unwrap_or_default();
    format!(
        "of these, a {one} takes least by {}, {best} on average, and most by {}, {worst}.",
        ranked.best(),
        ranked.worst()
    )
}

fn rates_and_latencies(view: &View<'_>) -> Option<String> {
    let busy = human::digits(view.mean("disk_utilisation")?.mean * 100.0);
    let puts = done_of(view, "chunks", "put");
    let gets = done_of(view, "gets", "get");
    let (rates, latencies): (Vec<String>, Vec<String>) = [puts, gets].into_iter().flatten().unzip();
    let (rates, latencies) = (rates.join(" and "), latencies.join(" and "));
    (!rates.is_empty())
        .then(|| format!("{}: {rates}, disks {busy} % busy, {latencies} on average", view.said()))
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
        let (puts, name) = (view.latencies().count(), view.said());
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
