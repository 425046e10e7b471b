//! What every device holds: copies and shards of each group, where the map puts them, and its fill.
//!
//! Everything here is the state that the cluster moves towards by itself: groups on the devices that the map
//! gives them (`up`). What devices report now is kept beside it. Overheads (used space beyond the bytes of
//! objects) are taken as they are and stay with their device.

use std::collections::BTreeMap;

use towtank_placement::crush::objects::stable_mod;
use towtank_placement::crush::pools::{FULL, GroupPlacement, PgId};
use towtank_placement::crush::{Fault, ItemId, Map, NONE, RuleKind};

use super::ideal::{Picked, shares};
use super::shape::Shape;
use crate::cluster::{Cluster, Group, PoolState};
use crate::fill::FillLimits;
use crate::gains::{Gains, differs};
use crate::laid_out::LaidOut;
use crate::split::part_of_hashes;
use crate::upmaps;

/// A cluster with what each device holds.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Its pools.
    pub pools: Vec<PoolSpread>,
    /// All groups, in the order of pools and numbers.
    pub groups: Vec<Placed>,
    /// All devices, by id.
    pub devices: BTreeMap<ItemId, Load>,
    /// The limits of fill.
    pub limits: FillLimits,
    /// Groups for which the dump and the map disagree on the right devices, and the first of them.
    pub disagreeing: (u64, Option<String>),
    /// Bytes that are to move before every group is where the map puts it.
    pub pending_bytes: u64,
}

/// A pool.
#[derive(Clone, Debug)]
pub struct PoolSpread {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: i64,
    /// Its rule.
    pub shape: Shape,
    /// Copies, or data and parity shards.
    pub size: u32,
    /// Number of its groups.
    pub pg_num: u32,
    /// Number of shards that an object is cut into; 1 for copies.
    pub data_shards: u32,
    /// Whether its shards are not interchangeable.
    pub coded: bool,
    /// Bytes of its objects, without copies.
    pub bytes: u64,
    /// Whether a dump gives the sizes of its groups.
    pub sized: bool,
    /// Its copies and shards, where the map puts them.
    pub shards: u64,
    /// Their bytes.
    pub shard_bytes: u64,
    /// Groups that it has now and that are merged or get another place, because their numbers are changing.
    pub changing: u64,
}

/// A group where the map puts it.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Index of its pool.
    pub pool: usize,
    /// Its number in the pool.
    pub seed: u32,
    /// What CRUSH gives, without explicit mappings and without devices that are down.
    pub plain: Vec<ItemId>,
    /// What CRUSH gives, including devices that are down: explicit mappings begin here.
    pub raw: Vec<ItemId>,
    /// The same with explicit mappings.
    pub mapped: Vec<ItemId>,
    /// The devices that the map gives it: those of `mapped` that are up. [`NONE`] marks holes.
    pub up: Vec<ItemId>,
    /// Whether it serves its clients from these devices; groups that are moving or broken are not planned.
    pub settled: bool,
    /// Whether its place is changing, or others are merged into it, because numbers of groups are changing.
    pub changes: bool,
    /// Bytes of each copy or shard.
    pub shard: u64,
    /// Bytes that each copy or shard grows by if the pool grows by one byte.
    pub growth: f64,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// Its name.
    pub name: String,
    /// The bucket that holds it.
    pub host: String,
    /// Its class, if it has one.
    pub class: Option<String>,
    /// Its size: as reported, or its weight in TiB.
    pub capacity: f64,
    /// Whether the exports have its size and its used space.
    pub reported: bool,
    /// Its used space as reported.
    pub used_now: Option<u64>,
    /// Its weight in the map, in the tree of a rule that reaches it; 0 if none does.
    pub weight: f64,
    /// The same times its override; 0 if it is down or out.
    pub effective: f64,
    /// The override of its weight, from 0 to 1.
    pub reweight: f64,
    /// Whether it is up.
    pub up: bool,
    /// Copies and shards that the map puts on it.
    pub shards: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Copies and shards on it now.
    pub shards_now: u64,
    /// Used space beyond the bytes of objects that are on it now.
    pub overhead: f64,
}

impl Placed {
    /// Its devices, without holes.
    pub fn held(&self) -> impl Iterator<Item = ItemId> + '_ {
        real(&self.up)
    }
}

/// Devices without holes.
pub(super) fn real(devices: &[ItemId]) -> impl Iterator<Item = ItemId> + '_ {
    devices.iter().copied().filter(|id| *id != NONE)
}

impl Load {
    /// The fill that devices report now.
    #[must_use]
    pub fn fill_now(&self) -> Option<f64> {
        let used = self.used_now.filter(|_| self.reported)?;
        Some(used as f64 / self.capacity)
    }

    /// The fill with these bytes of objects; nothing for a device without a size.
    #[must_use]
    pub fn fill_with(&self, bytes: f64) -> Option<f64> {
        (self.capacity > 0.0).then(|| ((bytes + self.overhead) / self.capacity).max(0.0))
    }

    /// The fill once every group is where the map puts it.
    #[must_use]
    pub fn fill(&self) -> Option<f64> {
        self.fill_with(self.bytes as f64)
    }
}

/// Bytes, and copies and shards, that devices hold now.
type Present = BTreeMap<ItemId, (u64, u64)>;

/// A group as it is now, and the one that it is in the end.
struct Unit<'a> {
    /// Index of its pool.
    pool: usize,
    seed: u32,
    group: &'a Group,
    /// The number of the group that it is in the end.
    target: u32,
    /// Its place now, where that may be another one.
    was: Option<&'a GroupPlacement>,
    place: GroupPlacement,
    /// Index of the first group of its pool.
    first: usize,
}

/// Groups between two questions whether to go on.
const GROUPS_PER_LOOK: usize = 1_024;

/// Bytes of one unit of weight: Ceph gives a new device its size in TiB as weight.
const WEIGHT_BYTES: f64 = (1u64 << 40) as f64;

impl Spread {
    /// Places every group; nothing if `goes_on` says no. It is given the part that is done.
    ///
    /// # Errors
    /// The fault of an invalid map.
    pub fn of(
        cluster: &Cluster,
        limits: FillLimits,
        goes_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Spread>, Fault> {
        Spread::reached((cluster, cluster), limits, goes_on)
    }

    /// The same of a cluster whose numbers of groups and places are changing: what it holds now, where it is
    /// to be in the end. Groups that are merged count as the one that they become.
    ///
    /// # Errors
    /// The fault of an invalid map.
    pub fn reached(
        (now, end): (&Cluster, &Cluster),
        limits: FillLimits,
        goes_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Spread>, Fault> {
        let mut spread = Spread {
            pools: now.pools.iter().zip(&end.pools).map(|(now, then)| pool_of(&end.map, now, then)).collect(),
            groups: Vec::new(),
            devices: BTreeMap::new(),
            limits,
            disagreeing: (0, None),
            pending_bytes: 0,
        };
        let total: usize = now.pools.iter().map(|pool| pool.groups.len()).sum();
        let mut laid_out = LaidOut::new(end)?;
        let mut before = if std::ptr::eq(now, end) { None } else { Some(LaidOut::new(now)?) };
        let mut present: Present = BTreeMap::new();
        let mut done = 0;
        for (at, (pool, then)) in now.pools.iter().zip(&end.pools).enumerate() {
            law_of_groups(pool, then);
            let first = spread.groups.len();
            let groups: Vec<(u32, &Group)> = (0..).zip(&pool.groups).collect();
            for groups in groups.chunks(GROUPS_PER_LOOK) {
                if !goes_on(done as f64 / total.max(1) as f64) {
                    return Ok(None);
                }
                done += groups.len();
                let seeds: Vec<u32> = groups.iter().map(|&(seed, _)| seed).collect();
                let targets: Vec<u32> =
                    seeds.iter().map(|seed| stable_mod(*seed, then.placed.pg_num)).collect();
                let was = before.as_mut().map(|before| before.place_all(&pool.placed, &seeds));
                let places = laid_out.place_all(&then.placed, &targets);
                for (index, (&(seed, group), place)) in groups.iter().zip(places).enumerate() {
                    let target = targets[index];
                    let was = was.as_ref().map(|was| &was[index]);
                    let unit = Unit { pool: at, seed, group, target, was, place, first };
                    spread.add(unit, (pool, end), &mut present);
                }
            }
        }
        spread.note_devices(end, &present);
        Ok(Some(spread))
    }

    /// Adds a group as it is now to the one that it is in the end.
    fn add(&mut self, unit: Unit<'_>, (pool, end): (&PoolState, &Cluster), present: &mut Present) {
        let Unit { group, place, .. } = unit;
        let coded = pool.placed.kind == RuleKind::Erasure;
        let was = unit.was.unwrap_or(&place);
        let held = group.acting.as_ref().unwrap_or(&was.acting.devices);
        let up = &place.up.devices;
        let shard = group.bytes.div_ceil(u64::from(pool.data_shards));
        for id in real(held) {
            let here = present.entry(id).or_default();
            *here = (here.0 + shard, here.1 + 1);
        }
        let gains = Gains::between(held, up, coded);
        let had = group.bytes_of(group.had(&gains, coded), shard);
        self.pending_bytes += gains.gained.len() as u64 * (shard - had);
        if group.up.as_ref().is_some_and(|stated| differs(stated, &was.up.devices, coded)) {
            self.disagreeing.0 += 1;
            let id = PgId { pool: pool.placed.id, seed: unit.seed };
            self.disagreeing.1.get_or_insert_with(|| id.to_string());
        }
        if unit.seed != unit.target {
            let whole = &mut self.groups[unit.first + unit.target as usize];
            whole.shard += shard;
            whole.settled = false;
            let counted = !std::mem::replace(&mut whole.changes, true);
            self.pools[unit.pool].changing += 1 + u64::from(counted);
            return;
        }
        let changes = differs(&was.up.devices, up, coded);
        self.pools[unit.pool].changing += u64::from(changes);
        let pg_num = self.pools[unit.pool].pg_num;
        let part = part_of_hashes(unit.seed, pg_num) as f64 / (1u64 << 32) as f64;
        let sound = group
            .stated
            .is_none_or(|state| !(state.lost || state.incomplete || state.inactive || state.unknown));
        let settled = sound && !changes && !differs(held, up, coded);
        let raw = place.raw.devices;
        self.groups.push(Placed {
            pool: unit.pool,
            seed: unit.seed,
            plain: real(&raw).filter(|id| end.serves(*id)).collect(),
            mapped: mapped(end, PgId { pool: pool.placed.id, seed: unit.seed }, &raw),
            raw,
            up: place.up.devices,
            settled,
            changes,
            shard,
            growth: part / f64::from(pool.data_shards),
        });
    }

    /// Leaves all groups of a pool where they are: no move of them is planned.
    pub fn keep_pool(&mut self, id: i64) {
        let Some(at) = self.pools.iter().position(|pool| pool.id == id) else { return };
        let pool = &mut self.pools[at];
        pool.changing = u64::from(pool.pg_num);
        for group in self.groups.iter_mut().filter(|group| group.pool == at) {
            (group.settled, group.changes) = (false, true);
        }
    }

    fn note_devices(&mut self, cluster: &Cluster, present: &Present) {
        let hosts = cluster.hosts();
        let map = &cluster.map;
        let held = self.groups.iter().flat_map(Placed::held);
        let known = (0..).zip(&cluster.overlay.devices).filter(|(_, device)| device.exists).map(|(id, _)| id);
        let mut ids: Vec<ItemId> = known.chain(held).chain(present.keys().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let weights = self.pools.iter().filter_map(|pool| pool.shape.devices.get(&id));
            let weight = weights.copied().fold(0.0, f64::max);
            let device = cluster.device(id);
            let reweight = device.map_or(0.0, |device| f64::from(device.weight) / f64::from(FULL));
            let up = cluster.serves(id);
            let class = map.item_classes.get(&id).and_then(|class| map.class_names.get(class));
            let (bytes, shards_now) = present.get(&id).copied().unwrap_or_default();
            let using = cluster.fill.get(&id).filter(|using| using.size_bytes > 0);
            let load = Load {
                name: map.item_names.get(&id).cloned().unwrap_or_else(|| format!("osd.{id}")),
                host: hosts.get(&id).cloned().unwrap_or_default(),
                class: class.cloned(),
                capacity: using.map_or(weight * WEIGHT_BYTES, |using| using.size_bytes as f64),
                reported: using.is_some(),
                used_now: using.map(|using| using.used_bytes),
                weight,
                effective: if up { weight * reweight } else { 0.0 },
                reweight,
                up,
                shards_now,
                overhead: using.map_or(0.0, |using| using.used_bytes as f64 - bytes as f64),
                ..Load::default()
            };
            self.devices.insert(id, load);
        }
        self.count();
    }

    /// Counts the shards and bytes of devices and pools again.
    pub(super) fn count(&mut self) {
        for load in self.devices.values_mut() {
            (load.shards, load.bytes) = (0, 0);
        }
        for pool in &mut self.pools {
            (pool.shards, pool.shard_bytes) = (0, 0);
        }
        for group in &self.groups {
            for id in group.held() {
                if let Some(load) = self.devices.get_mut(&id) {
                    load.shards += 1;
                    load.bytes += group.shard;
                }
                self.pools[group.pool].shards += 1;
                self.pools[group.pool].shard_bytes += group.shard;
            }
        }
        self.law_of_counts();
    }

    /// What devices hold together is what pools have together: no group is on a device that is not known.
    fn law_of_counts(&self) {
        let add = |sum: (u64, u64), shards: u64, bytes: u64| (sum.0 + shards, sum.1.wrapping_add(bytes));
        let held = self.devices.values().fold((0, 0), |sum, load| add(sum, load.shards, load.bytes));
        let had = self.pools.iter().fold((0, 0), |sum, pool| add(sum, pool.shards, pool.shard_bytes));
        assert!(held == had, "devices hold the shards and bytes that pools have: {held:?} of {had:?}");
    }

    /// The shards of a pool that each device is expected to hold, by these weights.
    #[must_use]
    pub fn expected(
        &self,
        pool: &PoolSpread,
        weight: &dyn Fn(&Load) -> f64,
        picked: Picked,
    ) -> BTreeMap<ItemId, f64> {
        let of = |id: ItemId| self.devices.get(&id).map_or(0.0, weight);
        let mut shares = shares(&pool.shape, &of, picked);
        let sum: f64 = shares.values().sum();
        // Groups that are short of devices hold less than the rule asks for.
        let scale = if sum > 0.0 { pool.shards as f64 / sum } else { 0.0 };
        let scale = scale.min(f64::from(pool.pg_num));
        shares.values_mut().for_each(|share| *share *= scale);
        shares
    }

    /// Bytes of objects that a cluster with these shards of each pool has on each device, if all shards of a
    /// pool have the same size.
    #[must_use]
    pub fn bytes_of(&self, shards: &[BTreeMap<ItemId, f64>]) -> BTreeMap<ItemId, f64> {
        let mut bytes = BTreeMap::new();
        for (pool, shards) in self.pools.iter().zip(shards) {
            let each = pool.mean_shard();
            for (id, count) in shards {
                *bytes.entry(*id).or_default() += count * each;
            }
        }
        bytes
    }

    /// The ideal: shards of each pool on each device, as weights in the map, overrides and rules give them.
    #[must_use]
    pub fn ideal(&self) -> Vec<BTreeMap<ItemId, f64>> {
        self.pools.iter().map(|pool| self.expected(pool, &|load| load.effective, Picked::Even)).collect()
    }

    /// Whether no device has a size in the exports.
    #[must_use]
    pub fn sizes_unknown(&self) -> bool {
        self.devices.values().all(|load| !load.reported)
    }

    /// The fullest device now, as reported.
    #[must_use]
    pub fn fullest_now(&self) -> Option<(&Load, f64)> {
        let fills = self.devices.values().filter_map(|load| Some((load, load.fill_now()?)));
        fills.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
}

impl PoolSpread {
    /// Bytes of a copy or shard, on average.
    #[must_use]
    pub(super) fn mean_shard(&self) -> f64 {
        if self.shards == 0 { 0.0 } else { self.shard_bytes as f64 / self.shards as f64 }
    }
}

/// A pool has as many groups as `pg_num` says, and no more in the end: their parts of it add up only then.
fn law_of_groups(pool: &PoolState, then: &PoolState) {
    let (groups, pg_num) = (pool.groups.len(), pool.placed.pg_num);
    assert!(groups == pg_num as usize, "a pool has as many groups as it says: {groups} of {pg_num}");
    let end = then.placed.pg_num;
    assert!(end <= pg_num, "groups are merged, and what becomes of a split is not known: {pg_num} to {end}");
}

/// The devices of a group with its explicit mappings, up or not.
fn mapped(cluster: &Cluster, group: PgId, raw: &[ItemId]) -> Vec<ItemId> {
    let overlay = &cluster.overlay;
    let out = |id: ItemId| cluster.device(id).is_some_and(|device| device.weight == 0);
    upmaps::apply(raw, overlay.upmap.get(&group), overlay.upmap_items.get(&group), out)
}

/// A pool with what it stores now, and its groups in the end.
fn pool_of(map: &Map, now: &PoolState, then: &PoolState) -> PoolSpread {
    PoolSpread {
        name: now.name.clone(),
        id: now.placed.id,
        shape: Shape::of(map, &then.placed),
        size: now.placed.size,
        pg_num: then.placed.pg_num,
        data_shards: now.data_shards,
        coded: now.placed.kind == RuleKind::Erasure,
        bytes: now.groups.iter().map(|group| group.bytes).sum(),
        sized: now.groups.iter().any(|group| group.stated.is_some()),
        shards: 0,
        shard_bytes: 0,
        changing: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cluster, spread};
    use super::*;

    #[test]
    #[should_panic(expected = "a pool has as many groups as it says: 7 of 8")]
    fn a_group_that_is_missing_breaks_a_law() {
        let mut cluster = cluster();
        cluster.pools[0].groups.pop();
        let _ = Spread::of(&cluster, FillLimits::default(), &mut |_| true);
    }

    #[test]
    #[should_panic(expected = "what becomes of a split is not known: 8 to 16")]
    fn a_split_that_is_still_to_come_breaks_a_law() {
        let (now, mut end) = (cluster(), cluster());
        end.pools[0].set_pg_num(16);
        let _ = Spread::reached((&now, &end), FillLimits::default(), &mut |_| true);
    }

    /// Groups that are merged, and those that get another place meanwhile, count as what they become.
    #[test]
    fn groups_that_are_merged_are_counted_where_they_come_together() {
        let (now, mut end) = (cluster(), cluster());
        end.pools[0].set_pg_num(6);
        let [spread, before] = [&end, &now].map(|end| {
            let found = Spread::reached((&now, end), FillLimits::default(), &mut |_| true);
            found.expect("the map is valid").expect("nobody stopped it")
        });
        let shards: Vec<u64> = spread.groups.iter().map(|group| group.shard).collect();
        assert_eq!(shards, [1_000, 1_000, 2_000, 2_000, 1_000, 1_000], "6 is merged into 2, 7 into 3");
        let stays: Vec<u32> =
            (0..).zip(&spread.groups).filter(|(_, g)| g.settled).map(|(at, _)| at).collect();
        assert_eq!((stays, spread.pools[0].changing), (vec![0, 1, 4, 5], 4));
        let bytes = |spread: &Spread| spread.devices.values().map(|load| load.bytes).sum::<u64>();
        assert_eq!((bytes(&spread), bytes(&before)), (16_000, 16_000));
        let held = |spread: &Spread| spread.devices.values().map(|load| load.shards_now).sum::<u64>();
        assert_eq!((held(&spread), held(&before)), (16, 16), "now there are eight");
    }

    #[test]
    #[should_panic(
        expected = "devices hold the shards and bytes that pools have: (15, 15000) of (16, 16000)"
    )]
    fn a_shard_on_a_device_that_is_not_known_breaks_a_law() {
        let mut spread = spread(&cluster());
        spread.groups[0].up[0] = 99;
        spread.count();
    }
}
