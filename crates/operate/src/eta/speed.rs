//! How many times as long as in the model the recovery takes, by what was copied between two reports.
//!
//! The model runs from the earlier report on. It takes some time until as many copies are left as the later
//! report counts; the time between the reports, over that, is the scale. Which groups go first is chance,
//! and counts are up to 5 s old at both ends, so each drawn order says something else. What is assumed of
//! the machines counts as one more observation: it is right to within `speed_spread`, or off by any factor.
//! With many copies between the reports it has no weight.

use serde::{Deserialize, Serialize};
use towtank_study::{RunContext, StudyError};

use super::by_log::Counted;
use super::case::Ready;
use super::moments::Moment;
use super::pace::Stepped;
use super::scale::{Around, likely};
use super::share::{Share, courses};
use crate::whatif::orders::BETWEEN_EVENTS;
use crate::whatif::replay::{Course, Replay};

/// A stretch says enough if its range is no wider than this to each side: about as much as one recovery
/// differs from the next with the same constants, and drawn orders.
const ENOUGH: f64 = 0.2;

/// How fast it goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Speed {
    /// As assumed: why it is not measured.
    Assumed(String),
    /// As measured.
    Measured(Measured),
    /// A rate by the counts of groups that recover by their log.
    Counted(Counted),
    /// The pace of the manager, by its steps.
    Stepped(Stepped),
}

/// A speed that was measured between two reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The file of the earlier report.
    pub file: String,
    /// How long before the latest one it was made, in seconds.
    pub since_s: f64,
    /// Copies that were left then.
    pub was: u64,
    /// Copies that are left now.
    pub left: u64,
    /// How many times as long as in the model it takes: the value, and its range.
    pub scale: [f64; 3],
    /// The scale before that, and for how many seconds, where the speed changed by more than both ranges.
    pub before: Option<([f64; 3], f64)>,
}

/// The speed, and the scale where it is measured: in the newest stretch that says enough, else in the one
/// that says most.
pub(super) fn speed(
    ready: &Ready,
    context: &RunContext<'_>,
) -> Result<(Speed, Option<[f64; 3]>), StudyError> {
    let stretches = &ready.stretches;
    let assumed = |why: &str| (Speed::Assumed(why.to_owned()), None);
    let spread = ready.spread();
    let latest = ready.latest();
    let mut found: Vec<(usize, usize, [f64; 3])> = Vec::new();
    for (at, (number, replay)) in ready.earlier.iter().enumerate() {
        let from = (&ready.moments[*number], replay);
        found.extend(scale(from, latest, spread, context)?.map(|scale| (at, *number, scale)));
    }
    let wide = |one: &&(usize, usize, [f64; 3])| one.2[2] / one.2[0] - 1.0;
    let enough = found.iter().find(|one| wide(one) <= ENOUGH);
    let best = enough.or_else(|| found.iter().min_by(|one, other| wide(one).total_cmp(&wide(other))));
    let Some(&(at, number, scale)) = best else {
        let why = stretches.assumed.as_ref().or(stretches.stands.as_ref());
        return Ok(assumed(
            why.map_or("what the earlier report counts does not fit its map", String::as_str),
        ));
    };
    let one = &ready.moments[number];
    let before = match ready.earlier.get(at + 1) {
        Some((number, replay)) => {
            let older = &ready.moments[*number];
            let was = self::scale((older, replay), one, spread, context)?;
            let differs = |was: &[f64; 3]| was[2] < scale[1] || scale[2] < was[1];
            was.filter(differs).map(|was| (was, older.seconds_before(one)))
        }
        None => None,
    };
    let measured = Measured {
        file: one.file.clone(),
        since_s: one.seconds_before(latest),
        was: one.left().unwrap_or_default(),
        left: latest.left().unwrap_or_default(),
        scale,
        before,
    };
    Ok((Speed::Measured(measured), Some(scale)))
}

/// The scale between two reports; none where the model has nothing to compare with.
fn scale(
    (one, replay): (&Moment, &Replay),
    next: &Moment,
    spread: f64,
    context: &RunContext<'_>,
) -> Result<Option<[f64; 3]>, StudyError> {
    let (Some(was), Some(left)) = (one.left(), next.left()) else { return Ok(None) };
    let courses = courses(replay, context)?;
    let from = Share::of(Some(was), replay, &courses).left;
    let to = from * left as f64 / was.max(1) as f64;
    let took = |course: &Course| course.at_left(to) - course.at_left(from);
    let times: Vec<f64> = courses.iter().map(took).filter(|time| *time > 0.0).collect();
    let around = Around { seconds: one.seconds_before(next), share: BETWEEN_EVENTS };
    Ok((!times.is_empty()).then(|| likely(&times, around, spread)))
}
