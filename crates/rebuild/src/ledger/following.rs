//! Copies and shards that are left but belong elsewhere: the map was changed, or a device was added.
//!
//! Copies have no order, so a copy moves only if its device is not among the wanted ones. Shards belong to
//! their places. Left out: a shard whose new home holds another shard of the same record stays where it is,
//! because that home would read and write one object at once; so does a copy whose new home does not answer.

use crate::model::SPARES;
use crate::plan::{DeviceId, NOWHERE};

/// The priority of records that lack nothing: they are moved after all those that lack a copy or shard, as
/// Ceph does (`OSD_BACKFILL_DEGRADED_PRIORITY_BASE` is above `OSD_BACKFILL_PRIORITY_BASE`).
pub(super) const COMPLETE: u8 = SPARES as u8 - 1;

/// The priority of a record with `spare` copies or shards beyond those that a read needs, of which `missing`
/// are missing.
pub(super) fn priority(spare: u32, missing: usize) -> u8 {
    if missing == 0 { COMPLETE } else { spare.min(u32::from(COMPLETE) - 1) as u8 }
}

/// One record: its devices, and those that it is to have.
pub(super) struct Placed<'a> {
    /// The device in each place.
    pub holders: &'a [DeviceId],
    /// The devices where the record belongs.
    pub wanted: &'a [DeviceId],
    /// Whether each shard belongs to its place.
    pub by_place: bool,
    /// Devices that are known to be down.
    pub down: &'a [bool],
}

impl Placed<'_> {
    /// Adds a home for each place that is left and is to move; `aims` has the homes of lost places. Returns
    /// how many were added.
    pub(super) fn aim(&self, aims: &mut [DeviceId]) -> usize {
        let free = |home: &DeviceId, aims: &[DeviceId]| {
            *home != NOWHERE
                && !self.holders.contains(home)
                && !aims.contains(home)
                && !self.down[home.index()]
        };
        let mut added = 0;
        for (place, holder) in self.holders.iter().enumerate().filter(|(_, holder)| **holder != NOWHERE) {
            let home = if self.by_place {
                Some(self.wanted[place]).filter(|home| home != holder && free(home, aims))
            } else if self.wanted.contains(holder) {
                None
            } else {
                self.wanted.iter().copied().find(|home| free(home, aims))
            };
            if let Some(home) = home {
                aims[place] = home;
                added += 1;
            }
        }
        added
    }
}

/// The devices from which shards are copied that only move: each from its own old device. None if a lost
/// shard is to be made again too, which takes as many shards as the data need.
pub(super) fn sources(holders: &[DeviceId], aims: &[DeviceId], sources: &mut Vec<DeviceId>) -> bool {
    let aimed = || holders.iter().zip(aims).filter(|(_, aim)| **aim != NOWHERE);
    if aimed().any(|(holder, _)| *holder == NOWHERE) {
        return false;
    }
    sources.clear();
    sources.extend(aimed().map(|(holder, _)| *holder));
    !sources.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(ids: &[i64]) -> Vec<DeviceId> {
        let one = |id: &i64| u32::try_from(*id).map_or(NOWHERE, DeviceId);
        ids.iter().map(one).collect()
    }

    fn aimed(holders: &[i64], wanted: &[i64], lost: &[i64], by_place: bool) -> (usize, Vec<DeviceId>) {
        let (holders, wanted, mut aims) = (devices(holders), devices(wanted), devices(lost));
        let mut down = [false; 10];
        down[9] = true;
        let placed = Placed { holders: &holders, wanted: &wanted, by_place, down: &down };
        (placed.aim(&mut aims), aims)
    }

    #[test]
    fn copies_move_as_a_set_and_shards_by_place() {
        let cases: [(&str, &[i64], &[i64], &[i64], bool, usize, &[i64]); 8] = [
            ("another order", &[1, 2, 3], &[3, 1, 2], &[-1, -1, -1], false, 0, &[-1, -1, -1]),
            ("one copy", &[1, 2, 3], &[1, 4, 3], &[-1, -1, -1], false, 1, &[-1, 4, -1]),
            ("two copies", &[1, 2, 3], &[5, 4, 3], &[-1, -1, -1], false, 2, &[5, 4, -1]),
            ("the lost one takes 4", &[1, 2, -1], &[1, 4, 5], &[-1, -1, 4], false, 1, &[-1, 5, 4]),
            ("its home is down", &[1, 2, 3], &[1, 9, 3], &[-1, -1, -1], false, 0, &[-1, -1, -1]),
            ("one shard", &[1, 2, 3], &[1, 4, 3], &[-1, -1, -1], true, 1, &[-1, 4, -1]),
            ("shards change places", &[1, 2, 3], &[2, 1, 3], &[-1, -1, -1], true, 0, &[-1, -1, -1]),
            ("no home", &[1, 2, 3], &[1, -1, 3], &[-1, -1, -1], true, 0, &[-1, -1, -1]),
        ];
        for (name, holders, wanted, lost, by_place, count, aims) in cases {
            assert_eq!(aimed(holders, wanted, lost, by_place), (count, devices(aims)), "{name}");
        }
    }

    #[test]
    fn a_shard_that_moves_is_read_where_it_is() {
        let mut found = Vec::new();
        let moves = |holders: &[i64], aims: &[i64], found: &mut Vec<DeviceId>| {
            sources(&devices(holders), &devices(aims), found)
        };
        assert!(moves(&[1, 2, 3], &[-1, 7, 8], &mut found));
        assert_eq!(found, devices(&[2, 3]));
        assert!(!moves(&[1, -1, 3], &[-1, 7, 8], &mut found), "a lost shard is decoded");
        assert!(!moves(&[1, 2, 3], &[-1, -1, -1], &mut found));
    }

    #[test]
    fn what_lacks_something_comes_first() {
        assert_eq!([priority(0, 2), priority(1, 1), priority(2, 1), priority(7, 1)], [0, 1, 2, 2]);
        assert_eq!(priority(0, 0), COMPLETE);
    }
}
