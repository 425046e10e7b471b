//! Data that cannot be read because devices are down which hold them: they are not lost, unless those devices
//! never come back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use towtank_rebuild::affected::Affected;
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_report::human;

use super::case::Ready;

/// Groups of which too few copies or shards are served, while devices that are down hold others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The groups.
    pub groups: u64,
    /// Their objects.
    pub objects: u64,
    /// Devices that are down and hold copies or shards of them, as far as the map says which.
    pub devices: u64,
    /// The hosts of these.
    pub hosts: Vec<String>,
    /// Groups that are `incomplete`, and their objects: nobody knows whether these are lost.
    pub incomplete: u64,
    /// Their objects.
    pub incomplete_objects: u64,
    /// Objects of other groups of which too few copies or shards are left once all has failed that fails.
    pub lost_objects: u64,
    /// Such groups without objects: nothing is lost, and nobody serves them.
    pub lost_empty: u64,
}

/// What holds no data any more in the end, as far as it is down.
struct Gone<'a> {
    ready: &'a Ready,
    /// What is down.
    down: BTreeSet<DeviceId>,
    /// What of it is removed.
    removed: BTreeSet<DeviceId>,
}

impl Gone<'_> {
    fn of(ready: &Ready) -> Gone<'_> {
        let down: BTreeSet<DeviceId> = ready.real.groups.down().into_iter().collect();
        // What is down and removed takes its data with it; what serves leaves when it is empty.
        let removed = down.iter().copied().filter(|device| ready.real.groups.is_removed(*device)).collect();
        Gone { ready, down, removed }
    }

    /// Whether a device fails and does not come back with its data, or is removed.
    fn has(&self, device: DeviceId) -> bool {
        let fails = self.ready.staged.failing[device.index()];
        fails && !self.ready.added.back_with_data.contains(&device) || self.removed.contains(&device)
    }

    /// Whether nothing of what is down comes back.
    fn has_all(&self) -> bool {
        let any = self.ready.fails || !self.ready.staged.struck.is_empty() || !self.removed.is_empty();
        any && self.down.iter().all(|device| self.has(*device))
    }
}

/// The devices of a group by its places.
fn places(affected: &Affected, record: usize) -> &[DeviceId] {
    &affected.list(record)[..affected.kind(record).redundancy.width as usize]
}

/// Whether a group takes writes at the beginning, so that what is down may be old, and counts for nothing. Of
/// one that does not, any device that is down may hold what it was last written.
fn takes_writes(affected: &Affected, record: usize) -> bool {
    let kind = affected.kind(record);
    let held = places(affected, record).iter().filter(|device| **device != NOWHERE).count();
    held >= kind.redundancy.data.max(kind.min_size) as usize
}

/// Groups whose data are on devices that are down and may come back: too few copies or shards of them are
/// not a loss.
pub(super) fn waiting(ready: &Ready) -> BTreeSet<usize> {
    let affected = &ready.staged.affected;
    let gone = Gone::of(ready);
    if gone.down.is_empty() || gone.has_all() {
        return BTreeSet::new();
    }
    let [lost, incomplete] = unsure(ready);
    let waits = |record: &usize| {
        let name = affected.name(*record).0;
        !takes_writes(affected, *record) && !lost.contains(&name) && !incomplete.contains(&name)
    };
    (0..affected.records()).filter(waits).collect()
}

/// Groups that cannot be read at the beginning, or without all that fails and does not come back.
pub(super) fn unread(ready: &Ready) -> BTreeSet<usize> {
    let affected = &ready.staged.affected;
    let gone = Gone::of(ready);
    let is_unread = |record: &usize| {
        let held = places(affected, *record);
        let left = held.iter().filter(|device| **device != NOWHERE && !gone.has(**device));
        left.count() < affected.kind(*record).redundancy.data as usize
    };
    (0..affected.records()).filter(is_unread).collect()
}

/// Groups with unfound objects, and those that are `incomplete`.
fn unsure(ready: &Ready) -> [BTreeSet<u64>; 2] {
    let groups = &ready.real.groups;
    [groups.stated(|stated| stated.lost), groups.stated(|stated| stated.incomplete)]
}

impl Unavailable {
    /// Counts them, with all devices gone that fail and do not come back with their data.
    fn of(ready: &Ready) -> Unavailable {
        let (affected, hardware) = (&ready.staged.affected, &ready.staged.hardware);
        let gone_by = Gone::of(ready);
        let gone = |device: DeviceId| gone_by.has(device);
        let (down, all_gone) = (&gone_by.down, gone_by.has_all());
        let mut found = Unavailable::default();
        let unread = unread(ready);
        let Some(homes) = affected.homes.as_ref().filter(|_| !unread.is_empty()) else { return found };
        let [lost, incomplete] = unsure(ready);
        let none = vec![false; hardware.devices() as usize];
        // No change of the map: where the groups belong now, if all devices are up.
        let mut homes = homes.with_out(usize::MAX, &none);
        let mut holders: BTreeSet<DeviceId> = BTreeSet::new();
        for record in unread {
            let objects = affected.objects_of(record);
            let is_served = takes_writes(affected, record);
            if !is_served && incomplete.contains(&affected.name(record).0) {
                found.incomplete += 1;
                found.incomplete_objects += objects;
                continue;
            }
            if is_served || all_gone || lost.contains(&affected.name(record).0) {
                found.lost_objects += objects;
                found.lost_empty += u64::from(objects == 0);
                continue;
            }
            found.groups += 1;
            found.objects += objects;
            let list = places(affected, record);
            let mut wanted = vec![NOWHERE; list.len()];
            homes.find(affected.name(record), &mut wanted);
            let by_place = affected.kind(record).by_place;
            let lacks = |(place, device): &(usize, &DeviceId)| match by_place {
                true => list[*place] == NOWHERE,
                false => !list.contains(device),
            };
            let waits = wanted.iter().enumerate().filter(lacks).map(|(_, device)| *device);
            holders.extend(waits.filter(|device| down.contains(device) && !gone(*device)));
        }
        found.devices = holders.len() as u64;
        let servers: BTreeSet<u32> = holders.iter().map(|device| hardware.server_of(*device)).collect();
        found.hosts = servers.into_iter().map(|server| hardware.server_name(server)).collect();
        found
    }

    /// Counts them, and takes them out of what is lost in a recovery.
    pub(super) fn set_apart(
        ready: &Ready,
        recovery: &Recovery<'_>,
        recovered: &mut Recovered,
    ) -> Unavailable {
        let mut found = Unavailable::of(ready);
        if !recovery.struck.windows(2).all(|pair| pair[0].at == pair[1].at) {
            // Between failures that follow each other a group may find other devices.
            found.lost_empty = 0;
        }
        let stuck = &mut recovered.stuck;
        let waits = found.objects.min(stuck.lost);
        stuck.lost -= waits;
        stuck.unavailable += waits;
        let open = found.incomplete_objects.min(stuck.lost);
        stuck.lost -= open;
        stuck.undecided += open;
        if recovery.struck.iter().any(|struck| recovery.moments_of(struck).0.is_none()) {
            // What is never marked down is gone all the same.
            stuck.lost = stuck.lost.max(found.lost_objects);
        }
        found
    }

    /// What waits for what; none if nothing does.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let groups = human::plural(self.groups as f64, ["group waits", "groups wait"]);
        let devices = human::plural(self.devices as f64, ["device that is down", "devices that are down"]);
        let (whom, who) = match &self.hosts[..] {
            _ if self.groups == 0 => return None,
            [] => ("devices that are down".to_owned(), "they never return"),
            [host] => (
                format!("{devices} on {host}"),
                if self.devices == 1 { "it never returns" } else { "these never return" },
            ),
            hosts => (format!("{devices} on {} hosts", hosts.len()), "these never return"),
        };
        Some(format!("{groups} for {whom}: their data are lost only if {who}"))
    }
}
