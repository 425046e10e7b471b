//! The measures of a replicate, under the names that `preview`, `whatif` and `rebuild` have for the same.

use towtank_ceph::GroupStates;
use towtank_ceph::balance::{Cause, CauseKind};

use super::observed::{Fits, Kept, Seen};
use towtank_study::{Measure, Value};

type Row = Measure<Seen>;

/// The measures of a replicate.
pub fn measures() -> Vec<Row> {
    let mut measures = of_fill();
    measures.extend(of_causes());
    measures.extend(of_room());
    measures.extend(of_plan());
    measures.extend(of_groups());
    measures
}

const NO_SIZES: &str = "no export has the sizes of the devices";

/// A value for the reader, or that nobody knows how large the devices are.
fn sized(kept: &Kept, value: Option<f64>) -> Value {
    let known = kept.devices.iter().any(|device| device.reported);
    value.filter(|_| known).ok_or_else(|| NO_SIZES.to_owned())
}

fn of_fill() -> Vec<Row> {
    vec![
        Row::new("max_device_fill", "share", "fill of the fullest device now, as reported", |seen| {
            sized(&seen.kept, seen.kept.largest(|device| device.fill_now))
        })
        .titled("Fill of the fullest device now"),
        Row::new(
            "fill_max_ideal",
            "share",
            "fill of the fullest device if each held what weight and rule give it",
            |seen| sized(&seen.kept, seen.kept.largest(|device| Some(device.fill?.1))),
        )
        .titled("Fill of the fullest device by weight and rule"),
        Row::new("fill_max_after", "share", "fill of the fullest device after the plan", |seen| {
            sized(&seen.kept, seen.kept.largest(|device| Some(device.fill?.2)))
        })
        .titled("Fill of the fullest device after the plan"),
    ]
}

const CAUSES: [(CauseKind, &str, &str); 12] = [
    (CauseKind::EvenFill, "fill_even", "fill of all devices if all were equally full"),
    (CauseKind::Overheads, "added_by_overheads", "added by used space beyond the bytes of objects"),
    (CauseKind::Rule, "added_by_rule", "added because rules keep copies apart and pools to their devices"),
    (
        CauseKind::CrushWeights,
        "added_by_crush_weights",
        "added by weights that do not fit the sizes of devices",
    ),
    (CauseKind::Reweights, "added_by_reweights", "added by overrides of weights"),
    (
        CauseKind::Draws,
        "added_by_draws",
        "added because CRUSH gives heavy failure domains less than their weight",
    ),
    (CauseKind::TooFewGroups, "added_by_too_few_groups", "added by chance, since groups are few"),
    (
        CauseKind::SizesBetweenPools,
        "added_by_sizes_between_pools",
        "added because groups of some pools are larger than those of others",
    ),
    (
        CauseKind::SizesWithinPools,
        "added_by_sizes_within_pools",
        "added because groups of a pool differ in size",
    ),
    (CauseKind::Upmaps, "added_by_upmaps", "added by explicit mappings; negative where they help"),
    (CauseKind::UnderWay, "added_by_moves_under_way", "added by data that are on their way elsewhere"),
    (CauseKind::NotExplained, "not_explained", "the rest, where exports contradict each other"),
];

fn of_causes() -> Vec<Row> {
    let row = |(kind, name, about): (CauseKind, &'static str, &'static str)| {
        Row::new(name, "share", about, move |seen: &Seen| {
            let found = |cause: &&Cause| cause.kind == kind;
            match seen.kept.causes.iter().find(found) {
                Some(cause) if cause.added.is_none() => Err("the sizes of groups are not known".to_owned()),
                Some(cause) => sized(&seen.kept, cause.added),
                // The last step is one of the two: what moves, or what nobody can explain.
                None => sized(&seen.kept, (!seen.kept.causes.is_empty()).then_some(0.0)),
            }
        })
        .signed()
    };
    CAUSES.into_iter().map(row).collect()
}

fn of_room() -> Vec<Row> {
    let row = |name: &'static str, about: &'static str, of: fn(&Fits) -> Option<f64>| {
        Row::new(name, "bytes", about, move |seen: &Seen| {
            let whole =
                seen.kept.whole.as_ref().ok_or("nothing is stored, so nothing grows in proportion")?;
            let value = of(whole).ok_or("there is only one host")?;
            sized(&seen.kept, Some(value))
        })
    };
    vec![
        row(
            "usable_bytes",
            "bytes of objects that fit until a device is full, with all pools growing in proportion",
            |fits| Some(fits.now.bytes),
        )
        .titled("What fits now"),
        row("usable_bytes_balanced", "the same with every group as well as its rule allows", |fits| {
            Some(fits.balanced)
        })
        .titled("What would fit at best"),
        row("usable_bytes_after_plan", "the same after the plan", |fits| Some(fits.planned.bytes))
            .titled("What fits after the plan"),
        row("usable_bytes_after_loss", "the same after the loss of the worst host", |fits| {
            Some(fits.after_loss.as_ref()?.room.bytes)
        })
        .titled("What fits after the loss of a host"),
        row("usable_bytes_lost", "what the uneven fill costs: at best, less now", |fits| {
            Some((fits.balanced - fits.now.bytes).max(0.0))
        })
        .titled("What the uneven fill costs"),
    ]
}

fn of_plan() -> Vec<Row> {
    let sum = |name: &'static str, unit, about, of: fn(&super::observed::Staged) -> f64| {
        Row::new(name, unit, about, move |seen: &Seen| Ok(seen.kept.stages.iter().map(of).sum::<f64>()))
    };
    vec![
        sum("moved_bytes", "bytes", "bytes of copies and shards that the plan moves", |stage| {
            stage.bytes as f64
        })
        .titled("Data to move"),
        sum("moved_shards", "shards", "copies and shards that the plan moves", |stage| stage.shards as f64)
            .titled("Copies and shards to move"),
        Row::new("moved_groups", "groups", "placement groups that the plan moves", |seen| {
            Ok(seen.kept.moved_groups as f64)
        })
        .titled("Placement groups with data to move"),
        sum("plan_time_at_least_s", "s", "time of all stages, one after the other, at least", |stage| {
            stage.time_s
        })
        .titled("Time of the plan, at least"),
        Row::new(
            "plan_time_s",
            "s",
            "until all groups are clean if all commands are given at once, as `whatif` has it",
            |seen| seen.kept.time.of(|time| time.clean_s),
        )
        .titled("Time until all groups are clean"),
        Row::new("plan_time_low_s", "s", "the lower end of its range", |seen| {
            seen.kept.time.of(|time| time.range_s[0])
        })
        .titled("Time until all groups are clean, lower end"),
        Row::new("plan_time_high_s", "s", "the upper end of its range", |seen| {
            seen.kept.time.of(|time| time.range_s[1])
        })
        .titled("Time until all groups are clean, upper end"),
        Row::new("upmaps", "mappings", "explicit mappings now", |seen| Ok(seen.kept.safety.upmaps.0 as f64)),
        Row::new(
            "upmaps_dropped",
            "mappings",
            "explicit mappings that the monitors would drop or cut",
            |seen| Ok(seen.kept.safety.upmaps.1 as f64),
        ),
        Row::new(
            "upmaps_to_fuller",
            "mappings",
            "explicit mappings that move data to a fuller device",
            |seen| Ok(seen.kept.safety.upmaps.2 as f64),
        ),
    ]
}

fn of_groups() -> Vec<Row> {
    let state = |name: &'static str, about, of: fn(&GroupStates) -> u64| {
        Row::new(name, "groups", about, move |seen: &Seen| {
            let states = &seen.kept.safety.states;
            states.known(of(states)).ok_or_else(|| "the states of groups are in no export".to_owned())
        })
    };
    vec![
        Row::new("stored_bytes", "bytes", "bytes of objects on all devices", |seen| {
            Ok(seen.kept.devices.iter().map(|device| device.bytes.0).sum::<u64>() as f64)
        })
        .titled("Data stored"),
        Row::new(
            "pending_bytes",
            "bytes",
            "bytes that are on their way to where the map puts them",
            |seen| Ok(seen.kept.safety.pending_bytes as f64),
        )
        .titled("Data that moves now"),
        Row::new(
            "device_groups_max_before",
            "groups",
            "placement groups on the device with the most, now",
            |seen| Ok(seen.kept.devices.iter().map(|device| device.shards_now).max().unwrap_or(0) as f64),
        ),
        Row::new(
            "device_groups_max_after",
            "groups",
            "placement groups on the device with the most, after the plan",
            |seen| Ok(seen.kept.devices.iter().map(|device| device.shards.2).max().unwrap_or(0) as f64),
        ),
        Row::new(
            "groups_short_now",
            "groups",
            "placement groups that are on fewer devices than required now",
            |seen| Ok(seen.kept.safety.short as f64),
        ),
        state("groups_inactive_now", "placement groups that serve no requests now", |states| states.inactive),
        state("groups_lost_now", "placement groups with unfound objects now", |states| states.lost),
        state(
            "groups_incomplete_now",
            "placement groups of which nobody knows whether their data are lost, now",
            |states| states.incomplete,
        ),
        state("groups_unknown_now", "placement groups whose state is unknown or stale now", |states| {
            states.unknown
        }),
    ]
}
