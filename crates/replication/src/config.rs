//! How a group is replicated: all numbers that the protocol depends on, each with Ceph's default where it has
//! one.

use serde::{Deserialize, Serialize};
use towtank_merkle::{Shape, Subspace, TooManyLeaves};
use towtank_units::SimSpan;

/// How a backfill finds out what to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discovery {
    /// It looks at all objects.
    Scan,
    /// At the ranges that were written to since the group was last clean; at all where a replica was not
    /// there then.
    Bitmap,
    /// At the ranges where the trees differ: the target sends its whole tree.
    Merkle,
    /// At the same ranges, found level by level.
    MerkleLevels,
    /// At the objects that a sketch names. Where they are too many for it, level by level.
    Sketch,
}

impl Discovery {
    /// All there are.
    pub const ALL: [Discovery; 5] =
        [Discovery::Scan, Discovery::Bitmap, Discovery::Merkle, Discovery::MerkleLevels, Discovery::Sketch];

    /// The word for it in scenarios and on command lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Discovery::Scan => "scan",
            Discovery::Bitmap => "bitmap",
            Discovery::Merkle => "merkle",
            Discovery::MerkleLevels => "merkle-levels",
            Discovery::Sketch => "sketch",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Discovery> {
        Discovery::ALL.into_iter().find(|discovery| discovery.name() == name)
    }
}

/// A rule that is broken on purpose, so that a test proves that it would notice.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Planted {
    /// A write above the cursor leaves its range skipped.
    RangeStaysSkipped,
    /// Log recovery does not update the tree.
    TreeMissesRecovery,
    /// A backfill goes on one key too far after each batch.
    CursorTooFar,
    /// A client hears of a write before all replicas have it.
    AnswersEarly,
    /// Entries that the authoritative log does not have stay.
    KeepsDivergent,
    /// A repeated request is done again.
    ForgetsRequests,
    /// A backfill goes on at its old cursor though the log does not reach back.
    KeepsCursor,
    /// A primary answers reads without asking whether it still is the primary.
    ReadsWithoutLease,
    /// Peering takes the log of whoever answers, without asking earlier intervals.
    ForgetsIntervals,
    /// A backfill sends what does not differ.
    SendsWhatIsEqual,
    /// Temporary objects of an interval that is over stay.
    KeepsTemporary,
    /// A target that is complete keeps its slot.
    KeepsSlot,
    /// A shard is made from one shard fewer than that takes.
    GathersTooFew,
}

/// The rules of one group. All its replicas have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Config {
    /// How many replicas there should be.
    pub size: usize,
    /// Replicas that together make up an object: 1 where each holds all of it. In an erasure-coded group each
    /// holds one shard, and so many of them give back any other.
    pub data_shards: usize,
    /// With fewer replicas the group takes no requests.
    pub size_min: usize,
    /// What part of the hash space is the group's, and in how many leaves it is summed up.
    pub shape: Shape,
    /// How a backfill finds differences; trees, bitmaps and sketches are kept for the methods that need them.
    pub discovery: Discovery,
    /// The cells of a sketch: about 1.35 to 1.72 times the differences that it can tell.
    pub sketch_cells: u32,
    /// The cells that are sent first.
    pub sketch_first_cells: u32,
    /// Entries that the log keeps while the group is clean.
    pub log_entries_min: usize,
    /// Entries that it keeps at most.
    pub log_entries_max: usize,
    /// Entries that are trimmed at a time, at least.
    pub log_trim_min: usize,
    /// Requests that are remembered after their entries.
    pub requests_max: usize,
    /// A batch of a backfill looks at least at so many objects, if there are as many.
    pub scan_min: usize,
    /// And at most at so many.
    pub scan_max: usize,
    /// Recoveries of objects at once, of one group.
    pub active_max: usize,
    /// The rest after each operation of recovery: an object, or a batch that was looked at.
    pub sleep: SimSpan,
    /// Larger objects are sent in parts of so many bytes.
    pub chunk_bytes: u64,
    /// How long a primary may answer reads after its replicas have last confirmed it. Without it, whoever
    /// tells maps must tell the old primary first.
    pub lease: Option<SimSpan>,
    /// After how long a refused reservation is asked for again.
    pub retry: SimSpan,
    /// A rule that is broken on purpose.
    #[doc(hidden)]
    pub planted: Option<Planted>,
}

impl Config {
    /// The rules of a group of `size` replicas: Ceph 16's defaults, and no rest after an operation.
    ///
    /// # Errors
    ///
    /// Where the leaves are too many for the group's part of the hash space.
    pub fn new(size: usize, space: Subspace, leaf_bits: u8) -> Result<Config, TooManyLeaves> {
        Ok(Config {
            size,
            data_shards: 1,
            size_min: size - size / 2,
            shape: Shape::new(space, leaf_bits)?,
            discovery: Discovery::Merkle,
            sketch_cells: 1 << 14,
            sketch_first_cells: 64,
            log_entries_min: 250,
            log_entries_max: 10_000,
            log_trim_min: 100,
            requests_max: 3_000,
            scan_min: 64,
            scan_max: 512,
            active_max: 3,
            sleep: SimSpan::from_ns(0),
            chunk_bytes: 8 << 20,
            lease: None,
            retry: SimSpan::from_secs(30),
            planted: None,
        })
    }

    /// Refuses rules that contradict each other.
    ///
    /// # Panics
    ///
    /// Where they do: they come from code, or from a scenario that has been checked.
    pub(crate) fn check(&self) {
        assert!(self.size >= 1, "a group has at least one replica");
        let (least, size) = (self.size_min, self.size);
        assert!((1..=size).contains(&least), "`size_min` is {least} of {size} replicas");
        let shards = self.data_shards;
        assert!((1..=least).contains(&shards), "{least} replicas serve, but {shards} shards make an object");
        assert!(self.log_entries_min <= self.log_entries_max, "the log keeps more entries than it may");
        assert!(self.scan_min <= self.scan_max && self.scan_max > 0, "a batch looks at no object");
        assert!(self.active_max > 0, "no object is ever recovered");
        assert!(self.chunk_bytes > 0, "an object is sent in parts of no bytes");
    }

    pub(crate) fn keeps_tree(&self) -> bool {
        matches!(self.discovery, Discovery::Merkle | Discovery::MerkleLevels | Discovery::Sketch)
    }

    pub(crate) fn keeps_sketch(&self) -> bool {
        self.discovery == Discovery::Sketch
    }

    pub(crate) fn keeps_bitmap(&self) -> bool {
        self.discovery == Discovery::Bitmap
    }
}
