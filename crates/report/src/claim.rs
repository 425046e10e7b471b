//! Claims: a published result, our result, and whether they agree.
//!
//! **Invariant:** the verdict follows from the numbers; nobody writes it by hand. A value used in calibration
//! is `fitted` and never counts as holding, but the claim states what its verdict would be. Where our range
//! lies partly inside the tolerance and partly outside, or a number is missing, the verdict is `cannot_tell`.
//! Where runs are missing, it is `not_judged`.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::Num;

/// A published statement compared with our result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Stable snake_case name.
    pub name: String,
    /// Where it was published: paper, figure or table; or the closed form.
    pub source: String,
    /// The claim in one sentence.
    pub statement: String,
    /// The unit of all its numbers; empty for bare numbers.
    pub unit: String,
    /// The published result.
    pub published: Reading,
    /// Our result.
    pub ours: Reading,
    /// The allowed difference between the two.
    pub tolerance: Tolerance,
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// Of a fitted claim, the verdict that its numbers alone would give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<Verdict>,
    /// Why the tolerance is looser than the one that the source gives; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loosened: Option<String>,
    /// A remark for the reader: which seeds, which assumption, why it misses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A number with its range, if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The number; null if it is missing.
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

impl From<towtank_metrics::Contrast> for Reading {
    fn from(contrast: towtank_metrics::Contrast) -> Self {
        let (low, high) = contrast.range.unzip();
        Self { value: contrast.value.into(), low: low.into(), high: high.into() }
    }
}

impl From<&crate::Measure> for Reading {
    fn from(measure: &crate::Measure) -> Self {
        Self { value: measure.value().into(), low: measure.low().into(), high: measure.high().into() }
    }
}

/// How far our result may be from the published one.
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
    /// Within this amount, in the claim's unit.
    Absolute {
        /// The amount.
        #[serde(with = "crate::number::or_null")]
        #[schemars(with = "Option<f64>")]
        amount: f64,
    },
    /// Our result is between these ends, both included.
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
    /// The published value is in our range (the 95 % range over seeds).
    Interval,
    /// Our result is at least the published value.
    AtLeast,
    /// Our result is at most the published value.
    AtMost,
    /// Our result exceeds the published value with its whole range; undecided if it has no range.
    Above,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Our result agrees with the published value, with its whole range if it has one.
    Holds,
    /// Our result does not agree, with its whole range if it has one.
    Misses,
    /// Our range is partly inside the tolerance and partly outside, or a number is missing.
    CannotTell,
    /// The published value was used to calibrate the model, so agreeing with it proves nothing.
    Fitted,
    /// The run was stopped, or a part of it is missing.
    NotJudged,
}

impl Verdict {
    /// The name in `report.json` and `claims.csv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Misses => "misses",
            Self::CannotTell => "cannot_tell",
            Self::Fitted => "fitted",
            Self::NotJudged => "not_judged",
        }
    }
}

/// A claim without its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimDraft {
    /// Stable snake_case name.
    pub name: String,
    /// The source: paper, figure or table.
    pub source: String,
    /// The claim in one sentence.
    pub statement: String,
    /// The unit of all its numbers.
    pub unit: String,
    /// The published result.
    pub published: Reading,
    /// Our result.
    pub ours: Reading,
    /// The allowed difference between the two.
    pub tolerance: Tolerance,
    /// Whether the published value was used in calibration.
    pub fitted: bool,
    /// A note for the reader.
    pub note: Option<String>,
}

impl ClaimDraft {
    /// The claim that the first of two samples over seeds is greater than the second: `ratio` is the first
    /// over the second.
    #[must_use]
    pub fn greater(
        name: &str,
        source: &str,
        statement: &str,
        ratio: Option<towtank_metrics::Contrast>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            source: source.to_owned(),
            statement: statement.to_owned(),
            unit: String::new(),
            published: Reading::of(1.0),
            ours: ratio.map_or_else(Reading::default, Reading::from),
            tolerance: Tolerance::Above,
            fitted: false,
            note: None,
        }
    }

    /// The claim with the verdict that follows from its numbers.
    #[must_use]
    pub fn judge(self) -> Claim {
        let judged = self.tolerance.verdict(self.published, self.ours);
        let (verdict, would_be) = if self.fitted { (Verdict::Fitted, Some(judged)) } else { (judged, None) };
        let Self { name, source, statement, unit, published, ours, tolerance, note, .. } = self;
        let loosened = None;
        Claim { name, source, statement, unit, published, ours, tolerance, verdict, would_be, loosened, note }
    }
}

impl Claim {
    /// The claim without a verdict, because our numbers are of a part of the run.
    #[must_use]
    pub fn not_judged(self) -> Self {
        Self { verdict: Verdict::NotJudged, would_be: None, ..self }
    }

    /// Records that the tolerance is looser than the source's, and why. Where the source gives none, any
    /// tolerance is.
    #[must_use]
    pub fn loosened(mut self, reason: impl Into<String>) -> Self {
        self.loosened = Some(reason.into());
        self
    }
}

impl Tolerance {
    /// Whether `ours` agrees with `published`: `Holds`, `Misses` or `CannotTell`.
    ///
    /// Our result agrees if its whole range does, and misses if its whole range lies on one side; without a
    /// range its value decides. A missing number leaves the verdict open.
    #[must_use]
    pub fn verdict(self, published: Reading, ours: Reading) -> Verdict {
        let range = ours.low.get().zip(ours.high.get());
        let agrees = match (self, ours.value.get(), range) {
            (_, None, _) | (Self::Interval | Self::Above, _, None) => None,
            (Self::Interval, _, Some((low, high))) => {
                published.value.get().map(|theirs| (low..=high).contains(&theirs))
            }
            (_, Some(value), range) => {
                let (low, high) = range.unwrap_or((value, value));
                let sides = self.side(published, low).zip(self.side(published, high));
                sides.filter(|(low, high)| low == high).map(|(side, _)| side.is_eq())
            }
        };
        match agrees {
            Some(true) => Verdict::Holds,
            Some(false) => Verdict::Misses,
            None => Verdict::CannotTell,
        }
    }

    /// Where `ours` lies: below the values that agree, among them, or above them; `None` if a number is
    /// missing.
    fn side(self, published: Reading, ours: f64) -> Option<Ordering> {
        let theirs = published.value.get();
        let about = |theirs: f64, amount: f64| {
            let apart = ours - theirs;
            if apart.abs() <= amount { Some(Ordering::Equal) } else { apart.partial_cmp(&0.0) }
        };
        match self {
            Self::Relative { fraction } => {
                let amount =
                    theirs.map(|theirs| fraction * theirs.abs()).filter(|amount| !amount.is_nan())?;
                about(theirs?, amount)
            }
            Self::Absolute { amount } => about(theirs?, Some(amount).filter(|amount| !amount.is_nan())?),
            Self::Range { low, high } if low.is_nan() || high.is_nan() => None,
            Self::Range { low, .. } if ours < low => Some(Ordering::Less),
            Self::Range { high, .. } => Some(if ours > high { Ordering::Greater } else { Ordering::Equal }),
            Self::AtLeast => {
                theirs.map(|theirs| if ours < theirs { Ordering::Less } else { Ordering::Equal })
            }
            Self::AtMost => {
                theirs.map(|theirs| if ours > theirs { Ordering::Greater } else { Ordering::Equal })
            }
            Self::Above => theirs.map(|theirs| if ours > theirs { Ordering::Equal } else { Ordering::Less }),
            Self::Interval => None,
        }
    }
}

#[cfg(test)]
mod tests;
