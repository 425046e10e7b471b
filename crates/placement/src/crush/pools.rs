//! From a placement group to its devices, with everything that Ceph applies on top of CRUSH: pools, devices
//! that are down or out, explicit mappings (`pg_upmap`, `pg_upmap_items`, `pg_upmap_primaries`), primary
//! affinity and temporary mappings.
//!
//! Computes what the monitors and clients of Ceph 16.2.15 compute: `raw` is CRUSH's result, `up` is where the
//! group should be, `acting` is where it is currently served.

use super::hash::hash2;
use super::map::{ItemId, Map, NONE, RuleKind};
use super::mapper::{Ask, Mapper, Mappings, Workspace};
use super::objects::{ObjectKey, stable_mod};
use super::reference::{Question, do_rule};
use std::collections::BTreeMap;

/// The weight of a device that is fully in, and the full primary affinity, in 16.16 fixed point.
pub const FULL: u32 = 0x1_0000;

/// A placement group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PgId {
    /// The pool.
    pub pool: i64,
    /// The number of the group in its pool.
    pub seed: u32,
}

impl std::fmt::Display for PgId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:x}", self.pool, self.seed)
    }
}

/// The properties of a pool that determine placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its id.
    pub id: i64,
    /// Replicated or erasure-coded.
    pub kind: RuleKind,
    /// The number of replicas, or of data and parity shards together.
    pub size: u32,
    /// The id of its rule.
    pub rule: u32,
    /// The number of placement groups.
    pub pg_num: u32,
    /// The number of placement groups that CRUSH distinguishes; smaller while a pool is being split.
    pub pgp_num: u32,
    /// Whether the pool's id is hashed into the input rather than added.
    pub hashpspool: bool,
}

impl Pool {
    /// The placement group of an object.
    #[must_use]
    pub fn group_of(&self, object: ObjectKey<'_>) -> PgId {
        PgId { pool: self.id, seed: stable_mod(object.hash(), self.pg_num) }
    }

    /// The input of CRUSH for a group of this pool.
    #[must_use]
    pub fn input(&self, seed: u32) -> u32 {
        let placed = stable_mod(seed, self.pgp_num);
        let id = self.id as u32;
        if self.hashpspool { hash2(placed, id) } else { placed.wrapping_add(id) }
    }

    /// Whether later devices may move up where one is missing: replicas may, shards may not, because each
    /// holds different data.
    fn may_shift(&self) -> bool {
        self.kind == RuleKind::Replicated
    }
}

/// The state of a device in the monitors' map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Whether the device exists in the cluster.
    pub exists: bool,
    /// Whether the device is up.
    pub up: bool,
    /// The weight at which it is in: 0 is out, [`FULL`] is in.
    pub weight: u32,
    /// The primary affinity.
    pub primary_affinity: u32,
}

impl Device {
    /// Up, in, and with full primary affinity.
    pub const IN: Self = Self { exists: true, up: true, weight: FULL, primary_affinity: FULL };
    /// A device that does not exist.
    pub const ABSENT: Self = Self { exists: false, up: false, weight: 0, primary_affinity: FULL };
}

/// The devices and the mappings applied on top of CRUSH.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlay {
    /// Devices by id.
    pub devices: Vec<Device>,
    /// Complete mappings set by an operator or the balancer.
    pub upmap: BTreeMap<PgId, Vec<ItemId>>,
    /// Pairs of devices, from and to, replaced in CRUSH's result.
    pub upmap_items: BTreeMap<PgId, Vec<(ItemId, ItemId)>>,
    /// Temporary mappings, while the new devices of a group are not ready.
    pub pg_temp: BTreeMap<PgId, Vec<ItemId>>,
    /// Temporary primaries.
    pub primary_temp: BTreeMap<PgId, ItemId>,
    /// Primaries of replicated groups that the read balancer has set (from Ceph 18 on).
    pub upmap_primary: BTreeMap<PgId, ItemId>,
}

/// The devices of a group; in a replicated pool the primary comes first, unless `primary_temp` names it.
/// [`NONE`] marks holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The devices.
    pub devices: Vec<ItemId>,
    /// The primary.
    pub primary: Option<ItemId>,
}

impl Placed {
    fn led_by_first(devices: Vec<ItemId>) -> Self {
        let primary = devices.iter().copied().find(|&device| device != NONE);
        Self { devices, primary }
    }
}

/// The placement of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPlacement {
    /// CRUSH's result without devices that do not exist.
    pub raw: Placed,
    /// Where the group should be.
    pub up: Placed,
    /// Where the group is served.
    pub acting: Placed,
}

/// A function that computes CRUSH: (rule, input, size, device weights, pool) to devices.
pub type Crush<'a> = dyn FnMut(usize, u32, usize, &[u32], i64) -> Vec<ItemId> + 'a;

/// Computes the placement of groups for one state of a cluster.
#[derive(Clone, Debug)]
pub struct Placer<'a> {
    map: &'a Map,
    overlay: &'a Overlay,
    weights: Vec<u32>,
}

impl<'a> Placer<'a> {
    /// A placer for one state of a cluster.
    #[must_use]
    pub fn new(map: &'a Map, overlay: &'a Overlay) -> Self {
        Self { map, overlay, weights: overlay.devices.iter().map(|device| device.weight).collect() }
    }

    /// The placement of a group, by the reference implementation of CRUSH.
    #[must_use]
    pub fn place(&self, pool: &Pool, seed: u32) -> GroupPlacement {
        self.place_by(pool, seed, &mut |rule, x, result_max, weights, pool| {
            let choose_args = self.map.choose_args_for(pool);
            do_rule(self.map, rule, Question { x, result_max, weights, choose_args })
        })
    }

    /// The placement of a group, with CRUSH computed by `crush`.
    #[must_use]
    pub fn place_by(&self, pool: &Pool, seed: u32, crush: &mut Crush<'_>) -> GroupPlacement {
        let raw = match self.rule_for(pool) {
            Some(rule) => crush(rule, pool.input(seed), pool.size as usize, &self.weights, pool.id),
            None => Vec::new(),
        };
        self.place_raw(pool, seed, raw)
    }

    /// The placements of several groups of a pool, in their order. This is faster than group by group.
    #[must_use]
    pub fn place_all(
        &self,
        pool: &Pool,
        seeds: &[u32],
        mapper: &Mapper,
        workspace: &mut Workspace,
    ) -> Vec<GroupPlacement> {
        let Some(rule) = self.rule_for(pool) else {
            return seeds.iter().map(|&seed| self.place_raw(pool, seed, Vec::new())).collect();
        };
        let inputs: Vec<u32> = seeds.iter().map(|&seed| pool.input(seed)).collect();
        let result_max = pool.size as usize;
        let ask = Ask { rule, x: 0, result_max, weights: &self.weights, pool: pool.id };
        let mut found = Mappings::default();
        mapper.map_all(ask, &inputs, workspace, &mut found);
        seeds.iter().zip(found.iter()).map(|(&seed, raw)| self.place_raw(pool, seed, raw.to_vec())).collect()
    }

    /// The placement of a group from CRUSH's result.
    fn place_raw(&self, pool: &Pool, seed: u32, mut raw: Vec<ItemId>) -> GroupPlacement {
        let group = PgId { pool: pool.id, seed: stable_mod(seed, pool.pg_num) };
        let (found, size) = (raw.len(), pool.size);
        assert!(
            found <= size as usize,
            "CRUSH finds no more devices for a group than its pool asks for: {found} of {size}"
        );
        self.keep(pool, &mut raw, |device| device.exists);
        let mut target = raw.clone();
        if self.apply_upmap(group, &mut target) {
            self.apply_upmap_primary(pool, group, &mut target);
        }
        self.keep(pool, &mut target, |device| device.exists && device.up);
        let up = self.lead(pool, pool.input(seed), target);
        let acting = self.acting(pool, group, &up);
        GroupPlacement { raw: Placed::led_by_first(raw), up, acting }
    }

    /// The pool's rule, if it is intended for such a pool.
    fn rule_for(&self, pool: &Pool) -> Option<usize> {
        let id = pool.rule as usize;
        let rule = self.map.rule(id)?;
        let fits = rule.kind.serves(pool.kind)
            && (u32::from(rule.min_size)..=u32::from(rule.max_size)).contains(&pool.size);
        fits.then_some(id)
    }

    fn device(&self, id: ItemId) -> Option<&Device> {
        self.overlay.devices.get(usize::try_from(id).ok()?)
    }

    /// Removes the devices that fail the test, or replaces them by holes.
    fn keep(&self, pool: &Pool, devices: &mut Vec<ItemId>, test: impl Fn(&Device) -> bool) {
        let good = |&id: &ItemId| self.device(id).is_some_and(&test);
        if pool.may_shift() {
            devices.retain(good);
        } else {
            devices.iter_mut().filter(|id| !good(id)).for_each(|id| *id = NONE);
        }
    }

    /// Applies explicit mappings; those to a device that is out are ignored. False where the whole mapping of
    /// the group is: then nothing else that is set for it counts.
    fn apply_upmap(&self, group: PgId, raw: &mut Vec<ItemId>) -> bool {
        let out = |id: ItemId| self.device(id).is_some_and(|device| device.weight == 0);
        if let Some(whole) = self.overlay.upmap.get(&group) {
            if whole.iter().any(|&id| out(id)) {
                return false;
            }
            raw.clone_from(whole);
        }
        for &(from, to) in self.overlay.upmap_items.get(&group).into_iter().flatten() {
            if !raw.contains(&to)
                && !out(to)
                && let Some(place) = raw.iter_mut().find(|id| **id == from)
            {
                *place = to;
            }
        }
        true
    }

    /// Puts the device first that is to be the primary, if it is one of the group's and not out.
    fn apply_upmap_primary(&self, pool: &Pool, group: PgId, raw: &mut [ItemId]) {
        let Some(named) = self.overlay.upmap_primary.get(&group).filter(|_| pool.may_shift()) else { return };
        let serves = self.device(*named).is_some_and(|device| device.weight > 0);
        if let Some(place) = raw.iter().position(|id| id == named).filter(|_| serves) {
            raw.swap(0, place);
        }
    }

    /// Selects the primary: the first device that its primary affinity accepts, else the first.
    fn lead(&self, pool: &Pool, input: u32, mut devices: Vec<ItemId>) -> Placed {
        let affinity = |id: ItemId| self.device(id).map_or(FULL, |device| device.primary_affinity);
        let willing = |id: ItemId| {
            let affinity = affinity(id);
            affinity >= FULL || (hash2(input, id as u32) >> 16) < affinity
        };
        let first_willing = devices.iter().position(|&id| id != NONE && willing(id));
        let first = devices.iter().position(|&id| id != NONE);
        let Some(lead) = first_willing.or(first) else { return Placed { devices, primary: None } };
        let primary = devices[lead];
        if pool.may_shift() {
            devices[..=lead].rotate_right(1);
        }
        Placed { devices, primary: Some(primary) }
    }

    fn acting(&self, pool: &Pool, group: PgId, up: &Placed) -> Placed {
        let mut devices = self.overlay.pg_temp.get(&group).cloned().unwrap_or_default();
        self.keep(pool, &mut devices, |device| device.exists && device.up);
        let named = self.overlay.primary_temp.get(&group).copied();
        if devices.is_empty() {
            return Placed { devices: up.devices.clone(), primary: named.or(up.primary) };
        }
        let placed = Placed::led_by_first(devices);
        Placed { primary: named.or(placed.primary), ..placed }
    }
}

#[cfg(test)]
mod tests;
