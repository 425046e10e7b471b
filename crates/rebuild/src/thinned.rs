//! A recovery in which each group has only some of its objects, to estimate a recovery that takes long to
//! simulate.
//!
//! What paces a recovery (disks, NICs, limits, sleeps, queues) works object by object. So with one object in
//! `by`, the same machines take one `by`-th of the time. Times that do not come from objects, such as the
//! time until a failure is detected, are divided by `by` too; then all times of the result are to be
//! multiplied by it. Clients and their latencies stay as they are, since no operation becomes larger.
//!
//! Left out: what is done once for a group rather than for each object counts `by` times. So a group keeps at
//! least [`OBJECTS_LEAST`] objects on average, and the caller compares a thinned recovery with a whole one
//! before it uses others.

use std::sync::Arc;

use towtank_units::{SimSpan, SimTime};

use crate::affected::Affected;
use crate::failures::Struck;
use crate::ledger::{Backfill, Rules};
use crate::recovery::{Later, Recovery, Waiting};

/// How many objects a group keeps on average: then an operation for each group counts as 1 % of its objects.
pub const OBJECTS_LEAST: usize = 100;

/// The parts of a recovery that differ in a thinned one.
#[derive(Debug)]
pub struct Thinned {
    affected: Affected,
    struck: Vec<Struck>,
    later: Later,
    waiting: Waiting,
    /// The time to begin a backfill.
    begin: SimSpan,
    limit: Vec<u64>,
    by: u32,
}

fn part(span: SimSpan, by: u32) -> SimSpan {
    SimSpan::from_ns(span.as_ns() / u64::from(by))
}

impl Thinned {
    /// A recovery with about this many objects, where it has at least twice as many now. None if it has not,
    /// if its records are no groups or their groups are small, or if devices come back: what was written to
    /// an object meanwhile depends on the time.
    #[must_use]
    pub fn to(recovery: &Recovery<'_>, objects: usize) -> Option<Thinned> {
        let affected = recovery.affected;
        let of_one = affected.objects() / affected.records().max(1);
        let by = u32::try_from((affected.objects() / objects.max(1)).min(of_one / OBJECTS_LEAST)).ok()?;
        let returns = !recovery.later.returns.is_empty();
        (affected.grouped && by > 1 && !returns).then(|| Thinned::by(recovery, by))
    }

    /// A recovery with one object in `by`.
    fn by(recovery: &Recovery<'_>, by: u32) -> Thinned {
        let struck =
            recovery.struck.iter().map(|struck| Struck { at: part(struck.at, by), ..struck.clone() });
        let at = |at: &SimTime| SimTime::from_ns(at.as_ns() / u64::from(by));
        let waiting = recovery.waiting;
        let room = |(used, limit): (&u64, &u64)| match limit.checked_sub(*used) {
            Some(room) => used + room / u64::from(by),
            None => *limit,
        };
        Thinned {
            affected: recovery.affected.thinned(by),
            struck: struck.collect(),
            later: Later {
                changes: recovery.later.changes.iter().map(at).collect(),
                ..recovery.later.clone()
            },
            waiting: Waiting {
                detection: part(waiting.detection, by),
                down_out: part(waiting.down_out, by),
                peering: part(waiting.peering, by),
                ..waiting
            },
            begin: part(recovery.rules.backfill.begin, by),
            limit: recovery.used.iter().zip(&recovery.limit).map(room).collect(),
            by,
        }
    }

    /// One object in how many is left.
    #[must_use]
    pub fn one_in(&self) -> u32 {
        self.by
    }

    /// The thinned recovery, with all else as in the whole one.
    #[must_use]
    pub fn of<'a>(&'a self, whole: &Recovery<'a>) -> Recovery<'a> {
        let rules = whole.rules;
        Recovery {
            affected: &self.affected,
            struck: &self.struck,
            later: &self.later,
            waiting: self.waiting,
            rules: Rules { backfill: Backfill { begin: self.begin, ..rules.backfill }, ..rules },
            limit: self.limit.clone(),
            ..whole.clone()
        }
    }

    /// A time of the thinned recovery as a time of the whole one.
    #[must_use]
    pub fn whole(&self, at: SimTime) -> SimTime {
        SimTime::from_ns(at.as_ns().saturating_mul(u64::from(self.by)))
    }
}

impl Affected {
    /// The same groups with one object in `by`, and one at least where there are some. Each group has one
    /// `by`-th of its bytes.
    fn thinned(&self, by: u32) -> Affected {
        let mut thinned = Affected {
            kinds: self.kinds.clone(),
            kind_of: self.kind_of.clone(),
            lists: self.lists.clone(),
            first_object: vec![0],
            sizes: Vec::with_capacity(self.sizes.len() / by as usize + self.records()),
            numbers: self.numbers.clone(),
            homes: self.homes.as_ref().map(Arc::clone),
            keys: self.keys.clone(),
            held: None,
            ..*self
        };
        for record in 0..self.records() {
            let sizes = self.sizes(record);
            let bytes = sizes.iter().sum::<u64>() / u64::from(by);
            let objects = ((sizes.len() as u64 * 2 + u64::from(by)) / (2 * u64::from(by)))
                .max(u64::from(!sizes.is_empty()));
            let (each, more) = (bytes.checked_div(objects).unwrap_or(0), bytes.checked_rem(objects));
            let of = |at: u64| each + u64::from(more.is_some_and(|more| at < more));
            thinned.sizes.extend((0..objects).map(of));
            thinned.first_object.push(thinned.sizes.len() as u32);
        }
        thinned
    }
}
