//! Data that cannot be read because devices are down which hold them: they are not lost, unless those devices
//! never come back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
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

impl Unavailable {
    /// Counts them, with all devices gone that fail and do not come back with their data.
    fn of(ready: &Ready) -> Unavailable {
        let staged = &ready.staged;
        let (affected, hardware) = (&staged.affected, &staged.hardware);
        let down: BTreeSet<DeviceId> = ready.real.groups.down().into_iter().collect();
        // What is down and removed takes its data with it; what serves leaves when it is empty.
        let removed: BTreeSet<DeviceId> =
            down.iter().copied().filter(|device| ready.real.groups.is_removed(*device)).collect();
        let gone = |device: DeviceId| {
            let fails = staged.failing[device.index()] && !ready.added.back_with_data.contains(&device);
            fails || removed.contains(&device)
        };
        // Of what is down, nothing comes back.
        let all_gone = (ready.fails || !staged.struck.is_empty() || !removed.is_empty())
            && down.iter().all(|device| gone(*device));
        let mut found = Unavailable::default();
        let list = |record: usize| {
            let width = affected.kind(record).redundancy.width as usize;
            &affected.list(record)[..width]
        };
        let count = |record: usize, lives: &dyn Fn(DeviceId) -> bool| {
            list(record).iter().filter(|device| **device != NOWHERE && lives(**device)).count()
        };
        let needs = |record: usize| affected.kind(record).redundancy.data as usize;
        let is_unread = |record: &usize| count(*record, &|device| !gone(device)) < needs(*record);
        let unread: Vec<usize> = (0..affected.records()).filter(is_unread).collect();
        let Some(homes) = affected.homes.as_ref().filter(|_| !unread.is_empty()) else { return found };
        let lost = ready.real.groups.stated(|stated| stated.lost);
        let incomplete = ready.real.groups.stated(|stated| stated.incomplete);
        let none = vec![false; hardware.devices() as usize];
        // No change of the map: where the groups belong now, if all devices are up.
        let mut homes = homes.with_out(usize::MAX, &none);
        let mut holders: BTreeSet<DeviceId> = BTreeSet::new();
        for record in unread {
            let objects = affected.objects_of(record);
            // A group that is served now takes writes, or was whole without what is down: what is down may be
            // old, and counts for nothing. Of one that is not served, any device that is down may hold the
            // rest.
            let is_served = count(record, &|_| true) >= needs(record);
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
            let list = list(record);
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
