//! How a group is replicated: all parameters of the protocol, each with Ceph's default if it has one.

use serde::{Deserialize, Serialize};
use towtank_merkle::{Shape, Subspace, TooManyLeaves};
use towtank_units::SimSpan;

/// How a backfill finds out which objects to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discovery {
    /// It looks at all objects.
    Scan,
    /// It looks at the ranges written to since the group was last clean; at all objects if a replica was
    /// absent then.
    Bitmap,
    /// It looks at the ranges where the trees differ; the target sends its whole tree.
    Merkle,
    /// It looks at the same ranges, found level by level.
    MerkleLevels,
    /// It looks at the objects that a sketch names. If the sketch has too few cells, level by level.
    Sketch,
}

impl Discovery {
    /// All variants.
    pub const ALL: [Discovery; 5] =
        [Discovery::Scan, Discovery::Bitmap, Discovery::Merkle, Discovery::MerkleLevels, Discovery::Sketch];

    /// Its name in scenarios and on command lines.
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

    /// The discovery with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Discovery> {
        Discovery::ALL.into_iter().find(|discovery| discovery.name() == name)
    }
}

/// A rule that is broken on purpose, so that a test can prove that it would notice.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Planted {
    /// A write above the cursor does not reopen its range.
    RangeStaysSkipped,
    /// Log recovery does not update the tree.
    TreeMissesRecovery,
    /// A backfill continues one key too far after each batch.
    CursorTooFar,
    /// A write is acknowledged before all replicas have it.
    AnswersEarly,
    /// Entries that the authoritative log does not hold are kept.
    KeepsDivergent,
    /// A repeated request is executed again.
    ForgetsRequests,
    /// A backfill continues at its old cursor although the log does not reach back that far.
    KeepsCursor,
    /// A primary answers reads without confirming that it is still the primary.
    ReadsWithoutLease,
    /// A primary uses its lease as long as the others have confirmed it, whatever the rates of the clocks.
    LeaseWithoutMargin,
    /// A new primary serves before the leases that were confirmed to earlier ones have ended.
    ServesDuringPromises,
    /// Peering takes the log of any replica that answers, without querying earlier intervals.
    ForgetsIntervals,
    /// A replica without objects in the place of one that acted knows its interval, since it is complete.
    EmptyIsComplete,
    /// The same, since it has not heard that the interval began.
    EmptyIsBehind,
    /// A replica that may have lost its last changes testifies alone.
    UndecidedTestifies,
    /// An interval is not waited for if any of its replicas is gone for ever.
    OneGoneIsAll,
    /// A backfill sends objects that do not differ.
    SendsWhatIsEqual,
    /// Temporary objects of a past interval are kept.
    KeepsTemporary,
    /// A target that is complete keeps its slot.
    KeepsSlot,
    /// A shard is decoded from one shard fewer than needed.
    GathersTooFew,
    /// A version is shown to clients although only some of the replicas may ever have had it.
    ConfirmsEarly,
    /// An object that no available replica has is reverted although its version may have been acknowledged.
    RevertsAnything,
}

/// The parameters of one group; all its replicas have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Config {
    /// The intended number of replicas.
    pub size: usize,
    /// Replicas that together make up an object: 1 if each holds the whole object. In an erasure-coded group
    /// each replica holds one shard, and any `data_shards` of them give back any other.
    pub data_shards: usize,
    /// With fewer replicas the group accepts no requests.
    pub size_min: usize,
    /// The group's part of the hash space, and the number of leaves of its tree.
    pub shape: Shape,
    /// How a backfill finds differences; trees, bitmaps and sketches are kept only for the methods that need
    /// them.
    pub discovery: Discovery,
    /// The cells of a sketch: about 1.35 to 1.72 times the number of differences that it can resolve.
    pub sketch_cells: u32,
    /// The cells in the first message.
    pub sketch_first_cells: u32,
    /// Entries that the log keeps while the group is clean.
    pub log_entries_min: usize,
    /// The most entries that the log keeps.
    pub log_entries_max: usize,
    /// The least number of entries trimmed at a time.
    pub log_trim_min: usize,
    /// Requests that are remembered after their entries are trimmed.
    pub requests_max: usize,
    /// The least number of objects that a batch of a backfill looks at, if there are as many.
    pub scan_min: usize,
    /// The most objects that a batch looks at.
    pub scan_max: usize,
    /// The most objects of one group that are recovered at the same time.
    pub active_max: usize,
    /// The pause after each operation of recovery: an object, or a batch that was looked at.
    pub sleep: SimSpan,
    /// Larger objects are sent in parts of this many bytes.
    pub chunk_bytes: u64,
    /// How long a primary may answer reads after its replicas last confirmed it. Without a lease, whoever
    /// issues maps must inform the old primary first.
    pub lease: Option<SimSpan>,
    /// How long to wait before a refused reservation is requested again.
    pub retry: SimSpan,
    /// A rule that is broken on purpose.
    #[doc(hidden)]
    pub planted: Option<Planted>,
}

impl Config {
    /// The parameters of a group of `size` replicas: Ceph 16's defaults, and no pause after an operation.
    ///
    /// # Errors
    ///
    /// If there are too many leaves for the group's part of the hash space.
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

    /// Checks that the parameters do not contradict each other.
    ///
    /// # Panics
    ///
    /// If they do: they come from code, or from a scenario that has been checked.
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
