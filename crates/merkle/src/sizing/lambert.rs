//! The principal branch of the Lambert W function: the w with w·e^w = x.

/// W₀ of a non-negative number, by Halley's iteration.
///
/// # Panics
///
/// If the number is negative or not finite, which sizes never are.
#[must_use]
pub(super) fn lambert_w(x: f64) -> f64 {
    assert!(x >= 0.0 && x.is_finite(), "{x} is not a size");
    if x == 0.0 {
        return 0.0;
    }
    // Above e, ln x - ln ln x is within a tenth of W; below, ln(1 + x) is.
    let log = libm::log(x);
    let mut w = if x > std::f64::consts::E { log - libm::log(log) } else { libm::log1p(x) };
    // Convergence is of third order: six steps suffice from any start, and a fixed number always terminates.
    for _ in 0..6 {
        let power = libm::exp(w);
        let error = w * power - x;
        w -= error / (power * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0));
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_solves_its_equation() {
        for exponent in -60..=60 {
            for x in
                [1.0, 1.7, std::f64::consts::E, 9.3].map(|lead| lead * libm::pow(10.0, f64::from(exponent)))
            {
                let w = lambert_w(x);
                // In logarithms, because the power itself has w times the rounding error of w.
                let error = libm::log(w) + w - libm::log(x);
                assert!(error.abs() <= 1e-13 * (1.0 + libm::log(x).abs()), "W({x}) = {w}, off by {error}");
            }
        }
        assert_eq!(lambert_w(0.0), 0.0);
        assert!((lambert_w(1.0) - 0.567_143_290_409_783_8).abs() < 1e-15, "the omega constant");
    }

    #[test]
    #[should_panic(expected = "is not a size")]
    fn a_negative_number_is_refused() {
        let _ = lambert_w(-0.1);
    }
}
