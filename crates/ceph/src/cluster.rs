//! The state of a cluster: CRUSH map, devices, pools, and their placement groups.

use std::collections::{BTreeMap, BTreeSet};

use towtank_imports::ceph::{DeviceUse, GroupStat};
use towtank_placement::crush::pools::{Device, Overlay, Pool};
use towtank_placement::crush::{ItemId, Map, NONE};

use crate::tree::parents;

/// A state of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The CRUSH map.
    pub map: Map,
    /// Devices, and the settings that override CRUSH.
    pub overlay: Overlay,
    /// The pools, by id.
    pub pools: Vec<PoolState>,
    /// The usage of devices, by id.
    pub fill: BTreeMap<i32, DeviceUse>,
}

/// A pool with the state of its groups.
#[derive(Clone, Debug)]
pub struct PoolState {
    /// Its name.
    pub name: String,
    /// The pool as placement needs it.
    pub placed: Pool,
    /// Number of shards that an object's data are cut into; 1 for copies.
    pub data_shards: u32,
    /// With fewer copies or shards its groups accept no writes; none if the dump does not say.
    pub min_size: Option<u32>,
    /// Its groups by number; shared by the states before and after a change.
    pub groups: Vec<Group>,
}

/// The state of a placement group.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Bytes of its objects and of their entries (omap), without copies.
    pub bytes: u64,
    /// Number of objects; 0 where a dump counts none, though the group may have bytes.
    pub objects: u64,
    /// The devices that serve it; none if no dump says so.
    pub acting: Option<Vec<i32>>,
    /// The devices where it should be, as the cluster sees it.
    pub up: Option<Vec<i32>>,
    /// The primary.
    pub primary: Option<i32>,
    /// Its state in the dump; none if no dump lists it.
    pub stated: Option<Stated>,
    /// Of its objects, those that the devices have to which it is being copied; none where that is not known.
    pub copied: Option<u64>,
    /// How many of its devices have just been replaced by empty ones, which are no longer among `acting`.
    pub emptied: u32,
}

/// What the dump says of a group's state, as far as it concerns data safety.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// It serves no clients.
    pub inactive: bool,
    /// Some of its data were not found on any device.
    pub lost: bool,
    /// Its devices do not have all of its history: whether its data are lost is open until others come back
    /// or an operator decides.
    pub incomplete: bool,
    /// No device has reported it, or not for a while.
    pub unknown: bool,
}

impl Stated {
    /// The state of a group in a dump.
    #[must_use]
    pub fn of(stat: &GroupStat) -> Self {
        let of_words = Self::by(&|word| stat.is(word));
        Self { lost: of_words.lost || stat.sum.num_objects_unfound > 0, ..of_words }
    }

    /// What a state says; `is` tells whether a word is in it.
    pub(crate) fn by(is: &dyn Fn(&str) -> bool) -> Self {
        let any = |words: &[&str]| words.iter().any(|word| is(word));
        let unknown = any(&["unknown", "stale"]);
        Self {
            inactive: !unknown && !is("active"),
            lost: any(&["recovery_unfound", "backfill_unfound"]),
            incomplete: is("incomplete"),
            unknown,
        }
    }
}

impl Group {
    /// A group of a dump. If its state is unknown, so are its devices.
    #[must_use]
    pub fn of(stat: &GroupStat) -> Group {
        let placed = |devices: &Vec<i32>| {
            let held = devices.iter().any(|device| *device != NONE);
            (held && !stat.is("unknown")).then(|| devices.clone())
        };
        // What serves a group that is down or incomplete may hold nothing of it: its data lie on devices that
        // are down, or nowhere.
        let is_unread = ["down", "incomplete"].iter().any(|word| stat.is(word));
        let held = |devices: Vec<i32>| if is_unread { vec![NONE; devices.len()] } else { devices };
        Group {
            bytes: stat.sum.bytes(),
            objects: stat.sum.num_objects,
            acting: placed(&stat.acting).map(held),
            up: placed(&stat.up),
            primary: i32::try_from(stat.acting_primary).ok().filter(|primary| *primary >= 0),
            stated: Some(Stated::of(stat)),
            copied: None,
            emptied: 0,
        }
    }
}

impl PoolState {
    /// The same pool without its groups, if only its placement is needed.
    #[must_use]
    pub fn without_groups(&self) -> PoolState {
        let PoolState { name, placed, data_shards, min_size, groups: _ } = self;
        PoolState {
            name: name.clone(),
            placed: *placed,
            data_shards: *data_shards,
            min_size: *min_size,
            groups: Vec::new(),
        }
    }
}

impl Cluster {
    /// The cluster without its groups and their bytes: what says where groups belong.
    #[must_use]
    pub fn without_groups(&self) -> Cluster {
        Cluster {
            map: self.map.clone(),
            overlay: self.overlay.clone(),
            pools: self.pools.iter().map(PoolState::without_groups).collect(),
            fill: BTreeMap::new(),
        }
    }

    /// The device with this id, if the osd dump lists it.
    #[must_use]
    pub fn device(&self, id: ItemId) -> Option<&Device> {
        let device = usize::try_from(id).ok().and_then(|at| self.overlay.devices.get(at));
        device.filter(|device| device.exists)
    }

    /// Whether a device is up.
    #[must_use]
    pub fn serves(&self, id: ItemId) -> bool {
        self.device(id).is_some_and(|device| device.up)
    }

    /// All devices named in the exports: in the map, in the osd dump, or serving a group.
    #[must_use]
    pub fn devices(&self) -> BTreeSet<ItemId> {
        let held = self.map.each_bucket().flat_map(|bucket| bucket.items.iter().copied());
        let known = (0..).zip(&self.overlay.devices).filter(|(_, device)| device.exists).map(|(id, _)| id);
        let groups = self.pools.iter().flat_map(|pool| &pool.groups);
        let serving = groups.filter_map(|group| group.acting.as_ref()).flatten().copied();
        held.filter(|id| *id >= 0).chain(known).chain(serving).filter(|id| *id != NONE).collect()
    }

    /// The name of the bucket that directly holds each device; shadow trees and buckets without a name are
    /// skipped.
    #[must_use]
    pub fn hosts(&self) -> BTreeMap<ItemId, String> {
        let mut hosts = BTreeMap::new();
        for bucket in self.map.each_bucket() {
            let Some(name) = self.map.item_names.get(&bucket.id).filter(|name| !name.contains('~')) else {
                continue;
            };
            for &item in bucket.items.iter().filter(|item| **item >= 0) {
                hosts.entry(item).or_insert_with(|| name.clone());
            }
        }
        hosts
    }

    /// Whether a device lies in a bucket of at least the level of a rack in which nothing is up once the
    /// devices in `down` are down: Ceph marks none of its devices out by itself
    /// (`mon_osd_down_out_subtree_limit` is `rack`). False if the map has no racks.
    #[must_use]
    pub fn in_dead_rack(&self, device: ItemId, down: &BTreeSet<ItemId>) -> bool {
        self.in_rack_without(device, |item| !down.contains(&item) && self.serves(item))
    }

    /// Whether a device lies in a bucket of at least the level of a rack in which nothing is up.
    #[must_use]
    pub fn in_rack_without(&self, device: ItemId, is_up: impl Fn(ItemId) -> bool) -> bool {
        let map = &self.map;
        let Some(rack) = map.type_id("rack") else { return false };
        let parents = parents(map);
        let dead = |bucket: ItemId| {
            let mut open = vec![bucket];
            while let Some(item) = open.pop() {
                match map.bucket(item) {
                    Some(bucket) => open.extend(&bucket.items),
                    None if item >= 0 && is_up(item) => return false,
                    None => {}
                }
            }
            true
        };
        let mut at = parents.get(&device).copied();
        while let Some(bucket) = at.filter(|&bucket| dead(bucket)) {
            if map.bucket(bucket).is_some_and(|bucket| i32::from(bucket.kind) >= rack) {
                return true;
            }
            at = parents.get(&bucket).copied();
        }
        false
    }

    /// The fraction of all devices that is in and stays in without `out`: below `mon_osd_min_in_ratio`,
    /// Ceph's monitors mark no more devices out.
    #[must_use]
    pub fn share_in(&self, out: &BTreeSet<ItemId>) -> f64 {
        let all = || (0..).zip(&self.overlay.devices).filter(|(_, device): &(ItemId, &Device)| device.exists);
        let inside = all().filter(|(id, device)| device.weight > 0 && !out.contains(id)).count();
        inside as f64 / all().count().max(1) as f64
    }
}
