//! How many copies are left over time, from the latest report on.

use serde::{Deserialize, Serialize};

use crate::whatif::orders::{SHARES, quantile};
use crate::whatif::replay::Course;

/// How many moments are shown.
const MOMENTS: usize = 40;

/// What is left at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ahead {
    /// Seconds from the latest report.
    pub at_s: f64,
    /// Copies that are left: the median, and the ends between which four in five of the drawn orders are, at
    /// the speeds that are likely.
    pub left: [f64; 3],
}

/// What is left over time: of the copies that are `left` now, in each course from where that share of it is
/// left, and as many times as long as in the model.
pub(super) fn ahead(courses: &[Course], (share, left): (f64, u64), scale: Option<[f64; 3]>) -> Vec<Ahead> {
    let scales = scale.unwrap_or([1.0; 3]);
    let from = |course: &Course| course.at_left(share);
    let end = courses.iter().map(|course| course.last_s - from(course)).fold(0.0, f64::max) * scales[2];
    if end <= 0.0 || left == 0 {
        return Vec::new();
    }
    let rest = |course: &Course, at_s: f64| {
        let over = course.done_by(from(course) + at_s).max(1.0 - share);
        left as f64 * (1.0 - over) / share.max(f64::MIN_POSITIVE)
    };
    let moment = |number: usize| {
        let at_s = end * number as f64 / MOMENTS as f64;
        let of = |course: &Course| scales.map(|scale| rest(course, at_s / scale));
        let mut all: Vec<f64> = courses.iter().flat_map(of).collect();
        all.sort_by(f64::total_cmp);
        let [low, high] = SHARES.map(|share| quantile(&all, share));
        Ahead { at_s, left: [quantile(&all, 0.5), low, high] }
    };
    (0..=MOMENTS).map(moment).collect()
}
