//! Large recoveries with some of their objects in place of all ([`towtank_rebuild::thinned`]).
//!
//! Trials of other settings and speeds are estimated with about 50,000 objects. Where very many objects are
//! rebuilt, the recovery itself is estimated too, with more of them. Each estimate is checked in its run:
//! that of trials must take as long as the recovery itself. That of the recovery must agree with the one of
//! trials, which is at least twice as coarse, so that what is done once for a group makes twice the error
//! there; and with a third one, so that it is seen where the time depends on the order in which groups get
//! their reservations. That order differs in each estimate, as it does if disks are a little faster.

use towtank_rebuild::affected::Affected;
use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_rebuild::thinned::Thinned;
use towtank_report::{Warning, human};
use towtank_units::SimTime;

use towtank_study::{RunContext, StudyError};

use crate::running;

/// How much longer or shorter a thinned recovery may take than the one that it stands for, so that others
/// like it are used: 2 %, a choice made before any was measured.
pub const ERROR_MAX: f64 = 0.02;

/// Recoveries with twice as many objects are thinned to so many for trials: a run takes some tenths of a
/// second.
const OBJECTS: usize = 50_000;

/// An estimate of the recovery itself has so many objects, or more where there are many groups: a run takes
/// about a second. Objects that are read in many shards count as several ([`Affected::weight`]).
const OBJECTS_FINE: usize = 200_000;

/// Where estimates differ, one with about so many is made, or four times as many as before if that is less.
const OBJECTS_FINER: usize = 800_000;

/// A group keeps at least so many objects on average in an estimate for trials of a recovery that is
/// estimated itself, and twice as many in that of the recovery. Chosen for clusters with thousands of
/// groups of many shards, of which all are affected by the failure of a host; what it makes of drawn
/// clusters is in `whatif/tests/coarse.rs`.
const OF_A_GROUP: usize = 25;

/// With fewer groups, the order in which a few of them get their reservations decides the time, and thinned
/// recoveries have another order. Chosen after a trial of 480 groups without sleep was 22 % off, although
/// the recovery without a change was within [`ERROR_MAX`]. Above it, 60 trials of drawn recoveries were at
/// most 0.4 % off (`whatif/tests/estimated.rs`).
pub const GROUPS: usize = 500;

/// Recoveries of more objects are estimated unless `exact_objects` says otherwise. A choice: a run of so many
/// takes about eight seconds. Objects that are read in many shards count as several ([`exact_usually`]).
const EXACT_OBJECTS: u64 = 4_000_000;

/// By how much an estimate may be off although others agree with it, without mClock and with it: the largest
/// error of 30 drawn recoveries against runs with all objects, 4.9 % and 11.1 %, rounded up.
const OFF_LEAST: [f64; 2] = [0.05, 0.12];

/// Recoveries of more objects than this are estimated unless `exact_objects` says otherwise.
#[must_use]
pub fn exact_usually(affected: &Affected) -> u64 {
    (EXACT_OBJECTS as f64 / affected.weight()) as u64
}

/// A thinned recovery that takes as long as the one that it stands for.
pub struct Estimate {
    thinned: Thinned,
    /// The time of the whole recovery for a second of the thinned one.
    scale: f64,
    /// Events that it took.
    events: u64,
}

impl Estimate {
    /// Thins a recovery that ran to its end. None if it is not large, or the thinned one takes longer or
    /// shorter by more than the limit.
    ///
    /// # Errors
    /// When the model fails.
    pub fn of(
        recovery: &Recovery<'_>,
        recovered: &Recovered,
        limits: Limits,
        context: &RunContext<'_>,
    ) -> Result<Option<Estimate>, StudyError> {
        let few = recovery.affected.records() < limits.groups_least;
        if recovered.partial || recovered.jobs == 0 || few {
            return Ok(None);
        }
        let Some(thinned) = Thinned::to(recovery, OBJECTS).filter(|_| !context.stopped()) else {
            return Ok(None);
        };
        let found = running::run(&Recovery { quiet: false, ..thinned.of(recovery) }, context)?;
        let estimate = Estimate::new(thinned, recovered, (found.last_write, found.events));
        Ok((!found.partial && estimate.error().abs() <= limits.error_max).then_some(estimate))
    }

    /// The estimate that there is already, or a new one.
    ///
    /// # Errors
    /// When the model fails.
    pub fn or_of(
        estimate: Option<Estimate>,
        (recovery, recovered): (&Recovery<'_>, &Recovered),
        limits: Limits,
        context: &RunContext<'_>,
    ) -> Result<Option<Estimate>, StudyError> {
        match estimate {
            Some(estimate) => Ok(Some(estimate)),
            None => Estimate::of(recovery, recovered, limits, context),
        }
    }

    /// A thinned recovery as an estimate of the whole one, which `recovered` is the result of: the thinned
    /// one ended with the last write at this time, after so many events.
    fn new(thinned: Thinned, recovered: &Recovered, (last_write, events): (SimTime, u64)) -> Estimate {
        let scale = recovered.last_write.as_secs_f64() / last_write.as_secs_f64();
        Estimate { thinned, scale, events }
    }

    /// The error of the thinned recovery, as a share of the time of the whole one.
    #[must_use]
    pub fn error(&self) -> f64 {
        f64::from(self.thinned.one_in()) / self.scale - 1.0
    }

    /// The events that a run of it takes.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The recovery to run in place of one with many objects, and what its times are to be multiplied by.
    pub fn or_whole<'a>(estimate: Option<&'a Estimate>, recovery: &Recovery<'a>) -> (Recovery<'a>, f64) {
        match estimate {
            Some(estimate) => (estimate.thinned.of(recovery), estimate.scale),
            None => (recovery.clone(), 1.0),
        }
    }

    /// What is said of the times that it gives.
    #[must_use]
    pub fn note(&self) -> Warning {
        Warning::note(format!(
            "the times of other settings and speeds were estimated with one object in {}; for the settings as they \
             are, this estimate is {} off",
            self.thinned.one_in(),
            human::quantity(self.error().abs(), "fraction")
        ))
    }
}

/// When a recovery is estimated.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The objects up to which it is not.
    pub exact_objects: u64,
    /// The share by which estimates may differ: [`ERROR_MAX`], or more where the order of groups is chance
    /// and makes a larger difference.
    pub error_max: f64,
    /// The groups from which on it is: [`GROUPS`], or any number where it is known what difference their
    /// order makes.
    pub groups_least: usize,
}

/// The result of a recovery, and how it was found.
pub struct Ran {
    /// The result.
    pub recovered: Recovered,
    /// The estimate of trials, if the recovery itself was estimated.
    pub estimate: Option<Estimate>,
    /// What is said of an estimate of the recovery itself, or of why there is none.
    pub note: Option<Warning>,
    /// By how much its times may be off because it was estimated, as a share of the time since the first
    /// transfer: 0 where all objects were simulated.
    pub off: f64,
}

impl Ran {
    fn whole(recovered: Recovered, note: Option<Warning>) -> Ran {
        Ran { recovered, estimate: None, note, off: 0.0 }
    }
}

/// Runs a recovery: with all of its objects if they are at most `exact_objects`, or cannot be estimated;
/// else with some of them.
///
/// # Errors
/// When the model fails.
pub fn run(recovery: &Recovery<'_>, limits: Limits, context: &RunContext<'_>) -> Result<Ran, StudyError> {
    let exact_objects = limits.exact_objects;
    let many = recovery.affected.objects() as u64 > exact_objects
        && recovery.affected.records() >= limits.groups_least;
    match three(recovery).filter(|_| many) {
        Some(three) => checked(recovery, three, limits, context),
        None => Ok(Ran::whole(running::run(recovery, context)?, None)),
    }
}

/// A recovery with some of its objects, one with a few less, and one with at most half as many, for trials.
pub fn three(recovery: &Recovery<'_>) -> Option<[Thinned; 3]> {
    Some(parts(recovery)?.map(|by| Thinned::at_once_by(recovery, by)))
}

/// One object in how many each of them has.
fn parts(recovery: &Recovery<'_>) -> Option<[u32; 3]> {
    let weight = recovery.affected.weight();
    let weighed = |objects: usize| (objects as f64 / weight) as usize;
    let rough = Thinned::one_in_how_many(recovery, weighed(OBJECTS), OF_A_GROUP).filter(|by| *by >= 4)?;
    let fine = u32::try_from(recovery.affected.objects() / weighed(OBJECTS_FINE).max(1)).unwrap_or(u32::MAX);
    let fine = fine.clamp(2, rough / 2);
    Some([fine, fine + fine.div_ceil(3), rough])
}

/// How many objects are simulated at a time, at most: all, where the recovery is not estimated.
#[must_use]
pub fn objects_at_once(recovery: &Recovery<'_>, exact_objects: u64) -> u64 {
    let all = recovery.affected.objects() as u64;
    let is_short = all <= exact_usually(recovery.affected);
    let fine = parts(recovery).filter(|_| !is_short && all > exact_objects).map(|[fine, ..]| fine);
    // Where estimates differ, a finer one is made.
    fine.map_or(all, |fine| all / u64::from(fine / 4).max(1))
}

/// The largest difference between the times of several results for the same recovery.
pub fn differences(found: &[&Recovered]) -> f64 {
    let of = |(at, one): (usize, &&Recovered)| {
        found[at + 1..].iter().map(|other| one.difference(other)).fold(0.0, f64::max)
    };
    found.iter().enumerate().map(of).fold(0.0, f64::max)
}

/// Runs a recovery with some of its objects, and twice with fewer. Where these differ, it is run with all
/// of them if they are not too many; else it is said by how much they differ.
pub fn checked(
    recovery: &Recovery<'_>,
    [fine, other, rough]: [Thinned; 3],
    limits: Limits,
    context: &RunContext<'_>,
) -> Result<Ran, StudyError> {
    let run = |thinned: &Thinned, quiet: bool, part: std::ops::Range<f64>| {
        let recovery = Recovery { quiet, ..thinned.of(recovery) };
        context.within(part, |context| running::run(&recovery, context))
    };
    // Half of the progress: the other half follows if the estimates differ.
    let recovered = run(&fine, recovery.quiet, 0.0..0.2)?;
    let (second, third) = (run(&other, false, 0.2..0.4)?, run(&rough, false, 0.4..0.5)?);
    let parts = [fine.one_in(), other.one_in(), rough.one_in()];
    let all = [&recovered, &second, &third];
    let (partial, empty) = (all.iter().any(|found| found.partial), all.iter().any(|found| found.jobs == 0));
    let events = third.events;
    let (mut recovered, second) = (fine.whole(recovery, recovered), other.whole(recovery, second));
    if partial {
        // A run that was stopped before its check is no result.
        recovered.partial = true;
        return Ok(Ran::whole(recovered, None));
    }
    let last_write = third.last_write;
    let error = differences(&[&recovered, &second, &rough.whole(recovery, third)]);
    let is_short = recovery.affected.objects() as u64 <= exact_usually(recovery.affected);
    if is_short && (empty || error > limits.error_max) {
        let note = Some(differ(parts, error, limits.error_max)).filter(|_| !empty);
        let recovered = context.within(0.5..1.0, |context| running::run(recovery, context))?;
        return Ok(Ran::whole(recovered, note));
    }
    if empty {
        return Ok(Ran::whole(recovered, None));
    }
    let finer = finer(recovery, &fine).filter(|_| error > limits.error_max);
    let mut said = Said { recovery, exact_objects: limits.exact_objects, parts: parts.to_vec(), error };
    if let Some(finer) = finer {
        let found = run(&finer, recovery.quiet, 0.5..1.0)?;
        let partial = found.partial;
        let before = std::mem::replace(&mut recovered, finer.whole(recovery, found));
        if partial {
            return Ok(Ran::whole(recovered, None));
        }
        said.error = differences(&[&recovered, &before]);
        said.parts = vec![finer.one_in(), fine.one_in()];
    }
    let differ = said.error > limits.error_max;
    let least = OFF_LEAST[usize::from(recovery.limits.queues.is_some())];
    let off = least.max(said.error);
    let note = Some(said.note((differ, recovered.interrupted), off));
    let estimate = Some(Estimate::new(rough, &recovered, (last_write, events)));
    Ok(Ran { recovered, estimate, note, off })
}

/// An estimate with more objects, where others differ.
fn finer(recovery: &Recovery<'_>, fine: &Thinned) -> Option<Thinned> {
    let objects = OBJECTS_FINER as f64 / recovery.affected.weight();
    let by = (recovery.affected.objects() as f64 / objects) as u32;
    let by = by.max(fine.one_in() / 4).max(2);
    (by <= fine.one_in() / 2).then(|| Thinned::at_once_by(recovery, by))
}

/// What is said of an estimate.
struct Said<'a> {
    recovery: &'a Recovery<'a>,
    exact_objects: u64,
    /// One object in how many each of those that are compared has.
    parts: Vec<u32>,
    error: f64,
}

impl Said<'_> {
    /// With whether they differ by more than is usual, and whether the recovery was interrupted.
    fn note(&self, (differ, interrupted): (bool, bool), off: f64) -> Warning {
        let moved = match interrupted {
            false => "objects, groups and bytes that move are exact",
            true => "what was copied before a later change and is wanted no longer is an estimate",
        };
        let by = match self.error.is_finite() {
            true => format!("by at most {}", human::quantity(self.error, "fraction")),
            false => "in what ends at all".to_owned(),
        };
        let why =
            if differ { ", since the time depends on the order in which groups are copied" } else { "" };
        let compared = match self.parts[..] {
            [finer, fine] => format!("one in {finer} and in {fine}"),
            [fine, other, rough] => format!("one in {fine}, in {other} and in {rough}"),
            _ => unreachable!("two or three estimates are compared"),
        };
        Warning::note(format!(
            "{} objects are more than `exact_objects` ({}), so the recovery was simulated with one in {}: {moved}; \
             times, rates, counts over time and what NICs send are estimates: with {compared} times differ {by}{why}, and \
             {} is added to the range; exact = true (`--exact`) simulates all objects",
            human::digits(self.recovery.affected.objects() as f64),
            human::digits(self.exact_objects as f64),
            self.parts[0],
            human::quantity(if off.is_finite() { off } else { 1.0 }, "fraction"),
        ))
    }
}

fn differ([fine, other, rough]: [u32; 3], error: f64, error_max: f64) -> Warning {
    Warning::note(format!(
        "all objects were simulated, because estimates with one in {fine}, in {other} and in {rough} differ by {}, \
         more than {}: the time depends on the order in which groups are copied",
        human::quantity(error, "fraction"),
        human::quantity(error_max, "fraction")
    ))
}
