//! Balance, peers, rebuild and movement in tables and figures: one row per point of the sweep, usually an
//! algorithm.

use towtank_metrics::MeanInterval;
use towtank_report::{
    Axis, BarSeries, BoxStats, Cell, Column, EcdfSeries, Figure, Kind, Num, Reference, Table,
};

use super::answer::{answer, warnings};
use super::observed::Observed;
use super::promised::{by_weight, promised};
use super::view::View;
use super::{Place, published};
use crate::published::is_published;
use towtank_study::points::columns_of;
use towtank_study::{Points, Presentation, Study};

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
        main_figure: Some(if points.swept { "balance" } else { "loads" }.to_owned()),
        answer: answer(&views),
        tables: [counted(&views)].into_iter().chain(by_weight(&views)).chain([promised(&views)]).collect(),
        figures: vec![loads(&views), balance(&views), peers(&views), rebuild(&views), moved(&views)],
        claims: of_paper.flat_map(|view| published::claims(view.point)).collect(),
        warnings: warnings(&views),
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
    Figure::new(
        "loads",
        "Load of the servers",
        "Load over the load expected from the weights, for each server of each replicate.",
        Kind::Ecdf {
            x: Axis::linear("load over expected load", ""),
            series: views.iter().map(|view| EcdfSeries::of(&*view.label, &relative(view))).collect(),
            references: vec![Reference::Vertical { name: "expected".to_owned(), at: Num::from(1.0) }],
            tail: false,
        },
    )
}

fn balance(views: &[View<'_>]) -> Figure {
    Figure::new(
        "balance",
        "Spread of the loads",
        "Standard deviation of load over expected load, as counted and for independent draws.",
        Kind::Bar {
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
    )
}

fn peers(views: &[View<'_>]) -> Figure {
    let samples = |view: &View<'_>| -> Vec<f64> {
        view.observed().flat_map(|observed| observed.peers.iter().copied().map(f64::from)).collect()
    };
    Figure::new(
        "peers",
        "Peers of each server",
        "Other servers that each one shares data with. With few peers, rebuilds are slow, but fewer sets of failures lose data.",
        Kind::Box {
            x: "placement".to_owned(),
            y: Axis::linear("peers", "servers"),
            boxes: views.iter().map(|view| BoxStats::of(&*view.label, &samples(view))).collect(),
            references: Vec::new(),
        },
    )
}

fn rebuild(views: &[View<'_>]) -> Figure {
    let samples = |view: &View<'_>| -> Vec<f64> {
        view.observed().flat_map(|observed| observed.rebuilt.iter().map(|count| *count as f64)).collect()
    };
    Figure::new(
        "rebuild",
        "Copies that each survivor rebuilds when the last server fails",
        "For each survivor of each replicate. The survivor with the most copies determines how long the rebuild takes.",
        Kind::Box {
            x: "placement".to_owned(),
            y: Axis::linear("rebuilt", "copies"),
            boxes: views.iter().map(|view| BoxStats::of(&*view.label, &samples(view))).collect(),
            references: Vec::new(),
        },
    )
}

fn moved(views: &[View<'_>]) -> Figure {
    Figure::new(
        "moved",
        "Copies that the change moves",
        "Share of all copies, and the minimum share that must move to match the new weights.",
        Kind::Bar {
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
    )
}
