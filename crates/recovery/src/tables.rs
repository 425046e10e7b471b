//! Tables of what machines did in a recovery.

use towtank_report::{Cell, Column, Table};

use crate::slowest::{Runs, Slowest};

/// How busy each resource was, in the first replicate of each point.
#[must_use]
pub fn resources(points: &[Runs<'_>]) -> Table {
    let mut columns = vec![Column::text("point"), Column::text("resource"), Column::text("busiest")];
    columns.extend(["busiest_share", "mean_share"].map(|name| Column::number(name, "fraction")));
    columns.extend(["saturated", "of"].map(|name| Column::number(name, "")));
    let about =
        "Shares of the transfer time, in the first replicate. Saturated means busy for at least 90 % of it.";
    let mut table = Table::new("resources", "Utilisation of the resources", columns).about(about);
    for runs in points {
        for resource in &runs.observed[0].resources {
            table.push(vec![
                runs.name.as_str().into(),
                resource.kind.name().into(),
                resource.which.as_str().into(),
                resource.busiest.into(),
                resource.mean.into(),
                resource.saturated.into(),
                resource.count.into(),
            ]);
        }
    }
    table
}

/// The disks of one server in the slowest replicate; none where disks are not listed.
#[must_use]
pub fn disks(slowest: &Slowest<'_, '_>) -> Option<Table> {
    let seen = &slowest.seen.disks;
    let mut columns = vec![Column::text("disk")];
    columns.extend(["read", "written"].map(|name| Column::number(name, "bytes")));
    columns.push(Column::number("busy", "fraction"));
    let about = format!(
        "Disks but those that failed and were not replaced in place{}. Busy is a share of the transfer time.",
        slowest.which()
    );
    let mut table = Table::new("disks", "Results of each disk", columns).about(&about);
    for disk in seen {
        table.push(vec![disk.disk.as_str().into(), disk.read.into(), disk.written.into(), disk.busy.into()]);
    }
    (!seen.is_empty()).then_some(table)
}

/// The survivors of the slowest replicate.
#[must_use]
pub fn servers(slowest: &Slowest<'_, '_>) -> Table {
    let seen = &slowest.seen.servers;
    let named = seen.iter().any(|server| server.name.is_some());
    let grouped = seen.iter().any(|server| server.groups.is_some());
    let paired = seen.iter().any(|server| server.peers.is_some());
    let held = slowest.seen.held_in.as_deref();
    let mut columns = vec![if named { Column::text("server") } else { Column::number("server", "") }];
    columns.extend(["sent", "received", "read", "written"].map(|name| Column::number(name, "bytes")));
    columns
        .extend(["disk_busy", "sending_busy", "receiving_busy"].map(|name| Column::number(name, "fraction")));
    columns.push(Column::number("rebuilt", "copies"));
    columns.extend(grouped.then(|| Column::number("rebuilt_groups", "groups")));
    columns.extend(paired.then(|| Column::number("active_peers", "servers")));
    columns.push(Column::number("active", "s"));
    columns.extend(held.map(|unit| Column::number("held_before", unit)));
    let about = format!(
        "Survivors{}. Busy is a share of the transfer time; with several disks, that of the busiest. Active is the time until a \
         server had sent and received all of its part.",
        slowest.which()
    );
    let mut table = Table::new("servers", "Results of each server", columns).about(&about);
    let or_missing = |value: Option<u64>| value.map_or_else(|| Cell::missing("it is not known"), Cell::from);
    for server in seen {
        let mut row: Vec<Cell> =
            vec![if named { server.label().into() } else { u64::from(server.server).into() }];
        row.extend([server.sent, server.received, server.read, server.written].map(Cell::from));
        row.extend([server.disk_busy, server.sending_busy, server.receiving_busy].map(Cell::from));
        row.push(server.rebuilt.into());
        row.extend(grouped.then(|| or_missing(server.groups)));
        row.extend(paired.then(|| or_missing(server.peers.map(u64::from))));
        row.push(server.active_s.into());
        row.extend(held.map(|_| or_missing(server.held)));
        table.push(row);
    }
    table
}
