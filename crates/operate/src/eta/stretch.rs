//! Between which reports the speed is measured.
//!
//! A stretch begins with a report and ends with the latest one, or with the beginning of a newer stretch.
//! The newest that is long enough says how fast it goes now. Nothing else may have changed meanwhile:
//! reports from before a failure, a restart or a change of the map say nothing of what is left.

use towtank_report::{Warning, human};

use super::moments::{Moment, changed};

/// Daemons tell the manager what they did each 5 s (`mgr_stats_period`), so each count is up to 5 s old.
pub(super) const LAG_S: f64 = 5.0;

/// By how many seconds the ages of the counts at both ends differ, each of which is as likely to be
/// anything up to the lag: a standard deviation.
pub(super) fn apart_s() -> f64 {
    LAG_S / 6.0_f64.sqrt()
}

/// A quantile of a normal distribution with a tenth above it.
pub(super) const TENTH: f64 = 1.282;

/// A stretch that lasts so long is long enough: the age of the counts at both ends changes its speed by less
/// than a tenth in four cases of five.
pub(super) const ENOUGH_S: f64 = 30.0;

/// In a shorter stretch nothing need have moved: both counts may be of about the same time, and the model.
const LEAST_S: f64 = 2.0 * LAG_S;

/// Fewer copies say little of a speed: their number is off by one for each group that is being copied. A
/// choice.
const FELL_LEAST: u64 = 20;

/// So many stretches are looked at: each takes some runs of the model.
const STRETCHES: usize = 3;

/// Between which reports the speed is measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stretches {
    /// With which reports stretches begin, the newest first: none where the speed is not measured.
    pub begins: Vec<usize>,
    /// Why the speed is not measured.
    pub assumed: Option<String>,
    /// Why there is no time: nothing moves, or it grows.
    pub stands: Option<String>,
    /// What changed between two reports, and when.
    pub changed: Option<String>,
}

impl Stretches {
    pub fn warnings(&self) -> Option<Warning> {
        self.changed.as_ref().map(|changed| Warning::note(changed.clone()))
    }

    fn assumed(why: impl Into<String>) -> Stretches {
        Stretches { assumed: Some(why.into()), ..Stretches::default() }
    }
}

/// Chooses the stretches.
pub(super) fn choose(moments: &[Moment]) -> Stretches {
    let Some((latest, before)) = moments.split_last() else { return Stretches::default() };
    if before.is_empty() {
        return Stretches::assumed(
            "there is one report: give an earlier one with --report, and it is measured",
        );
    }
    let mut usable = moments.len() - 1;
    let mut changed_words = None;
    while usable > 0 {
        let (one, next) = (&moments[usable - 1], &moments[usable]);
        if let Some(what) = changed(&one.report, &next.report) {
            changed_words = Some(format!(
                "between {} and {} {what}: reports from before that do not say how fast it goes",
                one.when(),
                next.when()
            ));
            break;
        }
        usable -= 1;
    }
    let candidates: Vec<usize> = (usable..before.len()).rev().collect();
    let chosen = of_candidates(moments, latest, &candidates, changed_words.is_some());
    Stretches { changed: changed_words, ..chosen }
}

fn of_candidates(moments: &[Moment], latest: &Moment, candidates: &[usize], changes: bool) -> Stretches {
    if candidates.is_empty() {
        let why =
            if changes { "something else changed since the report before" } else { "there is one report" };
        return Stretches::assumed(why);
    }
    let Some(left) = latest.left() else {
        return Stretches::assumed("the latest report does not count what is left");
    };
    let lasted = |number: usize| moments[number].seconds_before(latest);
    let newest = candidates.iter().copied().find(|number| lasted(*number) >= ENOUGH_S);
    if let Some(number) = newest
        && let Some(was) = moments[number].left().filter(|was| (1..=left).contains(was))
    {
        let stands = stands(&moments[number], latest, [was, left]);
        return Stretches { stands: Some(stands), ..Stretches::default() };
    }
    // Counts rise while groups begin to peer after a failure: a stretch begins when they have.
    let counted = candidates.iter().filter_map(|number| Some((*number, moments[*number].left()?)));
    let Some((peak, most)) = counted.clone().max_by_key(|(number, was)| (*was, *number)) else {
        return Stretches::assumed("no earlier report counts what was left");
    };
    if most.saturating_sub(left) < FELL_LEAST || lasted(peak) < LEAST_S {
        let apart = human::quantity(lasted(peak), "s");
        return Stretches::assumed(format!(
            "{} copies were made in {apart}, too few to say (at least {FELL_LEAST}, in {LEAST_S:.0} s or more)",
            human::digits(most.saturating_sub(left) as f64)
        ));
    }
    let fits = |(number, was): &(usize, u64)| {
        *number > peak && lasted(*number) >= ENOUGH_S && was.saturating_sub(left) >= FELL_LEAST
    };
    let mut begins: Vec<usize> = counted.filter(fits).map(|(number, _)| number).chain([peak]).collect();
    if begins.len() > STRETCHES {
        // The newest ones, and the longest.
        begins.drain(STRETCHES - 1..begins.len() - 1);
    }
    Stretches { begins, ..Stretches::default() }
}

fn stands(one: &Moment, latest: &Moment, [was, left]: [u64; 2]) -> String {
    let lasted = human::quantity(one.seconds_before(latest), "s");
    let (was_said, left_said) = (human::digits(was as f64), human::digits(left as f64));
    match was == left {
        true => format!(
            "nothing was copied in the {lasted} since {}: {left_said} copies were left then, and are now",
            one.when()
        ),
        false => format!(
            "what is left has grown in the {lasted} since {}, from {was_said} to {left_said} copies: groups are still peering, \
             clients write to groups that lack devices, or something else fails",
            one.when()
        ),
    }
}
