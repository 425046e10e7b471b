//! The measures that only described systems have.

use towtank_study::Measure;

use super::observed::Seen;

type Row = Measure<Seen>;

fn row(name: &'static str, unit: &'static str, about: &'static str) -> Row {
    Row::new(name, unit, about, move |seen: &Seen| seen.value(name))
}

/// The measures beside those of a cluster.
pub(in crate::durability) fn measures() -> Vec<Row> {
    let mut all = losses();
    all.extend(beside());
    all
}

fn losses() -> Vec<Row> {
    vec![
        row("array_loss", "", "probability that one array or pool loses data in the mission")
            .titled("Probability of loss of one array"),
        row("below_share", "", "share of time in which an array or group has fewer members than `min_size`")
            .titled("Share of time below the members to serve with"),
        row(
            "leading_order_loss",
            "",
            "expected losses of all arrays to leading order in failures per repair: a closed form",
        )
        .titled("Losses to leading order"),
        row(
            "period_loss",
            "",
            "P(one array loses data in a period as long as a repair), all disks good at its start (Backblaze)",
        )
        .titled("Probability of loss in one period"),
        row(
            "periods_loss",
            "",
            "the same of such periods in a year of 365 days: low by a factor of m + 1, for comparison",
        )
        .titled("Probability of loss by periods"),
        row(
            "old_model_loss",
            "",
            "column PL(copies) of ceph-tools (2014), of one drive: no durability, for comparison",
        )
        .titled("PL(copies) of ceph-tools"),
        row("old_model_object_loss", "", "the same of one object, without unreadable places")
            .titled("Loss of an object by ceph-tools"),
    ]
}

fn beside() -> Vec<Row> {
    vec![
        row("overhead", "", "raw bytes for each byte of data").titled("Raw bytes for each byte of data"),
        row(
            "repair_traffic_bytes",
            "bytes",
            "bytes that all repairs of a year read and write: k + 1 for each of a disk",
        )
        .titled("Repair traffic of a year"),
        row("failure_rate_per_year", "", "failures of a disk in a year: a rate")
            .titled("Failures of a disk in a year"),
        row("failure_rate_low", "", "the lower end of its exact interval, where failures were counted")
            .titled("Failures of a disk in a year, lower end"),
        row("failure_rate_high", "", "the upper end of that interval")
            .titled("Failures of a disk in a year, upper end"),
        row("unreadable_read", "", "P(at least one unreadable place) in a read of all data of a disk")
            .titled("Probability of an unreadable place on a disk"),
        row("unreachable_share", "", "share of time in which a disk is away with its server or rack")
            .titled("Share of time in which a disk is away"),
    ]
}
