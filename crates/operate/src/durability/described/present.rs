//! Tables and the figure of described systems.

use towtank_report::{Axis, Cell, Column, CurvePoint, Draw, Figure, Kind, LineSeries, Table};
use towtank_study::{Points, Presentation};

use super::answer::{View, answer, compared};
use crate::durability::Durability;

/// The presentation of all points.
pub(in crate::durability) fn present(points: &Points<'_, Durability>, views: &[View<'_>]) -> Presentation {
    let Some(first) = views.first() else { return Presentation::default() };
    let is_one = views.len() == 1;
    let mut tables = vec![redundancies(views)];
    if is_one && !first.kept.bursts.is_empty() {
        tables.push(bursts(first));
    }
    let headline = match first.value("loss_probability") {
        None if is_one && !first.kept.bursts.is_empty() => ["burst_loss"],
        _ => ["loss_nines"],
    };
    let figures = if is_one { Vec::new() } else { vec![figure(views)] };
    Presentation {
        answer: if is_one { answer(first) } else { compared(views) },
        headline: points.first_measure(headline),
        main_figure: figures.first().map(|figure| figure.id.clone()),
        tables,
        figures,
        ..Presentation::default()
    }
}

const COLUMNS: [(&str, &str, &str); 8] = [
    ("overhead", "overhead", ""),
    ("repair", "repair_s", "s"),
    ("repair_traffic", "repair_traffic_bytes", "bytes"),
    ("loss_probability", "loss_probability", ""),
    ("low", "loss_low", ""),
    ("high", "loss_high", ""),
    ("nines", "loss_nines", "nines"),
    ("below_share", "below_share", ""),
];

fn redundancies(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("point"), Column::text("redundancy")];
    columns.extend(COLUMNS.map(|(name, _, unit)| Column::number(name, unit)));
    let about = "At equal raw capacity: all have the same disks. The repair is that of one disk alone with its delay; its traffic is \
                 what all repairs of a year read and write.";
    let mut table =
        Table::new("redundancies", "How likely a loss is, and what it takes", columns).about(about);
    for view in views {
        let code = view.code().map_or_else(String::new, super::code::Code::name);
        let mut row: Vec<Cell> = vec![view.name().into(), code.into()];
        row.extend(COLUMNS.map(|(_, measure, _)| match view.value(measure) {
            Some(value) => Cell::from(value),
            None => Cell::missing("it is not known"),
        }));
        table.push(row);
    }
    table
}

fn bursts(view: &View<'_>) -> Table {
    let columns = vec![
        Column::text("burst"),
        Column::number("loss_probability", ""),
        Column::number("low", ""),
        Column::number("high", ""),
        Column::text("found"),
    ];
    let mut table = Table::new("bursts", "What bursts lose", columns);
    for burst in &view.kept.bursts {
        let numbers = [burst.loss, burst.range[0], burst.range[1]];
        let mut row: Vec<Cell> = vec![burst.text.clone().into()];
        row.extend(numbers.map(Cell::from));
        row.push(burst.how.clone().into());
        table.push(row);
    }
    table
}

/// Nines against overhead, a point for each redundancy.
fn figure(views: &[View<'_>]) -> Figure {
    let series = views
        .iter()
        .filter_map(|view| {
            let (x, y) = (view.value("overhead")?, view.value("loss_nines")?);
            let end = |measure: &str| {
                view.value(measure).map(|loss| -libm::log10(loss)).filter(|end| end.is_finite())
            };
            let point = CurvePoint {
                low: end("loss_high").into(),
                high: end("loss_low").into(),
                ..CurvePoint::new(x, y)
            };
            Some(LineSeries { name: view.name(), points: vec![point], draw: Draw::Points })
        })
        .collect();
    Figure::new(
        "nines",
        "Nines against overhead",
        "Further up is safer, further left is cheaper. Bars are intervals of 95 % by sampling alone; an exact value has none.",
        Kind::Line {
            x: Axis::linear("Raw bytes for each byte of data", ""),
            y: Axis::linear("Nines of any loss", "nines"),
            series,
            references: Vec::new(),
        },
    )
}
