//! Clients: requests, their windows and jobs, and their completion.

use towtank_kernel::{Context, Fault};
use towtank_streams::distributions::Exponential;
use towtank_units::{SimSpan, SimTime};

use super::{ARRIVAL, Pfs, WISH};
use crate::client_cache::{Lookup, Run};
use crate::counts::Sample;
use crate::event::{Event, Job, Message};
use crate::nodes::{CachedFlow, Client, Flow, Mark};
use crate::spec::{MetadataBy, Reads};
use crate::work::{Operation, Pace, Phase, Wish};

/// An odd number with evenly spread bits: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Flow numbers of a client from here on are write-backs of its cache.
pub(super) const FLUSHES: u16 = 1 << 15;
/// The position in an object's number of the number of the copy.
const COPY_SHIFT: u32 = 60;

pub(super) type Ctx<'c, 'a> = Context<'c, Pfs<'a>>;

impl<'a> Pfs<'a> {
    /// A phase begins at a client.
    pub(super) fn begin_phase(&self, client: &mut Client, phase: u16, context: &mut Ctx<'_, 'a>) {
        debug_assert!(phase == 0 || phase == client.phase + 1, "phases follow each other");
        debug_assert!(client.waiting.is_empty(), "a phase ends with its requests");
        (client.phase, client.begun, client.through, client.come) = (phase, 0, 0, 0);
        let own = client.cpu.busy;
        let (sent, received) = (client.card.out.busy, client.card.received());
        client.mark = Mark { own, sent, received, ..Mark::default() };
        debug_assert!(client.flows.iter().all(|flow| flow.wish.is_none()), "a phase ends with its requests");
        self.cache_begins(client);
        client.idle.clear();
        if self.pace(client) != Pace::Closed {
            client.idle.extend((0..client.flows.len() as u16).rev());
        }
        if self.requests(client) == 0 {
            self.say_through(context);
            return;
        }
        match self.pace(client) {
            Pace::Drawn(_) => self.next_arrival(client, context),
            Pace::Recorded => self.next_due(client, context.now(), context),
            Pace::Closed => {
                for flow in 0..client.flows.len() as u16 {
                    let wait = self.wait(client, context.now(), context.now()).unwrap_or(SimSpan::ZERO);
                    self.next_after(client, flow, wait, context);
                }
            }
        }
    }

    /// The current phase.
    pub(super) fn phase(&self, client: &Client) -> Phase {
        let phases = &self.spec.work.of(client.rank).phases;
        phases.get(usize::from(client.phase)).copied().unwrap_or(Phase::Rest)
    }

    pub(super) fn pace(&self, client: &Client) -> Pace {
        self.spec.work.of(client.rank).pace(self.phase(client))
    }

    /// How long to wait for the next recorded request at `now`, when the previous one was issued at `rose`;
    /// `None` where requests are not recorded.
    fn wait(&self, client: &Client, rose: SimTime, now: SimTime) -> Option<SimSpan> {
        let replay = self.spec.work.of(client.rank).replay.as_ref()?;
        if self.phase(client) != Phase::Replay {
            return None;
        }
        let record = replay.of(client.rank).get(client.begun as usize)?;
        Some(match record.from_start {
            true => rose.saturating_add(record.at).checked_since(now).unwrap_or(SimSpan::ZERO),
            false => record.at,
        })
    }

    /// A flow begins its next request after a rest.
    fn next_after(&self, client: &mut Client, flow: u16, rest: SimSpan, context: &mut Ctx<'_, 'a>) {
        if rest.is_zero() {
            self.next(client, flow, context.now(), context);
        } else {
            context.send(context.me(), rest, Event::Next { flow, phase: client.phase });
        }
    }

    /// The number of requests of the current phase.
    pub(super) fn requests(&self, client: &Client) -> u64 {
        self.spec.work.of(client.rank).requests(self.phase(client), client.rank)
    }

    pub(super) fn say_through(&self, context: &mut Ctx<'_, 'a>) {
        let at = context.now().saturating_add(self.spec.network.latency);
        let from = context.me().0;
        context.send_at(self.starter(), at, Event::Here { from, message: Message::Through });
    }

    /// A flow begins its next request, which was issued at `rose`.
    fn next(&self, client: &mut Client, flow: u16, rose: SimTime, context: &mut Ctx<'_, 'a>) {
        if client.begun == self.requests(client) {
            return;
        }
        let application = self.spec.work.of(client.rank);
        let phase = self.phase(client);
        let wish = application.wish(client.rank, phase, client.begun, &mut context.draws(WISH));
        if let Some(caching) = &mut client.caching {
            let syncs = application.syncs(client.rank, phase, client.begun);
            caching.flows.insert(flow, CachedFlow { syncs, ..CachedFlow::default() });
        }
        client.begun += 1;
        debug_assert!(rose <= context.now(), "a request begins after it rose");
        debug_assert!(client.through < client.begun, "a request is begun and not done");
        debug_assert_eq!(wish.operation.moves_bytes(), wish.bytes > 0, "{wish:?} moves what it says");
        let state = &mut client.flows[usize::from(flow)];
        debug_assert!(state.wish.is_none(), "a flow has one request at a time");
        state.wish = Some(wish);
        (state.rose, state.asked, state.jobs) = (rose, 0, 0);
        let prepared = client.cpu.serve(context.now(), self.spec.client.request).end;
        if prepared > context.now() {
            context.send_at(context.me(), prepared, Event::Prepared { flow });
        } else {
            self.prepared(client, flow, wish, context);
        }
    }

    /// The processing before a request is done: the client asks for its layout, or sends its jobs.
    fn prepared(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) {
        let knows = self.spec.client.layouts_are_kept && client.layouts.contains(&wish.file);
        let is_local = wish.operation == Operation::Sync || is_cached(client, wish);
        if wish.operation.moves_bytes() && knows || is_local {
            self.issue(client, flow, wish, context);
            return;
        }
        let message = Message::Ask { client: context.me().0, flow, operation: wish.operation };
        let servers = u64::from(self.spec.metadata.servers);
        let which = match self.spec.metadata.by {
            MetadataBy::Hash => (wish.file.wrapping_mul(SPREAD) >> 32) % servers,
            MetadataBy::Subtree => u64::from(client.rank.application) % servers,
        };
        self.send(&mut client.card, context.now(), self.metadata_server(which as u32), 0, message, context);
    }

    /// A request proceeds: at the client's cache, or with its next window.
    pub(super) fn issue(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) {
        if client.caching.is_some() || wish.operation == Operation::Sync {
            self.step(client, flow, wish, context);
            return;
        }
        let state = &mut client.flows[usize::from(flow)];
        let from = wish.offset + state.asked;
        let bytes = self.spec.client.window.min(wish.bytes - state.asked);
        debug_assert!(bytes > 0 && state.jobs == 0, "a window has bytes, and comes after the one before");
        state.asked += bytes;
        debug_assert!(state.asked <= wish.bytes, "no more is asked for than is wished");
        let rose = state.rose;
        let run = Run { file: wish.file, from, to: from + bytes };
        let jobs = self.send_run(client, flow, run, (wish.operation == Operation::Write, rose), context);
        client.flows[usize::from(flow)].jobs = jobs;
    }

    /// Reads or writes bytes of a file: sends a job to each server that has a part or a copy of them. Returns
    /// the number of jobs.
    pub(super) fn send_run(
        &self,
        client: &mut Client,
        flow: u16,
        run: Run,
        (write, rose): (bool, SimTime),
        context: &mut Ctx<'_, 'a>,
    ) -> u32 {
        let parts = self.spec.striping.parts(run.file, run.from, run.bytes());
        debug_assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), run.bytes(), "{run:?}");
        let of = self.spec.client.copies;
        let copies = match self.spec.client.reads {
            _ if write => 0..of,
            Reads::First => 0..1,
            Reads::Spread => {
                let one = ((u64::from(context.me().0) + client.records) % u64::from(of)) as u32;
                one..one + 1
            }
        };
        let jobs = parts.len() as u32 * copies.len() as u32;
        client.records += 1;
        debug_assert!(jobs > 0, "a window has jobs");
        for part in &parts {
            for copy in copies.clone() {
                let server = (part.server + copy) % self.spec.servers;
                let job = Job {
                    client: context.me().0,
                    flow,
                    application: client.rank.application,
                    write,
                    jobs,
                    object: part.object | u64::from(copy) << COPY_SHIFT,
                    offset: part.offset,
                    bytes: part.bytes,
                    rose,
                    record: client.records,
                    server,
                    ticket: 0,
                    ticket_before: 0,
                    feedback: None,
                };
                client.jobs_sent += 1;
                match &mut client.gate {
                    Some(gate) => gate.take(context.now(), job),
                    None => self.send_job(client, job, context),
                }
            }
        }
        if client.gate.is_some() {
            self.jobs_go(client, context);
        }
        jobs
    }

    /// A client receives a message.
    pub(super) fn client_hears(
        &self,
        client: &mut Client,
        from: u32,
        message: &Message,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        match *message {
            Message::Begin { phase } => self.begin_phase(client, phase, context),
            Message::MetadataAnswer { flow } => {
                let wish = wish_of(client, flow)?;
                if wish.operation.moves_bytes() {
                    if self.spec.client.layouts_are_kept {
                        client.layouts.insert(wish.file);
                    }
                    self.issue(client, flow, wish, context);
                } else {
                    if wish.operation == Operation::Remove {
                        client.layouts.remove(&wish.file);
                        self.forget(client, wish.file, context);
                    } else if wish.operation == Operation::Open && self.spec.client.layouts_are_kept {
                        client.layouts.insert(wish.file);
                    }
                    self.complete(client, flow, wish, context);
                }
            }
            Message::Ready { slot, bytes } => {
                let slice = self.spec.network.slice.unwrap_or(bytes).max(1);
                let mut left = bytes;
                while left > 0 {
                    let bytes = left.min(slice);
                    left -= bytes;
                    let message = Message::Data { slot, bytes };
                    let to = towtank_kernel::EntityId(from);
                    self.send(&mut client.card, context.now(), to, bytes, message, context);
                }
            }
            Message::Answer { flow, done } => {
                if let Some(served) = done {
                    self.job_is_back(client, from, served, context)?;
                    self.job_done(client, flow, context)?;
                }
            }
            _ => return Err("a client received a message that it cannot handle".into()),
        }
        Ok(())
    }

    fn job_done(&self, client: &mut Client, flow: u16, context: &mut Ctx<'_, 'a>) -> Result<(), Fault> {
        client.jobs_done += 1;
        debug_assert!(client.jobs_done <= client.jobs_sent, "more jobs are done than were sent");
        if flow >= FLUSHES {
            return self.flushed(client, flow - FLUSHES, context);
        }
        let wish = wish_of(client, flow)?;
        let state = &mut client.flows[usize::from(flow)];
        state.jobs = state.jobs.checked_sub(1).ok_or("a client has more replies than jobs")?;
        if state.jobs > 0 {
            return Ok(());
        }
        if client.caching.is_some() {
            self.fetched(client, flow, wish, context);
        } else if state.asked < wish.bytes {
            self.issue(client, flow, wish, context);
        } else {
            self.complete(client, flow, wish, context);
        }
        Ok(())
    }

    /// A request is done.
    pub(super) fn complete(&self, client: &mut Client, flow: u16, wish: Wish, context: &mut Ctx<'_, 'a>) {
        let state = &mut client.flows[usize::from(flow)];
        debug_assert!(state.jobs == 0 && state.asked <= wish.bytes, "{wish:?} is done before its jobs are");
        state.wish = None;
        if let Some(caching) = &mut client.caching {
            caching.flows.remove(&flow);
        }
        let rose = state.rose;
        context.record(Sample::Done {
            phase: client.phase,
            application: client.rank.application,
            bytes: wish.bytes,
            since: rose,
            at: context.now(),
        });
        client.through += 1;
        debug_assert!(client.through <= client.begun, "a request is done that nobody began");
        if client.through == self.requests(client) {
            client.idle.push(flow);
            self.drain(client, context);
            return;
        }
        match self.pace(client) {
            Pace::Drawn(_) | Pace::Recorded => match client.waiting.pop_front() {
                Some(rose) => self.next(client, flow, rose, context),
                None => client.idle.push(flow),
            },
            Pace::Closed => {
                let think = self.spec.work.of(client.rank).think;
                let rest = self.wait(client, rose, context.now()).unwrap_or(SimSpan::ZERO).max(think);
                self.next_after(client, flow, rest, context);
            }
        }
    }

    /// Schedules the next of a client's recorded requests that come at their times.
    fn next_due(&self, client: &Client, began: SimTime, context: &mut Ctx<'_, 'a>) {
        if let Some(at) = self.due(client, began) {
            context.send_at(context.me(), at.max(context.now()), Event::Due { began });
        }
    }

    /// The instant of that request.
    fn due(&self, client: &Client, began: SimTime) -> Option<SimTime> {
        let replay = self.spec.work.of(client.rank).replay.as_ref()?;
        let record = replay.of(client.rank).get(client.come as usize)?;
        Some(began.saturating_add(record.at))
    }

    /// A request has arrived: it begins, or waits for a flow.
    fn comes_in(&self, client: &mut Client, context: &mut Ctx<'_, 'a>) {
        client.come += 1;
        debug_assert!(client.come <= self.requests(client), "no more comes than there is");
        debug_assert!(
            client.waiting.is_empty() || client.idle.is_empty(),
            "who waits would find a free flow"
        );
        // Where records come at their times, flows are created on demand.
        if client.idle.is_empty() && client.flows.len() < usize::from(self.spec.work.of(client.rank).flows) {
            client.idle.push(client.flows.len() as u16);
            client.flows.push(Flow::default());
        }
        debug_assert!(client.idle.len() <= client.flows.len(), "a free flow is listed once");
        match client.idle.pop() {
            Some(flow) => self.next(client, flow, context.now(), context),
            None => client.waiting.push_back(context.now()),
        }
    }

    /// Schedules the next request of a client whose requests come at a rate.
    fn next_arrival(&self, client: &Client, context: &mut Ctx<'_, 'a>) {
        let arrivals = self.spec.work.of(client.rank).arrivals;
        let Some(rate) = arrivals.filter(|_| client.come < self.requests(client)) else { return };
        let wait = Exponential::with_mean(rate.mean_gap_ns_f64())
            .map_or(SimSpan::ZERO, |gaps| gaps.sample_span(&mut context.draws(ARRIVAL)));
        context.send(context.me(), wait, Event::Arrives);
    }

    /// Handles an event that a client scheduled for itself.
    pub(super) fn client_does(
        &self,
        client: &mut Client,
        event: &Event,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        match event {
            Event::Next { phase, .. } if *phase != client.phase => {}
            Event::Next { flow, .. } => self.next(client, *flow, context.now(), context),
            Event::Prepared { flow } => {
                let wish = wish_of(client, *flow)?;
                self.prepared(client, *flow, wish, context);
            }
            Event::Wake => {
                if let Some(gate) = &mut client.gate {
                    gate.wake(context.now());
                }
                self.jobs_go(client, context);
            }
            Event::Local { flow } => {
                let wish = wish_of(client, *flow)?;
                self.local(client, *flow, wish, context);
            }
            Event::Arrives => {
                self.comes_in(client, context);
                self.next_arrival(client, context);
            }
            Event::Due { began } => {
                while self.due(client, *began).is_some_and(|at| at <= context.now()) {
                    self.comes_in(client, context);
                }
                self.next_due(client, *began, context);
            }
            _ => return Err("a client received an event that it cannot handle".into()),
        }
        Ok(())
    }
}

/// Whether all that a request reads is in its client's cache.
fn is_cached(client: &Client, wish: Wish) -> bool {
    let Some(caching) = client.caching.as_ref().filter(|_| wish.operation == Operation::Read) else {
        return false;
    };
    let run = Run { file: wish.file, from: wish.offset, to: wish.offset + wish.bytes };
    wish.bytes > 0 && caching.cache.find(run) == Lookup::Here(wish.bytes)
}

pub(super) fn wish_of(client: &Client, flow: u16) -> Result<Wish, Fault> {
    let wish = client.flows.get(usize::from(flow)).and_then(|flow| flow.wish);
    wish.ok_or_else(|| "a client received a reply without a request".into())
}
