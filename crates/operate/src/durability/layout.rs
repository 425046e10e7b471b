//! The groups of a cluster on its devices, hosts and racks, as the exports have them.

use std::collections::{BTreeMap, BTreeSet};

use towtank_ceph::{Cluster, GroupStates, Joined, Stated};
use towtank_durability::Group;
use towtank_durability::burst::Explicit;
use towtank_placement::crush::{ItemId, NONE};
use towtank_rebuild::plan::{DeviceId, NOWHERE};

use super::bursts::Counts;
use crate::real::groups::Settled;
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
    /// The groups with data, as they are when nothing is left to do.
    pub groups: Vec<Group>,
    /// The bytes of each, without copies.
    pub bytes: Vec<u64>,
    /// The bytes that each device holds of them.
    pub held: Vec<f64>,
    /// The pool of each, and the names of pools.
    pub kinds: Vec<u32>,
    pub pools: Vec<String>,
    /// What groups lack now: pairs of a device that is to have its part, and the group.
    pub lacking: Vec<(usize, usize)>,
    /// Groups that lack a device for which there is no other.
    pub homeless: u64,
    /// Devices that are down and to be replaced by empty ones, which then have what groups lack.
    pub replaced: Vec<usize>,
    /// All groups of the cluster, and the numbers of its devices, to settle it.
    settled: Vec<Settled>,
    osds: Vec<ItemId>,
    /// The names of devices.
    pub names: Vec<String>,
    /// The numbers of those that have data.
    pub with_data: Vec<usize>,
    /// How many classes of disks have data.
    pub classes: usize,
}

impl Layout {
    /// The groups of a cluster whose down devices are given up; or replaced by empty ones, if it says so.
    pub fn of(base: &Replay, is_replaced: bool) -> Layout {
        let (groups, staged) = (&base.ready.real.groups, &base.ready.staged);
        let hardware = &staged.hardware;
        let count = hardware.devices() as usize;
        let devices = (0..count as u32).map(DeviceId);
        let mut layout = Layout {
            host_of: devices.clone().map(|device| hardware.server_of(device) as usize).collect(),
            rack_of: Vec::new(),
            has_racks: false,
            groups: Vec::new(),
            bytes: Vec::new(),
            held: vec![0.0; count],
            kinds: Vec::new(),
            pools: Vec::new(),
            lacking: Vec::new(),
            homeless: 0,
            replaced: Vec::new(),
            settled: Vec::new(),
            osds: Vec::new(),
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
        layout.settled = groups.settled(is_replaced);
        for group in layout.settled.iter().filter(|group| group.has_data) {
            let number = layout.groups.len();
            layout.lacking.extend(group.lacking.iter().map(|device| (device.index(), number)));
            let places = group.devices.iter().filter(|device| **device != NOWHERE);
            layout.homeless += u64::from(group.devices.contains(&NOWHERE));
            layout.groups.push(Group {
                tolerance: group.devices.len() - group.data as usize,
                devices: places.map(|device| device.index()).collect(),
            });
            let bytes = groups.cluster.pools[group.pool].groups[group.number].bytes;
            for device in group.devices.iter().filter(|device| **device != NOWHERE) {
                layout.held[device.index()] += bytes as f64 / f64::from(group.data.max(1));
            }
            layout.bytes.push(bytes);
            layout.kinds.push(group.pool as u32);
        }
        if is_replaced {
            let lacks = |device: &DeviceId| layout.lacking.iter().any(|(other, _)| *other == device.index());
            layout.replaced = groups.down().into_iter().filter(lacks).map(|device| device.index()).collect();
        }
        layout.pools = groups.cluster.pools.iter().map(|pool| pool.name.clone()).collect();
        layout.osds = groups.machines.osds.clone();
        let mut has = vec![false; count];
        layout.groups.iter().flat_map(|group| &group.devices).for_each(|device| has[*device] = true);
        layout.with_data = (0..count).filter(|device| has[*device]).collect();
        let class = |device: &usize| hardware.class_of(DeviceId(*device as u32));
        layout.classes = layout.with_data.iter().map(class).collect::<BTreeSet<usize>>().len();
        layout
    }

    /// The fewest and the most lost devices that groups survive.
    pub(super) fn tolerance(&self) -> [usize; 2] {
        let all = || self.groups.iter().map(|group| group.tolerance);
        [all().min(), all().max()].map(|one| one.unwrap_or(0))
    }

    /// How many groups lack something now.
    pub(super) fn lack(&self) -> usize {
        self.lacking.iter().map(|(_, group)| *group).collect::<BTreeSet<usize>>().len()
    }

    /// Makes a cluster what it is when nothing is left to do: what is down is out, what groups lack is where
    /// it is to be, and takes its room there.
    pub(super) fn settle(&self, joined: &mut Joined) {
        let Joined { cluster, states, down_for, .. } = joined;
        for device in &self.replaced {
            if let Some(device) = cluster.overlay.devices.get_mut(self.osds[*device] as usize) {
                device.up = true;
            }
        }
        for device in cluster.overlay.devices.iter_mut().filter(|device| !device.up) {
            device.weight = 0;
        }
        cluster.overlay.pg_temp.clear();
        cluster.overlay.primary_temp.clear();
        down_for.clear();
        let osd = |device: &DeviceId| self.osds.get(device.index()).copied().unwrap_or(NONE);
        for settled in &self.settled {
            let devices: Vec<ItemId> = settled.devices.iter().map(osd).collect();
            let group = &mut cluster.pools[settled.pool].groups[settled.number];
            for device in &settled.lacking {
                if let Some(used) = cluster.fill.get_mut(&osd(device)) {
                    used.used_bytes += group.bytes / u64::from(settled.data.max(1));
                }
            }
            *group = towtank_ceph::Group {
                primary: devices.iter().copied().find(|osd| *osd != NONE),
                acting: Some(devices.clone()),
                up: Some(devices),
                stated: Some(Stated::default()),
                copied: None,
                emptied: 0,
                ..group.clone()
            };
        }
        *states = GroupStates { stated: self.settled.len() as u64, ..GroupStates::default() };
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

    /// The number of a device among those with data.
    pub(super) fn number(&self, device: usize) -> usize {
        self.with_data.binary_search(&device).expect("a device of a group has data")
    }

    /// A group of devices that are numbered among those with data.
    pub(super) fn renumbered(&self, group: &Group) -> Group {
        let devices = group.devices.iter().map(|device| self.number(*device)).collect();
        Group { devices, tolerance: group.tolerance }
    }

    /// A group as it stands now: without what it lacks, of which it survives as much less.
    fn standing(&self, (number, group): (usize, &Group), lacking: &BTreeSet<(usize, usize)>) -> Group {
        let lacks = |device: &usize| lacking.contains(&(*device, number));
        let (lacks, devices): (Vec<usize>, Vec<usize>) = group.devices.iter().copied().partition(lacks);
        self.renumbered(&Group { devices, tolerance: group.tolerance.saturating_sub(lacks.len()) })
    }

    /// The groups as they stand now, for bursts: on the devices with data alone.
    pub(super) fn explicit(&self) -> Result<Explicit, String> {
        let hosts: Vec<Option<usize>> =
            self.with_data.iter().map(|device| Some(self.host_of[*device])).collect();
        let host_of = numbered(&hosts);
        let mut rack_of_host: BTreeMap<usize, usize> = BTreeMap::new();
        for (device, host) in self.with_data.iter().zip(&host_of) {
            rack_of_host.insert(*host, self.rack_of[self.host_of[*device]]);
        }
        let racks: Vec<Option<usize>> = rack_of_host.into_values().map(Some).collect();
        let lacking: BTreeSet<(usize, usize)> = self.lacking.iter().copied().collect();
        let groups = self
            .groups
            .iter()
            .enumerate()
            .map(|(number, group)| self.standing((number, group), &lacking))
            .collect();
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
