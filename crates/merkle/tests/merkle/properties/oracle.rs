//! A model of a group's contents as a map: slow, and simple enough to be obviously right.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use towtank_merkle::rebuilt::{Object, rebuild};
use towtank_merkle::{ObjectId, Position, PositionRange, Shape, Sketch, Tree, Version};

/// The objects of a group: hash and id to version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    pub versions: BTreeMap<(u32, ObjectId), Version>,
}

/// A write or deletion of an object.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub hash: u32,
    pub id: ObjectId,
    pub new: Option<Version>,
}

/// Anything updated by changes: a tree, a sketch, or one with a planted mistake.
pub trait Kept {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>);
}

impl Kept for Tree {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        Tree::update(self, hash, id, old, new);
    }
}

impl Kept for Sketch {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        Sketch::update(self, hash, id, old, new);
    }
}

impl Objects {
    /// Applies the steps, and passes each to `kept`.
    pub fn run(&mut self, steps: &[Step], kept: &mut impl Kept) {
        for step in steps {
            let place = (step.hash, step.id);
            let old = match step.new {
                Some(version) => self.versions.insert(place, version),
                None => self.versions.remove(&place),
            };
            kept.update(step.hash, step.id, old, step.new);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Object> + '_ {
        self.versions.iter().map(|((hash, id), version)| Object { hash: *hash, id: *id, version: *version })
    }

    /// The objects within a shape's space.
    pub fn within(&self, shape: Shape) -> impl Iterator<Item = Object> + '_ {
        self.iter().filter(move |object| shape.space().contains(Position::of_hash(object.hash)))
    }

    /// The tree of all objects that the shape covers, built from scratch.
    pub fn tree(&self, shape: Shape) -> Tree {
        rebuild(shape, self.within(shape)).tree
    }

    /// The objects whose versions differ in `other`, with both versions.
    pub fn differing(
        &self,
        other: &Objects,
    ) -> BTreeMap<(u32, ObjectId), (Option<Version>, Option<Version>)> {
        let places: BTreeSet<_> = self.versions.keys().chain(other.versions.keys()).collect();
        let both =
            |place: &(u32, ObjectId)| (self.versions.get(place).copied(), other.versions.get(place).copied());
        let differing = places.into_iter().filter(|place| both(place).0 != both(place).1);
        differing.map(|place| (*place, both(place))).collect()
    }
}

/// The ranges of these leaves, merged one leaf at a time.
pub fn merged(shape: Shape, leaves: impl IntoIterator<Item = usize>) -> Vec<PositionRange> {
    let mut ranges: Vec<PositionRange> = Vec::new();
    for leaf in leaves {
        let range = shape.positions_of(leaf, leaf);
        match ranges.last_mut() {
            Some(last) if u64::from(last.last.0) + 1 == u64::from(range.first.0) => last.last = range.last,
            _ => ranges.push(range),
        }
    }
    ranges
}

/// The difference leaf by leaf, by brute force.
pub fn difference(ours: &Tree, theirs: &Tree) -> Vec<PositionRange> {
    let differs = |leaf: &usize| ours.leaves()[*leaf] != theirs.leaves()[*leaf];
    merged(ours.shape(), (0..ours.shape().leaves()).filter(differs))
}

/// Steps on few objects, so that they collide: some share a hash, some share an id.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..24_u32, 0..3_u64, prop::option::weighted(0.7, 1..5_u64)).prop_map(|(hash, id, new)| {
        Step { hash: hash.wrapping_mul(0x9e37_79b9), id: ObjectId(id), new: new.map(Version) }
    });
    prop::collection::vec(step, 0..most)
}

/// Many objects, each in version 1.
pub fn many(objects: u32, salt: u64) -> Objects {
    let object = |number: u32| {
        let id = ObjectId::of_name(&(u64::from(number) | salt << 32).to_le_bytes());
        ((id.0 as u32, id), Version(1))
    };
    Objects { versions: (0..objects).map(object).collect() }
}
