//! What a replica knows of its objects without looking at them: a tree, a sketch or a bitmap, as its group's
//! discovery needs. Every local change of an object goes through [`Summary::update`], so that tree and sketch
//! always equal those built from the objects.

use serde::{Deserialize, Serialize};
use towtank_merkle::{Bitmap, Sketch, Tree};

use crate::{Config, Epoch, Key, Version};

/// The ranges written to since the group was clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirty {
    /// The interval in which the group was clean; 0 means its creation.
    pub since: Epoch,
    /// The ranges.
    pub ranges: Bitmap,
}

/// The summaries of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Images", into = "Images")]
pub struct Summary {
    pub(crate) tree: Option<Tree>,
    pub(crate) sketch: Option<Sketch>,
    pub(crate) dirty: Option<Dirty>,
}

/// Summaries as bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Images {
    tree: Option<Vec<u8>>,
    sketch: Option<Vec<u8>>,
    dirty: Option<(Epoch, Vec<u8>)>,
}

impl From<Summary> for Images {
    fn from(summary: Summary) -> Images {
        Images {
            tree: summary.tree.map(|tree| tree.encode()),
            sketch: summary.sketch.map(|sketch| sketch.encode()),
            dirty: summary.dirty.map(|dirty| (dirty.since, dirty.ranges.encode())),
        }
    }
}

impl TryFrom<Images> for Summary {
    type Error = towtank_merkle::DecodeError;

    fn try_from(images: Images) -> Result<Summary, Self::Error> {
        let dirty = |(since, bytes): (Epoch, Vec<u8>)| Ok(Dirty { since, ranges: Bitmap::decode(&bytes)? });
        Ok(Summary {
            tree: images.tree.map(|bytes| Tree::decode(&bytes)).transpose()?,
            sketch: images.sketch.map(|bytes| Sketch::decode(&bytes)).transpose()?,
            dirty: images.dirty.map(dirty).transpose()?,
        })
    }
}

impl Summary {
    /// The summaries of no objects.
    #[must_use]
    pub fn new(config: &Config) -> Summary {
        let dirty = || Dirty { since: 0, ranges: Bitmap::new(config.shape) };
        Summary {
            tree: config.keeps_tree().then(|| Tree::new(config.shape)),
            sketch: config.keeps_sketch().then(|| Sketch::new(config.sketch_cells as usize)),
            dirty: config.keeps_bitmap().then(dirty),
        }
    }

    /// The summaries of these objects, with an empty bitmap.
    #[must_use]
    pub fn of_objects(config: &Config, objects: impl IntoIterator<Item = (Key, Version)>) -> Summary {
        let mut summary = Summary::new(config);
        let dirty = summary.dirty.take();
        objects.into_iter().for_each(|(key, version)| summary.update(key, None, Some(version)));
        Summary { dirty, ..summary }
    }

    /// Summaries from parts that a store has kept.
    #[must_use]
    pub fn of_parts(tree: Option<Tree>, sketch: Option<Sketch>, dirty: Option<Dirty>) -> Summary {
        Summary { tree, sketch, dirty }
    }

    /// Records that an object changed from one version to another; `None` means that the object does not
    /// exist.
    pub fn update(&mut self, key: Key, old: Option<Version>, new: Option<Version>) {
        assert_ne!(old, new, "{key:?} has not changed");
        let (old, new) = (old.map(Version::packed), new.map(Version::packed));
        if let Some(tree) = &mut self.tree {
            tree.update(key.hash(), key.object(), old, new);
        }
        if let Some(sketch) = &mut self.sketch {
            sketch.update(key.hash(), key.object(), old, new);
        }
        if let Some(dirty) = &mut self.dirty {
            dirty.ranges.mark(key.hash());
        }
    }

    /// Begins a new bitmap: the group is clean in this interval.
    pub(crate) fn begin_bitmap(&mut self, since: Epoch) {
        if let Some(dirty) = &mut self.dirty {
            assert!(since > dirty.since || dirty.since == 0, "clean in {since}, after {}", dirty.since);
            *dirty = Dirty { since, ranges: Bitmap::new(dirty.ranges.shape()) };
        }
    }

    /// The tree, if one is kept.
    #[must_use]
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// The tree, for a store that saves its changes.
    pub fn tree_mut(&mut self) -> Option<&mut Tree> {
        self.tree.as_mut()
    }

    /// The sketch, if one is kept.
    #[must_use]
    pub fn sketch(&self) -> Option<&Sketch> {
        self.sketch.as_ref()
    }

    /// The sketch, for a store that saves its changes.
    pub fn sketch_mut(&mut self) -> Option<&mut Sketch> {
        self.sketch.as_mut()
    }

    /// The bitmap, if one is kept.
    #[must_use]
    pub fn dirty(&self) -> Option<&Dirty> {
        self.dirty.as_ref()
    }

    /// Whether tree and sketch equal those of another summary; bitmaps depend on history and are not
    /// compared.
    #[must_use]
    pub fn sums_up_as(&self, other: &Summary) -> bool {
        self.tree == other.tree && self.sketch == other.sketch
    }

    /// The bytes of memory that the summaries take.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let tree = self.tree.as_ref().map_or(0, |tree| Tree::memory_bytes(tree.shape().leaf_bits()));
        let sketch =
            self.sketch.as_ref().map_or(0, |sketch| Sketch::memory_bytes(sketch.cells().len() as u64));
        let bitmap = self.dirty.as_ref().map_or(0, |dirty| dirty.ranges.shape().leaves().div_ceil(8) as u64);
        tree + sketch + bitmap
    }
}
