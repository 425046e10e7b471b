//! A client's data cache: which bytes of which files it holds, and which of them have not been written to a
//! server yet.
//!
//! Bytes are clean, dirty, coming (being read from servers) or leaving (being written to them). Only clean
//! bytes are evicted, least recently used first. A write over bytes that are coming or leaving makes them
//! dirty again; a later arrival or acknowledgement changes only bytes that are still in that state. The cache
//! holds ranges of bytes without content, and is not kept coherent with other clients.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The state of a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Held {
    /// The same as at the servers: may be evicted.
    Clean,
    /// Written here, and not sent to a server yet.
    Dirty,
    /// Being read from the servers.
    Coming,
    /// Being written to the servers.
    Leaving,
}

/// The result of a lookup at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// This many bytes are cached.
    Here(u64),
    /// This many bytes are being read for another request.
    Coming(u64),
    /// This many bytes are not cached.
    Missing(u64),
}

/// A range of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    /// The file.
    pub file: u64,
    /// The first byte.
    pub from: u64,
    /// The end of the range (exclusive); always above `from`.
    pub to: u64,
}

impl Run {
    /// The length of the range in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        debug_assert!(self.from < self.to, "{self:?} has no bytes");
        self.to - self.from
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Range {
    to: u64,
    held: Held,
    used: u64,
}

/// The cache of one client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientCache {
    capacity: u64,
    /// Ranges by file and first byte; they do not overlap.
    #[serde(with = "towtank_units::pairs")]
    ranges: BTreeMap<(u64, u64), Range>,
    /// The same ranges by state and last use.
    order: BTreeSet<(Held, u64, (u64, u64))>,
    /// Counts uses; the time of last use in `order`.
    clock: u64,
    /// Bytes of all ranges, by state.
    bytes: [u64; 4],
    /// Bytes that became dirty.
    pub absorbed: u64,
    /// Bytes that were taken for write-back.
    pub taken: u64,
    /// Bytes taken for write-back that servers have acknowledged.
    pub written: u64,
    /// Dirty bytes of files that were removed.
    pub discarded: u64,
}

impl ClientCache {
    /// An empty cache with this capacity in bytes.
    #[must_use]
    pub fn new(capacity: u64) -> ClientCache {
        ClientCache {
            capacity,
            ranges: BTreeMap::new(),
            order: BTreeSet::new(),
            clock: 0,
            bytes: [0; 4],
            absorbed: 0,
            taken: 0,
            written: 0,
            discarded: 0,
        }
    }

    /// Bytes in a state.
    #[must_use]
    pub fn bytes(&self, held: Held) -> u64 {
        self.bytes[held as usize]
    }

    /// Bytes taken for write-back that servers have not acknowledged.
    #[must_use]
    pub(crate) fn on_the_way(&self) -> u64 {
        debug_assert!(self.written <= self.taken, "{} of {} bytes were written", self.written, self.taken);
        self.taken - self.written
    }

    /// Bytes that no server is known to have: dirty ones and those being written back.
    #[must_use]
    pub(crate) fn unsaved(&self) -> u64 {
        self.bytes(Held::Dirty) + self.on_the_way()
    }

    /// Whether a file has dirty bytes.
    #[must_use]
    pub(crate) fn is_dirty(&self, file: u64) -> bool {
        self.dirty_of(file).is_some()
    }

    /// The range of a file that became dirty first.
    fn dirty_of(&self, file: u64) -> Option<(u64, u64)> {
        let dirty = self.order.range((Held::Dirty, 0, (0, 0))..(Held::Coming, 0, (0, 0)));
        dirty.map(|(_, _, key)| *key).find(|key| key.0 == file)
    }

    /// Looks up the first byte of a run.
    #[must_use]
    pub fn find(&self, run: Run) -> Lookup {
        let mut at = run.from;
        let mut first = None;
        let before = self.ranges.range(..=(run.file, run.from)).next_back();
        let after = self.ranges.range((run.file, run.from + 1)..(run.file, run.to));
        for (&(file, from), range) in before.into_iter().chain(after) {
            if file != run.file || range.to <= at {
                continue;
            }
            if from > at {
                break;
            }
            let comes = range.held == Held::Coming;
            if *first.get_or_insert(comes) != comes {
                break;
            }
            at = range.to;
            if at >= run.to {
                break;
            }
        }
        debug_assert!(at >= run.from, "a lookup goes on");
        let known = at.min(run.to) - run.from;
        match first {
            Some(true) => Lookup::Coming(known),
            Some(false) => Lookup::Here(known),
            None => {
                let next = self.ranges.range((run.file, run.from)..(run.file, run.to)).next();
                Lookup::Missing(next.map_or(run.to, |(&(_, from), _)| from) - run.from)
            }
        }
    }

    /// Marks the clean bytes of a run as just used.
    pub(crate) fn touch(&mut self, run: Run) {
        self.clock += 1;
        let clean: Vec<(u64, u64)> = self
            .keys(run)
            .into_iter()
            .filter(|key| self.ranges.get(key).is_some_and(|range| range.held == Held::Clean))
            .collect();
        for key in clean {
            let range = self.take(key);
            self.put(key, Range { used: self.clock, ..range });
        }
    }

    /// Starts reading a missing run. Returns whether there is space to keep it.
    pub(crate) fn begin_read(&mut self, run: Run) -> bool {
        debug_assert_eq!(self.find(run), Lookup::Missing(run.bytes()), "{run:?} is here in part");
        if !self.make_room(run.bytes()) {
            return false;
        }
        self.lay(run, Held::Coming);
        debug_assert!(self.held() <= self.capacity, "{} of {} bytes", self.held(), self.capacity);
        true
    }

    /// Completes a read: bytes of the run that are still awaited become clean.
    pub(crate) fn end_read(&mut self, run: Run) {
        self.turn(run, Held::Coming, Held::Clean);
    }

    /// Writes a run. Returns whether there was space; if not, nothing has changed.
    pub fn write(&mut self, run: Run) -> bool {
        let (mut inside, mut clean) = (0, 0);
        for key in self.keys(run) {
            let Some(range) = self.ranges.get(&key) else { continue };
            let overlap = range.to.min(run.to) - key.1.max(run.from);
            inside += overlap;
            clean += if range.held == Held::Clean { overlap } else { 0 };
        }
        let evictable = self.bytes(Held::Clean) - clean;
        if self.held() - inside - evictable + run.bytes() > self.capacity {
            return false;
        }
        let before = self.bytes(Held::Dirty);
        self.carve(run);
        let kept = before - self.bytes(Held::Dirty);
        let is_room = self.make_room(run.bytes());
        debug_assert!(is_room, "{run:?} fits when clean bytes are evicted");
        self.lay(run, Held::Dirty);
        debug_assert!(kept <= run.bytes(), "no more was dirty there than is written");
        self.absorbed += run.bytes() - kept;
        debug_assert!(self.held() <= self.capacity, "{} of {} bytes", self.held(), self.capacity);
        true
    }

    /// Takes at most this many bytes of the range that became dirty first for write-back; of one file, if
    /// given.
    pub(crate) fn take_dirty(&mut self, file: Option<u64>, most: u64) -> Option<Run> {
        let (file, from) = match file {
            Some(file) => self.dirty_of(file)?,
            None => self.oldest(Held::Dirty)?,
        };
        let to = self.ranges.get(&(file, from))?.to.min(from.saturating_add(most.max(1)));
        let run = Run { file, from, to };
        debug_assert!(run.bytes() <= most.max(1), "no more is taken than may be");
        self.turn(run, Held::Dirty, Held::Leaving);
        self.taken += run.bytes();
        Some(run)
    }

    /// Completes a write-back: bytes of the run that are still leaving become clean.
    pub(crate) fn end_write(&mut self, run: Run) {
        self.written += run.bytes();
        debug_assert!(self.written <= self.taken, "{run:?} was acknowledged and not taken");
        self.turn(run, Held::Leaving, Held::Clean);
    }

    /// Removes a file: its clean and dirty bytes are dropped.
    pub fn remove(&mut self, file: u64) {
        for key in self.keys(Run { file, from: 0, to: u64::MAX }) {
            if self.ranges.get(&key).is_some_and(|range| matches!(range.held, Held::Clean | Held::Dirty)) {
                let range = self.take(key);
                self.discarded += if range.held == Held::Dirty { range.to - key.1 } else { 0 };
            }
        }
    }

    /// Drops all clean bytes.
    pub(crate) fn drop_clean(&mut self) {
        while let Some(key) = self.oldest(Held::Clean) {
            self.take(key);
        }
    }

    /// Bytes of all ranges.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Checks that ranges do not overlap, that sums match the ranges, and that dirty bytes are conserved:
    /// absorbed = dirty + taken + discarded, and nothing was acknowledged that was not taken.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn audit(&self) -> Result<(), String> {
        let mut bytes = [0; 4];
        let mut behind = (0, 0);
        for (&(file, from), range) in &self.ranges {
            if range.to <= from || (file, from) < behind {
                return Err(format!("bytes {from} to {} of file {file} are cached twice or empty", range.to));
            }
            behind = (file, range.to);
            bytes[range.held as usize] += range.to - from;
            if !self.order.contains(&(range.held, range.used, (file, from))) {
                return Err(format!("byte {from} of file {file} has no place in the LRU order"));
            }
        }
        if self.order.len() != self.ranges.len() || bytes != self.bytes {
            return Err(format!(
                "a client's cache has {bytes:?} bytes by state, but counts {:?}",
                self.bytes
            ));
        }
        if self.held() > self.capacity {
            return Err(format!("a client's cache of {} bytes holds {} bytes", self.capacity, self.held()));
        }
        let dirty = self.bytes(Held::Dirty);
        if self.absorbed != dirty + self.taken + self.discarded {
            return Err(format!(
                "{} bytes became dirty, but {dirty} are dirty, {} were taken and {} discarded",
                self.absorbed, self.taken, self.discarded
            ));
        }
        match self.written <= self.taken {
            true => Ok(()),
            false => Err(format!("{} bytes were acknowledged, but {} taken", self.written, self.taken)),
        }
    }

    fn oldest(&self, held: Held) -> Option<(u64, u64)> {
        let first = self.order.range((held, 0, (0, 0))..).next()?;
        (first.0 == held).then_some(first.2)
    }

    /// The ranges that overlap a run.
    fn keys(&self, run: Run) -> Vec<(u64, u64)> {
        let before = self.ranges.range(..(run.file, run.from)).next_back();
        let before = before.filter(|(key, range)| key.0 == run.file && range.to > run.from);
        let inside = self.ranges.range((run.file, run.from)..(run.file, run.to));
        before.into_iter().chain(inside).map(|(key, _)| *key).collect()
    }

    fn take(&mut self, key: (u64, u64)) -> Range {
        let range = self.ranges.remove(&key).expect("the range was found before");
        self.order.remove(&(range.held, range.used, key));
        self.bytes[range.held as usize] -= range.to - key.1;
        range
    }

    fn put(&mut self, key: (u64, u64), range: Range) {
        debug_assert!(range.to > key.1, "a range of {key:?} has no bytes");
        self.bytes[range.held as usize] += range.to - key.1;
        self.order.insert((range.held, range.used, key));
        self.ranges.insert(key, range);
    }

    /// Cuts ranges at both ends of a run, and removes those inside. Returns what was removed.
    fn carve(&mut self, run: Run) -> Vec<(Run, Range)> {
        let mut inside = Vec::new();
        for key in self.keys(run) {
            let range = self.take(key);
            if key.1 < run.from {
                self.put(key, Range { to: run.from, ..range });
            }
            if range.to > run.to {
                self.put((run.file, run.to), range);
            }
            let (from, to) = (key.1.max(run.from), range.to.min(run.to));
            inside.push((Run { file: run.file, from, to }, Range { to, ..range }));
        }
        inside
    }

    /// Inserts a run where nothing is held. Dirty neighbours are merged into one range, as old as the older
    /// of them.
    fn lay(&mut self, run: Run, held: Held) {
        self.clock += 1;
        let mut key = (run.file, run.from);
        let mut range = Range { to: run.to, held, used: self.clock };
        if held == Held::Dirty {
            let before = self.ranges.range(..key).next_back();
            let before =
                before.filter(|(at, one)| at.0 == run.file && one.to == run.from && one.held == held);
            if let Some(at) = before.map(|(at, _)| *at) {
                (range.used, key) = (self.take(at).used, at);
            }
            let after = self.ranges.get(&(run.file, run.to)).filter(|one| one.held == held);
            if after.is_some() {
                let after = self.take((run.file, run.to));
                (range.used, range.to) = (range.used.min(after.used), after.to);
            }
        }
        self.put(key, range);
    }

    /// Changes bytes of a run from one state to another.
    fn turn(&mut self, run: Run, before: Held, after: Held) {
        self.clock += 1;
        for (inside, range) in self.carve(run) {
            let range = match range.held == before {
                true => Range { held: after, used: self.clock, ..range },
                false => range,
            };
            self.put((inside.file, inside.from), range);
        }
    }

    /// Evicts the least recently used clean bytes until this many bytes fit. Evicts nothing if they cannot
    /// fit.
    fn make_room(&mut self, bytes: u64) -> bool {
        if self.held() - self.bytes(Held::Clean) + bytes > self.capacity {
            return false;
        }
        while self.held() + bytes > self.capacity {
            let over = self.held() + bytes - self.capacity;
            let key = self.oldest(Held::Clean).expect("clean bytes are enough, as was found");
            let range = self.take(key);
            // The end of a range that is longer than needed stays.
            if range.to - key.1 > over {
                self.put((key.0, key.1 + over), range);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
