//! Tables and the figure of an answer.

use towtank_report::{Axis, Cell, Column, CurvePoint, Draw, Figure, Kind, LineSeries, Table};

use super::Eta;
use super::answer::{View, answer, compared};
use towtank_study::{Points, Presentation};

/// The presentation of all points of the study.
pub(super) fn present(points: &Points<'_, Eta>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let Some(first) = views.first() else { return Presentation::default() };
    let mut tables = vec![times(&views)];
    if views.len() == 1 && !first.kept.last.is_empty() {
        tables.push(last(first));
    }
    Presentation {
        answer: if views.len() == 1 { answer(first) } else { compared(&views) },
        headline: points.first_measure(["time_to_clean_s"]),
        tables,
        figures: if views.len() == 1 { left(first).into_iter().collect() } else { Vec::new() },
        ..Presentation::default()
    }
}

const COLUMNS: [(&str, &str); 6] = [
    ("time_to_clean", "time_to_clean_s"),
    ("low", "time_to_clean_low_s"),
    ("high", "time_to_clean_high_s"),
    ("time_to_full_redundancy", "time_to_full_redundancy_s"),
    ("time_to_min_size", "time_to_min_size_s"),
    ("time_to_end", "time_to_end_s"),
];

fn times(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("report")];
    columns.extend(COLUMNS.map(|(name, _)| Column::number(name, "s")));
    let mut table = Table::new("times", "How long it still takes", columns);
    for view in views {
        let mut row: Vec<Cell> = vec![view.name().into()];
        row.extend(COLUMNS.map(|(_, measure)| match view.value(measure) {
            Some(value) => Cell::from(value),
            None => Cell::missing("it is not known"),
        }));
        table.push(row);
    }
    table
}

/// Copies that are left, as reports counted them and as they are expected.
fn left(view: &View<'_>) -> Option<Figure> {
    let kept = view.kept;
    if kept.ahead.is_empty() || view.value("time_to_clean_s").is_none() {
        return None;
    }
    let counted = kept.counted.iter().map(|(at, left)| CurvePoint::new(*at, *left as f64));
    let expected = kept.ahead.iter().map(|ahead| {
        let [left, low, high] = ahead.left;
        CurvePoint { low: low.into(), high: high.into(), ..CurvePoint::new(ahead.at_s, left) }
    });
    let kind = Kind::Line {
        x: Axis::linear("time", "s"),
        y: Axis::linear("copies left", "copies"),
        series: vec![
            LineSeries {
                name: "Counted by reports".to_owned(),
                points: counted.collect(),
                draw: Draw::Points,
            },
            LineSeries { name: "Expected".to_owned(), points: expected.collect(), draw: Draw::Line },
        ],
        references: Vec::new(),
    };
    let about = "Copies and shards that are missing or misplaced; the latest report is at 0. Expected are the median and 10 to \
                 90 % of the drawn orders of groups, at the speeds that are likely. Groups that peer count nothing for some seconds.";
    Some(Figure::new("left", "What is left", about, kind))
}

fn last(view: &View<'_>) -> Table {
    let columns = vec![Column::text("device"), Column::number("orders", "orders")];
    let about = format!(
        "In how many of {} drawn orders of groups each device is the last to be busy.",
        view.kept.drawn
    );
    let mut table = Table::new("last", "Which device is done last", columns).about(about);
    for (osd, count) in &view.kept.last {
        table.push(vec![format!("osd.{osd}").into(), (*count as f64).into()]);
    }
    table
}
