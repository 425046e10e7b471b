//! Tables of an answer.

use towtank_report::{Cell, Column, Table};

use super::Durability;
use super::answer::{View, answer, compared};
use towtank_study::{Points, Presentation};

/// The presentation of all points of the study.
pub(super) fn present(points: &Points<'_, Durability>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let Some(first) = views.first() else { return Presentation::default() };
    let mut tables = vec![losses(&views)];
    if views.len() == 1 {
        tables.push(repairs(first));
        if !first.kept.bursts.is_empty() {
            tables.push(bursts(first));
        }
    }
    Presentation {
        answer: if views.len() == 1 { answer(first) } else { compared(&views) },
        headline: points.first_measure(["loss_nines", "loss_probability"]),
        tables,
        ..Presentation::default()
    }
}

const COLUMNS: [(&str, &str, &str); 6] = [
    ("loss_probability", "loss_probability", ""),
    ("low", "loss_low", ""),
    ("high", "loss_high", ""),
    ("nines", "loss_nines", "nines"),
    ("groups_lost", "groups_lost", ""),
    ("repair", "repair_s", "s"),
];

fn losses(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("point")];
    columns.extend(COLUMNS.map(|(name, _, unit)| Column::number(name, unit)));
    let mut table = Table::new("losses", "How likely a loss is", columns);
    for view in views {
        let mut row: Vec<Cell> = vec![view.name().into()];
        row.extend(COLUMNS.map(|(_, measure, _)| match view.value(measure) {
            Some(value) => Cell::from(value),
            None => Cell::missing("it is not known"),
        }));
        table.push(row);
    }
    table
}

fn repairs(view: &View<'_>) -> Table {
    let columns = vec![
        Column::number("devices", "devices"),
        Column::number("hosts", "hosts"),
        Column::number("repairs", "repairs"),
        Column::number("shortest", "s"),
        Column::number("median", "s"),
        Column::number("of_a_group", "s"),
        Column::number("longest", "s"),
        Column::number("most_lacking", "s"),
        Column::number("replaced", "repairs"),
    ];
    let about = "Recoveries of the cluster by the model of `whatif`: from the failures until nothing lacks anything, the mean \
                 over groups (`of_a_group`), and (median) until no group lacks as many devices as failed. A row of no devices \
                 is what is lacking now.";
    let mut table = Table::new("repairs", "How long repairs take", columns).about(about);
    for times in view.kept.start.iter().chain(&view.kept.times) {
        let at = |hours: &[f64], share: f64| -> Cell {
            let last = hours.len().saturating_sub(1);
            match hours.get((share * last as f64) as usize) {
                Some(hours) => (hours * 3_600.0).into(),
                None => Cell::missing("no group lacks as many"),
            }
        };
        let counts =
            [times.devices, times.hosts, times.whole_h.len() as u64].map(|count| Cell::from(count as f64));
        let mut row: Vec<Cell> = counts.into();
        row.extend([0.0, 0.5].map(|share| at(&times.whole_h, share)));
        row.push(at(&times.mean_h, 0.5));
        row.push(at(&times.whole_h, 1.0));
        row.push(at(&times.exposed_h, 0.5));
        row.push((times.replaced as f64).into());
        table.push(row);
    }
    table
}

fn bursts(view: &View<'_>) -> Table {
    let columns = vec![
        Column::text("burst"),
        Column::number("failed", "parts"),
        Column::number("loss_probability", ""),
        Column::number("low", ""),
        Column::number("high", ""),
        Column::number("groups_lost", ""),
        Column::text("found"),
    ];
    let mut table = Table::new("bursts", "What bursts lose", columns);
    for burst in &view.kept.bursts {
        table.push(vec![
            burst.text.clone().into(),
            (burst.count as f64).into(),
            burst.loss.into(),
            burst.range[0].into(),
            burst.range[1].into(),
            burst.groups.into(),
            burst.how.clone().into(),
        ]);
    }
    table
}
