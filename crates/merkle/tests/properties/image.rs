//! Images and records: what was written comes back, with the records cut at any byte.

use proptest::prelude::*;
use towtank_merkle::{RestoreError, Saver, Shape, Subspace, Tree, restore};

use crate::oracle::{Objects, Step, steps};

fn shape(leaf_bits: u8) -> Shape {
    Shape::new(Subspace::WHOLE, leaf_bits).expect("few enough leaves")
}

/// An image, the records of each batch of steps, and the trees as they were after each.
struct Written {
    image: Vec<u8>,
    records: Vec<Vec<u8>>,
    states: Vec<Tree>,
}

fn write(leaf_bits: u8, before: &[Step], batches: &[Vec<Step>]) -> Written {
    let (mut tree, mut objects) = (Tree::new(shape(leaf_bits)), Objects::default());
    objects.run(before, &mut tree);
    let (mut saver, image) = Saver::image(&mut tree);
    let mut written = Written { image, records: Vec::new(), states: vec![tree.clone()] };
    for batch in batches {
        objects.run(batch, &mut tree);
        if let Some(record) = saver.record(&mut tree) {
            written.records.push(record);
            written.states.push(tree.clone());
        }
        assert_eq!(tree.unsaved_leaves(), 0);
    }
    written
}

/// Whether records that were cut anywhere give the state as of the last whole one.
fn survives_every_cut(written: &Written, restore: impl Fn(&[u8], &[u8]) -> Option<Tree>) -> bool {
    let all: Vec<u8> = written.records.concat();
    let mut ends = vec![0];
    ends.extend(written.records.iter().scan(0, |end, record| {
        *end += record.len();
        Some(*end)
    }));
    (0..=all.len()).all(|cut| {
        let whole = ends.iter().rposition(|end| *end <= cut).expect("0 is among them");
        restore(&written.image, &all[..cut]).is_some_and(|tree| tree == written.states[whole])
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
        let written = write(leaf_bits, &before, &batches);
        prop_assert!(survives_every_cut(&written, |image, records| Some(restore(image, records).ok()?.tree)));
    }

    #[test]
    fn a_torn_tail_is_told_and_written_over(
        batches in prop::collection::vec(steps(12), 1..6),
        torn in prop::collection::vec(any::<u8>(), 1..60),
        more in steps(12),
    ) {
        let written = write(5, &[], &batches);
        let sound = written.records.concat();
        let restored = restore(&written.image, &[sound.clone(), torn.clone()].concat()).expect("it is only torn");
        prop_assert_eq!((restored.record_bytes, restored.torn_bytes), (sound.len(), torn.len()));
        prop_assert_eq!(restored.records, written.records.len() as u64);
        // The saver goes on behind the last whole record.
        let (mut tree, mut saver, mut records) = (restored.tree, restored.saver, sound);
        Objects::default().run(&more, &mut tree);
        records.extend(saver.record(&mut tree).unwrap_or_default());
        let again = restore(&written.image, &records).expect("all is whole");
        prop_assert_eq!((again.tree, again.torn_bytes), (tree, 0));
    }

    #[test]
    fn a_changed_byte_is_never_taken_for_the_truth(
        before in steps(40),
        batches in prop::collection::vec(steps(12), 1..6),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let written = write(4, &before, &batches);
        let mut records = written.records.concat();
        prop_assume!(!records.is_empty());
        let place = at.index(records.len());
        records[place] ^= flip;
        let of_last = records.len() - written.records.last().map_or(0, Vec::len);
        match restore(&written.image, &records) {
            // A damaged last record is like a torn one.
            Ok(restored) => {
                prop_assert!(place >= of_last, "damage at {} of {} was taken for a torn end", place, records.len());
                prop_assert_eq!(&restored.tree, &written.states[written.records.len() - 1]);
            }
            Err(error) => {
                let is_told = matches!(error, RestoreError::Damaged { at } if at <= place);
                prop_assert!(is_told, "{:?}", error);
            }
        }
        let mut image = written.image.clone();
        let place = at.index(image.len());
        image[place] ^= flip;
        prop_assert!(matches!(restore(&image, &[]), Err(RestoreError::Image(_))));
    }
}

#[test]
fn a_planted_reader_that_trusts_a_torn_record_is_noticed() {
    let step =
        |hash, new| Step { hash, id: towtank_merkle::ObjectId(1), new: Some(towtank_merkle::Version(new)) };
    let written = write(4, &[], &[vec![step(1, 1)], vec![step(2, 1), step(3, 1)]]);
    assert!(survives_every_cut(&written, |image, records| Some(restore(image, records).ok()?.tree)));
    // One that refuses all because the end is missing.
    let strict = |image: &[u8], records: &[u8]| {
        let restored = restore(image, records).ok()?;
        (restored.torn_bytes == 0).then_some(restored.tree)
    };
    assert!(!survives_every_cut(&written, strict));
    // One that drops the last record although it is whole.
    let timid = |image: &[u8], records: &[u8]| {
        Some(restore(image, &records[..records.len().saturating_sub(1)]).ok()?.tree)
    };
    assert!(!survives_every_cut(&written, timid));
}

#[test]
fn records_of_another_image_or_out_of_order_are_refused() {
    let step = |hash| Step { hash, id: towtank_merkle::ObjectId(1), new: Some(towtank_merkle::Version(1)) };
    let one = write(4, &[], &[vec![step(1)], vec![step(2)]]);
    let other = write(4, &[step(9)], &[vec![step(1)]]);
    assert_eq!(restore(&one.image, &other.records[0]), Err(RestoreError::OutOfOrder { at: 0 }));
    assert_eq!(restore(&one.image, &one.records[1]), Err(RestoreError::OutOfOrder { at: 0 }));
    // A file that is used again may hold records of a former image behind a torn one.
    let reused = [&one.records[0][..20], &other.records[0]].concat();
    let restored = restore(&one.image, &reused).expect("they are not ours");
    assert_eq!((restored.records, restored.torn_bytes), (0, reused.len()));
    let error = restore(&one.image, &[&one.records[0][..20], &one.records[1]].concat()).expect_err("damaged");
    assert_eq!(
        error.to_string(),
        "the records are damaged at byte 0, and sound ones follow: take the tree from a replica, or rebuild it"
    );
}

#[test]
fn nothing_new_writes_no_record() {
    let mut tree = Tree::new(shape(3));
    let (mut saver, image) = Saver::image(&mut tree);
    assert_eq!(saver.record(&mut tree), None);
    assert_eq!(restore(&image, &[]).expect("an image alone").tree, tree);
}
