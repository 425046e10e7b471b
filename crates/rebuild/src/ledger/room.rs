//! Which devices have room for what they are to hold.

use super::draft::{Drafted, Halt};
use super::{Ledger, Standing};
use crate::flags::Need;
use crate::homes::Wanted;
use crate::plan::{DeviceId, NOWHERE};

/// A record that stays where it is although it belongs elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stays {
    pub record: usize,
    pub halt: Halt,
}

impl Ledger<'_> {
    /// Whether a device held a part of the record before anything happened: then the bytes on it at first
    /// include it.
    pub(super) fn held(&self, record: usize, device: DeviceId) -> bool {
        self.affected.list(record)[..self.affected.width].contains(&device)
    }

    /// Counts as free what devices hold since an earlier change of the map, and are to give up again. Left
    /// out: that its room is free only once it has left.
    pub(super) fn make_room(&mut self, standing: &mut Standing, mut homes: Option<&mut (dyn Wanted + '_)>) {
        if !self.affected.follows || self.gained.iter().all(|bytes| *bytes == 0) {
            return;
        }
        for record in 0..self.affected.records() {
            let holders = &self.holders[self.places(record)];
            let gained = |holder: &DeviceId| *holder != NOWHERE && !self.held(record, *holder);
            let need = Need { lacks: holders.contains(&NOWHERE), logged: false };
            let stays = standing.flags.stop(need).is_some() || !self.is_readable(record);
            if stays || !holders.iter().any(gained) {
                continue;
            }
            self.aim(record, standing, homes.as_deref_mut());
            let bytes = self.affected.bytes_of(record);
            let (holders, aims) = (&self.holders[self.places(record)], &self.aims[self.places(record)]);
            for (holder, aim) in holders.iter().zip(aims) {
                let leaves = *holder != NOWHERE && *aim != NOWHERE && !aims.contains(holder);
                if leaves && !self.held(record, *holder) {
                    let used = &mut standing.used[holder.index()];
                    *used = used.saturating_sub(bytes);
                }
            }
        }
    }

    /// Decides what is done for each record. What leaves a device was counted as free, so where a record stays
    /// after all, its room is not: what counted on that stays too, and what counted on this.
    pub(super) fn draft_with_room(
        &mut self,
        standing: &mut Standing,
        mut homes: Option<&mut (dyn Wanted + '_)>,
    ) -> Drafted {
        let mut refused = Vec::new();
        let mut kept = vec![0u64; standing.used.len()];
        loop {
            let mut tried = standing.clone();
            tried.used = sum(&standing.used, &kept);
            let drafted = self.draft(&mut tried, homes.as_deref_mut(), &refused);
            let known = std::mem::replace(&mut kept, self.kept_by(&drafted.stays));
            let more = |(kept, known): (&u64, &u64)| kept.saturating_sub(*known);
            let extra: Vec<u64> = kept.iter().zip(&known).map(more).collect();
            let used = sum(&tried.used, &extra);
            let is_over = |device: usize| extra[device] > 0 && used[device] > standing.limit[device];
            if !(0..used.len()).any(is_over) {
                standing.used = used;
                return drafted;
            }
            refused.resize(self.affected.records(), false);
            drafted.stays.iter().for_each(|stays| refused[stays.record] = true);
        }
    }

    /// The bytes on each device of parts that were to leave it.
    fn kept_by(&self, stays: &[Stays]) -> Vec<u64> {
        let mut kept = vec![0u64; self.gained.len()];
        for &Stays { record, halt } in stays {
            let (holders, aims) = (&self.holders[self.places(record)], &self.aims[self.places(record)]);
            for (holder, aim) in holders.iter().zip(aims) {
                let leaves = *holder != NOWHERE && *aim != NOWHERE && !aims.contains(holder);
                // `make_room` left alone what a flag keeps.
                if leaves && (self.held(record, *holder) || halt == Halt::Room) {
                    let kept = &mut kept[holder.index()];
                    *kept = kept.saturating_add(self.affected.bytes_of(record));
                }
            }
        }
        kept
    }

    /// Whether all homes of a record have room for it; if so, reserves the room.
    pub(super) fn has_room(&self, record: usize, standing: &mut Standing) -> bool {
        let bytes = self.affected.bytes_of(record);
        let (holders, aims) = (&self.holders[self.places(record)], &self.aims[self.places(record)]);
        // Devices that hold it, held it at first, or came back with it, have room for it.
        let old: Vec<DeviceId> = self.kept(record).map(|copy| copy.device).collect();
        let has = |aim: &DeviceId| old.contains(aim) || holders.contains(aim) || self.held(record, *aim);
        let new = |aim: &&DeviceId| **aim != NOWHERE && !has(aim);
        let targets = || aims.iter().filter(new).map(|aim| aim.index());
        // A shard that takes the place of another one on its device is copied there too.
        let moves_within = |aim: &&DeviceId| **aim != NOWHERE && holders.contains(aim);
        let is_full = |aim: &DeviceId| standing.used[aim.index()] > standing.limit[aim.index()];
        if aims.iter().filter(moves_within).any(is_full) {
            return false;
        }
        if targets().any(|target| standing.used[target].saturating_add(bytes) > standing.limit[target]) {
            return false;
        }
        targets().for_each(|target| standing.used[target] += bytes);
        let over = |target: usize| standing.used[target] > standing.limit[target];
        assert!(!targets().any(over), "a home takes more than its limit");
        true
    }
}

/// The bytes on each device with more on some.
fn sum(used: &[u64], more: &[u64]) -> Vec<u64> {
    used.iter().zip(more).map(|(used, more)| used.saturating_add(*more)).collect()
}
