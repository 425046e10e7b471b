//! Splitting and merging placement groups, and coarsening trees, without reading any object.
//!
//! A group's tree is a subtree of its pool's tree, so a split hands out the two halves of the leaves and a
//! merge joins them. A leaf is the XOR of the digests of its objects, so two neighbouring leaves become one
//! by XOR. The time is linear in the number of leaves. Sketches are split by parts
//! ([`DividedSketch`](crate::DividedSketch)). A finer tree cannot be derived this way: its leaves depend on
//! the objects.

use crate::{Shape, Tree};

/// Why trees cannot be split, merged or coarsened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReshapeError {
    /// A tree of one leaf, or a sketch of one part.
    #[error(
        "a tree of one leaf, or a sketch of one part, cannot be split: give the pool more leaves or parts first"
    )]
    OneLeaf,
    /// Two trees that are not the two halves of one space.
    #[error("{low} and {high} are not two halves of one space with equal leaves: give the lower half first")]
    NotHalves {
        /// The shape passed as the lower half.
        low: Shape,
        /// The shape passed as the upper half.
        high: Shape,
    },
    /// The merged tree would have more leaves than a tree may have.
    #[error("the merged tree would have 2^{leaf_bits} leaves, but the limit is 2^24: coarsen both first")]
    TooManyLeaves {
        /// The base-2 logarithm of the number of leaves of the merged tree.
        leaf_bits: u8,
    },
    /// The tree has fewer leaves than requested.
    #[error("a tree of 2^{have} leaves cannot be coarsened to 2^{asked}")]
    NotCoarser {
        /// The base-2 logarithm of the number of leaves of the tree.
        have: u8,
        /// The logarithm requested.
        asked: u8,
    },
}

impl Tree {
    /// The trees of the two groups that result from a split: the lower half of the positions (the group that
    /// keeps its number) and the upper half (the new group).
    ///
    /// # Errors
    ///
    /// If the tree is a single leaf.
    pub fn split(&self) -> Result<(Tree, Tree), ReshapeError> {
        let leaf_bits = self.shape().leaf_bits().checked_sub(1).ok_or(ReshapeError::OneLeaf)?;
        let (low, high) = self.shape().space().halves().ok_or(ReshapeError::OneLeaf)?;
        let half = |space, leaves: &[u64]| {
            let shape =
                Shape::new(space, leaf_bits).expect("a half has half the leaves in half the positions");
            Tree::of_leaves(shape, leaves.iter().copied())
        };
        let (below, above) = self.leaves().split_at(self.shape().leaves() / 2);
        Ok((half(low, below), half(high, above)))
    }

    /// The tree of the group that two are merged into.
    ///
    /// # Errors
    ///
    /// If they are not the lower and the upper half of one space with equal numbers of leaves, or have too
    /// many leaves together.
    pub fn merge(low: &Tree, high: &Tree) -> Result<Tree, ReshapeError> {
        let error = ReshapeError::NotHalves { low: low.shape(), high: high.shape() };
        let leaf_bits = low.shape().leaf_bits();
        let space = low.shape().space().parent().ok_or(error)?;
        let are_halves = space.halves() == Some((low.shape().space(), high.shape().space()));
        if !are_halves || high.shape().leaf_bits() != leaf_bits {
            return Err(error);
        }
        let too_many = |_| ReshapeError::TooManyLeaves { leaf_bits: leaf_bits + 1 };
        let shape = Shape::new(space, leaf_bits + 1).map_err(too_many)?;
        let mut leaves = low.leaves().to_vec();
        leaves.extend_from_slice(high.leaves());
        Ok(Tree::of_leaves(shape, leaves.into_iter()))
    }

    /// A tree of the same objects with fewer leaves.
    ///
    /// # Errors
    ///
    /// If `leaf_bits` exceeds that of the tree.
    pub fn coarsened(&self, leaf_bits: u8) -> Result<Tree, ReshapeError> {
        let have = self.shape().leaf_bits();
        let not_coarser = ReshapeError::NotCoarser { have, asked: leaf_bits };
        let joined = 1 << have.checked_sub(leaf_bits).ok_or(not_coarser)?;
        let shape = Shape::new(self.shape().space(), leaf_bits).expect("fewer leaves than there are");
        let xor = |leaves: &[u64]| leaves.iter().fold(0, |all, leaf| all ^ leaf);
        Ok(Tree::of_leaves(shape, self.leaves().chunks_exact(joined).map(xor)))
    }
}
