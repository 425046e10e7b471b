//! How fast the manager makes its steps of `pgp_num`, by the maps of reports. What a report counts as
//! misplaced is of the steps that are made, so it does not say how much of the whole is left.
//!
//! The model has as many steps as the manager still has to make, one each so many seconds. Reports say how
//! many it made between them: the time for these, over that of as many in the model, is how many times as
//! long as assumed it takes. Steps come in bunches, so what few of them took says little of the next ones.

use serde::{Deserialize, Serialize};
use towtank_report::human;

use super::moments::{Moment, steps_made};
use super::scale::{Around, likely};
use super::stretch::{LAG_S, TENTH};
use crate::whatif::replay::Course;

/// By how much the time of a single step scatters, as a share of the mean: a standard deviation. In windows
/// of 5 s, one real Ceph 16.2.15 made as many steps as would scatter by a third of the mean each, and
/// another one, on which a report was asked for each 6 s, as would by nine tenths; the root of the mean
/// square of both.
const SCATTER: f64 = 0.7;

/// How far the pace that is assumed is off: the same two clusters made 22 steps in place of 24, and one in
/// 4.1 s in place of 4.8 s.
const ASSUMED_OFF: f64 = 0.12;

/// Fewer steps say less than what is assumed does.
const STEPS_LEAST: u32 = 3;

/// What the manager did between two reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stepped {
    /// The file of the earlier report.
    pub file: String,
    /// How long before the latest one it was made, in seconds.
    pub since_s: f64,
    /// By how much `pgp_num` changed.
    pub steps: u32,
    /// How many times as long as in the model it takes: the value, and its range.
    pub scale: [f64; 3],
}

/// The pace of the steps that are left.
pub(super) struct Pace {
    /// What was measured, or why nothing was.
    pub measured: Result<Stepped, String>,
    /// How many times as long as in the model it takes: the value, and its range.
    pub scale: [f64; 3],
    /// By how much what is left differs because single steps scatter, as a share: a tenth is further off on
    /// either side.
    pub scatters: f64,
}

/// The pace, where the manager still has steps to make.
pub(super) fn pace(moments: &[Moment], courses: &[Course], spread: f64) -> Option<Pace> {
    let left = courses.iter().map(|course| course.steps.len()).max().filter(|steps| *steps > 0)?;
    let measured = measured(moments, &each(courses), spread);
    let scale = match &measured {
        Ok(stepped) => stepped.scale,
        Err(_) => {
            let off = 1.0 + TENTH * ASSUMED_OFF;
            [1.0, 1.0 / off, off]
        }
    };
    Some(Pace { measured, scale, scatters: TENTH * SCATTER / libm::sqrt(left as f64) })
}

/// The seconds of a step in each course.
fn each(courses: &[Course]) -> Vec<f64> {
    let of = |course: &Course| match course.steps.as_slice() {
        [first, .., last] => (last - first) / (course.steps.len() - 1) as f64,
        // A step waits for new statistics.
        _ => LAG_S,
    };
    courses.iter().map(of).filter(|each| *each > 0.0).collect()
}

/// What the manager did since the earliest report after which only its steps changed the map.
fn measured(moments: &[Moment], each: &[f64], spread: f64) -> Result<Stepped, String> {
    let Some(latest) = moments.last() else { return Err("there is no report".to_owned()) };
    let mut from = moments.len() - 1;
    let mut steps = 0;
    while from > 0
        && let Some(made) = steps_made(&moments[from - 1].report, &moments[from].report)
    {
        steps += made;
        from -= 1;
    }
    let one = &moments[from];
    if steps < STEPS_LEAST || each.is_empty() {
        let made = human::plural(f64::from(steps), ["step", "steps"]);
        return Err(match moments.len() {
            1 => "there is one report: give an earlier one with --report, and it is measured".to_owned(),
            _ => format!(
                "the reports show {made} of `pgp_num`, too few to say how fast the manager makes them"
            ),
        });
    }
    let since_s = one.seconds_before(latest);
    let times: Vec<f64> = each.iter().map(|each| each * f64::from(steps)).collect();
    let around = Around { seconds: since_s, share: SCATTER / libm::sqrt(f64::from(steps)) };
    let scale = likely(&times, around, spread);
    Ok(Stepped { file: one.file.clone(), since_s, steps, scale })
}
