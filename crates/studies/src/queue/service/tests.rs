//! Each distribution: its moments against its samples, and its refusals.

use towtank_streams::{Draws, Purpose, Seed};

use super::*;

fn rate(per_second: u64) -> Frequency {
    Frequency::from_per_second(per_second).unwrap()
}

fn share(percent: u64) -> Percent {
    Percent::from_percent(percent).unwrap()
}

/// Every distribution, with light tails, so that a sample of a million tells its moments.
fn shapes() -> Vec<Service> {
    let spans = vec![SimSpan::from_ns(3), SimSpan::from_us(5), SimSpan::from_ms(1)];
    vec![
        Service::Exponential,
        Service::Constant,
        Service::Erlang { phases: 1 },
        Service::Erlang { phases: 7 },
        Service::Hyperexponential { scv: 1.0 },
        Service::Hyperexponential { scv: 4.0 },
        Service::Branches(vec![
            Branch { share: share(90), rate: rate(50_000) },
            Branch { share: share(10), rate: rate(2_000) },
        ]),
        Service::Lognormal { cv: 0.0 },
        Service::Lognormal { cv: 0.8 },
        Service::Pareto { shape: 6.0 },
        Service::Empirical { spans: spans.clone(), weights: Vec::new() },
        Service::Empirical { spans, weights: vec![5, 0, 1] },
    ]
}

/// Mean and mean square of many samples, in seconds.
fn sampled(service: &Service, rate: Frequency, count: u64) -> (f64, f64) {
    let sampler = service.sampler(rate).unwrap();
    let sum = (0..count).fold((0.0, 0.0), |(mean, second), ordinal| {
        let mut draws = Draws::new(Seed(3), 1, ordinal);
        let seconds = sampler.sample_span(&mut draws.of(Purpose(2))).as_ns() as f64 / 1e9;
        (mean + seconds, second + seconds * seconds)
    });
    (sum.0 / count as f64, sum.1 / count as f64)
}

#[test]
fn samples_have_the_moments_that_formulas_use() {
    for service in shapes() {
        let Moments { mean, second } = service.moments(rate(10_000));
        let (got_mean, got_second) = sampled(&service, rate(10_000), 1_000_000);
        assert!((got_mean / mean - 1.0).abs() < 0.01, "{service:?}: mean {got_mean}, not {mean}");
        assert!((got_second / second - 1.0).abs() < 0.05, "{service:?}: {got_second}, not {second}");
    }
}

/// Shapes whose times are near 100 ns: rounding down would take half a nanosecond of each.
#[test]
fn rounding_keeps_the_mean() {
    let fast = Frequency::from_per_billion_seconds(9_700_000_000_000_000);
    for service in [Service::Constant, Service::Erlang { phases: 900 }, Service::Lognormal { cv: 0.001 }] {
        let mean = service.moments(fast).mean;
        let (got, _) = sampled(&service, fast, 200_000);
        assert!((got / mean - 1.0).abs() < 1e-4, "{service:?}: {got}, not {mean}");
    }
    let (got, _) = sampled(&Service::Exponential, rate(10_000_000), 4_000_000);
    assert!((got * 1e9 - 100.0).abs() < 0.2, "{got}");
}

#[test]
fn a_constant_of_whole_nanoseconds_is_constant() {
    let sampler = Service::Constant.sampler(rate(500_000_000)).unwrap();
    for ordinal in 0..1_000 {
        let span = sampler.sample_span(&mut Draws::new(Seed(1), 0, ordinal).of(Purpose(2)));
        assert_eq!(span, SimSpan::from_ns(2));
    }
}

#[test]
fn tails_say_what_is_infinite() {
    let pareto = |shape: f64| Service::Pareto { shape };
    assert_eq!([1.5, 2.0, 2.5, 3.0, 3.5].map(|shape| pareto(shape).tail()), {
        use Tail::{Light, Times, Waits};
        [Times, Times, Waits, Waits, Light]
    });
    assert!(pareto(1.5).moments(rate(1)).second.is_infinite());
    // E X² = a m²/(a − 2), with m = 2/3 for a mean of one and a = 3.
    let second = pareto(3.0).moments(rate(1)).second;
    assert!((second - 4.0 / 3.0).abs() < 1e-12, "{second}");
}
