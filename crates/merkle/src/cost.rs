//! What it costs to find out which objects of a group differ, by each way to find it, on average.
//!
//! Bytes of messages are those that [`crate::exchange`] sends; tests hold both together. In ranges that
//! differ, every object is looked at on both sides, and one side lists them to the other. Objects that differ
//! are thought spread over the hash space alike, as hashes are.

use crate::rebuilt::CASSANDRA_LEAF_BITS;
use crate::sizing::{distinct, objects_to_look_at};

/// A way to find what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Discovery {
    /// Every object is listed and compared.
    Scan,
    /// A bit a leaf, set by writes ([`crate::Bitmap`]).
    Bitmap,
    /// A tree, sent whole.
    Merkle,
    /// A tree, compared from the root down.
    MerkleLevels,
    /// A sketch ([`crate::Sketch`]), and level by level where its cells are too few.
    Sketch,
    /// A tree of 32 Ki leaves, built from all objects when it is needed and sent whole.
    Rebuilt,
}

impl Discovery {
    /// All, in the order in which they are told of.
    pub const ALL: [Discovery; 6] = [
        Discovery::Scan,
        Discovery::Bitmap,
        Discovery::Merkle,
        Discovery::MerkleLevels,
        Discovery::Sketch,
        Discovery::Rebuilt,
    ];

    /// The name by which scenarios know it.
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

/// A group of which two replicas are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Its objects.
    pub objects: f64,
    /// How many of them differ.
    pub stale: f64,
    /// Leaves of its tree and bits of its bitmap, as a power of two.
    pub leaf_bits: u8,
    /// Levels that a message goes down.
    pub stride: u8,
    /// Cells of its sketch.
    pub sketch_cells: f64,
    /// What an object takes in a list of them: its hash, name and version.
    pub entry_bytes: f64,
}

/// What it takes to know which objects differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Objects whose version one side looks up: those of the ranges that differ, and all where a tree is
    /// rebuilt.
    pub looked_at: f64,
    /// Bytes sent, lists of objects among them.
    pub bytes: f64,
    /// Messages sent, both ways.
    pub messages: f64,
    /// Digests that one side computes.
    pub digests: f64,
}

/// What it costs a write to keep up what a discovery needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WriteCost {
    /// Digests of 16 bytes.
    pub digests: f64,
    /// Leaves, marks and cells that are changed, each in a place of its own in memory.
    pub places: f64,
}

/// What a write costs where these are kept; `sketch_cells` counts for sketches alone.
#[must_use]
pub fn per_write(discovery: Discovery, sketch_cells: u64) -> WriteCost {
    match discovery {
        Discovery::Scan | Discovery::Rebuilt => WriteCost::default(),
        Discovery::Bitmap => WriteCost { digests: 0.0, places: 1.0 },
        // The old version and the new one; a leaf and two marks.
        Discovery::Merkle | Discovery::MerkleLevels => WriteCost { digests: 2.0, places: 3.0 },
        // Besides the tree: both versions, the check of the key and the choice of cells.
        Discovery::Sketch => WriteCost { digests: 6.0, places: 3.0 + cells_per_object(sketch_cells) },
    }
}

/// The cells that an object is in, on average: the sum of 1 / (1 + i/2), which is twice a harmonic number
/// less 2.
#[must_use]
pub fn cells_per_object(cells: u64) -> f64 {
    (0..cells).map(|cell| 1.0 / (1.0 + cell as f64 / 2.0)).sum()
}

/// Head, body without leaves, and checksum of the messages.
const HEAD_BYTES: f64 = 34.0;
const WHOLE_BYTES: f64 = 21.0;
const NODES_BYTES: f64 = 25.0;
const CELLS_BYTES: f64 = 19.0;
const ASK_BYTES: f64 = 23.0;

/// Cells are asked for by a fifth of those that are there, so that on average a tenth is sent in vain.
const SENT_OF_NEEDED: f64 = 1.1;

/// The cost of finding what differs in a group.
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
            // All are read to build it, and those in ranges that differ are known from that.
            Cost { looked_at: group.objects, digests: cost.digests + group.objects + leaves, ..cost }
        }
    }
}

fn whole(cost: Cost, leaves: f64, group: &Group) -> Cost {
    if group.stale <= 0.0 {
        return matching_heads();
    }
    let bytes = cost.bytes + HEAD_BYTES + WHOLE_BYTES + 8.0 * leaves;
    // The parents of the leaves that came.
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
    // Runs of leaves that differ end with the chance that the next one does not.
    let runs = (differ * (1.0 - differ / leaves)).max(1.0);
    bytes += 22.0 + runs * (gap_bytes(leaves / runs) + 1.0);
    let parents: f64 = (0..group.leaf_bits).map(differ_at).sum();
    Cost { bytes: cost.bytes + bytes, messages: cost.messages + messages + 1.0, digests: parents, ..cost }
}

/// Bytes of a number of seven bits a byte, where such numbers have this mean and are spread as gaps are.
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
    // The cells were sent in vain.
    let leaves = f64::from(1_u32 << group.leaf_bits);
    let looked_at = objects_to_look_at(group.objects, leaves, group.stale);
    let listed = Cost { looked_at, bytes: looked_at * group.entry_bytes, messages: 2.0, digests: 0.0 };
    let levels = by_levels(listed, group);
    Cost { bytes: levels.bytes + found.bytes, messages: levels.messages + found.messages, ..levels }
}

/// Cells that are needed for each object that differs, on average over sketches.
///
/// Measured with this crate's sketches, over 20,000 objects that differ a row; `tests/sketch.rs` measures it
/// again.
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
