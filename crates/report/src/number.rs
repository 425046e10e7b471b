//! Numbers that may occur in a report: finite, or missing.
//!
//! Text follows ECMAScript's `Number::toString` (shortest digits that read back to the same bits), so that
//! the CSV files written here and those that the page offers for download are identical.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finite number, or none: NaN and the infinities become none on the way in, and `-0` becomes `0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Option<f64>", into = "Option<f64>")]
#[schemars(with = "Option<f64>")]
pub struct Num(Option<f64>);

impl Num {
    /// No value: a gap in a line, an empty square of a heat map.
    pub const MISSING: Self = Self(None);

    /// Whether there is no number.
    pub(crate) fn is_missing(&self) -> bool {
        self.0.is_none()
    }

    /// The number, if there is one; always finite.
    #[must_use]
    pub fn get(self) -> Option<f64> {
        self.0
    }
}

impl From<f64> for Num {
    fn from(value: f64) -> Self {
        // Adding zero turns -0 into 0: the two print differently and are equal.
        Self(value.is_finite().then_some(value + 0.0))
    }
}

impl From<Option<f64>> for Num {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::MISSING, Self::from)
    }
}

impl From<Num> for Option<f64> {
    fn from(value: Num) -> Self {
        value.0
    }
}

impl From<u32> for Num {
    fn from(value: u32) -> Self {
        Self::from(f64::from(value))
    }
}

impl From<u64> for Num {
    /// Rounds above 2^53, as figures may; tables keep every digit.
    #[expect(clippy::cast_precision_loss, reason = "figures are drawn to pixels")]
    fn from(value: u64) -> Self {
        Self::from(value as f64)
    }
}

impl From<usize> for Num {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

/// For fields that are plain floats: a number that is not finite is written as null, and null is read as NaN.
pub(crate) mod or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Num;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Num::from(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Num::deserialize(deserializer)?.get().unwrap_or(f64::NAN))
    }
}

/// A number in the shortest text that reads back to the same bits, formatted as in ECMAScript: `3`, `0.25`,
/// `1e+21`, `1.5e-7`. Empty for a number that is not finite, which is an empty field in a table.
#[must_use]
pub(crate) fn number_text(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} always prints an exponent");
    let exponent: i32 = exponent.parse().expect("{:e} prints a whole exponent");
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    format!("{sign}{}", lay_out(&digits, exponent))
}

/// Formats `digits` (first digit non-zero), of which the first has the weight 10^`exponent`.
fn lay_out(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).expect("a double has at most 17 digits");
    let zeros = |n: i32| "0".repeat(usize::try_from(n).expect("the caller's range keeps this non-negative"));
    let split = |n: i32| digits.split_at(usize::try_from(n).expect("the caller's range keeps this positive"));
    match exponent {
        -6..=-1 => format!("0.{}{digits}", zeros(-exponent - 1)),
        0..=20 if exponent + 1 >= count => format!("{digits}{}", zeros(exponent + 1 - count)),
        0..=20 => {
            let (whole, fraction) = split(exponent + 1);
            format!("{whole}.{fraction}")
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_ecmascript_prints_them() {
        // The right-hand sides are what `String(x)` gives in V8.
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (0.000_001, "0.000001"),
            (0.000_000_15, "1.5e-7"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (123_456_789.125, "123456789.125"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (1.0 / 3.0, "0.3333333333333333"),
        ];
        for (value, want) in cases {
            assert_eq!(number_text(value), want);
            assert_eq!(number_text(value).parse::<f64>().unwrap(), value);
        }
    }

    #[test]
    fn what_is_not_finite_is_missing() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Num::from(value), Num::MISSING);
        }
        assert_eq!(serde_json::to_string(&Num::from(f64::NAN)).unwrap(), "null");
        assert_eq!(serde_json::from_str::<Num>("null").unwrap(), Num::MISSING);
        assert!(Num::from(-0.0).get().unwrap().is_sign_positive());
    }
}
