//! The report of a check: errors by point, verdicts by size, and a summary in words.

use towtank_report::{
    Answer, Axis, BarSeries, Cell, Column, CurvePoint, Draw, Figure, LineSeries, Ordered, Reference, Report,
    Table, Warning,
};

use super::figures::{self, IOPS};
use super::{About, glossary, put, sure};
use crate::check::{Checked, Checks, Doubt, Verdict, VerdictKind};
use crate::estimate::SizeKind;
use crate::mix::tidy;
use crate::model::Model;

/// The measures that gates may name.
pub const CHECK_MEASURES: [About; 5] = [
    ("points", "points", "mixes that were compared with the model"),
    ("error_mean", "%", "mean error of the estimates, relative to the measured value (8)"),
    ("error_max", "%", "greatest error"),
    ("bias", "%", "mean error with its sign: positive if estimates are too high"),
    (
        "run_spread",
        "%",
        "standard deviation of single runs of one point, pooled over all points, relative to their mean",
    ),
];

/// Builds the report.
#[must_use]
pub fn checked(model: &Model, checks: &Checks, notes: Vec<String>) -> Report {
    let mut summary = Ordered::new();
    if let Some(whole) = &checks.whole {
        let mixed: Vec<&Checked> = checks.points.iter().filter(|point| !point.is_pure()).collect();
        let bias = mixed.iter().map(|point| point.signed_percent()).sum::<f64>() / mixed.len() as f64;
        put(&mut summary, CHECK_MEASURES[0], sure(whole.points as f64));
        put(&mut summary, CHECK_MEASURES[1], sure(whole.error_mean));
        put(&mut summary, CHECK_MEASURES[2], sure(whole.error_max));
        put(&mut summary, CHECK_MEASURES[3], sure(bias));
    }
    if let Some(spread) = checks.spread {
        put(&mut summary, CHECK_MEASURES[4], sure(100.0 * spread.deviation));
    }
    let mut warnings: Vec<Warning> = notes.into_iter().map(Warning::note).collect();
    if checks.spread.is_none() {
        let text = "no point was run twice, so errors cannot be distinguished from chance";
        warnings.push(Warning::unknown(text));
    }
    warnings.extend(super::unknown_interval(model).map(Warning::unknown));
    warnings.extend(super::equal_runs(checks.spread).map(Warning::unknown));
    if checks.whole.is_none() {
        let text = "there are only pure loads here, which say nothing about mixes";
        warnings.push(Warning::unknown(text));
    }
    let mut all = vec![figures::capacity(capacities(model, checks))];
    all.extend(figures(checks));
    Report {
        study: "capacity-check".to_owned(),
        title: match &model.system {
            Some(system) => format!("Does the model of {system} hold?"),
            None => "Does the model hold?".to_owned(),
        },
        answer: Answer::of_text(&verdict_in_words(checks)),
        glossary: glossary(&summary, &CHECK_MEASURES),
        summary,
        tables: tables(checks),
        figures: all,
        warnings: Warning::by_severity(warnings),
        replicates: 0,
        ..Report::default()
    }
}

/// The verdict in a few sentences. What cannot be decided comes first.
pub(super) fn verdict_in_words(checks: &Checks) -> String {
    let Some(whole) = &checks.whole else { return "There is no mix to compare the model with.".to_owned() };
    let Verdict { points, error_mean, error_max, reason, .. } = whole;
    let errors = match points {
        1 => format!("The error at the one mix is {error_max:.1} %."),
        _ => format!(
            "Errors over {points} mixes are {error_mean:.1} % on average and {error_max:.1} % at most."
        ),
    };
    let mut words = doubts(checks);
    words.push(errors);
    words.extend([VerdictKind::Holds, VerdictKind::Fails].into_iter().filter_map(|kind| {
        let of = named(checks, |verdict| verdict.kind == kind)?;
        let within = checks.within;
        Some(match kind {
            VerdictKind::Holds => format!("The hypothesis holds within {within} %{of}."),
            _ => format!("It does not hold within {within} %{of}."),
        })
    }));
    words.extend(reason.as_ref().map(|reason| format!("Likely reason for {reason}.")));
    words.join(" ")
}

/// ` here` if it is all groups that match, ` for a and b` if it is some, and nothing if it is none.
fn named(checks: &Checks, matches: impl Fn(&Verdict) -> bool) -> Option<String> {
    let of: Vec<String> =
        checks.verdicts.iter().filter(|verdict| matches(verdict)).map(|verdict| verdict.of.clone()).collect();
    match of.len() {
        0 => None,
        some if some == checks.verdicts.len() => Some(" here".to_owned()),
        _ => Some(format!(" for {}", super::listed(&of))),
    }
}

/// What cannot be decided, why, and what would decide it.
fn doubts(checks: &Checks) -> Vec<String> {
    let (within, mut words) = (checks.within, Vec::new());
    for doubt in [Doubt::SingleRuns, Doubt::NoInterval, Doubt::WithinSpread] {
        let Some(of) = named(checks, |verdict| verdict.doubt == Some(doubt)) else { continue };
        let why = doubt.words(within);
        words.push(format!("It cannot be told whether the hypothesis holds within {within} %{of}: {why}."));
    }
    let next = match checks.whole.as_ref().and_then(|whole| whole.doubt) {
        None => return words,
        Some(Doubt::SingleRuns) => "Run each point two times or more to decide it.",
        Some(_) => "More or longer runs of each point would decide it.",
    };
    words.push(next.to_owned());
    words
}

pub(super) fn tables(checks: &Checks) -> Vec<Table> {
    let mut tables = Vec::new();
    if checks.whole.is_some() {
        tables.push(verdicts(checks));
    }
    tables.extend(reasons(checks));
    tables.extend(curvatures(checks));
    if !checks.points.is_empty() {
        tables.push(points(checks));
    }
    tables.extend(forms(checks));
    tables
}

fn verdicts(checks: &Checks) -> Table {
    let columns = vec![
        Column::text("of"),
        Column::number("points", ""),
        Column::number("error_mean", "%"),
        Column::number("error_max", "%"),
        Column::text("verdict"),
    ];
    let about = "Errors (8) of the straight line. It holds if no error exceeds the limit, and does not hold if one does, with all errors that the spread of the runs allows. Otherwise, or if the spread is unknown, the verdict is `cannot tell`.";
    let mut table = Table::new("verdicts", "Does it hold?", columns).about(about);
    for verdict in &checks.verdicts {
        table.push(vec![
            verdict.of.as_str().into(),
            verdict.points.into(),
            verdict.error_mean.into(),
            verdict.error_max.into(),
            verdict.kind.name().into(),
        ]);
    }
    table
}

fn reasons(checks: &Checks) -> Option<Table> {
    let columns = vec![Column::text("of"), Column::text("likely")];
    let mut table =
        Table::new("reasons", "Why it may not hold", columns).about("A guess from the shape of the errors.");
    for verdict in &checks.verdicts {
        if let Some(reason) = &verdict.reason {
            table.push(vec![verdict.of.as_str().into(), reason.as_str().into()]);
        }
    }
    (!table.rows().is_empty()).then_some(table)
}

/// How much curvatures reduce the errors.
fn curvatures(checks: &Checks) -> Option<Table> {
    let columns = vec![
        Column::text("of"),
        Column::number("straight", "%"),
        Column::number("one_mix", "%"),
        Column::number("all_others", "%"),
    ];
    let about = "Mean errors of mixes that were left out: predicted by the straight line, with a curvature fitted to one other mix, and with one fitted to all others.";
    let mut table = Table::new("curvature", "Benefit of a curvature", columns).about(about);
    for verdict in &checks.verdicts {
        let Some(left) = verdict.left_out else { continue };
        table.push(vec![
            verdict.of.as_str().into(),
            left.straight_percent.into(),
            left.one_mix_percent.into(),
            left.curved_percent.into(),
        ]);
    }
    (!table.rows().is_empty()).then_some(table)
}

fn points(checks: &Checks) -> Table {
    let all_measured = checks.points.iter().all(|point| point.kind == SizeKind::Measured);
    let mut columns = vec![
        Column::text("mix"),
        Column::number("runs", ""),
        Column::number("measured", IOPS),
        Column::number("estimate", IOPS),
        Column::number("error", "%"),
        Column::flag("may_be_chance"),
    ];
    columns.extend((!all_measured).then(|| Column::text("size_is")));
    let about = "Each measured point beside its estimate. A difference may be chance if it lies within the spread of both numbers.";
    let mut table = Table::new("points", "Point by point", columns).about(about);
    for point in &checks.points {
        let mut row: Vec<Cell> = vec![
            point.mix.to_string().into(),
            point.runs.into(),
            point.measured.value.into(),
            point.estimate.value.into(),
            point.signed_percent().into(),
            point.by_chance.into(),
        ];
        row.extend((!all_measured).then(|| point.kind.name().into()));
        table.push(row);
    }
    table
}

/// Errors of mixes of sizes by both forms, side by side.
fn forms(checks: &Checks) -> Option<Table> {
    let columns = vec![
        Column::text("mix"),
        Column::text("shares_of"),
        Column::number("measured", IOPS),
        Column::number("as_operations_error", "%"),
        Column::number("as_capacity_error", "%"),
    ];
    let about = "The same points with shares taken as shares of operations, where work adds up, and as shares of capacity, the paper's (7).";
    let mut table = Table::new("forms", "Possible meanings of the shares", columns).about(about);
    for point in &checks.points {
        let Some((operations, capacity)) = point.forms_percent else { continue };
        table.push(vec![
            point.mix.to_string().into(),
            point.shares.name().into(),
            point.measured.value.into(),
            operations.into(),
            capacity.into(),
        ]);
    }
    (!table.rows().is_empty()).then_some(table)
}

/// Points by size, in the order of the verdicts.
fn grouped(checks: &Checks, make: impl Fn(&Checked) -> Option<CurvePoint>, draw: Draw) -> Vec<LineSeries> {
    let of = |name: &str| {
        let points = checks.points.iter().filter(|point| point.name() == name).filter_map(&make);
        let mut points: Vec<CurvePoint> = points.collect();
        points.sort_by(|a, b| a.x.partial_cmp(&b.x).unwrap_or(std::cmp::Ordering::Equal));
        figures::series(name, points, draw)
    };
    let series = checks.verdicts.iter().map(|verdict| of(&verdict.of));
    series.filter(|series| !series.points.is_empty()).collect()
}

pub(super) fn figures(checks: &Checks) -> Vec<Figure> {
    if checks.whole.is_none() {
        return Vec::new();
    }
    let against =
        |point: &Checked| (!point.is_pure()).then(|| figures::point(point.measured.value, point.estimate));
    let by_reads = |point: &Checked| {
        let part = point.mix.single()?;
        Some(CurvePoint::new(tidy(100.0 * part.reads), point.signed_percent()))
    };
    let limits = || {
        [("too high", checks.within), ("too low", -checks.within)].map(|(name, at)| Reference::Horizontal {
            name: format!("{name} by {} %", checks.within),
            at: at.into(),
        })
    };
    let shape = towtank_report::Kind::Line {
        x: Axis::linear("reads", "%"),
        y: Axis::linear("error", "%"),
        series: grouped(checks, by_reads, Draw::Line),
        references: limits().to_vec(),
    };
    let mut all = vec![figures::against(grouped(checks, against, Draw::Points)), errors(checks)];
    if let towtank_report::Kind::Line { series, .. } = &shape
        && !series.is_empty()
    {
        let caption = "Estimate minus measurement, relative to the measurement. The shape of a line indicates the reason: see the table of verdicts.";
        all.push(figures::figure("error_by_reads", "Errors by read share", caption, shape));
    }
    all
}

/// Mean errors with their range, by size.
fn errors(checks: &Checks) -> Figure {
    let of = |verdict: &Verdict, pick: &dyn Fn(f64, f64) -> f64, start: f64| {
        let points = checks.points.iter().filter(|point| !point.is_pure() && point.name() == verdict.of);
        points.map(|point| point.error_percent).fold(start, pick)
    };
    let series = BarSeries {
        name: "mean error".to_owned(),
        values: checks.verdicts.iter().map(|verdict| verdict.error_mean.into()).collect(),
        low: checks.verdicts.iter().map(|verdict| of(verdict, &f64::min, f64::INFINITY).into()).collect(),
        high: checks.verdicts.iter().map(|verdict| of(verdict, &f64::max, 0.0).into()).collect(),
    };
    let name = format!("{} %", checks.within);
    figures::figure(
        "errors",
        "Errors by size",
        "Mean error of the estimates (8); the bars reach from the least to the greatest.",
        figures::bars(
            "size",
            Axis::linear("error", "%"),
            checks.verdicts.iter().map(|verdict| verdict.of.clone()).collect(),
            vec![series],
            vec![Reference::Horizontal { name, at: checks.within.into() }],
        ),
    )
}

/// C of each checked point whose size was measured.
fn capacities(model: &Model, checks: &Checks) -> Vec<LineSeries> {
    let make = |point: &Checked| {
        let part = point.mix.single()?;
        let size = model.sizes.iter().find(|size| size.size_bytes == part.size_bytes)?;
        Some(CurvePoint::new(tidy(100.0 * part.reads), size.capacity(part.reads, point.measured.value)))
    };
    grouped(checks, make, Draw::Line)
}
