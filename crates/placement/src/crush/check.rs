//! Checks that every mapping with a map ends and stays inside the map.
//!
//! Ceph does not check this; on invalid maps its programs loop, crash or read out of bounds.

use super::bucket::{Bucket, Shape};
use super::map::{ItemId, Map, Setting, Step};

/// A mistake in a map as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A bucket contains a bucket that does not exist.
    #[error("bucket {bucket} contains {item}, which is not in the map")]
    Missing {
        /// The containing bucket.
        bucket: ItemId,
        /// The missing item.
        item: ItemId,
    },
    /// A bucket contains itself, directly or indirectly.
    #[error("bucket {bucket} contains itself, directly or indirectly")]
    Cycle {
        /// One bucket of the cycle.
        bucket: ItemId,
    },
    /// The buckets are nested too deeply.
    #[error("bucket {bucket} has {DEPTH_MAX} levels of buckets below it, more than Towtank supports")]
    Deep {
        /// The bucket.
        bucket: ItemId,
    },
    /// Too many paths lead up from a bucket. A change of a weight follows all of them, and there may be 2 to
    /// the number of levels.
    #[error(
        "over {WAYS_MAX} paths lead up from bucket {bucket}, more than Towtank supports; put it into fewer buckets"
    )]
    Shared {
        /// The bucket.
        bucket: ItemId,
    },
    /// A listing from the roots down, with each bucket once per parent, would be too long.
    #[error(
        "buckets have so many parents that a listing of the map's {items} items has {lines} lines, more than Towtank supports"
    )]
    Listing {
        /// The number of items of all buckets.
        items: u64,
        /// The number of lines of the listing.
        lines: u64,
    },
    /// The number of tries is so large that a mapping that cannot succeed would take too long.
    #[error(
        "`{what}` is {tries}, but Towtank supports at most {TRIES_MAX} tries; set it lower, as Ceph does"
    )]
    Tries {
        /// The tunable, or the step of a rule.
        what: &'static str,
        /// The number of tries requested.
        tries: u32,
    },
    /// The id is reserved for "no device".
    #[error("bucket {bucket} contains device {item}, but ids from 2147483646 on are reserved")]
    Reserved {
        /// The containing bucket.
        bucket: ItemId,
        /// The item.
        item: ItemId,
    },
    /// Choose args do not match their bucket.
    #[error("choose_args {index} has {found} {what} for bucket {bucket}, which has {size} items")]
    ChooseArgs {
        /// The index of the set.
        index: i64,
        /// Which part does not match: weights or ids.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The bucket.
        bucket: ItemId,
        /// The number required.
        size: usize,
    },
    /// The data stored for the items of a bucket have the wrong size.
    #[error("bucket {bucket} has {items} items, but the data stored for them have another size")]
    Shape {
        /// The bucket.
        bucket: ItemId,
        /// The number of items.
        items: usize,
    },
}

/// The maximum number of levels of buckets: Ceph's own hierarchies have eleven types, and printing a map
/// recurses.
pub const DEPTH_MAX: u16 = 200;

/// The maximum number of paths up from a bucket, counting the bucket itself: Ceph's hierarchies are trees of
/// at most eleven levels.
const WAYS_MAX: u32 = 1_000;

/// The maximum number of tries of each kind: Ceph's default is 50, and clusters that need more use hundreds.
const TRIES_MAX: u32 = 10_000;

/// Refuses tunables and rule steps with which a mapping that cannot succeed would take too long.
///
/// Such a map can be read, printed and corrected, but not used for mapping.
pub(super) fn check_tries(map: &Map) -> Result<(), Fault> {
    let ours = &map.tunables;
    let tunables = [
        ("choose_local_tries", ours.choose_local_tries),
        ("choose_local_fallback_tries", ours.choose_local_fallback_tries),
        ("choose_total_tries", ours.choose_total_tries),
    ];
    let of_step = |step: &Step| match step {
        Step::Set(Setting::ChooseleafVaryR | Setting::ChooseleafStable, _) => None,
        // Checked for each rule by [`super::MsrRule`].
        Step::Set(Setting::MsrDescents | Setting::MsrCollisionTries, _) => None,
        // A negative value in a step has no effect.
        Step::Set(setting, tries) => Some((setting.row().2, u32::try_from(*tries).unwrap_or(0))),
        _ => None,
    };
    let steps = map.rules.iter().flatten().flat_map(|rule| rule.steps.iter().filter_map(of_step));
    match tunables.into_iter().chain(steps).find(|(_, tries)| *tries > TRIES_MAX) {
        Some((what, tries)) => Err(Fault::Tries { what, tries }),
        None => Ok(()),
    }
}

/// The maximum mean number of listings per item; smaller listings than [`FEW_LINES`] are always allowed.
const LISTINGS_MAX: u64 = 8;
const FEW_LINES: u64 = 100_000;

/// Refuses maps with which a mapping would loop or leave the map, or other operations would take too long.
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
    check_nesting(map)?;
    check_sharing(map)?;
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

/// Refuses cycles and deep nesting. Not recursive, because a hostile map may be as deep as it has buckets.
pub(super) fn check_nesting(map: &Map) -> Result<(), Fault> {
    #[derive(Clone, Copy)]
    enum Seen {
        Never,
        Above,
        Done { levels: u16 },
    }
    let slot = slot_of_bucket;
    let mut seen = vec![Seen::Never; map.buckets.len()];
    for start in map.each_bucket() {
        let mut path: Vec<(&Bucket, usize)> = vec![(start, 0)];
        while let Some((bucket, next)) = path.pop() {
            if next == 0 {
                match seen[slot(bucket)] {
                    Seen::Done { .. } => continue,
                    Seen::Above => return Err(Fault::Cycle { bucket: bucket.id }),
                    Seen::Never => seen[slot(bucket)] = Seen::Above,
                }
            }
            let inner = |item: &ItemId| map.bucket(*item);
            if let Some(item) = bucket.items.get(next) {
                path.push((bucket, next + 1));
                path.extend(inner(item).map(|inner| (inner, 0)));
                continue;
            }
            let levels_of = |inner: &Bucket| match seen[slot(inner)] {
                Seen::Done { levels } => levels,
                Seen::Never | Seen::Above => 0,
            };
            let levels = bucket.items.iter().filter_map(inner).map(levels_of).max().unwrap_or(0) + 1;
            if levels > DEPTH_MAX {
                return Err(Fault::Deep { bucket: bucket.id });
            }
            seen[slot(bucket)] = Seen::Done { levels };
        }
    }
    Ok(())
}

/// Refuses maps with so many shared buckets that following every path up or down would take too long.
fn check_sharing(map: &Map) -> Result<(), Fault> {
    let (mut items, mut lines) = (0u64, 0u64);
    let mut ways = vec![1u32; map.buckets.len()];
    for bucket in from_the_roots_down(map) {
        let own = ways[slot_of_bucket(bucket)];
        if own > WAYS_MAX {
            return Err(Fault::Shared { bucket: bucket.id });
        }
        items += bucket.items.len() as u64;
        lines += bucket.items.len() as u64 * u64::from(own);
        for inner in inner_buckets(map, bucket) {
            let ways = &mut ways[slot_of_bucket(inner)];
            *ways = ways.saturating_add(own);
        }
    }
    if lines > FEW_LINES.max(items * LISTINGS_MAX) { Err(Fault::Listing { items, lines }) } else { Ok(()) }
}

/// All buckets, each after its parents; there must be no cycle.
fn from_the_roots_down(map: &Map) -> Vec<&Bucket> {
    let mut holders = vec![0usize; map.buckets.len()];
    map.each_bucket()
        .flat_map(|bucket| inner_buckets(map, bucket))
        .for_each(|bucket| holders[slot_of_bucket(bucket)] += 1);
    let mut order: Vec<&Bucket> =
        map.each_bucket().filter(|bucket| holders[slot_of_bucket(bucket)] == 0).collect();
    let mut next = 0;
    while let Some(&bucket) = order.get(next) {
        next += 1;
        for below in inner_buckets(map, bucket) {
            let left = &mut holders[slot_of_bucket(below)];
            *left -= 1;
            if *left == 0 {
                order.push(below);
            }
        }
    }
    order
}

fn inner_buckets<'a>(map: &'a Map, bucket: &'a Bucket) -> impl Iterator<Item = &'a Bucket> {
    bucket.items.iter().filter_map(|item| map.bucket(*item))
}

fn slot_of_bucket(bucket: &Bucket) -> usize {
    (-1 - bucket.id) as usize
}
