//! Data that cannot be read because devices are down which hold them: they are not lost, unless those devices
//! never come back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use towtank_rebuild::plan::{DeviceId, NOWHERE};
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
}

impl Unavailable {
    /// Counts them, with all devices gone that fail and do not come back with their data.
    #[must_use]
    pub fn of(ready: &Ready) -> Unavailable {
        let staged = &ready.staged;
        let (affected, hardware) = (&staged.affected, &staged.hardware);
        let down: BTreeSet<DeviceId> = ready.real.groups.down().into_iter().collect();
        let gone =
            |device: DeviceId| staged.failing[device.index()] && !ready.back_with_data.contains(&device);
        let mut found = Unavailable::default();
        let Some(homes) = affected.homes.as_ref().filter(|_| down.iter().any(|device| !gone(*device))) else {
            return found;
        };
        let none = vec![false; hardware.devices() as usize];
        // No change of the map: where the groups belong now, if all devices are up.
        let mut homes = homes.with_out(usize::MAX, &none);
        let mut wanted = vec![NOWHERE; affected.width];
        let mut holders: BTreeSet<DeviceId> = BTreeSet::new();
        for record in 0..affected.records() {
            let kind = affected.kind(record);
            let width = kind.redundancy.width as usize;
            let list = &affected.list(record)[..width];
            let data = kind.redundancy.data as usize;
            let count = |lives: &dyn Fn(DeviceId) -> bool| {
                list.iter().filter(|device| **device != NOWHERE && lives(**device)).count()
            };
            let live = count(&|device| !gone(device));
            if live >= data || affected.sizes(record).iter().all(|&bytes| bytes == 0) {
                continue;
            }
            homes.find(affected.name(record), &mut wanted[..width]);
            let lacks = |(place, device): &(usize, &DeviceId)| match kind.by_place {
                true => list[*place] == NOWHERE,
                false => !list.contains(device),
            };
            let waits = wanted[..width].iter().enumerate().filter(lacks).map(|(_, device)| *device);
            let waits: Vec<DeviceId> =
                waits.filter(|device| down.contains(device) && !gone(*device)).collect();
            // Of a group that is not served now, any device that is down may hold the rest.
            let is_unserved = count(&|_| true) < data;
            if live + waits.len() >= data || is_unserved {
                found.groups += 1;
                found.objects += affected.objects_of(record);
                holders.extend(waits);
            }
        }
        found.devices = holders.len() as u64;
        let servers: BTreeSet<u32> = holders.iter().map(|device| hardware.server_of(*device)).collect();
        found.hosts = servers.into_iter().map(|server| hardware.server_name(server)).collect();
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
