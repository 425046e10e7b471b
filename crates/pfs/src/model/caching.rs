//! The operation of a client's data cache: reads that it answers, writes that it absorbs, reads from servers
//! on a miss, and write-back.
//!
//! A read proceeds through its bytes from the front: cached bytes are copied, missing bytes are read from
//! servers, and bytes that another request is reading are waited for. A write is copied piece by piece, as
//! far as the limit of dirty bytes allows, and is acknowledged when its last piece has been copied. Dirty
//! bytes are written back when there are more than the background limit, when a request waits for space or
//! for a file, and at the end of a phase: the client reports the phase as finished only when servers have all
//! of them.

use towtank_kernel::Fault;
use towtank_units::{Bytes, SimSpan};

use super::Pfs;
use super::client::{Ctx, FLUSHES, wish_of};
use crate::client_cache::{ClientCache, Held, Lookup, Run};
use crate::counts::Sample;
use crate::event::Event;
use crate::nodes::{Caching, Client, Flush, Waits};
use crate::spec::ClientCache as Spec;
use crate::work::{Operation, Wish};

/// An empty cache.
pub(super) fn empty(spec: &Spec) -> Caching {
    Caching {
        cache: ClientCache::new(spec.bytes),
        flushes: Vec::new(),
        flows: std::collections::BTreeMap::new(),
        waiting: std::collections::BTreeMap::new(),
        draining: false,
    }
}

/// How a request proceeds at the cache.
enum Next {
    /// It proceeds at once.
    GoesOn,
    /// It waits.
    Waits,
    /// It waits for bytes that are being read for it.
    Reads(Run),
}

impl<'a> Pfs<'a> {
    /// A phase begins: a cold cache drops its clean bytes.
    pub(super) fn cache_begins(&self, client: &mut Client) {
        let Some(caching) = &mut client.caching else { return };
        debug_assert_eq!(caching.cache.unsaved(), 0, "a phase ends with nothing unsaved");
        if self.spec.client.cache.is_some_and(|spec| spec.cold) {
            caching.cache.drop_clean();
        }
    }

    /// Advances a request at the cache until it has to wait.
    pub(super) fn step(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) {
        loop {
            let state = &client.flows[usize::from(flow)];
            debug_assert!(state.jobs == 0, "a request goes on when its jobs are done");
            debug_assert!(state.asked <= wish.bytes, "no more is asked for than is wished");
            if state.asked >= wish.bytes {
                self.copies(client, flow, context);
                return;
            }
            let rose = state.rose;
            let next = match wish.operation {
                Operation::Write => self.takes(client, flow, wish, context),
                _ => self.looks(client, flow, wish, context),
            };
            match next {
                Next::GoesOn => {}
                Next::Waits => return,
                Next::Reads(run) => {
                    let jobs = self.send_run(client, flow, run, (false, rose), context);
                    client.flows[usize::from(flow)].jobs = jobs;
                    return;
                }
            }
        }
    }

    /// Absorbs the next piece of a write, as far as the limit of dirty bytes allows.
    fn takes(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) -> Next {
        let (Some(spec), Some(caching)) = (&self.spec.client.cache, &mut client.caching) else {
            return Next::Waits;
        };
        let state = &mut client.flows[usize::from(flow)];
        let from = wish.offset + state.asked;
        let room = spec.dirty.saturating_sub(caching.cache.unsaved());
        let bytes = room.min(wish.bytes - state.asked);
        let fits = bytes > 0 && caching.cache.write(Run { file: wish.file, from, to: from + bytes });
        let of_cache = caching.flows.entry(flow).or_default();
        if fits {
            state.asked += bytes;
            of_cache.copied += bytes;
        } else {
            if !of_cache.held {
                context.record(Sample::Held);
            }
            of_cache.held = true;
            caching.waiting.insert(flow, Waits::Room);
        }
        debug_assert!(caching.cache.unsaved() <= spec.dirty, "more bytes are dirty than may be");
        self.write_back(client, context);
        if fits { Next::GoesOn } else { Next::Waits }
    }

    /// Looks up a read's next bytes: cached, being read, or missing.
    fn looks(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) -> Next {
        let Some(caching) = &mut client.caching else { return Next::Waits };
        let state = &mut client.flows[usize::from(flow)];
        let from = wish.offset + state.asked;
        let run = Run { file: wish.file, from, to: wish.offset + wish.bytes };
        let of_cache = caching.flows.entry(flow).or_default();
        match caching.cache.find(run) {
            Lookup::Here(bytes) => {
                caching.cache.touch(Run { to: from + bytes, ..run });
                state.asked += bytes;
                of_cache.copied += bytes;
                context.record(Sample::Kept { here: bytes, missing: 0 });
                Next::GoesOn
            }
            Lookup::Coming(_) => {
                caching.waiting.insert(flow, Waits::Coming);
                Next::Waits
            }
            Lookup::Missing(bytes) => {
                let bytes = bytes.min(self.spec.client.window);
                debug_assert!(bytes > 0 && of_cache.fetching.is_none(), "a request reads one run at a time");
                let run = Run { to: from + bytes, ..run };
                of_cache.fetching = Some((run, caching.cache.begin_read(run)));
                state.asked += bytes;
                context.record(Sample::Kept { here: 0, missing: bytes });
                Next::Reads(run)
            }
        }
    }

    /// Copies the bytes that were found or absorbed; then the request is done, or waits for its file.
    fn copies(&self, client: &mut Client, flow: u16, context: &mut Ctx<'_, 'a>) {
        let copied = client.caching.as_ref().and_then(|caching| caching.flows.get(&flow));
        let copied = copied.map_or(0, |one| one.copied);
        let rate = self.spec.client.cache.and_then(|spec| spec.copy);
        let span = rate.map_or(SimSpan::ZERO, |rate| rate.span_for(Bytes::new(copied)));
        let copied = client.cpu.serve(context.now(), span).end;
        context.send_at(context.me(), copied, Event::Local { flow });
    }

    /// A request's bytes have been copied: it is done, unless its file's dirty bytes must be at servers
    /// first.
    pub(super) fn local(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) {
        if let Some(caching) = &mut client.caching {
            let asked = caching.flows.get(&flow).is_some_and(|one| one.syncs);
            let syncs = wish.operation == Operation::Sync || asked && wish.operation == Operation::Write;
            if syncs && unsaved(caching, wish.file) {
                caching.waiting.insert(flow, Waits::Sync(wish.file));
                self.write_back(client, context);
                return;
            }
        }
        self.complete(client, flow, wish, context);
    }

    /// The bytes that were read for a request have arrived.
    pub(super) fn fetched(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) {
        if let Some(caching) = &mut client.caching
            && let Some((run, true)) = caching.flows.get_mut(&flow).and_then(|one| one.fetching.take())
        {
            caching.cache.end_read(run);
        }
        self.step(client, flow, wish, context);
        self.wake(client, context);
    }

    /// The requests that wait for the cache try again.
    fn wake(&self, client: &mut Client, context: &mut Ctx<'_, 'a>) {
        let Some(caching) = &mut client.caching else { return };
        for (flow, waits) in std::mem::take(&mut caching.waiting) {
            let Ok(wish) = wish_of(client, flow) else { continue };
            match waits {
                Waits::Sync(_) => self.local(client, flow, wish, context),
                Waits::Coming | Waits::Room => self.step(client, flow, wish, context),
            }
        }
    }

    /// Writes dirty bytes back: first those of files that requests wait for, then those that became dirty
    /// first.
    fn write_back(&self, client: &mut Client, context: &mut Ctx<'_, 'a>) {
        let Some(spec) = &self.spec.client.cache else { return };
        while let Some((slot, run)) = client.caching.as_mut().and_then(|caching| next_flush(caching, spec)) {
            let rose = context.now();
            let jobs = self.send_run(client, FLUSHES + slot, run, (true, rose), context);
            debug_assert!(jobs > 0 && run.bytes() <= spec.batch, "a write-back has bytes, up to a batch");
            if let Some(caching) = &mut client.caching {
                debug_assert!(caching.flushes.len() <= usize::from(spec.flushes), "too many are under way");
                caching.flushes[usize::from(slot)] = Some(Flush { run, jobs });
            }
        }
    }

    /// A job of a write-back is done.
    pub(super) fn flushed(
        &self,
        client: &mut Client,
        slot: u16,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        let caching = client.caching.as_mut().ok_or("a client without a cache writes back")?;
        let place = caching.flushes.get_mut(usize::from(slot));
        let place = place.ok_or("a reply arrived for a write-back that was never started")?;
        let flush = place.as_mut().ok_or("a reply arrived for a completed write-back")?;
        flush.jobs = flush.jobs.checked_sub(1).ok_or("a write-back has more replies than jobs")?;
        if flush.jobs > 0 {
            return Ok(());
        }
        let run = flush.run;
        *place = None;
        caching.cache.end_write(run);
        self.wake(client, context);
        self.write_back(client, context);
        self.drained(client, context);
        Ok(())
    }

    /// The last request of a phase is done: the client has finished once servers have its dirty bytes.
    pub(super) fn drain(&self, client: &mut Client, context: &mut Ctx<'_, 'a>) {
        match &mut client.caching {
            Some(caching) if caching.cache.unsaved() > 0 => {
                caching.draining = true;
                self.write_back(client, context);
            }
            _ => self.say_through(context),
        }
    }

    fn drained(&self, client: &mut Client, context: &mut Ctx<'_, 'a>) {
        let Some(caching) = &mut client.caching else { return };
        if caching.draining && caching.cache.unsaved() == 0 {
            caching.draining = false;
            debug_assert!(caching.flows.is_empty(), "a client is drained when its requests are done");
            let (phase, application) = (client.phase, client.rank.application);
            context.record(Sample::Drained { phase, application, at: context.now() });
            self.say_through(context);
        }
    }

    /// Drops a removed file from the cache.
    pub(super) fn forget(&self, client: &mut Client, file: u64, context: &mut Ctx<'_, 'a>) {
        let Some(caching) = &mut client.caching else { return };
        caching.cache.remove(file);
        self.wake(client, context);
    }
}

/// Whether a file has bytes that are dirty or being written back.
fn unsaved(caching: &Caching, file: u64) -> bool {
    let leaving = caching.flushes.iter().flatten().any(|flush| flush.run.file == file);
    leaving || caching.cache.is_dirty(file)
}

/// The next run to write back and its slot, if there is one.
fn next_flush(caching: &mut Caching, spec: &Spec) -> Option<(u16, Run)> {
    let slot = match caching.flushes.iter().position(Option::is_none) {
        Some(free) => free,
        None if caching.flushes.len() < usize::from(spec.flushes) => {
            caching.flushes.push(None);
            caching.flushes.len() - 1
        }
        None => return None,
    };
    let wanted = caching.waiting.values().find_map(|waits| match waits {
        Waits::Sync(file) => Some(*file).filter(|file| caching.cache.is_dirty(*file)),
        Waits::Coming | Waits::Room => None,
    });
    let is_urgent = caching.draining || caching.waiting.values().any(|waits| *waits == Waits::Room);
    let over = caching.cache.bytes(Held::Dirty) > spec.background;
    let run = match wanted {
        Some(file) => caching.cache.take_dirty(Some(file), spec.batch),
        None if is_urgent || over => caching.cache.take_dirty(None, spec.batch),
        None => None,
    }?;
    Some((slot as u16, run))
}
