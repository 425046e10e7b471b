//! What the algorithms guarantee, in words, and the shares of light and heavy servers beside what their
//! weights ask for.

use std::collections::BTreeMap;

use towtank_placement::algorithms::guarantees::{Balance, Cost, Declustering, Movement, Weights};
use towtank_placement::algorithms::{ServerId, Weight};
use towtank_report::{Cell, Column, Table};

use super::view::View;

/// The guarantees of each algorithm.
pub(super) fn promised(views: &[View<'_>]) -> Table {
    let names = ["placement", "balance", "peers", "weights", "on_add", "on_remove", "on_reweight", "cost"];
    let about = "Properties by construction, without sampling noise. Replicas are on different servers; no larger failure domain is known.";
    let mut table =
        Table::new("guarantees", "Guarantees of the algorithms", names.map(Column::text).to_vec())
            .about(about);
    for view in views {
        let Some(given) = view.placement().map(|placement| placement.guarantees()) else { continue };
        let several = view.point.scenario.replicas > 1;
        let moves = |movement| moved_in_words(movement, several);
        let mut row: Vec<Cell> = vec![view.label.as_str().into()];
        let words = [
            balance_in_words(given.balance),
            peers_in_words(given.declustering),
            weights_in_words(given.weights, several),
        ];
        row.extend(words.map(Cell::from));
        row.extend([given.on_add, given.on_remove, given.on_reweight].map(moves).map(Cell::from));
        let cost = match given.cost {
            Cost::Constant => "constant",
            Cost::Logarithmic => "log(servers)",
            Cost::Linear => "servers",
        };
        row.push(cost.into());
        table.push(row);
    }
    table
}

fn balance_in_words(balance: Balance) -> String {
    match balance {
        Balance::Independent => "like independent draws".to_owned(),
        Balance::WithinGroups { members, idle: 0 } => format!("like independent draws, groups of {members}"),
        Balance::WithinGroups { members, idle } => {
            format!("like independent draws, groups of {members}; nothing on {idle} servers in no group")
        }
        Balance::Arcs { virtual_nodes } => format!("arcs of {virtual_nodes} virtual nodes"),
        Balance::Cells { virtual_nodes } => format!("cells of {virtual_nodes} virtual nodes"),
        Balance::Slots { slots } => format!("{slots} slots"),
        Balance::LessLoadedOfTwo => "the less loaded of two".to_owned(),
    }
}

fn peers_in_words(peers: Declustering) -> String {
    match peers {
        Declustering::Everyone => "all servers".to_owned(),
        Declustering::Neighbours { virtual_nodes } => format!("neighbours of {virtual_nodes} nodes"),
        Declustering::Members { members } => format!("{members} of its group"),
    }
}

/// With several copies, weights hold for the first one of a key only.
fn weights_in_words(weights: Weights, several: bool) -> String {
    match weights {
        Weights::Exact if several => "exact for one copy".to_owned(),
        Weights::Exact => "exact".to_owned(),
        Weights::Rounded { steps } => format!("in steps of 1/{steps}"),
        Weights::WithinGroup => "within a group".to_owned(),
        Weights::Ignored => "ignored".to_owned(),
    }
}

fn moved_in_words(movement: Movement, several: bool) -> String {
    match movement {
        Movement::MinimalForOne if several => "the least for one copy".to_owned(),
        Movement::Minimal | Movement::MinimalForOne => "the least".to_owned(),
        Movement::NearMinimal { times_max } => format!("at most {times_max} times the least"),
        Movement::Nothing => "nothing".to_owned(),
        Movement::Most => "most of the data".to_owned(),
        Movement::Unbounded => "no bound known".to_owned(),
    }
}

/// The share of keys of which a server holds a copy, for each weight: by weight, as expected, and as counted.
/// Only where weights differ, or copies are not placed.
pub(super) fn by_weight(views: &[View<'_>]) -> Option<Table> {
    let differs = |view: &View<'_>| {
        !view.point.scenario.cluster().is_equal() || view.value("unplaced").is_some_and(|copies| copies > 0.0)
    };
    if !views.iter().any(differs) {
        return None;
    }
    let columns = vec![
        Column::text("placement"),
        Column::number("weight", ""),
        Column::number("servers", ""),
        Column::number("by_weight", "fraction"),
        Column::number("expected", "fraction"),
        Column::number("counted", "fraction"),
    ];
    let about = "The share of keys of which a server of this weight holds a copy: as its weight asks for; the \
         exact expectation of the algorithm, whose copies are draws of servers that differ; and as counted.";
    let mut table = Table::new("weights", "Shares by weight", columns).about(about);
    for view in views {
        for row in rows_of(view) {
            table.push(row);
        }
    }
    Some(table)
}

/// One row for each weight, the heaviest first.
fn rows_of(view: &View<'_>) -> Vec<Vec<Cell>> {
    let scenario = &view.point.scenario;
    let (cluster, copies) = (scenario.cluster(), scenario.replicas as usize);
    let wanted = cluster.ideal_shares(copies);
    let expected = view.placement().and_then(|placement| placement.expected_shares(copies));
    let runs = view.observed().count() as f64;
    let mut counted = vec![0.0; cluster.ids()];
    for observed in view.observed() {
        for (sum, load) in counted.iter_mut().zip(&observed.loads) {
            *sum += *load as f64 / (scenario.items() as f64 * runs);
        }
    }
    let mut classes: BTreeMap<Weight, Vec<ServerId>> = BTreeMap::new();
    for (server, weight) in cluster.live() {
        classes.entry(weight).or_default().push(server);
    }
    let row = |(weight, servers): (&Weight, &Vec<ServerId>)| {
        let mean = |shares: &[f64]| {
            servers.iter().map(|server| shares[server.index()]).sum::<f64>() / servers.len() as f64
        };
        let expected = expected.as_deref().map_or_else(
            || Cell::missing("not known exactly for this algorithm"),
            |shares| mean(shares).into(),
        );
        vec![
            view.label.as_str().into(),
            weight.as_f64().into(),
            servers.len().into(),
            mean(&wanted).into(),
            expected,
            mean(&counted).into(),
        ]
    };
    classes.iter().rev().map(row).collect()
}
