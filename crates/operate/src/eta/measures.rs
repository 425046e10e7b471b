//! The measures of a replicate, under the names that `whatif` has for the same.

use super::observed::Seen;
use super::speed::Speed;
use towtank_study::{Measure, Value};

type Row = Measure<Seen>;

/// The measures of a replicate.
pub(super) fn measures() -> Vec<Row> {
    let mut measures = of_times();
    measures.extend(of_counts());
    measures
}

fn of_times() -> Vec<Row> {
    vec![
        Row::new("time_to_clean_s", "s", "from the latest report until all groups are clean", Seen::clean)
            .titled("Time until all groups are clean"),
        Row::new("time_to_clean_low_s", "s", "the lower end of its range", |seen| seen.clean_range(0))
            .titled("Time until all groups are clean, lower end"),
        Row::new("time_to_clean_high_s", "s", "the upper end of its range", |seen| seen.clean_range(1))
            .titled("Time until all groups are clean, upper end"),
        Row::new(
            "time_to_full_redundancy_s",
            "s",
            "from the latest report until no copy or shard is missing; 0 where none is",
            Seen::full,
        )
        .titled("Time until nothing is degraded"),
        Row::new(
            "time_to_min_size_s",
            "s",
            "from the latest report until no group has fewer devices than `min_size`; 0 where none has",
            Seen::min_size,
        )
        .titled("Time until all groups accept writes"),
        Row::new(
            "time_to_end_s",
            "s",
            "until everything that can move has moved; what waits for a device, a flag or room stays behind",
            Seen::end,
        )
        .titled("Time until the last move has ended"),
    ]
}

fn counted(seen: &Seen, which: usize) -> Value {
    let count = seen.observed.counts[which].map(|count| count as f64);
    count.ok_or_else(|| "the latest report does not count them".to_owned())
}

fn per_second(seen: &Seen) -> Value {
    match &seen.observed.speed {
        Speed::Measured(of) => Ok(of.was.saturating_sub(of.left) as f64 / of.since_s),
        Speed::Counted(of) => Ok(of.made() as f64 / of.since_s),
        Speed::Stepped(_) => Err("what is misplaced grows with each step of the manager".to_owned()),
        Speed::Assumed(why) => Err(format!("the speed is not measured: {why}")),
    }
}

fn slowdown(seen: &Seen) -> Value {
    match &seen.observed.speed {
        Speed::Measured(of) => Ok(of.scale[0]),
        Speed::Stepped(of) => Ok(of.scale[0]),
        Speed::Counted(_) => Err("groups that recover by their log have no assumed speed".to_owned()),
        Speed::Assumed(why) => Err(format!("the speed is not measured: {why}")),
    }
}

fn of_counts() -> Vec<Row> {
    vec![
        Row::new(
            "degraded_copies",
            "copies",
            "copies and shards that the latest report counts as missing",
            |seen| counted(seen, 0),
        )
        .titled("Copies missing now"),
        Row::new("misplaced_copies", "copies", "copies and shards that it counts as misplaced", |seen| {
            counted(seen, 1)
        })
        .titled("Copies misplaced now"),
        Row::new(
            "copied_per_s",
            "copies/s",
            "copies that were made per second between the reports",
            per_second,
        )
        .titled("Copies made per second"),
        Row::new(
            "slowdown",
            "ratio",
            "how many times as long as with assumed speeds it takes, as measured",
            slowdown,
        )
        .titled("Time over what is assumed"),
    ]
}
