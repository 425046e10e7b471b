//! The confidence of a mean: Student's 95 % interval, kept within the values that the quantity can have.
//!
//! For n independent values with mean m and sample deviation s, the true mean lies within m ± h, h = t·s/√n,
//! in 95 of 100 experiments, where t is the 97.5 % point of Student's distribution with n − 1 degrees of
//! freedom. That is exact for normal values and a good approximation for means over many events. Formulas are
//! cited by their numbers in Abramowitz and Stegun, *Handbook of Mathematical Functions* (AMS 55).
//!
//! A quantity that cannot be negative has the interval m·exp(∓h/m): the same half width on a logarithmic
//! scale, by the delta method. A part of a whole has it on the scale of the logit, ln(m/(1 − m)) ∓
//! h/(m(1 − m)). Both equal Student's for small h, never leave the range, and cover the mean of skewed values
//! more often: of five exponential values 94 instead of 88 in 100 experiments, of five with a beta
//! distribution of parameters 1/2 and 50, 91 instead of 82 (the tests below). Nothing covers the mean of
//! values that are nearly always equal, such as counts of rare events: equal values have an interval of width
//! zero.

/// The values that a quantity can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// All numbers: differences, errors, correlations.
    Any,
    /// Zero and above: times, sizes, rates, counts.
    NonNegative,
    /// From zero to one: parts of a whole.
    Fraction,
}

impl Domain {
    /// Whether a number lies in it.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self {
            Domain::Any => true,
            Domain::NonNegative => value >= 0.0,
            Domain::Fraction => (0.0..=1.0).contains(&value),
        }
    }
}

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean of the values.
    pub mean: f64,
    /// Lower and upper end; `None` for a single value, which has no sample variance.
    pub range: Option<(f64, f64)>,
    /// The number of values.
    pub count: u64,
}

/// The mean of the values with its interval; `None` if there are no values or one of them is not finite. The
/// order of the values affects rounding.
#[must_use]
pub fn mean_interval_95(values: &[f64]) -> Option<MeanInterval> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let count = values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Rounding can move the mean of equal values by one last digit.
    let mean = mean_of(values).clamp(least, most);
    let count_u64 = values.len() as u64;
    if values.len() < 2 {
        return Some(MeanInterval { mean, range: None, count: count_u64 });
    }
    let squares = compensated_sum(values.iter().map(|value| (value - mean) * (value - mean)));
    let half = student_t_975(count_u64 - 1) * libm::sqrt(squares / (count - 1.0) / count);
    Some(MeanInterval { mean, range: Some((mean - half, mean + half)), count: count_u64 })
}

/// The mean of the values with an interval that does not leave the domain; `None` as [`mean_interval_95`].
/// Values outside the domain show that it is not theirs, so they get Student's interval.
#[must_use]
pub fn mean_interval_95_in(values: &[f64], domain: Domain) -> Option<MeanInterval> {
    let found = mean_interval_95(values)?;
    let Some((low, high)) = found.range.filter(|_| values.iter().all(|value| domain.holds(*value))) else {
        return Some(found);
    };
    let (mean, half) = (found.mean, (high - low) / 2.0);
    let range = match domain {
        // Equal values, and above all those at an end of the domain, have an interval of width zero.
        _ if half == 0.0 => (mean, mean),
        Domain::Any => (low, high),
        Domain::NonNegative => {
            let factor = libm::exp(half / mean);
            (mean / factor, mean * factor)
        }
        Domain::Fraction => {
            let shift = half / (mean * (1.0 - mean));
            // 1/(1 + exp(−(logit m ± shift))), written with the odds against m.
            let against = (1.0 - mean) / mean;
            let at = |shift: f64| 1.0 / (1.0 + against * libm::exp(shift));
            (at(shift), at(-shift))
        }
    };
    // Rounding must not exclude the mean.
    Some(MeanInterval { range: Some((range.0.min(mean), range.1.max(mean))), ..found })
}

/// The mean, computed so that it does not overflow unless the mean itself does.
fn mean_of(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let sum = compensated_sum(values.iter().copied());
    if sum.is_finite() { sum / count } else { compensated_sum(values.iter().map(|value| value / count)) }
}

/// Neumaier's compensated sum, which keeps the digits that each addition loses.
fn compensated_sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    if sum.is_finite() { sum + lost } else { sum }
}

/// The 97.5 % point of the normal distribution.
pub(crate) const Z_975: f64 = 1.959_963_984_540_054;

/// The 97.5 % point of Student's distribution with `degrees` degrees of freedom.
///
/// # Panics
/// For zero degrees of freedom: a single value has no interval.
#[must_use]
pub fn student_t_975(degrees: u64) -> f64 {
    assert!(degrees > 0, "an interval needs at least two values");
    // From here on the neglected terms of the series are below 1e-15, relatively.
    const SERIES_FROM: u64 = 2_000;
    if degrees >= SERIES_FROM { t_by_series(degrees as f64) } else { t_by_bisection(degrees as f64) }
}

/// The point that Student's distribution with `degrees` degrees of freedom exceeds in either direction with
/// this probability for both tails together: 0.05 gives [`student_t_975`].
///
/// # Panics
/// For zero degrees of freedom, or a probability that is not between 0 and 1.
#[must_use]
pub fn student_t_beyond(degrees: u64, tails: f64) -> f64 {
    assert!(degrees > 0, "an interval needs at least two values");
    assert!(tails > 0.0 && tails < 1.0, "{tails} is no probability between 0 and 1");
    let degrees = degrees as f64;
    // Bisection in logarithms. One degree of freedom has a point of 1e9 at 6e-10.
    let (mut low, mut high) = (-20.0, 20.7);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let square = libm::exp(2.0 * middle);
        if incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + square)) > tails {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::exp(0.5 * (low + high))
}

/// AMS 55, 26.7.5: expansion around the normal point, to the fourth power of 1/n.
fn t_by_series(degrees: f64) -> f64 {
    let z = Z_975;
    let z2 = z * z;
    let g1 = (z2 + 1.0) * z / 4.0;
    let g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0;
    let g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0;
    let g4 = ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) * z / 92_160.0;
    z + (g1 + (g2 + (g3 + g4 / degrees) / degrees) / degrees) / degrees
}

/// Finds the point at which both tails together hold 5 %: AMS 55, 26.7.1 with 26.5.27.
fn t_by_bisection(degrees: f64) -> f64 {
    // The point falls from 12.7062 for one degree to 1.95996 for infinitely many.
    let (mut below, mut above) = (1.9, 13.0);
    // Sixty halvings are enough for a precision of one last digit.
    for _ in 0..60 {
        let middle = 0.5 * (below + above);
        let tails = incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + middle * middle));
        if tails > 0.05 {
            below = middle;
        } else {
            above = middle;
        }
    }
    0.5 * (below + above)
}

/// The 97.5 % point of Fisher's F with `above` degrees of freedom over `below`: AMS 55, 26.6.2.
pub(crate) fn f_975(above: u64, below: u64) -> f64 {
    let (one, two) = (above as f64, below as f64);
    let share = |point: f64| incomplete_beta(one / 2.0, two / 2.0, one * point / (one * point + two));
    // The point rises from 1 for many degrees on both sides to 1,018 for many over one. Bisection in
    // logarithms.
    let (mut low, mut high) = (0.0, 7.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if share(libm::exp(middle)) < 0.975 {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::exp(0.5 * (low + high))
}

/// The regularised incomplete beta function I_x(a, b) by the continued fraction 26.5.8, evaluated forward
/// (modified Lentz), on the side of the mean where it converges fast.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    libm::exp(log_front) / a / beta_fraction(a, b, x)
}

/// 1 + d1/(1 + d2/(1 + …)) of 26.5.8. For the arguments used here it converges within about √a steps.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut result, mut c, mut d) = (1.0_f64, 1.0_f64, 0.0_f64);
    for step in 1..1_000_u32 {
        let m = f64::from(step / 2);
        let term = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / away_from_zero(1.0 + term * d);
        c = away_from_zero(1.0 + term / c);
        let change = c * d;
        result *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, column 0.975; three
    /// decimals.
    #[test]
    fn student_points_are_those_of_the_table() {
        for (degrees, want) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (7, 2.365),
            (8, 2.306),
            (9, 2.262),
            (10, 2.228),
            (15, 2.131),
            (20, 2.086),
            (29, 2.045),
            (30, 2.042),
            (60, 2.000),
            (100, 1.984),
            (1_000_000_000, 1.960),
        ] {
            assert!((student_t_975(degrees) - want).abs() < 0.000_5, "{degrees}: {}", student_t_975(degrees));
        }
    }

    /// One and two degrees have closed forms: a tangent and a square root.
    #[test]
    fn student_points_are_exact_where_a_closed_form_exists() {
        let tangent = (std::f64::consts::PI * 0.475).tan();
        assert!((student_t_975(1) / tangent - 1.0).abs() < 1e-12);
        let two = 0.95 * (2.0_f64 / (1.0 - 0.95 * 0.95)).sqrt();
        assert!((student_t_975(2) / two - 1.0).abs() < 1e-12);
    }

    /// Other tails: 0.05 gives the points of the table, and one degree of freedom has a tangent.
    #[test]
    fn student_points_of_other_tails_are_exact_too() {
        for degrees in [1, 2, 7, 60, 1_999] {
            let (found, table) = (student_t_beyond(degrees, 0.05), student_t_975(degrees));
            assert!((found / table - 1.0).abs() < 1e-9, "{degrees}: {found}, {table}");
        }
        for tails in [0.5, 0.01, 0.05 / 100_000.0] {
            let tangent = (std::f64::consts::FRAC_PI_2 * (1.0 - tails)).tan();
            let found = student_t_beyond(1, tails);
            assert!((found / tangent - 1.0).abs() < 1e-6, "{tails}: {found}, {tangent}");
        }
        // NIST/SEMATECH e-Handbook, columns 0.995 and 0.999 of the same table.
        assert!((student_t_beyond(10, 0.01) - 3.169).abs() < 0.000_5);
        assert!((student_t_beyond(30, 0.002) - 3.385).abs() < 0.000_5);
    }

    /// Expected values: NIST/SEMATECH e-Handbook of Statistical Methods and other tables of F at 97.5 %.
    #[test]
    fn fisher_points_are_those_of_the_table() {
        for ((above, below), want) in [((1, 1), 647.789), ((2, 2), 39.0), ((9, 9), 4.026), ((29, 2), 39.463)]
        {
            assert!(
                (f_975(above, below) / want - 1.0).abs() < 1e-4,
                "{above} {below}: {}",
                f_975(above, below)
            );
        }
    }

    #[test]
    fn bisection_and_series_meet() {
        for degrees in [1_000.0, 2_000.0, 3_000.0] {
            let (exact, series) = (t_by_bisection(degrees), t_by_series(degrees));
            assert!((exact / series - 1.0).abs() < 1e-11, "{degrees}: {exact} {series}");
        }
        for degrees in 1..3_000 {
            assert!(student_t_975(degrees) > student_t_975(degrees + 1), "{degrees}");
        }
    }

    #[test]
    fn means_of_replicates() {
        assert_eq!(mean_interval_95(&[]), None);
        assert_eq!(mean_interval_95(&[1.0, f64::NAN]), None);
        assert_eq!(mean_interval_95(&[4.5]), Some(MeanInterval { mean: 4.5, range: None, count: 1 }));
        let equal = mean_interval_95(&[0.1, 0.1, 0.1]).unwrap();
        assert_eq!((equal.mean, equal.range), (0.1, Some((0.1, 0.1))));
        let huge = mean_interval_95(&[f64::MAX, f64::MAX]).unwrap();
        assert_eq!(huge.mean, f64::MAX);
        // Mean 10, s² = 10, half width 2.776445 · √(10 / 5).
        let five = mean_interval_95(&[6.0, 8.0, 10.0, 12.0, 14.0]).unwrap();
        let (low, high) = five.range.unwrap();
        assert!((high - low - 2.0 * 2.776_445_105 * 2.0_f64.sqrt()).abs() < 1e-8, "{low} {high}");
    }

    /// A thousand experiments of four nearly normal values each (sums of twelve uniforms): about 950 must
    /// cover the mean.
    #[test]
    fn the_interval_covers_the_mean_as_often_as_it_says() {
        let mut state = 1_u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut covered = 0;
        for _ in 0..1_000 {
            let values: Vec<f64> = (0..4).map(|_| (0..12).map(|_| unit()).sum::<f64>() - 6.0).collect();
            let (low, high) = mean_interval_95(&values).unwrap().range.unwrap();
            covered += u32::from(low <= 0.0 && 0.0 <= high);
        }
        // Four standard deviations of a binomial count of 1000 at 0.95.
        assert!((922..=978).contains(&covered), "{covered}");
    }

    /// Utilisations of three replicates, of which Student's interval is −0.42 to 1.68 %.
    #[test]
    fn intervals_stay_where_values_can_be() {
        let part = [0.002, 0.0062, 0.0107];
        let (low, high) = mean_interval_95(&part).unwrap().range.unwrap();
        assert!(low < 0.0, "{low} {high}");
        for (values, domain) in [
            (part, Domain::Fraction),
            (part.map(|value| 1.0 - value), Domain::Fraction),
            ([0.0, 0.0, 1.0], Domain::Fraction),
            (part, Domain::NonNegative),
            ([0.0, 0.0, 3.0], Domain::NonNegative),
            ([1.0; 3], Domain::Fraction),
            ([0.0; 3], Domain::NonNegative),
        ] {
            let found = mean_interval_95_in(&values, domain).unwrap();
            let (low, high) = found.range.unwrap();
            assert!(domain.holds(low) && domain.holds(high), "{values:?}: {low} to {high}");
            assert!(low <= found.mean && found.mean <= high, "{values:?}: {low} to {high}");
        }
        let signed = [-1.0, 0.5, 2.0];
        assert_eq!(mean_interval_95_in(&signed, Domain::NonNegative), mean_interval_95(&signed));
    }

    #[test]
    fn narrow_intervals_are_students_in_every_domain() {
        let near = [0.400, 0.401, 0.402, 0.400];
        let (low, high) = mean_interval_95(&near).unwrap().range.unwrap();
        for domain in [Domain::Any, Domain::NonNegative, Domain::Fraction] {
            let range = mean_interval_95_in(&near, domain).unwrap().range.unwrap();
            assert!((range.0 - low).abs() < 1e-5 && (range.1 - high).abs() < 1e-5, "{domain:?}: {range:?}");
        }
    }

    /// Skewed values: Student's interval covers their mean too rarely, that of the domain as often as it
    /// says.
    #[test]
    fn skewed_values_are_covered_on_their_own_scale() {
        let mut state = 3_u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut covered = [0_u32; 4];
        for _ in 0..4_000 {
            let times: Vec<f64> = (0..5).map(|_| -unit().ln()).collect();
            // The least of nine uniform values has a mean of a tenth.
            let parts: Vec<f64> = (0..5).map(|_| (0..9).map(|_| unit()).fold(1.0, f64::min)).collect();
            let covers = |found: Option<MeanInterval>, mean: f64| {
                let (low, high) = found.unwrap().range.unwrap();
                u32::from(low <= mean && mean <= high)
            };
            for (at, (values, domain, mean)) in
                [(&times, Domain::NonNegative, 1.0), (&parts, Domain::Fraction, 0.1)].into_iter().enumerate()
            {
                covered[at] += covers(mean_interval_95_in(values, domain), mean);
                covered[2 + at] += covers(mean_interval_95(values), mean);
            }
        }
        let [times, parts, times_student, parts_student] = covered.map(|count| f64::from(count) / 4_000.0);
        assert!((0.92..=0.98).contains(&times) && (0.92..=0.98).contains(&parts), "{times} {parts}");
        assert!(times_student < 0.91 && parts_student < 0.91, "{times_student} {parts_student}");
    }
}
