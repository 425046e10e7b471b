//! The tree: 2^d leaves over a range of the hash space, in one flat array.
//!
//! A leaf is the XOR of the digests of its objects, so a write costs two digests and no reads, the order of
//! writes does not matter, and a change followed by its reverse restores the former state (equation 3 and
//! figure 11 of the thesis). An inner node is the xxHash3 of its two children, and 0 if both are 0; trees
//! with different roots differ.
//!
//! Parents are computed lazily: [`Tree::update`] marks the leaf, and [`Tree::settle`] computes each marked
//! node once. [`Tree::update_at_once`] computes the path to the root on the write, as the thesis does.
//!
//! **Collisions.** Two leaves with different objects are equal with probability 2^-64. A comparison of n
//! nodes misses a difference with probability below n / 2^64: 2e-15 for two trees of 16,384 leaves that
//! differ everywhere. Two of the 10^9 states that a group passes through have the same root with the birthday
//! probability n²/2^65 = 0.03, but that matters only if two replicas are in those two states. With 32 bits,
//! 77,000 states would give a probability of one half. These are probabilities, not a defence: someone who
//! chooses ids and versions can make digests cancel.

use crate::DecodeError;
use crate::marks::Marks;
use crate::object::{change, digest_of_pair};
use crate::{ObjectId, Position, Settled, Shape, Version};

/// A Merkle tree over the objects of a placement group or a pool.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Tree {
    shape: Shape,
    /// Node 1 is the root, node n has the children 2n and 2n + 1, and the second half of the array is the
    /// leaves.
    nodes: Box<[u64]>,
    /// Leaves whose parents are not yet computed.
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

    /// The tree with these leaves, all of them marked as unsaved.
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

    /// The positions covered and the number of leaves.
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

    /// Records that an object with this hash changed from one version to another; `None` means that the
    /// object does not exist. Parents are computed when they are requested.
    ///
    /// # Panics
    ///
    /// If the hash lies outside the tree's space.
    #[inline]
    pub fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        let leaf = self.shape.leaf_of(Position::of_hash(hash));
        self.nodes[self.shape.leaves() + leaf] ^= change(id, old, new);
        self.unsettled.set(leaf);
        self.unsaved.set(leaf);
    }

    /// Like [`Tree::update`], but computes the path to the root immediately: one more digest per level.
    ///
    /// # Panics
    ///
    /// If the hash lies outside the tree's space.
    pub fn update_at_once(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        let leaf = self.shape.leaf_of(Position::of_hash(hash));
        let mut node = self.shape.leaves() + leaf;
        self.nodes[node] ^= change(id, old, new);
        self.unsaved.set(leaf);
        // Nodes above a leaf that is still marked are wrong here; settling recomputes them.
        while node > 1 {
            node /= 2;
            self.nodes[node] = parent(self.nodes[2 * node], self.nodes[2 * node + 1]);
        }
    }

    /// Sets a leaf to the value in a record.
    pub(crate) fn set_leaf(&mut self, leaf: usize, value: u64) {
        self.leaves_mut()[leaf] = value;
        self.unsettled.set(leaf);
    }

    /// Computes the parents of all changed leaves, each once. Queries about the whole tree go to the view
    /// returned.
    pub fn settle(&mut self) -> Settled<'_> {
        if !self.unsettled.is_clear() {
            self.compute_parents();
        }
        self.law_of_the_root();
        Settled::new(self.shape, &self.nodes)
    }

    /// Once nothing is marked, the root follows from its children.
    fn law_of_the_root(&self) {
        if let [_, root, low, high, ..] = *self.nodes {
            assert!(root == parent(low, high), "the root of a settled tree is the digest of its children");
        }
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

    /// The number of leaves that changed since the last image or record of this tree.
    #[must_use]
    pub fn unsaved_leaves(&self) -> usize {
        self.unsaved.count()
    }

    /// Returns the leaves counted by [`Tree::unsaved_leaves`], and clears them.
    pub(crate) fn take_unsaved(&mut self) -> Vec<u32> {
        self.unsaved.take()
    }

    /// The memory in bytes of a tree with 2^`leaf_bits` leaves: its nodes, and two bits per leaf.
    #[must_use]
    pub fn memory_bytes(leaf_bits: u8) -> u64 {
        let leaves = 1_u64 << leaf_bits;
        16 * leaves + 2 * 8 * leaves.div_ceil(64) + size_of::<Tree>() as u64
    }
}

/// Trees are equal if shape and leaves are; which nodes are computed or saved does not matter.
impl PartialEq for Tree {
    fn eq(&self, other: &Tree) -> bool {
        self.shape == other.shape && self.leaves() == other.leaves()
    }
}

impl Eq for Tree {}

/// An empty subtree is 0 at every height, so a new tree needs no digests.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subspace;

    #[test]
    #[should_panic(expected = "the root of a settled tree is the digest of its children")]
    fn a_root_that_missed_a_change_breaks_a_law() {
        let mut tree = Tree::new(Shape::new(Subspace::WHOLE, 4).expect("few leaves"));
        tree.update(7, ObjectId(1), None, Some(Version(1)));
        tree.settle();
        tree.nodes[2] ^= 1;
        tree.settle();
    }
}
