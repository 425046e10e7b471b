//! Finds the explicit mappings (`pg_upmap`, `pg_upmap_items`) that the monitors drop when the map changes.
//!
//! Follows `OSDMap::check_pg_upmaps` and `CrushWrapper::verify_upmap` of Ceph 16.2: a mapping is dropped if
//! its group no longer exists or is about to be merged, if it puts two copies into one failure domain, if it
//! leaves the tree that the rule takes, or if one of its devices is not in the map or has no weight; of a
//! list of swaps only those are dropped whose source is not in use, or whose target is out. It does not look
//! at steps of multi-step-retry rules (nor does it in 20), so the mappings of their pools may put more copies
//! into a failure domain than the rule would.

use std::collections::{BTreeMap, BTreeSet};

use towtank_placement::crush::pools::{Overlay, PgId, Placer, Pool};
use towtank_placement::crush::{ItemId, Map, NONE, Step};

use crate::cluster::Cluster;
use crate::tree;

/// Drops the mappings of groups that others are merged into where pools have fewer groups than before: the
/// manager removes them before each merge (`DaemonServer::adjust_pgs`). Returns how many were dropped.
pub fn drop_merging(before: &Cluster, cluster: &mut Cluster) -> usize {
    let mut dropped = 0;
    for old in &before.pools {
        let new = cluster.pools.iter().find(|pool| pool.placed.id == old.placed.id);
        let Some(new) = new.map(|pool| pool.placed.pg_num) else { continue };
        for number in new..old.placed.pg_num {
            let group = PgId { pool: old.placed.id, seed: merged_into(number) };
            if group.seed < new {
                let whole = cluster.overlay.upmap.remove(&group).is_some();
                let swaps = cluster.overlay.upmap_items.remove(&group).is_some();
                dropped += usize::from(whole || swaps);
            }
        }
    }
    dropped
}

/// The group that a group is merged into: its number without the highest bit (`pg_t::get_parent`).
fn merged_into(number: u32) -> u32 {
    number.checked_ilog2().map_or(0, |bit| number & !(1 << bit))
}

/// Drops these mappings; returns how many were dropped or shortened.
pub fn drop_broken(cluster: &mut Cluster) -> usize {
    let groups: BTreeSet<PgId> =
        cluster.overlay.upmap.keys().chain(cluster.overlay.upmap_items.keys()).copied().collect();
    let plain = Overlay { devices: cluster.overlay.devices.clone(), ..Overlay::default() };
    let mut dropped = 0;
    let mut verdicts = Vec::new();
    {
        let placer = Placer::new(&cluster.map, &plain);
        let mut domains = Domains::of(&cluster.map);
        for group in groups {
            let pool = cluster.pools.iter().find(|pool| pool.placed.id == group.pool).map(|pool| pool.placed);
            let raw = pool
                .filter(|pool| group.seed < pool.pg_num)
                .map(|pool| (pool, placer.place(&pool, group.seed).raw.devices));
            verdicts.push((
                group,
                raw.and_then(|(pool, raw)| kept(&cluster.overlay, &mut domains, group, &pool, &raw)),
            ));
        }
    }
    for (group, kept) in verdicts {
        let overlay = &mut cluster.overlay;
        let before = (overlay.upmap.get(&group).cloned(), overlay.upmap_items.get(&group).cloned());
        overlay.upmap.remove(&group);
        overlay.upmap_items.remove(&group);
        let (whole, swaps) = kept.unwrap_or_default();
        if let Some(whole) = whole {
            overlay.upmap.insert(group, whole);
        }
        if !swaps.is_empty() {
            overlay.upmap_items.insert(group, swaps);
        }
        let after = (overlay.upmap.get(&group).cloned(), overlay.upmap_items.get(&group).cloned());
        dropped += usize::from(before != after);
    }
    dropped
}

type Kept = (Option<Vec<ItemId>>, Vec<(ItemId, ItemId)>);

/// What remains of a group's mappings; none if all are dropped.
fn kept(
    overlay: &Overlay,
    domains: &mut Domains<'_>,
    group: PgId,
    pool: &Pool,
    raw: &[ItemId],
) -> Option<Kept> {
    let (whole, swaps) = (overlay.upmap.get(&group), overlay.upmap_items.get(&group));
    verdict(overlay, domains, pool, raw, (whole, swaps))
}

/// Whether the monitors would keep a list of swaps as it is, for a group without other mappings.
pub(crate) fn would_keep(
    overlay: &Overlay,
    domains: &mut Domains<'_>,
    pool: &Pool,
    raw: &[ItemId],
    swaps: Option<&Vec<(ItemId, ItemId)>>,
) -> bool {
    let Some(wanted) = swaps.filter(|swaps| !swaps.is_empty()) else { return true };
    verdict(overlay, domains, pool, raw, (None, swaps)).is_some_and(|kept| kept.1 == *wanted)
}

/// The explicit mappings of a group: its whole list of devices, and its swaps.
type Explicit<'a> = (Option<&'a Vec<ItemId>>, Option<&'a Vec<(ItemId, ItemId)>>);

fn verdict(
    overlay: &Overlay,
    domains: &mut Domains<'_>,
    pool: &Pool,
    raw: &[ItemId],
    (whole, swaps): Explicit<'_>,
) -> Option<Kept> {
    let weight = |id: ItemId| {
        usize::try_from(id).ok().and_then(|id| overlay.devices.get(id)).map(|device| device.weight)
    };
    let target = apply(raw, whole, swaps, |id| weight(id) == Some(0));
    if !domains.allow(pool, &target) {
        return None;
    }
    let weighs = domains.weights(pool.rule as usize);
    let serves = |id: &ItemId| weighs.get(id).is_some_and(|heavy| *heavy) && weight(*id).unwrap_or(0) > 0;
    if !target.iter().filter(|id| **id != NONE).all(serves) {
        return None;
    }
    let whole = whole.filter(|whole| whole.as_slice() != raw).cloned();
    let useful = |(from, to): &(ItemId, ItemId)| raw.contains(from) && weight(*to) != Some(0);
    let swaps: Vec<(ItemId, ItemId)> = swaps.into_iter().flatten().copied().filter(useful).collect();
    Some((whole, swaps))
}

/// Applies the explicit mappings to raw devices, as Ceph does.
pub(crate) fn apply(
    raw: &[ItemId],
    whole: Option<&Vec<ItemId>>,
    swaps: Option<&Vec<(ItemId, ItemId)>>,
    out: impl Fn(ItemId) -> bool,
) -> Vec<ItemId> {
    let mut target = raw.to_vec();
    if let Some(whole) = whole {
        if whole.iter().any(|&id| out(id)) {
            return target;
        }
        target.clone_from(whole);
    }
    for &(from, to) in swaps.into_iter().flatten() {
        if !target.contains(&to)
            && !out(to)
            && let Some(place) = target.iter_mut().find(|id| **id == from)
        {
            *place = to;
        }
    }
    target
}

/// The buckets of a type that hold each device, per rule.
pub(crate) struct Domains<'a> {
    map: &'a Map,
    known: BTreeMap<(usize, i32), BTreeMap<ItemId, ItemId>>,
    devices: BTreeMap<usize, BTreeMap<ItemId, bool>>,
}

impl<'a> Domains<'a> {
    /// Nothing is looked up before it is needed.
    pub(crate) fn of(map: &'a Map) -> Domains<'a> {
        Domains { map, known: BTreeMap::new(), devices: BTreeMap::new() }
    }

    /// For each device below the rule's start, the bucket of type `kind` around it.
    fn of_type(&mut self, rule: usize, kind: i32) -> &BTreeMap<ItemId, ItemId> {
        let takes: Vec<ItemId> = tree::takes(self.map, rule).collect();
        let map = self.map;
        self.known.entry((rule, kind)).or_insert_with(|| {
            let mut found = BTreeMap::new();
            let mut open: Vec<(ItemId, Option<ItemId>)> =
                takes.into_iter().rev().map(|item| (item, None)).collect();
            while let Some((item, around)) = open.pop() {
                match map.bucket(item) {
                    None if item >= 0 => {
                        if let Some(around) = around {
                            found.entry(item).or_insert(around);
                        }
                    }
                    None => {}
                    Some(bucket) => {
                        let own = (i32::from(bucket.kind) == kind).then_some(item);
                        open.extend(bucket.items.iter().rev().map(|inner| (*inner, around.or(own))));
                    }
                }
            }
            found
        })
    }

    /// The devices that the rule can reach, and whether they have weight in the map.
    fn weights(&mut self, rule: usize) -> &BTreeMap<ItemId, bool> {
        let takes: Vec<ItemId> = tree::takes(self.map, rule).collect();
        let map = self.map;
        self.devices.entry(rule).or_insert_with(|| {
            let mut found: BTreeMap<ItemId, bool> = BTreeMap::new();
            let mut open = takes;
            while let Some(item) = open.pop() {
                let Some(bucket) = map.bucket(item) else { continue };
                for (at, inner) in bucket.items.iter().enumerate() {
                    if *inner >= 0 {
                        *found.entry(*inner).or_default() |= bucket.item_weight(at) > 0;
                    } else {
                        open.push(*inner);
                    }
                }
            }
            found
        })
    }

    /// Whether the rule could have placed the devices this way.
    pub(crate) fn allow(&mut self, pool: &Pool, devices: &[ItemId]) -> bool {
        let rule = pool.rule as usize;
        let steps = self.map.rule(rule).map(|rule| rule.steps.clone()).unwrap_or_default();
        let real = || devices.iter().copied().filter(|id| *id != NONE);
        for step in steps {
            let Step::Choose { leaf, count, kind, .. } = step else { continue };
            if kind == 0 {
                continue;
            }
            let around = self.of_type(rule, kind);
            let domains: Vec<ItemId> = real().filter_map(|id| around.get(&id).copied()).collect();
            let distinct: BTreeSet<ItemId> = domains.iter().copied().collect();
            let wanted = if count > 0 { i64::from(count) } else { i64::from(count) + i64::from(pool.size) };
            if (leaf && distinct.len() < domains.len()) || (!leaf && distinct.len() as i64 > wanted) {
                return false;
            }
        }
        let reached = self.weights(rule);
        real().all(|id| reached.contains_key(&id))
    }

    /// Whether no bucket holds more of the devices than a multi-step-retry rule puts there. The monitors do
    /// not ask this, so explicit mappings may have broken it. Of blocks of one rule, each may use the
    /// bucket.
    pub(crate) fn are_apart(&mut self, pool: &Pool, devices: &[ItemId]) -> bool {
        let rule = pool.rule as usize;
        let steps = self.map.rule(rule).map(|rule| rule.steps.clone()).unwrap_or_default();
        // For each type, the positions of a stride; a step divides those of the steps before it in its block.
        let mut most: BTreeMap<i32, u32> = BTreeMap::new();
        let mut length = 1u32;
        for step in steps.iter().rev() {
            match *step {
                Step::ChooseMsr { count, kind } => {
                    if kind > 0 {
                        let most = most.entry(kind).or_default();
                        *most = most.saturating_add(length);
                    }
                    let strides = if count == 0 { pool.size } else { u32::try_from(count).unwrap_or(0) };
                    length = length.saturating_mul(strides);
                }
                _ => length = 1,
            }
        }
        most.iter().all(|(&kind, &most)| {
            let around = self.of_type(rule, kind);
            let mut held: BTreeMap<ItemId, u32> = BTreeMap::new();
            let domains = devices.iter().filter_map(|id| around.get(id));
            domains.for_each(|domain| *held.entry(*domain).or_default() += 1);
            held.values().all(|held| *held <= most)
        })
    }
}
