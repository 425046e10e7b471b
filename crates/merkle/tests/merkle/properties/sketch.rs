//! Compares sketches with the difference of sets, and checks the number of cells needed.

use proptest::prelude::*;
use towtank_merkle::cost::cells_per_difference;
use towtank_merkle::{Cell, Decoder, Held, ObjectId, Outcome, Position, Sketch, Version};

use super::oracle::{Kept, Objects, many, steps};

/// The sketch of the objects, built from scratch.
fn sketch_of(objects: &Objects, cells: usize) -> Sketch {
    let mut sketch = Sketch::new(cells);
    objects.iter().for_each(|object| sketch.update(object.hash, object.id, None, Some(object.version)));
    sketch
}

fn decode(ours: &Sketch, theirs: &Sketch) -> Decoder {
    let mut decoder = Decoder::new();
    decoder.extend(ours.cells(), theirs.cells());
    decoder
}

/// Whether a decoder found exactly the objects that differ, with the versions of both sides.
fn names_exactly(decoder: &Decoder, ours: &Objects, theirs: &Objects) -> bool {
    let mut want = ours.differing(theirs);
    let objects = decoder.objects();
    let is_right = objects.iter().all(|object| {
        let Some((our_version, their_version)) = want.remove(&(object.hash, object.id)) else { return false };
        let is_of_the_right_kind = match object.held {
            Held::ByUs(version) => our_version == Some(version),
            Held::ByThem(version) => our_version.is_none() && their_version == Some(version),
            Held::ByBoth { .. } => our_version.is_some(),
        };
        is_of_the_right_kind && object.held.theirs(our_version) == their_version
    });
    is_right && want.is_empty() && objects.is_sorted_by_key(|it| (Position::of_hash(it.hash), it.id))
}

proptest! {
    #[test]
    fn it_names_what_differs(left in steps(80), right in steps(80)) {
        let (mut ours, mut theirs) = (Objects::default(), Objects::default());
        let (mut our_sketch, mut their_sketch) = (Sketch::new(1_500), Sketch::new(1_500));
        ours.run(&left, &mut our_sketch);
        theirs.run(&right, &mut their_sketch);
        prop_assert_eq!(&our_sketch, &sketch_of(&ours, 1_500), "kept up to date, it is the rebuilt one");
        let decoder = decode(&our_sketch, &their_sketch);
        prop_assert_eq!(decoder.outcome(), Outcome::Complete);
        prop_assert!(names_exactly(&decoder, &ours, &theirs));
    }

    #[test]
    fn cells_may_come_in_any_portions(seed in 0..1000_u64, portions in prop::collection::vec(1..90_usize, 30)) {
        let (ours, mut theirs) = (many(400, seed), many(400, seed));
        theirs.versions.values_mut().step_by(5).for_each(|version| version.0 += 1);
        let (our_sketch, their_sketch) = (sketch_of(&ours, 1_000), sketch_of(&theirs, 1_000));
        let mut decoder = Decoder::new();
        for portion in portions {
            if decoder.outcome() == Outcome::Complete {
                break;
            }
            let from = decoder.cells();
            let end = (from + portion).min(1_000);
            decoder.extend(&our_sketch.cells()[from..end], &their_sketch.cells()[from..end]);
        }
        if decoder.outcome() == Outcome::Complete {
            prop_assert!(names_exactly(&decoder, &ours, &theirs));
        } else {
            prop_assert!(decoder.cells() < 400, "{} cells were not enough for 80 objects", decoder.cells());
        }
    }

    #[test]
    fn merged_sketches_are_those_of_all_objects(left in 0..50_u64, right in 50..100_u64) {
        let (ours, theirs) = (many(60, left), many(60, right));
        let mut all = ours.clone();
        all.versions.extend(&theirs.versions);
        prop_assert_eq!(sketch_of(&ours, 90).merge(&sketch_of(&theirs, 70)), sketch_of(&all, 70));
    }

    #[test]
    fn cells_that_contradict_each_other_end_it(seed in any::<u64>(), spoiled in 0..40_usize) {
        // The cell of one object, and zeros where the object should be as well.
        let mut one = Sketch::new(40);
        one.update(seed as u32, ObjectId(seed), None, Some(Version(seed)));
        let mut cells = one.cells().to_vec();
        cells.iter_mut().skip(1).for_each(|cell| *cell = Cell::default());
        cells[spoiled] = one.cells()[0];
        let mut decoder = Decoder::new();
        decoder.extend(&cells, &vec![Cell::default(); 40]);
        // If the object is in exactly these cells, they are valid.
        prop_assert_eq!(decoder.outcome() == Outcome::Complete, cells == one.cells());
    }

    #[test]
    fn an_object_in_a_cell_that_is_not_its_own_is_not_named(seed in any::<u64>(), at in 0..40_usize) {
        let (ours, theirs) = (many(12, seed & 0xffff), many(12, seed >> 48 | 1 << 17));
        let (our_sketch, their_sketch) = (sketch_of(&ours, 600), sketch_of(&theirs, 600));
        let mut one = Sketch::new(600);
        one.update(seed as u32, ObjectId(seed), None, Some(Version(seed)));
        prop_assume!(one.cells()[at] == Cell::default());
        // An event that chance would cause once in 2^26 sums: one cell seems to hold the object alone.
        let mut cells = vec![Cell::default(); 600];
        cells[at] = one.cells()[0];
        let mut decoder = Decoder::new();
        decoder.extend(&cells, &[Cell::default(); 600]);
        prop_assert_eq!((decoder.outcome(), decoder.objects()), (Outcome::NeedsMore, vec![]));
        // Among other differences, nothing else is named either.
        let mut cells = our_sketch.cells().to_vec();
        cells[at] = one.cells()[0];
        let mut their_cells = their_sketch.cells().to_vec();
        their_cells[at] = Cell::default();
        let mut decoder = Decoder::new();
        decoder.extend(&cells, &their_cells);
        prop_assert!(decoder.outcome() != Outcome::Complete);
        let want = ours.differing(&theirs);
        prop_assert!(decoder.objects().iter().all(|object| want.contains_key(&(object.hash, object.id))));
    }
}

/// A planted mistake: the old version stays in its cells.
struct DoesNotRemove(Sketch);

impl Kept for DoesNotRemove {
    fn update(&mut self, hash: u32, id: ObjectId, _: Option<Version>, new: Option<Version>) {
        self.0.update(hash, id, None, new);
    }
}

#[test]
fn a_planted_sketch_that_does_not_remove_is_noticed() {
    let step = |new: u64| super::oracle::Step { hash: 5, id: ObjectId(6), new: Some(Version(new)) };
    let (mut objects, mut planted) = (Objects::default(), DoesNotRemove(Sketch::new(60)));
    objects.run(&[step(1), step(2)], &mut planted);
    let right = sketch_of(&objects, 60);
    assert!(names_exactly(&decode(&right, &right), &objects, &objects));
    assert!(!names_exactly(&decode(&planted.0, &right), &objects, &objects));
}

#[test]
fn a_planted_decoder_that_stops_early_is_noticed() {
    let (ours, theirs) = (many(300, 1), many(300, 2));
    let (our_sketch, their_sketch) = (sketch_of(&ours, 1_200), sketch_of(&theirs, 1_200));
    assert!(names_exactly(&decode(&our_sketch, &their_sketch), &ours, &theirs));
    let mut early = Decoder::new();
    early.extend(&our_sketch.cells()[..700], &their_sketch.cells()[..700]);
    assert_eq!(early.outcome(), Outcome::NeedsMore);
    assert!(!names_exactly(&early, &ours, &theirs));
}

/// The number of cells that a decoder takes, in steps of a two-hundredth, for objects whose version differs.
fn cells_taken(differing: u32, salt: u64) -> usize {
    let cells = 3 * differing as usize + 600;
    let ours = many(differing, salt);
    let mut theirs = ours.clone();
    theirs.versions.values_mut().for_each(|version| version.0 += 1);
    let (our_sketch, their_sketch) = (sketch_of(&ours, cells), sketch_of(&theirs, cells));
    let mut decoder = Decoder::new();
    let step = (differing as usize / 200).max(1);
    while decoder.outcome() != Outcome::Complete {
        let from = decoder.cells();
        let end = (from + step).min(cells);
        assert!(end > from, "{cells} cells are not enough for {differing} objects");
        decoder.extend(&our_sketch.cells()[from..end], &their_sketch.cells()[from..end]);
    }
    assert_eq!(decoder.objects().len(), differing as usize);
    decoder.cells()
}

/// At most 64 bytes per object whose version differs, on average over sketches.
#[test]
fn cells_stay_within_64_bytes_an_object() {
    for differing in [1, 2, 3, 4, 5, 6, 8, 10, 16, 32, 64, 100, 300, 1_000, 3_000, 10_000, 100_000] {
        let rounds = (8_000 / differing).clamp(1, 1_000);
        let cells: usize = (0..rounds).map(|round| cells_taken(differing, u64::from(round))).sum();
        let ratio = cells as f64 / f64::from(rounds * differing);
        let bytes = ratio * Cell::BYTES as f64;
        assert!(bytes <= 60.0, "{differing} objects: {bytes:.1} bytes each");
        let expected = cells_per_difference(f64::from(differing));
        assert!(
            (ratio / expected - 1.0).abs() < 0.06,
            "{differing} objects: {ratio:.3} cells, not {expected:.3}"
        );
    }
}

/// What a thesis group's sketch takes: 32 bytes a cell, 8 bytes of marks for each 64 cells begun, and the
/// two heads.
#[test]
fn the_memory_of_a_sketch_is_that_of_its_cells_and_their_marks() {
    let head = size_of::<Sketch>() as u64;
    assert_eq!(
        [0, 1, 64, 65, 1_000].map(|cells| Sketch::memory_bytes(cells) - head),
        [0, 32 + 8, 64 * 32 + 8, 65 * 32 + 16, 32_000 + 128]
    );
}
