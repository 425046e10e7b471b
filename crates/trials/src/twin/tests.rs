//! The twin is no kinder than the embedded tree: whatever the tree makes of a journal that was cut, flipped
//! or half written, the twin can make of its own under the same fault.
//!
//! Both get the same drawn transactions, some of them synced. The journals have other formats, so a fault is
//! described by the transactions that it hits, and the twin is tried with many places in them. An outcome as
//! if nothing had happened is allowed in any case: a flip may hit what the tree does not use.
//!
//! `TWIN_CASES=n` in the environment draws so many lists of transactions.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use towtank_store::engine::tables;
use towtank_streams::{Draws, Purpose, Seed};

use super::*;
use crate::disk::PAGE;

/// The lists of transactions without a number in the environment, and the faults of each.
const CASES: u64 = 5;
const FAULTS: u64 = 24;

/// The places in a transaction at which the twin is tried, and the losses of power.
const PLACES: usize = 48;
const LOSSES: u64 = 1_000;

/// What of a journal is looked at; the rest was never written.
const LOOKED_AT: usize = 1 << 20;

/// The bytes of a page that a disk writes at once.
const SECTOR: usize = 512;

/// What a start makes of a journal: with the last transaction that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    Undecided(u64),
    Whole(u64),
}

/// What happens to a journal, by the numbers of transactions.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A bit of this transaction is inverted.
    Flip(u64),
    /// It ends within this transaction.
    CutIn(u64),
    /// It ends after this transaction.
    CutAfter(u64),
    /// Of the pages that were not synced some are lost or torn.
    LosesPower,
}

/// How a twin may be too kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kindness {
    None,
    /// What was not synced is kept.
    KeepsUnsynced,
    /// Nothing is undecided: each damage is noticed.
    NoticesAll,
    /// What cannot be read is passed over, and what comes after it stays.
    PassesOver,
}

/// A transaction, and whether it is synced.
#[derive(Clone, Debug)]
struct Transaction {
    rows: Vec<(Table, Vec<u8>, Option<Vec<u8>>)>,
    numbers: Numbers,
    sync: Sync,
}

/// Drawn transactions. The rows of groups have keys of their own, beside those of the tree.
fn drawn(draws: &mut impl Uniform) -> Vec<Transaction> {
    let (mut synced, mut all) = (0, Vec::new());
    for number in 1..=4 + draws.below(8) {
        // A device that is idle writes only that all before it is synced.
        let count = if synced + 1 == number && draws.below(5) == 0 { 0 } else { 1 + draws.below(3) };
        let row = |_| {
            let table = Table::ALL[draws.below(5) as usize];
            let key = vec![b'g', draws.below(6) as u8];
            let length = [700, 1_500, 6_000][draws.below(3) as usize];
            let to = (draws.below(6) > 0).then(|| (0..length).map(|_| 1 + draws.below(255) as u8).collect());
            (table, key, to)
        };
        let rows = (0..count).map(row).collect();
        let sync = if draws.below(3) > 0 { Sync::Always } else { Sync::Never };
        all.push(Transaction { rows, numbers: Numbers { number, synced }, sync });
        synced = if sync == Sync::Always { number } else { synced };
    }
    all
}

impl Transaction {
    fn commit(&self, to: &dyn Tables) {
        let changes = self.rows.iter().cloned().collect();
        to.commit(changes, self.numbers, self.sync).expect("the disk can be written");
    }
}

/// All rows of the transactions.
fn rows_of(tables: &dyn Tables) -> Vec<Row> {
    let is_ours = |key: &[u8]| key.starts_with(b"g");
    let of = |table| tables.range(table, b"g", &is_ours).map(|row| row.expect("it can be read"));
    Table::ALL.into_iter().flat_map(|table| of(table).collect::<Vec<_>>()).collect()
}

/// What tables that were opened show. They must have all of each transaction up to the last one.
fn outcome_of(opened: Result<Arc<dyn Tables>, EngineError>, states: &[Vec<Row>]) -> Outcome {
    let tables = match opened {
        Ok(tables) => tables,
        Err(EngineError::Rotten { .. }) => return Outcome::Refused,
        Err(other) => panic!("it is not opened for another reason: {other}"),
    };
    let last = tables.last().expect("it can be read");
    let state = &states[usize::try_from(last).expect("few were written")];
    assert!(rows_of(&*tables) == *state, "part of a transaction after {last}");
    match tables.undecided().expect("it can be read") {
        Some(_) => Outcome::Undecided(last),
        None => Outcome::Whole(last),
    }
}

/// The tree in a directory, with where each transaction begins and ends in its journal.
struct Real {
    directory: PathBuf,
    journal: Vec<u8>,
    places: Vec<Range<usize>>,
}

fn journal_of(directory: &Path) -> PathBuf {
    let names = std::fs::read_dir(directory).expect("it is there").map(|entry| entry.expect("listed").path());
    let mut journals = names.filter(|path| path.extension().is_some_and(|it| it == "jnl"));
    journals.next().expect("there is a journal")
}

/// The written part of a journal, which is allocated in advance.
fn written(directory: &Path) -> Vec<u8> {
    use std::io::Read as _;
    let file = std::fs::File::open(journal_of(directory)).expect("it can be read");
    let mut bytes = Vec::new();
    file.take(LOOKED_AT as u64).read_to_end(&mut bytes).expect("it can be read");
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
}

impl Real {
    fn new(directory: PathBuf, transactions: &[Transaction]) -> Real {
        let _ = std::fs::remove_dir_all(&directory);
        let tables = tables(&directory).expect("a disk can be made");
        let mut at = written(&directory).len();
        let mut places = Vec::new();
        for transaction in transactions {
            transaction.commit(&*tables);
            let end = written(&directory).len();
            places.push(at..end);
            at = end;
        }
        drop(tables);
        let journal = written(&directory);
        Real { directory, journal, places }
    }

    /// What a start makes of this journal; none if the tree has an assertion on what it reads, as in debug
    /// builds.
    fn start(&self, journal: &[u8], states: &[Vec<Row>]) -> Option<Outcome> {
        let path = journal_of(&self.directory);
        let scene = self.directory.with_extension("scene");
        let _ = std::fs::remove_dir_all(&scene);
        copy_but(&self.directory, &scene, &path);
        let name = path.file_name().expect("it has one");
        std::fs::write(scene.join(name), journal).expect("a journal can be written");
        let file = std::fs::File::options().write(true).open(scene.join(name)).expect("it is there");
        file.set_len(LOOKED_AT as u64).expect("a file can be longer");
        let opened = std::panic::catch_unwind(|| tables(&scene));
        let outcome = opened.ok().map(|opened| outcome_of(opened, states));
        assert!(outcome.is_some() || cfg!(debug_assertions), "the tree panics");
        std::fs::remove_dir_all(&scene).expect("a directory of ours can be removed");
        outcome
    }

    /// The journal after a fault, which hits the place that is drawn, and what is hit.
    fn damaged(&self, unsynced: usize, draws: &mut impl Uniform) -> (Vec<u8>, Fault) {
        let mut bytes = self.journal.clone();
        let count = self.places.len() as u64;
        // The last ones more often.
        let least = draws.below(count);
        let hit = count - draws.below(1 + least);
        let place = self.places[hit as usize - 1].clone();
        let at = place.start + draws.below(place.len() as u64) as usize;
        match draws.below(4) {
            0 => bytes.truncate(place.end),
            1 if at == place.start => return self.damaged(unsynced, draws),
            1 => bytes.truncate(at),
            2 => bytes[at] ^= 1 << draws.below(8),
            _ => {
                let begin = self.places.get(unsynced).map_or(bytes.len(), |place| place.start);
                lose_pages(&mut bytes, begin, draws);
                return (bytes, Fault::LosesPower);
            }
        }
        let fault = match bytes.len() {
            all if all == self.journal.len() && bytes != self.journal => Fault::Flip(hit),
            left if left == place.end => Fault::CutAfter(hit),
            _ => Fault::CutIn(hit),
        };
        (bytes, fault)
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn copy_but(from: &Path, to: &Path, without: &Path) {
    std::fs::create_dir_all(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let path = entry.expect("listed").path();
        let target = to.join(path.file_name().expect("it has one"));
        if path.is_dir() {
            copy_but(&path, &target, without);
        } else if path != without {
            std::fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}

/// Of the pages from a place on some are kept, lost or torn.
fn lose_pages(bytes: &mut [u8], begin: usize, draws: &mut impl Uniform) {
    for page in begin / PAGE..bytes.len().div_ceil(PAGE) {
        let end = bytes.len().min((page + 1) * PAGE);
        let kept = [0, PAGE, SECTOR * draws.below(8) as usize][draws.below(3) as usize];
        bytes[(page * PAGE + kept).max(begin).min(end)..end].fill(0);
    }
}

/// The twin with the same transactions, and where they are in its journal.
struct Same {
    contents: Contents,
    places: Vec<Range<usize>>,
    /// What a loss of power may leave.
    losses: BTreeSet<Outcome>,
}

impl Same {
    fn new(transactions: &[Transaction], states: &[Vec<Row>]) -> Same {
        let twin = Twin::open(Contents::default()).expect("nothing is damaged");
        let mut places = Vec::new();
        for transaction in transactions {
            let start = twin.contents().journal.bytes().len();
            transaction.commit(&twin);
            places.push(start..twin.contents().journal.bytes().len());
        }
        let contents = twin.contents();
        let losses = (0..LOSSES).map(|number| {
            let (mut left, mut draws) = (contents.clone(), Draws::new(Seed(number), 9, 0));
            left.lose_power(&mut draws.of(Purpose(0)));
            outcome_of(Twin::open(left).map(|twin| Arc::new(twin) as Arc<dyn Tables>), states)
        });
        Same { losses: losses.collect(), contents, places }
    }

    /// All that a start may make of a fault.
    fn outcomes(&self, fault: Fault, kindness: Kindness, states: &[Vec<Row>]) -> BTreeSet<Outcome> {
        let mut found = BTreeSet::new();
        let mut tried = |change: &mut dyn FnMut(&mut SimDisk)| {
            let mut contents = self.contents.clone();
            change(&mut contents.journal);
            let opened = Twin::open(contents).map(|twin| Arc::new(twin) as Arc<dyn Tables>);
            found.insert(outcome_of(opened, states));
        };
        let place = |number: u64| self.places[number as usize - 1].clone();
        let spread = |place: Range<usize>| place.clone().step_by((place.len() / PLACES).max(1));
        match fault {
            Fault::Flip(number) => spread(place(number)).for_each(|at| tried(&mut |disk| disk.flip(at))),
            Fault::CutIn(number) => spread(place(number)).for_each(|at| tried(&mut |disk| disk.cut(at))),
            Fault::CutAfter(number) => tried(&mut |disk| disk.cut(place(number).end)),
            Fault::LosesPower if kindness == Kindness::KeepsUnsynced => tried(&mut |_| {}),
            Fault::LosesPower => found.clone_from(&self.losses),
        }
        found.into_iter().map(|outcome| self.made_of(outcome, kindness)).collect()
    }

    /// What a twin that may be too kind makes of it.
    fn made_of(&self, outcome: Outcome, kindness: Kindness) -> Outcome {
        match outcome {
            Outcome::Undecided(_) if kindness == Kindness::NoticesAll => Outcome::Refused,
            Outcome::Undecided(_) | Outcome::Refused if kindness == Kindness::PassesOver => {
                Outcome::Whole(self.places.len() as u64)
            }
            outcome => outcome,
        }
    }
}

/// What was found in all cases.
#[derive(Debug, Default)]
struct Tally {
    starts: usize,
    refused: usize,
    undecided: usize,
    shorter: usize,
    asserted: usize,
    /// Outcomes that twins cannot give: of the twin, and of each that is too kind.
    missed: [Vec<String>; 4],
}

fn case(seed: u64, tally: &mut Tally) {
    let mut draws = Draws::new(Seed(seed), 8, 0);
    let transactions = drawn(&mut draws.of(Purpose(1)));
    let (same, states) = {
        let twin = Twin::open(Contents::default()).expect("nothing is damaged");
        let mut states = vec![rows_of(&twin)];
        for transaction in &transactions {
            transaction.commit(&twin);
            states.push(rows_of(&twin));
        }
        (Same::new(&transactions, &states), states)
    };
    let folder = format!("towtank-twin-{}-{seed}", std::process::id());
    let real = Real::new(std::env::temp_dir().join(folder), &transactions);
    let all = Outcome::Whole(transactions.len() as u64);
    assert_eq!(real.start(&real.journal, &states), Some(all), "nothing has happened");
    let synced = transactions.iter().rposition(|it| it.sync == Sync::Always).map_or(0, |last| last + 1);
    let mut draws = draws.of(Purpose(2));
    for _ in 0..FAULTS {
        let (journal, fault) = real.damaged(synced, &mut draws);
        tally.starts += 1;
        let Some(outcome) = real.start(&journal, &states) else {
            tally.asserted += 1;
            continue;
        };
        match outcome {
            Outcome::Refused => tally.refused += 1,
            Outcome::Undecided(_) => tally.undecided += 1,
            Outcome::Whole(_) => tally.shorter += usize::from(outcome != all),
        }
        let twins = [Kindness::None, Kindness::KeepsUnsynced, Kindness::NoticesAll, Kindness::PassesOver];
        for (missed, kindness) in tally.missed.iter_mut().zip(twins) {
            let can = same.outcomes(fault, kindness, &states);
            if outcome != all && !can.contains(&outcome) {
                missed.push(format!("case {seed}, {fault:?}: the tree gives {outcome:?}, the twin {can:?}"));
            }
        }
    }
}

#[test]
fn the_twin_is_no_kinder_than_the_tree() {
    let cases = std::env::var("TWIN_CASES").map_or(CASES, |count| count.parse().expect("a number"));
    let mut tally = Tally::default();
    for seed in 1..=cases {
        let found = std::panic::catch_unwind(AssertUnwindSafe(|| case(seed, &mut tally)));
        assert!(found.is_ok(), "case {seed}");
    }
    let Tally { starts, refused, undecided, shorter, asserted, missed } = tally;
    println!(
        "{starts} starts: {refused} refused, {undecided} undecided, {shorter} shorter, {asserted} assertions"
    );
    let counts = missed.each_ref().map(Vec::len);
    println!("outcomes that the twin, and twins that are too kind, cannot give: {counts:?}");
    let [of_twin, kinder @ ..] = missed;
    assert!(of_twin.is_empty(), "{:#?}", &of_twin[..of_twin.len().min(5)]);
    assert!(kinder.iter().all(|missed| !missed.is_empty()), "planted: {counts:?}");
    assert!(refused > 0 && undecided > 0 && shorter > 0, "all kinds of outcomes occur");
}
