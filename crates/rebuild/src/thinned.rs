//! A recovery in which each group has only some of its objects, to estimate a recovery that takes long to
//! simulate.
//!
//! What paces a recovery (disks, NICs, limits, sleeps, queues) works object by object. So with one object
//! in `by`, the same machines take one `by`-th of the time. Times that do not come from objects, such as
//! the time until a failure is detected, are divided by `by` too; then all times of the result are
//! multiplied by it. Clients and their latencies stay as they are, since no operation becomes larger.
//!
//! An object that is left stands for those that are left out: the room on devices, and all counts of
//! objects and of bytes, are those of all objects.
//!
//! Work items that start no object do not become fewer, so their sleeps are divided too, and an object takes
//! the turns of all that it stands for.
//!
//! Left out: what else is done once for a group rather than for each object counts `by` times. So a group
//! keeps at least [`OBJECTS_LEAST`] objects on average if the caller says nothing else, and the caller
//! compares a thinned recovery with a whole one, or with one that is thinned less, before it uses others.

use towtank_units::{SimSpan, SimTime};

use crate::affected::{Affected, All};
use crate::failures::Struck;
use crate::flags::FlagsOverTime;
use crate::in_all::InAll;
use crate::ledger::{Backfill, Rules};
use crate::model::{Limits, Maps};
use crate::recovery::{Busy, Later, Recovered, Recovery, Waiting};

/// How many objects a group keeps on average: then an operation for each group counts as 1 % of its
/// objects.
pub(crate) const OBJECTS_LEAST: usize = 100;

/// The parts of a recovery that differ in a thinned one.
#[derive(Debug)]
pub struct Thinned {
    affected: Affected,
    struck: Vec<Struck>,
    later: Later,
    waiting: Waiting,
    limits: Limits,
    /// The time to begin a backfill.
    begin: SimSpan,
    by: u32,
}

fn part(span: SimSpan, by: u32) -> SimSpan {
    SimSpan::from_ns(span.as_ns() / u64::from(by))
}

/// Maps come at their times, and items that start nothing do not become fewer with the objects.
fn thinned_limits(limits: &Limits, (by, at_once): (u32, bool)) -> Limits {
    let maps = limits.maps.map(|maps| Maps {
        at_once: maps.at_once || at_once,
        soon: part(maps.soon, by),
        apart: part(maps.apart, by),
        one_in: maps.one_in.saturating_mul(by),
    });
    Limits { maps, ..limits.clone() }
}

impl Thinned {
    /// A recovery with about this many objects, where it has at least twice as many now. None if it has
    /// not, if its records are no groups or their groups are small, or if devices come back: what was
    /// written to an object meanwhile depends on the time.
    #[must_use]
    pub fn to(recovery: &Recovery<'_>, objects: usize) -> Option<Thinned> {
        Thinned::one_in_how_many(recovery, objects, OBJECTS_LEAST).map(|by| Thinned::by(recovery, by))
    }

    /// One object in how many such a recovery has, where a group keeps at least so many on average.
    #[must_use]
    pub fn one_in_how_many(recovery: &Recovery<'_>, objects: usize, of_a_group: usize) -> Option<u32> {
        let affected = recovery.affected;
        let of_one = affected.objects() / affected.records().max(1);
        let by = (affected.objects() / objects.max(1)).min(of_one / of_a_group.max(1));
        let by = u32::try_from(by).ok()?;
        let returns = !recovery.later.returns.is_empty();
        (affected.grouped && by > 1 && !returns).then_some(by)
    }

    /// A recovery with one object in `by`.
    #[must_use]
    pub fn by(recovery: &Recovery<'_>, by: u32) -> Thinned {
        Thinned::taking(recovery, (by, false))
    }

    /// The same where the time that it takes to run does not depend on the objects that are left out: each
    /// object takes the turns of all that it stands for at once ([`Maps::at_once`]).
    #[must_use]
    pub fn at_once_by(recovery: &Recovery<'_>, by: u32) -> Thinned {
        Thinned::taking(recovery, (by, true))
    }

    fn taking(recovery: &Recovery<'_>, (by, at_once): (u32, bool)) -> Thinned {
        let struck = recovery.struck.iter().map(|struck| Struck {
            at: part(struck.at, by),
            down_for: struck.down_for.map(|span| part(span, by)),
            ..struck.clone()
        });
        let at = |at: &SimTime| SimTime::from_ns(at.as_ns() / u64::from(by));
        let waiting = recovery.waiting;
        Thinned {
            affected: recovery.affected.thinned(by),
            struck: struck.collect(),
            later: Later {
                changes: recovery.later.changes.iter().map(at).collect(),
                steps: recovery.later.steps.as_ref().map(|steps| steps.part(|span| part(span, by))),
                flags: FlagsOverTime {
                    changes: recovery
                        .later
                        .flags
                        .changes
                        .iter()
                        .map(|(from, flags)| (at(from), *flags))
                        .collect(),
                },
                ..recovery.later.clone()
            },
            waiting: Waiting {
                detection: part(waiting.detection, by),
                down_out: part(waiting.down_out, by),
                peering: part(waiting.peering, by),
                ..waiting
            },
            limits: thinned_limits(recovery.limits, (by, at_once)),
            begin: part(recovery.rules.backfill.begin, by),
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
            limits: &self.limits,
            rules: Rules { backfill: Backfill { begin: self.begin, ..rules.backfill }, ..rules },
            ..whole.clone()
        }
    }

    /// The result of the thinned recovery as that of the whole one. Objects, groups and bytes are exact,
    /// unless the recovery was interrupted ([`Recovered::interrupted`]): then those that were copied to
    /// devices where they are wanted no longer are estimates. So are times, counts over time, and bytes
    /// that NICs send.
    ///
    /// # Panics
    /// If counts contradict each other.
    #[must_use]
    pub fn whole(&self, whole: &Recovery<'_>, thinned: Recovered) -> Recovered {
        let by = u64::from(self.by);
        let clock = Clock::of(whole, self);
        let mut found = thinned;
        let all = found.in_all.take().expect("a thinned recovery counts what its objects stand for");
        let later = |at: SimTime| clock.whole(at);
        let times = |span: SimSpan| span.saturating_mul(by);
        found.first_transfer = later(found.first_transfer);
        found.last_write = later(found.last_write);
        found.taken_back = found.taken_back.map(|last| last.map(later));
        found.dropped = found.dropped.map(later);
        found.last_on.iter_mut().for_each(|last| *last = last.map(later));
        found.last_by_spare = found.last_by_spare.map(|last| last.map(later));
        found.completed.values_mut().for_each(|at| *at = later(*at));
        for series in found.progress_by_spare.iter_mut().chain([&mut found.progress, &mut found.begun]) {
            series.iter_mut().for_each(|(at, _)| *at = later(*at));
        }
        found.below.iter_mut().for_each(|(at, _)| *at = later(*at));
        found.steps.iter_mut().for_each(|at| *at = later(*at));
        found.short.iter_mut().for_each(|(at, _)| *at = later(*at));
        let spans = [
            &mut found.moving,
            &mut found.bound,
            &mut found.ideal,
            &mut found.reserving,
            &mut found.copying,
            &mut found.sleeping,
            &mut found.idling,
        ];
        spans.into_iter().chain(&mut found.active).for_each(|span| *span = times(*span));
        found.uplinks.iter_mut().flatten().for_each(|span| *span = times(*span));
        found.limited.values_mut().for_each(|span| *span = times(*span));
        let busy = |busy: &mut Busy| *busy = Busy { span: times(busy.span), bytes: busy.bytes * by };
        found.cards.iter_mut().flatten().for_each(busy);
        found.disks.iter_mut().for_each(|disk| disk.0 = times(disk.0));
        found.work.scale(by);
        if let Some(clients) = &mut found.clients {
            clients.over_time.iter_mut().for_each(|(at, _)| *at = later(*at));
        }
        all.count_in(&mut found, by);
        found.assert_adds_up();
        found
    }
}

impl Recovered {
    /// How much the times of another recovery of the same data differ from those of this one, at most, each
    /// as a share of the time since the first transfer: until half of the bytes and all of them are
    /// written, and until no record is left with each number of copies or shards to spare.
    #[must_use]
    pub fn difference(&self, other: &Recovered) -> f64 {
        let since = |at: SimTime| at.checked_since(self.first_transfer).unwrap_or_default().as_secs_f64();
        let differ = |(mine, theirs): (Option<SimTime>, Option<SimTime>)| match (mine, theirs) {
            (None, None) => 0.0,
            (Some(mine), Some(theirs)) if mine == theirs => 0.0,
            (Some(mine), Some(theirs)) if since(mine) > 0.0 => (since(theirs) / since(mine) - 1.0).abs(),
            _ => f64::INFINITY,
        };
        let rows = self.last_by_spare.into_iter().zip(other.last_by_spare);
        rows.chain([(self.half(), other.half())]).map(differ).fold(0.0, f64::max)
    }

    /// When half of the bytes were finished; none if none were. Bytes of a bin count as finished evenly.
    fn half(&self) -> Option<SimTime> {
        let (mut sum, mut begin) = (0u64, self.first_transfer);
        for &(end, bytes) in &self.progress {
            let missing = self.bytes.div_ceil(2) - sum.min(self.bytes.div_ceil(2));
            if bytes > 0 && bytes >= missing {
                let span = end.checked_since(begin).unwrap_or_default();
                let part = u128::from(span.as_ns()) * u128::from(missing) / u128::from(bytes);
                return Some(begin.saturating_add(SimSpan::from_ns(part as u64)));
            }
            sum += bytes;
            begin = begin.max(end);
        }
        None
    }
}

/// Times of a thinned recovery, and of the whole one: moments at which something happens from outside are
/// exact, and what follows a moment takes `by` times as long.
struct Clock {
    /// The same moments in both.
    moments: Vec<(SimTime, SimTime)>,
    by: u64,
}

impl Clock {
    fn of(whole: &Recovery<'_>, thinned: &Thinned) -> Clock {
        let (from, to) = (thinned.of(whole).moments(), whole.moments());
        // Moments less than `by` nanoseconds apart may be one in the thinned recovery.
        let moments = if from.len() == to.len() { from.into_iter().zip(to).collect() } else { Vec::new() };
        Clock { moments, by: u64::from(thinned.by) }
    }

    fn whole(&self, at: SimTime) -> SimTime {
        let next = self.moments.partition_point(|(from, _)| *from <= at);
        let (from, to) =
            next.checked_sub(1).map_or((SimTime::ZERO, SimTime::ZERO), |last| self.moments[last]);
        let after = to.saturating_add(at.since(from).saturating_mul(self.by));
        // Divided times are rounded, so what ends with a phase could come out behind its end.
        self.moments.get(next).map_or(after, |(_, end)| after.min(*end))
    }
}

impl InAll {
    /// Puts these counts in the place of those of a thinned recovery.
    fn count_in(&self, found: &mut Recovered, by: u64) {
        let bytes = self.bytes.iter().sum();
        let begun: u64 = found.begun.iter().map(|(_, jobs)| jobs).sum();
        let share = u128::from(begun) * u128::from(self.jobs) / u128::from(found.jobs.max(1));
        add_up_to(&mut found.begun, u64::try_from(share).unwrap_or(u64::MAX));
        (found.jobs, found.bytes) = (self.jobs, bytes);
        add_up_to(&mut found.progress, bytes);
        for (series, bytes) in found.progress_by_spare.iter_mut().zip(self.bytes) {
            add_up_to(series, bytes);
        }
        for ((disk, all), own) in found.disks.iter_mut().zip(&self.moved).zip(&self.own) {
            // What was read and written of objects that were never finished.
            let rest = |moved: u64, own: u64| moved.saturating_sub(own).saturating_mul(by);
            disk.1 = all[0].saturating_add(rest(disk.1, own[0]));
            disk.2 = all[1].saturating_add(rest(disk.2, own[1]));
        }
        found.work.moved = found.disks.iter().map(|disk| [disk.1, disk.2]).collect();
        found.work.bytes = found.disks.iter().map(|disk| u128::from(disk.2)).sum();
    }
}

/// Changes the counts of a series in proportion, so that they add up to a total.
fn add_up_to(series: &mut [(SimTime, u64)], total: u64) {
    let before: u128 = series.iter().map(|(_, count)| u128::from(*count)).sum();
    let (mut seen, mut given) = (0, 0);
    for (_, count) in series {
        seen += u128::from(*count);
        let until = (seen * u128::from(total)).checked_div(before).unwrap_or(0) as u64;
        *count = until - std::mem::replace(&mut given, until);
    }
}

impl Affected {
    /// The same groups with one object in `by`, and one at least where there are some. Each group has one
    /// `by`-th of its bytes.
    fn thinned(&self, by: u32) -> Affected {
        let mut thinned = self.without_objects(self.objects() / by as usize + self.records());
        for record in 0..self.records() {
            let all = All { objects: self.objects_of(record), bytes: self.bytes_of(record) };
            let objects =
                ((all.objects * 2 + u64::from(by)) / (2 * u64::from(by))).max(u64::from(all.objects > 0));
            // Where all objects have bytes, those that are left have some too.
            let bytes = (all.bytes / u64::from(by)).max(if all.bytes < all.objects { 0 } else { objects });
            thinned.sizes.extend(All { objects, bytes }.even(objects));
            thinned.first_object.push(thinned.sizes.len() as u32);
            thinned.all.push(all);
        }
        thinned
    }
}

#[cfg(test)]
mod tests;
