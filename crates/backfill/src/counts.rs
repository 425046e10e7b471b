//! The statistics of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_kernel::Statistics;
use towtank_metrics::Histogram;
use towtank_replication::{DeviceId, Discovery, Note, Tally};
use towtank_units::{SimSpan, SimTime};

/// The statistics, over all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Backfills, by group and target.
    #[serde(with = "towtank_units::pairs")]
    pub backfills: BTreeMap<(u32, u32), Filled>,
    /// When each group first became clean.
    #[serde(with = "towtank_units::pairs")]
    pub clean: BTreeMap<u32, SimTime>,
    /// When log recovery of each group began, and when it ended.
    #[serde(with = "towtank_units::pairs")]
    pub by_log: BTreeMap<u32, (SimTime, Option<SimTime>)>,
    /// Objects recovered by logs, counted once per replica.
    pub recovered_by_log: u64,
    /// Bytes of all messages sent.
    pub sent_bytes: u64,
    /// Messages sent.
    pub messages: u64,
    /// Times that a group had to wait for devices that are not available.
    pub down: u64,
    /// Requests that clients repeated.
    pub retried: u64,
    /// How long clients waited for their writes, in nanoseconds, until all groups were clean.
    pub waited: Histogram,
}

/// The statistics of one backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filled {
    /// When it first began.
    pub began: SimTime,
    /// When discovery ended, and by which method.
    pub discovered: Option<(SimTime, Discovery)>,
    /// Ranges, or objects, that had to be looked at.
    pub differing: u64,
    /// When it ended, and its cost.
    pub ended: Option<(SimTime, Tally)>,
}

/// A single observation.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// A replica reports a note.
    Noted {
        /// The group.
        group: u32,
        /// The time of the note.
        at: SimTime,
        /// The note.
        note: Note,
    },
    /// A message of this many bytes was sent.
    Sent(u64),
    /// A client was answered after this long.
    Waited(SimSpan),
    /// A client repeated a request.
    Retried,
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Noted { group, at, note } => self.note(group, at, &note),
            Sample::Sent(bytes) => {
                self.messages += 1;
                self.sent_bytes += bytes;
            }
            Sample::Waited(span) => self.waited.record(span.as_ns()),
            Sample::Retried => self.retried += 1,
        }
    }

    fn merge(&mut self, other: &Counts) {
        for (key, theirs) in &other.backfills {
            let mine = self.backfills.entry(*key).or_insert(*theirs);
            if theirs.began < mine.began || mine.ended.is_none() {
                let began = mine.began.min(theirs.began);
                *mine = Filled { began, ..*theirs };
            }
        }
        for (group, theirs) in &other.clean {
            let mine = self.clean.entry(*group).or_insert(*theirs);
            *mine = (*mine).min(*theirs);
        }
        for (group, theirs) in &other.by_log {
            self.by_log.entry(*group).or_insert(*theirs);
        }
        self.recovered_by_log += other.recovered_by_log;
        self.sent_bytes += other.sent_bytes;
        self.messages += other.messages;
        self.down += other.down;
        self.retried += other.retried;
        self.waited.merge(&other.waited);
    }
}

impl Counts {
    fn note(&mut self, group: u32, at: SimTime, note: &Note) {
        let key = |target: &DeviceId| (group, target.0);
        match note {
            Note::BackfillBegan { target, .. } => {
                let begun = Filled { began: at, discovered: None, differing: 0, ended: None };
                self.backfills.entry(key(target)).or_insert(begun);
            }
            Note::Discovered { target, by, differing, .. } => {
                if let Some(filled) = self.backfills.get_mut(&key(target)) {
                    filled.discovered = Some((at, *by));
                    filled.differing = *differing;
                }
            }
            Note::BackfillEnded { target, tally } => {
                if let Some(filled) = self.backfills.get_mut(&key(target)) {
                    filled.ended = Some((at, *tally));
                }
            }
            Note::Clean => {
                self.clean.entry(group).or_insert(at);
            }
            Note::LogRecoveryBegan { .. } => {
                self.by_log.entry(group).or_insert((at, None));
            }
            Note::LogRecoveryEnded => {
                if let Some((_, ended)) = self.by_log.get_mut(&group) {
                    *ended = Some(at);
                }
            }
            Note::Recovered { to, .. } if !self.backfills.contains_key(&key(to)) => {
                self.recovered_by_log += 1
            }
            Note::Down { .. } => self.down += 1,
            Note::Recovered { .. }
            | Note::PeeringBegan
            | Note::Active { .. }
            | Note::Unfound { .. }
            | Note::Reverted { .. }
            | Note::TargetFull { .. } => {}
        }
    }
}
