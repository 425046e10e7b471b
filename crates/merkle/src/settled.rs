//! A tree whose parents are all computed, and the difference of two such trees.

use crate::marks::Marks;
use crate::{PositionRange, Shape, Tree};

/// A view of a tree in which every node is up to date.
#[derive(Clone, Copy, Debug)]
pub struct Settled<'a> {
    shape: Shape,
    nodes: &'a [u64],
}

/// Two trees that cover different positions or have different numbers of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one tree has {ours}, the other {theirs}: coarsen the finer one, or split or merge")]
pub struct ShapesDiffer {
    /// The shape of the tree on which the method was called.
    pub ours: Shape,
    /// The shape of the other tree.
    pub theirs: Shape,
}

/// The number of leaves compared linearly below a node that differs: descending further costs more than it
/// saves.
const BLOCK: usize = 64;

impl<'a> Settled<'a> {
    pub(crate) fn new(shape: Shape, nodes: &'a [u64]) -> Settled<'a> {
        Settled { shape, nodes }
    }

    /// The positions covered and the number of leaves.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The digest of the whole tree.
    #[must_use]
    pub fn root(&self) -> u64 {
        self.nodes[1]
    }

    /// The nodes at a depth, in order: the root at depth 0, the leaves at depth `leaf_bits`.
    ///
    /// # Panics
    ///
    /// If `depth` exceeds the depth of the tree.
    #[must_use]
    pub fn nodes_at(&self, depth: u8) -> &'a [u64] {
        assert!(depth <= self.shape.leaf_bits(), "depth {depth} of a tree of {}", self.shape);
        &self.nodes[1 << depth..2 << depth]
    }

    /// The digests of all leaves, in the order of positions.
    #[must_use]
    pub fn leaves(&self) -> &'a [u64] {
        self.nodes_at(self.shape.leaf_bits())
    }

    /// An owned tree with the same leaves.
    #[must_use]
    pub fn to_tree(&self) -> Tree {
        Tree::of_leaves(self.shape, self.leaves().iter().copied())
    }

    /// The positions where the two trees differ: the ranges of the leaves that differ, in order, merged where
    /// they touch.
    ///
    /// # Errors
    ///
    /// If the trees have different shapes.
    pub fn difference(&self, other: &Settled<'_>) -> Result<Vec<PositionRange>, ShapesDiffer> {
        if self.shape != other.shape {
            return Err(ShapesDiffer { ours: self.shape, theirs: other.shape });
        }
        let mut runs = Runs::new(self.shape);
        self.descend(other, 1, &mut runs);
        let (ranges, equal) = (runs.finish(), self.root() == other.root());
        assert!(ranges.is_empty() == equal, "trees differ somewhere if and only if their roots do");
        Ok(ranges)
    }

    fn descend(&self, other: &Settled<'_>, node: usize, runs: &mut Runs) {
        if self.nodes[node] == other.nodes[node] {
            return;
        }
        // The number of leaves below this node.
        let depth = node.ilog2();
        let leaves = self.shape.leaves() >> depth;
        if leaves > BLOCK {
            self.descend(other, 2 * node, runs);
            self.descend(other, 2 * node + 1, runs);
            return;
        }
        let first = node * leaves;
        let first_leaf = first - self.shape.leaves();
        runs.add_block(
            first_leaf,
            differing(&self.nodes[first..first + leaves], &other.nodes[first..first + leaves]),
        );
    }
}

/// A word in which bit i is set if the values at i differ.
fn differing(ours: &[u64], theirs: &[u64]) -> u64 {
    let bit = |(at, (ours, theirs)): (usize, (&u64, &u64))| u64::from(ours != theirs) << at;
    ours.iter().zip(theirs).enumerate().map(bit).fold(0, |bits, bit| bits | bit)
}

/// Collects leaves, given in order, into ranges.
#[derive(Debug)]
pub(crate) struct Runs {
    shape: Shape,
    ranges: Vec<PositionRange>,
    /// The first leaf of the open run, and the leaf after its last.
    open: Option<(usize, usize)>,
}

impl Runs {
    pub(crate) fn new(shape: Shape) -> Runs {
        Runs { shape, ranges: Vec::new(), open: None }
    }

    /// Adds the leaves from `first` up to but not including `end`, which follow all earlier ones.
    pub(crate) fn add(&mut self, first: usize, end: usize) {
        let before = self.open.map_or(0, |(_, end)| end);
        assert!(before <= first && first < end, "leaves are given in order: {first} to {end} after {before}");
        match &mut self.open {
            Some((_, open_end)) if *open_end == first => *open_end = end,
            _ => {
                self.close();
                self.open = Some((first, end));
            }
        }
    }

    /// Adds the leaves whose bits are set; bit 0 is leaf `first`.
    fn add_block(&mut self, first: usize, mut bits: u64) {
        let mut at = 0;
        while bits != 0 {
            let skipped = bits.trailing_zeros();
            at += skipped as usize;
            bits >>= skipped;
            let run = bits.trailing_ones();
            self.add(first + at, first + at + run as usize);
            at += run as usize;
            bits = bits.checked_shr(run).unwrap_or(0);
        }
    }

    pub(crate) fn finish(mut self) -> Vec<PositionRange> {
        self.close();
        self.ranges
    }

    fn close(&mut self) {
        if let Some((first, end)) = self.open.take() {
            self.ranges.push(self.shape.positions_of(first, end - 1));
        }
    }
}

/// The ranges of the marked leaves.
pub(crate) fn ranges_of(shape: Shape, marks: &Marks) -> Vec<PositionRange> {
    let mut runs = Runs::new(shape);
    for (word, bits) in marks.words().iter().enumerate() {
        runs.add_block(word * 64, *bits);
    }
    runs.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subspace;

    fn shape() -> Shape {
        Shape::new(Subspace::WHOLE, 1).expect("few leaves")
    }

    #[test]
    #[should_panic(expected = "trees differ somewhere if and only if their roots do")]
    fn a_root_that_differs_above_equal_leaves_breaks_a_law() {
        let (ours, theirs) = ([0, 3, 5, 6], [0, 4, 5, 6]);
        let _ = Settled::new(shape(), &ours).difference(&Settled::new(shape(), &theirs));
    }

    #[test]
    #[should_panic(expected = "leaves are given in order: 0 to 1 after 2")]
    fn leaves_out_of_order_break_a_law() {
        let mut runs = Runs::new(shape());
        runs.add(1, 2);
        runs.add(0, 1);
    }
}
