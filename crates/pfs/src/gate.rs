//! A scheduler that holds jobs back before they go to servers: at a client, or at a proxy in front of
//! servers.
//!
//! A job arrives, is let go, and is done when its server has reported so. The scheduler decides which job may
//! go; at a client, PARDA's window also limits them, adapted by the latency of the jobs that were let go. The
//! window is adapted once per interval, at the first arrival or completion after the interval's end.

use serde::{Deserialize, Serialize};
use towtank_iosched::{Discipline as _, FlowId, Parda, Request};
use towtank_units::{SimSpan, SimTime};

use crate::Queue;
use crate::event::Job;

/// A gate: a scheduler that holds jobs back.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Gate {
    /// The scheduler; it queues slot numbers.
    pub queue: Queue,
    /// The instant of the wake-up that the scheduler requested, if any.
    pub wakes: Option<SimTime>,
    /// Jobs that wait or are outstanding, by slot.
    pub slots: Vec<Option<Held>>,
    /// Free slots.
    pub free: Vec<u32>,
    /// Jobs that arrived.
    pub came: u64,
    /// Jobs that were let go.
    pub left: u64,
    /// Jobs that are done.
    pub done: u64,
    /// PARDA's window, if there is one.
    pub window: Option<Window>,
}

/// A job that waits at a gate or is outstanding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Held {
    /// The job.
    pub job: Job,
    /// When it was let go, and the request that the scheduler gave then.
    pub given: Option<(SimTime, Request<u32>)>,
}

/// A window on outstanding jobs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Window {
    /// The state of PARDA.
    pub parda: Parda,
    /// The adaptation interval.
    pub interval: SimSpan,
    /// When it is adapted next.
    pub due: SimTime,
}

impl Window {
    /// Adapts the window if its interval is over.
    fn tick(&mut self, now: SimTime) {
        if now >= self.due {
            self.parda.adapt();
            let intervals = now.since(SimTime::ZERO).as_ns() / self.interval.as_ns().max(1) + 1;
            self.due = SimTime::ZERO.saturating_add(self.interval.saturating_mul(intervals));
        }
        debug_assert!(self.due > now, "the window is moved at {:?}, and it is {now:?}", self.due);
    }
}

impl Gate {
    /// A gate without jobs.
    #[must_use]
    pub fn new(queue: Queue, window: Option<Window>) -> Gate {
        Gate { queue, wakes: None, slots: Vec::new(), free: Vec::new(), came: 0, left: 0, done: 0, window }
    }

    /// Jobs that wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        debug_assert!(self.done <= self.left && self.left <= self.came, "jobs come before they go");
        self.came - self.left
    }

    /// A job arrives.
    pub fn take(&mut self, now: SimTime, mut job: Job) {
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        (job.ticket_before, job.ticket) = (job.ticket, slot);
        debug_assert!(self.slots.get(slot as usize).is_none_or(Option::is_none), "slot {slot} is free");
        debug_assert!(job.bytes > 0, "a job moves something");
        let request = Request::new(FlowId(u32::from(job.application)), job.bytes, slot).about(job.about());
        match self.slots.get_mut(slot as usize) {
            Some(free) => *free = Some(Held { job, given: None }),
            None => self.slots.push(Some(Held { job, given: None })),
        }
        self.came += 1;
        self.queue.arrive(now, request);
    }

    /// The next job that may go.
    pub fn next(&mut self, now: SimTime) -> Option<Job> {
        if let Some(window) = &mut self.window {
            window.tick(now);
            if self.left - self.done >= u64::from(window.parda.window()) {
                return None;
            }
        }
        let request = self.queue.next(now)?;
        let held = self.slots.get_mut(request.item as usize).and_then(Option::as_mut);
        let held = held.expect("what a gate's scheduler gives has come");
        debug_assert!(held.given.is_none(), "a job is let go once, and not in pieces");
        held.given = Some((now, request));
        self.left += 1;
        debug_assert!(self.left <= self.came, "what goes has come");
        Some(held.job.clone())
    }

    /// A server has completed a job.
    ///
    /// # Errors
    /// When that job is not outstanding.
    pub fn done(&mut self, now: SimTime, slot: u32) -> Result<(), String> {
        let held = self.slots.get_mut(slot as usize).and_then(Option::take);
        let Some((since, request)) = held.and_then(|held| held.given) else {
            return Err("a job completed that its gate had not released".to_owned());
        };
        debug_assert!(since <= now, "a job is done at {now:?} that went at {since:?}");
        self.free.push(slot);
        self.done += 1;
        debug_assert!(self.done <= self.left, "what is done has gone");
        if let Some(window) = &mut self.window {
            window.tick(now);
            window.parda.complete(now.since(since));
        }
        self.queue.complete(now, &request);
        Ok(())
    }

    /// The requested instant of a wake-up has come.
    pub(crate) fn wake(&mut self, now: SimTime) {
        self.wakes = None;
        self.queue.wake(now);
    }

    /// The next wake-up, if it has not been requested yet.
    pub fn wake_wanted(&mut self, now: SimTime) -> Option<SimTime> {
        let at = self.queue.wake_at()?.max(now);
        debug_assert!(at >= now, "nobody is woken before now");
        let is_new = self.wakes.is_none_or(|asked| asked > at || asked < now);
        if is_new {
            self.wakes = Some(at);
        }
        is_new.then_some(at)
    }

    /// Checks that each job that arrived waits, is outstanding or is done, and that waiting jobs wait in the
    /// scheduler.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn audit(&self) -> Result<(), String> {
        let Gate { came, left, done, .. } = *self;
        if done > left || left > came {
            return Err(format!("{came} jobs arrived at a gate, {left} were released, {done} completed"));
        }
        let held = |given: bool| {
            self.slots.iter().flatten().filter(|held| held.given.is_some() == given).count() as u64
        };
        if (held(false), held(true)) != (came - left, left - done) {
            return Err(format!(
                "{came} jobs arrived at a gate, {left} were released and {done} completed, but {} wait and {} are outstanding",
                held(false),
                held(true)
            ));
        }
        let queued = self.queue.waiting().count() as u64;
        match queued == came - left {
            true => Ok(()),
            false => Err(format!("{} jobs wait at a gate, but {queued} wait in its scheduler", came - left)),
        }
    }
}
