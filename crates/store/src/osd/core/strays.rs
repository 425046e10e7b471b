//! Replicas of groups that have moved to other daemons: they are removed once the group is clean there.
//!
//! The monitor reports which groups are clean in an interval in which this daemon does not hold them. By then
//! each replica of that interval knows all that was ever acknowledged, and peering does not go further back.
//! If this daemon is queried nevertheless, it answers like one that has never held anything.

use std::collections::BTreeSet;

use towtank_replication::{DeviceId, Epoch, Message};

use super::{Core, Turn};
use crate::content::Encoded;
use crate::engine::{ObjectHead, Table, Transaction, name_bytes, read};

/// The number of objects removed per transaction.
const OBJECTS_AT_ONCE: usize = 256;

impl<D> Core<D> {
    /// Groups that this daemon holds but should not, with the interval that each knows.
    pub(super) fn strays(&self) -> Vec<(u32, Epoch)> {
        let is_stray = |holders: &[u32]| !holders.is_empty() && !holders.contains(&self.osd);
        let strays = self.groups.iter().filter(|(_, held)| is_stray(&held.holders));
        strays.map(|(group, held)| (*group, held.replica.durable().epoch)).collect()
    }

    /// Drops groups that are clean elsewhere in the interval that their replicas here also know.
    pub(super) fn drop_strays(
        &mut self,
        clean: Vec<(u32, Epoch)>,
        transaction: &mut Transaction<'_>,
        turn: &Turn<D>,
    ) {
        let strays = self.strays();
        for (group, interval) in clean {
            // Work begun in this portion is not finished: the monitor will report the group again.
            if !strays.contains(&(group, interval)) || turn.touched.contains(&group) {
                continue;
            }
            self.say(format!("group {group} is clean elsewhere: its leftovers here are removed"));
            self.groups.remove(&group);
            self.damaged.remove(&group);
            self.early.remove(&group);
            self.timers.retain(|due| due.0.1 != group);
            // Removing these rows removes the replica; its objects follow, some at a time.
            let prefix = group.to_be_bytes();
            for (row, _) in transaction.scan(Table::Groups, &prefix, &prefix, usize::MAX) {
                transaction.remove(Table::Groups, row);
            }
            self.purging.insert(group);
        }
    }

    /// Removes some more objects of groups that were dropped.
    pub(super) fn purge_some(&mut self, transaction: &mut Transaction<'_>) {
        let Some(group) = self.purging.first().copied() else { return };
        if purge(group, OBJECTS_AT_ONCE, transaction) {
            self.purging.remove(&group);
        }
    }

    /// Removes everything left of a dropped group, before the daemon holds the group again.
    pub(super) fn purge_all(&mut self, group: u32, transaction: &mut Transaction<'_>) {
        if self.purging.remove(&group) {
            purge(group, usize::MAX, transaction);
        }
    }

    /// Handles a message for a group that is not held here. If it belongs to the current interval, its sender
    /// is querying a daemon that once held the group, and the group is created here again. If it belongs to a
    /// later interval, the map will follow.
    pub(super) fn take_strange(
        &mut self,
        group: u32,
        (from, message): (DeviceId, Message<Encoded>),
        transaction: &mut Transaction<'_>,
        turn: &mut Turn<D>,
    ) {
        if group >= self.settings.groups {
            return;
        }
        let begins = self.maps.iter().rev().find(|(map, _)| map.begins_interval_of(group));
        let interval = begins.map_or(0, |(map, _)| map.epoch);
        if message.interval > interval {
            self.early.entry(group).or_default().push((from, message));
        } else if message.interval == interval
            && let Some((map, places)) = begins
        {
            let map = places.map_of(map, group);
            self.early.entry(group).or_default().push((from, message));
            self.tell_map(group, map, transaction, turn);
        }
    }
}

/// Groups with objects but without a replica.
pub(super) fn left_over(
    groups: u32,
    held: impl Fn(u32) -> bool,
    transaction: &mut Transaction<'_>,
) -> BTreeSet<u32> {
    let is_left = |group: &u32| {
        let prefix = group.to_be_bytes();
        !held(*group)
            && [Table::Heads, Table::Staged]
                .iter()
                .any(|table| !transaction.scan(*table, &prefix, &prefix, 1).is_empty())
    };
    (0..groups).filter(is_left).collect()
}

/// Removes at most `most` objects of a group; returns whether none is left.
fn purge(group: u32, most: usize, transaction: &mut Transaction<'_>) -> bool {
    let prefix = group.to_be_bytes();
    let rows = transaction.scan(Table::Heads, &prefix, &prefix, most);
    let is_last = rows.len() < most;
    for (row, head) in rows {
        if let Ok(head) = read::<ObjectHead>("the head of an object", &head) {
            transaction.remove(Table::Names, name_bytes(group, &head.name));
        }
        transaction.remove(Table::Data, row.clone());
        transaction.remove(Table::Heads, row);
    }
    if is_last {
        for (row, _) in transaction.scan(Table::Staged, &prefix, &prefix, usize::MAX) {
            transaction.remove(Table::Staged, row);
        }
    }
    is_last
}
