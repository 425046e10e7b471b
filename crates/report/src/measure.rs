//! Named results: [`Measurement`] is one replicate's value, [`Measure`] the mean over replicates with its
//! interval.
//!
//! **Invariant:** a value is finite, or it is null and `reason` says why. The fields are private to ensure
//! this.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::number::Num;

/// The reason for a number that is NaN or infinite, when the model gave none.
const NOT_FINITE: &str = "the computation gave no finite number";

/// The reason for a stored null value without a recorded reason.
const UNKNOWN: &str = "no reason was recorded";

/// One value that one replicate measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "MeasurementFields")]
#[schemars(!from)]
pub struct Measurement {
    /// The value, unrounded, in `unit`; null when there is none.
    value: Num,
    /// The unit: `s`, `bytes`, `bytes/s`, `requests/s`, …; empty for a bare number.
    unit: String,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct MeasurementFields {
    value: Num,
    unit: String,
    #[serde(default)]
    reason: Option<String>,
}

impl From<MeasurementFields> for Measurement {
    fn from(fields: MeasurementFields) -> Self {
        let MeasurementFields { value, unit, reason } = fields;
        Self { value, unit, reason: reason_for(value, reason) }
    }
}

/// A present value has no reason, and a missing value always has one.
fn reason_for(value: Num, reason: Option<String>) -> Option<String> {
    value.get().is_none().then(|| reason.unwrap_or_else(|| UNKNOWN.to_owned()))
}

impl Measurement {
    /// A value in `unit`; one that is not finite becomes null with a reason.
    #[must_use]
    pub fn new(value: f64, unit: impl Into<String>) -> Self {
        let value = Num::from(value);
        let reason = value.get().is_none().then(|| NOT_FINITE.to_owned());
        Self { value, unit: unit.into(), reason }
    }

    /// A value that this replicate could not measure, and why.
    #[must_use]
    pub fn missing(unit: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { value: Num::MISSING, unit: unit.into(), reason: Some(reason.into()) }
    }

    /// The value, always finite.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.value.get()
    }

    /// The unit; empty for a bare number.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Why there is no value; `None` exactly when there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

/// The mean of a measurement over replicates, with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "MeasureFields")]
#[schemars(!from)]
pub struct Measure {
    /// The mean, unrounded, in `unit`; null when there is none.
    value: Num,
    /// The unit: `s`, `bytes`, `bytes/s`, `requests/s`, …; empty for a bare number.
    unit: String,
    /// Lower end of the 95 % interval of the mean; null with fewer than two replicates, or by `no_interval`.
    low: Num,
    /// Upper end of the 95 % interval of the mean; null with fewer than two replicates, or by `no_interval`.
    high: Num,
    /// Number of replicates in the mean.
    n: u32,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why several replicates have no interval; the ends of their values are there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_interval: Option<Spread>,
}

/// The values of replicates whose mean has no interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The least value of a replicate.
    pub least: f64,
    /// The greatest value of a replicate.
    pub most: f64,
    /// Why the mean has no interval.
    pub reason: String,
}

#[derive(Deserialize)]
struct MeasureFields {
    value: Num,
    unit: String,
    low: Num,
    high: Num,
    n: u32,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    no_interval: Option<Spread>,
}

impl From<MeasureFields> for Measure {
    fn from(fields: MeasureFields) -> Self {
        let MeasureFields { value, unit, low, high, n, reason, no_interval } = fields;
        Self { value, unit, low, high, n, reason: reason_for(value, reason), no_interval }
    }
}

impl Measure {
    /// A mean over `n` replicates without an interval; one that is not finite becomes null with a reason.
    #[must_use]
    pub fn new(value: f64, unit: impl Into<String>, n: u32) -> Self {
        let value = Num::from(value);
        let reason = value.get().is_none().then(|| NOT_FINITE.to_owned());
        let (low, high) = (Num::MISSING, Num::MISSING);
        Self { value, unit: unit.into(), low, high, n, reason, no_interval: None }
    }

    /// The mean of the values of replicates with the interval that this kind of measure has; `None` if there
    /// are no values or one of them is not finite.
    #[must_use]
    pub fn over(values: &[f64], unit: &str, interval: Interval) -> Option<Self> {
        let found = interval.mean(values, unit)?;
        let count = u32::try_from(values.len()).expect("no more values than replicates, which a u32 counts");
        let mean = Self::new(found.mean, unit, count);
        if let Some((low, high)) = found.range {
            return Some(mean.with_interval(low, high));
        }
        let spread = interval.reason().filter(|_| count > 1).map(|reason| Spread {
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            reason: reason.to_owned(),
        });
        Some(Self { no_interval: spread, ..mean })
    }

    /// The same with its interval. If one end is not finite, both are dropped, since half an interval
    /// misleads.
    #[must_use]
    pub fn with_interval(mut self, low: f64, high: f64) -> Self {
        let (low, high) = (Num::from(low), Num::from(high));
        if self.value.get().is_some() && low.get().is_some() && high.get().is_some() {
            (self.low, self.high) = (low, high);
        }
        self
    }

    /// A mean that could not be computed, over the `n` replicates that have a value, and why.
    #[must_use]
    pub fn missing(unit: impl Into<String>, n: u32, reason: impl Into<String>) -> Self {
        let (low, high) = (Num::MISSING, Num::MISSING);
        let reason = Some(reason.into());
        Self { value: Num::MISSING, unit: unit.into(), low, high, n, reason, no_interval: None }
    }

    /// The mean, always finite.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.value.get()
    }

    /// The unit; empty for a bare number.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Lower end of the 95 % interval.
    #[must_use]
    pub fn low(&self) -> Option<f64> {
        self.low.get()
    }

    /// Upper end of the 95 % interval.
    #[must_use]
    pub fn high(&self) -> Option<f64> {
        self.high.get()
    }

    /// The ends of the values of several replicates, and why their mean has no interval.
    #[must_use]
    pub fn no_interval(&self) -> Option<&Spread> {
        self.no_interval.as_ref()
    }

    /// Both ends of the 95 % interval.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low().zip(self.high())
    }

    /// Number of replicates in the mean.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Why there is no value; `None` exactly when there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_finite_is_null_with_a_reason() {
        let measurement = Measurement::new(f64::NAN, "s");
        let json = serde_json::to_string(&measurement).unwrap();
        assert_eq!(json, r#"{"value":null,"unit":"s","reason":"the computation gave no finite number"}"#);
        assert_eq!(serde_json::from_str::<Measurement>(&json).unwrap(), measurement);
    }

    #[test]
    fn a_value_has_no_reason_and_a_null_always_one() {
        let value: Measurement =
            serde_json::from_str(r#"{"value":1.5,"unit":"s","reason":"stale"}"#).unwrap();
        assert_eq!((value.value(), value.reason()), (Some(1.5), None));
        let null: Measure =
            serde_json::from_str(r#"{"value":null,"unit":"s","low":null,"high":null,"n":0}"#).unwrap();
        assert_eq!(null.reason(), Some(UNKNOWN));
    }

    #[test]
    fn a_measure_without_an_interval_says_why_and_between_what_its_replicates_lie() {
        let measure = Measure::over(&[4.0, 9.0, 5.0], "disks", Interval::None("it is a maximum")).unwrap();
        assert_eq!((measure.value(), measure.interval()), (Some(6.0), None));
        let json = serde_json::to_string(&measure).unwrap();
        assert_eq!(
            json,
            r#"{"value":6.0,"unit":"disks","low":null,"high":null,"n":3,"no_interval":{"least":4.0,"most":9.0,"reason":"it is a maximum"}}"#
        );
        assert_eq!(serde_json::from_str::<Measure>(&json).unwrap(), measure);
        let alone = Measure::over(&[4.0], "disks", Interval::None("it is a maximum")).unwrap();
        assert_eq!(alone.no_interval(), None);
    }

    #[test]
    fn half_an_interval_is_none() {
        let measure = Measure::new(2.0, "s", 3).with_interval(1.0, f64::INFINITY);
        assert_eq!(measure.interval(), None);
        let json = serde_json::to_string(&Measure::new(2.0, "s", 3).with_interval(1.0, 3.0)).unwrap();
        assert_eq!(json, r#"{"value":2.0,"unit":"s","low":1.0,"high":3.0,"n":3}"#);
    }
}
