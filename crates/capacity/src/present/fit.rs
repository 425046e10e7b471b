//! The report of a fit: sizes, the check of the hypothesis with the measured mixes, and the benefit of
//! curvatures.

use towtank_report::{Answer, Axis, Column, Draw, Figure, Ordered, Reference, Report, Table, Warning};

use super::figures::{self, IOPS};
use super::{About, glossary, put, sure, words};
use crate::check::{Checks, VerdictKind};
use crate::elastic::Ranged;
use crate::mix::tidy;
use crate::model::{Model, SizeModel};

const MEASURES: [About; 6] = [
    ("sizes", "", "sizes with pure reads and pure writes"),
    ("f_rw_least", "", "the lowest f_rw of all sizes: how many reads a write costs"),
    ("f_rw_most", "", "the highest f_rw of all sizes"),
    (
        "error_mean",
        "%",
        "mean error of the estimates at the measured mixes, relative to the measured value (8)",
    ),
    ("error_max", "%", "greatest error at a measured mix"),
    (
        "run_spread",
        "%",
        "standard deviation of single runs of one point, pooled over all points, relative to their mean",
    ),
];

/// Builds the report; `checks` compares the model with its own mixes.
#[must_use]
pub fn fitted(model: &Model, checks: &Checks, notes: Vec<String>) -> Report {
    let mut summary = Ordered::new();
    let f_rw = || model.sizes.iter().map(SizeModel::f_rw);
    put(&mut summary, MEASURES[0], sure(model.sizes.len() as f64));
    put(&mut summary, MEASURES[1], sure(f_rw().fold(f64::INFINITY, f64::min)));
    put(&mut summary, MEASURES[2], sure(f_rw().fold(0.0, f64::max)));
    if let Some(whole) = &checks.whole {
        put(&mut summary, MEASURES[3], sure(whole.error_mean));
        put(&mut summary, MEASURES[4], sure(whole.error_max));
    }
    if let Some(spread) = model.spread {
        put(&mut summary, MEASURES[5], sure(100.0 * spread.deviation));
    }
    let mut tables = vec![sizes(model)];
    tables.extend(super::check::tables(checks));
    tables.extend(interpolation(model));
    Report {
        study: "capacity-fit".to_owned(),
        title: match &model.system {
            Some(system) => format!("Capacity of {system}"),
            None => "Capacity of the system".to_owned(),
        },
        answer: Answer::of_text(&answer(model, checks)),
        glossary: glossary(&summary, &MEASURES),
        summary,
        tables,
        figures: figures(model, checks),
        warnings: Warning::by_severity(
            notes.into_iter().map(Warning::note).chain(warnings(model, checks)).collect(),
        ),
        replicates: 0,
        ..Report::default()
    }
}

fn answer(model: &Model, checks: &Checks) -> String {
    let list: Vec<String> = model
        .sizes
        .iter()
        .map(|size| format!("{} at {}", towtank_report::human::digits(size.f_rw()), size.size()))
        .collect();
    let costs = format!("Cost of a write in reads: {}.", super::listed(&list));
    match &checks.whole {
        None => format!("{costs} No mix was measured, so it is unknown whether mixes follow the model."),
        Some(_) => format!("{costs} {}", super::check::verdict_in_words(checks)),
    }
}

fn warnings(model: &Model, checks: &Checks) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if model.spread.is_none() {
        warnings.push(Warning::unknown(
            "no point was run twice, so the spread of runs is unknown and estimates have no intervals",
        ));
    }
    warnings.extend(super::unknown_interval(model).map(Warning::unknown));
    warnings.extend(super::equal_runs(model.spread).map(Warning::unknown));
    for size in &model.sizes {
        for (what, pure) in [("reads", &size.reads), ("writes", &size.writes)] {
            let most = pure.runs.iter().copied().fold(0.0, f64::max);
            let least = pure.runs.iter().copied().fold(f64::INFINITY, f64::min);
            if most > 1.25 * least {
                warnings.push(Warning::unknown(format!(
                    "runs of pure {what} of {} differ by {:.0} %: {} to {}; measure them again",
                    size.size(),
                    100.0 * (most / least - 1.0),
                    words(least, IOPS),
                    words(most, IOPS)
                )));
            }
        }
    }
    if checks.whole.as_ref().is_some_and(|whole| whole.kind == VerdictKind::Fails) {
        warnings.push(Warning::danger(
            "the hypothesis does not hold here: expect the errors below in estimates of mixes",
        ));
    }
    warnings
}

fn sizes(model: &Model) -> Table {
    let columns = vec![
        Column::text("size"),
        Column::number("f_rw", ""),
        Column::number("reads", IOPS),
        Column::number("writes", IOPS),
        Column::number("runs", ""),
        Column::number("mixes", ""),
        Column::number("reads_low", IOPS),
        Column::number("reads_high", IOPS),
        Column::number("writes_low", IOPS),
        Column::number("writes_high", IOPS),
    ];
    let about = "Pure reads and pure writes of each size, with 95 % intervals; f_rw is the rate of reads divided by the rate of writes.";
    let mut table = Table::new("sizes", "Sizes", columns).about(about);
    for size in &model.sizes {
        let ends = |value: Ranged| value.range.unzip();
        let ((reads_low, reads_high), (writes_low, writes_high)) =
            (ends(size.reads.iops), ends(size.writes.iops));
        table.push(vec![
            size.size().into(),
            size.f_rw().into(),
            size.reads.iops.value.into(),
            size.writes.iops.value.into(),
            (size.reads.runs.len() + size.writes.runs.len()).into(),
            size.mixes.len().into(),
            reads_low.into(),
            reads_high.into(),
            writes_low.into(),
            writes_high.into(),
        ]);
    }
    table
}

/// The errors of interpolating each inner size from its neighbours.
fn interpolation(model: &Model) -> Option<Table> {
    let columns =
        vec![Column::text("size"), Column::number("reads_error", "%"), Column::number("writes_error", "%")];
    let about = "Each size is left out and interpolated from its neighbours, to show the error for sizes that were not measured.";
    let mut table = Table::new("interpolation", "Interpolated sizes", columns).about(about);
    for (size, reads, writes) in model.interpolation_errors() {
        table.push(vec![size.size().into(), reads.into(), writes.into()]);
    }
    (!table.rows().is_empty()).then_some(table)
}

fn figures(model: &Model, checks: &Checks) -> Vec<Figure> {
    let categories: Vec<String> = model.sizes.iter().map(SizeModel::size).collect();
    let f_rw: Vec<Ranged> = model.sizes.iter().map(|size| model.f_rw(size)).collect();
    let one = Reference::Horizontal { name: "equal".to_owned(), at: 1.0.into() };
    let mut all = vec![
        figures::figure(
            "f_rw",
            "Cost of a write, by size",
            "f_rw: the rate of pure reads divided by the rate of pure writes. Where a bar is below 1, a write is cheaper than a read.",
            figures::bars(
                "size",
                Axis::linear("f_rw", ""),
                categories,
                vec![figures::ranged("f_rw", &f_rw)],
                vec![one],
            ),
        ),
        figures::capacity(capacities(model)),
    ];
    all.extend(super::check::figures(checks));
    all
}

fn capacities(model: &Model) -> Vec<towtank_report::LineSeries> {
    let line = |size: &SizeModel| {
        let c = size.reads.iops;
        let scaled = |reads: f64, total: Ranged| {
            let factor = reads + (1.0 - reads) * size.f_rw();
            let range = total.range.map(|(low, high)| (low * factor, high * factor));
            figures::point(tidy(100.0 * reads), Ranged { value: total.value * factor, range })
        };
        let mixes = size.mixes.iter().map(|mix| scaled(mix.reads, mix.iops.iops));
        let points = std::iter::once(scaled(0.0, size.writes.iops))
            .chain(mixes)
            .chain(std::iter::once(figures::point(100.0, c)));
        figures::series(size.size(), points.collect(), Draw::Line)
    };
    model.sizes.iter().map(line).collect()
}
