//! The work of a data server on a job between dispatch and completion: pages are looked up in memory, read
//! from the disk, copied, and written back.

use towtank_devices::{Extent, FileId, Found, PageCache};
use towtank_kernel::Fault;

use super::server::{Ctx, running};
use super::{DISK, Pfs};
use crate::counts::Sample;
use crate::disk::{Io, Owner};
use crate::event::{Event, Job};
use crate::nodes::{Patched, Server};
use crate::spec::{Cache, PAGE};

/// Pages of the first read-ahead of a reader.
const AHEAD_FIRST: u64 = 4;

/// The result of a step.
enum Step {
    /// This many bytes are done once they have been copied, page by page.
    Copies(u64, u64),
    /// It continues when something that was started for it is done.
    Waits,
}

impl<'a> Pfs<'a> {
    /// Works on a job's part until a step takes time.
    pub(super) fn go_on(
        &self,
        server: &mut Server,
        slot: u32,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        loop {
            let job = running(server, slot)?;
            debug_assert!(job.given.is_some(), "nobody works on a job that was not let go");
            debug_assert!(job.part <= job.job.bytes, "a part is of its job");
            if job.position >= job.part {
                if self.part_done(server, slot, context)? {
                    continue;
                }
                return Ok(());
            }
            let step = match (&self.spec.cache, job.job.write) {
                (None, _) => self.around(server, slot)?,
                (Some(cache), false) => self.read(server, slot, cache, context)?,
                (Some(cache), true) => self.write(server, slot, cache, context)?,
            };
            self.disk_begins(server, context);
            match step {
                Step::Waits => {
                    running(server, slot)?.busy = true;
                    return Ok(());
                }
                Step::Copies(bytes, pages) => {
                    let Some(cache) = &self.spec.cache else { return Ok(()) };
                    let job = running(server, slot)?;
                    debug_assert!(bytes > 0 && pages > 0, "a copy goes on");
                    job.position += bytes;
                    debug_assert!(job.position <= job.part, "no more is copied than the part has");
                    job.patched = Patched::default();
                    let page = if job.job.write { cache.write_page } else { cache.read_page };
                    let copied = server.memory.serve(context.now(), page.saturating_mul(pages)).end;
                    if copied > context.now() {
                        running(server, slot)?.busy = true;
                        context.send_at(context.me(), copied, Event::Copied { slot });
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Without a cache, the disk serves the whole part.
    fn around(&self, server: &mut Server, slot: u32) -> Result<Step, Fault> {
        let job = running(server, slot)?;
        let io = Io {
            write: job.job.write,
            extents: vec![left_of(&job.job, job.position, job.part)],
            owner: Owner::Around(slot),
        };
        server.disk.waiting.push_back(io);
        Ok(Step::Waits)
    }

    fn read(
        &self,
        server: &mut Server,
        slot: u32,
        spec: &Cache,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<Step, Fault> {
        let job = running(server, slot)?;
        let extent = left_of(&job.job, job.position, job.part);
        let (object, offset) = (job.job.object, job.job.offset + job.position);
        let until = job.job.offset + job.part;
        let cache = cache_of(server)?;
        debug_assert!(offset < until, "something of the part is left");
        match cache.find(&extent) {
            Found::Here(pages) => {
                debug_assert!(pages > 0 && pages <= extent.len(), "what is here is of what was looked for");
                let here = Extent { pages: extent.pages.start..extent.pages.start + pages, ..extent };
                let job = running(server, slot)?;
                let fetched = job.fetched.min(pages);
                job.fetched -= fetched;
                // Pages that were just read for it count as just used.
                if fetched < pages {
                    cache_of(server)?.touch(&here);
                }
                context.record(Sample::Looked { here: pages - fetched, missing: 0 });
                Ok(Step::Copies((here.pages.end * PAGE).min(until) - offset, pages))
            }
            Found::Coming(_) => {
                server.blocked.insert(slot);
                Ok(Step::Waits)
            }
            Found::Missing(pages) => {
                let pages = pages.min(spec.read_batch.max(1));
                debug_assert!(pages > 0, "what is missing has pages");
                let missing = Extent { pages: extent.pages.start..extent.pages.start + pages, ..extent };
                context.record(Sample::Looked { here: 0, missing: pages });
                let kept = cache.begin_read(&missing);
                let owner = if kept { Owner::Job(slot) } else { Owner::Around(slot) };
                let next = missing.pages.end;
                let began = missing.pages.start;
                if kept {
                    running(server, slot)?.fetched += pages;
                } else {
                    // There is no space: this part alone is read past the cache.
                    running(server, slot)?.part =
                        (next * PAGE).min(until) - running(server, slot)?.job.offset;
                }
                server.disk.waiting.push_back(Io { write: false, extents: vec![missing], owner });
                self.read_ahead(server, object, (began, next), spec);
                Ok(Step::Waits)
            }
        }
    }

    /// Reads ahead for a reader that continues where it ended, twice as far each time.
    fn read_ahead(&self, server: &mut Server, object: u64, (began, next): (u64, u64), spec: &Cache) {
        if spec.read_ahead == 0 {
            return;
        }
        let size = server.sizes.get(&object).copied().unwrap_or(u64::MAX);
        let (expected, window) = server.streams.get(&object).copied().unwrap_or((0, 0));
        let window = match began == expected {
            true => (window * 2).clamp(AHEAD_FIRST, spec.read_ahead.max(AHEAD_FIRST)).min(spec.read_ahead),
            false => 0,
        };
        debug_assert!(window <= spec.read_ahead, "no more is read ahead than may be");
        debug_assert!(began < next, "what was read has pages");
        let Some(cache) = &mut server.cache else { return };
        let end = next.saturating_add(window).min(size.div_ceil(PAGE));
        let ahead = Extent { file: FileId(object), pages: next..end.max(next) };
        let mut until = next;
        if let (false, Found::Missing(pages)) = (ahead.is_empty(), cache.find(&ahead)) {
            let ahead = Extent { pages: next..next + pages, ..ahead };
            if cache.begin_read(&ahead) {
                until = ahead.pages.end;
                server.disk.waiting.push_back(Io { write: false, extents: vec![ahead], owner: Owner::Ahead });
            }
        }
        server.streams.insert(object, (until, window));
    }

    fn write(
        &self,
        server: &mut Server,
        slot: u32,
        spec: &Cache,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<Step, Fault> {
        let job = running(server, slot)?;
        let extent = left_of(&job.job, job.position, job.part);
        let (bytes, patched) = (job.part - job.position, job.patched);
        let (object, from) = (job.job.object, job.job.offset + job.position);
        let end = from + bytes;
        let size = server.sizes.get(&object).copied().unwrap_or(0);
        let cache = cache_of(server)?;
        // A page that is written in part, and has content, is read first.
        let parts = [
            (from % PAGE != 0 && size > from / PAGE * PAGE && !patched.first, from / PAGE),
            (end % PAGE != 0 && size > end && !patched.last, end / PAGE),
        ];
        for (is_part, page) in parts {
            let single = Extent { file: extent.file, pages: page..page + 1 };
            match cache.find(&single) {
                _ if !is_part => {}
                Found::Here(_) => {}
                Found::Coming(_) => {
                    server.blocked.insert(slot);
                    return Ok(Step::Waits);
                }
                Found::Missing(_) => {
                    if cache.begin_read(&single) {
                        context.record(Sample::Looked { here: 0, missing: 1 });
                        let patched = &mut running(server, slot)?.patched;
                        patched.first |= page == from / PAGE;
                        patched.last |= page == end / PAGE;
                        server.disk.waiting.push_back(Io {
                            write: false,
                            extents: vec![single],
                            owner: Owner::Job(slot),
                        });
                        return Ok(Step::Waits);
                    }
                }
            }
        }
        let pages = extent.len();
        let more = cache.not_dirty(&extent);
        let fits = cache.dirty_pages() == 0 && more > spec.dirty || cache.dirty_pages() + more <= spec.dirty;
        if fits && cache.write(&extent) {
            debug_assert!(cache.dirty_pages() <= spec.dirty.max(more), "more is dirty than may be");
            if spec.background.is_some_and(|most| cache.dirty_pages() > most) && !server.cleaning {
                server.cleaning = true;
                clean(server, spec)?;
            }
            let size = server.sizes.entry(object).or_default();
            *size = (*size).max(end);
            return Ok(Step::Copies(bytes, pages));
        }
        context.record(Sample::Throttled);
        let taken = cache.take_dirty(Some(extent.file), spec.write_batch.max(1));
        if taken.is_empty() {
            if server.disk.is_idle() {
                // Nothing under way will free space: the cache is too small for this part.
                return self.around(server, slot);
            }
            server.blocked.insert(slot);
        } else {
            server.disk.waiting.push_back(Io { write: true, extents: taken, owner: Owner::Job(slot) });
        }
        Ok(Step::Waits)
    }

    /// The disk starts the next requests.
    fn disk_begins(&self, server: &mut Server, context: &mut Ctx<'_, 'a>) {
        let now = context.now();
        if server.disk.waiting.is_empty() {
            return;
        }
        while let Some((place, done)) = server.disk.begin(&self.spec.disk, now, &mut context.draws(DISK)) {
            debug_assert!(done >= now, "a disk is done after it began");
            context.send_at(context.me(), done, Event::DiskDone { place });
        }
    }

    /// The disk has completed a request.
    pub(super) fn disk_done(
        &self,
        server: &mut Server,
        place: u16,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        let io = server.disk.end(context.now(), place).ok_or("a disk completed an unknown request")?;
        if let (Some(cache), false) = (&mut server.cache, matches!(io.owner, Owner::Around(_))) {
            for extent in &io.extents {
                if io.write { cache.end_write(extent) } else { cache.end_read(extent) }
            }
        }
        self.disk_begins(server, context);
        match io.owner {
            Owner::Job(slot) => self.wakes(server, slot, context)?,
            Owner::Around(slot) => {
                let job = running(server, slot)?;
                debug_assert!(job.position < job.part, "the disk did what was left of a part");
                job.position = job.part;
                job.patched = Patched::default();
                let (object, end) = (job.job.object, job.job.offset + job.part);
                if job.job.write {
                    let size = server.sizes.entry(object).or_default();
                    *size = (*size).max(end);
                }
                self.wakes(server, slot, context)?;
            }
            Owner::Background => {
                let spec = self.spec.cache.as_ref().ok_or("pages are written back without a cache")?;
                let most = spec.background.unwrap_or(u64::MAX);
                if cache_of(server)?.dirty_pages() > most {
                    clean(server, spec)?;
                } else {
                    server.cleaning = false;
                }
            }
            Owner::Ahead => {}
        }
        if !server.blocked.is_empty() {
            for slot in std::mem::take(&mut server.blocked) {
                self.wakes(server, slot, context)?;
            }
        }
        self.disk_begins(server, context);
        Ok(())
    }

    fn wakes(&self, server: &mut Server, slot: u32, context: &mut Ctx<'_, 'a>) -> Result<(), Fault> {
        debug_assert!(!server.blocked.contains(&slot), "who is woken no longer waits");
        running(server, slot)?.busy = false;
        self.go_on(server, slot, context)
    }
}

/// Writes pages back in the background.
fn clean(server: &mut Server, spec: &Cache) -> Result<(), Fault> {
    let taken = cache_of(server)?.take_dirty(None, spec.write_batch.max(1));
    if taken.is_empty() {
        server.cleaning = false;
        return Ok(());
    }
    server.disk.waiting.push_back(Io { write: true, extents: taken, owner: Owner::Background });
    Ok(())
}

fn cache_of(server: &mut Server) -> Result<&mut PageCache, Fault> {
    server.cache.as_mut().ok_or_else(|| "a server has no cache".into())
}

/// The pages of a job between two positions in it.
fn left_of(job: &Job, from: u64, to: u64) -> Extent {
    debug_assert!(from < to && to <= job.bytes, "{from} to {to} of a job of {} bytes", job.bytes);
    let pages = (job.offset + from) / PAGE..(job.offset + to).div_ceil(PAGE);
    Extent { file: FileId(job.object), pages }
}
