//! The same figure of several results in one: lines and distributions, a series of each result.

use towtank_report::{EcdfSeries, Figure, Kind, LineSeries, Reference};

use super::Side;

/// The most figures, and the most series of one: choices, so that lines can be told apart.
const FIGURES_MAX: usize = 8;
const SERIES_MAX: usize = 12;

/// The figures that more than one result has, the first result's main figure first.
pub(crate) fn overlaid(sides: &[Side]) -> Vec<Figure> {
    let first = &sides[0].report;
    let is_main = |figure: &&Figure| first.main_figure.as_ref() == Some(&figure.id);
    let main = first.figures.iter().filter(is_main);
    let rest = first.figures.iter().filter(|figure| !is_main(figure));
    main.chain(rest).filter_map(|figure| overlay(figure, sides)).take(FIGURES_MAX).collect()
}

/// A figure with the series of every result that has it on the same axes; none if only one has.
fn overlay(figure: &Figure, sides: &[Side]) -> Option<Figure> {
    let place = |side: &Side| -> Option<usize> {
        let same = |other: &Figure| other.id == figure.id && on_same_axes(&other.kind, &figure.kind);
        side.report.figures.iter().position(same)
    };
    let found = sides.iter().filter_map(|side| Some((side, &side.report.figures[place(side)?].kind)));
    let kinds: Vec<(&Side, &Kind)> = found.collect();
    if kinds.len() < 2 {
        return None;
    }
    let most = (SERIES_MAX / kinds.len()).max(1);
    let kind = match &figure.kind {
        Kind::Line { x, y, references, .. } => Kind::Line {
            x: x.clone(),
            y: y.clone(),
            series: kinds.iter().flat_map(|(side, kind)| lines(side, kind, most)).collect(),
            references: common(references, &kinds),
        },
        Kind::Ecdf { x, references, tail, .. } => Kind::Ecdf {
            x: x.clone(),
            series: kinds.iter().flat_map(|(side, kind)| distributions(side, kind, most)).collect(),
            references: common(references, &kinds),
            tail: *tail,
        },
        _ => return None,
    };
    Some(Figure { kind, ..figure.clone() })
}

/// Whether two figures are of one kind, with the same quantities and units on their axes.
fn on_same_axes(one: &Kind, other: &Kind) -> bool {
    match (one, other) {
        (Kind::Line { x, y, .. }, Kind::Line { x: other_x, y: other_y, .. }) => x == other_x && y == other_y,
        (Kind::Ecdf { x, tail, .. }, Kind::Ecdf { x: other_x, tail: other_tail, .. }) => {
            x == other_x && tail == other_tail
        }
        _ => false,
    }
}

fn lines(side: &Side, kind: &Kind, most: usize) -> Vec<LineSeries> {
    let Kind::Line { series, .. } = kind else { return Vec::new() };
    let named = |one: &LineSeries| LineSeries { name: named(side, &one.name, series.len()), ..one.clone() };
    series.iter().take(most).map(named).collect()
}

fn distributions(side: &Side, kind: &Kind, most: usize) -> Vec<EcdfSeries> {
    let Kind::Ecdf { series, .. } = kind else { return Vec::new() };
    let named = |one: &EcdfSeries| EcdfSeries { name: named(side, &one.name, series.len()), ..one.clone() };
    series.iter().take(most).map(named).collect()
}

/// The name of a series in the legend: the result, and what it is of where a result has several.
fn named(side: &Side, name: &str, series: usize) -> String {
    let result = side.shown();
    if series == 1 { result } else { format!("{result}: {name}") }
}

/// The references that all have.
fn common(references: &[Reference], kinds: &[(&Side, &Kind)]) -> Vec<Reference> {
    let of = |kind: &Kind| match kind {
        Kind::Line { references, .. } | Kind::Ecdf { references, .. } => references.clone(),
        _ => Vec::new(),
    };
    let all = |one: &&Reference| kinds.iter().all(|(_, kind)| of(kind).contains(one));
    references.iter().filter(all).cloned().collect()
}
