//! The result of a run: the model's final state and statistics, its digest, and statistics of the run itself.

use towtank_units::SimTime;

use crate::digest::{self, Digest};
use crate::error::RunError;
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::{Model, Statistics};

/// An output of an event, with its position in the run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Written<O> {
    /// The event that wrote it.
    pub key: EventKey,
    /// The entity that wrote it.
    pub by: EntityId,
    /// The output.
    pub output: O,
}

/// The committed state that an audit receives.
#[derive(Debug)]
pub struct Committed<'a, M: Model> {
    /// The time up to which every event has happened.
    pub now: SimTime,
    /// The final states of the entities, in order.
    pub entities: &'a [M::Entity],
    /// The statistics of the entities, in order.
    pub statistics: &'a [M::Statistics],
    /// The number of events that were sent and not yet handled; zero if the run ended because no events were
    /// left.
    pub pending_count: u64,
    /// Those events, in the order of keys, if the model audits them ([`Model::AUDITS_PENDING`]); otherwise
    /// empty.
    pub pending: &'a [Scheduled<M::Event>],
}

/// Statistics of the execution. They depend on the executor and the machine and are not part of the digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RunStatistics {
    /// Committed events.
    pub committed: u64,
    /// Executed events, including those undone later.
    pub executed: u64,
    /// Undone events.
    pub rolled_back: u64,
    /// Rollbacks caused by a late event.
    pub primary_rollbacks: u64,
    /// Rollbacks caused by a cancelled send.
    pub secondary_rollbacks: u64,
    /// Anti-messages sent to other workers.
    pub anti_messages: u64,
    /// Sends cancelled before they were executed.
    pub cancelled_before: u64,
    /// Sends cancelled after they were executed.
    pub cancelled_after: u64,
    /// Anti-messages that arrived before the event they cancel.
    pub cancelled_early: u64,
    /// Events sent to another worker.
    pub messages: u64,
    /// Computations of global virtual time.
    pub gvt_rounds: u64,
    /// Windows of the conservative executor.
    pub windows: u64,
    /// Batches in which the memory bound limited a worker.
    pub throttled: u64,
    /// Faults and panics under speculation whose events were undone.
    pub faults_forgiven: u64,
    /// Timers that were cancelled before they fired.
    pub timers_dropped: u64,
    /// The maximum number of pending events, summed over workers.
    pub peak_pending: u64,
    /// The maximum length of the undo history, summed over workers.
    pub peak_history: u64,
}

impl RunStatistics {
    /// Committed events divided by executed events: 1 if nothing was undone.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        if self.executed == 0 { 1.0 } else { self.committed as f64 / self.executed as f64 }
    }

    /// The number of rollbacks of both kinds.
    #[must_use]
    pub fn rollbacks(&self) -> u64 {
        self.primary_rollbacks + self.secondary_rollbacks
    }

    /// Adds another worker's share. Rounds and windows are common to all workers, so they are not summed.
    pub(crate) fn join(&mut self, other: &RunStatistics) {
        self.committed += other.committed;
        self.executed += other.executed;
        self.rolled_back += other.rolled_back;
        self.primary_rollbacks += other.primary_rollbacks;
        self.secondary_rollbacks += other.secondary_rollbacks;
        self.anti_messages += other.anti_messages;
        self.cancelled_before += other.cancelled_before;
        self.cancelled_after += other.cancelled_after;
        self.cancelled_early += other.cancelled_early;
        self.messages += other.messages;
        self.gvt_rounds = self.gvt_rounds.max(other.gvt_rounds);
        self.windows = self.windows.max(other.windows);
        self.throttled += other.throttled;
        self.faults_forgiven += other.faults_forgiven;
        self.timers_dropped += other.timers_dropped;
        self.peak_pending += other.peak_pending;
        self.peak_history += other.peak_history;
    }
}

/// Information about the run that a user should know, though nothing is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Zero-delay links leave fewer partitions than workers.
    FewerPartitions {
        /// The number of workers requested.
        workers: u32,
        /// The number of partitions.
        partitions: u32,
    },
    /// Speculation copies entities that own memory, because the model has no hand-written undo: another
    /// executor is likely to be faster. Given before the run.
    UndoneByCopies {
        /// Whether the conservative executor can use what the model knows of its slack; else it is the
        /// sequential one that is faster.
        slack: bool,
    },
    /// No entity of the model speculates: another executor is faster. Given before the run.
    NoneSpeculates {
        /// As in [`Notice::UndoneByCopies`].
        slack: bool,
    },
    /// A hand-written undo met a fault that it could not undo, so the run was restarted with clones.
    RestartedWithClones,
    /// Speculation did not pay, so the run was restarted with the sequential executor.
    RestartedInSequence(Waste),
    /// Speculation does not pay: another executor would be faster.
    DoesNotPay(Waste),
}

/// Why speculation does not pay, with the counts of when this was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Waste {
    /// Most of it is undone.
    Undone {
        /// The number of events committed.
        committed: u64,
        /// The number of events undone.
        rolled_back: u64,
    },
    /// Workers find so few events to execute ahead of each other that they mostly agree on global virtual
    /// time.
    Rounds {
        /// The number of events committed.
        committed: u64,
        /// The number of computations of global virtual time.
        rounds: u64,
    },
}

impl std::fmt::Display for Waste {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Waste::Undone { committed, rolled_back } => {
                write!(f, "rolled back {rolled_back} events to commit {committed}")
            }
            Waste::Rounds { committed, rounds } => {
                write!(f, "made its workers agree {rounds} times to commit {committed} events")
            }
        }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::FewerPartitions { workers, partitions: 1 } => {
                write!(f, "links without delay put all entities into one partition: only 1 of {workers} workers is used")
            }
            Notice::FewerPartitions { workers, partitions } => {
                write!(f, "links without delay leave {partitions} partitions: only {partitions} of {workers} workers are used")
            }
            Notice::UndoneByCopies { slack } => write!(
                f,
                "the optimistic executor copies an entity before each event of this model, which has no cheaper undo: \
                 --executor {} is likely to be faster, with the same result",
                if *slack { "conservative" } else { "sequential" }
            ),
            Notice::NoneSpeculates { slack } => write!(
                f,
                "the optimistic executor runs this model, whose events cannot be undone, one event after another: \
                 --executor {} is likely to be faster, with the same result",
                if *slack { "conservative" } else { "sequential" }
            ),
            Notice::DoesNotPay(waste) => write!(
                f,
                "the optimistic executor {waste}: the sequential or the conservative one is faster here, with the same \
                 result"
            ),
            Notice::RestartedInSequence(waste) => write!(
                f,
                "the optimistic executor {waste}, so the run was restarted with the sequential executor, which gives the \
                 same result"
            ),
            Notice::RestartedWithClones => f.write_str(
                "an event failed in speculative execution and had to be rolled back, so the run was restarted with clones as undo",
            ),
        }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome<M: Model> {
    /// The final state of each entity.
    pub entities: Vec<M::Entity>,
    /// The statistics of each entity.
    pub statistics: Vec<M::Statistics>,
    /// The outputs, in the order of keys.
    pub outputs: Vec<Written<M::Output>>,
    /// The digest of the run.
    pub digest: Digest,
    /// The time up to which every event has happened.
    pub now: SimTime,
    /// Whether the run was stopped early on request.
    pub partial: bool,
    /// The number of events that were still pending.
    pub pending: u64,
    /// Those events, in the order of keys, if the model audits them ([`Model::AUDITS_PENDING`]); otherwise
    /// empty.
    pub in_flight: Vec<Scheduled<M::Event>>,
    /// Statistics of the execution.
    pub run: RunStatistics,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

impl<M: Model> Outcome<M> {
    /// The state that [`Model::audit`] received at the end of the run.
    #[must_use]
    pub fn committed(&self) -> Committed<'_, M> {
        Committed {
            now: self.now,
            entities: &self.entities,
            statistics: &self.statistics,
            pending_count: self.pending,
            pending: &self.in_flight,
        }
    }

    /// The statistics of all entities, merged in order.
    #[must_use]
    pub fn merged_statistics(&self) -> M::Statistics {
        let mut all = M::Statistics::default();
        for statistics in &self.statistics {
            all.merge(statistics);
        }
        all
    }
}

/// How a parallel run ended.
pub enum Ended<M: Model> {
    /// With an outcome.
    Outcome(Box<Outcome<M>>),
    /// Without one: run the model again in another way.
    Restart(Again),
}

/// How to run a model again, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Again {
    /// An event failed under speculation and had to be undone, which a hand-written undo cannot do: with
    /// [`UndoBy::Clone`](crate::UndoBy::Clone).
    WithClones,
    /// Speculation did not pay ([`RunOptions::may_switch`](crate::RunOptions::may_switch)): with the
    /// sequential executor.
    InSequence(Waste),
}

/// The result of one entity.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Remains<S, T> {
    pub id: EntityId,
    pub state: S,
    pub statistics: T,
    pub digest: u64,
}

/// The result of one worker's partition, in serialisable form.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound(
    serialize = "M::Event: serde::Serialize, M::Entity: serde::Serialize, M::Statistics: serde::Serialize, M::Output: serde::Serialize",
    deserialize = "M::Event: serde::Deserialize<'de>, M::Entity: serde::Deserialize<'de>, M::Statistics: serde::Deserialize<'de>, M::Output: serde::Deserialize<'de>"
))]
pub(crate) struct Share<M: Model> {
    pub remains: Vec<Remains<M::Entity, M::Statistics>>,
    pub outputs: Vec<Written<M::Output>>,
    /// Live events not yet handled; only collected if the model audits them.
    pub pending: Vec<Scheduled<M::Event>>,
    pub pending_count: u64,
    #[serde(with = "crate::key::nanoseconds")]
    pub now: SimTime,
    pub partial: bool,
    pub run: RunStatistics,
}

/// What holds when the shares of all workers have been put together and in order.
fn laws_of_the_end<M: Model>(
    model: &M,
    remains: &[Remains<M::Entity, M::Statistics>],
    outputs: &[Written<M::Output>],
    pending: &[Scheduled<M::Event>],
    (now, partial): (SimTime, bool),
) {
    let entities = model.entities() as usize;
    let each_once =
        remains.len() == entities && remains.iter().enumerate().all(|(at, one)| one.id.index() == at);
    assert!(each_once, "each entity has one result: there are {} of {entities}", remains.len());
    let last = outputs.last().map_or(SimTime::ZERO, |written| written.key.at);
    assert!(last <= now, "nothing is written after the end of a run: at {last}, but it ended at {now}");
    if let Some(next) = pending.first().filter(|_| !partial) {
        let at = next.key.at;
        assert!(at >= now, "everything before the end has happened: {at} is pending, but the end is {now}");
    }
    let twice = pending.windows(2).find(|pair| pair[0].key == pair[1].key);
    assert!(twice.is_none(), "no two events have the same key: {:?}", twice.map(|pair| pair[0].key));
}

/// Combines the shares of all workers into the outcome, in the order of entities, and audits it.
pub(crate) fn assemble<M: Model>(
    model: &M,
    shares: Vec<Share<M>>,
    notices: Vec<Notice>,
) -> Result<Outcome<M>, RunError> {
    let mut run = RunStatistics::default();
    let (mut remains, mut outputs, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    let (mut now, mut partial, mut pending_count) = (SimTime::ZERO, false, 0);
    for share in shares {
        run.join(&share.run);
        if remains.is_empty() {
            remains = share.remains;
        } else {
            remains.extend(share.remains);
        }
        outputs.extend(share.outputs);
        pending.extend(share.pending);
        pending_count += share.pending_count;
        now = now.max(share.now);
        partial |= share.partial;
    }
    remains.sort_by_key(|left| left.id);
    outputs.sort_by_key(|written| written.key);
    pending.sort_by_key(|scheduled| scheduled.key);
    laws_of_the_end(model, &remains, &outputs, &pending, (now, partial));
    let digest = digest::of_entities(remains.iter().map(|one| one.digest));
    let (entities, statistics): (Vec<_>, Vec<_>) =
        remains.into_iter().map(|one| (one.state, one.statistics)).unzip();
    let committed =
        Committed { now, entities: &entities, statistics: &statistics, pending_count, pending: &pending };
    model.audit(&committed).map_err(RunError::Audit)?;
    Ok(Outcome {
        entities,
        statistics,
        outputs,
        digest,
        now,
        partial,
        pending: pending_count,
        in_flight: pending,
        run,
        notices,
    })
}

#[cfg(test)]
mod tests {
    use towtank_units::SimSpan;

    use super::*;
    use crate::phold::Phold;

    fn share(ids: &[u32]) -> Share<Phold> {
        let one = |&id: &u32| Remains {
            id: EntityId(id),
            state: crate::phold::Process(0),
            statistics: (),
            digest: 0,
        };
        Share {
            remains: ids.iter().map(one).collect(),
            outputs: Vec::new(),
            pending: Vec::new(),
            pending_count: 0,
            now: SimTime::from_ns(50),
            partial: false,
            run: RunStatistics::default(),
        }
    }

    fn at(ns: u64, sequence: u64) -> EventKey {
        EventKey { sequence, ..EventKey::first_at(SimTime::from_ns(ns)) }
    }

    #[test]
    fn damaged_shares_break_a_law() {
        let model = Phold {
            processes: 2,
            start_events: 1,
            remote: 0.0,
            look_ahead: SimSpan::ZERO,
            mean: SimSpan::from_ns(9),
            work: 0,
        };
        let pending = |key| Scheduled { key, to: EntityId(0), timer: false, event: () };
        let written = |key| Written { key, by: EntityId(0), output: () };
        let table: [(&str, Vec<Share<Phold>>); 5] = [
            ("each entity has one result: there are 1 of 2", vec![share(&[0])]),
            ("each entity has one result: there are 2 of 2", vec![share(&[0]), share(&[0])]),
            (
                "nothing is written after the end",
                vec![Share { outputs: vec![written(at(51, 0))], ..share(&[0, 1]) }],
            ),
            (
                "everything before the end has happened",
                vec![Share { pending: vec![pending(at(49, 0))], ..share(&[0, 1]) }],
            ),
            (
                "no two events have the same key",
                vec![Share { pending: vec![pending(at(60, 3)), pending(at(60, 3))], ..share(&[0, 1]) }],
            ),
        ];
        for (want, shares) in table {
            let broken = std::panic::catch_unwind(|| assemble(&model, shares, Vec::new()).map(|_| ()));
            let message = crate::plain::panic_message(broken.expect_err(want).as_ref());
            assert!(message.contains(want), "{message}");
        }
        assemble(&model, vec![share(&[1]), share(&[0])], Vec::new()).expect("shares come in any order");
    }
}
