//! Tables of an answer.

use towtank_report::{Cell, Column, Table};

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
