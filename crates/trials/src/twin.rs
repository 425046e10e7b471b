//! What takes the place of the embedded tree: ordered tables that are flushed from time to time, and a
//! journal of the transactions since, on a [`SimDisk`]. It says nothing of how the tree works inside, only
//! what may be left after a crash: all that was synced, and of a transaction that was not synced all,
//! nothing, or bytes that are no transaction.
//!
//! The journal is judged by [`judge`], as that of the tree. A journal that is undecided is cut before the
//! tables are opened, and so is the tree's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use towtank_store::engine::{Changes, EngineError, Numbers, Row, Sync, Table, Tables};
use towtank_store::space::Space;
use towtank_store::tail::{Frame, Note, Verdict, judge};
use towtank_streams::Uniform;
use twox_hash::XxHash3_64;

use crate::disk::SimDisk;

type Rows = [BTreeMap<Vec<u8>, Vec<u8>>; 5];

/// What a frame of the journal holds.
type Item = (u8, Vec<u8>, Option<Vec<u8>>);

/// The space of a disk, and what is free while it counts as full.
const TOTAL_BYTES: u64 = 1 << 40;
const FREE_BYTES: u64 = 1 << 39;
const FULL_BYTES: u64 = 1 << 20;

/// The bytes of a journal after which tables are flushed.
const JOURNAL_BYTES: usize = 256 << 10;

const HEAD_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 8;

/// What a directory holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// The tables as they were flushed, with the number of the last transaction in them.
    flushed: Arc<Rows>,
    flushed_number: u64,
    journal: SimDisk,
    note: Option<Note>,
}

/// How the next commit fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The disk reports an error, or has no space: some of the bytes may be written.
    Error,
    /// A rule that is broken on purpose: some rows are changed, and nothing is reported.
    HalfApplied,
}

#[derive(Debug)]
struct State {
    contents: Contents,
    rows: Rows,
    last: u64,
    is_full: bool,
    fails: Option<(Failure, u64)>,
}

/// The tables of a device that runs.
#[derive(Debug)]
pub(crate) struct Twin(Mutex<State>);

/// The length that stands for a row that is removed.
const REMOVED: u64 = u64::MAX;

fn items_of(changes: Changes) -> Vec<Item> {
    changes.into_rows().map(|(table, key, to)| (table as u8, key, to)).collect()
}

fn encoded(items: &[Item], numbers: Numbers) -> Vec<u8> {
    let mut body = Vec::new();
    for (table, key, to) in items {
        body.push(*table);
        body.extend((key.len() as u64).to_be_bytes());
        body.extend(key);
        body.extend(to.as_ref().map_or(REMOVED, |value| value.len() as u64).to_be_bytes());
        body.extend(to.iter().flatten());
    }
    let words = [body.len() as u64, numbers.number, numbers.synced];
    let mut frame: Vec<u8> = words.into_iter().flat_map(u64::to_be_bytes).collect();
    frame.extend(body);
    let checksum = XxHash3_64::oneshot(&frame);
    frame.extend(checksum.to_be_bytes());
    frame
}

/// The items of a frame; none if they are not items.
fn decoded(mut body: &[u8]) -> Option<Vec<Item>> {
    fn take<'a>(body: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
        let (first, rest) = body.split_at_checked(count)?;
        *body = rest;
        Some(first)
    }
    let mut items = Vec::new();
    while let Some((table, rest)) = body.split_first() {
        body = rest;
        let length = word(take(&mut body, 8)?, 0)?;
        let key = take(&mut body, usize::try_from(length).ok()?)?.to_vec();
        let to = match word(take(&mut body, 8)?, 0)? {
            REMOVED => None,
            length => Some(take(&mut body, usize::try_from(length).ok()?)?.to_vec()),
        };
        items.push((*table, key, to));
    }
    Some(items)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The frame at a place, with its items and where it ends.
fn frame_at(bytes: &[u8], at: usize) -> Option<(Numbers, &[u8], usize)> {
    let length = usize::try_from(word(bytes, at)?).ok()?;
    let end = at.checked_add(HEAD_BYTES)?.checked_add(length)?;
    let checksum = word(bytes, end)?;
    let is_sound = XxHash3_64::oneshot(bytes.get(at..end)?) == checksum;
    let numbers = Numbers { number: word(bytes, at + 8)?, synced: word(bytes, at + 16)? };
    is_sound.then(|| (numbers, &bytes[at + HEAD_BYTES..end], end + CHECKSUM_BYTES))
}

/// The frames of a journal, as those of the tree: after bytes that are none, those that can be read again
/// follow.
fn frames(bytes: &[u8]) -> Vec<Frame> {
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (mut frames, mut at) = (Vec::new(), 0);
    while at < written {
        let found = (at..written).find_map(|begin| Some((begin, frame_at(bytes, begin)?)));
        if found.as_ref().is_none_or(|(begin, _)| *begin > at) {
            frames.push(Frame::Bad { at: at as u64 });
        }
        let Some((_, (Numbers { number, synced }, _, end))) = found else { break };
        frames.push(Frame::Sound { number, synced, sequence: number, end: end as u64 });
        at = end;
    }
    frames
}

fn apply(rows: &mut Rows, items: Vec<Item>) {
    for (table, key, to) in items {
        let rows = &mut rows[usize::from(table)];
        match to {
            Some(value) => drop(rows.insert(key, value)),
            None => drop(rows.remove(&key)),
        }
    }
}

impl Contents {
    /// Judges the journal, and cuts an undecided end off.
    fn settle(&mut self) -> Result<(), EngineError> {
        let bytes = self.journal.bytes();
        let before = (self.flushed_number > 0).then_some(Frame::Sound {
            number: self.flushed_number,
            synced: self.flushed_number,
            sequence: self.flushed_number,
            end: 0,
        });
        let mut all = Vec::from_iter(before);
        all.extend(frames(bytes));
        let synced = |frame: &Frame| match frame {
            Frame::Sound { synced, .. } => Some(*synced),
            Frame::Bad { .. } => None,
        };
        let mark = all.iter().filter_map(synced).max().unwrap_or(0);
        match judge(&all, mark) {
            Verdict::Whole => {
                let mut ends = all.iter().filter_map(|frame| match frame {
                    Frame::Sound { end, .. } => Some(*end as usize),
                    Frame::Bad { .. } => None,
                });
                // The zeros after it were never written.
                let end = ends.next_back().unwrap_or(0);
                self.journal.cut(end);
                Ok(())
            }
            Verdict::Rotten { at } => Err(EngineError::Rotten { path: PathBuf::from("journal"), at }),
            Verdict::Undecided { at, after } => {
                let bytes = bytes.len() as u64 - at;
                let journal = "journal".to_owned();
                self.note = Some(Note { journal, at, bytes, after, mark, is_noted: false });
                self.journal.cut(at as usize);
                Ok(())
            }
        }
    }

    /// The machine loses power; returns whether the disk has lost anything.
    pub(crate) fn lose_power(&mut self, draws: &mut impl Uniform) -> bool {
        self.journal.lose_power(draws)
    }

    /// Inverts a bit of the journal, near its end or anywhere.
    pub(crate) fn rot_journal(&mut self, draws: &mut impl Uniform) {
        let length = self.journal.bytes().len() as u64;
        let span = if draws.below(2) == 0 { length } else { length.min(400) };
        if span > 0 {
            self.journal.flip((length - 1 - draws.below(span)) as usize);
        }
    }

    /// Flushes the tables, so that a rotten object is found nowhere else, and damages one of the objects, if
    /// there is one and the journal is whole.
    pub(crate) fn rot_object(&mut self, draws: &mut impl Uniform) {
        let mut contents = self.clone();
        if contents.settle().is_err() || contents.note.is_some() {
            return;
        }
        let Ok(twin) = Twin::open(contents) else { return };
        let mut contents = twin.flushed();
        let mut rows = (*contents.flushed).clone();
        let data = &mut rows[Table::Data as usize];
        let count = data.len() as u64;
        if count == 0 {
            return;
        }
        let value = data.values_mut().nth(draws.below(count) as usize).expect("there are so many");
        let at = draws.below(value.len().max(1) as u64) as usize;
        if let Some(byte) = value.get_mut(at) {
            *byte ^= 1;
        }
        contents.flushed = Arc::new(rows);
        *self = contents;
    }
}

impl Twin {
    /// Opens the tables of a directory.
    pub(crate) fn open(mut contents: Contents) -> Result<Twin, EngineError> {
        contents.settle()?;
        let mut rows = (*contents.flushed).clone();
        let (mut at, mut last) = (0, contents.flushed_number);
        while let Some((numbers, items, end)) = frame_at(contents.journal.bytes(), at) {
            apply(&mut rows, decoded(items).expect("its checksum is right"));
            (at, last) = (end, numbers.number);
        }
        Ok(Twin(Mutex::new(State { contents, rows, last, is_full: false, fails: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("one thread uses it")
    }

    /// What the directory holds now.
    pub(crate) fn contents(&self) -> Contents {
        self.state().contents.clone()
    }

    /// What the directory would hold if the tables were flushed.
    fn flushed(&self) -> Contents {
        let mut state = self.state();
        flush(&mut state);
        state.contents.clone()
    }

    /// Writes a transaction that is never synced: the process ends before.
    pub(crate) fn write_unsynced(&self, changes: Changes) {
        let mut state = self.state();
        let numbers = Numbers { number: state.last + 1, synced: 0 };
        state.contents.journal.append(&encoded(&items_of(changes), numbers));
    }

    pub(crate) fn fill(&self, is_full: bool) {
        self.state().is_full = is_full;
    }

    /// The next commit fails after some of its bytes, or of its rows.
    pub(crate) fn fail_next(&self, failure: Failure, after: u64) {
        self.state().fails = Some((failure, after));
    }

    /// The disk does not fail any more.
    pub(crate) fn mend(&self) {
        self.state().fails = None;
    }

    /// Flushes the tables.
    pub(crate) fn flush(&self) {
        flush(&mut self.state());
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, table: Table) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.state().rows[table as usize].clone()
    }
}

fn flush(state: &mut State) {
    state.contents.flushed = Arc::new(state.rows.clone());
    state.contents.flushed_number = state.last;
    state.contents.journal = SimDisk::default();
}

impl Tables for Twin {
    fn last(&self) -> Result<u64, EngineError> {
        Ok(self.state().last)
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.state().rows[table as usize].get(key).cloned())
    }

    fn range<'a>(
        &'a self,
        table: Table,
        from: &[u8],
        belongs: &'a dyn Fn(&[u8]) -> bool,
    ) -> Box<dyn Iterator<Item = Result<Row, EngineError>> + 'a> {
        let mut next = Some(from.to_vec());
        // The lock is not held between two rows.
        Box::new(std::iter::from_fn(move || {
            let from = next.take()?;
            let state = self.state();
            let (key, value) = state.rows[table as usize].range(from..).next()?;
            if !belongs(key) {
                return None;
            }
            next = Some([&key[..], &[0]].concat());
            Some(Ok((key.clone(), value.clone())))
        }))
    }

    fn commit(&self, changes: Changes, numbers: Numbers, sync: Sync) -> Result<(), EngineError> {
        let mut state = self.state();
        let mut items = items_of(changes);
        match state.fails.take() {
            Some((Failure::Error, after)) => {
                let frame = encoded(&items, numbers);
                let written = after as usize % (frame.len() + 1);
                state.contents.journal.append(&frame[..written]);
                return Err(std::io::Error::other("the disk reports an error").into());
            }
            Some((Failure::HalfApplied, _)) => items.truncate(items.len() / 2),
            None => {}
        }
        state.contents.journal.append(&encoded(&items, numbers));
        if sync == Sync::Always {
            state.contents.journal.sync();
        }
        apply(&mut state.rows, items);
        state.last = numbers.number;
        if state.contents.journal.bytes().len() > JOURNAL_BYTES {
            flush(&mut state);
        }
        Ok(())
    }

    fn undecided(&self) -> Result<Option<Note>, EngineError> {
        Ok(self.state().contents.note.clone())
    }

    fn note(&self, note: &Note) -> Result<(), EngineError> {
        self.state().contents.note = Some(note.clone());
        Ok(())
    }

    fn decide(&self) -> Result<(), EngineError> {
        self.state().contents.note = None;
        Ok(())
    }

    fn space(&self) -> Space {
        let free_bytes = if self.state().is_full { FULL_BYTES } else { FREE_BYTES };
        Space { free_bytes, total_bytes: TOTAL_BYTES }
    }

    fn disk_bytes(&self) -> u64 {
        let state = self.state();
        let rows = state.rows.iter().flatten().map(|(key, value)| (key.len() + value.len()) as u64);
        rows.sum()
    }

    fn reclaim(&self) -> Result<(), EngineError> {
        self.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
