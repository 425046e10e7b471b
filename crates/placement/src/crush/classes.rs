//! Device classes: for each bucket and class a shadow bucket that contains only items of that class.
//!
//! A rule that takes `root class ssd` starts from the shadow of the root. Shadows are ordinary buckets named
//! `bucket~class`, made root by root (the least id first), class by class, children before parents, which
//! determines their ids. Compared with Ceph 16.2.15: shadows of tree buckets get correct node weights (Ceph's
//! come from uninitialised memory); as in Ceph, a shadow of a uniform bucket with a weight above zero
//! silently stops the process.

use super::bucket::{Alg, Bucket, BucketSpec};
use super::map::{ChooseArg, ItemId, Map, id_of, slot_of};
use super::weight_sets;
use std::collections::{BTreeMap, BTreeSet};

/// Shadow ids to preserve, by bucket and class.
pub(super) type Kept = BTreeMap<ItemId, BTreeMap<i32, ItemId>>;

/// Why the shadows are not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Ceph stops there too.
    Unmade,
    /// Ceph reads beyond the weight sets of an inner shadow.
    Sets(Beyond),
}

/// A bucket that has weight sets of more positions than a bucket in it: Ceph reads stray memory for the
/// weights of the inner one's shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Beyond {
    /// The index of the choose args.
    pub index: i64,
    /// The outer bucket, and its positions.
    pub outer: (ItemId, usize),
    /// The shadow of the inner one, and its positions.
    pub inner: (ItemId, usize),
}

/// Makes the missing shadow buckets, and their weight sets if the original buckets have any. If Ceph stops
/// halfway, so does this, leaving what was made so far in the map.
pub(super) fn populate(map: &mut Map, kept: &Kept) -> Result<(), Stop> {
    let reserved: BTreeSet<ItemId> = kept.values().flat_map(BTreeMap::values).copied().collect();
    let names = map.item_names.iter().map(|(&id, name)| (name.clone(), id)).collect();
    let set_sums = BTreeMap::new();
    let mut shadows = Shadows { map, kept, reserved, names, first_free: 0, set_sums, beyond: None };
    for root in shadows.roots() {
        let classes: Vec<i32> = shadows.map.class_names.keys().copied().collect();
        for class in classes {
            let made = shadows.clone_of(root, class);
            if let Some(beyond) = shadows.beyond {
                return Err(Stop::Sets(beyond));
            }
            if made.is_none() {
                return Err(Stop::Unmade);
            }
        }
    }
    Ok(())
}

struct Shadows<'a> {
    map: &'a mut Map,
    kept: &'a Kept,
    reserved: BTreeSet<ItemId>,
    names: BTreeMap<String, ItemId>,
    /// No slot below this one is free.
    first_free: usize,
    /// The sums of a shadow's weight sets, by index and shadow. As in Ceph, which starts again at each
    /// position, only the sum of the last one is kept: those before it are 0.
    set_sums: BTreeMap<(i64, ItemId), Vec<u32>>,
    /// The first bucket whose weights in a set are not known.
    beyond: Option<Beyond>,
}

impl Shadows<'_> {
    /// Buckets without a parent, least id first, without shadows.
    fn roots(&self) -> Vec<ItemId> {
        let held: BTreeSet<ItemId> =
            self.map.each_bucket().flat_map(|bucket| bucket.items.iter().copied()).collect();
        let is_shadow = |id: &ItemId| self.map.item_names.get(id).is_some_and(|name| name.contains('~'));
        let mut roots: Vec<ItemId> = self.map.each_bucket().map(|bucket| bucket.id).collect();
        roots.retain(|id| !held.contains(id) && !is_shadow(id));
        roots.sort_unstable();
        roots
    }

    /// The shadow of a bucket; `None` if Ceph gives up.
    fn clone_of(&mut self, original: ItemId, class: i32) -> Option<ItemId> {
        let name = format!("{}~{}", self.map.item_names.get(&original)?, self.map.class_names.get(&class)?);
        if let Some(&known) = self.names.get(&name) {
            return Some(known);
        }
        let bucket = self.map.bucket(original)?;
        let (alg, hash, kind) = (bucket.alg(), bucket.hash, bucket.kind);
        let members: Vec<(ItemId, u32)> =
            bucket.items.iter().enumerate().map(|(at, &item)| (item, bucket.item_weight(at))).collect();
        let (mut items, mut weights, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (item, weight)) in members.into_iter().enumerate() {
            let (item, weight) = if item >= 0 {
                if self.map.item_classes.get(&item) != Some(&class) {
                    continue;
                }
                (item, weight)
            } else {
                let shadow = self.clone_of(item, class)?;
                (shadow, self.map.bucket(shadow)?.weight)
            };
            if alg == Alg::Uniform && weight != 0 {
                return None;
            }
            items.push(item);
            weights.push(weight);
            places.push(place);
        }
        let id = self.free_id(original, class);
        let spec =
            BucketSpec { id, kind, alg, hash, straw_calc_version: self.map.tunables.straw_calc_version };
        // Only a uniform shadow with weights of 0 gets here, which `Bucket::new` refuses and Ceph accepts.
        let shadow = if alg == Alg::Uniform {
            Bucket { items, ..Bucket::new(spec, Vec::new(), Vec::new()).ok()? }
        } else {
            Bucket::new(spec, items, weights).ok()?
        };
        self.map.add_bucket(shadow).ok()?;
        self.map.item_classes.insert(id, class);
        self.map.item_names.insert(id, name.clone());
        self.names.insert(name, id);
        self.map.class_buckets.entry(original).or_default().insert(class, id);
        self.weigh_sets(original, id, &places);
        Some(id)
    }

    /// Makes the weight sets of a shadow: devices have the weights of the original's sets, shadows the sums
    /// of their own sets, or 0 without any. `places` are the positions of the shadow's items in the original.
    fn weigh_sets(&mut self, original: ItemId, shadow: ItemId, places: &[usize]) {
        let items = self.map.bucket(shadow).map(|bucket| bucket.items.clone()).unwrap_or_default();
        for (&index, args) in &mut self.map.choose_args {
            let known = args.get(&weight_sets::slot(original)).map(|arg| arg.weight_sets.clone());
            let known = known.unwrap_or_default();
            let sums_of = |item: &ItemId| Some((*item, self.set_sums.get(&(index, *item))?.len()));
            if let Some(inner) = items.iter().filter_map(sums_of).find(|inner| inner.1 < known.len()) {
                let outer = (original, known.len());
                self.beyond.get_or_insert(Beyond { index, outer, inner });
            }
            let mut sets = Vec::new();
            for (position, set) in known.iter().enumerate() {
                let weight = |(&item, &place): (&ItemId, &usize)| match item {
                    0.. => set.get(place).copied().unwrap_or(0),
                    _ => self
                        .set_sums
                        .get(&(index, item))
                        .and_then(|sums| sums.get(position))
                        .copied()
                        .unwrap_or(0),
                };
                sets.push(items.iter().zip(places).map(weight).collect::<Vec<u32>>());
            }
            let sum = |set: &Vec<u32>| set.iter().fold(0u32, |sum, &weight| sum.wrapping_add(weight));
            if let Some(last) = sets.last().map(sum) {
                let mut sums = vec![0; sets.len()];
                sums[sets.len() - 1] = last;
                self.set_sums.insert((index, shadow), sums);
            }
            args.insert(weight_sets::slot(shadow), ChooseArg { weight_sets: sets, ids: Vec::new() });
        }
    }

    fn free_id(&mut self, original: ItemId, class: i32) -> ItemId {
        if let Some(&id) = self.kept.get(&original).and_then(|ids| ids.get(&class)) {
            return id;
        }
        let taken = |slot: usize| matches!(self.map.buckets.get(slot), Some(Some(_)));
        while taken(self.first_free) {
            self.first_free += 1;
        }
        let mut slot = self.first_free;
        while taken(slot) || self.reserved.contains(&id_of(slot)) {
            slot += 1;
        }
        debug_assert!(slot_of(id_of(slot)) == Some(slot));
        id_of(slot)
    }
}
