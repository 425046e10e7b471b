//! What a daemon does when a disk is full, its own or another replica's.
//!
//! The primary of a group with a replica on a full disk refuses new data. Recovery and backfills that would
//! add to the disk wait. Reads and removals continue, and the space of removed objects is returned to the
//! file system.

use towtank_replication::{Input, Operation, RequestId, Reserver, Token};
use towtank_units::{SimSpan, SimTime};

use super::{Core, Effect};
use crate::content::Encoded;
use crate::engine::Engine;
use crate::space::Space;

/// The least time between two merges of all tables.
const RECLAIM: SimSpan = SimSpan::from_secs(2);

/// The space on this daemon's disk.
pub(super) struct Room {
    pub(super) space: Space,
    pub(super) is_full: bool,
    pub(super) is_reclaiming: bool,
    reclaimed: SimTime,
    /// The number of transactions when space was last reclaimed.
    transactions: u64,
}

impl Room {
    pub(super) fn of(engine: &Engine, now: SimTime) -> Room {
        let space = engine.space();
        Room { space, is_full: space.is_full(false), is_reclaiming: false, reclaimed: now, transactions: 0 }
    }

    /// A reserver of backfill slots that rejects backfills which would fill the disk.
    pub(super) fn reserver(&self, slots: usize) -> Reserver {
        let full_at = self.space.total_bytes.saturating_sub(self.space.reserve_bytes());
        let mut reserver = Reserver::new(slots).full_at(full_at);
        reserver.set_used(self.space.used_bytes());
        reserver
    }
}

impl<D> Core<D> {
    /// Checks how much space is left. On a full disk, space is reclaimed after each change.
    pub(super) fn look_at_room(&mut self) {
        let was_full = self.room.is_full;
        self.room.space = self.engine.space();
        self.room.is_full = self.room.space.is_full(was_full);
        self.reserver.set_used(self.room.space.used_bytes());
        let Space { free_bytes, total_bytes } = self.room.space;
        if self.room.is_full != was_full {
            let word = if self.room.is_full { "full" } else { "no longer full" };
            self.say(format!("the disk is {word}: {free_bytes} of {total_bytes} bytes are free"));
        }
        let is_due = self.now.since(self.room.reclaimed) >= RECLAIM
            && self.room.transactions != self.counters.transactions;
        if self.room.is_full && is_due && !self.room.is_reclaiming {
            self.room.transactions = self.counters.transactions;
            self.room.reclaimed = self.now;
            self.room.is_reclaiming = true;
            self.effects.push(Effect::Reclaim);
        }
    }

    /// The holders of a group whose disks are full.
    pub(super) fn full_holders(&self, group: u32) -> Vec<u32> {
        let Some(held) = self.groups.get(&group) else { return Vec::new() };
        let Some((map, _)) = self.maps.last() else { return Vec::new() };
        let is_full = |osd: &u32| {
            let is_marked = map.osds.get(osd).is_some_and(|state| state.is_full);
            is_marked || (*osd == self.osd && self.room.is_full)
        };
        held.holders.iter().copied().filter(is_full).collect()
    }

    /// Why a request is refused: it would write to a full disk, and has not been executed already.
    pub(super) fn refusal(
        &self,
        group: u32,
        request: RequestId,
        operation: &Operation<Encoded>,
    ) -> Option<String> {
        let Operation::Write(_) = operation else { return None };
        let full: Vec<String> = self.full_holders(group).iter().map(|osd| format!("osd.{osd}")).collect();
        let held = self.groups.get(&group)?;
        if full.is_empty() || held.replica.durable().log.find(request).is_some() {
            return None;
        }
        let verb = if full.len() == 1 { "is" } else { "are" };
        Some(format!("{} {verb} full: remove objects, or add a daemon", full.join(" and ")))
    }

    /// Delays recovery of a group with a full disk.
    pub(super) fn stall(&mut self, group: u32, token: Token) {
        if let Some(held) = self.groups.get_mut(&group) {
            held.stalled.push(token);
        }
    }

    /// Continues recovery of groups in which no disk is full any more.
    pub(super) fn go_on(&mut self) {
        let stalled = self.groups.iter().filter(|(_, held)| !held.stalled.is_empty());
        let groups: Vec<u32> = stalled.map(|(group, _)| *group).collect();
        for group in groups {
            if !self.full_holders(group).is_empty() {
                continue;
            }
            let held = self.groups.get_mut(&group).expect("it was just there");
            self.inputs.extend(held.stalled.drain(..).map(|token| (group, Input::Done(token))));
        }
    }
}
