//! The groups of a cluster on its devices, hosts and racks, as the exports have them.

use std::collections::{BTreeMap, BTreeSet};

use towtank_ceph::Cluster;
use towtank_durability::Group;
use towtank_durability::burst::Explicit;
use towtank_placement::crush::ItemId;
use towtank_rebuild::plan::DeviceId;

use super::bursts::Counts;
use crate::whatif::replay::Replay;

/// The groups with data, on devices that are numbered from 0.
#[derive(Debug)]
pub(super) struct Layout {
    /// The host of each device.
    pub host_of: Vec<usize>,
    /// The rack of each host: each host is one by itself where the map has no racks.
    pub rack_of: Vec<usize>,
    /// Whether the map has racks.
    pub has_racks: bool,
    /// The groups.
    pub groups: Vec<Group>,
    /// The names of devices.
    pub names: Vec<String>,
    /// The numbers of those that have data.
    pub with_data: Vec<usize>,
    /// How many classes of disks have data.
    pub classes: usize,
}

impl Layout {
    pub fn of(base: &Replay) -> Layout {
        let (groups, staged) = (&base.ready.real.groups, &base.ready.staged);
        let hardware = &staged.hardware;
        let count = hardware.devices() as usize;
        let devices = (0..count as u32).map(DeviceId);
        let mut layout = Layout {
            host_of: devices.clone().map(|device| hardware.server_of(device) as usize).collect(),
            rack_of: Vec::new(),
            has_racks: false,
            groups: Vec::new(),
            names: devices.map(|device| hardware.disk_name(device)).collect(),
            with_data: Vec::new(),
            classes: 0,
        };
        let hosts = hardware.servers() as usize;
        let racks = racks(&groups.cluster);
        let rack_of_host = |host: usize| {
            let osd = groups.machines.osds[hardware.devices_of(host as u32).next()?.index()];
            racks.get(&osd).copied()
        };
        let found: Vec<Option<usize>> = (0..hosts).map(rack_of_host).collect();
        layout.has_racks = !found.is_empty() && found.iter().all(Option::is_some);
        layout.rack_of = match layout.has_racks {
            true => numbered(&found),
            false => (0..hosts).collect(),
        };
        layout.groups = groups
            .whole()
            .map(|(list, data)| Group {
                tolerance: list.len() - data as usize,
                devices: list.into_iter().map(DeviceId::index).collect(),
            })
            .collect();
        let mut has = vec![false; count];
        layout.groups.iter().flat_map(|group| &group.devices).filter(|device| **device < count).for_each(
            |device| {
                has[*device] = true;
            },
        );
        layout.with_data = (0..count).filter(|device| has[*device]).collect();
        let class = |device: &usize| hardware.class_of(DeviceId(*device as u32));
        layout.classes = layout.with_data.iter().map(class).collect::<BTreeSet<usize>>().len();
        layout
    }

    /// How many lost devices a group survives, in ascending order.
    pub(super) fn tolerances(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.groups.iter().map(|group| group.tolerance).collect();
        all.into_iter().collect()
    }

    /// The most lost devices that a group survives: all survive as many where the study answers.
    pub(super) fn tolerance(&self) -> usize {
        self.tolerances().last().copied().unwrap_or(0)
    }

    /// Devices with data, hosts and racks with such devices.
    pub fn counts(&self) -> Counts {
        let of = |all: Vec<usize>| {
            let mut all = all;
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        let hosts: Vec<usize> = self.with_data.iter().map(|device| self.host_of[*device]).collect();
        let racks = hosts.iter().map(|host| self.rack_of[*host]).collect();
        Counts { disks: self.with_data.len(), hosts: of(hosts), racks: self.has_racks.then(|| of(racks)) }
    }

    /// The groups as they are when nothing lacks a device, for bursts: on the devices with data alone.
    pub(super) fn explicit(&self) -> Result<Explicit, String> {
        let number = |device: usize| self.with_data.binary_search(&device).ok();
        let hosts: Vec<Option<usize>> =
            self.with_data.iter().map(|device| Some(self.host_of[*device])).collect();
        let host_of = numbered(&hosts);
        let mut rack_of_host: BTreeMap<usize, usize> = BTreeMap::new();
        for (device, host) in self.with_data.iter().zip(&host_of) {
            rack_of_host.insert(*host, self.rack_of[self.host_of[*device]]);
        }
        let racks: Vec<Option<usize>> = rack_of_host.into_values().map(Some).collect();
        let group = |group: &Group| {
            let devices = group.devices.iter().filter_map(|device| number(*device)).collect();
            Group { devices, tolerance: group.tolerance }
        };
        let groups = self.groups.iter().map(group).collect();
        Explicit::new(host_of, numbered(&racks), groups).map_err(|error| error.to_string())
    }
}

/// Numbers from 0 in place of others, in the order in which these appear.
fn numbered(all: &[Option<usize>]) -> Vec<usize> {
    let mut known: BTreeMap<usize, usize> = BTreeMap::new();
    let of = |one: &Option<usize>| {
        let next = known.len();
        *known.entry(one.unwrap_or(usize::MAX)).or_insert(next)
    };
    all.iter().map(of).collect()
}

/// The rack of each device, where it has one.
fn racks(cluster: &Cluster) -> BTreeMap<ItemId, usize> {
    let mut found = BTreeMap::new();
    // The trees of single classes of devices have the same racks once more.
    let is_shadow = |id: ItemId| cluster.map.item_names.get(&id).is_some_and(|name| name.contains('~'));
    let racks = cluster
        .map
        .each_bucket()
        .filter(|bucket| cluster.type_of(bucket.id) == "rack" && !is_shadow(bucket.id));
    for (number, rack) in racks.enumerate() {
        found.extend(cluster.devices_below(rack.id).into_iter().map(|device| (device, number)));
    }
    found
}
