//! A correction for what the straight line leaves unexplained: how much more an operation costs in a mix than
//! its parts predict.
//!
//! The hypothesis (3) makes the time of an operation, 1/T, a straight line in the read share. With a
//! curvature c the time is multiplied by `(1 + c·x)`, where x is 4·r·(1 - r) for reads and writes of one size
//! (1 at half and half), and the diversity of the sizes for a mix of sizes (1 for two sizes at equal shares).
//! One measured mix is enough to fit c; its benefit is measured by leaving out: each mix is predicted from
//! the others.

use serde::{Deserialize, Serialize};

/// A fitted curvature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curvature {
    /// How much more an operation of the most even mix costs: 0.2 is 20 %.
    pub value: f64,
    /// Number of mixes that it was fitted to.
    pub mixes: usize,
    /// Its benefit, if there are at least two mixes.
    pub left_out: Option<LeftOut>,
}

/// Mean errors (8) in percent over mixes that were left out of the fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Without a curvature.
    pub straight_percent: f64,
    /// With one fitted to all the others.
    pub curved_percent: f64,
    /// With one fitted to a single other mix, averaged over the choice of that mix.
    pub one_mix_percent: f64,
}

/// A measured mix: its evenness, the rate on the straight line, and the measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bent {
    pub x: f64,
    pub straight: f64,
    pub measured: f64,
}

/// Curvatures below this give rates that grow without bound near the middle.
const VALUE_MIN: f64 = -0.9;

impl Curvature {
    /// Fits a curvature; `None` without a mix.
    pub(crate) fn fit(mixes: &[Bent]) -> Option<Self> {
        let mixes: Vec<Bent> = mixes.iter().copied().filter(|mix| mix.x > 1e-9).collect();
        if mixes.is_empty() {
            return None;
        }
        Some(Self { value: least_squares(mixes.iter()), mixes: mixes.len(), left_out: left_out(&mixes) })
    }

    /// A rate on the straight line, corrected by the curvature.
    #[must_use]
    pub(crate) fn bend(value: f64, x: f64, straight: f64) -> f64 {
        straight / (1.0 + value * x)
    }
}

/// The x of a read share.
pub(crate) fn evenness(reads: f64) -> f64 {
    4.0 * reads * (1.0 - reads)
}

/// Least squares of `straight/measured = 1 + c·x`: errors of times, relative to the straight line.
fn least_squares<'a>(mixes: impl Iterator<Item = &'a Bent>) -> f64 {
    let (mut both, mut squares) = (0.0, 0.0);
    for mix in mixes {
        both += mix.x * (mix.straight / mix.measured - 1.0);
        squares += mix.x * mix.x;
    }
    (both / squares).max(VALUE_MIN)
}

fn left_out(mixes: &[Bent]) -> Option<LeftOut> {
    if mixes.len() < 2 {
        return None;
    }
    let error = |mix: &Bent, value: f64| {
        let estimate = Curvature::bend(value, mix.x, mix.straight);
        100.0 * (estimate - mix.measured).abs() / mix.measured
    };
    let (mut straight, mut curved, mut one) = (0.0, 0.0, 0.0);
    for (at, mix) in mixes.iter().enumerate() {
        let others = || mixes.iter().enumerate().filter(move |(other, _)| *other != at).map(|(_, mix)| mix);
        straight += error(mix, 0.0);
        curved += error(mix, least_squares(others()));
        one += others().map(|other| error(mix, least_squares([other].into_iter()))).sum::<f64>()
            / (mixes.len() - 1) as f64;
    }
    let count = mixes.len() as f64;
    Some(LeftOut {
        straight_percent: straight / count,
        curved_percent: curved / count,
        one_mix_percent: one / count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_true_curvature_is_found() {
        let mix = |x: f64| Bent { x, straight: 100.0, measured: 100.0 / (1.0 + 0.25 * x) };
        let found = Curvature::fit(&[mix(0.36), mix(1.0), mix(0.84)]).unwrap();
        assert!((found.value - 0.25).abs() < 1e-12, "{found:?}");
        let left = found.left_out.unwrap();
        assert!(left.curved_percent < 1e-9 && left.one_mix_percent < 1e-9, "{left:?}");
        // 100 / (100/1.09) - 1, and so on: 9, 25 and 21 %.
        assert!((left.straight_percent - (9.0 + 25.0 + 21.0) / 3.0).abs() < 1e-9, "{left:?}");
    }

    #[test]
    fn one_mix_fits_and_proves_nothing() {
        let found = Curvature::fit(&[Bent { x: 1.0, straight: 120.0, measured: 100.0 }]).unwrap();
        assert!((found.value - 0.2).abs() < 1e-12);
        assert_eq!(found.left_out, None);
        assert_eq!(Curvature::fit(&[Bent { x: 0.0, straight: 1.0, measured: 2.0 }]), None);
    }
}
