//! What is left of a recovery that is under way, for another study: the answer without a change, and the
//! times that it has besides that until all groups are clean.

use towtank_rebuild::recovery::Recovered;
use towtank_recovery::levers::Tried;
use towtank_report::Outcome;
use towtank_study::{RunContext, StudyError, Value};
use towtank_units::{SimSpan, SimTime};

use super::case::Ready;
use super::halted::Halted;
use super::observed::{self, Trials};
use crate::preview::moves::Moves;

/// What is left. Times are in seconds from the moment of the exports.
pub(crate) struct Remaining {
    /// Until all groups are clean.
    pub clean: Value,
    /// The ends of its range: other orders of groups, slower and faster disks.
    pub range: [Value; 2],
    /// Until no copy or shard is missing.
    pub full: Value,
    /// Until each group has as many copies as it needs for writes.
    pub min_size: Value,
    /// Until everything has moved that can.
    pub end: Value,
    /// Whether anything is copied.
    pub moves: bool,
    /// What takes the time.
    pub limit: Option<String>,
    /// What was tried, with the times until everything has moved.
    pub tried: Vec<Tried>,
    /// Flags that keep objects from being copied: the commands that unset them, and the time without them.
    pub unset: Option<(String, Option<f64>)>,
    /// Groups that are on their way from one state to the next, whose places are taken from the map.
    pub passing: u64,
    /// Groups that recover by their log, where nothing else is copied and nothing stops them.
    pub by_log: u64,
    /// Groups that are not `active` and `clean` now.
    pub unclean: u64,
    /// What was learned from another recovery, where the machines are calibrated.
    pub calibrated: bool,
}

/// What is left, with what stands beside it; why there is nothing if the user stopped it.
///
/// # Errors
/// When the model fails.
pub(crate) fn remaining(
    ready: &Ready,
    context: &RunContext<'_>,
) -> Result<(Result<Remaining, &'static str>, Outcome), StudyError> {
    let ran = observed::with(ready, Trials::Made, context)?;
    let of = |mut seen: observed::Seen| {
        let passing = passing(&mut seen.moves);
        let stopped = ready.real.flags.has("norecover", SimSpan::ZERO);
        let by_log = if stopped || seen.recovered.jobs > 0 { 0 } else { by_log(&mut seen.moves) };
        let Halted { copies, unset, without_s, .. } = seen.observed.halted.clone();
        let clean = seen.clean();
        Remaining {
            by_log: if clean.is_ok() { by_log } else { 0 },
            clean,
            range: [seen.clean_range(0), seen.clean_range(1)],
            full: seen.full(),
            min_size: min_size(&seen.recovered).map_or_else(|| Err(why(&seen.left())), Ok),
            end: seen.ended(),
            moves: seen.recovered.jobs > 0,
            limit: seen.observed.work.bottleneck.clone(),
            tried: seen.observed.work.tried.clone(),
            passing,
            unclean: seen.moves.states.unclean,
            unset: copies.map(|_| (unset, without_s)),
            calibrated: seen.observed.calibration.is_some(),
        }
    };
    Ok((ran.seen.map(of), ran.beside))
}

/// Groups peer for some seconds when their backfill has ended, and so few of them that they say nothing of
/// the rest: in a recovery some always do.
const PASSING_LEAST: u64 = 2;
const PASSING_SHARE: u64 = 20;

/// Takes the doubt about groups that are peering out of what moves, where these are few; says how many there
/// are.
fn passing(moves: &mut Moves) -> u64 {
    let states = &moves.states;
    let other = states.unknown + states.lost + states.incomplete + states.down_somewhere;
    let others_said = states.unplaced.len() as u64 > states.differing;
    let peering = states.peering + states.unsettled;
    let groups = peering.max(states.elsewhere).max(moves.disagreeing);
    let most = PASSING_LEAST.max(states.stated / PASSING_SHARE);
    if other > 0 || others_said || groups > most {
        return 0;
    }
    moves.states.unsettled = 0;
    moves.states.unplaced.clear();
    moves.disagreeing = 0;
    groups
}

/// Takes the groups that recover by their log out of what is in doubt; says how many these are.
fn by_log(moves: &mut Moves) -> u64 {
    moves.states.behind_copies = 0;
    std::mem::take(&mut moves.states.behind)
}

fn why(left: &Option<String>) -> String {
    left.clone().unwrap_or_else(|| "groups stay below `min_size`".to_owned())
}

/// When the last group has as many copies as it needs for writes; none where one never has.
fn min_size(recovered: &Recovered) -> Option<f64> {
    let last = recovered.below.iter().rposition(|(_, groups)| *groups > 0);
    let at = last.map_or(Some(SimTime::ZERO), |last| recovered.below.get(last + 1).map(|next| next.0));
    at.map(SimTime::as_secs_f64)
}
