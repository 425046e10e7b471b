//! The same recovery with slower and with faster disks.

use std::ops::Range;

use towtank_rebuild::recovery::{Later, Recovered, Recovery};
use towtank_recovery::estimate::Estimate;
use towtank_recovery::running;
use towtank_study::{RunContext, StudyError};
use towtank_units::SimTime;

use super::case::Ready;
use super::exposure::Risk;
use super::risk;
use super::steps;
use crate::preview::moves::Moves;

/// With slower and with faster disks; nothing if that was stopped before it was known.
pub type Spread = Result<Speeds, Stopped>;

/// The recoveries with slower and with faster disks.
#[derive(Clone, Copy, Debug)]
pub struct Speeds {
    /// When all has moved.
    pub ends: [SimTime; 2],
    /// What is at risk with the slower ones.
    pub slower: Risk,
}

/// The user stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// How fast the slower and the faster disks of other recoveries are, in thousandths; none where there are no
/// such recoveries. Groups that are never clean are not so with other disks either.
pub(super) fn permille(ready: &Ready, moves: &Moves) -> Option<[u64; 2]> {
    let spread = (ready.scenario.speed_spread.fraction_f64() * 1e3).round() as u64;
    let faster = if ready.real.guesses_pace() { FASTER_MOST } else { 1_000 + spread };
    // What was learned has its own range.
    let assumed = ready.real.calibrated_machines().is_empty();
    (moves.groups_short == 0 && spread > 0 && assumed).then(|| [1_000 - spread, faster.max(1_000 + spread)])
}

/// What an object takes besides the sleep after it was 8 ms on a machine whose disks Ceph took for rotating
/// ones (16.2.15, objects of 4 KiB to 4 MiB), a quarter of what a nearline disk takes by its data sheet. So
/// where the speed of such disks is assumed, they may be this fast, in thousandths of the assumed speed.
pub(super) const FASTER_MOST: u64 = 4_000;

/// When the last copy was written, or counted again, with slower and with faster disks.
pub(super) fn spread(
    ready: &Ready,
    (recovery, recovered): (&Recovery<'_>, &Recovered),
    (permille, estimate): (Option<[u64; 2]>, Option<&Estimate>),
    context: &RunContext<'_>,
) -> Result<Option<Spread>, StudyError> {
    let stuck = recovered.stuck;
    let is_left = stuck.any() || stuck.unmoved > 0 || stuck.held_bytes > 0;
    let ended = !recovered.partial && !is_left && recovered.jobs > 0;
    let Some([slower, faster]) = permille.filter(|_| ended) else { return Ok(None) };
    if context.stopped() {
        // To set up a large recovery takes longer than a user waits.
        return Ok(Some(Err(Stopped)));
    }
    let (base, scale) = Estimate::or_whole(estimate, recovery);
    let at = |permille: u64, inactive: u64, part: Range<f64>| {
        let hardware = recovery.hardware.with_disks_at(permille);
        let steps = base.later.steps.as_ref().map(|steps| steps.with_inactive(inactive));
        let later = Later { steps, ..base.later.clone() };
        let changed = Recovery { hardware: &hardware, later: &later, quiet: false, ..base.clone() };
        context.within(part, |context| running::run(&changed, context))
    };
    let [short, long] = steps::INACTIVE_PERMILLE;
    let [slow, fast] = [at(slower, long, 0.0..0.5)?, at(faster, short, 0.5..1.0)?];
    let ends = |recovered: &Recovered| match estimate {
        Some(_) => SimTime::from_ns((recovered.last().as_secs_f64() * scale * 1e9) as u64),
        None => recovered.last(),
    };
    let stopped = slow.partial || fast.partial;
    Ok(Some(if stopped {
        Err(Stopped)
    } else {
        Ok(Speeds { ends: [ends(&slow), ends(&fast)], slower: risk::of(ready, &slow) })
    }))
}
