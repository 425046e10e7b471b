//! The measures of one replicate, and what is kept of it.

use serde::{Deserialize, Serialize};
use towtank_ceph::GroupStates;
use towtank_report::Outcome;

use super::case::Case;
use super::dangers;
use super::moves::{DeviceMoves, Moves};
use crate::titles::titled;
use towtank_study::{Measure, Replicate, Value};

/// The results of one replicate.
pub struct Seen {
    /// The moves.
    pub moves: Moves,
    /// The changes in words.
    pub changes: Vec<String>,
    upmaps_dropped: usize,
}

/// The kept results of a replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The moves.
    pub moves: Moves,
    /// The changes in words.
    pub changes: Vec<String>,
}

/// The results of a replicate.
#[must_use]
pub fn replicate(case: &Case, moves: Moves) -> Replicate<Seen> {
    let mut beside = Outcome { warnings: case.warnings.clone(), ..Outcome::default() };
    beside.warnings.extend(dangers::warnings(&moves));
    let seen = Seen { moves, changes: case.changes.clone(), upmaps_dropped: case.upmaps_dropped };
    Replicate { seen: Ok(seen), beside }
}

impl Seen {
    fn below_min_size(&self) -> Value {
        let safety = &self.moves.safety;
        let known = (safety.min_size_unknown == 0).then_some(safety.below_min_size as f64);
        known.ok_or_else(|| "the osd dump lacks the `min_size` of a pool".to_owned())
    }

    fn by_state(&self, count: fn(&GroupStates) -> u64) -> Value {
        let known = self.moves.states.known(count(&self.moves.states));
        known.ok_or_else(|| "the states of groups are in no export".to_owned())
    }

    fn fullest(&self, fill: fn((f64, f64)) -> f64) -> Value {
        let fills = self.moves.devices.values().filter_map(DeviceMoves::fill);
        let fullest = fills.map(fill).max_by(f64::total_cmp);
        fullest.ok_or_else(|| "no export has the sizes of the devices".to_owned())
    }
}

type Row = Measure<Seen>;

/// The measures of a replicate.
pub fn measures() -> Vec<Row> {
    let mut measures = of_what_moves();
    measures.extend(of_groups());
    measures.extend([
        Row::new("fill_max_before", "share", "fill of the fullest device now", |seen| {
            seen.fullest(|fill| fill.0)
        })
        .titled("Fill of the fullest device now"),
        Row::new("fill_max_after", "share", "fill of the fullest device after the change", |seen| {
            seen.fullest(|fill| fill.1)
        })
        .titled("Fill of the fullest device after the change"),
    ]);
    titled(measures)
}

fn of_what_moves() -> Vec<Row> {
    vec![
        Row::new("moved_bytes", "bytes", "bytes of copies and shards that must be copied", |seen| {
            Ok(seen.moves.moved_bytes as f64)
        })
        .titled("Data to move"),
        // A group with one copy left gets two new ones, so this may exceed 1.
        Row::new("moved_fraction", "share", "moved bytes over all bytes stored", |seen| {
            Ok(seen.moves.moved_fraction())
        })
        .titled("Share of all data to move"),
        Row::new("moved_groups", "groups", "placement groups to copy, also those without objects", |seen| {
            Ok(seen.moves.moved_groups as f64)
        })
        .titled("Placement groups with data to move"),
        Row::new("moved_shards", "shards", "copies and shards to copy", |seen| {
            Ok(seen.moves.moved_shards as f64)
        })
        .titled("Copies and shards to move"),
        Row::new(
            "minimum_bytes",
            "bytes",
            "sum of what devices gain: no move with this outcome can be smaller",
            |seen| Ok(seen.moves.minimum_bytes() as f64),
        )
        .titled("Minimum data to move"),
        Row::new("pending_bytes", "bytes", "bytes that would move without the change", |seen| {
            Ok(seen.moves.pending_bytes as f64)
        })
        .titled("Data that would move anyway"),
        Row::new("stored_bytes", "bytes", "bytes of objects on all devices now", |seen| {
            Ok(seen.moves.stored_bytes as f64)
        })
        .titled("Data stored"),
        Row::new("primaries_changed", "groups", "placement groups that get another primary", |seen| {
            Ok(seen.moves.primaries_changed as f64)
        }),
        Row::new(
            "upmaps_dropped",
            "mappings",
            "explicit mappings that the monitors would drop or cut",
            |seen| Ok(seen.upmaps_dropped as f64),
        ),
    ]
}

fn of_groups() -> Vec<Row> {
    vec![
        Row::new(
            "groups_short",
            "groups",
            "placement groups left with fewer devices than required",
            |seen| Ok(seen.moves.groups_short as f64),
        ),
        Row::new("groups_homeless", "groups", "placement groups left without any device", |seen| {
            Ok(seen.moves.groups_homeless as f64)
        }),
        Row::new(
            "groups_below_min_size",
            "groups",
            "placement groups left with fewer devices than `min_size`, so that they take no writes",
            |seen| seen.below_min_size(),
        ),
        Row::new(
            "groups_on_old_devices",
            "groups",
            "placement groups with fewer devices than `min_size` by the map, which take writes only while the devices \
             that hold them now stay up",
            |seen| Ok(seen.moves.safety.on_old_devices as f64),
        ),
        Row::new(
            "groups_short_now",
            "groups",
            "placement groups that are on fewer devices than required now",
            |seen| Ok(seen.moves.safety.short_now as f64),
        ),
        Row::new("groups_inactive_now", "groups", "placement groups that serve no requests now", |seen| {
            seen.by_state(|states| states.inactive)
        }),
        Row::new("groups_lost_now", "groups", "placement groups with unfound objects now", |seen| {
            seen.by_state(|states| states.lost)
        }),
        Row::new(
            "groups_incomplete_now",
            "groups",
            "placement groups of which nobody knows whether their data are lost, now",
            |seen| seen.by_state(|states| states.incomplete),
        ),
        Row::new(
            "groups_unknown_now",
            "groups",
            "placement groups whose state is unknown or stale now",
            |seen| seen.by_state(|states| states.unknown),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::safety::Safety;
    use super::*;
    use towtank_study::testing::by_hand;

    fn seen() -> Seen {
        let device = |present_bytes, target_bytes, used| DeviceMoves {
            present_bytes,
            target_bytes,
            size_bytes: Some(1_000),
            used_bytes: Some(used),
            ..DeviceMoves::default()
        };
        let safety = Safety { below_min_size: 3, on_old_devices: 92, short_now: 5, ..Safety::default() };
        let states = GroupStates {
            stated: 1,
            inactive: 6,
            lost: 7,
            incomplete: 91,
            unknown: 8,
            ..GroupStates::default()
        };
        let moves = Moves {
            moved_bytes: 150,
            moved_shards: 20,
            moved_groups: 10,
            groups: 100,
            stored_bytes: 600,
            pending_bytes: 30,
            primaries_changed: 4,
            groups_short: 2,
            groups_homeless: 1,
            safety,
            states,
            devices: [(0, device(200, 300, 450)), (1, device(400, 310, 500))].into(),
            ..Moves::default()
        };
        Seen { moves, changes: Vec::new(), upmaps_dropped: 9 }
    }

    #[test]
    fn each_measure_has_its_own_value() {
        let expected = [
            ("moved_bytes", 150.0),
            ("moved_fraction", 0.25),
            ("moved_groups", 10.0),
            ("moved_shards", 20.0),
            ("minimum_bytes", 100.0),
            ("pending_bytes", 30.0),
            ("stored_bytes", 600.0),
            ("primaries_changed", 4.0),
            ("upmaps_dropped", 9.0),
            ("groups_short", 2.0),
            ("groups_homeless", 1.0),
            ("groups_below_min_size", 3.0),
            ("groups_on_old_devices", 92.0),
            ("groups_short_now", 5.0),
            ("groups_inactive_now", 6.0),
            ("groups_lost_now", 7.0),
            ("groups_incomplete_now", 91.0),
            ("groups_unknown_now", 8.0),
            ("fill_max_before", 0.5),
            ("fill_max_after", 0.55),
        ];
        by_hand::hold(measures, &seen(), &expected);
    }
}
