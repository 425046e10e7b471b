//! Groups that were being copied before anything happened: their new homes have some of their objects.

use super::Ledger;
use crate::plan::{DeviceId, NOWHERE};

impl Ledger<'_> {
    /// How many of the objects of a record are on its new homes when these are found for the first time.
    /// Later homes hold nothing of it.
    pub(super) fn aims_first(&mut self, record: usize) -> usize {
        let number = record as u32;
        let known = self.affected.copied.get(&number).filter(|_| !self.aimed.contains(&number));
        let Some(copied) = known else { return 0 };
        self.aimed.insert(number);
        if !self.goes_on(record) {
            return 0;
        }
        let (all, sizes) = (self.affected.objects_of(record), self.affected.sizes(record).len() as u64);
        // One object at least is left, in a thinned recovery too.
        let whole = u128::from(copied.objects) * u128::from(sizes) / u128::from(all.max(1));
        (whole as usize).min((sizes as usize).saturating_sub(1))
    }

    /// How many of the objects of a record its homes had at first.
    pub(super) fn begun_of(&self, record: usize) -> u64 {
        let copied = self.affected.copied.get(&(record as u32)).filter(|_| self.goes_on(record));
        copied.map_or(0, |copied| copied.objects)
    }

    /// Whether the homes of a record are those to which it was being copied.
    fn goes_on(&self, record: usize) -> bool {
        let Some(copied) = self.affected.copied.get(&(record as u32)) else { return false };
        let aims = || self.aims[self.places(record)].iter().filter(|aim| **aim != NOWHERE);
        aims().count() == copied.homes.len() && aims().all(|aim| copied.homes.contains(aim))
    }

    /// The bytes of a record that a device which is new to it had at first.
    pub(super) fn had(&self, record: usize, device: DeviceId) -> u64 {
        let Some(copied) = self.affected.copied.get(&(record as u32)) else { return 0 };
        if !copied.homes.contains(&device) {
            return 0;
        }
        let (all, bytes) = (self.affected.objects_of(record), self.affected.bytes_of(record));
        (u128::from(bytes) * u128::from(copied.objects) / u128::from(all.max(1))) as u64
    }
}
