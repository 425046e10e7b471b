//! How many times as long as in the model something takes, by what it took there and how long it lasted.

use super::stretch::{TENTH, apart_s};
use crate::whatif::orders::{BETWEEN_EVENTS, SHARES};

/// How likely it is that settings are other than assumed, so that the speed is off by any factor, and by
/// which one then: the standard deviation of its logarithm. Choices: an operator who asks may have changed
/// settings.
const OTHER: f64 = 0.25;
const OTHER_SPREAD: f64 = 1.2;

/// The grid of logarithms of the scale: from a twentieth to twenty times.
const GRID: usize = 600;
const MOST: f64 = 3.0;

/// What lasted so many seconds, and by which share it differs from the mean of what it is an example of: a
/// standard deviation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub seconds: f64,
    pub share: f64,
}

/// The scale that is likely where what took one of these times in the model lasted so long: the middle, and
/// the ends between which four in five are.
pub(super) fn likely(times: &[f64], around: Around, spread: f64) -> [f64; 3] {
    let Around { seconds: lasted, share } = around;
    let normal = |off: f64, sd: f64| libm::exp(-0.5 * (off / sd) * (off / sd)) / sd;
    let sd = libm::hypot(apart_s(), share * lasted);
    let log = |at: usize| MOST * (2.0 * at as f64 / (GRID - 1) as f64 - 1.0);
    let weight = |at: usize| {
        let before = (1.0 - OTHER) * normal(log(at), spread.max(BETWEEN_EVENTS))
            + OTHER * normal(log(at), OTHER_SPREAD);
        before * times.iter().map(|time| normal(lasted - time * libm::exp(log(at)), sd)).sum::<f64>()
    };
    let weights: Vec<f64> = (0..GRID).map(weight).collect();
    let all: f64 = weights.iter().sum();
    let quantile = |share: f64| {
        let mut sum = 0.0;
        let at = weights.iter().position(|weight| {
            sum += weight;
            sum >= share * all
        });
        libm::exp(log(at.unwrap_or(GRID - 1)))
    };
    let [low, high] = SHARES.map(quantile);
    // No stretch says more of the next one than one recovery does of another with the same constants.
    let value = quantile(0.5);
    let least = TENTH * BETWEEN_EVENTS;
    [value, low.min(value * (1.0 - least)), high.max(value * (1.0 + least))]
}
