//! Adds, removes and reweights items of one bucket. The bucket's stored data are updated as in Ceph, which
//! for trees differs from a new bucket: the place of a removed item remains, as device 0 without weight.

use crate::crush::bucket::{Bucket, BucketError, Shape, TREE_ITEMS_MAX, node_weights};
use crate::crush::map::ItemId;
use crate::crush::straw;

impl Bucket {
    /// Appends an item.
    pub(in crate::crush) fn push(
        &mut self,
        item: ItemId,
        weight: u32,
        straw_version: u8,
    ) -> Result<(), BucketError> {
        let total = self.weight.checked_add(weight).ok_or(BucketError::WeightOverflow)?;
        match &mut self.shape {
            Shape::Uniform { item_weight } if *item_weight != weight => {
                return Err(BucketError::UniformMixed);
            }
            Shape::Uniform { .. } => {}
            Shape::List { weights, sums } => {
                let before = sums.last().copied().unwrap_or(0);
                sums.push(before.checked_add(weight).ok_or(BucketError::WeightOverflow)?);
                weights.push(weight);
            }
            Shape::Tree { .. } if self.items.len() >= TREE_ITEMS_MAX => {
                return Err(BucketError::TreeTooLarge { items: self.items.len() + 1 });
            }
            Shape::Tree { node_weights: nodes } => {
                // If the tree grows by a level, Ceph reads uninitialised memory here; this computes the
                // correct weights.
                let leaves = (0..self.items.len()).map(|at| nodes.get(2 * at + 1).copied().unwrap_or(0));
                *nodes = node_weights(&leaves.chain([weight]).collect::<Vec<u32>>());
            }
            Shape::Straw { weights, straws } => {
                weights.push(weight);
                *straws = straw::lengths(weights, straw_version);
            }
            Shape::Straw2 { weights } | Shape::Vring { weights } => weights.push(weight),
        }
        self.items.push(item);
        self.weight = total;
        Ok(())
    }

    /// Removes the item at a position.
    pub(in crate::crush) fn take_out(&mut self, position: usize, straw_version: u8) {
        let weight = self.item_weight(position);
        self.weight = self.weight.saturating_sub(weight);
        match &mut self.shape {
            Shape::Uniform { .. } => {}
            Shape::List { weights, sums } => {
                weights.remove(position);
                sums.remove(position);
                sums[position..].iter_mut().for_each(|sum| *sum = sum.wrapping_sub(weight));
            }
            Shape::Tree { .. } => return self.take_leaf(position),
            Shape::Straw { weights, straws } => {
                weights.remove(position);
                straws.remove(position);
                if !weights.is_empty() {
                    *straws = straw::lengths(weights, straw_version);
                }
            }
            Shape::Straw2 { weights } | Shape::Vring { weights } => {
                weights.remove(position);
            }
        }
        self.items.remove(position);
    }

    /// Removes a leaf of a tree. The other leaves keep their positions; leaves without weight at the end are
    /// dropped.
    fn take_leaf(&mut self, position: usize) {
        let weight = self.item_weight(position);
        add_along(&mut self.shape, position, 0u32.wrapping_sub(weight));
        self.items[position] = 0;
        let left = (0..self.items.len()).rev().find(|&at| self.item_weight(at) != 0).map_or(0, |at| at + 1);
        self.items.truncate(left);
        if let Shape::Tree { node_weights } = &mut self.shape {
            let nodes = if left == 0 { 1 } else { 2 * left.next_power_of_two() };
            node_weights.truncate(nodes);
        }
    }

    /// Changes the weight of an item.
    pub(in crate::crush) fn set_item_weight(&mut self, position: usize, weight: u32, straw_version: u8) {
        let change = weight.wrapping_sub(self.item_weight(position));
        self.weight = self.weight.wrapping_add(change);
        match &mut self.shape {
            Shape::Uniform { item_weight } => {
                *item_weight = weight;
                self.weight = weight.wrapping_mul(self.items.len() as u32);
            }
            Shape::List { weights, sums } => {
                weights[position] = weight;
                sums[position..].iter_mut().for_each(|sum| *sum = sum.wrapping_add(change));
            }
            tree @ Shape::Tree { .. } => add_along(tree, position, change),
            Shape::Straw { weights, straws } => {
                weights[position] = weight;
                *straws = straw::lengths(weights, straw_version);
            }
            Shape::Straw2 { weights } | Shape::Vring { weights } => weights[position] = weight,
        }
    }

    /// Gives the buckets in it their current weights, as `crushtool --reweight` does: running sums and inner
    /// nodes stay unchanged.
    pub(in crate::crush) fn reweigh(
        &mut self,
        weight_of: impl Fn(ItemId) -> Option<u32>,
        straw_version: u8,
    ) -> Result<(), BucketError> {
        if let Shape::Uniform { item_weight } = &mut self.shape {
            let inner: Vec<u32> = self.items.iter().filter_map(|&item| weight_of(item)).collect();
            let sum = inner.iter().try_fold(0u32, |sum, &weight| sum.checked_add(weight));
            let sum = sum.ok_or(BucketError::WeightOverflow)?;
            if inner.len() > self.items.len() - inner.len() {
                *item_weight = sum / inner.len() as u32;
            }
            self.weight = item_weight.wrapping_mul(self.items.len() as u32);
            return Ok(());
        }
        for (position, &item) in self.items.iter().enumerate() {
            let Some(weight) = weight_of(item) else { continue };
            match &mut self.shape {
                Shape::Tree { node_weights } => node_weights[2 * position + 1] = weight,
                Shape::List { weights, .. }
                | Shape::Straw { weights, .. }
                | Shape::Straw2 { weights }
                | Shape::Vring { weights } => weights[position] = weight,
                Shape::Uniform { .. } => {}
            }
        }
        let sum = self.item_weights().iter().try_fold(0u32, |sum, &weight| sum.checked_add(weight));
        self.weight = sum.ok_or(BucketError::WeightOverflow)?;
        if let Shape::Straw { weights, straws } = &mut self.shape {
            *straws = straw::lengths(weights, straw_version);
        }
        Ok(())
    }
}

/// Adds `change` to a leaf of a tree and to every node above it.
fn add_along(shape: &mut Shape, leaf: usize, change: u32) {
    let Shape::Tree { node_weights } = shape else { return };
    let root = node_weights.len() / 2;
    let (mut node, mut height) = (2 * leaf + 1, 0);
    loop {
        node_weights[node] = node_weights[node].wrapping_add(change);
        if node == root {
            return;
        }
        let on_right = node & (2 << height) != 0;
        node = if on_right { node - (1 << height) } else { node + (1 << height) };
        height += 1;
    }
}
