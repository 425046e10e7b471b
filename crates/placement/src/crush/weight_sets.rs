//! Keeps weight sets ([`ChooseArgs`]) consistent with the buckets whose weights they replace, as Ceph 16.2.15
//! does.
//!
//! While a map is edited, an entry without weights and ids differs from a missing entry: Ceph fills in
//! missing entries, and leaves empty ones alone (those of shadows whose original has no weights). Neither is
//! written to a binary map. An entry with ids and without weights is filled in as a missing one is.

use super::bucket::{Bucket, Shape};
use super::map::{ChooseArg, ChooseArgs, ItemId, Map, slot_of};

/// The number of positions of the weight sets: that of the first bucket that has any.
pub(super) fn positions(args: &ChooseArgs) -> usize {
    args.values().map(|arg| arg.weight_sets.len()).find(|&sets| sets > 0).unwrap_or(1)
}

/// The key of a bucket in [`ChooseArgs`].
pub(super) fn slot(bucket: ItemId) -> u32 {
    slot_of(bucket).and_then(|slot| u32::try_from(slot).ok()).expect("a bucket has a slot below 2^32")
}

/// Drops sets of buckets that cannot have any, and truncates or pads sets of the wrong size.
pub(super) fn normalize(map: &mut Map) {
    let size_of = |slot: u32| match map.buckets.get(slot as usize) {
        Some(Some(bucket)) if matches!(bucket.shape, Shape::Straw2 { .. }) => Some(bucket.items.len()),
        _ => None,
    };
    for args in map.choose_args.values_mut() {
        let positions = positions(args);
        args.retain(|&slot, _| size_of(slot).is_some());
        for (&slot, arg) in args.iter_mut() {
            let size = size_of(slot).expect("retained above");
            if arg.weight_sets.len() == positions {
                arg.weight_sets.iter_mut().for_each(|weights| weights.resize(size, 0));
            }
        }
    }
}

/// Adds a new bucket with its own weights to every set.
pub(super) fn add_bucket(map: &mut Map, bucket: &Bucket) {
    if bucket.items.is_empty() {
        return;
    }
    for args in map.choose_args.values_mut() {
        let weight_sets = vec![bucket.item_weights(); positions(args)];
        args.insert(slot(bucket.id), ChooseArg { weight_sets, ids: Vec::new() });
    }
}

/// Appends an item of weight 0 to the sets of a bucket.
pub(super) fn add_item(map: &mut Map, bucket: ItemId, item: ItemId) {
    for arg in entries(map, bucket) {
        arg.weight_sets.iter_mut().for_each(|weights| weights.push(0));
        if !arg.ids.is_empty() {
            arg.ids.push(item);
        }
    }
}

/// Removes the item at a position, and entries beyond the bucket's current size. An entry of ids alone goes
/// with its last id.
pub(super) fn remove_item(map: &mut Map, bucket: ItemId, position: usize) {
    let slot = slot(bucket);
    for args in map.choose_args.values_mut() {
        let Some(arg) = args.get_mut(&slot) else { continue };
        for weights in arg.weight_sets.iter_mut().filter(|weights| position < weights.len()) {
            weights.remove(position);
        }
        if position < arg.ids.len() {
            arg.ids.remove(position);
            if arg.ids.is_empty() && arg.weight_sets.is_empty() {
                args.remove(&slot);
            }
        }
    }
}

/// Sets the weight at a position in every set of a bucket.
pub(super) fn set_weight(map: &mut Map, bucket: ItemId, position: usize, weight: u32) {
    for arg in entries(map, bucket) {
        for slot in arg.weight_sets.iter_mut().filter_map(|weights| weights.get_mut(position)) {
            *slot = weight;
        }
    }
}

fn entries(map: &mut Map, bucket: ItemId) -> impl Iterator<Item = &mut ChooseArg> {
    let slot = slot(bucket);
    map.choose_args.values_mut().filter_map(move |args| args.get_mut(&slot))
}

/// Propagates the sums of a bucket's weight sets to the sets of its parents.
pub(super) fn carry_up(map: &mut Map, bucket: ItemId) {
    let indices: Vec<i64> = map.choose_args.keys().copied().collect();
    for index in indices {
        let args = map.choose_args.get_mut(&index).expect("just listed");
        let Some(arg) = args.get(&slot(bucket)).filter(|arg| !arg.weight_sets.is_empty()) else { continue };
        let sums = sums(arg);
        Carrier { buckets: &map.buckets, args }.adjust(bucket, &sums);
    }
}

fn sums(arg: &ChooseArg) -> Vec<u32> {
    let sum = |weights: &Vec<u32>| weights.iter().fold(0u32, |sum, &weight| sum.wrapping_add(weight));
    arg.weight_sets.iter().map(sum).collect()
}

struct Carrier<'a> {
    buckets: &'a [Option<Box<Bucket>>],
    args: &'a mut ChooseArgs,
}

impl Carrier<'_> {
    /// Sets these weights for an item in every bucket that contains it. Ceph makes missing sets of other
    /// buckets on the way.
    fn adjust(&mut self, item: ItemId, weights: &[u32]) {
        for bucket in self.buckets.iter().flatten() {
            self.adjust_in(bucket, item, weights);
        }
    }

    fn adjust_in(&mut self, bucket: &Bucket, item: ItemId, weights: &[u32]) {
        let positions = positions(self.args);
        let own = || vec![bucket.item_weights(); positions];
        let mut changed = false;
        let arg = self.args.entry(slot(bucket.id)).or_insert_with(|| {
            changed = true;
            ChooseArg { weight_sets: own(), ids: Vec::new() }
        });
        if arg.weight_sets.is_empty() && !arg.ids.is_empty() {
            changed = true;
            arg.weight_sets = own();
        }
        if arg.weight_sets.len() != weights.len() {
            return;
        }
        for (position, _) in bucket.items.iter().enumerate().filter(|&(_, &held)| held == item) {
            for (set, &weight) in arg.weight_sets.iter_mut().zip(weights) {
                if let Some(slot) = set.get_mut(position) {
                    *slot = weight;
                }
            }
            changed = true;
        }
        if changed {
            let sums = sums(arg);
            self.adjust(bucket.id, &sums);
        }
    }
}
