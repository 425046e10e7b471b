//! Sums and combinations that keep small values: compensated addition, logarithms of binomial coefficients,
//! tails of the Poisson and the binomial distribution, and the exact intervals that follow from them.

/// A sum with compensation (Neumaier 1974): terms far below the sum are not dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    total: f64,
    rest: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.rest += if self.total.abs() >= term.abs() {
            (self.total - next) + term
        } else {
            (term - next) + self.total
        };
        self.total = next;
    }

    pub(crate) fn value(self) -> f64 {
        self.total + self.rest
    }
}

/// The sum of all terms.
pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = Sum::default();
    terms.into_iter().for_each(|term| sum.add(term));
    sum.value()
}

/// The number of ways to choose `taken` of `all`, as a product of ratios: exact to some units of the last
/// digit, infinite beyond 1e308.
pub(crate) fn choose(all: u64, taken: u64) -> f64 {
    if taken > all {
        return 0.0;
    }
    let taken = taken.min(all - taken);
    (0..taken).fold(1.0, |ways, i| ways * (all - i) as f64 / (i + 1) as f64)
}

/// The probability of `count` successes in `trials` with probability `p` each.
pub(crate) fn binomial(trials: u64, count: u64, p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        let sure = if p <= 0.0 { 0 } else { trials };
        return if count == sure { 1.0 } else { 0.0 };
    }
    let (hits, misses) = (count as f64, (trials - count) as f64);
    if trials <= 1000 && (1e-3..0.999).contains(&p) {
        return choose(trials, count) * libm::pow(p, hits) * libm::exp(misses * libm::log1p(-p));
    }
    let ways = libm::lgamma(trials as f64 + 1.0) - libm::lgamma(hits + 1.0) - libm::lgamma(misses + 1.0);
    libm::exp(ways + hits * libm::log(p) + misses * libm::log1p(-p))
}

/// P(at least `count` events) of a Poisson distribution, where that is small or not.
pub(crate) fn poisson_at_least(count: u64, mean: f64) -> f64 {
    if count == 0 {
        return 1.0;
    }
    let term = |k: u64| libm::exp(k as f64 * libm::log(mean) - mean - libm::lgamma(k as f64 + 1.0));
    if mean < count as f64 {
        let first = term(count);
        let mut ratio = 1.0;
        let mut tail = Sum::default();
        for k in count + 1.. {
            tail.add(ratio);
            ratio *= mean / k as f64;
            if ratio < 1e-18 {
                break;
            }
        }
        return first * tail.value();
    }
    1.0 - poisson_below(count, mean)
}

/// P(fewer than `count` events) of a Poisson distribution.
pub(crate) fn poisson_below(count: u64, mean: f64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    if mean < count as f64 && count > 1 {
        return 1.0 - poisson_at_least(count, mean);
    }
    let last = count - 1;
    let top = libm::exp(last as f64 * libm::log(mean) - mean - libm::lgamma(last as f64 + 1.0));
    let mut ratio = 1.0;
    let mut tail = Sum::default();
    for k in (0..=last).rev() {
        tail.add(ratio);
        ratio *= k as f64 / mean;
        if ratio < 1e-18 {
            break;
        }
    }
    top * tail.value()
}

/// Where a rising function reaches `level` between two bounds; halved until the bounds are equal to 1e-13.
pub(crate) fn crossing(mut low: f64, mut high: f64, level: f64, rising: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if rising(middle) < level {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-14 * high {
            break;
        }
    }
    0.5 * (low + high)
}

/// The regularized incomplete beta function by its continued fraction (Lentz), `x` in 0..=1.
fn beta_share(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(b, a, 1.0 - x);
    }
    let scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = libm::exp(scale + a * libm::log(x) + b * libm::log1p(-x)) / a;
    let away = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..100_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// Bounds of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Bounds {
    /// Whether a value lies between them.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The exact interval of a mean number of events (Garwood 1936).
pub(crate) fn garwood(events: u64, outside: f64) -> Bounds {
    let n = events as f64;
    let reach = n + 20.0 * libm::sqrt(n + 1.0) + 40.0;
    let low = match events {
        0 => 0.0,
        _ => crossing(0.0, reach, outside / 2.0, |mean| poisson_at_least(events, mean)),
    };
    let high = crossing(0.0, reach, -outside / 2.0, |mean| -poisson_below(events + 1, mean));
    Bounds { low, high }
}

/// The exact interval of a probability (Clopper and Pearson 1934).
pub(crate) fn clopper_pearson(hits: u64, trials: u64, outside: f64) -> Bounds {
    let (x, n) = (hits as f64, trials as f64);
    let low = match hits {
        0 => 0.0,
        _ => crossing(0.0, 1.0, outside / 2.0, |p| beta_share(x, n - x + 1.0, p)),
    };
    let high = match hits == trials {
        true => 1.0,
        false => crossing(0.0, 1.0, 1.0 - outside / 2.0, |p| beta_share(x + 1.0, n - x, p)),
    };
    Bounds { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_are_kept() {
        let terms = || std::iter::once(1.0).chain(std::iter::repeat_n(1e-17, 1000));
        assert!((sum(terms()) - 1.0 - 1e-14).abs() < 1e-16);
        assert_eq!(terms().fold(0.0, |sum, term| sum + term), 1.0, "plain addition drops them");
    }

    #[test]
    fn intervals_of_counts_are_exact() {
        let none = clopper_pearson(0, 100, 0.05);
        assert!((none.high - (1.0 - libm::pow(0.025, 0.01))).abs() < 1e-12);
        let some = clopper_pearson(7, 40, 0.05);
        let above: f64 = (7..=40).map(|k| binomial(40, k, some.low)).sum();
        let below: f64 = (0..=7).map(|k| binomial(40, k, some.high)).sum();
        assert!((above - 0.025).abs() < 1e-10 && (below - 0.025).abs() < 1e-10);
        let wide = clopper_pearson(7, 40, 0.10);
        assert!(wide.low > some.low && wide.high < some.high, "another level gives another interval");
        let many = garwood(1000, 0.05);
        assert!((poisson_at_least(1000, many.low) - 0.025).abs() < 1e-9, "{many:?}");
        assert!((poisson_below(1001, many.high) - 0.025).abs() < 1e-9, "{many:?}");
    }
}
