//! The order in which groups of equal priority get their reservations, which is chance in Ceph: it is drawn
//! several times, the recovery with the median time is the one that is presented, and the times between
//! which most of the others lie are its range.
//!
//! These recoveries have some of their objects in place of all where there are many, so that together they
//! take about as long as two of the whole.

use serde::{Deserialize, Serialize};
use towtank_rebuild::ledger::{Order, Rules};
use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_rebuild::thinned::Thinned;
use towtank_streams::Seed;
use towtank_study::{RunContext, StudyError};

use towtank_recovery::running;

use super::exposure::{AtRisk, Risk};
use crate::real::calibrated::Machine;

/// How many orders are drawn: an odd number, so that one of them has the median time.
pub(crate) const DRAWN: usize = 17;

/// The shares of the orders that are below the range, and up to its end.
pub(crate) const SHARES: [f64; 2] = [0.1, 0.9];

/// All of these recoveries together have about this many objects, or twice those of the recovery itself.
const OBJECTS: usize = 400_000;

/// With fewer objects in a group on average, what is done once for a group would count too much.
const OF_A_GROUP: usize = 20;

/// The same where the recovery itself is estimated: what counts of these times is how they differ.
const OF_A_GROUP_LEAST: usize = 5;

/// How far apart the times of two recoveries are that have the same constants and the same order: a standard
/// deviation, as a share. Objects of one real cluster came 0.108 s apart in one event, and 0.139 s in another
/// when its machine did other things: 12.5 % from the middle on either side, taken for nine tenths of a
/// normal distribution.
pub(crate) const BETWEEN_EVENTS: f64 = 0.08;

/// Points of a normal distribution with a ninth of it around each.
const PARTS: [f64; 9] = [-1.593, -0.967, -0.589, -0.282, 0.0, 0.282, 0.589, 0.967, 1.593];

/// The times of the drawn orders.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// How many.
    pub drawn: usize,
    /// How many seconds a recovery takes less with one order in ten, and more with another one in ten, than
    /// with the median one.
    pub range_s: [f64; 2],
    /// Half of that range, as a share of the time from the first object to the last.
    pub share: f64,
}

/// Draws orders, of calibrated machines one with each: the recovery with the median time, how the others
/// differ, and what is at risk in them. None where chance has no part in the order, little is copied, or the
/// user stopped it.
///
/// # Errors
/// When the model fails.
pub fn draw<'a>(
    recovery: &Recovery<'a>,
    (exact_objects, machines): (u64, &'a [Machine]),
    risk: &dyn Fn(&Recovered) -> Risk,
    context: &RunContext<'_>,
) -> Result<Option<(Recovery<'a>, Orders, AtRisk)>, StudyError> {
    let Some(thinned) = cheap(recovery, exact_objects, !machines.is_empty()) else { return Ok(None) };
    let first = recovery.rules.ties.unwrap_or(recovery.rules.seed);
    let drawn = if machines.is_empty() { DRAWN } else { machines.len() };
    let mut all: Vec<(f64, usize)> = Vec::with_capacity(drawn);
    let mut moving = 0.0f64;
    let mut at_risk = AtRisk::default();
    let base = |number: usize| {
        let base = with_ties(recovery, first.part(number as u32));
        match machines.get(number) {
            Some(machine) => machine.in_place(base),
            None => base,
        }
    };
    for number in 0..drawn {
        let one = Recovery { clients: None, quiet: false, ..base(number) };
        let own = machines.get(number).and_then(|_| cheap(&one, exact_objects, true));
        let thinned = own.as_ref().unwrap_or(&thinned);
        let parts = [number, number + 1].map(|number| number as f64 / drawn as f64);
        let found = context.within(parts[0]..parts[1], |context| run(&one, thinned.as_ref(), context))?;
        if found.partial || context.stopped() || found.jobs == 0 {
            return Ok(None);
        }
        moving = moving.max(found.moving.as_secs_f64());
        at_risk = at_risk.with(risk(&found));
        let later_s = machines.get(number).map_or(0.0, |machine| machine.later_s);
        all.push((found.last().as_secs_f64() + later_s, number));
    }
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (median, number) = all[drawn / 2];
    let mut times: Vec<f64> = all.iter().map(|(time, _)| *time).collect();
    if !machines.is_empty() {
        let moving = moving.min(median);
        let off = |time: &f64| PARTS.map(|part| time + moving * BETWEEN_EVENTS * part);
        times = times.iter().flat_map(off).collect();
        times.sort_by(f64::total_cmp);
    }
    let range_s = SHARES.map(|share| (quantile(&times, share) - median).abs());
    let share = if moving > 0.0 { range_s.iter().sum::<f64>() / 2.0 / moving } else { 0.0 };
    Ok(Some((base(number), Orders { drawn, range_s, share }, at_risk)))
}

/// The recovery with groups of equal priority in the order that a seed gives. Which objects are written while
/// devices are away is drawn from it too.
pub(super) fn with_ties<'a>(recovery: &Recovery<'a>, seed: Seed) -> Recovery<'a> {
    let own = if recovery.later.returns.is_empty() { recovery.rules.seed } else { seed };
    Recovery { rules: Rules { ties: Some(seed), seed: own, ..recovery.rules }, ..recovery.clone() }
}

/// How the recovery is made cheap enough to run many times: with some of its objects, or as it is. None if
/// it cannot, or if chance has no part in it. Recoveries of more than `exact_objects` are estimated.
/// They differ by more than the order if `differ`.
fn cheap(recovery: &Recovery<'_>, exact_objects: u64, differ: bool) -> Option<Option<Thinned>> {
    let affected = recovery.affected;
    if affected.records() == 0 || !(differ || by_chance(recovery)) {
        return None;
    }
    let objects = affected.objects();
    let (each, of_a_group) = match objects as u64 > exact_objects {
        true => ((OBJECTS as f64 / affected.weight()) as usize / DRAWN, OF_A_GROUP_LEAST),
        false => (OBJECTS / DRAWN, OF_A_GROUP),
    };
    if objects <= each {
        return Some(None);
    }
    let by = objects.div_ceil(each).min(objects / affected.records() / of_a_group);
    // Twice the objects of the recovery itself are allowed, where its groups are small.
    let fits = objects / by.max(1) <= each.max(2 * objects / DRAWN);
    let thinned = |by| match objects as u64 > exact_objects {
        true => Thinned::at_once_by(recovery, by),
        false => Thinned::by(recovery, by),
    };
    (fits && recovery.later.returns.is_empty()).then(|| Some(thinned(by as u32)))
}

/// Whether chance has a part in the order of groups.
pub(super) fn by_chance(recovery: &Recovery<'_>) -> bool {
    let (affected, rules) = (recovery.affected, recovery.rules);
    let drawn = rules.ties.is_some() && rules.order == Order::FewestCopies;
    drawn && affected.grouped && affected.records() > 1 && recovery.limits.reservations.is_some()
}

fn run(
    recovery: &Recovery<'_>,
    thinned: Option<&Thinned>,
    context: &RunContext<'_>,
) -> Result<Recovered, StudyError> {
    match thinned {
        Some(thinned) => Ok(thinned.whole(recovery, running::run(&thinned.of(recovery), context)?)),
        None => running::run(recovery, context),
    }
}

/// The value below which a share of sorted values lies, between two of them where it falls there.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        let all = [1.0, 2.0, 4.0, 8.0, 16.0];
        assert_eq!([0.0, 0.1, 0.5, 0.9, 1.0].map(|share| quantile(&all, share)), [1.0, 1.4, 4.0, 12.8, 16.0]);
    }
}
