//! Bytes of a real journal flipped or cut at points spread over it: what was synced is refused, and nothing
//! in the directory changes; what may be unfinished is undecided. Never is either passed over in silence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::device::{Device, State};
use super::{copy, folder, journal, points};

/// All files below a directory, with their bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if journal::is_journal(&path) {
            found.insert(path.clone(), journal::read(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).expect("it can be read"));
        }
    }
    found
}

/// A disk whose last transaction ends the journal, and the same with a mark after it.
struct Tail {
    base: PathBuf,
    before: State,
    after: State,
    /// Where the last transaction begins and ends.
    place: [usize; 2],
    unmarked: Vec<u8>,
    marked: Vec<u8>,
}

/// What a start made of a journal.
#[derive(Debug, PartialEq)]
enum Start {
    Refused,
    Undecided(State),
    Whole(State),
}

impl Tail {
    fn new(name: &str) -> Tail {
        let base = folder(name);
        let mut device = Device::open(&base);
        device.fill();
        let before = device.state();
        let journal = journal::of(&base);
        let begin = journal::read(&journal).len();
        device.write(5);
        let after = device.state();
        let unmarked = journal::read(&journal);
        device.mark();
        drop(device);
        let marked = journal::read(&journal);
        assert!(before != after && marked.len() > unmarked.len() && unmarked.len() > begin);
        Tail { base, before, after, place: [begin, unmarked.len()], unmarked, marked }
    }

    /// Starts with this journal.
    fn start(&self, journal: &[u8]) -> Start {
        let scene = folder("tail-scene");
        copy(&self.base, &scene);
        journal::write(&journal::of(&scene), journal);
        let found = files(&scene);
        let start = match Device::try_open(&scene) {
            Err(why) => {
                assert!(why.contains("was synced") && why.contains(".jnl"), "{why}");
                assert!(files(&scene) == found, "a start that fails changes nothing");
                Start::Refused
            }
            Ok(mut device) if device.is_undecided() => Start::Undecided(device.state()),
            Ok(mut device) => Start::Whole(device.state()),
        };
        std::fs::remove_dir_all(&scene).expect("a directory of ours can be removed");
        start
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

#[test]
fn no_byte_that_is_flipped_is_silent() {
    let tail = Tail::new("flips");
    let [begin, end] = tail.place;
    assert_eq!(tail.start(&tail.unmarked), Start::Whole(tail.after.clone()));
    assert_eq!(tail.start(&tail.marked), Start::Whole(tail.after.clone()));
    let flipped = |journal: &[u8], at: usize| {
        let mut flipped = journal.to_vec();
        flipped[at] ^= 1 << (at % 8);
        tail.start(&flipped)
    };
    let points = points() / 2;
    let spread = |from: usize, to: usize| (0..points).map(move |point| from + point * (to - from) / points);
    // The reported case: the last transaction that was acknowledged, of a device that has been idle.
    for at in spread(begin, end).chain(spread(0, begin).step_by(4)) {
        assert_eq!(flipped(&tail.marked, at), Start::Refused, "{at} of {begin} to {end}, marked");
    }
    // Within the mark itself nothing is lost.
    for at in spread(end, tail.marked.len()).step_by(8) {
        let start = flipped(&tail.marked, at);
        let states = [Start::Undecided(tail.after.clone()), Start::Whole(tail.after.clone())];
        assert!(states.contains(&start), "{at} after {end}: {start:?}");
    }
    for at in spread(begin, end) {
        let start = flipped(&tail.unmarked, at);
        let is_last_sequence = (begin + 5..begin + 13).contains(&at);
        let is_right = match &start {
            Start::Undecided(state) => *state == tail.before,
            // Nothing after it says what its place in the order is, and so nothing is before it.
            Start::Whole(state) => is_last_sequence && *state == tail.after,
            Start::Refused => false,
        };
        assert!(is_right, "{at} of {begin} to {end}, not marked: {start:?}");
    }
}

#[test]
fn a_start_that_fails_for_another_reason_puts_the_tail_back() {
    let tail = Tail::new("put-back");
    let scene = folder("put-back-scene");
    copy(&tail.base, &scene);
    journal::write(&journal::of(&scene), &tail.unmarked[..tail.place[1] - 3]);
    let version = scene.join("version");
    let sound = std::fs::read(&version).expect("the tree has one");
    std::fs::write(&version, "another").expect("a file can be written");
    let found = files(&scene);
    for _ in 0..2 {
        assert!(Device::try_open(&scene).is_err(), "another version wrote it");
        assert!(files(&scene) == found, "a start that fails changes nothing");
    }
    std::fs::write(&version, sound).expect("a file can be written");
    let mut device = Device::open(&scene);
    assert!(device.is_undecided() && device.state() == tail.before);
    drop(device);
    // Only who has heard of the others decides.
    let mut device = Device::open(&scene);
    assert!(device.is_undecided() && device.state() == tail.before, "another start decides nothing");
    device.decide();
    drop(device);
    assert!(!Device::open(&scene).is_undecided());
    assert!(files(&scene).into_keys().all(|path| !path.to_string_lossy().contains("undecided")));
    std::fs::remove_dir_all(&scene).expect("a directory of ours can be removed");
}
