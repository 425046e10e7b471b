//! A group's sketch that can be split with the group, without reading any object.
//!
//! A cell is a sum over objects, so sketches can be merged; but a cell does not record which of its objects
//! lie in which half of a group, so one sketch cannot be split. A [`DividedSketch`] therefore holds one
//! sketch for each of the 2^s subtrees that s splits will produce. A write goes to the one sketch that covers
//! its position and costs what a write to one sketch costs. For an exchange the sketches are summed: the sum
//! is the sketch of all objects, cell by cell, so that the other side need not know the number of parts. A
//! split hands out halves of the parts, and a merge joins them.
//!
//! The price is memory: 2^s sketches, each with the cells that the whole group needs, since a sum has as many
//! cells as the shortest of its parts. A group that is split more than s times must rebuild its sketches from
//! its objects ([`ReshapeError::OneLeaf`]), as must one with a single part: s is the number of splits that
//! need no reading.

use crate::{ObjectId, Position, ReshapeError, Shape, Sketch, Subspace, TooManyLeaves, Version};

/// The sketches of a group's parts, in the order of positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DividedSketch {
    /// The shape whose leaves are the parts.
    shape: Shape,
    parts: Vec<Sketch>,
}

impl DividedSketch {
    /// The sketch of no objects, for a group that can be split `splits` times. Each part has `cells` cells,
    /// the most that an exchange may use.
    ///
    /// # Errors
    ///
    /// If the group has too few positions to be split that often.
    pub fn new(space: Subspace, splits: u8, cells: usize) -> Result<DividedSketch, TooManyLeaves> {
        let shape = Shape::new(space, splits)?;
        Ok(DividedSketch { shape, parts: vec![Sketch::new(cells); shape.leaves()] })
    }

    /// The positions of the group.
    #[must_use]
    pub fn space(&self) -> Subspace {
        self.shape.space()
    }

    /// How many times it can still be split.
    #[must_use]
    pub fn splits(&self) -> u8 {
        self.shape.leaf_bits()
    }

    /// Records that an object changed from one version to another; `None` means that the object does not
    /// exist.
    pub fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        self.parts[self.shape.leaf_of(Position::of_hash(hash))].update(hash, id, old, new);
    }

    /// The sketch of all objects, for comparison with another replica's.
    #[must_use]
    pub fn whole(&self) -> Sketch {
        self.law_of_parts();
        let (first, others) = self.parts.split_first().expect("a tree has at least one leaf");
        others.iter().fold(first.clone(), |sum, part| sum.merge(part))
    }

    /// The sketches of the two groups that result from a split: the lower half of the positions, then the
    /// upper half.
    ///
    /// # Errors
    ///
    /// If there is only one part: it cannot be split without its objects.
    pub fn split(&self) -> Result<(DividedSketch, DividedSketch), ReshapeError> {
        let splits = self.splits().checked_sub(1).ok_or(ReshapeError::OneLeaf)?;
        let (low, high) = self.space().halves().ok_or(ReshapeError::OneLeaf)?;
        self.law_of_parts();
        let half = |space, parts: &[Sketch]| {
            let shape = Shape::new(space, splits).expect("a half has half the parts");
            DividedSketch { shape, parts: parts.to_vec() }
        };
        let (below, above) = self.parts.split_at(self.parts.len() / 2);
        Ok((half(low, below), half(high, above)))
    }

    /// The sketch of the group that two are merged into; it can be split once more than each of them.
    ///
    /// # Errors
    ///
    /// If they are not the lower and the upper half of one space with equal numbers of parts, or have too
    /// many parts together.
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

    /// The same sketch for fewer splits, in less memory: neighbouring parts are summed.
    ///
    /// # Errors
    ///
    /// If `splits` exceeds the number of splits that are possible now.
    pub fn coarsened(&self, splits: u8) -> Result<DividedSketch, ReshapeError> {
        let have = self.splits();
        let not_coarser = ReshapeError::NotCoarser { have, asked: splits };
        let joined = 1 << have.checked_sub(splits).ok_or(not_coarser)?;
        let shape = Shape::new(self.space(), splits).expect("fewer parts than there are");
        let sum = |parts: &[Sketch]| parts[1..].iter().fold(parts[0].clone(), |sum, part| sum.merge(part));
        Ok(DividedSketch { shape, parts: self.parts.chunks_exact(joined).map(sum).collect() })
    }

    /// The memory in bytes for this many splits and cells.
    #[must_use]
    pub fn memory_bytes(splits: u8, cells: u64) -> u64 {
        Sketch::memory_bytes(cells) << splits
    }

    /// There is one part for each of the subtrees that the splits will produce.
    fn law_of_parts(&self) {
        let (parts, subtrees) = (self.parts.len(), self.shape.leaves());
        assert!(parts == subtrees, "a divided sketch has a part for each subtree: {parts} of {subtrees}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a divided sketch has a part for each subtree: 3 of 4")]
    fn a_part_that_is_missing_breaks_a_law() {
        let mut sketch = DividedSketch::new(Subspace::WHOLE, 2, 8).expect("few parts");
        sketch.parts.pop();
        let _ = sketch.whole();
    }
}
