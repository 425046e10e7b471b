//! The tree: 2^d leaves over a part of the hash space, in one flat array.
//!
//! A leaf is the XOR of the digests of its objects, so that a write costs two digests and no reading, in any
//! order, and the state after a change and its reverse is the state before (equation 3 and figure 11 of the
//! thesis). A node above is the xxHash3 of its two children, and 0 where both are 0; the root tells two trees
//! apart.
//!
//! Parents are computed late: [`Tree::update`] marks the leaf, and [`Tree::settle`] computes each marked node
//! once. With [`Tree::update_at_once`] the path to the root is computed on the write, as the thesis does.
//!
//! **Collisions.** Two leaves with different objects agree with probability 2^-64. A comparison of n nodes
//! misses a difference with probability below n / 2^64: 2e-15 for two trees of 16,384 leaves that differ
//! everywhere. That two of the 10^9 states a group goes through have one root has the birthday probability
//! n²/2^65 = 0.03, but it matters only where two replicas are in those two states. With 32 bits, 77,000
//! states would do for a probability of one half. These are chances, not a defence: who chooses ids and
//! versions can make digests cancel.

use crate::DecodeError;
use crate::marks::Marks;
use crate::object::{change, digest_of_pair};
use crate::{ObjectId, Position, Settled, Shape, Version};

/// A Merkle tree over the objects of a placement group or a pool.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Tree {
    shape: Shape,
    /// Node 1 is the root, node n has the children 2n and 2n + 1, and the leaves are the second half.
    nodes: Box<[u64]>,
    /// Leaves whose parents are not computed yet.
    unsettled: Marks,
    /// Leaves that changed since the last image or record.
    unsaved: Marks,
}

impl Tree {
    /// The tree of no objects.
    #[must_use]
    pub fn new(shape: Shape) -> Tree {
        let leaves = shape.leaves();
        Tree {
            shape,
            nodes: vec![0; 2 * leaves].into(),
            unsettled: Marks::new(leaves),
            unsaved: Marks::new(leaves),
        }
    }

    /// The tree with these leaves; nothing of it is saved.
    pub(crate) fn of_leaves(shape: Shape, leaves: impl ExactSizeIterator<Item = u64>) -> Tree {
        let mut tree = Tree::new(shape);
        assert_eq!(leaves.len(), shape.leaves(), "leaves are missing or left over");
        for (leaf, value) in tree.leaves_mut().iter_mut().zip(leaves) {
            *leaf = value;
        }
        tree.unsettled.set_all(shape.leaves());
        tree.unsaved.set_all(shape.leaves());
        tree
    }

    /// What it covers, in how many leaves.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The digests of all leaves, in the order of positions.
    #[must_use]
    pub fn leaves(&self) -> &[u64] {
        &self.nodes[self.shape.leaves()..]
    }

    pub(crate) fn leaves_mut(&mut self) -> &mut [u64] {
        &mut self.nodes[self.shape.leaves()..]
    }

    /// An object with this hash went from one version to another; no version is an object that does not
    /// exist. Parents are computed when they are asked for.
    ///
    /// # Panics
    ///
    /// Where the hash is not one of the tree's space.
    #[inline]
    pub fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        let leaf = self.shape.leaf_of(Position::of_hash(hash));
        self.nodes[self.shape.leaves() + leaf] ^= change(id, old, new);
        self.unsettled.set(leaf);
        self.unsaved.set(leaf);
    }

    /// As [`Tree::update`], with the path to the root computed now: one digest more for each level.
    ///
    /// # Panics
    ///
    /// Where the hash is not one of the tree's space.
    pub fn update_at_once(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        let leaf = self.shape.leaf_of(Position::of_hash(hash));
        let mut node = self.shape.leaves() + leaf;
        self.nodes[node] ^= change(id, old, new);
        self.unsaved.set(leaf);
        // Nodes over a leaf that is still marked come out wrong here; settling computes them anew.
        while node > 1 {
            node /= 2;
            self.nodes[node] = parent(self.nodes[2 * node], self.nodes[2 * node + 1]);
        }
    }

    /// Sets a leaf to what a record says of it.
    pub(crate) fn set_leaf(&mut self, leaf: usize, value: u64) {
        self.leaves_mut()[leaf] = value;
        self.unsettled.set(leaf);
    }

    /// Computes the parents of all changed leaves, each once. What can be asked of a tree as a whole is asked
    /// of the answer.
    pub fn settle(&mut self) -> Settled<'_> {
        if !self.unsettled.is_clear() {
            self.compute_parents();
        }
        Settled::new(self.shape, &self.nodes)
    }

    fn compute_parents(&mut self) {
        let mut marks = self.unsettled.halved();
        let mut nodes = self.shape.leaves();
        while nodes > 1 {
            nodes /= 2;
            for at in marks.iter() {
                let node = nodes + at;
                self.nodes[node] = parent(self.nodes[2 * node], self.nodes[2 * node + 1]);
            }
            marks = marks.halved();
        }
        self.unsettled.clear();
    }

    /// Leaves that changed since the last image or record was made of it.
    #[must_use]
    pub fn unsaved_leaves(&self) -> usize {
        self.unsaved.count()
    }

    /// The leaves of [`Tree::unsaved_leaves`], of which none is left.
    pub(crate) fn take_unsaved(&mut self) -> Vec<u32> {
        self.unsaved.take()
    }

    /// What a tree of this many leaves takes in memory: its nodes, and two bits a leaf.
    #[must_use]
    pub fn memory_bytes(leaf_bits: u8) -> u64 {
        let leaves = 1_u64 << leaf_bits;
        16 * leaves + 2 * 8 * leaves.div_ceil(64) + size_of::<Tree>() as u64
    }
}

/// Trees are equal that cover the same in the same leaves; what is computed or saved of them does not count.
impl PartialEq for Tree {
    fn eq(&self, other: &Tree) -> bool {
        self.shape == other.shape && self.leaves() == other.leaves()
    }
}

impl Eq for Tree {}

/// An empty subtree is 0 at every height, so that a new tree needs no digests.
#[inline]
fn parent(low: u64, high: u64) -> u64 {
    if low | high == 0 { 0 } else { digest_of_pair(low, high) }
}

impl From<Tree> for Vec<u8> {
    fn from(it: Tree) -> Vec<u8> {
        it.encode()
    }
}

impl TryFrom<Vec<u8>> for Tree {
    type Error = DecodeError;

    fn try_from(bytes: Vec<u8>) -> Result<Tree, DecodeError> {
        Tree::decode(&bytes)
    }
}
