//! Claims: what a paper published, what we got, and whether that holds.
//!
//! **Invariant:** the verdict follows from the numbers; nobody writes it by hand. A value used in calibration is
//! `fitted` and never counts as holding.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::Num;

/// A published statement beside our own result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Stable snake_case name.
    pub name: String,
    /// Where it was published: paper, figure or table; or the closed form.
    pub source: String,
    /// What is claimed, in a sentence.
    pub statement: String,
    /// The unit of all its numbers; empty for bare numbers.
    pub unit: String,
    /// What was published.
    pub published: Reading,
    /// What we got.
    pub ours: Reading,
    /// How far the two may lie apart.
    pub tolerance: Tolerance,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What a reader should know: which seeds, which assumption, why it misses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A number with, where there is one, its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The number; null when it could not be had.
    pub value: Num,
    /// Lower end of its range: the paper's error bar, or our 95 % range over seeds.
    pub low: Num,
    /// Upper end of its range.
    pub high: Num,
}

impl Reading {
    /// A number without a range.
    #[must_use]
    pub fn of(value: f64) -> Self {
        Self { value: value.into(), low: Num::MISSING, high: Num::MISSING }
    }

    /// A number with its range.
    #[must_use]
    pub fn with_range(value: f64, low: f64, high: f64) -> Self {
        Self { value: value.into(), low: low.into(), high: high.into() }
    }
}

impl From<&crate::Measure> for Reading {
    fn from(measure: &crate::Measure) -> Self {
        Self { value: measure.value().into(), low: measure.low().into(), high: measure.high().into() }
    }
}

/// How far ours may lie from what was published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Tolerance {
    /// Within this fraction of the published value: 0.05 is 5 %.
    Relative {
        /// The fraction.
        #[serde(with = "crate::number::or_null")]
        #[schemars(with = "Option<f64>")]
        fraction: f64,
    },
    /// Within this much, in the claim's unit.
    Absolute {
        /// The amount.
        #[serde(with = "crate::number::or_null")]
        #[schemars(with = "Option<f64>")]
        amount: f64,
    },
    /// Ours lies between these ends, both included.
    Range {
        /// Lower end.
        #[serde(with = "crate::number::or_null")]
        #[schemars(with = "Option<f64>")]
        low: f64,
        /// Upper end.
        #[serde(with = "crate::number::or_null")]
        #[schemars(with = "Option<f64>")]
        high: f64,
    },
    /// The published value lies in our own range (the 95 % range over seeds).
    Interval,
    /// Ours is at least the published value.
    AtLeast,
    /// Ours is at most the published value.
    AtMost,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Ours agrees with the published value.
    Holds,
    /// It does not, or one of the two is missing.
    Misses,
    /// The published value was used to calibrate the model, so agreeing with it proves nothing.
    Fitted,
}

/// A claim before it is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimDraft {
    /// Stable snake_case name.
    pub name: String,
    /// Paper, figure or table.
    pub source: String,
    /// What is claimed, in a sentence.
    pub statement: String,
    /// The unit of all its numbers.
    pub unit: String,
    /// What was published.
    pub published: Reading,
    /// What we got.
    pub ours: Reading,
    /// How far the two may lie apart.
    pub tolerance: Tolerance,
    /// Whether the published value was used in calibration.
    pub fitted: bool,
    /// What a reader should know.
    pub note: Option<String>,
}

impl ClaimDraft {
    /// The claim with the verdict that its numbers give.
    #[must_use]
    pub fn judge(self) -> Claim {
        let holds = self.tolerance.accepts(self.published, self.ours);
        let verdict = match (self.fitted, holds) {
            (true, _) => Verdict::Fitted,
            (false, true) => Verdict::Holds,
            (false, false) => Verdict::Misses,
        };
        let Self { name, source, statement, unit, published, ours, tolerance, note, .. } = self;
        Claim { name, source, statement, unit, published, ours, tolerance, verdict, note }
    }
}

impl Tolerance {
    /// Whether `ours` agrees with `published`; a missing number never does.
    #[must_use]
    pub fn accepts(self, published: Reading, ours: Reading) -> bool {
        let both = published.value.get().zip(ours.value.get());
        let compare = |test: &dyn Fn(f64, f64) -> bool| both.is_some_and(|(theirs, ours)| test(theirs, ours));
        match self {
            Self::Relative { fraction } => compare(&|t, o| (o - t).abs() <= fraction * t.abs()),
            Self::Absolute { amount } => compare(&|t, o| (o - t).abs() <= amount),
            Self::Range { low, high } => ours.value.get().is_some_and(|o| (low..=high).contains(&o)),
            Self::AtLeast => compare(&|t, o| o >= t),
            Self::AtMost => compare(&|t, o| o <= t),
            Self::Interval => {
                let range = ours.low.get().zip(ours.high.get());
                published.value.get().zip(range).is_some_and(|(t, (low, high))| (low..=high).contains(&t))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tolerance: Tolerance, published: Reading, ours: Reading, want: bool) {
        assert_eq!(tolerance.accepts(published, ours), want, "{tolerance:?} {published:?} {ours:?}");
    }

    #[test]
    fn tolerances_judge_as_they_read() {
        let of = Reading::of;
        check(Tolerance::Relative { fraction: 0.05 }, of(100.0), of(105.0), true);
        check(Tolerance::Relative { fraction: 0.05 }, of(-100.0), of(-105.5), false);
        check(Tolerance::Absolute { amount: 0.5 }, of(0.0), of(-0.5), true);
        check(Tolerance::Range { low: 1.0, high: 2.0 }, of(9.0), of(2.0), true);
        check(Tolerance::Range { low: 1.0, high: 2.0 }, of(9.0), of(2.1), false);
        check(Tolerance::AtLeast, of(3.0), of(3.0), true);
        check(Tolerance::AtMost, of(3.0), of(3.1), false);
        check(Tolerance::Interval, of(3.0), Reading::with_range(3.5, 2.9, 4.1), true);
        check(Tolerance::Interval, of(3.0), of(3.0), false);
        check(Tolerance::AtLeast, of(3.0), of(f64::NAN), false);
    }

    #[test]
    fn a_fitted_value_never_counts_as_holding() {
        let draft = ClaimDraft {
            name: "mean_wait".to_owned(),
            source: "closed form".to_owned(),
            statement: "the mean wait is 1 s".to_owned(),
            unit: "s".to_owned(),
            published: Reading::of(1.0),
            ours: Reading::of(1.0),
            tolerance: Tolerance::Relative { fraction: 0.1 },
            fitted: true,
            note: None,
        };
        assert_eq!(draft.clone().judge().verdict, Verdict::Fitted);
        assert_eq!(ClaimDraft { fitted: false, ..draft }.judge().verdict, Verdict::Holds);
    }
}
