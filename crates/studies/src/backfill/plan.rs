//! `towtank backfill plan`: how many leaves to use for a pool, how much memory they take, and what an outage
//! will cost by each discovery.
//!
//! Everything is computed from equations, not simulated: `towtank_merkle::plan` has the equations of the
//! thesis. They leave out the queues of disks and networks, which the study simulates.

mod figures;

use serde_json::json;
use towtank_merkle::plan::{Costs, Plan, Pool};
use towtank_report::human::quantity;
use towtank_report::{Cell, Column, Table};
use towtank_scenario::{Problem, Problems};
use towtank_units::{Frequency, SimSpan};

use super::scenario::Redundancy;
use towtank_study::{Given, Output, Subcommand, SubcommandFlag};

/// The subcommand `plan`.
pub(super) const PLAN: Subcommand = Subcommand {
    name: "plan",
    about: "Leaves to use for a pool, their memory, and the cost of an outage with each discovery",
    help: "All values come from the equations of the thesis, without a simulation: objects fall on leaves as in the coupon \
           collector's problem. Seconds are for one group, one step after the other, without queues. Costs are those of the \
           thesis's cluster, unless --look-cost is set.",
    flags: &[
        flag("objects-per-group", "N", "250000", "Objects per placement group"),
        flag("writes-per-second", "FREQUENCY", "1000/s", "Writes of clients to the pool"),
        flag("outage", "SPAN", "1h", "Time for which a replica is down"),
        flag("groups", "N", "128", "Placement groups of the pool"),
        flag("replicas", "N", "", "Copies of each object [default: 3]"),
        flag("ec", "K+M", "", "Erasure coding in place of copies, such as 4+2; each shard has its own tree"),
        flag("devices", "N", "", "Devices that hold the pool [default: as many as there are copies]"),
        flag("ranges", "N", "", "Leaves of a group's tree, a power of two [default: what its objects fill]"),
        flag("sketch-cells", "N", "", "Cells of a group's sketch [default: enough for the stale objects]"),
        flag("look-cost", "SPAN", "5.2ms", "Time to compare one object"),
    ],
    answer,
};

const fn flag(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    about: &'static str,
) -> SubcommandFlag {
    SubcommandFlag { name, value, default, about }
}

/// The pool of the flags, or every problem of the flags at once.
fn pool(given: &Given<'_>) -> Result<Pool, Problems> {
    let mut problems = Problems::new();
    let mut count = |flag: &str| {
        let read = given.text(flag).map(|_| given.read::<u64>(flag, "give a whole number from 1"));
        match read {
            Some(Ok(0)) => problems.push(Problem::new(format!("--{flag} is 0")).hint("give at least 1")),
            Some(Ok(count)) => return Some(count),
            Some(Err(problem)) => problems.push(problem),
            None => {}
        }
        None
    };
    let objects = count("objects-per-group");
    let groups = count("groups");
    let replicas = count("replicas");
    let devices = count("devices");
    let ranges = count("ranges");
    let sketch_cells = count("sketch-cells");
    let code = code(given, &mut problems);
    let replicas = match code {
        Some(code) => Some(u64::from(code.width)),
        None => replicas.or(Some(3)),
    };
    let mut span = |flag: &str, hint: &str| {
        given.read::<SimSpan>(flag, hint).map_err(|problem| problems.push(problem)).ok()
    };
    let outage = span("outage", "give a time with its unit, such as 1h");
    let look = span("look-cost", "give a time with its unit, such as 5.2ms");
    let writes = rate(given).map_err(|problem| problems.push(problem)).ok();
    if let Some(ranges) = ranges.filter(|ranges| !ranges.is_power_of_two() || *ranges > 1 << 24) {
        let message = format!("--ranges is {ranges}, but a tree has a power of two of leaves, at most 2^24");
        let near = ranges.clamp(1, 1 << 24).next_power_of_two();
        problems.push(Problem::new(message).hint(format!("use {near}")));
    }
    if let (Some(devices), Some(replicas)) = (devices, replicas)
        && devices < replicas
    {
        let what = if code.is_some() { "shards" } else { "copies" };
        let message = format!("--devices is {devices}, but {replicas} {what} need as many devices");
        problems.push(Problem::new(message).hint(format!("give at least {replicas}")));
    }
    let all = || {
        Some(Pool {
            objects_per_group: objects? as f64,
            groups: groups?,
            replicas: replicas?,
            devices: devices.or(replicas)?,
            writes_per_second: writes?,
            outage_s: outage?.as_secs_f64(),
            leaf_bits: ranges.map(|ranges| ranges.trailing_zeros() as u8),
            sketch_cells,
            costs: Costs { look_s: look?.as_secs_f64(), ..Costs::THESIS },
        })
    };
    match all() {
        Some(pool) => problems.into_result(pool),
        None => Err(problems),
    }
}

/// The erasure code, where one is given in place of copies.
fn code(given: &Given<'_>, problems: &mut Problems) -> Option<Redundancy> {
    let text = given.text("ec")?;
    if given.text("replicas").is_some() {
        let message = "--replicas and --ec both set the redundancy";
        problems.push(Problem::new(message).hint("leave one of them out"));
    }
    let code = Redundancy::of_code(text);
    if code.is_none() {
        let message = format!("--ec is `{text}`, which is not an erasure code");
        problems.push(Problem::new(message).hint("give data and parity shards, such as 4+2"));
    }
    code
}

/// Writes per second, given with or without the unit.
fn rate(given: &Given<'_>) -> Result<f64, Problem> {
    let hint = "give writes per second, such as 1000/s";
    let plain = given.text("writes-per-second").and_then(|text| text.trim().parse::<f64>().ok());
    match plain {
        Some(rate) if rate >= 0.0 && rate.is_finite() => Ok(rate),
        Some(rate) => Err(Problem::new(format!("--writes-per-second is {rate}")).hint(hint)),
        None => given.read::<Frequency>("writes-per-second", hint).map(Frequency::per_second_f64),
    }
}

fn answer(given: &Given<'_>) -> Result<Output, Problems> {
    let pool = pool(given)?;
    let plan = pool.plan().map_err(|error| Problem::new(error.to_string()))?;
    Ok(Output {
        text: text(&pool, &plan),
        data: data(&pool, &plan),
        tables: vec![discoveries(&plan)],
        figures: figures::all(&pool, &plan),
    })
}

fn discoveries(plan: &Plan) -> Table {
    let columns = vec![
        Column::text("discovery"),
        Column::number("looked_at", "objects"),
        Column::number("bytes", "bytes"),
        Column::number("messages", ""),
        Column::number("seconds", "s"),
    ];
    let mut table = Table::new("discoveries", "Cost of finding the stale objects of a group", columns);
    for method in &plan.methods {
        let numbers = [method.looked_at, method.bytes, method.messages, method.seconds];
        let mut row = vec![Cell::from(method.discovery.name())];
        row.extend(numbers.map(Cell::from));
        table.push(row);
    }
    table
}

fn data(pool: &Pool, plan: &Plan) -> serde_json::Value {
    let methods = plan.methods.iter().map(|method| {
        let cost = json!({
            "looked_at": method.looked_at,
            "bytes": method.bytes,
            "messages": method.messages,
            "seconds": method.seconds,
        });
        (method.discovery.name().replace('-', "_"), cost)
    });
    json!({
        "objects_per_group": pool.objects_per_group,
        "groups": pool.groups,
        "replicas": pool.replicas,
        "devices": pool.devices,
        "leaves": plan.leaves,
        "ranges_filled": plan.ranges_filled,
        "memory_bytes_per_group": plan.memory_bytes_per_group,
        "memory_bytes_per_device": plan.memory_bytes_per_device,
        "sketch_cells": plan.sketch_cells,
        "sketch_bytes_per_group": plan.sketch_bytes_per_group,
        "groups_per_device": plan.groups_per_device,
        "writes_per_group": plan.writes_per_group,
        "stale_objects": plan.stale_objects,
        "stale_objects_by_the_thesis": plan.stale_objects_in_thesis,
        "stale_ranges": plan.stale_ranges,
        "objects_to_check_per_write": plan.objects_to_check_per_write,
        "discovery": methods.collect::<serde_json::Map<_, _>>(),
    })
}

fn text(pool: &Pool, plan: &Plan) -> String {
    let bytes = |count: f64| quantity(count, "bytes");
    let count = |value: f64| quantity(value, "");
    let mut lines = vec![
        format!(
            "Use {} leaves per group: {} objects fill {} ranges. Trees take {} per group and {} per device.",
            plan.leaves,
            count(pool.objects_per_group),
            count(plan.ranges_filled),
            bytes(plan.memory_bytes_per_group as f64),
            bytes(plan.memory_bytes_per_device as f64),
        ),
        format!(
            "After the outage, {} of {} objects of a group are stale ({:.1} %), from {} writes; they lie in {} of the ranges.",
            count(plan.stale_objects),
            count(pool.objects_per_group),
            100.0 * plan.stale_objects / pool.objects_per_group,
            count(plan.writes_per_group),
            count(plan.stale_ranges),
        ),
    ];
    lines.push(String::new());
    lines.push("Cost of finding them, for one group:".to_owned());
    let rows: Vec<[String; 4]> = plan
        .methods
        .iter()
        .map(|method| {
            [
                method.discovery.name().to_owned(),
                format!("{} objects", count(method.looked_at)),
                bytes(method.bytes),
                quantity(method.seconds, "s"),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(width).collect();
    let padded = |row: &[String; 4]| {
        format!(
            "  {:<w0$}  {:>w1$} compared  {:>w2$} sent  {:>w3$}",
            row[0],
            row[1],
            row[2],
            row[3],
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3]
        )
    };
    lines.extend(rows.iter().map(padded));
    lines.push(String::new());
    lines.push(
        "Not included: queues at disks and NICs, copies of stale objects, and recovery sleeps. `towtank backfill` simulates them."
            .to_owned(),
    );
    lines.join("\n") + "\n"
}
