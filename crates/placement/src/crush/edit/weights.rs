//! Weights: changes the weight of an item everywhere, and updates the buckets above it and the weight sets.

use super::{EditError, fixed_point};
use crate::crush::map::{ItemId, Map};
use crate::crush::weight_sets;
use std::collections::BTreeSet;

/// Whether an item's weight sets are changed too, as they are for items that users name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sets {
    Follow,
    Stay,
}

impl Map {
    /// Changes the weight of an item in every bucket that contains it, including shadows.
    pub fn reweight_item(&mut self, name: &str, weight: f32) -> Result<(), EditError> {
        let item = self.named(name)?;
        let weight = fixed_point(weight)?;
        self.check_shadow_sets()?;
        if self.adjust_weight(item, weight, Sets::Follow) {
            Ok(())
        } else {
            Err(EditError::NotHeld { name: name.to_owned() })
        }
    }

    /// Where a bucket has no weights in a set, Ceph makes empty ones for its shadows, and the next change of
    /// a weight fails an assertion there, until the map was written and read again.
    pub(super) fn check_shadow_sets(&self) -> Result<(), EditError> {
        let empty = self.choose_args.iter().find_map(|(&index, args)| {
            let (&slot, _) = args.iter().find(|(_, arg)| arg.is_empty())?;
            Some((index, crate::crush::map::id_of(slot as usize)))
        });
        empty.map_or(Ok(()), |(index, bucket)| {
            let name = self.name_or_number(bucket);
            let bucket = name.split('~').next().unwrap_or(&name).to_owned();
            Err(EditError::EmptySets { bucket, index })
        })
    }

    /// Changes the weight of an item in all buckets; returns whether any of them contains it.
    pub(super) fn adjust_weight(&mut self, item: ItemId, weight: u32, sets: Sets) -> bool {
        let mut held = false;
        for slot in 0..self.buckets.len() {
            held |= self.adjust_weight_in(item, weight, crate::crush::map::id_of(slot), sets);
        }
        held
    }

    /// Changes the weight of an item in one bucket, and the weight of that bucket in its parents.
    pub(super) fn adjust_weight_in(&mut self, item: ItemId, weight: u32, bucket: ItemId, sets: Sets) -> bool {
        let version = self.tunables.straw_calc_version;
        let Some(size) = self.bucket(bucket).map(|bucket| bucket.items.len()) else { return false };
        let mut held = false;
        for position in 0..size {
            let Some(inner) =
                self.bucket_mut(bucket).filter(|inner| inner.items.get(position) == Some(&item))
            else {
                continue;
            };
            // If an item occurs twice, Ceph changes only the first occurrence.
            let first = inner.items.iter().position(|&held| held == item).unwrap_or(position);
            inner.set_item_weight(first, weight, version);
            let total = inner.weight;
            if sets == Sets::Follow {
                weight_sets::set_weight(self, bucket, first, weight);
            }
            self.adjust_weight(bucket, total, Sets::Stay);
            held = true;
        }
        weight_sets::carry_up(self, bucket);
        held
    }

    /// Recomputes the weight of every bucket from its devices up, including weight sets and shadow trees.
    pub fn reweight(&mut self) -> Result<(), EditError> {
        for root in self.plain_roots() {
            let mut done = BTreeSet::new();
            self.reweight_below(root, &mut done)?;
            let indices: Vec<i64> = self.choose_args.keys().copied().collect();
            for index in indices {
                self.sum_sets(root, index);
            }
        }
        self.rebuild_shadows()
    }

    fn reweight_below(&mut self, id: ItemId, done: &mut BTreeSet<ItemId>) -> Result<(), EditError> {
        let Some(bucket) = self.bucket(id).filter(|_| done.insert(id)) else { return Ok(()) };
        for inner in bucket.items.clone() {
            self.reweight_below(inner, done)?;
        }
        let version = self.tunables.straw_calc_version;
        let mut bucket = self.bucket(id).expect("still there").clone();
        let reweighed = bucket.reweigh(|item| self.bucket(item).map(|inner| inner.weight), version);
        reweighed.map_err(|why| EditError::Bucket { bucket: self.name_or_number(id), why })?;
        *self.bucket_mut(id).expect("still there") = bucket;
        Ok(())
    }

    /// The sums of a bucket's weight sets, one per position. Like Ceph, sums and changes only the first set,
    /// and takes the sums of its last position; buckets without sets count as nothing.
    fn sum_sets(&mut self, id: ItemId, index: i64) -> Vec<u32> {
        let slot = weight_sets::slot(id);
        let entry = |map: &Self| map.choose_args.get(&index).and_then(|args| args.get(&slot)).cloned();
        let items = self.bucket(id).map(|bucket| bucket.items.clone()).unwrap_or_default();
        let positions = entry(self).map_or(0, |arg| arg.weight_sets.len());
        let mut sums = vec![0u32; positions];
        for (at, item) in items.into_iter().enumerate() {
            let below = if item < 0 { Some(self.sum_sets(item, index)) } else { None };
            if positions == 0 {
                continue;
            }
            let weights = self
                .choose_args
                .get_mut(&index)
                .and_then(|args| args.get_mut(&slot))
                .and_then(|arg| arg.weight_sets.first_mut())
                .expect("it has positions");
            for (position, sum) in sums.iter_mut().enumerate() {
                let weight = match &below {
                    None => weights[at],
                    Some(below) => below.get(position).copied().unwrap_or(0),
                };
                *sum = sum.wrapping_add(weight);
                weights[at] = weight;
            }
        }
        sums
    }
}
