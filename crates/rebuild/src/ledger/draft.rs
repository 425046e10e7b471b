//! What is planned for each record, before it is put in order.

use super::order::Turn;
use super::{Aimed, Ledger, Standing, Stuck};
use crate::flags::Need;
use crate::homes::Wanted;
use crate::plan::NOWHERE;

/// The turns of each driver, and what has none.
pub(super) struct Drafted {
    /// By driver: to sort few at a time, in the cache, takes less time than to sort all.
    pub orders: Vec<Vec<Turn>>,
    /// What cannot be rebuilt.
    pub stuck: Stuck,
    /// Records with fewer copies or shards than they need to accept writes.
    pub below_min_size: u64,
}

impl Drafted {
    /// The records with something to do, without those that were granted room before.
    pub(super) fn moving(&self, granted: &[bool]) -> impl Iterator<Item = usize> {
        let records = self.orders.iter().flatten().map(|turn| turn.record as usize);
        records.filter(move |record| granted.get(*record).is_some_and(|granted| !granted))
    }
}

/// Why a record stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// A flag of the cluster.
    Flag(&'static str),
    /// A home has no room.
    Room,
}

impl Ledger<'_> {
    /// Decides for each record what is done, in the order of the records. Some have been granted room before,
    /// which `standing` counts already.
    pub(super) fn draft(
        &mut self,
        standing: &mut Standing,
        mut homes: Option<&mut (dyn Wanted + '_)>,
        granted: &[bool],
    ) -> Drafted {
        let devices = self.hardware.devices() as usize;
        let mut drafted =
            Drafted { orders: vec![Vec::new(); devices], stuck: Stuck::default(), below_min_size: 0 };
        let mut read_load = vec![0u64; devices];
        let unnoticed = standing.stopped != standing.down;
        for record in 0..self.affected.records() {
            let places = self.places(record);
            if !self.returning.of(record).is_empty() && self.is_readable(record) {
                self.aim(record, standing, homes.as_deref_mut());
                self.keep(record);
            }
            let missing = self.holders[places.clone()].iter().filter(|holder| **holder == NOWHERE).count();
            let silent = if unnoticed { self.silent(record, standing) } else { 0 };
            if missing == 0 && silent == 0 && !self.affected.follows {
                continue;
            }
            let kind = self.affected.kind(record);
            let copies = kind.redundancy.width - missing as u32;
            let is_empty = self.affected.sizes(record).iter().all(|&bytes| bytes == 0);
            if is_empty && !self.affected.grouped {
                continue;
            }
            drafted.below_min_size += u64::from(copies - silent + self.logged(record) < kind.min_size);
            if is_empty || (missing == 0 && !self.affected.follows) {
                continue;
            }
            if copies < kind.redundancy.data {
                self.give_up(record, missing, (standing, homes.as_deref_mut()), &mut drafted.stuck);
                continue;
            }
            let has_room = granted.get(record).is_some_and(|granted| *granted);
            let stuck = &mut drafted.stuck;
            let Some(aimed) =
                self.draft_one(record, missing, has_room, (standing, homes.as_deref_mut()), stuck)
            else {
                continue;
            };
            let turn = self.turn(record, &aimed, (copies - kind.redundancy.data, missing), &mut read_load);
            assert!(!standing.down[turn.driver.index()], "a device that is down drives a record");
            drafted.orders[turn.driver.index()].push(turn);
        }
        drafted
    }

    /// What is done of what a record lacks or that is to move; none if nothing is. Counts the rest.
    fn draft_one(
        &mut self,
        record: usize,
        missing: usize,
        has_room: bool,
        (standing, homes): (&mut Standing, Option<&mut (dyn Wanted + '_)>),
        stuck: &mut Stuck,
    ) -> Option<Aimed> {
        let bytes = self.affected.bytes_of(record);
        let wanted = self.aim(record, standing, homes);
        let held = bytes.saturating_mul(wanted.staying as u64);
        stuck.held_bytes = stuck.held_bytes.saturating_add(held);
        assert!(wanted.found <= missing, "a record has more homes than it lacks copies");
        self.keep(record);
        let halt = self.halt(record, wanted, missing, has_room, standing);
        let aimed = match halt {
            Some(_) => Aimed { found: 0, moved: 0, ..wanted },
            None => wanted,
        };
        self.count(record, (aimed, missing), halt, stuck);
        let staying = wanted.staying + wanted.moved - aimed.moved;
        if aimed.found < missing {
            let kind = self.affected.kind(record);
            let copies = kind.redundancy.width - missing as u32;
            stuck.note_spare(copies + aimed.found as u32 - kind.redundancy.data);
        }
        stuck.staying_bytes = stuck.staying_bytes.saturating_add(bytes.saturating_mul(staying as u64));
        let without = (missing - aimed.found) as u64;
        stuck.bytes = stuck.bytes.saturating_add(bytes.saturating_mul(without));
        aimed.any().then_some(aimed)
    }

    /// Whether a flag forbids what is wanted for a record, or a home has no room for it.
    fn halt(
        &self,
        record: usize,
        wanted: Aimed,
        missing: usize,
        has_room: bool,
        standing: &mut Standing,
    ) -> Option<Halt> {
        if !wanted.any() {
            return None;
        }
        let logged = wanted.found > 0 && wanted.moved == 0 && self.logged(record) as usize == wanted.found;
        let flag = standing.flags.stop(Need { lacks: missing > 0, logged }).map(Halt::Flag);
        flag.or_else(|| (!has_room && !self.has_room(record, standing)).then_some(Halt::Room))
    }

    /// Counts the objects of a record that stay as they are.
    fn count(&self, record: usize, (aimed, missing): (Aimed, usize), halt: Option<Halt>, stuck: &mut Stuck) {
        let objects = self.affected.objects_of(record);
        let lacks = missing > 0;
        match halt {
            Some(Halt::Flag(flag)) => {
                stuck.flag = Some(flag);
                *(if lacks { &mut stuck.flagged } else { &mut stuck.unmoved_by_flag }) += objects;
                *(if lacks { &mut stuck.flagged_begun } else { &mut stuck.unmoved_begun }) +=
                    self.begun_of(record);
            }
            Some(Halt::Room) => *(if lacks { &mut stuck.full } else { &mut stuck.unmoved }) += objects,
            // Some of its copies may still find a home, but the record is not complete with them.
            None if aimed.found < missing => {
                *(if aimed.waits { &mut stuck.waiting } else { &mut stuck.homeless }) += objects;
            }
            None => {}
        }
    }

    /// Counts a record of which too few copies are left.
    fn give_up(
        &self,
        record: usize,
        missing: usize,
        (standing, homes): (&Standing, Option<&mut (dyn Wanted + '_)>),
        stuck: &mut Stuck,
    ) {
        let bytes = self.affected.bytes_of(record);
        stuck.lost += self.affected.objects_of(record);
        stuck.bytes = stuck.bytes.saturating_add(bytes.saturating_mul(missing as u64));
        let staying = self.staying(record, standing, homes);
        stuck.staying_bytes = stuck.staying_bytes.saturating_add(bytes.saturating_mul(staying));
    }
}
