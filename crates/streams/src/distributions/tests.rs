//! Compares the distributions with their closed forms: Kolmogorov–Smirnov and chi-square distances, moments,
//! extreme words. Seeds are fixed, so a failure means that the code changed; chance alone exceeds the limits
//! once in a thousand.

use super::*;
use crate::{Draws, Purpose, Seed};

const SAMPLES: usize = 40_000;
const SEEDS: [u64; 3] = [1, 20, 300];

/// Counts the words that it returns.
struct Counted<U>(U, u64);

impl<U: Uniform> Uniform for Counted<U> {
    fn next_u64(&mut self) -> u64 {
        self.1 += 1;
        self.0.next_u64()
    }
}

/// Always returns the same word; used for the extremes of a distribution.
struct Stuck(u64);

impl Uniform for Stuck {
    fn next_u64(&mut self) -> u64 {
        self.0
    }
}

/// Draws samples as a model does, one event per sample, so that the keyed source is tested too.
fn samples<T>(seed: u64, mut sample: impl FnMut(&mut Counted<crate::Source<'_>>) -> T) -> (Vec<T>, f64) {
    let mut words = 0;
    let values = (0..SAMPLES as u64).map(|ordinal| {
        let mut draws = Draws::new(Seed(seed), 5, ordinal);
        let mut source = Counted(draws.of(Purpose(2)), 0);
        let value = sample(&mut source);
        words += source.1;
        value
    });
    let values = values.collect();
    (values, words as f64 / SAMPLES as f64)
}

/// Checks that the Kolmogorov–Smirnov distance from `cdf` is below the 0.1 % point 1.95/√n.
fn check_cdf(name: &str, seed: u64, mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distances = values.iter().enumerate().map(|(i, value)| {
        let chance = cdf(*value);
        ((i + 1) as f64 / n - chance).max(chance - i as f64 / n)
    });
    let distance = distances.fold(0.0, f64::max);
    assert!(distance * n.sqrt() < 1.95, "{name}, seed {seed}: distance {distance}");
}

/// Checks Pearson's chi-square distance of counts from probabilities; each cell must expect at least five.
/// The limit is the 0.1 % point by Wilson and Hilferty.
fn check_counts(name: &str, seed: u64, counts: &[u64], chances: &[f64]) {
    let total = counts.iter().sum::<u64>() as f64;
    let distance: f64 = counts
        .iter()
        .zip(chances)
        .map(|(count, chance)| {
            assert!(chance * total >= 5.0, "{name}: a cell expects only {}", chance * total);
            (*count as f64 - chance * total).powi(2) / (chance * total)
        })
        .sum();
    let degrees = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * degrees);
    let limit = degrees * (1.0 - spread + 3.09 * spread.sqrt()).powi(3);
    assert!(distance < limit, "{name}, seed {seed}: {distance} with {degrees} degrees, limit {limit}");
}

/// Checks that the mean of the samples is within four standard errors of `mean`.
fn check_mean(name: &str, values: &[f64], mean: f64) {
    let n = values.len() as f64;
    let got = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - got).powi(2)).sum::<f64>() / (n - 1.0);
    assert!(
        (got - mean).abs() <= 4.0 * (variance / n).sqrt() + 1e-12 * mean.abs(),
        "{name}: mean {got}, not {mean}"
    );
}

/// The normal distribution function, through the error function.
fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[test]
fn exponential() {
    let exponential = Exponential::with_mean(2.5).unwrap();
    for seed in SEEDS {
        let (values, words) = samples(seed, |source| exponential.sample(source));
        assert_eq!(words, 1.0);
        check_mean("exponential", &values, 2.5);
        let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
        check_mean("exponential squared", &squares, 2.0 * 2.5 * 2.5);
        check_cdf("exponential", seed, values, |x| -libm::expm1(-x / 2.5));
    }
    assert_eq!(exponential.sample(&mut Stuck(u64::MAX)), 0.0);
    let most = exponential.sample(&mut Stuck(0)) / 2.5;
    assert!((36.7..36.8).contains(&most), "{most}");
    let span = Exponential::with_mean_span(SimSpan::from_ms(5)).unwrap();
    assert_eq!(span.sample_span(&mut Stuck(u64::MAX / 2)).as_ns(), 3_465_735);
}

#[test]
fn log_normal() {
    for seed in SEEDS {
        let log_normal = LogNormal::new(1.0, 0.5).unwrap();
        let (values, words) = samples(seed, |source| log_normal.sample(source));
        assert_eq!(words, 2.0);
        check_mean("log-normal", &values, libm::exp(1.125));
        check_cdf("log-normal", seed, values, |x| normal_cdf((libm::log(x) - 1.0) / 0.5));
    }
    let by_mean = LogNormal::with_mean(8.0, 1.5).unwrap();
    assert!((by_mean.mean() - 8.0).abs() < 1e-12);
    let (values, _) = samples(4, |source| by_mean.sample(source));
    let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
    check_mean("log-normal squared", &squares, 64.0 * (1.0 + 1.5 * 1.5));
    let constant = LogNormal::with_mean(8.0, 0.0).unwrap();
    assert!((constant.sample(&mut Stuck(99)) - 8.0).abs() < 1e-12 && (constant.median() - 8.0).abs() < 1e-12);
}

#[test]
fn pareto() {
    for seed in SEEDS {
        let pareto = Pareto::new(3.0, 2.5).unwrap();
        let (values, words) = samples(seed, |source| pareto.sample(source));
        assert_eq!(words, 1.0);
        check_mean("pareto", &values, 5.0);
        check_cdf("pareto", seed, values, |x| 1.0 - libm::pow(3.0 / x, 2.5));

        for shape in [0.5, 1.0, 1.1, 3.0] {
            let bounded = BoundedPareto::new(2.0, 200.0, shape).unwrap();
            let (values, words) = samples(seed, |source| bounded.sample(source));
            assert_eq!(words, 1.0);
            assert!(values.iter().all(|value| (2.0..=200.0).contains(value)));
            check_mean("bounded pareto", &values, bounded.mean());
            let share = 1.0 - libm::pow(0.01, shape);
            check_cdf("bounded pareto", seed, values, |x| (1.0 - libm::pow(2.0 / x, shape)) / share);
        }
    }
    assert_eq!(Pareto::new(1.0, 1.0).unwrap().mean(), None);
    assert_eq!(Pareto::new(1.0, 0.01).unwrap().sample(&mut Stuck(0)), f64::MAX);
    assert_eq!(BoundedPareto::new(2.0, 2.0, 1.5).unwrap().mean(), 2.0);
    assert_eq!(BoundedPareto::new(2.0, 2.0, 1.5).unwrap().sample(&mut Stuck(u64::MAX)), 2.0);
    // The mean for shape 1, by hand: ln(100)·2·200/(200 − 2).
    let by_hand = libm::log(100.0) * 2.0 * 200.0 / 198.0;
    for shape in [1.0 - 1e-9, 1.0, 1.0 + 1e-9] {
        assert!(
            (BoundedPareto::new(2.0, 200.0, shape).unwrap().mean() / by_hand - 1.0).abs() < 1e-7,
            "{shape}"
        );
    }
}

#[test]
fn empirical() {
    let bin = |low: f64, high: f64, weight: u64| WeightedBin { low, high, weight };
    let bins = [bin(1.0, 2.0, 1), bin(2.0, 10.0, 5), bin(10.0, 10.0, 0), bin(20.0, 40.0, 4)];
    for seed in SEEDS {
        let even = Empirical::new(&bins, Spread::Uniform).unwrap();
        let (values, words) = samples(seed, |source| even.sample(source));
        assert_eq!(words, 2.0);
        check_mean("empirical", &values, 0.1 * 1.5 + 0.5 * 6.0 + 0.4 * 30.0);
        assert!((even.mean() - 15.15).abs() < 1e-12);
        check_cdf("empirical", seed, values, |x| match x {
            ..2.0 => 0.1 * (x - 1.0),
            2.0..10.0 => 0.1 + 0.5 * (x - 2.0) / 8.0,
            _ => 0.6 + 0.4 * (x - 20.0) / 20.0,
        });

        let log = Empirical::new(&bins, Spread::LogUniform).unwrap();
        let (values, _) = samples(seed, |source| log.sample(source));
        check_mean("log empirical", &values, log.mean());
        check_cdf("log empirical", seed, values, |x| match x {
            ..2.0 => 0.1 * x.log2(),
            2.0..10.0 => 0.1 + 0.5 * (x / 2.0).log(5.0),
            _ => 0.6 + 0.4 * (x / 20.0).log2(),
        });
    }
    let point = Empirical::new(&[bin(3.0, 3.0, 9)], Spread::LogUniform).unwrap();
    assert_eq!((point.sample(&mut Stuck(77)), point.mean()), (3.0, 3.0));
}

#[test]
fn zipf_against_its_chances() {
    for seed in SEEDS {
        for (ranks, exponent) in
            [(1, 1.0), (2, 0.5), (10, 0.0), (10, 0.99), (10, 1.0), (10, 2.5), (10, 12.0), (1_000, 1.2)]
        {
            let zipf = Zipf::new(ranks, exponent).unwrap();
            let (values, words) = samples(seed, |source| zipf.sample(source));
            assert!(words < 1.3, "{ranks} ranks, exponent {exponent}: {words} words a sample");
            // Ranks too improbable for a cell of their own share the last cell.
            let own =
                (1..=ranks).take_while(|rank| zipf.chance(*rank) * SAMPLES as f64 >= 20.0).count() as u64;
            let mut chances: Vec<f64> = (1..=own).map(|rank| zipf.chance(rank)).collect();
            let mut counts: Vec<u64> =
                (1..=own).map(|rank| values.iter().filter(|value| **value == rank).count() as u64).collect();
            let rest: f64 = (own + 1..=ranks).map(|rank| zipf.chance(rank)).sum();
            let others = values.iter().filter(|value| **value > own).count() as u64;
            if rest * SAMPLES as f64 >= 5.0 {
                chances.push(rest);
                counts.push(others);
            } else {
                assert!(others < 20, "{others} of ranks that expect {}", rest * SAMPLES as f64);
            }
            if counts.len() > 1 {
                check_counts(&format!("zipf {ranks} {exponent}"), seed, &counts, &chances);
            }
        }
    }
}

#[test]
fn zipf_over_more_ranks_than_fit_in_any_table() {
    let zipf = Zipf::new(1 << 53, 1.0).unwrap();
    let (values, words) = samples(2, |source| zipf.sample(source));
    assert!(words < 1.1, "{words}");
    assert!(values.iter().all(|rank| (1..=1 << 53).contains(rank)));
    // With exponent 1, the probability of a rank up to r is H(r)/H(n), and H(n) is about ln n + γ.
    let whole = libm::log(9_007_199_254_740_992.0) + 0.577_215_664_901_532_9;
    let small = values.iter().filter(|rank| **rank <= 1 << 20).count() as f64 / SAMPLES as f64;
    let want = (libm::log(1_048_576.0) + 0.577_215_664_901_532_9) / whole;
    assert!((small - want).abs() < 0.01, "{small} {want}");
    assert!((zipf.chance(1) - 1.0 / whole).abs() < 1e-12);
}

#[test]
fn zipf_mean_agrees_with_the_plain_sum() {
    for (ranks, exponent) in [
        (1, 3.0),
        (999, 0.7),
        (1_001, 1.0),
        (100_000, 0.0),
        (100_000, 0.99),
        (100_000, 1.0),
        (100_000, 2.0),
        (100_000, 3.5),
    ] {
        let weight = |k: u64| (k as f64).powf(-exponent);
        let total: f64 = (1..=ranks).rev().map(weight).sum();
        let first: f64 = (1..=ranks).rev().map(|k| k as f64 * weight(k)).sum();
        let got = Zipf::new(ranks, exponent).unwrap().mean();
        assert!((got / (first / total) - 1.0).abs() < 1e-11, "{ranks} {exponent}: {got} {}", first / total);
    }
}

#[test]
fn parameters_are_checked() {
    let bin = |low: f64, high: f64, weight: u64| WeightedBin { low, high, weight };
    let refusals = [
        (Exponential::with_mean(0.0).map(drop), "`mean` is 0, and must be above zero"),
        (Exponential::with_mean(f64::NAN).map(drop), "`mean` is NaN, and must be a finite number"),
        (Exponential::with_mean_span(SimSpan::ZERO).map(drop), "`mean` is 0, and must be above zero"),
        (LogNormal::new(f64::INFINITY, 1.0).map(drop), "`log_mean` is inf, and must be a finite number"),
        (LogNormal::new(0.0, -1.0).map(drop), "`log_deviation` is -1, and must be zero or more"),
        (LogNormal::with_mean(1.0, -0.5).map(drop), "`variation` is -0.5, and must be zero or more"),
        (Pareto::new(-1.0, 1.0).map(drop), "`minimum` is -1, and must be above zero"),
        (BoundedPareto::new(3.0, 2.0, 1.0).map(drop), "the range from 3 to 2 ends before it begins"),
        (
            Empirical::new(&[], Spread::Uniform).map(drop),
            "all 0 bins have weight 0, and at least one must have more",
        ),
        (
            Empirical::new(&[bin(2.0, 1.0, 1)], Spread::Uniform).map(drop),
            "the range from 2 to 1 ends before it begins",
        ),
        (
            Empirical::new(&[bin(0.0, 1.0, 1)], Spread::LogUniform).map(drop),
            "`low` is 0, and must be above zero",
        ),
        (
            Empirical::new(&[bin(0.0, 1.0, u64::MAX), bin(1.0, 2.0, 1)], Spread::Uniform).map(drop),
            "the weights of 2 bins add up to more than 18446744073709551615: divide them all by the same number",
        ),
        (Zipf::new(0, 1.0).map(drop), "`ranks` is 0, and must be from 1 to 9007199254740992"),
        (Zipf::new(9, -0.1).map(drop), "`exponent` is -0.1, and must be zero or more"),
    ];
    for (got, want) in refusals {
        assert_eq!(got.expect_err(want).to_string(), want);
    }
}

/// Pinned bits: a change here changes every result that depends on these samples.
#[test]
fn samples_are_the_same_bits_everywhere() {
    let word = 0x1234_5678_9abc_def0;
    let bits = [
        Exponential::with_mean(1.0).unwrap().sample(&mut Stuck(word)).to_bits(),
        LogNormal::new(0.0, 1.0).unwrap().sample(&mut Stuck(word)).to_bits(),
        Pareto::new(1.0, 1.5).unwrap().sample(&mut Stuck(word)).to_bits(),
        BoundedPareto::new(1.0, 9.0, 1.5).unwrap().sample(&mut Stuck(word)).to_bits(),
        Zipf::new(1_000_000, 0.99).unwrap().sample(&mut Stuck(word)),
    ];
    assert_eq!(
        bits,
        [
            4_613_135_077_908_436_558,
            4_620_641_034_136_881_254,
            4_618_245_579_906_747_570,
            4_607_400_509_496_353_119,
            383_296
        ]
    );
}
