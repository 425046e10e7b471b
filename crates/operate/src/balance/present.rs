//! Tables of an answer.

use towtank_report::{Cell, Column, Standing, Table};

use super::Balance;
use super::answer::{View, answer, compared, name, words};
use super::dangers::status;
use super::figures;
use super::observed::{Fits, Kept};
use crate::release::GroupLimits;
use towtank_study::{Points, Presentation};

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Balance>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let shown = match &views[..] {
        [] => return Presentation::default(),
        [one] => of_point(one),
        all => Presentation {
            answer: compared(all),
            tables: vec![plans(all)],
            figures: vec![figures::plans(all)],
            ..Presentation::default()
        },
    };
    let verdict = Standing::worst(views.iter().map(|view| (view.point.said(), status(view.kept))));
    Presentation {
        headline: points.first_measure(["max_device_fill"]),
        answer: shown.answer.with_verdict(verdict),
        main_figure: shown.figures.first().map(|figure| figure.id.clone()),
        ..shown
    }
}

fn of_point(view: &View<'_>) -> Presentation {
    let kept = view.kept;
    let mut tables = vec![causes(kept), usable(view), stages(view)];
    tables.extend([commands(kept), groups(kept), devices(kept)]);
    Presentation { answer: answer(view), tables, figures: figures::figures(view), ..Presentation::default() }
}

const NO_SIZE: &str = "no export has the size of the device";

fn causes(kept: &Kept) -> Table {
    let columns = vec![
        Column::text("cause"),
        Column::number("added", "percent"),
        Column::number("fill", "percent"),
        Column::text("fullest"),
        Column::text("meaning"),
    ];
    let about = "The fill of the fullest device, computed with one more fact in each row. Added are percent points; they sum to \
                 the fill that is reported. What a row adds depends on the rows above it.";
    let mut table = Table::new("causes", "Why the fullest device is so full", columns).about(about);
    for cause in &kept.causes {
        let added = match cause.added {
            Some(added) => Cell::from(added * 100.0),
            None => Cell::missing("the sizes of groups are not known"),
        };
        let fullest = match cause.device {
            None => "all".to_owned(),
            id => name(kept, id),
        };
        let (fill, meaning) = (Cell::from(cause.fill * 100.0), words(cause.kind).into());
        table.push(vec![cause.kind.name().into(), added, fill, fullest.into(), meaning]);
    }
    table
}

/// Cells of what fits.
fn cells(kept: &Kept, fits: &Fits, known: bool) -> Vec<Cell> {
    let cell = |value: Option<f64>| match value {
        _ if !known => Cell::missing(NO_SIZE),
        Some(value) => Cell::from(value),
        None => Cell::missing("there is only one host"),
    };
    let loss = fits.after_loss.as_ref();
    vec![
        cell(Some(fits.now.bytes)),
        cell(Some(fits.balanced)),
        cell(Some(fits.planned.bytes)),
        cell(loss.map(|loss| loss.room.bytes)),
        loss.map_or_else(|| "none".to_owned(), |loss| loss.host.clone()).into(),
        name(kept, fits.now.device).into(),
    ]
}

fn usable(view: &View<'_>) -> Table {
    let kept = view.kept;
    let mut columns = vec![Column::text("pool"), Column::number("stored", "bytes")];
    columns
        .extend(["usable", "balanced", "after_plan", "after_loss"].map(|name| Column::number(name, "bytes")));
    columns.extend(["worst_host", "first_full"].map(Column::text));
    let about = format!(
        "Bytes of objects, without copies, until the first device is {} full (`full_ratio`), if this pool alone grows, evenly \
         over its groups; overheads do not grow. Last row: all pools grow in proportion. Balanced is a bound: no placement \
         within rules and device classes holds more. After the loss of the worst host its devices are out, and all copies \
         are made again.",
        super::dangers::percent(kept.safety.limits.full)
    );
    let mut table = Table::new("usable", "What still fits", columns).about(about);
    let known = view.sized();
    for pool in &kept.pools {
        let mut row: Vec<Cell> = vec![pool.name.as_str().into(), pool.bytes.into()];
        row.extend(cells(kept, &pool.fits, known));
        table.push(row);
    }
    if let Some(whole) = &kept.whole {
        let stored: u64 = kept.pools.iter().map(|pool| pool.bytes).sum();
        let mut row: Vec<Cell> = vec!["all in proportion".into(), stored.into()];
        row.extend(cells(kept, whole, known));
        table.push(row);
    }
    table
}

fn stages(view: &View<'_>) -> Table {
    let kept = view.kept;
    let columns = vec![
        Column::number("stage", ""),
        Column::number("moves", "shards"),
        Column::number("moved", "bytes"),
        Column::number("time_at_least", "s"),
        Column::text("slowest"),
        Column::number("fill_max_after", "percent"),
        Column::number("usable_after", "bytes"),
        Column::number("won", "bytes"),
    ];
    let rate = match view.point.scenario.recovery_rate {
        Some(rate) => format!("{rate}, as asked"),
        None => "the write rate of its class in data sheets (190 MB/s hdd, 500 MB/s ssd, 2 GB/s others)"
            .to_owned(),
    };
    let about = format!(
        "Time is that of the bytes alone: the device that takes most, without a pause, at {rate}. Peering, reads, seeks, rests \
         (`osd_recovery_sleep`), reservations (`osd_max_backfills`) and clients make it longer: `towtank whatif --upmap-items` \
         simulates them. Fill and usable are those after the stage, with all copies where the map puts them. Usable: all pools grow \
         in proportion."
    );
    let mut table = Table::new("stages", "The plan, stage by stage", columns).about(about);
    for (number, stage) in (1u32..).zip(&kept.stages) {
        let cell = |value: Option<f64>| match value.filter(|_| view.sized()) {
            Some(value) => Cell::from(value),
            None => Cell::missing(NO_SIZE),
        };
        table.push(vec![
            f64::from(number).into(),
            stage.shards.into(),
            stage.bytes.into(),
            stage.time_s.into(),
            stage.slowest.as_str().into(),
            cell(stage.fill.map(|fill| fill * 100.0)),
            cell(Some(stage.fits.0)),
            cell(Some(stage.fits.1)),
        ]);
    }
    table
}

fn commands(kept: &Kept) -> Table {
    let columns = vec![Column::number("stage", ""), Column::text("command")];
    let about = "To paste, stage by stage, each when the one before has ended (HEALTH_OK). Towtank runs none of them. Switch the \
                 balancer off before (`ceph balancer off`), or it may move the groups back.";
    let mut table = Table::new("commands", "Commands of the plan", columns).about(about);
    for command in &kept.commands {
        table.push(vec![f64::from(command.stage).into(), command.text.as_str().into()]);
    }
    table
}

fn groups(kept: &Kept) -> Table {
    let columns = vec![
        Column::text("pool"),
        Column::number("pg_num", "groups"),
        Column::number("size", "shards"),
        Column::number("share", "percent"),
        Column::number("target", "groups"),
        Column::number("pg_num_advised", "groups"),
    ];
    let GroupLimits { target, max } = kept.safety.groups;
    let about = format!(
        "The advice is the power of two nearest to the target: {target} shards on each device \
         (`mon_target_pg_per_osd`), of which a pool gets its share of the bytes on its devices. Ceph warns above \
         {max} groups a device (`mon_max_pg_per_osd`). Its autoscaler takes the share of the capacity \
         instead, and acts only from a factor of 3."
    );
    let mut table = Table::new("pg_num", "Numbers of groups", columns).about(about);
    for advice in &kept.advice {
        let cell = |value: Option<f64>| match value {
            Some(value) => Cell::from(value),
            None => Cell::missing("the pool is empty"),
        };
        table.push(vec![
            advice.pool.as_str().into(),
            u64::from(advice.pg_num).into(),
            u64::from(advice.size).into(),
            (advice.share * 100.0).into(),
            cell(advice.target),
            cell(advice.advised.map(f64::from)),
        ]);
    }
    table
}

fn devices(kept: &Kept) -> Table {
    let mut columns = vec![Column::text("device"), Column::text("host")];
    columns.extend(["shards", "shards_ideal", "shards_after"].map(|name| Column::number(name, "shards")));
    columns.extend(["bytes", "bytes_ideal", "bytes_after"].map(|name| Column::number(name, "bytes")));
    columns
        .extend(["fill_now", "fill", "fill_ideal", "fill_after"].map(|name| Column::number(name, "percent")));
    let about = "Copies and shards where the map puts them; ideal is what weight, override and rule give; after is after the plan. \
                 Fill now is as reported; the others are the same with other bytes of objects and the same overheads.";
    let mut table = Table::new("devices", "Results of each device", columns).about(about);
    for device in &kept.devices {
        let cell = |part: Option<f64>| match part {
            Some(part) => Cell::from(part * 100.0),
            None => Cell::missing(NO_SIZE),
        };
        let ((now, ideal, after), bytes, fill) = (device.shards, device.bytes, device.fill);
        let mut row: Vec<Cell> = vec![device.name.as_str().into(), device.host.as_str().into()];
        row.extend([now.into(), ideal.into(), after.into()]);
        row.extend([bytes.0.into(), bytes.1.into(), bytes.2.into()]);
        row.extend([
            cell(device.fill_now),
            cell(fill.map(|fill| fill.0)),
            cell(fill.map(|fill| fill.1)),
            cell(fill.map(|fill| fill.2)),
        ]);
        table.push(row);
    }
    table
}

/// For a sweep: each point with its plan.
fn plans(views: &[View<'_>]) -> Table {
    const COLUMNS: [(&str, &str, &str, f64); 6] = [
        ("moves", "moved_shards", "shards", 1.0),
        ("moved", "moved_bytes", "bytes", 1.0),
        ("time_at_least", "plan_time_at_least_s", "s", 1.0),
        ("fill_max_after", "fill_max_after", "percent", 100.0),
        ("usable", "usable_bytes", "bytes", 1.0),
        ("usable_after_plan", "usable_bytes_after_plan", "bytes", 1.0),
    ];
    let mut columns = vec![Column::text("point")];
    columns.extend(COLUMNS.map(|(name, _, unit, _)| Column::number(name, unit)));
    let mut table = Table::new("plans", "The plan of each point", columns);
    for view in views {
        let mut row: Vec<Cell> = vec![view.point.label().into()];
        row.extend(COLUMNS.map(|(_, measure, _, factor)| match view.point.value(measure) {
            Some(value) => Cell::from(value * factor),
            None => Cell::missing(NO_SIZE),
        }));
        table.push(row);
    }
    table
}
