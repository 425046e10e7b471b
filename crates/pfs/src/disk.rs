//! A server's disk: its queue, the placement of files on it, and the drive that serves requests.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use towtank_devices::drives::{DiskModel, Drive, Io as Request};
use towtank_devices::{Extent, FileId};
use towtank_streams::Uniform;
use towtank_units::{SimSpan, SimTime};

use crate::spec::{DiskSpec, PAGE};

/// Pages that are allocated to a file at once, as in PFSsim's extents.
const EXTENT_PAGES: u64 = 1_024;

/// For whom the disk reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Owner {
    /// A job waits for it.
    Job(u32),
    /// A job waits for it, and the cache is bypassed.
    Around(u32),
    /// Read-ahead.
    Ahead,
    /// Write-back for which no job waits.
    Background,
}

/// A disk request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Io {
    /// Whether it writes.
    pub write: bool,
    /// The pages to read or write.
    pub extents: Vec<Extent>,
    /// The owner of the request.
    pub owner: Owner,
}

/// The disk of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// Requests that wait.
    pub waiting: VecDeque<Io>,
    /// Requests in service, by slot.
    pub serving: Vec<Option<Io>>,
    /// The placement of files.
    local: LocalFiles,
    /// The address behind the last request.
    head: u64,
    drive: Drive,
    /// Since when it has been busy, if it is.
    since: Option<SimTime>,
    /// The busy time before that.
    busy: SimSpan,
}

/// Placement of files on a disk: extents are allocated in the order in which they are first touched.
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
    /// An idle, unused disk.
    ///
    /// # Panics
    /// When the model of the drive is invalid.
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

    /// Starts the next request, if a slot is free and one waits: its slot, and when it will be done.
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
                // With a plain rate the position does not matter.
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

    /// Completes the request in service at a slot.
    pub fn end(&mut self, now: SimTime, place: u16) -> Option<Io> {
        let io = self.serving.get_mut(usize::from(place))?.take()?;
        debug_assert!(self.since.is_some_and(|since| since <= now), "a disk ends what it began");
        if self.serving.iter().all(Option::is_none) {
            self.busy = self.busy_at(now);
            self.since = None;
        }
        Some(io)
    }

    /// Whether the disk serves nothing and nothing waits.
    #[must_use]
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.serving.iter().all(Option::is_none)
    }

    /// The busy time of the disk up to `now`.
    #[must_use]
    pub fn busy_at(&self, now: SimTime) -> SimSpan {
        self.since.map_or(self.busy, |since| self.busy.saturating_add(now.since(since)))
    }

    /// Checks the invariants of the drive.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self) -> Result<(), String> {
        self.drive.audit().map_err(|broken| broken.to_string())
    }
}

impl DiskSpec {
    /// The number of requests that the drive serves at once.
    #[must_use]
    pub fn places(&self) -> u16 {
        if matches!(self.model, DiskModel::Ssd(_)) { SSD_PLACES } else { 1 }
    }

    fn is_rate(&self) -> bool {
        matches!(self.model, DiskModel::Rate(_))
    }

    /// Capacity in bytes; when the disk is full, allocation starts again at the front.
    fn capacity(&self) -> u64 {
        match &self.model {
            DiskModel::Rate(_) => u64::MAX,
            DiskModel::Seek(spec) => spec.capacity().get(),
            DiskModel::Table(spec) => spec.jumps.last().copied().unwrap_or(u64::MAX),
            DiskModel::Ssd(spec) => spec.capacity.get(),
        }
    }
}

/// Requests that an SSD serves at once: the depth of SATA's queue.
const SSD_PLACES: u16 = 32;
