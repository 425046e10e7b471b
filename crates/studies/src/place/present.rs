//! Balance, peers, rebuild and movement in tables and figures: one row per point of the sweep, usually an
//! algorithm.

use towtank_metrics::MeanInterval;
use towtank_placement::algorithms::Arrangement;
use towtank_placement::algorithms::guarantees::{Balance, Cost, Declustering, Guarantees, Movement, Weights};
use towtank_report::{
    Axis, BarSeries, BoxStats, Cell, Column, EcdfSeries, Figure, Kind, Num, Reference, Table, human,
};

use super::Place;
use super::observed::Observed;
use super::published;
use crate::points::{columns_of, text};
use crate::published::is_published;
use crate::{Point, Points, Presentation, Study};

/// One point with its label.
struct View<'a> {
    point: &'a Point<'a, Place>,
    label: String,
}

impl<'a> View<'a> {
    fn of(point: &'a Point<'a, Place>) -> Self {
        let setting = |(key, setting): &(String, serde_json::Value)| match key.as_str() {
            "algorithm" => text(setting),
            _ => format!("{key} = {}", text(setting)),
        };
        let label = match point.result.settings {
            [] => point.scenario.algorithm.name().to_owned(),
            settings => settings.iter().map(setting).collect::<Vec<_>>().join(", "),
        };
        Self { point, label }
    }

    fn mean(&self, measure: &str) -> Option<MeanInterval> {
        self.point.mean(measure)
    }

    fn value(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    fn observed(&self) -> impl Iterator<Item = &Observed> {
        self.point.kept.iter().map(|kept| &kept.observed.counted)
    }

    fn guarantees(&self) -> Option<Guarantees> {
        let with = Arrangement { vnodes: self.point.scenario.vnodes, groups: 1, replicas: 1, seed: 1 };
        Some(self.point.scenario.algorithm.set_up(&self.point.scenario.cluster(), &with).ok()?.guarantees())
    }
}

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Place>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    if views.is_empty() {
        return Presentation::default();
    }
    let of_paper = views.iter().filter(|view| is_published(&Place, view.point.result.scenario, &[]));
    Presentation {
        headline: points.first_measure(["load_deviation"]),
        status: None,
        main_figure: Some(if points.swept { "balance" } else { "loads" }.to_owned()),
        answer: answer(&views),
        tables: vec![counted(&views), promised(&views)],
        figures: vec![loads(&views), balance(&views), peers(&views), rebuild(&views), moved(&views)],
        claims: of_paper.flat_map(|view| published::claims(view.point)).collect(),
        warnings: Vec::new(),
    }
}

fn answer(views: &[View<'_>]) -> String {
    let told = |view: &View<'_>| {
        let percent = |measure: &str| Some(human::digits(100.0 * view.value(measure)?));
        let moves = match view.value("moved_over_minimum") {
            Some(times) => format!("moves {} times the minimum", human::digits(times)),
            None => format!("moves {} % of the copies, where none need to move", percent("moved_fraction")?),
        };
        Some(format!(
            "{}: the standard deviation of load is {} % of the expected load ({} % with independent draws), and the change {moves}",
            view.label,
            percent("load_deviation")?,
            percent("load_deviation_binomial")?
        ))
    };
    match views {
        [one] => told(one).map_or_else(String::new, |words| words + "."),
        all => {
            let evenness = |view: &&View<'_>| view.value("load_deviation").unwrap_or(f64::INFINITY);
            let best = all.iter().min_by(|left, right| evenness(left).total_cmp(&evenness(right)));
            best.and_then(told)
                .map_or_else(String::new, |words| format!("The most even placement is {words}."))
        }
    }
}

fn counted(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("placement"), Column::text("placed")];
    columns.extend(columns_of(Place.measures()));
    let about =
        "Means over the replicates. The last server fails, and is the one that a change removes or halves.";
    let mut table = Table::new("placements", "Results of each placement", columns).about(about);
    for view in views {
        let placed = format!("{} {}", view.point.scenario.items(), view.point.scenario.unit());
        let mut row: Vec<Cell> = vec![view.label.as_str().into(), placed.into()];
        row.extend(view.point.means(Place.measures()));
        table.push(row);
    }
    table
}

/// The guarantees of each algorithm, in words.
fn promised(views: &[View<'_>]) -> Table {
    let names = ["placement", "balance", "peers", "weights", "on_add", "on_remove", "on_reweight", "cost"];
    let about = "Properties by construction, without sampling noise. Replicas are on different servers; no larger failure domain is known.";
    let mut table =
        Table::new("guarantees", "Guarantees of the algorithms", names.map(Column::text).to_vec())
            .about(about);
    for view in views {
        let Some(given) = view.guarantees() else { continue };
        let balance = match given.balance {
            Balance::Independent => "like independent draws".to_owned(),
            Balance::Arcs { virtual_nodes } => format!("arcs of {virtual_nodes} virtual nodes"),
            Balance::Cells { virtual_nodes } => format!("cells of {virtual_nodes} virtual nodes"),
            Balance::Slots { slots } => format!("{slots} slots"),
            Balance::LessLoadedOfTwo => "the less loaded of two".to_owned(),
        };
        let peers = match given.declustering {
            Declustering::Everyone => "all servers".to_owned(),
            Declustering::Neighbours { virtual_nodes } => format!("neighbours of {virtual_nodes} nodes"),
            Declustering::Members { members } => format!("{members} of its group"),
        };
        let weights = match given.weights {
            Weights::Exact => "exact".to_owned(),
            Weights::Rounded { steps } => format!("in steps of 1/{steps}"),
            Weights::WithinGroup => "within a group".to_owned(),
            Weights::Ignored => "ignored".to_owned(),
        };
        let movement = |movement: Movement| match movement {
            Movement::Minimal => "the least".to_owned(),
            Movement::NearMinimal { times_max } => format!("at most {times_max} times the least"),
            Movement::Nothing => "nothing".to_owned(),
            Movement::Most => "most of the data".to_owned(),
        };
        let cost = match given.cost {
            Cost::Constant => "constant",
            Cost::Logarithmic => "log(servers)",
            Cost::Linear => "servers",
        };
        let mut row: Vec<Cell> = vec![view.label.as_str().into()];
        row.extend([balance, peers, weights].map(Cell::from));
        row.extend([given.on_add, given.on_remove, given.on_reweight].map(movement).map(Cell::from));
        row.push(cost.into());
        table.push(row);
    }
    table
}

fn labels(views: &[View<'_>]) -> Vec<String> {
    views.iter().map(|view| view.label.clone()).collect()
}

/// One bar per placement, with the interval over the replicates.
fn bars(views: &[View<'_>], name: &str, measure: &str, factor: f64) -> BarSeries {
    let means: Vec<Option<MeanInterval>> = views.iter().map(|view| view.mean(measure)).collect();
    let end = |pick: fn((f64, f64)) -> f64| {
        let one = |mean: &Option<MeanInterval>| {
            Num::from(mean.and_then(|mean| mean.range).map(|range| pick(range) * factor))
        };
        means.iter().map(one).collect()
    };
    BarSeries {
        name: name.to_owned(),
        values: means.iter().map(|mean| Num::from(mean.map(|mean| mean.mean * factor))).collect(),
        low: end(|range| range.0),
        high: end(|range| range.1),
    }
}

fn loads(views: &[View<'_>]) -> Figure {
    let relative = |view: &View<'_>| -> Vec<f64> {
        let shares = view.point.scenario.cluster().ideal_shares(view.point.scenario.replicas as usize);
        let items = view.point.scenario.items() as f64;
        let one = |observed: &Observed| -> Vec<f64> {
            let pairs = observed.loads.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
            pairs.map(|(load, share)| *load as f64 / (share * items)).collect()
        };
        view.observed().flat_map(one).collect()
    };
    Figure {
        id: "loads".to_owned(),
        title: "Load of the servers".to_owned(),
        caption: "Load over the load expected from the weights, for each server of each replicate."
            .to_owned(),
        kind: Kind::Ecdf {
            x: Axis::linear("load over expected load", ""),
            series: views.iter().map(|view| EcdfSeries::of(&*view.label, &relative(view))).collect(),
            references: vec![Reference::Vertical { name: "expected".to_owned(), at: Num::from(1.0) }],
            tail: false,
        },
    }
}

fn balance(views: &[View<'_>]) -> Figure {
    Figure {
        id: "balance".to_owned(),
        title: "Spread of the loads".to_owned(),
        caption: "Standard deviation of load over expected load, as counted and for independent draws."
            .to_owned(),
        kind: Kind::Bar {
            x: "placement".to_owned(),
            y: Axis::linear("standard deviation", "percent"),
            categories: labels(views),
            series: vec![
                bars(views, "counted", "load_deviation", 100.0),
                bars(views, "independent draws", "load_deviation_binomial", 100.0),
            ],
            stacked: false,
            references: Vec::new(),
        },
    }
}

fn peers(views: &[View<'_>]) -> Figure {
    let samples = |view: &View<'_>| -> Vec<f64> {
        view.observed().flat_map(|observed| observed.peers.iter().copied().map(f64::from)).collect()
    };
    Figure {
        id: "peers".to_owned(),
        title: "Peers of each server".to_owned(),
        caption:
            "Other servers that each one shares data with. With few peers, rebuilds are slow, but fewer sets of failures lose data."
                .to_owned(),
        kind: Kind::Box {
            x: "placement".to_owned(),
            y: Axis::linear("peers", "servers"),
            boxes: views.iter().map(|view| BoxStats::of(&*view.label, &samples(view))).collect(),
            references: Vec::new(),
        },
    }
}

fn rebuild(views: &[View<'_>]) -> Figure {
    let samples = |view: &View<'_>| -> Vec<f64> {
        view.observed().flat_map(|observed| observed.rebuilt.iter().map(|count| *count as f64)).collect()
    };
    Figure {
        id: "rebuild".to_owned(),
        title: "Copies that each survivor rebuilds when the last server fails".to_owned(),
        caption: "For each survivor of each replicate. The survivor with the most copies determines how long the rebuild takes."
            .to_owned(),
        kind: Kind::Box {
            x: "placement".to_owned(),
            y: Axis::linear("rebuilt", "copies"),
            boxes: views.iter().map(|view| BoxStats::of(&*view.label, &samples(view))).collect(),
            references: Vec::new(),
        },
    }
}

fn moved(views: &[View<'_>]) -> Figure {
    Figure {
        id: "moved".to_owned(),
        title: "Copies that the change moves".to_owned(),
        caption: "Share of all copies, and the minimum share that must move to match the new weights."
            .to_owned(),
        kind: Kind::Bar {
            x: "placement".to_owned(),
            y: Axis::linear("copies", "percent"),
            categories: labels(views),
            series: vec![
                bars(views, "moved", "moved_fraction", 100.0),
                bars(views, "minimum", "minimum_fraction", 100.0),
            ],
            stacked: false,
            references: Vec::new(),
        },
    }
}
