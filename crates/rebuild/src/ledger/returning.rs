//! Devices that come back with the copies that they had when they failed.
//!
//! What clients have written meanwhile is copied again; the rest is kept. Clients write to a group while at
//! least `min_size` of its copies are left, each write to an object drawn at random, so an object was written
//! after a time t with probability 1 - exp(-rate t); or, where all data were written meanwhile, each object
//! once. If the log of the group covers all these writes, they are known from the log; else both sides list
//! all objects of the group and compare them (a backfill), and objects are copied as a whole. Of one that
//! the log names, as many bytes are copied as clients wrote, where that is known.
//!
//! A device that lacks few entries of the log leads the groups whose first device it is at once, and pulls
//! what it lacks. Else another device leads until it is up to date.

use std::collections::BTreeMap;

use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::SimSpan;

use super::Ledger;
use crate::plan::DeviceId;

/// What clients write while devices are away, and how much of it logs remember.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writes {
    /// Writes to each object.
    pub to_each: ToEach,
    /// Writes that the log of a group remembers.
    pub log: u64,
    /// A device that lacks more entries of a group's log does not lead the group until it is up to date
    /// (`osd_async_recovery_min_cost` of Ceph).
    pub leads_most: u64,
    /// Bytes of a write, which is what is copied of an object where the log tells what is missing; whole
    /// objects if none.
    pub size: Option<u64>,
}

/// What clients write to each object while a device is away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ToEach {
    /// So many writes in a second, at random.
    PerSecond(f64),
    /// One write: all data are written while it is away.
    Once,
}

impl Default for ToEach {
    fn default() -> ToEach {
        ToEach::PerSecond(0.0)
    }
}

/// The default of `osd_async_recovery_min_cost`.
pub const LEADS_MOST: u64 = 100;

impl Default for Writes {
    fn default() -> Writes {
        Writes { to_each: ToEach::default(), log: 0, leads_most: LEADS_MOST, size: None }
    }
}

/// A copy or shard on a device that is down.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Away {
    record: u32,
    place: u32,
    device: DeviceId,
    /// For how long clients have written to the record since.
    written: SimSpan,
}

/// A copy or shard on a device that has come back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Back {
    pub(super) place: u32,
    pub(super) device: DeviceId,
    /// For how long clients wrote to the record while the device was away.
    pub(super) written: SimSpan,
}

/// The copies of devices that come back.
#[derive(Clone, Debug, Default)]
pub(super) struct Returning {
    /// Empty unless devices come back.
    writes: Option<Writes>,
    away: Vec<Away>,
    back: BTreeMap<u32, Vec<Back>>,
}

const WRITTEN: Purpose = Purpose(47);

impl Returning {
    pub(super) fn new(writes: Option<Writes>) -> Returning {
        Returning { writes, ..Returning::default() }
    }

    /// A device goes down that holds this place of a record.
    pub(super) fn leave(&mut self, record: usize, place: usize, device: DeviceId) {
        if self.writes.is_some() {
            let (record, place) = (record as u32, place as u32);
            self.away.push(Away { record, place, device, written: SimSpan::ZERO });
        }
    }

    /// Devices that had come back go down again: what was not copied again is still old.
    pub(super) fn leave_again(&mut self, down: &[bool]) {
        for (&record, copies) in &mut self.back {
            copies.retain(|&Back { place, device, written }| {
                let again = down[device.index()];
                if again {
                    self.away.push(Away { record, place, device, written });
                }
                !again
            });
        }
    }

    /// Clients have written to these records for some time.
    pub(super) fn write(&mut self, span: SimSpan, accepts: impl Fn(usize) -> bool) {
        for away in self.away.iter_mut().filter(|away| accepts(away.record as usize)) {
            away.written = away.written.saturating_add(span);
        }
    }

    /// Devices come back, with their copies or empty. Returns the records whose copies are back.
    pub(super) fn come_back(&mut self, devices: &[DeviceId], empty: bool) -> Vec<u32> {
        let mut records = Vec::new();
        let back = &mut self.back;
        self.away.retain(|&Away { record, place, device, written }| {
            let returns = devices.contains(&device);
            if returns && !empty {
                back.entry(record).or_default().push(Back { place, device, written });
                records.push(record);
            }
            !returns
        });
        records.sort_unstable();
        records.dedup();
        records
    }

    /// The copies of a record on devices that have come back.
    pub(super) fn of(&self, record: usize) -> &[Back] {
        self.back.get(&(record as u32)).map_or(&[], Vec::as_slice)
    }

    /// A copy is whole again, or needed no more.
    pub(super) fn forget(&mut self, record: usize, device: DeviceId) {
        if let Some(copies) = self.back.get_mut(&(record as u32)) {
            copies.retain(|copy| copy.device != device);
            if copies.is_empty() {
                self.back.remove(&(record as u32));
            }
        }
    }

    /// Whether an object was written while this copy of it was away.
    pub(super) fn is_written(&self, copy: &Back, object: usize, seed: Seed) -> bool {
        let rate = match self.writes.map(|writes| writes.to_each) {
            None => return true,
            Some(ToEach::Once) => return !copy.written.is_zero(),
            Some(ToEach::PerSecond(rate)) => rate,
        };
        let expected = rate * copy.written.as_secs_f64();
        if expected <= 0.0 {
            return false;
        }
        // One draw an object: what was written in a short time was also written in a longer one.
        let mut draws = Draws::new(seed, u32::MAX - 3, object as u64);
        draws.of(WRITTEN).unit_f64() < -libm::expm1(-expected)
    }

    /// The writes to a group of so many objects that a copy of it lacks.
    fn entries(&self, copy: &Back, objects: usize) -> f64 {
        let each = match self.writes.map(|writes| writes.to_each).unwrap_or_default() {
            ToEach::Once => f64::from(u8::from(!copy.written.is_zero())),
            ToEach::PerSecond(rate) => rate * copy.written.as_secs_f64(),
        };
        each * objects as f64
    }

    /// Whether the log of a group of so many objects does not cover what was written, so that a backfill is
    /// needed.
    pub(super) fn needs_backfill(&self, copy: &Back, objects: usize) -> bool {
        self.writes.is_some_and(|writes| self.entries(copy, objects) > writes.log as f64)
    }

    /// How many bytes of an object that was written are copied to a device that came back: the ranges that
    /// were written, where the log of its group of so many objects tells which these are.
    pub(super) fn copied(&self, copy: &Back, objects: usize, bytes: u64) -> u64 {
        let Some(size) = self.writes.and_then(|writes| writes.size) else { return bytes };
        if self.needs_backfill(copy, objects) {
            return bytes;
        }
        // How often an object was written that was written at all.
        let expected = self.entries(copy, objects) / objects.max(1) as f64;
        let often = if expected > 0.0 { expected / -libm::expm1(-expected) } else { 1.0 };
        bytes.min((size as f64 * often).ceil() as u64).max(1)
    }

    /// Whether the device of a copy leads a group of so many objects although it lacks some of them.
    pub(super) fn leads(&self, copy: &Back, objects: usize) -> bool {
        let most = self.writes.unwrap_or_default().leads_most as f64;
        !self.needs_backfill(copy, objects) && self.entries(copy, objects) <= most
    }
}

impl Ledger<'_> {
    /// How many bytes of an object are copied to devices that lack it: all, unless each of them came back
    /// and the log tells what was written. Of a code whole shards are copied.
    pub(super) fn copied(&self, record: usize, lacking: &[DeviceId], bytes: u64) -> u64 {
        if self.affected.kind(record).redundancy.data > 1 {
            return bytes;
        }
        let objects = self.affected.sizes(record).len();
        let of = |device: &DeviceId| {
            let copy = self.kept(record).find(|copy| copy.device == *device);
            copy.map_or(bytes, |copy| self.returning.copied(copy, objects, bytes))
        };
        lacking.iter().map(of).max().unwrap_or(bytes)
    }
}
