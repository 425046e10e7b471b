//! The average cost of finding out which objects of a group differ, for each way to find them.
//!
//! Message bytes are those that [`crate::exchange`] sends; tests compare the two. In ranges that differ, both
//! sides look at every object, and one side lists its objects to the other. Differing objects are assumed to
//! be spread uniformly over the hash space, as hashes are.

use crate::rebuilt::CASSANDRA_LEAF_BITS;
use crate::sizing::{distinct, objects_to_look_at};

/// A way to find which objects differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Discovery {
    /// Every object is listed and compared.
    Scan,
    /// One bit per leaf, set by writes ([`crate::Bitmap`]).
    Bitmap,
    /// A tree, sent whole.
    Merkle,
    /// A tree, compared from the root down.
    MerkleLevels,
    /// A sketch ([`crate::Sketch`]); the tree is compared level by level if the sketch has too few cells.
    Sketch,
    /// A tree of 32 Ki leaves, built from all objects when needed and sent whole.
    Rebuilt,
}

impl Discovery {
    /// All of them, in the order in which reports list them.
    pub const ALL: [Discovery; 6] = [
        Discovery::Scan,
        Discovery::Bitmap,
        Discovery::Merkle,
        Discovery::MerkleLevels,
        Discovery::Sketch,
        Discovery::Rebuilt,
    ];

    /// Its name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Discovery::Scan => "scan",
            Discovery::Bitmap => "bitmap",
            Discovery::Merkle => "merkle",
            Discovery::MerkleLevels => "merkle-levels",
            Discovery::Sketch => "sketch",
            Discovery::Rebuilt => "rebuilt",
        }
    }
}

/// A placement group of which two replicas are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The number of objects in the group.
    pub objects: f64,
    /// How many of them differ.
    pub stale: f64,
    /// Leaves of its tree and bits of its bitmap, as a power of two.
    pub leaf_bits: u8,
    /// Levels that one message descends.
    pub stride: u8,
    /// Cells of its sketch.
    pub sketch_cells: f64,
    /// The bytes per object in a list of objects: hash, name and version.
    pub entry_bytes: f64,
}

/// The cost of finding out which objects differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Objects whose version one side looks up: those in ranges that differ, and all of them if a tree is
    /// rebuilt.
    pub looked_at: f64,
    /// Bytes sent, including lists of objects.
    pub bytes: f64,
    /// Messages sent, in both directions.
    pub messages: f64,
    /// Digests that one side computes.
    pub digests: f64,
}

/// The cost per write of maintaining what a discovery needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WriteCost {
    /// Digests of 16 bytes each.
    pub digests: f64,
    /// Leaves, marks and cells that change, each at a different place in memory.
    pub places: f64,
}

/// The cost of a write for this discovery; `sketch_cells` matters for sketches only.
#[must_use]
pub fn per_write(discovery: Discovery, sketch_cells: u64) -> WriteCost {
    match discovery {
        Discovery::Scan | Discovery::Rebuilt => WriteCost::default(),
        Discovery::Bitmap => WriteCost { digests: 0.0, places: 1.0 },
        // Digests of the old and the new version; a leaf and two marks.
        Discovery::Merkle | Discovery::MerkleLevels => WriteCost { digests: 2.0, places: 3.0 },
        // Beyond the tree's digests: both versions, the check of the key and the choice of cells.
        Discovery::Sketch => WriteCost { digests: 6.0, places: 3.0 + cells_per_object(sketch_cells) },
    }
}

/// The average number of cells that an object is in: the sum of 1 / (1 + i/2), which is twice a harmonic
/// number less 2.
#[must_use]
pub fn cells_per_object(cells: u64) -> f64 {
    (0..cells).map(|cell| 1.0 / (1.0 + cell as f64 / 2.0)).sum()
}

/// Bytes of head, body without leaves, and checksum of the messages.
const HEAD_BYTES: f64 = 34.0;
const WHOLE_BYTES: f64 = 21.0;
const NODES_BYTES: f64 = 25.0;
const CELLS_BYTES: f64 = 19.0;
const ASK_BYTES: f64 = 23.0;

/// Each request for more cells asks for a fifth of those received, so on average a tenth is not needed.
const SENT_OF_NEEDED: f64 = 1.1;

/// The expected cost of finding what differs in a group.
#[must_use]
pub fn expected(discovery: Discovery, group: &Group) -> Cost {
    let leaves = f64::from(1_u32 << group.leaf_bits);
    let in_ranges = |leaves: f64| {
        let looked_at = objects_to_look_at(group.objects, leaves, group.stale);
        Cost { looked_at, bytes: looked_at * group.entry_bytes, messages: 2.0, digests: 0.0 }
    };
    match discovery {
        Discovery::Scan => Cost {
            looked_at: group.objects,
            bytes: group.objects * group.entry_bytes,
            messages: 2.0,
            digests: 0.0,
        },
        Discovery::Bitmap => {
            let cost = in_ranges(leaves);
            Cost { bytes: cost.bytes + 20.0 + 8.0 * (leaves / 64.0).ceil(), messages: 3.0, ..cost }
        }
        Discovery::Merkle => whole(in_ranges(leaves), leaves, group),
        Discovery::MerkleLevels => by_levels(in_ranges(leaves), group),
        Discovery::Sketch => by_sketch(group),
        Discovery::Rebuilt => {
            let leaves = f64::from(1_u32 << CASSANDRA_LEAF_BITS);
            let cost = whole(in_ranges(leaves), leaves, group);
            // Every object is read to build the tree, so the objects in ranges that differ are known already.
            Cost { looked_at: group.objects, digests: cost.digests + group.objects + leaves, ..cost }
        }
    }
}

fn whole(cost: Cost, leaves: f64, group: &Group) -> Cost {
    if group.stale <= 0.0 {
        return matching_heads();
    }
    let bytes = cost.bytes + HEAD_BYTES + WHOLE_BYTES + 8.0 * leaves;
    // The parents of the leaves that arrived.
    Cost { bytes, messages: cost.messages + 2.0, digests: leaves, ..cost }
}

fn matching_heads() -> Cost {
    Cost { bytes: HEAD_BYTES + 15.0, messages: 2.0, ..Cost::default() }
}

fn by_levels(cost: Cost, group: &Group) -> Cost {
    if group.stale <= 0.0 {
        return matching_heads();
    }
    let nodes = |depth: u8| f64::from(1_u32 << depth);
    let differ_at = |depth: u8| distinct(nodes(depth), group.stale);
    let (mut bytes, mut messages, mut depth) = (HEAD_BYTES, 1.0, 0);
    while depth < group.leaf_bits {
        let stride = group.stride.clamp(1, 8).min(group.leaf_bits - depth);
        let parents = differ_at(depth);
        bytes += NODES_BYTES + parents * (gap_bytes(nodes(depth) / parents) + 8.0 * nodes(stride));
        messages += 1.0;
        depth += stride;
    }
    let leaves = nodes(group.leaf_bits);
    let differ = differ_at(group.leaf_bits);
    // A run of differing leaves ends with the probability that the next leaf does not differ.
    let runs = (differ * (1.0 - differ / leaves)).max(1.0);
    bytes += 22.0 + runs * (gap_bytes(leaves / runs) + 1.0);
    let parents: f64 = (0..group.leaf_bits).map(differ_at).sum();
    Cost { bytes: cost.bytes + bytes, messages: cost.messages + messages + 1.0, digests: parents, ..cost }
}

/// Bytes of a number at seven bits per byte, where such numbers have this mean and are distributed as gaps.
fn gap_bytes(mean: f64) -> f64 {
    let beyond = |bits: i32| libm::exp(-libm::pow(2.0, f64::from(bits)) / mean.max(1e-9));
    1.0 + beyond(7) + beyond(14) + beyond(21)
}

fn by_sketch(group: &Group) -> Cost {
    if group.stale <= 0.0 {
        return matching_heads();
    }
    let cells = group.stale * cells_per_difference(group.stale);
    let sent = (cells * SENT_OF_NEEDED).min(group.sketch_cells);
    let found = Cost {
        looked_at: group.stale,
        bytes: HEAD_BYTES + CELLS_BYTES + ASK_BYTES + 32.0 * sent,
        messages: 4.0,
        digests: group.stale,
    };
    if cells <= group.sketch_cells {
        return found;
    }
    // The sketch's cells were sent without result.
    let leaves = f64::from(1_u32 << group.leaf_bits);
    let looked_at = objects_to_look_at(group.objects, leaves, group.stale);
    let listed = Cost { looked_at, bytes: looked_at * group.entry_bytes, messages: 2.0, digests: 0.0 };
    let levels = by_levels(listed, group);
    Cost { bytes: levels.bytes + found.bytes, messages: levels.messages + found.messages, ..levels }
}

/// Cells needed per differing object, on average over sketches.
///
/// Measured with this crate's sketches, 20,000 differing objects per row; `tests/merkle/properties/sketch.rs`
/// checks the values.
#[must_use]
pub fn cells_per_difference(differing: f64) -> f64 {
    const MEASURED: [(f64, f64); 10] = [
        (1.0, 1.0),
        (2.0, 1.56),
        (4.0, 1.75),
        (8.0, 1.72),
        (16.0, 1.68),
        (32.0, 1.57),
        (100.0, 1.46),
        (300.0, 1.41),
        (1_000.0, 1.38),
        (100_000.0, 1.36),
    ];
    let above = MEASURED.iter().position(|(count, _)| *count >= differing).unwrap_or(MEASURED.len() - 1);
    let Some(below) = above.checked_sub(1) else { return MEASURED[0].1 };
    let ((low, from), (high, to)) = (MEASURED[below], MEASURED[above]);
    let share = libm::log(differing.min(high) / low) / libm::log(high / low);
    from + (to - from) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps between places that are each taken with the same probability: their lengths are added up one by
    /// one.
    #[test]
    fn gaps_take_as_many_bytes_as_they_have_sevens_of_bits() {
        for mean in [2.0, 40.0, 128.0, 300.0, 5_000.0, 40_000.0] {
            let taken = 1.0 / (1.0 + mean);
            let (mut bytes, mut left) = (0.0, 1.0);
            for gap in 0..4_000_000_u32 {
                let here = left * taken;
                bytes += here * f64::from((32 - gap.leading_zeros()).max(1).div_ceil(7));
                left -= here;
            }
            let found = gap_bytes(mean);
            assert!((found - bytes).abs() < 0.005 * bytes, "a mean of {mean}: {found}, not {bytes}");
        }
    }
}
