//! Formats numbers as C++ streams do by default: a number of significant digits, without trailing zeros, with
//! an exponent if the number is very small or large (`%g` of C's `printf`). Crushtool prints weights,
//! expectations and ratios this way.

/// The default number of significant digits of a C++ stream.
pub const USUAL_DIGITS: usize = 6;

/// The number of digits that identify every double; used in Ceph's JSON.
pub(super) const ALL_DIGITS: usize = 17;

/// Formats a number with at most `digits` significant digits.
#[must_use]
pub fn general(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(digits as i32 - 1 - exponent).expect("the exponent is below the digits");
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_c() {
        for (value, digits, want) in [
            (0.0, 6, "0"),
            (128.0, 6, "128"),
            (136.533_333_3, 6, "136.533"),
            (0.000_976_562_5, 6, "0.000976562"),
            (1_234_567.0, 6, "1.23457e+06"),
            (999_999.5, 6, "1e+06"),
            (0.000_012_5, 6, "1.25e-05"),
            (7.25, 6, "7.25"),
            (1e100, 6, "1e+100"),
            (803_209.0 / 65_536.0, 17, "12.255996704101562"),
            (-2.5, 6, "-2.5"),
            (f64::NAN, 6, "nan"),
        ] {
            assert_eq!(general(value, digits), want, "{value} in {digits} digits");
        }
    }
}
