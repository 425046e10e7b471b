//! Which interval the mean of a measure has.
//!
//! An interval stays within the values that the measure can have, by its unit. Some measures have none: the
//! largest of many values, or a count that takes few values, is covered by an interval of the mean much more
//! rarely than in 95 of 100 experiments, so what is shown of it is the range of the replicates.

use towtank_metrics::{Domain, MeanInterval, mean_interval_95_in};

/// The interval of a measure's mean over replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interval {
    /// A `fraction` stays between 0 and 1, everything else at or above 0.
    #[default]
    OfUnit,
    /// The measure may be negative: an error, a difference, a correlation.
    Signed,
    /// It has none, for this reason.
    None(&'static str),
}

impl Interval {
    /// The values that a measure of this unit can have.
    #[must_use]
    pub fn domain(self, unit: &str) -> Domain {
        match (self, unit) {
            (Interval::Signed, _) => Domain::Any,
            (_, "fraction") => Domain::Fraction,
            _ => Domain::NonNegative,
        }
    }

    /// Why there is no interval.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Interval::None(reason) => Some(reason),
            Interval::OfUnit | Interval::Signed => None,
        }
    }

    /// The mean of the values of the replicates with its 95 % interval, where it has one. `None` if there are
    /// no values or one of them is not finite.
    #[must_use]
    pub fn mean(self, values: &[f64], unit: &str) -> Option<MeanInterval> {
        let found = mean_interval_95_in(values, self.domain(unit))?;
        let range = found.range.filter(|_| self.reason().is_none());
        Some(MeanInterval { range, ..found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_and_the_sign_decide_where_an_interval_may_lie() {
        let values = [0.001, 0.001, 0.02];
        let range = |interval: Interval, unit: &str| interval.mean(&values, unit).unwrap().range;
        assert!(range(Interval::OfUnit, "fraction").unwrap().0 > 0.0);
        assert!(range(Interval::OfUnit, "s").unwrap().0 > 0.0);
        assert!(range(Interval::Signed, "share").unwrap().0 < 0.0);
        assert_eq!(range(Interval::None("it is a maximum"), "s"), None);
        assert_eq!(Interval::None("it is a maximum").mean(&values, "s").unwrap().count, 3);
    }
}
