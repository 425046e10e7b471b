//! Limits how many backfills a device takes part in at once: slots assigned by priority, and a check against
//! full devices.
//!
//! Ceph has two reservers per device, each with `osd_max_backfills` slots: one for the backfills that the
//! device's primaries lead, one for those that fill the device. With one reserver for both, two devices that
//! backfill each other would deadlock.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{GroupId, Token};

/// The side of a backfill for which a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Lot {
    /// The primary's side.
    Local,
    /// The target's side.
    Remote,
}

/// The replica that asked for a slot, and its token for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The group whose replica asks.
    pub group: GroupId,
    /// That replica's token for the request.
    pub token: Token,
}

/// A request for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// The requester.
    pub holder: Holder,
    /// The side of the backfill.
    pub lot: Lot,
    /// Higher priorities go first.
    pub priority: u8,
    /// The most bytes that the backfill will add to the device.
    pub bytes: u64,
}

/// The reserver's answer to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The slot is granted.
    Granted(Holder),
    /// The device would become too full. Ask again later.
    Rejected(Holder),
    /// A request of higher priority has taken the slot.
    Revoked(Holder),
}

/// The slots of one device. The state is lost in a crash.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reserver {
    slots: usize,
    full_at_bytes: u64,
    used_bytes: u64,
    preempts: bool,
    #[serde(with = "towtank_units::pairs")]
    lots: BTreeMap<Lot, Slots>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Slots {
    #[serde(with = "towtank_units::pairs")]
    held: BTreeMap<Holder, (u8, u64)>,
    /// Ordered by priority, then by arrival.
    #[serde(with = "towtank_units::pairs")]
    waiting: BTreeMap<(Reverse<u8>, u64), Request>,
    arrivals: u64,
}

impl Reserver {
    /// A reserver with this many slots per side (Ceph's `osd_max_backfills`, 1), and a device that is never
    /// full.
    ///
    /// # Panics
    ///
    /// If `slots` is 0: nothing would ever be backfilled.
    #[must_use]
    pub fn new(slots: usize) -> Reserver {
        assert!(slots > 0, "a device without slots is never backfilled");
        let lots = BTreeMap::from([(Lot::Local, Slots::default()), (Lot::Remote, Slots::default())]);
        Reserver { slots, full_at_bytes: u64::MAX, used_bytes: 0, preempts: false, lots }
    }

    /// Refuses backfills that would fill the device beyond `bytes`: Ceph's `backfillfull_ratio`, 90 %, of its
    /// size.
    #[must_use]
    pub fn full_at(self, bytes: u64) -> Reserver {
        Reserver { full_at_bytes: bytes, ..self }
    }

    /// Revokes slots in favour of requests of higher priority.
    #[must_use]
    pub fn preempting(self) -> Reserver {
        Reserver { preempts: true, ..self }
    }

    /// Sets the number of bytes that the device holds now.
    pub fn set_used(&mut self, bytes: u64) {
        self.used_bytes = bytes;
    }

    /// The number of slots held on one side.
    #[must_use]
    pub fn held(&self, lot: Lot) -> usize {
        self.lots[&lot].held.len()
    }

    /// Requests a slot. Slots granted, refused and revoked are appended to `verdicts`.
    pub fn request(&mut self, request: Request, verdicts: &mut Vec<Verdict>) {
        let promised: u64 = self.slots_of(Lot::Remote).held.values().map(|(_, bytes)| bytes).sum();
        let after = self.used_bytes.saturating_add(promised).saturating_add(request.bytes);
        if request.lot == Lot::Remote && after > self.full_at_bytes {
            verdicts.push(Verdict::Rejected(request.holder));
            return;
        }
        let slots = self.slots_of(request.lot);
        assert!(!slots.held.contains_key(&request.holder), "{:?} asks twice", request.holder);
        slots.arrivals += 1;
        slots.waiting.insert((Reverse(request.priority), slots.arrivals), request);
        self.grant(request.lot, verdicts);
    }

    /// Gives a slot back, or withdraws a request.
    pub fn release(&mut self, lot: Lot, holder: Holder, verdicts: &mut Vec<Verdict>) {
        let slots = self.slots_of(lot);
        slots.held.remove(&holder);
        slots.waiting.retain(|_, request| request.holder != holder);
        self.grant(lot, verdicts);
    }

    fn slots_of(&mut self, lot: Lot) -> &mut Slots {
        self.lots.get_mut(&lot).expect("both sides are there from the beginning")
    }

    fn grant(&mut self, lot: Lot, verdicts: &mut Vec<Verdict>) {
        let (most, preempts) = (self.slots, self.preempts);
        let slots = self.slots_of(lot);
        while let Some(next) = slots.waiting.first_entry() {
            let request = *next.get();
            if slots.held.len() == most {
                let least = slots.held.iter().min_by_key(|(_, (priority, _))| *priority);
                let least = least.map(|(holder, (priority, _))| (*holder, *priority));
                let Some((holder, _)) = least.filter(|(_, least)| preempts && *least < request.priority)
                else {
                    break;
                };
                slots.held.remove(&holder);
                verdicts.push(Verdict::Revoked(holder));
            }
            next.remove();
            let before = slots.held.insert(request.holder, (request.priority, request.bytes));
            assert!(before.is_none(), "{:?} holds a slot already", request.holder);
            verdicts.push(Verdict::Granted(request.holder));
        }
        assert!(slots.held.len() <= most, "{} slots are held of {most}", slots.held.len());
        assert!(slots.waiting.is_empty() || slots.held.len() == most, "a slot is free and somebody waits");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(group: u32) -> Holder {
        Holder { group: GroupId(group), token: Token(1) }
    }

    fn ask(reserver: &mut Reserver, group: u32, lot: Lot, priority: u8, bytes: u64) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        reserver.request(Request { holder: holder(group), lot, priority, bytes }, &mut verdicts);
        verdicts
    }

    fn give_back(reserver: &mut Reserver, group: u32, lot: Lot) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        reserver.release(lot, holder(group), &mut verdicts);
        verdicts
    }

    #[test]
    fn slots_go_by_priority_and_then_by_arrival() {
        let mut reserver = Reserver::new(1);
        assert_eq!(ask(&mut reserver, 1, Lot::Local, 140, 0), [Verdict::Granted(holder(1))]);
        assert_eq!(ask(&mut reserver, 2, Lot::Local, 140, 0), []);
        assert_eq!(ask(&mut reserver, 3, Lot::Local, 140, 0), []);
        assert_eq!(ask(&mut reserver, 4, Lot::Local, 200, 0), []);
        assert_eq!(ask(&mut reserver, 9, Lot::Remote, 1, 0), [Verdict::Granted(holder(9))]);
        assert_eq!(give_back(&mut reserver, 1, Lot::Local), [Verdict::Granted(holder(4))]);
        assert_eq!(give_back(&mut reserver, 2, Lot::Local), [], "it takes its question back");
        assert_eq!(give_back(&mut reserver, 4, Lot::Local), [Verdict::Granted(holder(3))]);
        assert_eq!((reserver.held(Lot::Local), reserver.held(Lot::Remote)), (1, 1));
    }

    #[test]
    fn a_higher_priority_takes_a_slot_away() {
        let mut reserver = Reserver::new(2).preempting();
        ask(&mut reserver, 1, Lot::Remote, 180, 0);
        ask(&mut reserver, 2, Lot::Remote, 140, 0);
        assert_eq!(
            ask(&mut reserver, 3, Lot::Remote, 150, 0),
            [Verdict::Revoked(holder(2)), Verdict::Granted(holder(3))]
        );
        assert_eq!(ask(&mut reserver, 4, Lot::Remote, 150, 0), [], "an equal priority waits");
    }

    #[test]
    fn a_device_is_not_filled_beyond_its_limit() {
        let mut reserver = Reserver::new(3).full_at(100);
        reserver.set_used(50);
        assert_eq!(ask(&mut reserver, 1, Lot::Remote, 1, 30), [Verdict::Granted(holder(1))]);
        assert_eq!(
            ask(&mut reserver, 2, Lot::Remote, 1, 30),
            [Verdict::Rejected(holder(2))],
            "30 are promised"
        );
        assert_eq!(
            ask(&mut reserver, 3, Lot::Local, 1, 30),
            [Verdict::Granted(holder(3))],
            "it adds nothing here"
        );
        give_back(&mut reserver, 1, Lot::Remote);
        assert_eq!(ask(&mut reserver, 2, Lot::Remote, 1, 50), [Verdict::Granted(holder(2))]);
    }

    #[test]
    #[should_panic(expected = "asks twice")]
    fn asking_twice_is_noticed() {
        let mut reserver = Reserver::new(2);
        ask(&mut reserver, 1, Lot::Local, 1, 0);
        ask(&mut reserver, 1, Lot::Local, 1, 0);
    }
}
