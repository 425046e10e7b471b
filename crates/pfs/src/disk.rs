//! A server's disk: what waits for it, where files lie on it, and the drive that serves them.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use towtank_devices::drives::{DiskModel, Drive, Io as Request};
use towtank_devices::{Extent, FileId};
use towtank_streams::Uniform;
use towtank_units::{SimSpan, SimTime};

use crate::spec::{DiskSpec, PAGE};

/// Pages that a file gets on the disk at once: what PFSsim's extents have.
const EXTENT_PAGES: u64 = 1_024;

/// For whom something is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Owner {
    /// A job waits for it.
    Job(u32),
    /// A job waits for it, and the cache has no part in it.
    Around(u32),
    /// It is read ahead.
    Ahead,
    /// It is written back, and nobody waits.
    Background,
}

/// Something to read or write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Io {
    /// Whether it writes.
    pub write: bool,
    /// What.
    pub extents: Vec<Extent>,
    /// For whom.
    pub owner: Owner,
}

/// The disk of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// What waits.
    pub waiting: VecDeque<Io>,
    /// What it does, by place.
    pub serving: Vec<Option<Io>>,
    /// Where files lie.
    local: LocalFiles,
    /// The address behind what was served last.
    head: u64,
    drive: Drive,
    /// Since when it has had something to do.
    since: Option<SimTime>,
    /// How long it had something to do before that.
    busy: SimSpan,
}

/// Where files lie on a disk: each gets room in the order in which it is first touched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct LocalFiles {
    #[serde(with = "towtank_units::pairs")]
    extents: BTreeMap<(FileId, u64), u64>,
    used: u64,
}

impl LocalFiles {
    /// The address of a page.
    fn address(&mut self, file: FileId, page: u64, capacity: u64) -> u64 {
        let used = &mut self.used;
        let first = *self.extents.entry((file, page / EXTENT_PAGES)).or_insert_with(|| {
            let free = *used;
            *used += 1;
            free
        });
        debug_assert!(first < *used, "an extent lies where none was given out");
        let room = (capacity / (EXTENT_PAGES * PAGE)).max(1);
        (first % room * EXTENT_PAGES + page % EXTENT_PAGES) * PAGE
    }
}

impl Disk {
    /// A disk that has done nothing.
    ///
    /// # Panics
    /// When there can be no such drive.
    #[must_use]
    pub fn new(spec: &DiskSpec) -> Disk {
        let drive = spec.model.drive().expect("the drive was checked with the spec");
        let serving = vec![None; usize::from(spec.places())];
        assert!(!serving.is_empty(), "a drive that takes nothing serves nobody");
        Disk {
            waiting: VecDeque::new(),
            serving,
            local: LocalFiles::default(),
            head: 0,
            drive,
            since: None,
            busy: SimSpan::ZERO,
        }
    }

    /// The next request begins, if a place is free and one waits: its place, and when it will be done.
    pub fn begin(
        &mut self,
        spec: &DiskSpec,
        now: SimTime,
        draws: &mut impl Uniform,
    ) -> Option<(u16, SimTime)> {
        let place = self.serving.iter().position(Option::is_none)?;
        let io = self.take_next(spec)?;
        self.since.get_or_insert(now);
        debug_assert!(self.since.is_some_and(|since| since <= now), "a disk was busy before now");
        debug_assert!(!io.extents.is_empty(), "a disk is asked for something");
        let capacity = spec.capacity();
        let mut done = now;
        for extent in &io.extents {
            let mut page = extent.pages.start;
            while page < extent.pages.end {
                // A rate does not care where it is.
                let (offset, until) = match spec.is_rate() {
                    true => (0, extent.pages.end),
                    false => {
                        let end = (page / EXTENT_PAGES + 1) * EXTENT_PAGES;
                        (self.local.address(extent.file, page, capacity), end.min(extent.pages.end))
                    }
                };
                debug_assert!(until > page, "each request has pages");
                let request = Request { write: io.write, offset, bytes: (until - page) * PAGE };
                done = done.max(spec.model.serve(&mut self.drive, now, request, draws).end);
                self.head = request.end();
                page = until;
            }
        }
        debug_assert!(done >= now, "a disk is done at {done:?} with what began at {now:?}");
        debug_assert!(self.serving[place].is_none(), "a place serves one request");
        self.serving[place] = Some(io);
        Some((place as u16, done))
    }

    fn take_next(&mut self, spec: &DiskSpec) -> Option<Io> {
        if spec.order == towtank_devices::drives::HeadOrder::Fifo || spec.is_rate() {
            return self.waiting.pop_front();
        }
        let capacity = spec.capacity();
        let local = &mut self.local;
        let addresses: Vec<u64> = self
            .waiting
            .iter()
            .map(|io| io.extents.first().map_or(0, |one| local.address(one.file, one.pages.start, capacity)))
            .collect();
        self.waiting.remove(spec.order.next(self.head, addresses)?)
    }

    /// What was served at a place is done.
    pub fn end(&mut self, now: SimTime, place: u16) -> Option<Io> {
        let io = self.serving.get_mut(usize::from(place))?.take()?;
        debug_assert!(self.since.is_some_and(|since| since <= now), "a disk ends what it began");
        if self.serving.iter().all(Option::is_none) {
            self.busy = self.busy_at(now);
            self.since = None;
        }
        Some(io)
    }

    /// Whether it does nothing and nothing waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.serving.iter().all(Option::is_none)
    }

    /// How long it has had something to do.
    #[must_use]
    pub fn busy_at(&self, now: SimTime) -> SimSpan {
        self.since.map_or(self.busy, |since| self.busy.saturating_add(now.since(since)))
    }

    /// Checks the laws of the drive.
    ///
    /// # Errors
    /// The first that does not hold.
    pub fn audit(&self) -> Result<(), String> {
        self.drive.audit().map_err(|broken| broken.to_string())
    }
}

impl DiskSpec {
    /// Requests that the drive takes at once.
    #[must_use]
    pub fn places(&self) -> u16 {
        if matches!(self.model, DiskModel::Ssd(_)) { SSD_PLACES } else { 1 }
    }

    fn is_rate(&self) -> bool {
        matches!(self.model, DiskModel::Rate(_))
    }

    /// Bytes of it; files begin again at its front when it is full.
    fn capacity(&self) -> u64 {
        match &self.model {
            DiskModel::Rate(_) => u64::MAX,
            DiskModel::Seek(spec) => spec.capacity().get(),
            DiskModel::Table(spec) => spec.jumps.last().copied().unwrap_or(u64::MAX),
            DiskModel::Ssd(spec) => spec.capacity.get(),
        }
    }
}

/// Requests that an SSD takes at once: SATA's queue.
const SSD_PLACES: u16 = 32;
