//! `vring`: a bucket that picks by consistent hashing over virtual nodes.
//!
//! Proposed with libch-placement (MSST 2016) for CRUSH: each item has 1,024 virtual nodes on a ring of 64-bit
//! ids, and every replica and every retry draws a point of its own, so declustering is as for straw and a
//! pick costs a binary search. The original has no weights. Here an item has 1,024 virtual nodes times its
//! weight over the greatest weight in the bucket, rounded; node numbers count from 0, so a lighter item keeps
//! a prefix of its nodes and little moves. Ceph has no such bucket.

use super::bucket::Bucket;
use super::hash::hash3;

/// The number of virtual nodes of the heaviest item.
pub(super) const VNODES: u64 = 1_024;

/// The number of virtual nodes of an item of weight `weight` if the heaviest item has weight `heaviest`.
#[must_use]
pub fn vnodes(weight: u32, heaviest: u32) -> u32 {
    if heaviest == 0 {
        return 0;
    }
    let (weight, heaviest) = (u64::from(weight), u64::from(heaviest));
    ((2 * VNODES * weight + heaviest) / (2 * heaviest)) as u32
}

/// The position of a virtual node on the ring.
#[must_use]
pub(super) fn place(item: i32, vnode: u32) -> u64 {
    wide(item as u32, vnode)
}

/// The point on the ring that input `x` and attempt `r` draw.
#[inline]
#[must_use]
pub(super) fn point(x: u32, r: u32) -> u64 {
    wide(x, r)
}

#[inline]
fn wide(a: u32, b: u32) -> u64 {
    u64::from(hash3(a, b, 0)) | u64::from(hash3(a, b, 1)) << 32
}

/// The share of all draws of each of `items` devices of equal weight, numbered from 0.
#[must_use]
pub fn equal_shares(items: u32) -> Vec<f64> {
    shares_of(&(0..items).map(u32::cast_signed).collect::<Vec<_>>())
}

/// The share of all draws of each of several items of equal weight: the arcs of its virtual nodes.
#[must_use]
pub fn shares_of(items: &[i32]) -> Vec<f64> {
    let vnodes = 0..VNODES as u32;
    let of = |(at, &item): (u32, &i32)| vnodes.clone().map(move |vnode| (place(item, vnode), at));
    let mut nodes: Vec<(u64, u32)> = (0..).zip(items).flat_map(of).collect();
    nodes.sort_unstable();
    let mut arcs = vec![0u128; items.len()];
    // A node is picked by the points from itself to the next one; the last node also by those below the
    // first.
    let ends = nodes.iter().skip(1).map(|node| u128::from(node.0)).chain([1 << 64]);
    for (node, end) in nodes.iter().zip(ends) {
        arcs[node.1 as usize] += end - u128::from(node.0);
    }
    if let (Some(first), Some(last)) = (nodes.first(), nodes.last()) {
        arcs[last.1 as usize] += u128::from(first.0);
    }
    arcs.into_iter().map(|arc| arc as f64 / 18_446_744_073_709_551_616.0).collect()
}

/// The sorted virtual nodes of a bucket, each with the position of its item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ring {
    places: Vec<u64>,
    positions: Vec<u32>,
}

impl Ring {
    /// The ring of a bucket's items and weights.
    #[must_use]
    pub fn new(bucket: &Bucket) -> Self {
        let weights = bucket.item_weights();
        let heaviest = weights.iter().copied().max().unwrap_or(0);
        let mut nodes: Vec<(u64, u32)> = Vec::new();
        for (position, (&item, &weight)) in bucket.items.iter().zip(&weights).enumerate() {
            nodes.extend((0..vnodes(weight, heaviest)).map(|vnode| (place(item, vnode), position as u32)));
        }
        nodes.sort_unstable();
        Self {
            places: nodes.iter().map(|node| node.0).collect(),
            positions: nodes.iter().map(|node| node.1).collect(),
        }
    }

    /// The position of the item whose virtual node is the last at or below the drawn point; wraps to the
    /// greatest. `None` if all weights are zero.
    #[inline]
    #[must_use]
    pub fn pick(&self, x: u32, r: u32) -> Option<usize> {
        let at_or_below = self.places.partition_point(|&place| place <= point(x, r));
        let node = if at_or_below == 0 { self.positions.len().checked_sub(1)? } else { at_or_below - 1 };
        self.positions.get(node).map(|&position| position as usize)
    }
}
