//! The optimistic executor (Time Warp, Jefferson 1985): workers run ahead and undo events that turn out
//! wrong.
//!
//! Each worker executes its own events in the order of their keys, without waiting for earlier ones that may
//! still be in transit. If one arrives late, the later events of its entity are undone ([`rollback`]) and
//! executed again. Events before global virtual time ([`gvt`]) can no longer be undone: they commit, and only
//! then do their statistics, outputs and faults take effect.
//!
//! The memory bound counts undo history and early messages. A worker at its bound executes only the event
//! whose key is global virtual time: that makes the run slow, but never blocks it.

mod gvt;
mod history;
mod quiet;
mod rollback;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use towtank_units::{SimSpan, SimTime};

use crate::Queue;
use crate::context::{Desk, Rules};
use crate::digest;
use crate::error::RunError;
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::{Model, Statistics, UndoBy};
use crate::options::RunOptions;
use crate::outcome::{Again, RunStatistics, Share, Written};
use crate::partition::{Plan, Realm, Territory};
use crate::pending::{PendingSet, precedes};
use crate::plain::{panic_message, sent_into_the_past};
use crate::prefetch::prefetch;
use crate::slot::Slot;
use crate::transport::{Letter, Mail, Message, Packet, Sent, Step, Transport, Verdict};

use gvt::{Census, Lead};
use history::{Before, Deed, Effect, History, Sending};
use rollback::{Cancellation, Trail};

/// How many events ahead an entity's state is prefetched.
const FETCH_AHEAD: usize = 6;

/// The number of bits of a transmission id that count within one worker; the higher bits are the worker's
/// number.
const ID_BITS: u32 = 48;

/// The least history bound of a worker. A round of the token costs about as much as this many events, and a
/// worker at its bound waits for one, so a lower bound would save less than it costs.
const HISTORY_LEAST: usize = 256;

/// How many times the model's slack a worker may run beyond global virtual time. Within one slack speculation
/// is hardly ever wrong; further ahead it is wrong more often, and there are fewer computations of global
/// virtual time. Of 1.4 million events of the published rebuild, two workers undid 0.2, 0.7, 3 and 7 % with
/// 1, 2, 4 and 8 slacks, in 11,200, 5,500, 2,800 and 2,200 computations.
const SLACKS_AHEAD: u64 = 4;

/// A worker that undoes more than one in this many of its events reduces its history bound.
const WASTE: u64 = 4;

/// One worker of the optimistic executor.
pub(crate) struct Optimistic<'m, M: Model> {
    rules: Rules<'m, M>,
    plan: Plan,
    territory: Territory,
    me: usize,
    undo_by: UndoBy,
    slots: Vec<Slot<M, Trail>>,
    queue: Queue<Sent<M::Event>>,
    /// Events of entities that do not speculate, held until their key is global virtual time.
    held: Queue<Sent<M::Event>>,
    /// Whether any entity here does not speculate.
    some_wait: bool,
    /// Events of suspended entities that come after the fault.
    suspended: BTreeMap<usize, Vec<Sent<M::Event>>>,
    /// Transmissions that were cancelled before they were executed, perhaps before they arrived.
    doomed: BTreeSet<u64>,
    history: History<M>,
    /// With undo by clone: the state of the running event's entity before it.
    before: Option<Box<M::Entity>>,
    cancellations: Vec<Cancellation>,
    desk: Desk<M>,
    outbox: Vec<Vec<Letter<M::Event>>>,
    outputs: Vec<Written<M::Output>>,
    run: RunStatistics,
    /// The work that committed samples have reported.
    work: u64,
    next_id: u64,
    gvt: EventKey,
    /// The greatest time of an event executed so far: a later event cannot be late.
    watermark: SimTime,
    /// The least key sent since this worker moved to its epoch.
    sent_floor: EventKey,
    census: Census,
    lead: Lead,
    /// Worker 0: the token must make another round.
    again: bool,
    last: Option<(EventKey, EntityId)>,
    error: Option<RunError>,
    restart: bool,
    halted: bool,
    /// The number of events from other workers since the last announcement, whose senders may still cancel
    /// them.
    early: u64,
    history_bound: usize,
    /// How far beyond global virtual time events may run: bounded only if the model knows its slack.
    horizon: SimSpan,
    /// The numbers of events executed and undone up to the last announcement.
    seen: (u64, u64),
    result: Option<Verdict>,
    shares: Vec<Share<M>>,
}

impl<'m, M: Model> Optimistic<'m, M> {
    /// Creates and starts the entities. If one cannot start, the worker halts, and the run ends with the
    /// first round of the token.
    pub(crate) fn new(rules: Rules<'m, M>, plan: &Plan, me: usize, undo_by: UndoBy) -> Self {
        quiet::install();
        let territory = plan.territory(me);
        let slack = rules.model.usual_slack();
        let mut worker = Optimistic {
            plan: plan.clone(),
            me,
            undo_by,
            slots: Vec::with_capacity(territory.len()),
            queue: Queue::default(),
            held: Queue::default(),
            some_wait: (0..territory.len()).any(|local| !rules.model.speculative(territory.entity(local))),
            suspended: BTreeMap::new(),
            doomed: BTreeSet::new(),
            history: History::new(),
            before: None,
            cancellations: Vec::new(),
            desk: Desk::new(),
            outbox: (0..plan.partitions()).map(|_| Vec::new()).collect(),
            outputs: Vec::new(),
            run: RunStatistics::default(),
            work: 0,
            next_id: (me as u64) << ID_BITS,
            gvt: EventKey::MIN,
            watermark: SimTime::ZERO,
            sent_floor: EventKey::MAX,
            census: Census::default(),
            lead: Lead::default(),
            again: false,
            last: None,
            error: None,
            restart: false,
            halted: false,
            early: 0,
            history_bound: usize::MAX,
            horizon: if slack.is_zero() { SimSpan::MAX } else { slack.saturating_mul(SLACKS_AHEAD) },
            seen: (0, 0),
            result: None,
            shares: Vec::new(),
            rules,
            territory,
        };
        worker.error = worker.start().err();
        worker.halted = worker.error.is_some();
        worker
    }

    fn start(&mut self) -> Result<(), RunError> {
        for local in 0..self.territory.len() {
            let id = self.territory.entity(local);
            let mut slot = Slot::start(&self.rules, &mut self.desk, id, Trail::NONE)?;
            if self.undo_by == UndoBy::Inverse {
                self.rules.model.begin_speculation(&mut slot.state);
            }
            self.slots.push(slot);
            let key = EventKey { origin: id, ..EventKey::MIN };
            self.outputs.extend(self.desk.outputs.drain(..).map(|output| Written { key, by: id, output }));
            self.post_sends(id, key.at, self.slots[local].sequence);
        }
        self.run.peak_pending = self.queue.len() as u64;
        Ok(())
    }

    pub(crate) fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }

    /// Runs one batch of events.
    pub(crate) fn step(&mut self, transport: &mut impl Transport<M>, options: &RunOptions<'_>) -> Step {
        let mut worked = false;
        while let Some(Packet(message)) = transport.receive() {
            worked = true;
            match message {
                Message::Mail(mail) => self.open(mail),
                Message::Token(token) if self.me == 0 => self.token_is_back(token, transport, options),
                Message::Token(token) => self.visit(token, transport, options),
                Message::Announcement(news) => self.hear(news, transport, options),
                Message::Share(share) => self.shares.push(*share),
                Message::Window(_) => unreachable!("optimistic workers send no windows"),
            }
        }
        if let Some(verdict) = &self.result {
            let all_here = self.me != 0 || self.shares.len() == self.plan.partitions();
            let owed = matches!(verdict, Verdict::Done | Verdict::Partial);
            return if all_here || !owed { Step::Finished } else { Step::Waiting };
        }
        let executed = if self.halted { 0 } else { self.execute(options) };
        self.flush(transport);
        if self.me == 0 {
            self.lead.steps += 1;
            if self.again {
                worked = true;
                self.repeat_round(transport, options);
            } else if !self.lead.under_way
                && (executed == 0 || self.lead.urgent || self.lead.steps >= options.gvt_interval)
            {
                // With one worker, the round is over already, and there may be more to do.
                worked = true;
                self.start_round(transport, options);
            }
        }
        if worked || executed > 0 { Step::Worked } else { Step::Waiting }
    }

    /// Receives mail from another worker.
    fn open(&mut self, mail: Mail<M::Event>) {
        self.census.received(mail.epoch);
        if self.slots.len() < self.territory.len() {
            // An entity could not start, so those after it are missing. The run ends before this mail
            // matters.
            return;
        }
        for letter in mail.letters {
            self.law_of_mail(&letter);
            match letter {
                Letter::Event(sent) => {
                    if !self.doomed.is_empty() && self.doomed.remove(&sent.id) {
                        self.run.cancelled_early += 1;
                    } else {
                        self.early += 1;
                        self.queue.push(sent);
                    }
                }
                Letter::Anti { id, key, to } => self.cancel(Cancellation { id, key, to }),
            }
        }
        self.run.peak_pending = self.run.peak_pending.max(self.queue.len() as u64);
    }

    /// Mail is for an entity here, and nothing that is still to come lies before global virtual time; what is
    /// at it can no longer be cancelled.
    fn law_of_mail(&self, letter: &Letter<M::Event>) {
        let gvt = self.gvt;
        let to = match letter {
            Letter::Event(Sent { scheduled: Scheduled { key, to, .. }, .. }) => {
                assert!(*key >= gvt, "no event arrives before global virtual time: {key} is before {gvt}");
                *to
            }
            Letter::Anti { key, to, .. } => {
                assert!(*key > gvt, "no event at global virtual time is cancelled: {key} is not after {gvt}");
                *to
            }
        };
        assert!(
            self.territory.has(to),
            "mail reaches the worker that has its entity: entity {to} is not here"
        );
    }

    /// Executes up to a batch of events; returns how many were taken from the queue.
    fn execute(&mut self, options: &RunOptions<'_>) -> u32 {
        let _quiet = quiet::Quiet::begin();
        let mut taken = 0;
        loop {
            let run = catch_unwind(AssertUnwindSafe(|| self.events(&mut taken, options)));
            self.run.peak_history = self.run.peak_history.max(self.history.len() as u64);
            match run {
                Ok(()) => return taken,
                Err(payload) => self.panicked(payload),
            }
        }
    }

    fn events(&mut self, taken: &mut u32, options: &RunOptions<'_>) {
        let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
        let horizon = self.gvt.at.checked_add(self.horizon).map_or(EventKey::MAX, EventKey::first_at);
        // Both bounds are computed once: a key that was just put together is slow to copy.
        let (free, held_back) = (end.min(horizon), end.min(successor(self.gvt)));
        let room = self.history_bound.min(options.history_max as usize);
        self.law_of_execution();
        while *taken < options.batch {
            // At the history bound, only the event at global virtual time itself may run.
            let full = self.history.len() >= room;
            let bound = if full { &held_back } else { &free };
            // It stays in the queue until it is known where it goes, because events may be large.
            let Some(Sent { scheduled, id }) = self.queue.peek_before(bound) else {
                self.run.throttled += u64::from(full);
                return;
            };
            *taken += 1;
            let (at, to) = (scheduled.key.at, scheduled.to);
            if !self.doomed.is_empty() && self.doomed.remove(id) {
                self.run.cancelled_before += 1;
                self.queue.drop_first();
                continue;
            }
            if self.some_wait && scheduled.key > self.gvt && !self.rules.model.speculative(to) {
                if let Some(sent) = self.queue.take_first() {
                    self.held.push(sent);
                }
                continue;
            }
            let local = self.territory.own(to);
            if at > self.watermark {
                self.watermark = at;
            } else {
                let key = scheduled.key;
                if self.make_way(local, key) {
                    // Events were put back, so what is the first must be looked at again.
                    continue;
                }
            }
            if !self.suspended.is_empty()
                && let Some(parked) = self.suspended.get_mut(&local)
            {
                parked.extend(self.queue.take_first());
                continue;
            }
            self.perform(to, local);
            if let Some(next) = self.queue.ahead(FETCH_AHEAD) {
                prefetch(&self.slots[self.territory.own(next.scheduled.to)]);
            }
        }
    }

    /// What lies before global virtual time is certain: nothing there can still be executed. The first event
    /// is the least, and what it sends comes later.
    fn law_of_execution(&mut self) {
        let Some(Sent { scheduled, id }) = self.queue.peek() else { return };
        let (key, gvt) = (scheduled.key, self.gvt);
        assert!(
            key >= gvt || self.doomed.contains(id),
            "no event before global virtual time is executed: {key} is before {gvt}"
        );
    }

    /// Executes the first event in the queue, which is for an entity here, and records it in the history.
    #[inline(always)]
    fn perform(&mut self, to: EntityId, local: usize) {
        let slot = &mut self.slots[local];
        let before = Before { latest: slot.extra.latest, chain: slot.chain, next_id: self.next_id };
        // Recorded first, so that a panic finds the entry.
        let sent = self.queue.take_first().expect("an event is performed after a look at it");
        let (place, entry) = self.history.push(sent, Deed::Running, before);
        slot.extra.latest = place;
        let due = &entry.sent.scheduled;
        if due.timer && !slot.timers.remove(due.key.sequence) {
            entry.deed = Deed::Skipped;
            return;
        }
        // What is at global virtual time can no longer be undone.
        if self.undo_by == UndoBy::Clone && due.key > self.gvt {
            self.before = Some(Box::new(slot.state.clone()));
        }
        match slot.perform(&self.rules, &mut self.desk, &entry.sent.scheduled) {
            Ok(undo) => {
                entry.deed = match self.undo_by {
                    UndoBy::Inverse => Deed::Inverse(undo),
                    UndoBy::Clone => self.before.take().map_or(Deed::Certain(Ok(())), Deed::Clone),
                };
                if let Some(first) = self.desk.sends.first() {
                    entry.note_first(first);
                }
                self.run.executed += 1;
                let (now, sequence) = (entry.sent.scheduled.key.at, slot.sequence);
                self.post_effects(to, now, sequence);
            }
            Err(error) => self.suspend(local, error),
        }
    }

    /// Suspends the entity of the latest entry, whose handler has failed, until the event commits or is
    /// undone.
    #[cold]
    fn suspend(&mut self, local: usize, error: Box<RunError>) {
        let entry = self.history.back_mut().expect("the failed event has an entry");
        let before = self.before.take();
        let certain = self.undo_by == UndoBy::Clone && before.is_none();
        entry.deed = if certain { Deed::Certain(Err(error)) } else { Deed::Faulted(error) };
        if let Some(state) = before {
            self.slots[local].state = *state;
        }
        self.suspended.insert(local, Vec::new());
    }

    #[cold]
    fn panicked(&mut self, payload: Box<dyn std::any::Any + Send>) {
        let running = self.history.back_mut().filter(|entry| matches!(entry.deed, Deed::Running));
        let Some(entry) = running else { resume_unwind(payload) };
        let local = self.territory.own(entry.sent.scheduled.to);
        let place = self.rules.place(&entry.sent.scheduled);
        let message = panic_message(payload.as_ref());
        self.slots[local].take_back_timers(&self.desk.timer_changes);
        self.desk.clear();
        self.suspend(local, Box::new(RunError::Panic { place, message }));
    }

    /// Moves what the handler put on the desk into the history, but for its first send, and sends its sends.
    #[inline(always)]
    fn post_effects(&mut self, origin: EntityId, now: SimTime, sequence: u64) {
        let Desk { sends, samples, outputs, timer_changes, .. } = &mut self.desk;
        if !(timer_changes.is_empty() && samples.is_empty() && outputs.is_empty()) {
            timer_changes.drain(..).for_each(|change| self.history.note(Effect::Timer(change)));
            samples.drain(..).for_each(|sample| self.history.note(Effect::Sample(sample)));
            outputs.drain(..).for_each(|output| self.history.note(Effect::Output(output)));
        }
        // An event that sends one more at most leaves no more pending than there were before it.
        let grows = sends.len() > 1;
        if grows {
            sends[1..].iter().for_each(|send| self.history.note(Effect::Sent(Sending::of(send))));
        }
        self.post_sends(origin, now, sequence);
        if grows {
            self.run.peak_pending = self.run.peak_pending.max(self.queue.len() as u64);
        }
    }

    #[inline(always)]
    fn post_sends(&mut self, origin: EntityId, now: SimTime, mut sequence: u64) {
        let first_id = self.next_id;
        self.next_id += self.desk.sends.len() as u64;
        while let Some(send) = self.desk.sends.pop() {
            sequence -= 1;
            let (to, id) = (send.to(), first_id + self.desk.sends.len() as u64);
            let scheduled = send.scheduled(origin, sequence);
            let at = scheduled.key.at;
            if at < now {
                sent_into_the_past(now, at);
            }
            if self.territory.has(to) {
                self.queue.push(Sent { scheduled, id });
            } else {
                self.outbox[self.plan.owner(to)].push(Letter::Event(Sent { scheduled, id }));
            }
        }
    }

    /// Commits the entries at the front of the history that lie before global virtual time.
    fn commit(&mut self) {
        let Optimistic { history, slots, territory, rules, gvt, restart, run, last, error, .. } = self;
        let mut latest = last.unwrap_or((EventKey::MIN, EntityId(0)));
        let committed = run.committed;
        let (entries, mut effects) = history.parts();
        let mut count = 0;
        for entry in entries {
            let (key, by) = (&entry.sent.scheduled.key, entry.sent.scheduled.to);
            if !precedes(key, gvt) && !matches!(entry.deed, Deed::Undone | Deed::Certain(Ok(()))) {
                break;
            }
            count += 1;
            if matches!(entry.deed, Deed::Inverse(_) | Deed::Clone(_) | Deed::Certain(Ok(()))) {
                run.committed += 1;
                let committed = &mut slots[territory.own(by)].extra.committed;
                if precedes(&latest.0, key) {
                    latest = (*key, by);
                } else {
                    // Above all that have committed here, it is above those of its entity.
                    law_of_commits(committed, key);
                }
                *committed = *key;
            }
            match std::mem::replace(&mut entry.deed, Deed::Undone) {
                Deed::Inverse(undo) if !*restart => {
                    rules.model.committed(&mut slots[territory.own(by)].state, undo);
                }
                Deed::Inverse(_) | Deed::Clone(_) | Deed::Certain(Ok(())) | Deed::Undone => {}
                Deed::Skipped => run.timers_dropped += 1,
                Deed::Faulted(fault) | Deed::Certain(Err(fault)) => {
                    *error = RunError::earlier(error.take(), Some(*fault))
                }
                Deed::Running => unreachable!("no handler runs while events commit"),
            }
            for _ in 0..entry.effects() {
                match effects.take_first() {
                    Some(Effect::Sample(sample)) => {
                        self.work += M::Statistics::work(&sample);
                        slots[territory.own(by)].statistics.add(sample);
                    }
                    Some(Effect::Output(output)) => self.outputs.push(Written { key: *key, by, output }),
                    Some(Effect::Sent(_) | Effect::Timer(_)) | None => {}
                }
            }
        }
        if run.committed > committed {
            *last = Some(latest);
        }
        history.release(count);
        self.commit_faults();
    }

    /// Records faults before global virtual time, which are certain even if their entries have to wait in the
    /// history: of several faults anywhere, the first must be known before a later one is reported. A worker
    /// that has halted executes nothing more, so a fault at global virtual time is certain then too.
    pub(super) fn commit_faults(&mut self) {
        for &local in self.suspended.keys() {
            if let Some(entry) = self.history.get(self.slots[local].extra.latest)
                && let Deed::Faulted(error) | Deed::Certain(Err(error)) = &entry.deed
                && (entry.sent.scheduled.key < self.gvt || (self.halted && entry.is_certain()))
            {
                self.error = RunError::earlier(self.error.take(), Some((**error).clone()));
            }
        }
    }

    /// Queues held events of entities that do not speculate whose key is global virtual time.
    fn release_held(&mut self) {
        while let Some(sent) = self.held.pop_before(successor(self.gvt)) {
            self.queue.push(sent);
        }
    }

    /// Drops cancelled events where they would hold back global virtual time: at the heads of the queues, and
    /// among those that wait behind a fault. One of those can have the key of the fault, whose event was sent
    /// again after the cancellation: the fault would then never come before global virtual time.
    fn drop_doomed(&mut self) {
        let Optimistic { doomed, queue, held, suspended, run, .. } = self;
        if doomed.is_empty() {
            return;
        }
        for heads in [queue, held] {
            while let Some(sent) = heads.peek()
                && doomed.contains(&sent.id)
            {
                let sent = heads.pop().expect("a peeked event is there");
                doomed.remove(&sent.id);
                run.cancelled_before += 1;
            }
        }
        for parked in suspended.values_mut() {
            let before = parked.len();
            parked.retain(|sent| !doomed.remove(&sent.id));
            run.cancelled_before += (before - parked.len()) as u64;
        }
    }

    /// Whether the others should slow down: the events that they sent early and this worker's history
    /// together are too many.
    fn is_pressed(&self, options: &RunOptions<'_>) -> bool {
        self.history.len() as u64 + self.early > 2 * u64::from(options.history_max)
    }

    /// Adapts the history bound. If any worker is under pressure, all workers reduce it; so does a worker
    /// that undoes many of its events, because it guesses wrong less often if it looks less far ahead.
    /// Otherwise the bound grows again.
    fn adapt(&mut self, pressed: bool, options: &RunOptions<'_>) {
        self.early = 0;
        let (executed, rolled_back) = (self.run.executed - self.seen.0, self.run.rolled_back - self.seen.1);
        self.seen = (self.run.executed, self.run.rolled_back);
        let most = options.history_max as usize;
        let now = self.history_bound.min(most);
        let wasteful = rolled_back * WASTE > executed;
        self.history_bound = if pressed || (wasteful && self.horizon == SimSpan::MAX) {
            (now.min(executed as usize) / 2).max(HISTORY_LEAST).min(most)
        } else {
            (now * 2).min(most)
        };
    }

    /// Ends the run for this worker.
    fn finish(&mut self, verdict: Verdict, transport: &mut impl Transport<M>, options: &RunOptions<'_>) {
        if matches!(verdict, Verdict::Done | Verdict::Partial) {
            let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
            let share = self.share(end, verdict == Verdict::Partial);
            if self.me == 0 {
                self.shares.push(share);
            } else {
                transport.send(0, Packet(Message::Share(Box::new(share))));
            }
        }
        self.result = Some(verdict);
    }

    /// When the run is over, each event that was executed has been committed or undone.
    fn law_of_history(&self) {
        let RunStatistics { executed, committed, rolled_back, .. } = self.run;
        assert!(
            executed == committed + rolled_back,
            "what was executed is committed or undone: {executed} are not {committed} and {rolled_back}"
        );
        let left = self.history.len();
        assert!(left == 0, "no history is left when the run is over: {left} entries are");
    }

    fn share(&mut self, end: EventKey, partial: bool) -> Share<M> {
        self.law_of_history();
        let mut cancelled = 0;
        let mut sums = vec![0u64; self.slots.len()];
        let (mut pending, mut pending_count) = (Vec::new(), 0);
        let mut count = |sent: &Sent<M::Event>| {
            let local = self.territory.own(sent.scheduled.to);
            let dead =
                sent.scheduled.timer && !self.slots[local].timers.contains(sent.scheduled.key.sequence);
            if self.doomed.contains(&sent.id) {
                cancelled += 1;
                return;
            }
            if dead {
                return;
            }
            sums[local] = sums[local].wrapping_add(digest::pending_word(&sent.scheduled));
            pending_count += 1;
            if M::AUDITS_PENDING {
                pending.push(sent.scheduled.clone());
            }
        };
        self.queue.for_each(&mut count);
        self.held.for_each(&mut count);
        self.suspended.values().flatten().for_each(&mut count);
        let doomed = self.doomed.len();
        assert!(cancelled == doomed, "each cancellation finds its event: {cancelled} of {doomed} did");
        let last = self.last.map_or(SimTime::ZERO, |(key, _)| key.at);
        let now = if partial || end == EventKey::MAX { last } else { end.at };
        let slots = std::mem::take(&mut self.slots).into_iter().zip(sums).enumerate();
        let remains =
            slots.map(|(local, (slot, sum))| slot.remains(self.territory.entity(local), sum)).collect();
        Share {
            remains,
            outputs: std::mem::take(&mut self.outputs),
            pending,
            pending_count,
            now,
            partial,
            run: self.run,
        }
    }

    /// The shares of all workers, at worker 0; or how the run must be restarted.
    pub(crate) fn into_shares(self) -> Result<Result<Vec<Share<M>>, Again>, RunError> {
        match self.result.expect("a worker is asked for its shares when it has finished") {
            Verdict::Done | Verdict::Partial => Ok(Ok(self.shares)),
            Verdict::Restart(again) => Ok(Err(again)),
            Verdict::Failed(error) => Err(error),
        }
    }
}

#[inline(never)]
fn law_of_commits(last: &EventKey, key: &EventKey) {
    assert!(precedes(last, key), "an entity commits its events in order: {key} came after {last}");
}

/// The least bound that admits a key.
fn successor(key: EventKey) -> EventKey {
    EventKey { sequence: key.sequence.saturating_add(1), ..key }
}

/// The greatest key below a key, whether or not an event can have it.
fn predecessor(key: EventKey) -> EventKey {
    if let Some(sequence) = key.sequence.checked_sub(1) {
        EventKey { sequence, ..key }
    } else if let Some(origin) = key.origin.0.checked_sub(1) {
        EventKey { origin: EntityId(origin), sequence: u64::MAX, ..key }
    } else if let Some(step) = key.step.checked_sub(1) {
        EventKey { step, at: key.at, ..EventKey::MAX }
    } else {
        let at = towtank_units::SimTime::from_ns(key.at.as_ns().saturating_sub(1));
        EventKey { at, ..EventKey::MAX }.min(key)
    }
}

impl<E> Letter<E> {
    /// The bound that a letter puts on global virtual time. An anti-message holds it below the key that it
    /// cancels: an event at global virtual time must not be one that is about to be cancelled.
    fn floor(&self) -> EventKey {
        match self {
            Letter::Event(sent) => sent.scheduled.key,
            Letter::Anti { key, .. } => predecessor(*key),
        }
    }
}

#[cfg(test)]
mod tests;
