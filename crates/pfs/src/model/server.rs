//! Data servers: jobs reach the scheduler, are let go, processed and answered.

use towtank_iosched::{Audience, Discipline as _, FlowId, Lengths, Phase, Piece, Request, SchedulerId};
use towtank_kernel::{Context, EntityId, Fault};
use towtank_units::SimTime;

use super::Pfs;
use crate::counts::Sample;
use crate::event::{Event, Job, Message, Served};
use crate::nodes::{Mark, Patched, Running, Server};
use crate::spec::Stands;

pub(super) type Ctx<'c, 'a> = Context<'c, Pfs<'a>>;

impl<'a> Pfs<'a> {
    /// A server receives a message.
    pub(super) fn server_hears(
        &self,
        server: &mut Server,
        from: u32,
        message: &Message,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        match *message {
            Message::Report(ref lengths) => {
                let from = SchedulerId(from.saturating_sub(self.clients));
                server.queue.hear(context.now(), from, (**lengths).clone());
                self.let_go(server, context)
            }
            Message::Job(ref job) => self.job_comes(server, job, context),
            Message::Data { slot, bytes } => {
                let running = running(server, slot)?;
                running.here += bytes;
                debug_assert!(running.here <= running.job.bytes, "more data came than the job has");
                running.part = running.here;
                if !running.busy {
                    self.go_on(server, slot, context)?;
                }
                Ok(())
            }
            Message::Begin { phase } => {
                if self.is_last(phase) {
                    let now = context.now();
                    let (sent, received) = (server.card.out.busy, server.card.received());
                    let (own, memory) = (server.disk.busy_at(now), server.memory.busy);
                    server.mark = Mark { own, memory, sent, received, moved: server.moved };
                    server.depth.restart(now);
                    server.ruled.since = Some(now);
                }
                match self.spec.scheduler.rules.is_empty() {
                    true => Ok(()),
                    false => self.let_go(server, context),
                }
            }
            _ => Err("a server received a message that it cannot handle".into()),
        }
    }

    fn job_comes(&self, server: &mut Server, job: &Job, context: &mut Ctx<'_, 'a>) -> Result<(), Fault> {
        let now = context.now();
        debug_assert_eq!(self.server(job.server), context.me(), "a job comes to its own server");
        let about = job.about();
        let flow = FlowId(u32::from(job.application));
        let here = if job.write && self.spec.server.handshake { 0 } else { job.bytes };
        let cost = job.bytes;
        let running = Running {
            part: 0,
            position: 0,
            answered: 0,
            here,
            fetched: 0,
            busy: false,
            patched: Patched::default(),
            given: None,
            piece_of: None,
            cut: false,
            job: job.clone(),
        };
        debug_assert!(cost > 0 && here <= cost, "a job moves something");
        let slot = into_slot(server, running);
        self.rules_hold(server, now)?;
        server.came += 1;
        server.depth.set(now, server.depth.get() + 1);
        debug_assert!(server.done < server.came, "a job has come that is not done");
        server.queue.arrive(now, Request::new(flow, cost, slot).about(about));
        self.let_go(server, context)
    }

    /// Begins all jobs that the scheduler lets go now.
    fn let_go(&self, server: &mut Server, context: &mut Ctx<'_, 'a>) -> Result<(), Fault> {
        let now = context.now();
        self.rules_hold(server, now)?;
        while let Some(request) = server.queue.next(now) {
            let slot = if request.about.piece == Piece::WHOLE {
                let slot = request.item;
                let job = running(server, slot)?;
                debug_assert!(job.given.is_none() && job.job.bytes == request.cost, "a job is let go once");
                job.given = Some(request);
                slot
            } else {
                self.piece(server, request)?
            };
            if self.spec.server.before.is_zero() {
                self.work(server, slot, context)?;
            } else {
                context.send(context.me(), self.spec.server.before, Event::Work { slot });
            }
        }
        while let Some((audience, lengths)) = server.queue.tell() {
            self.report((self.clients, self.spec.servers), &audience, &lengths, context);
        }
        let rules = server.ruled.wakes(&server.queue, &self.spec.scheduler.rules);
        if let Some(at) = server.queue.wake_at().into_iter().chain(rules).min() {
            let at = at.max(now);
            debug_assert!(at >= now, "nobody is woken before now");
            if server.wakes.is_none_or(|asked| asked > at || asked < now) {
                server.wakes = Some(at);
                context.send_at(context.me(), at, Event::Wake);
            }
        }
        Ok(())
    }

    /// Starts, changes and stops the rules that are due.
    fn rules_hold(&self, server: &mut Server, now: SimTime) -> Result<(), Fault> {
        let rules = &self.spec.scheduler.rules;
        if rules.is_empty() {
            return Ok(());
        }
        server.ruled.carry_out(&mut server.queue, rules, now).map_err(|error| error.to_string().into())
    }

    /// The scheduler has let a piece of a job go: the piece is processed like a job.
    fn piece(&self, server: &mut Server, request: Request<u32>) -> Result<u32, Fault> {
        let whole = running(server, request.item)?;
        whole.cut = true;
        let bytes = request.cost;
        debug_assert!(bytes > 0 && bytes <= whole.job.bytes, "a piece is a part of its job");
        debug_assert!(request.about.offset >= whole.job.offset, "a piece begins inside its job");
        let job = Job { offset: request.about.offset, bytes, ..whole.job.clone() };
        let piece = Running {
            position: 0,
            answered: 0,
            part: 0,
            here: if job.write && self.spec.server.handshake { 0 } else { bytes },
            fetched: 0,
            busy: false,
            patched: Patched::default(),
            cut: false,
            piece_of: Some(request.item),
            given: Some(request),
            job,
        };
        Ok(into_slot(server, piece))
    }

    /// Sends a scheduler's report to all others or to one, among `count` nodes starting at `first`.
    pub(super) fn report(
        &self,
        (first, count): (u32, u32),
        audience: &Audience,
        lengths: &Lengths,
        context: &mut Ctx<'_, 'a>,
    ) {
        let me = context.me().0 - first;
        for other in (0..count).filter(|other| *other != me) {
            if matches!(audience, Audience::One(one) if one.0 != other) {
                continue;
            }
            let at = context.now().saturating_add(self.spec.network.latency);
            let message = Message::Report(Box::new(lengths.clone()));
            context.send_at(EntityId(first + other), at, Event::Here { from: context.me().0, message });
        }
    }

    /// Handles an event that a server scheduled for itself.
    pub(super) fn server_does(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        match event {
            Event::Work { slot } => self.work(server, *slot, context),
            Event::Copied { slot } => {
                running(server, *slot)?.busy = false;
                self.go_on(server, *slot, context)
            }
            Event::Finish { slot } => self.finish(server, *slot, context),
            Event::DiskDone { place } => self.disk_done(server, *place, context),
            Event::Wake => {
                server.wakes = None;
                server.queue.wake(context.now());
                self.let_go(server, context)
            }
            _ => Err("a server received an event that it cannot handle".into()),
        }
    }

    /// A job has been let go: it begins as soon as a thread is free and its file is not locked.
    fn work(&self, server: &mut Server, slot: u32, context: &mut Ctx<'_, 'a>) -> Result<(), Fault> {
        if server.working >= self.spec.server.threads {
            server.idle.push_back(slot);
            return Ok(());
        }
        server.working += 1;
        debug_assert!(server.working <= self.spec.server.threads, "a thread works on one job");
        if self.spec.server.locks && !locked(server, slot)? {
            return Ok(());
        }
        self.begin(server, slot, context)
    }

    /// Begins the job.
    fn begin(&self, server: &mut Server, slot: u32, context: &mut Ctx<'_, 'a>) -> Result<(), Fault> {
        let part = self.spec.server.part;
        let running = running(server, slot)?;
        debug_assert!(running.given.is_some() && running.position == 0, "a job begins when it was let go");
        if running.job.write && self.spec.server.handshake {
            let message = Message::Ready { slot, bytes: running.job.bytes };
            let to = EntityId(running.job.client);
            self.send(&mut server.card, context.now(), to, 0, message, context);
            return Ok(());
        }
        running.part = part.min(running.job.bytes);
        self.go_on(server, slot, context)
    }

    /// A part of a job is done: continues with the next part, or with what follows the last.
    pub(super) fn part_done(
        &self,
        server: &mut Server,
        slot: u32,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<bool, Fault> {
        let part = self.spec.server.part;
        let running = running(server, slot)?;
        debug_assert!(running.position <= running.job.bytes, "a job does no more than it has");
        debug_assert!(running.answered <= running.position, "what is answered was done");
        if running.position < running.job.bytes {
            if running.job.write && self.spec.server.handshake {
                return Ok(false);
            }
            running.part = running.position.saturating_add(part).min(running.job.bytes);
            if !running.job.write {
                let bytes = running.position - running.answered;
                running.answered = running.position;
                let to = (running.job.client, running.job.flow);
                self.answer(server, to, bytes, None, context);
            }
            return Ok(true);
        }
        running.busy = true;
        let after = self.spec.server.after;
        if after.is_zero() {
            self.finish(server, slot, context)?;
        } else {
            context.send(context.me(), after, Event::Finish { slot });
        }
        Ok(false)
    }

    /// Sends data of a job, or its completion.
    fn answer(
        &self,
        server: &mut Server,
        (to, flow): (u32, u16),
        data: u64,
        done: Option<Served>,
        context: &mut Ctx<'_, 'a>,
    ) {
        let slice = self.spec.network.slice.unwrap_or(data).max(1);
        let mut left = data;
        loop {
            let bytes = left.min(slice);
            left -= bytes;
            let message = Message::Answer { flow, done: done.filter(|_| left == 0) };
            self.send(&mut server.card, context.now(), EntityId(to), bytes, message, context);
            if left == 0 {
                return;
            }
        }
    }

    /// A job is done: its reply is sent, and its thread and lock are released.
    fn finish(&self, server: &mut Server, slot: u32, context: &mut Ctx<'_, 'a>) -> Result<(), Fault> {
        let now = context.now();
        let Some(running) = server.slots.get_mut(slot as usize).and_then(Option::take) else {
            return Err("a server finishes a job that it does not have".into());
        };
        let request = running.given.ok_or("a server finishes a job that the scheduler has not released")?;
        debug_assert_eq!(running.position, running.job.bytes, "a job ends when all of it is done");
        debug_assert!(running.answered <= running.job.bytes, "no more is answered than was read");
        server.free.push(slot);
        let last = server.queue.finishes(&request);
        let is_mclock = matches!(server.queue, towtank_iosched::Scheduler::Mclock(_));
        if last {
            if let Some(whole) = running.piece_of {
                server.slots[whole as usize] = None;
                server.free.push(whole);
            }
            server.done += 1;
            debug_assert!(server.done <= server.came, "a job is done that came");
            server.depth.set(now, server.depth.get() - 1);
        }
        let job = running.job;
        let bin = now.as_ns() / self.spec.sample.as_ns().max(1);
        server.moved += job.bytes;
        context.record(Sample::Served { application: job.application, bytes: job.bytes, bin });
        server.queue.complete(now, &request);
        // Data that was sent with earlier parts is not sent again.
        let data = if job.write { 0 } else { job.bytes - running.answered };
        // A proxy overwrote `ticket`; the ticket of the client's own gate is then `ticket_before`.
        let is_from_proxy = matches!(self.spec.scheduler.stands, Stands::Proxies(_));
        let served = Served {
            ticket: if is_from_proxy { job.ticket_before } else { job.ticket },
            bytes: job.bytes,
            reserved: is_mclock && Phase::of(&request.about) == Phase::Reservation,
        };
        self.answer(server, (job.client, job.flow), data, last.then_some(served), context);
        if last {
            self.proxy_hears(job.server, Served { ticket: job.ticket, ..served }, context);
        }
        if self.spec.server.locks {
            for free in unlocked(server, &job)? {
                self.begin(server, free, context)?;
            }
        }
        debug_assert!(server.working > 0, "a job ends that a thread worked on");
        server.working -= 1;
        if let Some(next) = server.idle.pop_front() {
            self.work(server, next, context)?;
        }
        self.let_go(server, context)
    }
}

/// Stores a job in a free slot.
fn into_slot(server: &mut Server, running: Running) -> u32 {
    let slot = server.free.pop().unwrap_or(server.slots.len() as u32);
    debug_assert!(server.slots.get(slot as usize).is_none_or(Option::is_none), "slot {slot} is free");
    match server.slots.get_mut(slot as usize) {
        Some(free) => *free = Some(running),
        None => server.slots.push(Some(running)),
    }
    slot
}

/// The job in a slot.
pub(super) fn running(server: &mut Server, slot: u32) -> Result<&mut Running, Fault> {
    let running = server.slots.get_mut(slot as usize).and_then(Option::as_mut);
    running.ok_or_else(|| "a server received a message for a job that it does not have".into())
}

/// Takes the lock of a job's object. Returns whether it was granted; otherwise the job waits.
fn locked(server: &mut Server, slot: u32) -> Result<bool, Fault> {
    let job = &running(server, slot)?.job;
    let (object, write) = (job.object, job.write);
    let holders = server.locks.entry(object).or_default();
    debug_assert!(!(holders.writer && holders.readers > 0), "a writer holds a lock alone");
    let free = !holders.writer && holders.waiting.is_empty() && (!write || holders.readers == 0);
    if !free {
        holders.waiting.push_back(slot);
        return Ok(false);
    }
    if write {
        holders.writer = true
    } else {
        holders.readers += 1
    }
    Ok(true)
}

/// Releases the lock. Returns the jobs that hold it now.
fn unlocked(server: &mut Server, job: &Job) -> Result<Vec<u32>, Fault> {
    let holders = server.locks.get_mut(&job.object).ok_or("a job releases a lock that it does not hold")?;
    debug_assert_eq!(holders.writer, job.write, "who gives a lock back has held it");
    debug_assert!(job.write || holders.readers > 0, "who gives a lock back has held it");
    if job.write {
        holders.writer = false
    } else {
        holders.readers -= 1
    }
    let mut freed = Vec::new();
    while let Some(&next) = holders.waiting.front() {
        let write = server.slots.get(next as usize).and_then(Option::as_ref).is_some_and(|one| one.job.write);
        if holders.writer || write && holders.readers > 0 {
            break;
        }
        holders.waiting.pop_front();
        if write {
            holders.writer = true
        } else {
            holders.readers += 1
        }
        freed.push(next);
    }
    debug_assert!(!(holders.writer && holders.readers > 0), "a writer gets a lock alone");
    if !holders.writer && holders.readers == 0 && holders.waiting.is_empty() {
        server.locks.remove(&job.object);
    }
    Ok(freed)
}
