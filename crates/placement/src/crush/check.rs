//! What a map must satisfy so that every mapping ends and stays inside the map.
//!
//! Ceph does not check these; its programs loop, crash or read stray memory where they fail.

use super::bucket::{Bucket, Shape};
use super::map::{ItemId, Map};

/// What is wrong with a map as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A bucket holds a bucket that is not there.
    #[error("bucket {bucket} holds {item}, which the map lacks")]
    Missing {
        /// The holder.
        bucket: ItemId,
        /// The item.
        item: ItemId,
    },
    /// Following items down ends where it began.
    #[error("bucket {bucket} holds itself, by way of the buckets below it")]
    Cycle {
        /// One bucket of the cycle.
        bucket: ItemId,
    },
    /// The id is kept for "nothing here".
    #[error("bucket {bucket} holds device {item}, but ids from 2147483646 on stand for no device")]
    Reserved {
        /// The holder.
        bucket: ItemId,
        /// The item.
        item: ItemId,
    },
    /// Choose args do not fit their bucket.
    #[error("choose_args {index} has {found} {what} for bucket {bucket}, which has {size} items")]
    ChooseArgs {
        /// The index of the set.
        index: i64,
        /// Weights or ids.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// The bucket.
        bucket: ItemId,
        /// How many there must be.
        size: usize,
    },
    /// What a bucket stores beside its items is of another size.
    #[error("bucket {bucket} has {items} items, but what it stores for them does not match")]
    Shape {
        /// The bucket.
        bucket: ItemId,
        /// How many items it has.
        items: usize,
    },
}

/// Refuses maps on which a mapping would loop or leave the map.
pub fn check(map: &Map) -> Result<(), Fault> {
    for bucket in map.each_bucket() {
        if !shape_fits(bucket) {
            return Err(Fault::Shape { bucket: bucket.id, items: bucket.items.len() });
        }
        for &item in &bucket.items {
            if item >= 0x7fff_fffe {
                return Err(Fault::Reserved { bucket: bucket.id, item });
            }
            if item < 0 && map.bucket(item).is_none() {
                return Err(Fault::Missing { bucket: bucket.id, item });
            }
        }
    }
    find_cycle(map)?;
    for (&index, args) in &map.choose_args {
        for (&slot, arg) in args {
            let Some(Some(bucket)) = map.buckets.get(slot as usize) else { continue };
            let size = bucket.items.len();
            let fault = |what, found| Fault::ChooseArgs { index, what, found, bucket: bucket.id, size };
            if let Some(weights) = arg.weight_sets.iter().find(|weights| weights.len() != size) {
                return Err(fault("weights", weights.len()));
            }
            if !arg.ids.is_empty() && arg.ids.len() != size {
                return Err(fault("ids", arg.ids.len()));
            }
        }
    }
    Ok(())
}

fn shape_fits(bucket: &Bucket) -> bool {
    let items = bucket.items.len();
    match &bucket.shape {
        Shape::Uniform { .. } => true,
        Shape::List { weights, sums: other } | Shape::Straw { weights, straws: other } => {
            weights.len() == items && other.len() == items
        }
        Shape::Tree { node_weights } => {
            let nodes = node_weights.len();
            items == 0 || (nodes.is_power_of_two() && nodes / 2 >= items && nodes <= 128)
        }
        Shape::Straw2 { weights } | Shape::Vring { weights } => weights.len() == items,
    }
}

/// Depth first without recursion: a hostile map may be as deep as it has buckets.
fn find_cycle(map: &Map) -> Result<(), Fault> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        Above,
        Done,
    }
    let mut seen = vec![Seen::Never; map.buckets.len()];
    for start in map.each_bucket() {
        let mut path: Vec<(&Bucket, usize)> = vec![(start, 0)];
        while let Some((bucket, next)) = path.pop() {
            let slot = (-1 - bucket.id) as usize;
            if next == 0 {
                match seen[slot] {
                    Seen::Done => continue,
                    Seen::Above => return Err(Fault::Cycle { bucket: bucket.id }),
                    Seen::Never => seen[slot] = Seen::Above,
                }
            }
            match bucket.items.get(next) {
                None => seen[slot] = Seen::Done,
                Some(&item) => {
                    path.push((bucket, next + 1));
                    if let Some(inner) = map.bucket(item) {
                        path.push((inner, 0));
                    }
                }
            }
        }
    }
    Ok(())
}
