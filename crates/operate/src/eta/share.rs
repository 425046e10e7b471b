//! The drawn orders of a recovery, and which share of its copies is left by a count.

use towtank_ceph::GroupStates;
use towtank_study::{RunContext, StudyError};

use crate::real::factors::Factors;
use crate::whatif::orders::DRAWN;
use crate::whatif::replay::{Course, Replay};

/// The recovery in each of the drawn orders.
pub(super) fn courses(replay: &Replay, context: &RunContext<'_>) -> Result<Vec<Course>, StudyError> {
    let mut courses = Vec::new();
    for draw in 0..DRAWN {
        if context.stopped() {
            break;
        }
        courses.push(replay.course(&Factors::ASSUMED, draw as u32)?);
    }
    Ok(courses)
}

/// The share of the copies of a model that are left by a count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// The share.
    pub left: f64,
    /// Whether the count is lower than the map and the states of groups allow.
    pub behind: bool,
}

impl Share {
    /// Only groups that are being copied can have been copied in part: a count that says more is of groups
    /// that peer, which count nothing for some seconds, or of another time.
    pub(super) fn of(left: Option<u64>, replay: &Replay, courses: &[Course]) -> Share {
        let whole = Share { left: 1.0, behind: false };
        let parts = courses.first().map_or(0, |course| course.parts);
        let Some(left) = left.filter(|left| *left < parts) else { return whole };
        let affected = &replay.ready.staged.affected;
        let mut sizes: Vec<u64> = (0..affected.records()).map(|record| affected.objects_of(record)).collect();
        let objects: u64 = sizes.iter().sum();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let GroupStates { halfway, .. } = replay.ready.case.states;
        let under_way: u64 = sizes.iter().take(halfway as usize).sum();
        let most = parts as f64 * under_way as f64 / objects.max(1) as f64;
        let copied = (parts - left) as f64;
        match copied <= most {
            true => Share { left: left as f64 / parts as f64, behind: false },
            // A tenth of the copies: counts and guesses of sizes differ.
            false => Share { left: 1.0 - most / parts as f64, behind: copied > most + 0.1 * parts as f64 },
        }
    }
}
