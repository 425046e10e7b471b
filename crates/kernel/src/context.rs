//! What a handler may do: read the time, draw random numbers, send events, set timers, record samples.
//!
//! Everything a handler does through its context lands on a desk of the executor and takes effect after the
//! handler has returned. So a handler that fails or panics has sent nothing.

use std::fmt;

use towtank_streams::{Draws, Purpose, Seed, Source};
use towtank_units::{SimSpan, SimTime};

use crate::error::{Place, RunError};
use crate::key::{EntityId, EventKey, Scheduled};
use crate::links::Links;
use crate::model::{Model, Statistics};
use crate::timers::{TimerId, Timers};

/// What every executor needs in order to run a model's events.
pub(crate) struct Rules<'m, M: Model> {
    pub model: &'m M,
    pub links: Links,
    pub entities: u32,
    pub seed: Seed,
    pub step_limit: u32,
    /// A send to an entity below this one, after at least that delay, needs no look at the links.
    pub sure_entities: u32,
    pub sure_after: SimSpan,
}

/// A change of an entity's timers by one event, recorded for undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerChange {
    Set(u64),
    Cancelled(u64),
}

/// An invalid send or timer, kept until the handler returns.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    NoEntity { to: EntityId },
    NoLink { to: EntityId },
    ShortLink { to: EntityId, after: SimSpan, least: SimSpan },
    Past { at: SimTime },
    TimeOverflow { after: SimSpan },
    ZeroDelayChain,
}

/// A send on the desk: what its handler decided. The executor that takes it knows the rest.
///
/// It is written field by field and read soon after. Fields are read as they were written, and the two of 32
/// bits share a word, because to read at once what was just written in parts would stall.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft<E> {
    pub at: SimTime,
    /// The step in the upper half, and the receiver in the lower.
    word: u64,
    timer: bool,
    pub event: E,
}

impl<E> Draft<E> {
    #[inline]
    pub(crate) fn to(&self) -> EntityId {
        EntityId(self.word as u32)
    }

    #[inline]
    pub(crate) fn step(&self) -> u32 {
        (self.word >> 32) as u32
    }

    /// The event, sent by `origin` after `sequence` others.
    #[inline(always)]
    pub(crate) fn scheduled(self, origin: EntityId, sequence: u64) -> Scheduled<E> {
        let (step, to) = (self.step(), self.to());
        let key = EventKey { at: self.at, step, origin, sequence };
        Scheduled { key, to, timer: self.timer, event: self.event }
    }
}

/// The effects of a handler, waiting for the executor to take them.
pub(crate) struct Desk<M: Model> {
    /// The last of them has the sequence before the one that its entity has next.
    pub sends: Vec<Draft<M::Event>>,
    pub samples: Vec<<M::Statistics as Statistics>::Sample>,
    pub outputs: Vec<M::Output>,
    pub timer_changes: Vec<TimerChange>,
    pub refusal: Option<Refusal>,
}

impl<M: Model> Desk<M> {
    pub(crate) fn new() -> Desk<M> {
        Desk {
            sends: Vec::new(),
            samples: Vec::new(),
            outputs: Vec::new(),
            timer_changes: Vec::new(),
            refusal: None,
        }
    }

    /// Whether the handler has done nothing but send, as most do.
    #[inline]
    pub(crate) fn has_only_sends(&self) -> bool {
        self.samples.is_empty() && self.outputs.is_empty() && self.timer_changes.is_empty()
    }

    /// Keeps only the first refusal, because later ones may follow from it.
    #[cold]
    fn refuse(&mut self, refusal: Refusal) {
        self.refusal.get_or_insert(refusal);
    }

    /// Discards what a failed handler left on the desk.
    pub(crate) fn clear(&mut self) {
        self.sends.clear();
        self.samples.clear();
        self.outputs.clear();
        self.timer_changes.clear();
        self.refusal = None;
    }
}

/// The interface of a handler to the run.
pub struct Context<'a, M: Model> {
    rules: &'a Rules<'a, M>,
    desk: &'a mut Desk<M>,
    timers: &'a mut Timers,
    /// By reference: an event may just have been written, field by field, and a copy of all of it at once
    /// would wait until that has reached the cache.
    key: &'a EventKey,
    me: EntityId,
    /// The number of events that the entity had handled, which keys its draws.
    ordinal: u64,
    /// Made when the handler first draws: many never do.
    draws: Option<Draws>,
    sequence: u64,
}

impl<'a, M: Model> Context<'a, M> {
    #[inline]
    pub(crate) fn new(
        rules: &'a Rules<'a, M>,
        desk: &'a mut Desk<M>,
        timers: &'a mut Timers,
        (key, me): (&'a EventKey, EntityId),
        (ordinal, sequence): (u64, u64),
    ) -> Context<'a, M> {
        Context { rules, desk, timers, key, me, ordinal, draws: None, sequence }
    }

    #[inline]
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The time of the event being handled.
    #[inline]
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.key.at
    }

    /// The key of the event being handled.
    #[inline]
    #[must_use]
    pub fn key(&self) -> EventKey {
        *self.key
    }

    /// The entity that handles the event.
    #[inline]
    #[must_use]
    pub fn me(&self) -> EntityId {
        self.me
    }

    /// Random numbers for one purpose, a function of (seed, entity, event ordinal, purpose, index) alone.
    #[inline]
    pub fn draws(&mut self, purpose: Purpose) -> Source<'_> {
        let (rules, me, ordinal) = (self.rules, self.me, self.ordinal);
        self.draws.get_or_insert_with(|| Draws::new(rules.seed, me.0, ordinal)).of(purpose)
    }

    /// Sends an event. A delay shorter than the link declares ends the run with an error that names the link.
    // Always inlined, so that the event is written only once, where it is sent from: to copy one that has
    // just been put together takes longer than the rest.
    #[inline(always)]
    pub fn send(&mut self, to: EntityId, after: SimSpan, event: M::Event) {
        // No link is needed to oneself.
        let sure = to == self.me || (to.0 < self.rules.sure_entities && after >= self.rules.sure_after);
        if !sure && let Some(refusal) = self.rules.examine(self.me, to, after) {
            self.desk.refuse(refusal);
            return;
        }
        self.put(to, after, false, event);
    }

    /// Sends an event for a given time. A time in the past ends the run with an error.
    pub fn send_at(&mut self, to: EntityId, at: SimTime, event: M::Event) {
        if at < self.key.at {
            self.desk.refuse(Refusal::Past { at });
        } else {
            self.send(to, at.since(self.key.at), event);
        }
    }

    /// Sends an event to the entity itself, which can be cancelled with [`cancel`](Context::cancel).
    pub fn set_timer(&mut self, after: SimSpan, event: M::Event) -> TimerId {
        let sequence = self.sequence;
        if self.put(self.me, after, true, event) {
            self.timers.insert(sequence);
            self.desk.timer_changes.push(TimerChange::Set(sequence));
        }
        TimerId(sequence)
    }

    /// Cancels a timer of this entity. Returns false if it has fired or was cancelled before.
    pub fn cancel(&mut self, timer: TimerId) -> bool {
        let live = self.timers.remove(timer.0);
        if live {
            self.desk.timer_changes.push(TimerChange::Cancelled(timer.0));
        }
        live
    }

    /// Records a sample. It is added to the statistics when this event commits.
    #[inline]
    pub fn record(&mut self, sample: <M::Statistics as Statistics>::Sample) {
        self.desk.samples.push(sample);
    }

    /// Emits an output. It becomes part of the outcome when this event commits.
    #[inline]
    pub fn emit(&mut self, output: M::Output) {
        self.desk.outputs.push(output);
    }

    /// Puts a send on the desk; returns false if its time does not fit in 64 bits.
    #[inline(always)]
    fn put(&mut self, to: EntityId, after: SimSpan, timer: bool, event: M::Event) -> bool {
        let Some(at) = self.key.at.checked_add(after) else {
            self.desk.refuse(Refusal::TimeOverflow { after });
            return false;
        };
        let step = if after == SimSpan::ZERO { self.key.step + 1 } else { 0 };
        if step > self.rules.step_limit {
            self.desk.refuse(Refusal::ZeroDelayChain);
            return false;
        }
        self.sequence += 1;
        let word = (u64::from(step) << 32) | u64::from(to.0);
        self.desk.sends.push(Draft { at, word, timer, event });
        true
    }
}

impl<M: Model> fmt::Debug for Context<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("key", &self.key).field("me", &self.me).finish_non_exhaustive()
    }
}

impl<M: Model> Rules<'_, M> {
    /// Why an entity may not send to another after this delay. Not a part of the context, which would have to
    /// lie in memory for a call that is not inlined.
    #[inline(never)]
    fn examine(&self, from: EntityId, to: EntityId, after: SimSpan) -> Option<Refusal> {
        if to.0 >= self.entities {
            return Some(Refusal::NoEntity { to });
        }
        match self.links.least(from, to) {
            None => Some(Refusal::NoLink { to }),
            Some(least) if after < least => Some(Refusal::ShortLink { to, after, least }),
            Some(_) => None,
        }
    }

    pub(crate) fn place(&self, due: &Scheduled<M::Event>) -> Box<Place> {
        Box::new(Place {
            key: due.key,
            entity: due.to,
            name: self.model.describe(due.to),
            event: format!("{:?}", due.event),
        })
    }

    /// The error for a send that can affect another entity before its sender's slack allows.
    #[cold]
    pub(crate) fn too_soon(&self, sent: &Scheduled<M::Event>, felt: SimTime, promised: SimTime) -> RunError {
        let origin = sent.key.origin;
        RunError::ShortSlack {
            place: Box::new(Place {
                key: sent.key,
                entity: origin,
                name: self.model.describe(origin),
                event: format!("{:?}", sent.event),
            }),
            to_name: self.model.describe(sent.to),
            at_ns: felt.as_ns(),
            promised_ns: promised.as_ns(),
        }
    }

    /// The error for a refusal, with the event during which it happened.
    #[cold]
    pub(crate) fn refused(&self, place: Box<Place>, refusal: Refusal) -> RunError {
        let describe = |to: EntityId| self.model.describe(to);
        match refusal {
            Refusal::NoEntity { to } => RunError::NoEntity { place, to, entities: self.entities },
            Refusal::NoLink { to } => RunError::NoLink { place, to, to_name: describe(to) },
            // No delay that the link allows ends in time: models add times up to the latest one.
            Refusal::ShortLink { least, .. } if place.key.at.checked_add(least).is_none() => {
                RunError::TimeOverflow { place, after_ns: least.as_ns() }
            }
            Refusal::ShortLink { to, after, least } => RunError::ShortLink {
                place,
                to,
                to_name: describe(to),
                after_ns: after.as_ns(),
                least_ns: least.as_ns(),
            },
            Refusal::Past { at } => RunError::Past { place, at_ns: at.as_ns() },
            Refusal::TimeOverflow { after } => RunError::TimeOverflow { place, after_ns: after.as_ns() },
            Refusal::ZeroDelayChain => RunError::ZeroDelayChain { place, limit: self.step_limit },
        }
    }
}
