//! The standard exponential from one word: `-ln(u)` for `u` in (0, 1], without calling a logarithm.
//!
//! Most events of most models draw a delay, and a library logarithm takes longer than the rest of the draw.
//! The word is an integer `n` in 1..=2^53 that stands for `n / 2^53`. Its binary exponent gives the multiple
//! of ln 2; the leading seven bits of its mantissa select a tabulated `ln c`; the remainder, `r = m / c - 1 <
//! 2^-7`, goes through the series of `ln(1 + r)` (the scheme of P. T. P. Tang, "Table-driven implementation
//! of the logarithm function", 1990). The computation uses only additions and multiplications of doubles in a
//! fixed order, so the result is the same on every machine; it differs from the true value by less than
//! 10^-15, absolutely and relative to values above one.

const STEPS: usize = 128;
const LN_2: f64 = std::f64::consts::LN_2;

/// `1 / c` and `ln c` for `c = 1 + i / 128`.
static TABLE: [(f64, f64); STEPS] = table();

const fn table() -> [(f64, f64); STEPS] {
    let mut table = [(1.0, 0.0); STEPS];
    let mut step = 1;
    while step < STEPS {
        let c = 1.0 + step as f64 / STEPS as f64;
        table[step] = (1.0 / c, ln_by_series(c));
        step += 1;
    }
    table
}

/// `ln c = 2 artanh((c - 1) / (c + 1))`, summed from the smallest term; used only for the table.
const fn ln_by_series(c: f64) -> f64 {
    let z = (c - 1.0) / (c + 1.0);
    let square = z * z;
    let mut sum = 0.0;
    let mut odd = 41;
    while odd >= 1 {
        sum = sum * square + 1.0 / odd as f64;
        odd -= 2;
    }
    2.0 * z * sum
}

/// An exponential variate of mean one from the upper 53 bits of a uniform word.
#[inline]
pub(crate) fn unit_exponential(word: u64) -> f64 {
    let n = (word >> 11) + 1;
    let zeros = n.leading_zeros();
    let mantissa_bits = (n << zeros) << 1;
    let mantissa = f64::from_bits((mantissa_bits >> 12) | 0x3ff0_0000_0000_0000);
    let (inverse, ln_c) = TABLE[(mantissa_bits >> 57) as usize];
    let r = mantissa * inverse - 1.0;
    let square = r * r;
    // r - r²/2 + r³/3 - … + r⁷/7, in pairs so that the products do not depend on each other.
    let series = r - square
        * ((0.5 - r * (1.0 / 3.0)) + square * ((0.25 - r * 0.2) + square * (1.0 / 6.0 - r * (1.0 / 7.0))));
    // n = mantissa × 2^(63 - zeros), so u = mantissa × 2^(10 - zeros). Rounding can make the result for a
    // word near one slightly negative.
    ((f64::from(zeros) - 10.0) * LN_2 - ln_c - series).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draws, Purpose, Seed, Uniform};

    fn check(word: u64) {
        let u = ((word >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let want = -libm::log(u);
        let got = unit_exponential(word);
        assert!((got - want).abs() <= 1e-15 * want.max(1.0), "-ln({u}) is {want}, not {got}");
        assert!(got >= 0.0, "-ln({u}) = {got}");
    }

    #[test]
    fn agrees_with_the_logarithm() {
        let mut draws = Draws::new(Seed(9), 0, 0);
        for _ in 0..200_000 {
            let word = draws.of(Purpose(0)).next_u64();
            check(word);
            check(word >> (word % 53));
            check(!(word >> (word % 53)));
        }
    }

    #[test]
    fn the_ends_are_right() {
        check(0);
        check(u64::MAX);
        assert_eq!(unit_exponential(u64::MAX), 0.0);
        for step in 0..=128u64 {
            let word = ((128 + step) << 56).wrapping_sub(1 << 11);
            check(word);
            check(word.wrapping_add(1 << 11));
        }
    }
}
