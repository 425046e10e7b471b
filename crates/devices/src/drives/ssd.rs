//! A solid-state drive: channels with dies, pages that are written once and erased by the block, a write
//! buffer, and garbage collection.
//!
//! - **Placement of pages**: logical page p belongs to die p mod dies, so neighbouring pages lie on all dies.
//!   Each die has one open block that it writes; a rewritten page becomes stale at its old location.
//! - **Garbage collection** is greedy: a die with fewer than `free_blocks` free blocks takes the block with
//!   the fewest pages in use, moves these pages within the die, and erases the block. The die serves nothing
//!   else meanwhile. Spare space is what makes collection efficient; the number of pages moved per page
//!   written gives the write amplification ([`Wear`]).
//! - **A write** is done when all its pages are in the buffer: at the rate of the host, or, if the buffer is
//!   full, as fast as programs end. A page that is partly written is read first. **A read** of a page in the
//!   buffer costs only the transfer to the host; any other page is read by its die and sent over its channel.
//!
//! A channel sends a page while the die programs the previous one (a cache register). Parameters are those
//! that MQSim and the SSD add-on of DiskSim have in common. Left out: planes, suspended programs, a mapping
//! that is itself on flash, wear levelling, trim, and merging of writes in the buffer. Dies and channels
//! serve in order of arrival: a read waits for earlier writes.
//!
//! The state takes eight bytes per page of flash. An entity that is cloned for each event should use a small
//! drive: a drive of a few GiB has the same write amplification as one of a few TiB with the same share of
//! spare space.

mod flash;

use std::collections::{BTreeMap, BTreeSet};

use towtank_units::{Bytes, Rate, SimSpan, SimTime};

use self::flash::{Flash, Moves, Shape};
use super::{DriveError, Io};
use crate::{Broken, Lane, Service};

/// The maximum number of flash pages of a drive; the map then takes 128 MiB of memory.
pub const PAGES_MAX: u64 = 1 << 24;

/// The parameters of a solid-state drive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SsdSpec {
    /// The capacity that the user sees; the rest of the flash is spare space.
    pub capacity: Bytes,
    /// Bytes per page.
    pub page: Bytes,
    /// Pages per block.
    pub block_pages: u32,
    /// Blocks per die.
    pub die_blocks: u32,
    /// The number of channels.
    pub channels: u32,
    /// Dies per channel.
    pub channel_dies: u32,
    /// The time in which a die reads a page.
    pub read: SimSpan,
    /// The time in which a die programs a page.
    pub program: SimSpan,
    /// The time in which a die erases a block.
    pub erase: SimSpan,
    /// Bytes per second over a channel.
    pub channel_rate: Rate,
    /// Bytes per second between host and drive, in each direction.
    pub host_rate: Rate,
    /// The fixed time per request.
    pub overhead: SimSpan,
    /// The size of the write buffer, which holds writes until they are programmed; 0: a write waits for its
    /// programs.
    pub buffer: Bytes,
    /// The number of free blocks of a die below which it collects garbage.
    pub free_blocks: u32,
}

impl SsdSpec {
    fn shape(&self) -> Shape {
        Shape {
            dies: self.channels * self.channel_dies,
            die_blocks: self.die_blocks,
            block_pages: self.block_pages,
        }
    }

    /// The number of flash pages and the number of user pages.
    fn pages(&self) -> Option<(u64, u64)> {
        let dies = u64::from(self.channels).checked_mul(u64::from(self.channel_dies))?;
        let die_pages = u64::from(self.die_blocks).checked_mul(u64::from(self.block_pages))?;
        let user = self.capacity.pieces_of(self.page)?;
        dies.checked_mul(die_pages).map(|flash| (flash, user))
    }

    pub(super) fn check(&self) -> Result<u32, DriveError> {
        let some = [
            ("block_pages", self.block_pages),
            ("die_blocks", self.die_blocks),
            ("channels", self.channels),
            ("channel_dies", self.channel_dies),
            ("free_blocks", self.free_blocks),
        ];
        if let Some((key, _)) = some.into_iter().find(|(_, count)| *count == 0) {
            return Err(DriveError::new(key, 0, "at least 1"));
        }
        let Some((flash, user)) = self.pages().filter(|(flash, _)| *flash <= PAGES_MAX) else {
            let limit = format!("large enough for at most {PAGES_MAX} flash pages, of at least one byte");
            return Err(DriveError::new("page", self.page, limit));
        };
        let dies = u64::from(self.channels) * u64::from(self.channel_dies);
        // Each die needs its free blocks and one open block.
        let kept = u64::from(self.free_blocks) + 1;
        let usable = u64::from(self.die_blocks).saturating_sub(kept) * u64::from(self.block_pages);
        if user == 0 || user.div_ceil(dies) > usable {
            let most = Bytes::new((usable * dies).saturating_mul(self.page.get()));
            let limit =
                format!("above 0 and at most {most}: {flash} flash pages less {kept} blocks of each die");
            return Err(DriveError::new("capacity", self.capacity, limit));
        }
        Ok(user as u32)
    }

    /// Spare space divided by user capacity: α − 1, where formulas use α.
    #[cfg(test)]
    #[must_use]
    pub(super) fn spare_f64(&self) -> f64 {
        self.pages().map_or(0.0, |(flash, user)| flash as f64 / user as f64 - 1.0)
    }
}

/// Counts of programmed pages and erased blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Wear {
    /// Pages programmed for the host.
    pub host_pages: u64,
    /// Pages programmed because garbage collection moved them.
    pub moved_pages: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
}

impl Wear {
    /// Pages programmed per page that the host wrote; one if the host wrote none.
    #[cfg(test)]
    #[must_use]
    fn amplification_f64(&self) -> f64 {
        if self.host_pages == 0 { 1.0 } else { 1.0 + self.moved_pages as f64 / self.host_pages as f64 }
    }

    /// The difference to an earlier count.
    #[must_use]
    pub fn since(&self, before: Wear) -> Wear {
        Wear {
            host_pages: self.host_pages - before.host_pages,
            moved_pages: self.moved_pages - before.moved_pages,
            erased_blocks: self.erased_blocks - before.erased_blocks,
        }
    }
}

/// The state of a solid-state drive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Ssd {
    flash: Flash,
    dies: Vec<Lane>,
    channels: Vec<Lane>,
    /// The link from the host; `outward` is the link to the host.
    inward: Lane,
    outward: Lane,
    /// Pages in the buffer, ordered by the end of their program.
    leaving: BTreeSet<(SimTime, u32)>,
    /// The same, by page.
    held: BTreeMap<u32, SimTime>,
}

impl Ssd {
    /// A drive on which nothing was written.
    ///
    /// # Errors
    /// If the parameters are not valid, for example with less spare space than collection needs.
    pub fn new(spec: &SsdSpec) -> Result<Ssd, DriveError> {
        let user_pages = spec.check()?;
        let shape = spec.shape();
        Ok(Ssd {
            flash: Flash::new(shape, user_pages, spec.free_blocks),
            dies: vec![Lane::default(); shape.dies as usize],
            channels: vec![Lane::default(); spec.channels as usize],
            inward: Lane::default(),
            outward: Lane::default(),
            leaving: BTreeSet::new(),
            held: BTreeMap::new(),
        })
    }

    /// Writes each page once, in order and in no time, so that the drive is full, as a drive in use is.
    pub fn fill(&mut self) {
        for page in 0..self.flash.user_pages() {
            self.flash.write(page);
        }
    }

    /// Serves a request that arrives now. Addresses beyond the capacity wrap to 0, and no request touches a
    /// page twice.
    pub fn serve(&mut self, spec: &SsdSpec, now: SimTime, io: Io) -> Service {
        self.forget(now);
        let now_busy = now.saturating_add(spec.overhead);
        let end = if io.write { self.write(spec, now_busy, io) } else { self.read(spec, now_busy, io) };
        Service { begin: now, end }
    }

    /// When all requests that have arrived will be done and programmed.
    #[must_use]
    pub fn idle_at(&self) -> SimTime {
        let lanes = self.dies.iter().chain(&self.channels).chain([&self.inward, &self.outward]);
        lanes.map(|lane| lane.idle_at).max().unwrap_or(SimTime::ZERO)
    }

    /// The counts of programmed pages and erased blocks so far.
    #[cfg(test)]
    #[must_use]
    fn wear(&self) -> Wear {
        self.flash.wear()
    }

    /// Checks the invariants: no page is lost, and no lane has more work than elapsed time allows.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self) -> Result<(), Broken> {
        let mut lanes = self.dies.iter().chain(&self.channels).chain([&self.inward, &self.outward]);
        lanes.try_for_each(Lane::audit)?;
        self.flash.audit()
    }

    /// The pages of a request, each with whether the request covers all of it.
    fn pages(&self, spec: &SsdSpec, io: Io) -> impl Iterator<Item = (u32, bool)> + use<> {
        let (page, user) = (spec.page.get(), u64::from(self.flash.user_pages()));
        let first = io.offset / page;
        let end = if io.bytes == 0 { first } else { io.end().div_ceil(page).min(first + user) };
        (first..end).map(move |number| {
            let whole = number * page >= io.offset && io.end() - number * page >= page;
            ((number % user) as u32, whole)
        })
    }

    fn write(&mut self, spec: &SsdSpec, now: SimTime, io: Io) -> SimTime {
        let room = spec.buffer.get() / spec.page.get();
        let arrived = self.inward.serve(now, spec.host_rate.span_for(Bytes::new(io.bytes))).end;
        let mut done = arrived;
        for (page, whole) in self.pages(spec, io) {
            let entered = if (self.leaving.len() as u64) < room {
                arrived
            } else {
                self.leaving.pop_first().map_or(arrived, |(at, page)| {
                    if self.held.get(&page) == Some(&at) {
                        self.held.remove(&page);
                    }
                    at.max(arrived)
                })
            };
            let programmed = self.program(spec, entered, page, whole);
            if room > 0 {
                self.leaving.insert((programmed, page));
                self.held.insert(page, programmed);
            }
            done = done.max(if room > 0 { entered } else { programmed });
        }
        done
    }

    /// Sends a page to its die, which collects garbage first if needed; returns when it is programmed.
    fn program(&mut self, spec: &SsdSpec, entered: SimTime, page: u32, whole: bool) -> SimTime {
        let die = self.flash.die_of(page);
        let read_first = !whole && self.flash.is_written(page);
        let sent = self.channels[die / spec.channel_dies as usize]
            .serve(entered, spec.channel_rate.span_for(spec.page))
            .end;
        let Moves { pages, blocks } = self.flash.write(page);
        let moved = spec.read.saturating_add(spec.program).saturating_mul(pages);
        let collected = moved.saturating_add(spec.erase.saturating_mul(blocks));
        let before = if read_first { spec.read } else { SimSpan::ZERO };
        let span = collected.saturating_add(before).saturating_add(spec.program);
        self.dies[die].serve(sent, span).end
    }

    fn read(&mut self, spec: &SsdSpec, now: SimTime, io: Io) -> SimTime {
        let (mut first, mut last) = (None::<SimTime>, now);
        for (page, _) in self.pages(spec, io) {
            if self.held.contains_key(&page) {
                continue;
            }
            let die = self.flash.die_of(page);
            let read = self.dies[die].serve(now, spec.read).end;
            let sent = self.channels[die / spec.channel_dies as usize]
                .serve(read, spec.channel_rate.span_for(spec.page));
            first = Some(first.map_or(sent.begin, |first| first.min(sent.begin)));
            last = last.max(sent.end);
        }
        let sent_in = last.since(first.unwrap_or(last));
        self.outward.cut_through(last, sent_in, spec.host_rate.span_for(Bytes::new(io.bytes))).end
    }

    /// Removes from the buffer the pages that have been programmed by now.
    fn forget(&mut self, now: SimTime) {
        while let Some(&(at, page)) = self.leaving.first().filter(|(at, _)| *at <= now) {
            self.leaving.pop_first();
            if self.held.get(&page) == Some(&at) {
                self.held.remove(&page);
            }
        }
    }
}

#[cfg(test)]
mod tests;
