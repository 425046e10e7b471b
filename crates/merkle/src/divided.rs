//! A group's sketch that can be split with its group, without reading an object.
//!
//! A cell is a sum over objects, so sketches merge; but no cell says which of its objects lie in which half
//! of a group, so one sketch cannot be split. Here a group has a sketch for each of the 2^s subtrees that s
//! splits will make of it. A write goes to the one sketch that its position is in and costs what it costs one
//! sketch. For an exchange they are summed up: that is the sketch of all objects, cell by cell, so that the
//! other side need not know how many parts there are. A split hands out halves of the parts, a merge puts
//! them together.
//!
//! The price is memory: 2^s sketches, each with the cells that the whole group needs, since a sum has as many
//! cells as the shortest of its parts. A group that is split more often than s times builds its sketches anew
//! from its objects ([`ReshapeError::OneLeaf`]), as does one without parts: s is the number of splits that
//! are to cost nothing.

use crate::{ObjectId, Position, ReshapeError, Shape, Sketch, Subspace, TooManyLeaves, Version};

/// Sketches of a group's parts, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DividedSketch {
    /// Its leaves are the parts.
    shape: Shape,
    parts: Vec<Sketch>,
}

impl DividedSketch {
    /// Of no objects, for a group that can be split `splits` times; each part has as many cells as an
    /// exchange may take.
    ///
    /// # Errors
    ///
    /// Where the group has too few positions to be split so often.
    pub fn new(space: Subspace, splits: u8, cells: usize) -> Result<DividedSketch, TooManyLeaves> {
        let shape = Shape::new(space, splits)?;
        Ok(DividedSketch { shape, parts: vec![Sketch::new(cells); shape.leaves()] })
    }

    /// Its group.
    #[must_use]
    pub fn space(&self) -> Subspace {
        self.shape.space()
    }

    /// How often it can still be split.
    #[must_use]
    pub fn splits(&self) -> u8 {
        self.shape.leaf_bits()
    }

    /// An object went from one version to another; no version is an object that does not exist.
    pub fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        self.parts[self.shape.leaf_of(Position::of_hash(hash))].update(hash, id, old, new);
    }

    /// The sketch of all objects, to be compared with another's.
    #[must_use]
    pub fn whole(&self) -> Sketch {
        let (first, others) = self.parts.split_first().expect("a tree has at least one leaf");
        others.iter().fold(first.clone(), |sum, part| sum.merge(part))
    }

    /// The sketches of the two groups that this one is split into: of the lower half of its positions, and of
    /// the upper.
    ///
    /// # Errors
    ///
    /// Where there is one part: it cannot be split without its objects.
    pub fn split(&self) -> Result<(DividedSketch, DividedSketch), ReshapeError> {
        let splits = self.splits().checked_sub(1).ok_or(ReshapeError::OneLeaf)?;
        let (low, high) = self.space().halves().ok_or(ReshapeError::OneLeaf)?;
        let half = |space, parts: &[Sketch]| {
            let shape = Shape::new(space, splits).expect("a half has half the parts");
            DividedSketch { shape, parts: parts.to_vec() }
        };
        let (below, above) = self.parts.split_at(self.parts.len() / 2);
        Ok((half(low, below), half(high, above)))
    }

    /// The sketches of the group that two are merged into, which can be split once more than they could.
    ///
    /// # Errors
    ///
    /// Where they are not the lower and the upper half of one space in as many parts, or have too many parts
    /// together.
    pub fn merge(low: &DividedSketch, high: &DividedSketch) -> Result<DividedSketch, ReshapeError> {
        let error = ReshapeError::NotHalves { low: low.shape, high: high.shape };
        let space = low.space().parent().ok_or(error)?;
        let are_halves = space.halves() == Some((low.space(), high.space()));
        if !are_halves || low.splits() != high.splits() {
            return Err(error);
        }
        let leaf_bits = low.splits() + 1;
        let shape = Shape::new(space, leaf_bits).map_err(|_| ReshapeError::TooManyLeaves { leaf_bits })?;
        Ok(DividedSketch { shape, parts: [low.parts.as_slice(), &high.parts].concat() })
    }

    /// The same for fewer splits, in less memory: neighbours are summed up.
    ///
    /// # Errors
    ///
    /// Where it cannot be split so often now.
    pub fn coarsened(&self, splits: u8) -> Result<DividedSketch, ReshapeError> {
        let have = self.splits();
        let not_coarser = ReshapeError::NotCoarser { have, asked: splits };
        let joined = 1 << have.checked_sub(splits).ok_or(not_coarser)?;
        let shape = Shape::new(self.space(), splits).expect("fewer parts than there are");
        let sum = |parts: &[Sketch]| parts[1..].iter().fold(parts[0].clone(), |sum, part| sum.merge(part));
        Ok(DividedSketch { shape, parts: self.parts.chunks_exact(joined).map(sum).collect() })
    }

    /// What it takes in memory, for so many splits and cells.
    #[must_use]
    pub fn memory_bytes(splits: u8, cells: u64) -> u64 {
        Sketch::memory_bytes(cells) << splits
    }
}
