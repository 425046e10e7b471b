//! The state of a cluster in the text format of Prometheus (exposition format 0.0.4).
//!
//! Names follow the conventions of Prometheus: base units, `_total` for counters, a `HELP` and a `TYPE` line
//! for each family. Daemons' counters begin at 0 when they start, as Prometheus allows.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::frames::{Counters, GroupReport, Report, Standing};
use crate::health::Health;

/// All metric families, each with its rows.
#[must_use]
pub fn text_of(standing: &Standing, health: &Health) -> String {
    let mut page = Page(String::new());
    of_cluster(&mut page, standing, health);
    of_groups(&mut page, standing);
    of_daemons(&mut page, standing);
    page.0
}

/// A family: its name, its help text, and the function that yields a row's value.
type Family<T, V> = (&'static str, &'static str, fn(&T) -> V);

/// A page to which families are appended.
struct Page(String);

impl Page {
    fn family(&mut self, [name, kind, help]: [&str; 3], rows: impl IntoIterator<Item = (String, String)>) {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return;
        }
        let mut line = |text: std::fmt::Arguments<'_>| {
            self.0.write_fmt(text).expect("a string takes what is written to it");
        };
        line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for (labels, value) in rows {
            line(format_args!("{name}{labels} {value}\n"));
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.family([name, "gauge", help], [(String::new(), value.to_string())]);
    }
}

/// A label in braces. Values are names chosen by the store, which need no escaping.
fn label(name: &str, value: impl std::fmt::Display) -> String {
    format!("{{{name}=\"{value}\"}}")
}

fn of_cluster(page: &mut Page, standing: &Standing, health: &Health) {
    let level = match health.word() {
        "HEALTH_OK" => 0,
        "HEALTH_WARN" => 1,
        _ => 2,
    };
    page.gauge("towtank_health_status", "0 for HEALTH_OK, 1 for HEALTH_WARN, 2 for HEALTH_ERR.", level);
    page.gauge("towtank_map_epoch", "Epoch of the newest cluster map.", standing.map.epoch.into());
    page.gauge("towtank_replicas", "Copies of each object.", standing.replicas.into());
    let led = || standing.reports.values().flat_map(|report| report.led.values());
    let objects = led().map(|group| group.objects).sum();
    let bytes = led().map(|group| group.bytes).sum();
    page.gauge("towtank_objects", "Objects, each counted once.", objects);
    page.gauge("towtank_object_bytes", "Bytes of objects, each counted once.", bytes);
    let states = health.states.iter();
    page.family(
        ["towtank_groups", "gauge", "Placement groups by state."],
        states.map(|(state, count)| (label("state", state), count.to_string())),
    );
    let unavailable = health.unavailable.into();
    page.gauge("towtank_groups_unavailable", "Placement groups that serve no requests.", unavailable);
    let help = "Placement groups that may lack copies.";
    page.gauge("towtank_groups_degraded", help, health.degraded.into());
    let help = "Objects missing on a replica, according to the logs.";
    page.gauge("towtank_objects_missing", help, health.missing);
    let help = "Objects of which no running daemon has a valid copy.";
    page.gauge("towtank_objects_unfound", help, health.unfound);
    let help = "Replicas that are in backfill or waiting for it.";
    page.gauge("towtank_replicas_to_backfill", help, health.targets.into());
}

fn of_groups(page: &mut Page, standing: &Standing) {
    let reports = standing.reports.values().filter(|report| report.epoch == standing.map.epoch);
    let groups: BTreeMap<u32, &GroupReport> =
        reports.flat_map(|report| &report.led).map(|(group, report)| (*group, report)).collect();
    let families: [Family<GroupReport, u64>; 4] = [
        ("towtank_group_objects", "Objects of a placement group.", |group| group.objects),
        ("towtank_group_object_bytes", "Bytes of the objects of a placement group.", |group| group.bytes),
        ("towtank_group_objects_missing", "Objects missing on replicas of a placement group.", |group| {
            group.missing
        }),
        ("towtank_group_replicas_to_backfill", "Replicas of a placement group to backfill.", |group| {
            group.targets.into()
        }),
    ];
    for (name, help, value) in families {
        let rows = groups.iter().map(|(group, report)| (label("group", group), value(report).to_string()));
        page.family([name, "gauge", help], rows);
    }
}

fn of_daemons(page: &mut Page, standing: &Standing) {
    let osds = &standing.map.osds;
    let flag = |holds: bool| u8::from(holds).to_string();
    let up = osds.iter().map(|(osd, state)| (label("osd", osd), flag(state.is_up)));
    page.family(["towtank_osd_up", "gauge", "Whether the monitor considers the daemon up."], up);
    let placed = osds.iter().map(|(osd, state)| (label("osd", osd), flag(state.is_in)));
    page.family(["towtank_osd_in", "gauge", "Whether objects are placed on the daemon."], placed);
    let gauges: [Family<Report, u64>; 8] = [
        ("towtank_osd_map_epoch", "Epoch of the last map that the daemon uses.", |it| it.epoch.into()),
        ("towtank_osd_groups_led", "Placement groups whose primary is this OSD.", |it| it.led.len() as u64),
        ("towtank_osd_objects", "Objects on the daemon.", |it| it.objects),
        ("towtank_osd_object_bytes", "Bytes of the objects on the daemon.", |it| it.bytes),
        ("towtank_osd_disk_bytes", "Bytes that the daemon uses on its disk.", |it| it.disk_bytes),
        ("towtank_osd_free_bytes", "Free bytes on the daemon's file system.", |it| it.free_bytes),
        ("towtank_osd_full", "Whether the daemon is full and refuses new data.", |it| it.is_full.into()),
        ("towtank_osd_summary_bytes", "Bytes of trees, sketches and bitmaps in the daemon's memory.", |it| {
            it.summary_bytes
        }),
    ];
    for (name, help, value) in gauges {
        let reports = standing.reports.iter();
        page.family(
            [name, "gauge", help],
            reports.map(|(osd, report)| (label("osd", osd), value(report).to_string())),
        );
    }
    let counters: [Family<Counters, String>; 8] = [
        ("requests", "Client requests that were answered.", |it| it.requests.to_string()),
        ("transactions", "Transactions that were made durable.", |it| it.transactions.to_string()),
        ("recovered_objects", "Objects recovered on replicas.", |it| it.recovered.to_string()),
        ("examined_objects", "Objects that backfills examined.", |it| it.looked_at.to_string()),
        ("exchanged_bytes", "Bytes of trees, sketches and bitmaps.", |it| it.exchanged_bytes.to_string()),
        ("backfills", "Backfills that have ended.", |it| it.backfills.to_string()),
        ("backfill_seconds", "Time of backfills that have ended.", |it| seconds(it.backfill_ns)),
        ("damaged_objects", "Objects found to be damaged.", |it| it.damaged.to_string()),
    ];
    for (name, help, value) in counters {
        let reports = standing.reports.iter();
        page.family(
            [&format!("towtank_osd_{name}_total"), "counter", help],
            reports.map(|(osd, report)| (label("osd", osd), value(&report.counters))),
        );
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests;
