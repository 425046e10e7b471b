//! A closer look at the slowest replicate: who sent to whom, where copies were rebuilt, how the rate of a
//! server goes with its active peers, and how even the traffic was beside what servers held before.
//!
//! The slides of the first paper look at the slowest of their samples in this way ("A closer look at
//! inter-server traffic", "Where were objects reconstructed?"). Of a sweep it is the slowest replicate of the
//! slowest point. The traffic of its other replicates can be chosen on the page.

use towtank_metrics::{Better, Chance, spearman};
use towtank_report::{
    Axis, BarSeries, ChordFlows, CurvePoint, Draw, EcdfSeries, Figure, Kind, LineSeries, Num, Reference,
    human,
};

use crate::observed::{Observed, ServerSeen};
use crate::traffic::Traffic;
use towtank_study::ranking::Ranked;

const GIB: f64 = 1_073_741_824.0;

/// Above this number of servers their bars are left out.
pub(crate) const SERVERS_DRAWN: usize = 130;

/// The most flows between pairs that the replicates of one figure may have in all, for each to be there to
/// choose: twelve of 64 servers. They take about 1.5 MB in the report. A choice.
pub const FLOWS_MAX: usize = 50_000;

/// The replicates of one point.
pub struct Runs<'a> {
    /// The name of the point.
    pub name: String,
    /// The results of its replicates.
    pub observed: Vec<&'a Observed>,
    /// Why it is not known what servers held before, where it is not.
    pub why_not_held: String,
}

/// One replicate, and which one it is.
pub struct Slowest<'v, 'a> {
    runs: &'v Runs<'a>,
    /// Its results.
    pub seen: &'a Observed,
    /// What it was chosen from: points, and replicates of its point.
    of: (usize, usize),
    /// Whether other points, and other replicates of its point, are as slow.
    tied: (bool, bool),
}

impl<'v, 'a> Slowest<'v, 'a> {
    /// The replicate whose transfers took longest, of the point whose transfers take longest on average; the
    /// first of equals.
    #[must_use]
    pub fn of(points: &'v [Runs<'a>]) -> Option<Self> {
        let times = |runs: &Runs<'_>| {
            let times = runs.observed.iter().map(|seen| Some(seen.transfer_s)).collect();
            (String::new(), times)
        };
        let ranked = Ranked::of(points.iter().map(times).collect(), Better::Lower, Chance::Seeds);
        let runs = &points[*ranked.ranking().worst.first()?];
        let each = runs.observed.iter().map(|seen| (String::new(), vec![Some(seen.transfer_s)])).collect();
        let each = Ranked::of(each, Better::Lower, Chance::None);
        let worst = &each.ranking().worst;
        let seen = runs.observed[*worst.iter().min()?];
        let tied = (ranked.ranking().worst.len() > 1, worst.len() > 1);
        Some(Slowest { runs, seen, of: (points.len(), runs.observed.len()), tied })
    }

    /// The point, among several.
    fn slowest_point(&self) -> &'static str {
        match (self.tied.0, self.of.1) {
            (false, _) => "the slowest point",
            (true, 0 | 1) => "one of the slowest points, as one run of each cannot tell them apart",
            (true, _) => "one of the slowest points (tied)",
        }
    }

    /// Which replicate it is, as the end of a sentence; empty where there is only one.
    #[must_use]
    pub fn which(&self) -> String {
        let number = self.seen.replicate;
        let (one, point) =
            (if self.tied.1 { "one of the slowest" } else { "the slowest" }, self.slowest_point());
        match self.of {
            (1, 1) => String::new(),
            (1, _) => format!(" in replicate {number}, {one}"),
            (_, 1) => format!(" with {}, {point}", self.runs.name),
            _ => {
                let name = &self.runs.name;
                format!(" in replicate {number} with {name}, {one} of {point}")
            }
        }
    }

    /// Its figures; without those that need more than is known.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        [self.traffic(), self.rebuilt(), self.peers(), self.evenness()].into_iter().flatten().collect()
    }

    fn figure(&self, (id, title): (&str, &str), about: &str, kind: Kind) -> Option<Figure> {
        Some(Figure::new(id, title, about, kind))
    }

    fn traffic(&self) -> Option<Figure> {
        let traffic = self.seen.traffic.as_ref()?;
        let merged = traffic.labels.len() < self.seen.servers.len();
        let what = if merged { "ranges of servers" } else { "servers" };
        let replicates = self.replicates_to_choose();
        let others: Vec<ChordFlows> = replicates
            .iter()
            .filter(|(seen, _)| seen.replicate != self.seen.replicate)
            .filter_map(|(seen, which)| Some(flows(seen.traffic.as_ref()?, named(seen, which))))
            .collect();
        let ChordFlows { name, labels, groups, matrix } = flows(traffic, named(self.seen, "the slowest"));
        let about = format!(
            "Bytes sent between {what}{}.{} An arc is in full colour for what its server sends, and pale for what it takes. A \
             ribbon has the colour of the sender; its arrow points at the server that takes.",
            if others.is_empty() { self.which() } else { self.point() },
            self.said_of_choice(others.len() + 1)
        );
        let name = if others.is_empty() { String::new() } else { name };
        let value = Axis::linear("sent", "GiB");
        let kind = Kind::Chord { value, labels, groups, matrix, name, others };
        self.figure(("traffic", "Traffic between servers"), &about, kind)
    }

    /// Which point it is of, as the end of a sentence; empty where there is only one.
    fn point(&self) -> String {
        if self.of.0 == 1 {
            String::new()
        } else {
            format!(" with {}, {}", self.runs.name, self.slowest_point())
        }
    }

    /// The replicates of its point that sent anything, with what is said of them: all, in their order, or the
    /// slowest, the median and the fastest if there are too many flows in all.
    fn replicates_to_choose(&self) -> Vec<(&'a Observed, &'static str)> {
        let mut all: Vec<&'a Observed> =
            self.runs.observed.iter().copied().filter(|seen| seen.traffic.is_some()).collect();
        let flows = |seen: &&Observed| seen.traffic.as_ref().map_or(0, |traffic| traffic.labels.len().pow(2));
        if all.iter().map(flows).sum::<usize>() <= FLOWS_MAX {
            return all.into_iter().map(|seen| (seen, "")).collect();
        }
        all.sort_by(|one, other| other.transfer_s.total_cmp(&one.transfer_s));
        let last = all.len() - 1;
        let mut kept = vec![(all[0], "the slowest")];
        if last > 1 {
            kept.push((all[last / 2], "the median"));
        }
        kept.push((all[last], "the fastest"));
        kept
    }

    /// What the reader can choose.
    fn said_of_choice(&self, shown: usize) -> String {
        let all = self.runs.observed.iter().filter(|seen| seen.traffic.is_some()).count();
        match (all, shown) {
            (_, 1) => String::new(),
            (all, shown) if all == shown => {
                format!(" Any of the {all} replicates can be chosen; the slowest is shown first.")
            }
            _ => format!(
                " Of the {all} replicates, the slowest, which is shown first, the median and the fastest can be chosen: all together \
                 have more than {FLOWS_MAX} flows."
            ),
        }
    }

    /// Copies and groups on one axis: both over their mean.
    fn rebuilt(&self) -> Option<Figure> {
        let servers = &self.seen.servers;
        let parts: Vec<f64> = servers.iter().map(|server| server.rebuilt as f64).collect();
        let groups: Option<Vec<f64>> =
            servers.iter().map(|server| server.groups.map(|groups| groups as f64)).collect();
        let bars = |name: &str, values: &[f64]| {
            let over = over_mean(values)?;
            Some(BarSeries {
                name: format!("{name} (mean {})", three_digits(mean(values))),
                values: over.into_iter().map(Num::from).collect(),
                low: Vec::new(),
                high: Vec::new(),
            })
        };
        let mut series = vec![bars("copies or shards", &parts)?];
        let mut about =
            format!("Number of copies or shards rebuilt on each survivor{}, over the mean.", self.which());
        if let Some(groups) = groups {
            series.extend(bars("groups", &groups));
            about += &said_of_groups(servers, &groups);
        }
        let kind = Kind::Bar {
            x: "server".to_owned(),
            y: Axis::linear("rebuilt, over the mean", ""),
            categories: servers.iter().map(ServerSeen::label).collect(),
            series,
            stacked: false,
            references: vec![Reference::Horizontal { name: "even".to_owned(), at: Num::from(1.0) }],
        };
        (servers.len() <= SERVERS_DRAWN)
            .then(|| self.figure(("rebuilt", "Where objects were rebuilt"), &about, kind))?
    }

    fn peers(&self) -> Option<Figure> {
        // The NICs of servers with clients also carry what clients send.
        let sustained = || self.seen.servers.iter().filter_map(ServerSeen::sustained);
        if self.seen.clients.is_some() || sustained().next().is_none() {
            return None;
        }
        let (peers, rates): (Vec<f64>, Vec<f64>) = sustained().unzip();
        let said = match spearman(&peers, &rates) {
            Some(rank) => format!("Spearman's rank correlation is {rank:.2}."),
            None => "All have as many peers, or the same rate, so there is no rank correlation.".to_owned(),
        };
        let about = format!(
            "Each survivor that took part{}: with how many others it exchanged data, and the bytes that it sent and \
             received per second until it had done its part. {said}",
            self.which()
        );
        let points = peers.iter().zip(&rates).map(|(peers, rate)| CurvePoint::new(*peers, rate / GIB));
        let kind = Kind::Line {
            x: Axis::linear("active peers", ""),
            y: Axis::linear("rate", "GiB/s"),
            series: vec![LineSeries {
                name: "survivors".to_owned(),
                points: points.collect(),
                draw: Draw::Points,
            }],
            references: Vec::new(),
        };
        self.figure(("peers", "Rate of each survivor by its active peers"), &about, kind)
    }

    fn evenness(&self) -> Option<Figure> {
        let servers = &self.seen.servers;
        let traffic: Vec<f64> = servers.iter().map(|server| server.traffic() as f64).collect();
        let held: Option<Vec<f64>> =
            servers.iter().map(|server| server.held.map(|held| held as f64)).collect();
        let traffic = over_mean(&traffic)?;
        let mut series = Vec::new();
        let mut about = format!("Each survivor{}, over the mean of all.", self.which());
        match (held.as_deref().and_then(over_mean), &self.seen.held_in) {
            (Some(held), Some(unit)) => {
                series.push(EcdfSeries::of(format!("{unit} held before"), &held));
                about += &format!(
                    " The fullest held {:.2} times the mean before; the busiest has {:.2} times the mean of the traffic.",
                    most(&held),
                    most(&traffic)
                );
            }
            _ => about += &format!(" What servers held before is missing: {}.", self.runs.why_not_held),
        }
        series.push(EcdfSeries::of("traffic while data move".to_owned(), &traffic));
        let kind = Kind::Ecdf {
            x: Axis::linear("over the mean", ""),
            series,
            references: vec![Reference::Vertical { name: "even".to_owned(), at: Num::from(1.0) }],
            tail: false,
        };
        self.figure(("evenness", "What servers held before, and their traffic"), &about, kind)
    }
}

/// The name of a replicate among those to choose from.
fn named(seen: &Observed, which: &str) -> String {
    let span = human::quantity(seen.transfer_s, "s");
    let comma = if which.is_empty() { "" } else { ", " };
    format!("replicate {}{comma}{which}: {span}", seen.replicate)
}

fn flows(traffic: &Traffic, name: String) -> ChordFlows {
    let row = |row: &Vec<u64>| row.iter().map(|bytes| Num::from(*bytes as f64 / GIB)).collect();
    let matrix = traffic.matrix.iter().map(row).collect();
    ChordFlows { name, labels: traffic.labels.clone(), groups: Vec::new(), matrix }
}

/// How many groups were rebuilt, and how they are spread.
fn said_of_groups(servers: &[ServerSeen], groups: &[f64]) -> String {
    let all: f64 = groups.iter().sum();
    let largest = most(groups);
    let label = |at: usize| servers.get(at).map(ServerSeen::label).unwrap_or_default();
    let busiest = groups.iter().position(|&groups| groups == largest).map(label).unwrap_or_default();
    let none = groups.iter().filter(|&&groups| groups == 0.0).count();
    format!(
        " Of {all} groups in all, server {busiest} rebuilt the most, {largest}; servers that rebuilt none: {none}."
    )
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The values over their mean; none if all are zero.
fn over_mean(values: &[f64]) -> Option<Vec<f64>> {
    let mean = mean(values);
    (mean > 0.0).then(|| values.iter().map(|value| value / mean).collect())
}

fn three_digits(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
