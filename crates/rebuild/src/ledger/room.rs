//! Which devices have room for what they are to hold.
//!
//! A record moves if its new homes have room. Room that others leave there counts once these others have
//! room themselves where they go: so what can move in some order does, and what waits for each other in a
//! circle stays, as in Ceph. Left out: that one which moves in room of others waits until they have left.

use super::draft::Drafted;
use super::{Ledger, Standing};
use crate::homes::Wanted;
use crate::plan::{DeviceId, NOWHERE};

impl Ledger<'_> {
    /// Whether a device held a part of the record before anything happened: then the bytes on it at first
    /// include it.
    pub(super) fn held(&self, record: usize, device: DeviceId) -> bool {
        self.affected.list(record)[..self.affected.width].contains(&device)
    }

    /// The bytes on each device, of `used` bytes at first.
    pub(crate) fn used(&self, used: &[u64]) -> Vec<u64> {
        let now =
            |((used, gained), left): ((&u64, &u64), &u64)| used.saturating_add(*gained).saturating_sub(*left);
        used.iter().zip(&self.gained).zip(&self.left).map(now).collect()
    }

    /// Decides what is done for each record.
    pub(super) fn draft_with_room(
        &mut self,
        standing: &mut Standing,
        mut homes: Option<&mut (dyn Wanted + '_)>,
    ) -> Drafted {
        let mut granted = vec![false; if self.affected.follows { self.affected.records() } else { 0 }];
        let mut in_turn = 0;
        let mut used = standing.used.clone();
        loop {
            standing.used.copy_from_slice(&used);
            let mut drafted = self.draft(standing, homes.as_deref_mut(), &granted);
            let new: Vec<usize> = drafted.moving(&granted).collect();
            if granted.contains(&true) {
                in_turn += new.iter().map(|record| self.affected.objects_of(*record)).sum::<u64>();
            }
            drafted.stuck.in_turn = in_turn;
            let waits = drafted.stuck.full + drafted.stuck.unmoved > 0;
            if !waits || !new.iter().any(|record| self.leaving(*record).next().is_some()) {
                // What leaves in the end is free then.
                new.iter().for_each(|record| self.leave(*record, &mut standing.used));
                return drafted;
            }
            for record in new {
                granted[record] = true;
                self.arrive(record, &mut used);
                self.leave(record, &mut used);
            }
        }
    }

    /// The devices that a record leaves once it is where it is aimed.
    fn leaving(&self, record: usize) -> impl Iterator<Item = DeviceId> {
        let (holders, aims) = (&self.holders[self.places(record)], &self.aims[self.places(record)]);
        let leaves = move |(holder, aim): &(&DeviceId, &DeviceId)| {
            **holder != NOWHERE && **aim != NOWHERE && !aims.contains(holder)
        };
        holders.iter().zip(aims).filter(leaves).map(|(holder, _)| *holder)
    }

    fn leave(&self, record: usize, used: &mut [u64]) {
        let bytes = self.affected.bytes_of(record);
        for device in self.leaving(record) {
            used[device.index()] = used[device.index()].saturating_sub(bytes);
        }
    }

    /// The devices to which a record comes that do not have its bytes yet.
    fn coming(&self, record: usize) -> impl Iterator<Item = DeviceId> {
        let (holders, aims) = (&self.holders[self.places(record)], &self.aims[self.places(record)]);
        // Devices that hold it, that came back with it, or that failed with it, have room for it.
        let kept = move |aim: DeviceId| self.kept(record).any(|copy| copy.device == aim);
        let fell = move |aim: DeviceId| self.held(record, aim) && !self.gone.contains(&(record as u32, aim));
        let comes =
            move |aim: &DeviceId| *aim != NOWHERE && !holders.contains(aim) && !kept(*aim) && !fell(*aim);
        aims.iter().copied().filter(comes)
    }

    fn arrive(&self, record: usize, used: &mut [u64]) {
        let bytes = self.affected.bytes_of(record);
        let new = |device| bytes - self.had(record, device);
        self.coming(record).for_each(|device| used[device.index()] += new(device));
    }

    /// Whether all homes of a record have room for it; if so, reserves the room.
    pub(super) fn has_room(&self, record: usize, standing: &mut Standing) -> bool {
        let bytes = self.affected.bytes_of(record);
        let (holders, aims) = (&self.holders[self.places(record)], &self.aims[self.places(record)]);
        // A shard that takes the place of another one on its device is copied there too.
        let moves_within = |aim: &&DeviceId| **aim != NOWHERE && holders.contains(aim);
        let is_full = |aim: &DeviceId| standing.used[aim.index()] > standing.limit[aim.index()];
        if aims.iter().filter(moves_within).any(is_full) {
            return false;
        }
        let lacks_room = |device: DeviceId| {
            let new = bytes - self.had(record, device);
            standing.used[device.index()].saturating_add(new) > standing.limit[device.index()]
        };
        if self.coming(record).any(lacks_room) {
            return false;
        }
        self.arrive(record, &mut standing.used);
        let over = |device: DeviceId| standing.used[device.index()] > standing.limit[device.index()];
        assert!(!self.coming(record).any(over), "a home takes more than its limit");
        true
    }

    /// Counts what a record's bytes have left, and where they are again, since it had these holders.
    pub(super) fn count_left(&mut self, record: usize, before: &[DeviceId]) {
        let bytes = self.affected.bytes_of(record);
        let now = self.holders[self.places(record)].to_vec();
        for device in before.iter().filter(|device| **device != NOWHERE && !now.contains(device)) {
            if self.held(record, *device) && self.gone.insert((record as u32, *device)) {
                self.left[device.index()] += bytes;
            }
        }
        for device in now.iter().filter(|device| **device != NOWHERE) {
            if self.gone.remove(&(record as u32, *device)) {
                let left = &mut self.left[device.index()];
                *left = left.saturating_sub(bytes);
            }
        }
    }
}
