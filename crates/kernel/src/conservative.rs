//! The conservative executor: workers run in parallel in windows no longer than the look-ahead.
//!
//! An event before `floor + look-ahead`, where `floor` is the least pending key of all workers, can no longer
//! be affected by another partition: any new message from there arrives later. If the model knows more about
//! its events, the bound is later (`reach`). Each worker runs its events up to that bound, sends each peer
//! one packet with the events for it, its own floor and reach, and waits for one packet from each. All
//! workers then have the same facts and compute the same bound, so no leader is needed.

use towtank_units::{SimSpan, SimTime};

use crate::context::Rules;
use crate::error::{Place, RunError};
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::Model;
use crate::options::RunOptions;
use crate::outcome::Share;
use crate::partition::{Plan, Territory};
use crate::pending::PendingSet;
use crate::plain::Plain;
use crate::reach::Reach;
use crate::transport::{Message, Packet, Step, Transport, Window};

/// The number of events between two checks of the stop flag.
const BATCH: u64 = 4096;

/// One worker of the conservative executor.
pub(crate) struct Conservative<'m, M: Model> {
    plain: Plain<'m, M, Territory>,
    plan: Plan,
    me: usize,
    round: u64,
    phase: Phase,
    /// The work of the other workers, as of the last window.
    work_elsewhere: u64,
    /// Packets of this round and, from peers that are ahead, of the next.
    heard: Vec<Window<M::Event>>,
    shares: Vec<Share<M>>,
    result: Option<Result<(), RunError>>,
    error: Option<RunError>,
    mail: Vec<Vec<Scheduled<M::Event>>>,
    /// Memory of mail that has been read, for mail to be sent.
    spare: Vec<Vec<Scheduled<M::Event>>>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Running events before a bound.
    Running(EventKey),
    /// Waiting for the packets of this round; holds what this worker itself reported.
    Waiting(OwnReport),
    /// The run is over; worker 0 waits for the others' shares.
    Gathering,
}

/// What a worker reported to its peers about itself, for its own computation of the bound.
#[derive(Clone, Copy, Debug)]
struct OwnReport {
    /// The end of the window.
    bound: EventKey,
    floor: EventKey,
    reach: SimTime,
    stop: bool,
}

impl<'m, M: Model> Conservative<'m, M> {
    /// Creates and starts the entities. If one cannot start, the first window reports it to the peers, and
    /// the run ends.
    pub(crate) fn new(rules: Rules<'m, M>, plan: &Plan, me: usize) -> Self {
        assert!(
            plan.look_ahead > SimSpan::ZERO,
            "no link without delay joins two partitions of the conservative executor"
        );
        let mut plain = Plain::new(rules, plan.territory(me));
        let error = plain.start().err();
        if let Some(mut reach) = Reach::new(plain.rules.model, plan.look_ahead) {
            plain.queue.for_each(|pending| {
                reach.note(plain.rules.model, pending.key.at, pending.to, &pending.event);
            });
            plain.reach = Some(reach);
        }
        Conservative {
            plain,
            plan: plan.clone(),
            me,
            round: 0,
            // The first window is empty: it delivers what the entities sent when they were started.
            phase: Phase::Running(EventKey::MIN),
            work_elsewhere: 0,
            heard: Vec::new(),
            shares: Vec::new(),
            result: None,
            error,
            mail: (0..plan.partitions()).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
        }
    }

    pub(crate) fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }

    fn peers(&self) -> usize {
        self.plan.partitions() - 1
    }

    /// Runs until the worker has to wait, or a batch is done.
    pub(crate) fn step(&mut self, transport: &mut impl Transport<M>, options: &RunOptions<'_>) -> Step {
        while let Some(Packet(message)) = transport.receive() {
            match message {
                Message::Window(window) => {
                    self.law_of_rounds(&window);
                    self.heard.push(window);
                }
                Message::Share(share) => self.shares.push(*share),
                _ => unreachable!("conservative workers send windows and shares only"),
            }
        }
        match self.phase {
            Phase::Running(bound) => {
                self.run_window(bound, transport, options);
                Step::Worked
            }
            Phase::Waiting(own) => self.conclude(own, transport, options),
            Phase::Gathering => {
                if self.shares.len() <= self.peers() && self.me == 0 && matches!(self.result, Some(Ok(()))) {
                    Step::Waiting
                } else {
                    Step::Finished
                }
            }
        }
    }

    fn run_window(&mut self, bound: EventKey, transport: &mut impl Transport<M>, options: &RunOptions<'_>) {
        let allowance = BATCH.min((options.event_limit - self.plain.run.committed).saturating_add(1));
        let more = self.plain.batch(bound, allowance).unwrap_or_else(|error| {
            self.error = Some(error);
            false
        });
        if self.me == 0 {
            let now = self.plain.last.map_or(EventKey::MIN, |(key, _)| key).at;
            options.report(now, self.plain.run.committed, self.plain.work + self.work_elsewhere);
        }
        // Within a window no event touches another partition, so a stop in the middle leaves a consistent
        // state.
        let stop = options.stop_asked();
        if more && !stop && self.plain.run.committed <= options.event_limit {
            return;
        }
        let mut floor = self.plain.floor();
        let mut reach = match &mut self.plain.reach {
            Some(reach) => reach.least(floor),
            None => floor.at.saturating_add(self.plan.look_ahead),
        };
        for send in self.plain.outgoing.drain(..) {
            if send.key < bound {
                let early = self.plain.rules.too_soon(&send, send.key.at, bound.at);
                self.error = RunError::earlier(self.error.take(), Some(early));
            }
            floor = floor.min(send.key);
            reach = reach.min(match &self.plain.reach {
                Some(known) => known.of(self.plain.rules.model, send.key.at, send.to, &send.event),
                None => send.key.at.saturating_add(self.plan.look_ahead),
            });
            self.plain.run.messages += 1;
            self.mail[self.plan.owner(send.to)].push(send);
        }
        for peer in (0..self.plan.partitions()).filter(|&peer| peer != self.me) {
            let window = Window {
                round: self.round,
                events: std::mem::replace(&mut self.mail[peer], self.spare.pop().unwrap_or_default()),
                floor,
                reach,
                committed: self.plain.run.committed,
                work: self.plain.work,
                last: self.plain.last,
                error: self.error.clone(),
                stop,
            };
            transport.send(peer, Packet(Message::Window(window)));
        }
        self.phase = Phase::Waiting(OwnReport { bound, floor, reach, stop });
    }

    /// Once all packets of the round have arrived, computes the next bound or ends the run.
    fn conclude(
        &mut self,
        own: OwnReport,
        transport: &mut impl Transport<M>,
        options: &RunOptions<'_>,
    ) -> Step {
        let this_round = self.heard.iter().filter(|window| window.round == self.round).count();
        if this_round < self.peers() {
            return Step::Waiting;
        }
        assert!(this_round == self.peers(), "each peer sends one packet a window: {this_round} came");
        let OwnReport { bound: before, mut floor, mut reach, mut stop } = own;
        let mut committed = self.plain.run.committed;
        let mut last = self.plain.last;
        let mut error = self.error.take();
        self.work_elsewhere = 0;
        let round = self.round;
        for mut window in self.heard.extract_if(.., |window| window.round == round) {
            self.work_elsewhere += window.work;
            floor = floor.min(window.floor);
            reach = reach.min(window.reach);
            stop |= window.stop;
            committed += window.committed;
            last = last.max(window.last);
            error = RunError::earlier(error, window.error);
            let promised = window.floor;
            for event in window.events.drain(..) {
                let key = event.key;
                assert!(
                    key >= promised,
                    "no event comes from a peer below its floor: {key} is below {promised}"
                );
                self.plain.arrive(event);
            }
            self.spare.push(window.events);
        }
        let pending = self.plain.queue.len() as u64;
        self.plain.run.peak_pending = self.plain.run.peak_pending.max(pending);
        self.round += 1;
        self.plain.run.windows += 1;
        let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
        if error.is_none() && committed > options.event_limit {
            error = last.map(|last| self.too_many(last, options.event_limit));
        }
        if let Some(error) = error {
            self.result = Some(Err(error));
            self.phase = Phase::Gathering;
        } else if floor >= end || stop {
            self.finish(end, floor < end, transport);
        } else {
            let bound = if reach == SimTime::MAX { EventKey::MAX } else { EventKey::first_at(reach) };
            let bound = bound.min(end);
            assert!(
                floor >= before,
                "no event is left before the end of a window: {floor} is below {before}"
            );
            assert!(bound > floor, "a window ends after it begins: its end, {bound}, is not above {floor}");
            self.phase = Phase::Running(bound);
        }
        Step::Worked
    }

    /// A peer can be ahead by one window, for the next of which it needs a packet from here.
    fn law_of_rounds(&self, window: &Window<M::Event>) {
        let (theirs, ours) = (window.round, self.round);
        assert!(
            theirs == ours || theirs == ours + 1,
            "a peer is in this window or the next: a packet of {theirs} came in {ours}"
        );
    }

    fn too_many(&self, (key, entity): (EventKey, EntityId), limit: u64) -> RunError {
        let name = self.plain.rules.model.describe(entity);
        let place = Place { key, entity, name, event: "the last event before the limit".to_owned() };
        RunError::TooManyEvents { place: Box::new(place), limit }
    }

    fn finish(&mut self, end: EventKey, partial: bool, transport: &mut impl Transport<M>) {
        let share = self.plain.share(end, partial);
        if self.me == 0 {
            self.shares.push(share);
        } else {
            transport.send(0, Packet(Message::Share(Box::new(share))));
        }
        self.result = Some(Ok(()));
        self.phase = Phase::Gathering;
    }

    /// The shares of all workers at worker 0, or the error at any worker.
    pub(crate) fn into_shares(self) -> Result<Vec<Share<M>>, RunError> {
        self.result.expect("a worker is asked for its shares when it has finished").map(|()| self.shares)
    }
}

#[cfg(test)]
mod tests;
