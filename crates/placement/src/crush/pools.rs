//! From a placement group to its devices, with everything that Ceph lays over CRUSH: pools, devices that are
//! down or out, explicit mappings (`pg_upmap`, `pg_upmap_items`), primary affinity and temporary mappings.
//!
//! Follows what the monitors and clients of Ceph 16.2.15 compute: `raw` is CRUSH's answer, `up` is where the
//! group should be, `acting` is where it is served now.

use super::hash::hash2;
use super::map::{ItemId, Map, NONE, RuleKind};
use super::objects::{ObjectKey, stable_mod};
use super::reference::{Question, do_rule};
use std::collections::BTreeMap;

/// Fully in, and fully willing to be primary, in 16.16 fixed point.
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

/// A pool, as far as placement cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its id.
    pub id: i64,
    /// Replicated or erasure-coded.
    pub kind: RuleKind,
    /// Replicas, or data and parity shards together.
    pub size: u32,
    /// The id of its rule.
    pub rule: u32,
    /// Placement groups.
    pub pg_num: u32,
    /// Placement groups that CRUSH tells apart; fewer while a pool is being split.
    pub pgp_num: u32,
    /// Whether the pool's id is hashed into the input, rather than added.
    pub hashpspool: bool,
}

impl Pool {
    /// The group of an object.
    #[must_use]
    pub fn group_of(&self, object: ObjectKey<'_>) -> PgId {
        PgId { pool: self.id, seed: stable_mod(object.hash(), self.pg_num) }
    }

    /// CRUSH's input for a group of this pool.
    #[must_use]
    pub fn input(&self, seed: u32) -> u32 {
        let placed = stable_mod(seed, self.pgp_num);
        let id = self.id as u32;
        if self.hashpspool { hash2(placed, id) } else { placed.wrapping_add(id) }
    }

    /// Replicas may move up where one is missing; shards may not, since each holds different data.
    fn may_shift(&self) -> bool {
        self.kind == RuleKind::Replicated
    }
}

/// A device, as the monitors see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Whether the cluster knows it at all.
    pub exists: bool,
    /// Whether it answers.
    pub up: bool,
    /// How far it is in: 0 is out, [`FULL`] is in.
    pub weight: u32,
    /// How willingly it is primary.
    pub primary_affinity: u32,
}

impl Device {
    /// Up, in and willing.
    pub const IN: Self = Self { exists: true, up: true, weight: FULL, primary_affinity: FULL };
    /// Not there.
    pub const ABSENT: Self = Self { exists: false, up: false, weight: 0, primary_affinity: FULL };
}

/// Devices and what is laid over CRUSH.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlay {
    /// Devices by id.
    pub devices: Vec<Device>,
    /// Whole mappings given by hand or by the balancer.
    pub upmap: BTreeMap<PgId, Vec<ItemId>>,
    /// Pairs of devices, from and to, exchanged in CRUSH's answer.
    pub upmap_items: BTreeMap<PgId, Vec<(ItemId, ItemId)>>,
    /// Who serves a group while its new devices are not ready.
    pub pg_temp: BTreeMap<PgId, Vec<ItemId>>,
    /// Who is primary meanwhile.
    pub primary_temp: BTreeMap<PgId, ItemId>,
}

/// Devices of a group, first the primary where it is one of several equals; [`NONE`] marks holes.
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

/// Where a group is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPlacement {
    /// CRUSH's answer, less devices that do not exist.
    pub raw: Placed,
    /// Where it should be.
    pub up: Placed,
    /// Where it is served.
    pub acting: Placed,
}

/// What answers for CRUSH: (rule, input, size, device weights, pool) to devices.
pub type Crush<'a> = dyn FnMut(usize, u32, usize, &[u32], i64) -> Vec<ItemId> + 'a;

/// Places groups of a cluster.
#[derive(Clone, Debug)]
pub struct Placer<'a> {
    map: &'a Map,
    overlay: &'a Overlay,
    weights: Vec<u32>,
}

impl<'a> Placer<'a> {
    /// For one state of a cluster.
    #[must_use]
    pub fn new(map: &'a Map, overlay: &'a Overlay) -> Self {
        Self { map, overlay, weights: overlay.devices.iter().map(|device| device.weight).collect() }
    }

    /// Where a group is, by the definition of CRUSH.
    #[must_use]
    pub fn place(&self, pool: &Pool, seed: u32) -> GroupPlacement {
        self.place_by(pool, seed, &mut |rule, x, result_max, weights, pool| {
            let choose_args = self.map.choose_args_for(pool);
            do_rule(self.map, rule, Question { x, result_max, weights, choose_args })
        })
    }

    /// Where a group is, with CRUSH's answers from `crush`.
    #[must_use]
    pub fn place_by(&self, pool: &Pool, seed: u32, crush: &mut Crush<'_>) -> GroupPlacement {
        let group = PgId { pool: pool.id, seed: stable_mod(seed, pool.pg_num) };
        let input = pool.input(seed);
        let mut raw = match self.rule_for(pool) {
            Some(rule) => crush(rule, input, pool.size as usize, &self.weights, pool.id),
            None => Vec::new(),
        };
        self.keep(pool, &mut raw, |device| device.exists);
        let mut target = raw.clone();
        self.apply_upmap(group, &mut target);
        self.keep(pool, &mut target, |device| device.exists && device.up);
        let up = self.lead(pool, input, target);
        let acting = self.acting(pool, group, &up);
        GroupPlacement { raw: Placed::led_by_first(raw), up, acting }
    }

    /// The pool's rule, if it is meant for such a pool.
    fn rule_for(&self, pool: &Pool) -> Option<usize> {
        let id = pool.rule as usize;
        let rule = self.map.rule(id)?;
        let fits = rule.kind == pool.kind
            && (u32::from(rule.min_size)..=u32::from(rule.max_size)).contains(&pool.size);
        fits.then_some(id)
    }

    fn device(&self, id: ItemId) -> Option<&Device> {
        self.overlay.devices.get(usize::try_from(id).ok()?)
    }

    /// Drops the devices that fail the test, or makes them holes.
    fn keep(&self, pool: &Pool, devices: &mut Vec<ItemId>, test: impl Fn(&Device) -> bool) {
        let good = |&id: &ItemId| self.device(id).is_some_and(&test);
        if pool.may_shift() {
            devices.retain(good);
        } else {
            devices.iter_mut().filter(|id| !good(id)).for_each(|id| *id = NONE);
        }
    }

    /// Mappings to a device that is out are ignored.
    fn apply_upmap(&self, group: PgId, raw: &mut Vec<ItemId>) {
        let out = |id: ItemId| self.device(id).is_some_and(|device| device.weight == 0);
        if let Some(whole) = self.overlay.upmap.get(&group) {
            if whole.iter().any(|&id| out(id)) {
                return;
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
    }

    /// Picks the primary: the first that is willing, else the first.
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
