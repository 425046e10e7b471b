//! Images and records of trees and of sketches restore what was written, with the records cut at any byte.

use std::fmt::Debug;

use proptest::prelude::*;
use towtank_merkle::{
    ObjectId, Restorable, RestoreError, Saver, Shape, Sketch, Subspace, Tree, Version, restore,
};

use super::oracle::{Kept, Objects, Step, steps};

fn tree(leaf_bits: u8) -> Tree {
    Tree::new(Shape::new(Subspace::WHOLE, leaf_bits).expect("few enough leaves"))
}

/// An image, the records of each batch of steps, and the states of the tree or sketch after each batch.
struct Written<T> {
    image: Vec<u8>,
    records: Vec<Vec<u8>>,
    states: Vec<T>,
}

fn write<T: Restorable + Kept + Clone>(mut kept: T, before: &[Step], batches: &[Vec<Step>]) -> Written<T> {
    let mut objects = Objects::default();
    objects.run(before, &mut kept);
    let (mut saver, image) = Saver::image(&mut kept);
    let mut written = Written { image, records: Vec::new(), states: vec![kept.clone()] };
    for batch in batches {
        objects.run(batch, &mut kept);
        if let Some(record) = saver.record(&mut kept) {
            written.records.push(record);
            written.states.push(kept.clone());
        }
        assert!(saver.record(&mut kept).is_none(), "all was saved");
    }
    written
}

/// Whether records cut at any byte restore the state as of the last whole record.
fn survives_every_cut<T: PartialEq>(
    written: &Written<T>,
    restore: impl Fn(&[u8], &[u8]) -> Option<T>,
) -> bool {
    let all: Vec<u8> = written.records.concat();
    let mut ends = vec![0];
    ends.extend(written.records.iter().scan(0, |end, record| {
        *end += record.len();
        Some(*end)
    }));
    (0..=all.len()).all(|cut| {
        let whole = ends.iter().rposition(|end| *end <= cut).expect("0 is among them");
        restore(&written.image, &all[..cut]).is_some_and(|state| state == written.states[whole])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_cut_at_any_byte_loses_the_last_record_alone(
        before in steps(40),
        batches in prop::collection::vec(steps(12), 0..6),
        leaf_bits in 0..7_u8,
    ) {
        let written = write(tree(leaf_bits), &before, &batches);
        prop_assert!(survives_every_cut(&written, |image, records| Some(restore(image, records).ok()?.state)));
        let written = write(Sketch::new(1 << leaf_bits), &before, &batches);
        prop_assert!(survives_every_cut(&written, |image, records| Some(restore(image, records).ok()?.state)));
    }

    #[test]
    fn a_torn_tail_is_reported_and_written_over(
        batches in prop::collection::vec(steps(12), 1..6),
        torn in prop::collection::vec(any::<u8>(), 1..60),
        more in steps(12),
    ) {
        goes_on_behind_a_torn_tail(tree(5), &batches, &torn, &more);
        goes_on_behind_a_torn_tail(Sketch::new(30), &batches, &torn, &more);
    }

    #[test]
    fn a_changed_byte_is_never_taken_for_the_truth(
        before in steps(40),
        batches in prop::collection::vec(steps(12), 1..6),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let written = write(tree(4), &before, &batches);
        let mut records = written.records.concat();
        prop_assume!(!records.is_empty());
        let place = at.index(records.len());
        records[place] ^= flip;
        let of_last = records.len() - written.records.last().map_or(0, Vec::len);
        match restore::<Tree>(&written.image, &records) {
            // A damaged last record is treated like a torn one.
            Ok(restored) => {
                prop_assert!(place >= of_last, "damage at {} of {} was taken for a torn end", place, records.len());
                prop_assert_eq!(&restored.state, &written.states[written.records.len() - 1]);
            }
            Err(error) => {
                let is_reported = matches!(error, RestoreError::Damaged { at } if at <= place);
                prop_assert!(is_reported, "{:?}", error);
            }
        }
        let mut image = written.image.clone();
        let place = at.index(image.len());
        image[place] ^= flip;
        let error = restore::<Tree>(&image, &[]).expect_err("the image is damaged");
        prop_assert!(matches!(error, RestoreError::Image(_)));
    }
}

/// Restores from records with a torn end, and appends a record where the torn one began.
fn goes_on_behind_a_torn_tail<T: Restorable + Kept + Clone + PartialEq + Debug>(
    new: T,
    batches: &[Vec<Step>],
    torn: &[u8],
    more: &[Step],
) {
    let written = write(new, &[], batches);
    let sound = written.records.concat();
    let restored = restore::<T>(&written.image, &[&sound, torn].concat()).expect("it is only torn");
    assert_eq!((restored.record_bytes, restored.torn_bytes), (sound.len(), torn.len()));
    assert_eq!(restored.records, written.records.len() as u64);
    let (mut state, mut saver, mut records) = (restored.state, restored.saver, sound);
    Objects::default().run(more, &mut state);
    records.extend(saver.record(&mut state).unwrap_or_default());
    let again = restore::<T>(&written.image, &records).expect("all is whole");
    assert_eq!((again.state, again.torn_bytes), (state, 0));
}

fn step(hash: u32, version: u64) -> Step {
    Step { hash, id: ObjectId(1), new: Some(Version(version)) }
}

#[test]
fn a_planted_reader_that_trusts_a_torn_record_is_noticed() {
    let written = write(tree(4), &[], &[vec![step(1, 1)], vec![step(2, 1), step(3, 1)]]);
    assert!(survives_every_cut(&written, |image, records| Some(restore(image, records).ok()?.state)));
    // A wrong restore that rejects everything if the end is missing.
    let strict = |image: &[u8], records: &[u8]| {
        let restored = restore::<Tree>(image, records).ok()?;
        (restored.torn_bytes == 0).then_some(restored.state)
    };
    assert!(!survives_every_cut(&written, strict));
    // A wrong restore that drops the last record although it is whole.
    let timid = |image: &[u8], records: &[u8]| {
        Some(restore::<Tree>(image, &records[..records.len().saturating_sub(1)]).ok()?.state)
    };
    assert!(!survives_every_cut(&written, timid));
}

#[test]
fn records_of_another_image_or_out_of_order_are_refused() {
    let one = write(tree(4), &[], &[vec![step(1, 1)], vec![step(2, 1)]]);
    let other = write(tree(4), &[step(9, 1)], &[vec![step(1, 1)]]);
    let error = |records: &[u8]| restore::<Tree>(&one.image, records).expect_err("it does not follow");
    assert_eq!(error(&other.records[0]), RestoreError::OutOfOrder { at: 0 });
    assert_eq!(error(&one.records[1]), RestoreError::OutOfOrder { at: 0 });
    assert_eq!(
        error(&[&one.records[0][..20], &one.records[1]].concat()).to_string(),
        "the records are damaged at byte 0, but valid ones follow: rebuild it from the objects"
    );
    // A reused file may hold records of a former image after a torn one.
    let reused = [&one.records[0][..20], &other.records[0]].concat();
    let restored = restore::<Tree>(&one.image, &reused).expect("they are not ours");
    assert_eq!((restored.records, restored.torn_bytes), (0, reused.len()));
}

#[test]
fn nothing_new_writes_no_record() {
    let mut tree = tree(3);
    let (mut saver, image) = Saver::image(&mut tree);
    assert_eq!((saver.record(&mut tree), tree.unsaved_leaves()), (None, 0));
    assert_eq!(restore::<Tree>(&image, &[]).expect("an image alone").state, tree);
    assert!(restore::<Sketch>(&image, &[]).is_err(), "a tree is no sketch");
}
