//! Copies and shards that are left but belong elsewhere: the map was changed, or a device was added.
//!
//! Copies have no order, so a copy moves only if its device is not among the wanted ones. Shards belong to
//! their places, and may change them among the same devices: a device then holds its old shard and the new
//! one until the record is complete, as in Ceph, where a shard is identified by its device and its place.

use crate::model::SPARES;
use crate::plan::{DeviceId, MOVES, NOWHERE};

/// The priority of records that lack nothing: they are moved after all those that lack a copy or shard, as
/// Ceph does (`OSD_BACKFILL_DEGRADED_PRIORITY_BASE` is above `OSD_BACKFILL_PRIORITY_BASE`).
pub(super) const COMPLETE: u8 = MOVES as u8;

const _: () = assert!(MOVES as usize == SPARES - 1, "records that move have the last row");

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
    /// Devices that are known to be down.
    pub down: &'a [bool],
}

impl Placed<'_> {
    /// Adds a home for each copy that is left and is to move; `aims` has the homes of lost copies. Returns
    /// how many were added.
    pub(super) fn aim_copies(&self, aims: &mut [DeviceId]) -> usize {
        let mut added = 0;
        for (place, holder) in self.holders.iter().enumerate() {
            if *holder == NOWHERE || self.wanted.contains(holder) {
                continue;
            }
            let free = |home: &&DeviceId| {
                self.answers(**home) && !self.holders.contains(home) && !aims.contains(home)
            };
            if let Some(home) = self.wanted.iter().find(free).copied() {
                aims[place] = home;
                added += 1;
            }
        }
        added
    }

    /// Writes a home for each shard that is lost or is to move.
    pub(super) fn aim_shards(&self, aims: &mut [DeviceId]) {
        let away = |place: usize| self.wanted[place] != self.holders[place];
        for (place, aim) in aims.iter_mut().enumerate() {
            let home = self.wanted[place];
            let is_first = !self.wanted[..place].contains(&home);
            *aim = if away(place) && is_first && self.answers(home) { home } else { NOWHERE };
        }
        self.make_way(aims);
    }

    /// How many shards are left, have another home that is up, and get none of `aims`.
    pub(super) fn staying(&self, aims: &[DeviceId]) -> usize {
        let stays = |place: usize| {
            let (holder, home) = (self.holders[place], self.wanted[place]);
            holder != NOWHERE && home != holder && self.answers(home) && aims[place] == NOWHERE
        };
        (0..aims.len()).filter(|place| stays(*place)).count()
    }

    fn answers(&self, home: DeviceId) -> bool {
        home != NOWHERE && !self.down[home.index()]
    }

    /// A device holds one shard of a record: it takes another only if its own moves away.
    fn make_way(&self, aims: &mut [DeviceId]) {
        loop {
            let stays = |aim: &DeviceId, aims: &[DeviceId]| {
                let held = self.holders.iter().position(|holder| holder == aim);
                held.is_some_and(|held| aims[held] == NOWHERE)
            };
            let blocked = aims.iter().position(|aim| *aim != NOWHERE && stays(aim, aims));
            let Some(blocked) = blocked else { return };
            aims[blocked] = NOWHERE;
        }
    }
}

/// The devices from which shards are copied that only move: each from its own old device. None if a lost
/// shard is to be made again too, or an old device takes another shard: then as many are read as the data
/// need.
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

    fn with<T>(holders: &[i64], wanted: &[i64], ask: impl FnOnce(&Placed<'_>) -> T) -> T {
        let (holders, wanted) = (devices(holders), devices(wanted));
        let mut down = [false; 10];
        down[9] = true;
        ask(&Placed { holders: &holders, wanted: &wanted, down: &down })
    }

    #[test]
    fn copies_move_as_a_set() {
        type Case = (&'static str, &'static [i64], &'static [i64], &'static [i64], usize, &'static [i64]);
        let cases: [Case; 5] = [
            ("another order", &[1, 2, 3], &[3, 1, 2], &[-1, -1, -1], 0, &[-1, -1, -1]),
            ("one copy", &[1, 2, 3], &[1, 4, 3], &[-1, -1, -1], 1, &[-1, 4, -1]),
            ("two copies", &[1, 2, 3], &[5, 4, 3], &[-1, -1, -1], 2, &[5, 4, -1]),
            ("the lost one takes 4", &[1, 2, -1], &[1, 4, 5], &[-1, -1, 4], 1, &[-1, 5, 4]),
            ("its home is down", &[1, 2, 3], &[1, 9, 3], &[-1, -1, -1], 0, &[-1, -1, -1]),
        ];
        for (name, holders, wanted, lost, count, want) in cases {
            let mut aims = devices(lost);
            assert_eq!(with(holders, wanted, |placed| placed.aim_copies(&mut aims)), count, "{name}");
            assert_eq!(aims, devices(want), "{name}");
        }
    }

    #[test]
    fn shards_move_by_place() {
        type Case = (&'static str, &'static [i64], &'static [i64], &'static [i64]);
        let cases: [Case; 8] = [
            ("one shard", &[1, 2, 3, 4], &[1, 5, 3, 4], &[-1, 5, -1, -1]),
            ("no home", &[1, 2, 3, 4], &[1, -1, 3, 4], &[-1, -1, -1, -1]),
            ("its home is down", &[1, 2, 3, 4], &[1, 9, 3, 4], &[-1, -1, -1, -1]),
            ("two change places", &[1, 2, 3, 4], &[2, 1, 3, 4], &[2, 1, -1, -1]),
            ("three do", &[1, 2, 3, 4], &[2, 3, 1, 4], &[2, 3, 1, -1]),
            ("the home stays taken", &[1, 2, 3, 4], &[2, -1, 3, 4], &[-1, -1, -1, -1]),
            ("a lost one too", &[1, -1, 3, 4], &[1, 5, 6, 4], &[-1, 5, 6, -1]),
            ("its home holds one that moves", &[1, -1, 3, 4], &[5, 1, 3, 4], &[5, 1, -1, -1]),
        ];
        for (name, holders, wanted, want) in cases {
            let mut aims = devices(&[-1; 4]);
            with(holders, wanted, |placed| placed.aim_shards(&mut aims));
            assert_eq!(aims, devices(want), "{name}");
        }
    }

    #[test]
    fn shards_that_stay_are_counted() {
        let staying = |wanted: &[i64], aims: &[i64]| {
            with(&[1, 2, 3, -1], wanted, |placed| placed.staying(&devices(aims)))
        };
        assert_eq!(staying(&[2, 3, 1, 4], &[-1, -1, -1, 4]), 3);
        assert_eq!(staying(&[5, 2, 3, 4], &[5, -1, -1, -1]), 0, "it moves, and a lost one is not left");
        assert_eq!(staying(&[9, 2, -1, 4], &[-1, -1, -1, -1]), 0, "a home that is down, and none");
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
        assert!(
            moves(&[1, 2, 3], &[2, 1, -1], &mut found),
            "two change places, and each is read where it is"
        );
        assert_eq!(found, devices(&[1, 2]));
        assert!(!moves(&[1, 2, 3], &[-1, -1, -1], &mut found));
    }

    #[test]
    fn what_lacks_something_comes_first() {
        assert_eq!([priority(0, 2), priority(1, 1), priority(2, 1), priority(7, 1)], [0, 1, 2, 2]);
        assert_eq!(priority(0, 0), COMPLETE);
    }
}
