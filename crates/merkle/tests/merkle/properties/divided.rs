//! Compares sketches that are split and merged with their groups to sketches built from each group's objects.

use proptest::prelude::*;
use towtank_merkle::{DividedSketch, ObjectId, ReshapeError, Shape, Sketch, Subspace, Version};

use super::oracle::{Kept, Objects, Step, steps};

const CELLS: usize = 40;

impl Kept for DividedSketch {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        DividedSketch::update(self, hash, id, old, new);
    }
}

fn empty(space: Subspace, splits: u8) -> DividedSketch {
    DividedSketch::new(space, splits, CELLS).expect("few parts")
}

/// The sketch built from the objects within a space.
fn rebuilt(objects: &Objects, space: Subspace, splits: u8) -> DividedSketch {
    let mut anew = empty(space, splits);
    let shape = Shape::new(space, 0).expect("one leaf");
    objects.within(shape).for_each(|object| anew.update(object.hash, object.id, None, Some(object.version)));
    anew
}

fn plain(objects: &Objects, space: Subspace) -> Sketch {
    let mut sketch = Sketch::new(CELLS);
    let shape = Shape::new(space, 0).expect("one leaf");
    objects
        .within(shape)
        .for_each(|object| sketch.update(object.hash, object.id, None, Some(object.version)));
    sketch
}

/// Checks all recursive halves, down to single parts.
fn all_halves_are_rebuilt(sketch: &DividedSketch, objects: &Objects) -> bool {
    let is_rebuilt = *sketch == rebuilt(objects, sketch.space(), sketch.splits())
        && sketch.whole() == plain(objects, sketch.space());
    match sketch.split() {
        Ok((low, high)) => {
            is_rebuilt
                && DividedSketch::merge(&low, &high).as_ref() == Ok(sketch)
                && all_halves_are_rebuilt(&low, objects)
                && all_halves_are_rebuilt(&high, objects)
        }
        Err(error) => is_rebuilt && error == ReshapeError::OneLeaf && sketch.splits() == 0,
    }
}

fn after(steps: &[Step], splits: u8) -> (DividedSketch, Objects) {
    let (mut sketch, mut objects) = (empty(Subspace::WHOLE, splits), Objects::default());
    objects.run(steps, &mut sketch);
    (sketch, objects)
}

proptest! {
    #[test]
    fn splits_and_merges_are_rebuilding(steps in steps(120), splits in 0..5_u8) {
        let (sketch, objects) = after(&steps, splits);
        prop_assert!(all_halves_are_rebuilt(&sketch, &objects));
        for fewer in 0..=splits {
            prop_assert_eq!(sketch.coarsened(fewer), Ok(rebuilt(&objects, Subspace::WHOLE, fewer)));
        }
    }

    /// Writes continue after a group was split, and then the halves are merged.
    #[test]
    fn writes_go_on_after_a_split(before in steps(60), later in steps(60)) {
        let (sketch, mut objects) = after(&before, 2);
        let (mut low, mut high) = sketch.split().expect("it has parts");
        let mut halves = Halves { low: &mut low, high: &mut high };
        objects.run(&later, &mut halves);
        let merged = DividedSketch::merge(&low, &high).expect("they are halves");
        prop_assert_eq!(merged, rebuilt(&objects, Subspace::WHOLE, 2));
    }
}

struct Halves<'a> {
    low: &'a mut DividedSketch,
    high: &'a mut DividedSketch,
}

impl Kept for Halves<'_> {
    fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        let at = towtank_merkle::Position::of_hash(hash);
        let half = if self.low.space().contains(at) { &mut self.low } else { &mut self.high };
        half.update(hash, id, old, new);
    }
}

/// A wrong split: one sketch for all parts, of which each half gets a copy.
#[test]
fn a_split_that_copies_is_noticed() {
    let objects: Vec<Step> = (0..20_u32)
        .map(|number| Step {
            hash: number.wrapping_mul(0x9e37_79b9),
            id: ObjectId(number.into()),
            new: Some(Version(1)),
        })
        .collect();
    let (sketch, objects) = after(&objects, 1);
    assert!(all_halves_are_rebuilt(&sketch, &objects));
    let (low, _) = sketch.split().expect("it has parts");
    assert_ne!(sketch.whole(), plain(&objects, low.space()));
}

#[test]
fn what_cannot_be_split_or_merged_is_refused() {
    let one = empty(Subspace::WHOLE, 0);
    assert_eq!(one.split().expect_err("one part"), ReshapeError::OneLeaf);
    let (low, high) = empty(Subspace::WHOLE, 2).split().expect("it has parts");
    assert!(matches!(DividedSketch::merge(&high, &low), Err(ReshapeError::NotHalves { .. })));
    assert!(matches!(DividedSketch::merge(&one, &one), Err(ReshapeError::NotHalves { .. })));
    let coarser = low.coarsened(0).expect("fewer parts");
    assert!(matches!(DividedSketch::merge(&coarser, &high), Err(ReshapeError::NotHalves { .. })));
    assert_eq!(low.coarsened(2), Err(ReshapeError::NotCoarser { have: 1, asked: 2 }));
    assert_eq!(DividedSketch::memory_bytes(3, 1_000), 8 * Sketch::memory_bytes(1_000));
}
