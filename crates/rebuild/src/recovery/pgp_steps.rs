//! The steps in which the manager changes the number of places (`pgp_num`) of pools.
//!
//! A new number is only a target: at each of its ticks the manager goes on towards it while little is
//! misplaced and nothing is degraded or inactive (`DaemonServer::adjust_pgs`). What it knows comes from
//! statistics that devices send now and then, so it may make another step before it sees the first. When it
//! makes its next step depends on how far the recovery has come: each phase is run once to see that, and once
//! more up to the step.
//!
//! Left out: that devices send their statistics at different times, that groups which complete a move peer
//! once more, and that pools take their turns within a tick.

use towtank_units::{SimSpan, SimTime};

use crate::affected::Affected;
use crate::ledger::Planned;
use crate::model::{Counts, SPARES};

/// Changes of the map that the manager makes in steps, after all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// The pools whose groups are moved.
    pub pools: Vec<Stepped>,
    /// How many maps there are on the way, the last with the target: each has the same part of each pool.
    pub maps: u32,
    /// When the first object would move if the first step were made as soon as it is asked for.
    pub from: SimTime,
    /// From a step to its first object.
    pub lag: SimSpan,
    /// No step is made before this span has passed since it was asked for.
    pub earliest: SimSpan,
    /// Whether groups are split or created first.
    pub splits: bool,
    /// Copies and shards of all objects of the cluster.
    pub copies: u64,
    /// The manager.
    pub manager: Manager,
}

/// A pool whose groups are moved in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// Its groups (`pg_num`).
    pub groups: u32,
    /// By how much `pgp_num` changes.
    pub by: u32,
}

/// What decides how fast the manager makes its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manager {
    /// `mgr_tick_period`.
    pub tick: SimSpan,
    /// `mgr_stats_period`.
    pub statistics: SimSpan,
    /// `target_max_misplaced_ratio`.
    pub misplaced_most: f64,
    /// For how long groups that a step moves are inactive.
    pub inactive: SimSpan,
}

impl Steps {
    /// The same with all times divided, for a thinned recovery.
    pub(crate) fn part(&self, part: impl Fn(SimSpan) -> SimSpan) -> Steps {
        let Manager { tick, statistics, inactive, misplaced_most } = self.manager;
        let [tick, statistics] = [tick, statistics].map(|span| part(span).max(SimSpan::from_ns(2)));
        Steps {
            from: SimTime::ZERO.saturating_add(part(self.from.since(SimTime::ZERO))),
            lag: part(self.lag),
            earliest: part(self.earliest),
            manager: Manager { tick, statistics, inactive: part(inactive), misplaced_most },
            pools: self.pools.clone(),
            ..*self
        }
    }

    /// The same with the target reached in one step.
    #[must_use]
    pub fn at_once(&self) -> Steps {
        let manager = Manager { misplaced_most: f64::INFINITY, inactive: SimSpan::ZERO, ..self.manager };
        Steps { pools: self.pools.clone(), manager, ..*self }
    }

    /// The same where groups are inactive for so many thousandths of the time.
    #[must_use]
    pub fn with_inactive(&self, permille: u64) -> Steps {
        let inactive = self.manager.inactive.saturating_mul(permille);
        let manager = Manager { inactive: SimSpan::from_ns(inactive.as_ns() / 1_000), ..self.manager };
        Steps { pools: self.pools.clone(), manager, ..*self }
    }

    /// The map that is reached with so many groups of each pool.
    fn reached(&self, done: &[u32]) -> u32 {
        let of = |(pool, done): (&Stepped, &u32)| {
            (u64::from(*done) * u64::from(self.maps)).checked_div(u64::from(pool.by)).map(|maps| maps as u32)
        };
        self.pools.iter().zip(done).filter_map(of).min().unwrap_or(self.maps)
    }
}

/// What is known at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    at: SimTime,
    /// Copies and shards that are to be moved.
    misplaced: u64,
    /// Whether any object lacks a copy or shard.
    degraded: bool,
}

/// The manager while a recovery goes on.
pub(super) struct Course<'a> {
    steps: &'a Steps,
    /// Ticks that have passed.
    ticks: u64,
    /// Groups of each pool whose turn has come.
    done: Vec<u32>,
    /// When each step was made, since it was asked for, and the map that was reached with it.
    made: Vec<(SimSpan, u32)>,
    /// What was known of earlier phases, in order of time.
    before: Vec<Known>,
}

/// How the misplaced objects of a phase become fewer.
pub(super) struct Ahead {
    begin: Known,
    /// Copies and shards that are moved, and those that stay where they are.
    copies: [u64; 2],
    /// Their bytes.
    bytes: u64,
    /// Whether objects lack a copy or shard that the phase restores, and whether some do anyway.
    lacks: bool,
    degraded: bool,
    known: Vec<Known>,
    /// Up to when it is known; none if nothing changes any more.
    until: Option<SimTime>,
}

/// What the manager does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It makes a step, whose objects may move at a time.
    Moves(SimTime),
    /// It makes none before something else happens, or none at all.
    Later,
    /// That depends on what is not known yet.
    Unknown,
}

impl Ahead {
    /// Of a phase that begins at a time, with this plan, before any of it is run; `degraded` where objects
    /// lack a copy or shard throughout.
    pub(super) fn of((from, degraded): (SimTime, bool), (affected, planned): (&Affected, &Planned)) -> Ahead {
        let plan = &planned.plan;
        let stay = planned.stuck.unmoved + planned.stuck.unmoved_by_flag;
        let copies = plan.jobs().iter().zip(&planned.jobs).map(|(job, (record, object))| {
            affected.stands_for_objects(*record as usize, *object as usize) * plan.writes(job).len() as u64
        });
        let copies: u64 = copies.sum();
        let bytes: u64 = plan.jobs().iter().map(|job| plan.bytes_over_targets(job)).sum();
        let lacks = plan.tasks().iter().any(|task| (task.spare as usize) < SPARES - 1);
        let misplaced = copies.saturating_add(stay);
        let begin = Known { at: from, misplaced, degraded: degraded || lacks };
        Ahead { begin, copies: [copies, stay], bytes, lacks, degraded, known: vec![begin], until: None }
    }

    /// The same with what is known once it was run up to a time; none if it ran to its end.
    pub(super) fn with(self, counts: &Counts, until: Option<SimTime>) -> Ahead {
        let [copies, stay] = self.copies;
        let whole = counts.last[..SPARES - 1].iter().copied().max().unwrap_or_default();
        let mut known = vec![self.begin];
        let mut left = self.bytes;
        for (end, done) in counts.progress.ends() {
            left = left.saturating_sub(*done);
            let share = u128::from(copies) * u128::from(left) / u128::from(self.bytes.max(1));
            let misplaced = u64::try_from(share).unwrap_or(u64::MAX).saturating_add(stay);
            let at = self.begin.at.saturating_add(end.since(SimTime::ZERO));
            // Up to a time the last object that was restored is only the last so far.
            let lacks = self.lacks && (end < whole || until.is_some());
            known.push(Known { at, misplaced, degraded: self.degraded || lacks });
        }
        Ahead { known, until, ..self }
    }
}

impl<'a> Course<'a> {
    pub(super) fn of(steps: &'a Steps) -> Course<'a> {
        let done = vec![0; steps.pools.len()];
        Course { steps, ticks: 0, done, made: Vec::new(), before: Vec::new() }
    }

    /// When the first objects of a step may move that is made so long after it was asked for.
    fn moves_at(&self, made: SimSpan) -> SimTime {
        self.steps.from.saturating_add(made)
    }

    /// How many maps have been made that count at a time.
    pub(super) fn maps_at(&self, at: SimTime) -> usize {
        let made = self.made.iter().take_while(|(made, _)| self.moves_at(*made) <= at);
        made.last().map_or(0, |(_, maps)| *maps as usize)
    }

    /// When the maps of steps that count between two times were made.
    pub(super) fn made_in(&self, from: SimTime, until: Option<SimTime>) -> Vec<SimTime> {
        let made = self.made.iter().map(|(made, _)| self.seen_at(*made));
        made.filter(|at| *at >= from && until.is_none_or(|until| *at < until)).collect()
    }

    /// Whether a step is left.
    pub(super) fn is_left(&self) -> bool {
        self.maps_made() < self.steps.maps
    }

    fn maps_made(&self) -> u32 {
        self.made.last().map_or(0, |(_, maps)| *maps)
    }

    /// The steps so far: when the objects of each may move, and the map that was reached with it.
    pub(super) fn into_steps(self) -> (Vec<SimTime>, u32) {
        let left = self.steps.maps - self.maps_made();
        (self.made.iter().map(|(made, _)| self.moves_at(*made)).collect(), left)
    }

    /// Remembers a phase that has ended.
    pub(super) fn pass(&mut self, ahead: Ahead, until: Option<SimTime>) {
        let passed = ahead.known.into_iter();
        self.before.extend(passed.take_while(|known| until.is_none_or(|until| known.at < until)));
    }

    /// When the next step may come, as a guess: a quarter later than after the last one.
    pub(super) fn guess(&self, from: SimTime) -> SimTime {
        let last = match *self.made.as_slice() {
            [.., (earlier, _), (last, _)] => last.saturating_sub(earlier),
            _ => SimSpan::ZERO,
        };
        let Manager { tick, statistics, inactive, .. } = self.steps.manager;
        let usual = tick.saturating_add(statistics).saturating_add(inactive).saturating_add(self.steps.lag);
        let guess = last.max(usual);
        from.saturating_add(guess.saturating_add(SimSpan::from_ns(guess.as_ns() / 4)))
    }

    /// When the objects of the next step may move; `fixed` is when something else happens.
    pub(super) fn next(&mut self, ahead: &Ahead, fixed: Option<SimTime>) -> Next {
        let ends = ahead.known.last().map_or(SimTime::ZERO, |known| known.at);
        loop {
            let at = self.steps.manager.tick.saturating_mul(self.ticks + 1);
            let moves = self.moves_at(at);
            if fixed.is_some_and(|fixed| moves >= fixed) {
                return Next::Later;
            }
            let statistics = self.steps.manager.statistics.as_ns();
            let seen = SimSpan::from_ns(at.as_ns().saturating_sub(1) / statistics * statistics);
            if ahead.until.is_some_and(|until| self.seen_at(seen) >= until) {
                return Next::Unknown;
            }
            self.ticks += 1;
            let before = self.maps_made();
            match self.room(ahead, (at, seen)) {
                Some(room) => self.step(at, room),
                // Nothing changes any more.
                None if ahead.until.is_none() && self.seen_at(seen) > ends && self.is_calm(at, seen) => {
                    return Next::Later;
                }
                None => {}
            }
            if self.maps_made() > before {
                return Next::Moves(moves);
            }
        }
    }

    /// The time of a recovery of which the manager knows a span after the steps were asked for.
    fn seen_at(&self, seen: SimSpan) -> SimTime {
        let behind = self.moves_at(seen).since(SimTime::ZERO).saturating_sub(self.steps.lag);
        SimTime::ZERO.saturating_add(behind)
    }

    /// Whether no group is inactive, as far as the manager knows.
    fn is_calm(&self, at: SimSpan, seen: SimSpan) -> bool {
        let Steps { manager: Manager { tick, inactive, .. }, splits, earliest, .. } = self.steps;
        // Groups that a split makes are known at once; the others by their statistics.
        let split = *splits && at < tick.saturating_add(*inactive);
        let peers = |made: SimSpan| made < seen && seen < made.saturating_add(*inactive);
        at >= *earliest && !split && !self.made.iter().any(|(made, _)| peers(*made))
    }

    /// The share of objects that may be misplaced more; none if no step may be made.
    fn room(&self, ahead: &Ahead, (at, seen): (SimSpan, SimSpan)) -> Option<f64> {
        let time = self.seen_at(seen);
        let known = |all: &[Known]| all[..all.partition_point(|known| known.at <= time)].last().copied();
        let known = known(&ahead.known).or_else(|| known(&self.before));
        let known = known.unwrap_or(Known { at: time, misplaced: 0, degraded: false });
        if known.degraded || !self.is_calm(at, seen) {
            return None;
        }
        let most = self.steps.manager.misplaced_most;
        let misplaced = known.misplaced as f64 / self.steps.copies.max(1) as f64;
        (misplaced <= most).then(|| (most - misplaced).min(most / 2.0))
    }

    /// Makes a step of each pool with room for so many of its groups, and of one group at least.
    fn step(&mut self, at: SimSpan, room: f64) {
        for (done, pool) in self.done.iter_mut().zip(&self.steps.pools) {
            let groups = ((f64::from(pool.groups) * room) as u32).max(1);
            *done = done.saturating_add(groups).min(pool.by);
        }
        let reached = self.steps.reached(&self.done);
        if reached > self.maps_made() {
            self.made.push((at, reached));
        }
    }
}

#[cfg(test)]
mod tests;
