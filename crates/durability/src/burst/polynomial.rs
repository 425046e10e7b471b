//! The number of ways in which so many devices fail, by that number: apart for ways without loss and with
//! loss. No term is ever subtracted, so the smallest share of losses is as precise as the largest.
//!
//! Each failed device counts as a factor, the odds, which is chosen so that no weight overflows. The share of
//! losses among sets of one size does not depend on it.

/// Weights by the number of failed devices, from none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ways {
    pub(super) safe: Vec<f64>,
    pub(super) lost: Vec<f64>,
}

impl Ways {
    /// No way at all, up to so many failed devices.
    pub(super) fn none(most: usize) -> Ways {
        Ways { safe: vec![0.0; most + 1], lost: vec![0.0; most + 1] }
    }

    /// The one way in which nothing is there to fail.
    pub(super) fn one(most: usize) -> Ways {
        let mut ways = Ways::none(most);
        ways.safe[0] = 1.0;
        ways
    }

    /// Two parts, of which either can lose.
    pub(super) fn with(&self, other: &Ways) -> Ways {
        let mut ways = Ways::none(self.safe.len() - 1);
        ways.add_product(self, other, 1.0);
        ways
    }

    /// Adds the ways of two parts together, so many times.
    pub(super) fn add_product(&mut self, left: &Ways, right: &Ways, times: f64) {
        for (i, (safe, lost)) in left.safe.iter().zip(&left.lost).enumerate() {
            if *safe == 0.0 && *lost == 0.0 {
                continue;
            }
            for j in 0..self.safe.len() - i {
                let (other_safe, other_lost) = (right.safe[j], right.lost[j]);
                self.safe[i + j] += times * safe * other_safe;
                self.lost[i + j] += times * (lost * (other_safe + other_lost) + safe * other_lost);
            }
        }
    }

    /// Whether there is no way.
    pub(super) fn is_none(&self) -> bool {
        self.safe.iter().chain(&self.lost).all(|weight| *weight == 0.0)
    }
}
