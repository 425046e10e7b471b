//! Global virtual time: the least key that is unprocessed or in transit, computed with a token (Mattern
//! 1993).
//!
//! Mail carries the epoch of its sender. A token visits all workers in turn; a worker that sees it for the
//! first time moves to the next epoch, so that mail of the old epoch eventually runs out. Each pass sums the
//! number of old messages in transit, and takes the least key that any worker still has or has sent since it
//! moved on. When no old mail is left, that least key is a lower bound of everything that can still happen:
//! global virtual time. Worker 0 starts computations and announces results; packets may arrive in any order.

use super::{HISTORY_LEAST, Optimistic};
use crate::error::{Place, RunError};
use crate::key::{EntityId, EventKey};
use crate::model::Model;
use crate::options::RunOptions;
use crate::outcome::{Again, Notice, Waste};
use crate::pending::PendingSet;
use crate::transport::{Announcement, Mail, Message, Packet, Token, Transport, Verdict};

/// The message counts of a worker for global virtual time.
#[derive(Debug, Default)]
pub(super) struct Census {
    pub epoch: u32,
    /// Mail sent minus mail received, of earlier epochs; `current` is that of this epoch, `ahead` of the
    /// next.
    past: i64,
    current: i64,
    ahead: i64,
}

impl Census {
    pub(super) fn sent(&mut self) {
        self.current += 1;
    }

    pub(super) fn received(&mut self, epoch: u32) {
        if epoch < self.epoch {
            self.past -= 1;
        } else if epoch == self.epoch {
            self.current -= 1;
        } else {
            assert!(
                epoch == self.epoch + 1,
                "mail of epoch {epoch} reached a worker in epoch {}",
                self.epoch
            );
            self.ahead -= 1;
        }
    }

    fn move_on(&mut self) {
        self.epoch += 1;
        self.past += self.current;
        self.current = self.ahead;
        self.ahead = 0;
    }
}

/// The state that worker 0 keeps between computations.
#[derive(Debug, Default)]
pub(super) struct Lead {
    pub under_way: bool,
    pub steps: u32,
    pub urgent: bool,
    round: u32,
    /// Whether the last announcement said that everything before the end has happened, so that the next
    /// computation only waits for mail.
    closing: bool,
    halt: Option<EventKey>,
    /// Whether the user was warned that another executor would be faster.
    warned: bool,
}

/// The number of events after which speculation is judged: about ten rounds of two workers, so that the first
/// guesses, which are the worst, do not decide.
///
/// Of `w` workers, each executes `c + r` events of which `c` commit, at 0.74 of the sequential executor's
/// speed (PHOLD with one worker, `BENCHMARKS.md`). So they are slower than the sequential executor from `r =
/// c (0.74 w - 1)` on; the warning is given only from `r = c w` on, where the case is clear.
const EVENTS_TO_JUDGE: u64 = 20_000;

/// The number of rounds after which their cost is judged: some milliseconds, so that the start of a run,
/// where workers have little to do, does not decide.
const ROUNDS_TO_JUDGE: u64 = 1_000;

/// With fewer committed events in a round, speculation does not pay: the round alone costs four times as much
/// ([`HISTORY_LEAST`]) as one worker needs for these events. The published rebuild has about 500, a recovery
/// whose disks sleep between objects about 2.
const EVENTS_PER_ROUND: u64 = HISTORY_LEAST as u64 / 4;

impl<M: Model> Optimistic<'_, M> {
    /// Starts a computation; called only on worker 0.
    pub(super) fn start_round(&mut self, transport: &mut impl Transport<M>, options: &RunOptions<'_>) {
        self.lead.under_way = true;
        self.lead.urgent = false;
        self.lead.steps = 0;
        let token = self.fresh_token();
        self.visit(token, transport, options);
    }

    pub(super) fn fresh_token(&self) -> Token {
        Token {
            round: self.lead.round,
            in_transit: 0,
            floor: EventKey::MAX,
            committed: 0,
            work: 0,
            rolled_back: 0,
            last: None,
            pressed: false,
            restart: false,
            error: None,
            halt: self.lead.halt,
        }
    }

    /// Handles a token: adds this worker's part and passes it on.
    pub(super) fn visit(
        &mut self,
        mut token: Token,
        transport: &mut impl Transport<M>,
        options: &RunOptions<'_>,
    ) {
        if let Some(key) = token.halt {
            self.halt(key);
        }
        self.flush(transport);
        if self.census.epoch <= token.round {
            self.census.move_on();
            self.sent_floor = EventKey::MAX;
        }
        token.in_transit += self.census.past;
        token.floor = token.floor.min(self.floor()).min(self.sent_floor);
        token.committed += self.run.committed;
        token.work += self.work;
        token.rolled_back += self.run.rolled_back;
        token.last = token.last.max(self.last);
        token.pressed |= self.is_pressed(options);
        token.restart |= self.restart;
        token.error = RunError::earlier(token.error.take(), self.error.clone());
        let next = (self.me + 1) % self.plan.partitions();
        if next == 0 {
            if self.me == 0 {
                self.token_is_back(token, transport, options);
            } else {
                transport.send(0, Packet(Message::Token(token)));
            }
        } else {
            transport.send(next, Packet(Message::Token(token)));
        }
    }

    /// Worker 0: handles the token after it has visited all workers.
    pub(super) fn token_is_back(
        &mut self,
        token: Token,
        transport: &mut impl Transport<M>,
        options: &RunOptions<'_>,
    ) {
        let in_transit = token.in_transit;
        assert!(in_transit >= 0, "no more mail is received than was sent: {in_transit} in transit");
        if token.in_transit != 0 {
            // Old mail is still in transit. Repeat the round after this worker has received its own mail.
            self.again = true;
            return;
        }
        let waste = self.judge(&token, options);
        let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
        let gvt = token.floor;
        let before = self.gvt;
        assert!(gvt >= before, "global virtual time never falls: {gvt} came after {before}");
        let verdict = if token.restart {
            Some(Verdict::Restart(Again::WithClones))
        } else if let Some(error) = token.error {
            Some(Verdict::Failed(error))
        } else if token.committed > options.event_limit {
            token.last.map(|last| Verdict::Failed(self.too_many(last, options.event_limit)))
        } else if self.lead.closing {
            Some(Verdict::Done)
        } else if let (None, Some(waste), true) = (self.lead.halt, waste, options.may_switch) {
            Some(Verdict::Restart(Again::InSequence(waste)))
        } else {
            self.lead.halt.map(|_| Verdict::Partial)
        };
        if gvt >= end {
            self.lead.closing = true;
        } else if options.stop_asked() {
            self.lead.halt = self.lead.halt.or(Some(gvt));
        }
        let round = self.lead.round;
        let halt = self.lead.halt;
        for peer in 1..self.plan.partitions() {
            let announcement =
                Announcement { round, gvt, pressed: token.pressed, halt, verdict: verdict.clone() };
            transport.send(peer, Packet(Message::Announcement(announcement)));
        }
        self.lead.round += 1;
        self.lead.under_way = false;
        self.lead.steps = 0;
        self.lead.urgent = self.lead.closing || halt.is_some() || token.pressed;
        options.report(gvt.min(end).at, token.committed, token.work);
        self.hear(Announcement { round, gvt, pressed: token.pressed, halt, verdict }, transport, options);
    }

    /// Worker 0: why speculation does not pay, if so. Gives one notice, as early as possible, if the run goes
    /// on all the same.
    fn judge(&mut self, token: &Token, options: &RunOptions<'_>) -> Option<Waste> {
        let waste = waste(token, self.lead.round.into(), self.plan.partitions() as u64)?;
        if !options.may_switch && !self.lead.warned {
            self.lead.warned = true;
            if let Some(notice) = options.notice {
                notice(&Notice::DoesNotPay(waste));
            }
        }
        Some(waste)
    }

    /// Worker 0: sends the token round again.
    pub(super) fn repeat_round(&mut self, transport: &mut impl Transport<M>, options: &RunOptions<'_>) {
        self.again = false;
        let token = self.fresh_token();
        self.visit(token, transport, options);
    }

    /// Handles the announcement of a result.
    pub(super) fn hear(
        &mut self,
        news: Announcement,
        transport: &mut impl Transport<M>,
        options: &RunOptions<'_>,
    ) {
        self.run.gvt_rounds = self.run.gvt_rounds.max(u64::from(news.round) + 1);
        self.gvt = self.gvt.max(news.gvt);
        self.commit();
        self.release_held();
        self.adapt(news.pressed, options);
        if let Some(key) = news.halt {
            self.halt(key);
        }
        if let Some(verdict) = news.verdict {
            self.finish(verdict, transport, options);
        }
    }

    /// Stops speculation and undoes every event at or after `key`.
    fn halt(&mut self, key: EventKey) {
        if !self.halted {
            self.halted = true;
            self.rewind(key);
            self.commit_faults();
        }
    }

    /// Sends the contents of the outbox.
    pub(super) fn flush(&mut self, transport: &mut impl Transport<M>) {
        for peer in 0..self.outbox.len() {
            if self.outbox[peer].is_empty() {
                continue;
            }
            let letters = std::mem::take(&mut self.outbox[peer]);
            for letter in &letters {
                self.sent_floor = self.sent_floor.min(letter.floor());
            }
            self.run.messages += letters.len() as u64;
            self.census.sent();
            transport.send(peer, Packet(Message::Mail(Mail { epoch: self.census.epoch, letters })));
        }
    }

    /// The least key that this worker has not yet executed.
    fn floor(&mut self) -> EventKey {
        self.drop_doomed();
        let queued = self.queue.peek().map_or(EventKey::MAX, |sent| sent.scheduled.key);
        let held = self.held.peek().map_or(EventKey::MAX, |sent| sent.scheduled.key);
        let parked = self.suspended.values().flatten().map(|sent| sent.scheduled.key).min();
        queued.min(held).min(parked.unwrap_or(EventKey::MAX))
    }

    fn too_many(&self, (key, entity): (EventKey, EntityId), limit: u64) -> RunError {
        let name = self.rules.model.describe(entity);
        let place = Place { key, entity, name, event: "the last event before the limit".to_owned() };
        RunError::TooManyEvents { place: Box::new(place), limit }
    }
}

/// Why speculation does not pay after so many rounds of so many workers, if so.
fn waste(token: &Token, rounds: u64, workers: u64) -> Option<Waste> {
    let Token { committed, rolled_back, .. } = *token;
    if workers < 2 {
        return None;
    }
    if committed + rolled_back >= EVENTS_TO_JUDGE && rolled_back >= committed.saturating_mul(workers) {
        return Some(Waste::Undone { committed, rolled_back });
    }
    (rounds >= ROUNDS_TO_JUDGE && committed < rounds.saturating_mul(EVENTS_PER_ROUND))
        .then_some(Waste::Rounds { committed, rounds })
}
