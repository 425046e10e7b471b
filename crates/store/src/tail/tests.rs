//! The verdicts, and a journal of which a byte was flipped or the end was cut.

use proptest::prelude::*;

use super::*;
use crate::engine::{Engine, EngineError, Sync, Table};

/// A transaction with this number, which says that those up to `synced` are synced.
fn sound(number: u64, synced: u64) -> Frame {
    Frame::Sound { number, synced, sequence: 10 * number, end: 100 * number }
}

fn undecided(at: u64, after: u64) -> Verdict {
    Verdict::Undecided { at, after: Some(after) }
}

#[test]
fn what_was_synced_is_rotten_and_what_may_be_unfinished_is_undecided() {
    let bad = |at| Frame::Bad { at };
    assert_eq!(judge(&[], 0), Verdict::Whole);
    assert_eq!(judge(&[sound(7, 6), sound(8, 7)], 7), Verdict::Whole);
    assert_eq!(judge(&[sound(7, 6), bad(700)], 6), undecided(700, 7), "8 may be unfinished");
    assert_eq!(judge(&[sound(7, 6), bad(700), sound(9, 8)], 8), Verdict::Rotten { at: 700 });
    assert_eq!(judge(&[sound(7, 6), bad(700), sound(9, 2)], 6), undecided(700, 7), "nothing was synced");
    assert_eq!(judge(&[sound(7, 6), sound(9, 8)], 8), Verdict::Rotten { at: 700 }, "8 is missing");
    assert_eq!(judge(&[sound(7, 6), sound(7, 6)], 6), undecided(700, 7), "the same again");
    // Of the first transaction only the next tells the number.
    assert_eq!(judge(&[bad(0), sound(9, 8)], 8), Verdict::Rotten { at: 0 });
    assert_eq!(judge(&[bad(0)], 0), Verdict::Undecided { at: 0, after: None });
    // A journal that was synced before the next began.
    assert_eq!(judge(&[sound(7, 6), bad(700)], u64::MAX), Verdict::Rotten { at: 700 });
    assert_eq!(judge(&[bad(0)], u64::MAX), Verdict::Rotten { at: 0 });
}

/// A transaction as the tree writes it.
fn encoded(stamp: Stamp, sequence: u64, data: &[u8]) -> Vec<u8> {
    let item = |key: &[u8], value: &[u8]| {
        let length = (value.len() as u32).to_le_bytes();
        let lengths = [&(key.len() as u16).to_le_bytes()[..], &length, &length].concat();
        [&[2, 0, 0][..], &5_u64.to_le_bytes(), &lengths, key, value].concat()
    };
    let body = [item(b"a key", data), item(STAMP_KEY, &stamp.to_bytes())].concat();
    let checksum = twox_hash::XxHash3_64::oneshot(&body).to_le_bytes();
    let start = [&[1][..], &2_u32.to_le_bytes(), &sequence.to_le_bytes()].concat();
    [&start[..], &body, &[3], &checksum, b"FJL\x03"].concat()
}

/// A journal of some transactions, with where each ends.
fn journal(lengths: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for (number, length) in (1..).zip(lengths) {
        // Flushes take sequence numbers too; between two stamps each keeps the order.
        let stamp = Stamp { number, synced: number - 1, sequence: number };
        bytes.extend(encoded(stamp, number, &vec![number as u8; *length]));
        ends.push(bytes.len());
    }
    (bytes, ends)
}

fn judged(bytes: &[u8]) -> Verdict {
    let frames = frames::frames(bytes);
    let synced = |frame: &Frame| match frame {
        Frame::Sound { synced, .. } => *synced,
        Frame::Bad { .. } => 0,
    };
    judge(&frames, frames.iter().map(synced).max().unwrap_or(0))
}

proptest! {
    /// A flip within what was synced is rotten, one after it is undecided, and none is passed over.
    #[test]
    fn no_flip_is_silent(
        lengths in prop::collection::vec(0_usize..60, 2..6),
        place in any::<prop::sample::Index>(),
        bit in 0_u32..8,
        zeros in 0_usize..40,
    ) {
        let (mut bytes, ends) = journal(&lengths);
        let mark = ends[ends.len() - 2];
        bytes.resize(bytes.len() + zeros, 0);
        prop_assert_eq!(judged(&bytes), Verdict::Whole);
        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let verdict = judged(&bytes);
        // Of the last sequence number nobody says what it must be less than: the order stays the same.
        let is_last_sequence = (mark + 5..mark + 13).contains(&at);
        match verdict {
            Verdict::Rotten { at: from } => prop_assert!(at < mark && from as usize <= at, "{from} for {at}"),
            Verdict::Undecided { at: from, .. } => prop_assert!(at >= mark && from as usize <= at),
            Verdict::Whole => prop_assert!(is_last_sequence, "a flip at {at} of {ends:?} is silent"),
        }
    }

    /// A journal that ends earlier is undecided, or ends between two transactions.
    #[test]
    fn a_cut_is_undecided(
        lengths in prop::collection::vec(0_usize..60, 2..6),
        place in any::<prop::sample::Index>(),
        zeros in 0_usize..40,
    ) {
        let (mut bytes, ends) = journal(&lengths);
        let at = place.index(bytes.len());
        bytes.truncate(at);
        bytes.resize(at + zeros, 0);
        let is_between = at == 0 || ends.contains(&at);
        let begins = ends.iter().copied().filter(|end| *end <= at).max().unwrap_or(0) as u64;
        match judged(&bytes) {
            Verdict::Whole => prop_assert!(is_between),
            Verdict::Undecided { at: from, .. } => prop_assert!(!is_between && from == begins),
            rotten @ Verdict::Rotten { .. } => prop_assert!(false, "a cut at {at} of {ends:?}: {rotten:?}"),
        }
    }

    /// Zeros between two transactions, where the tree would end: what follows them would be lost in silence.
    #[test]
    fn zeros_between_two_transactions_are_noticed(
        lengths in prop::collection::vec(0_usize..60, 2..6),
        place in any::<prop::sample::Index>(),
        zeros in 1_usize..40,
    ) {
        let (bytes, ends) = journal(&lengths);
        let (before, after) = bytes.split_at(ends[place.index(ends.len() - 1)]);
        let verdict = judged(&[before, &vec![0; zeros][..], after].concat());
        let at = before.len() as u64;
        let is_last = ends[ends.len() - 2] == before.len();
        match verdict {
            Verdict::Rotten { at: from } => prop_assert!(from == at && !is_last),
            Verdict::Undecided { at: from, .. } => prop_assert!(from == at && is_last),
            Verdict::Whole => prop_assert!(false, "zeros at {at} of {ends:?} are not noticed"),
        }
    }

    /// The planted violation: a reader that does not look behind what it cannot read takes rot for an
    /// unfinished write.
    #[test]
    fn who_does_not_look_further_takes_rot_for_an_unfinished_write(at in 20_usize..60) {
        let (mut bytes, ends) = journal(&[50, 10, 10]);
        bytes[at] ^= 1;
        prop_assert_eq!(judged(&bytes), Verdict::Rotten { at: 0 });
        prop_assert_eq!(judged(&bytes[..ends[0]]), Verdict::Undecided { at: 0, after: None });
    }
}

/// A directory for tables, removed with the test.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("towtank-tail-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }

    fn open(&self) -> Result<Engine, EngineError> {
        Engine::open(&self.0, Sync::Always)
    }

    /// Commits a transaction of one object of this many bytes.
    fn write(engine: &Engine, number: u64, bytes: usize) {
        let mut transaction = engine.begin();
        transaction.set(Table::Heads, number.to_be_bytes().to_vec(), vec![1; 9]);
        transaction.set(Table::Data, number.to_be_bytes().to_vec(), vec![number as u8; bytes]);
        transaction.commit().expect("the disk can be written");
    }

    fn newest(&self) -> PathBuf {
        journals(&self.0).expect("it can be listed").pop().expect("there is a journal")
    }
}

/// Tables are flushed, and journals are sealed and removed: no start of a sound directory is refused.
#[test]
fn sound_directories_are_opened_whatever_was_flushed() {
    let directory = Directory::new("flushed");
    let mut number = 0;
    for round in 0..6 {
        let engine = directory.open().expect("it is sound");
        assert!(engine.undecided().expect("it can be read").is_none());
        let bytes = if round % 2 == 0 { 6 << 20 } else { 100 };
        for _ in 0..4 {
            number += 1;
            Directory::write(&engine, number, bytes);
        }
        if round % 3 > 0 {
            engine.reclaim().expect("the disk can be written");
        }
        if round % 2 > 0 {
            engine.mark().expect("the disk can be written");
        }
        drop(engine);
    }
    let engine = directory.open().expect("it is sound");
    for number in 1..=number {
        let found = engine.begin().get(Table::Data, &number.to_be_bytes());
        assert_eq!(found.map(|data| data[0]), Some(number as u8));
    }
}

/// What is in the tables was synced, so the journal cannot end before it, nor be torn there.
#[test]
fn a_journal_that_ends_before_what_was_flushed_is_rotten() {
    let directory = Directory::new("ahead");
    let engine = directory.open().expect("it can be made");
    Directory::write(&engine, 1, 100);
    let before = written_bytes(&directory.newest());
    Directory::write(&engine, 2, 100);
    engine.reclaim().expect("the disk can be written");
    drop(engine);
    let sound = fs::read(directory.newest()).expect("it can be read");
    for length in [before, before + 20] {
        fs::write(directory.newest(), &sound[..length]).expect("it can be written");
        let error = directory.open().expect_err("2 is in the tables");
        assert!(matches!(error, EngineError::Rotten { .. }), "{error}");
        assert_eq!(fs::read(directory.newest()).expect("it can be read"), sound[..length]);
        assert!(Note::of(&directory.0).expect("it can be read").is_none());
    }
    fs::write(directory.newest(), &sound).expect("it can be written");
    directory.open().expect("it is sound");
}

fn written_bytes(path: &Path) -> usize {
    let frames = frames::frames(&fs::read(path).expect("it can be read"));
    match frames.last() {
        Some(Frame::Sound { end, .. }) => *end as usize,
        other => panic!("{other:?} is last"),
    }
}
