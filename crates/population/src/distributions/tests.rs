//! Bins compared with the distribution functions and the closed forms of the means.

use super::*;

/// The normal distribution function.
fn normal(z: f64) -> f64 {
    libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

fn log_normal(median: u64, sigma: f64, cap: Option<u64>) -> SizeHistogram {
    let spec = LogNormalSpec { median: Bytes::new(median), sigma, cap: cap.map(Bytes::new) };
    SizeHistogram::log_normal(spec).unwrap()
}

fn pareto(min: u64, shape: f64, cap: Option<u64>) -> SizeHistogram {
    SizeHistogram::pareto(ParetoSpec { min: Bytes::new(min), shape, cap: cap.map(Bytes::new) }).unwrap()
}

fn near(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!((got / want - 1.0).abs() <= tolerance, "{what}: {got}, not {want}");
}

#[test]
fn log_normal_follows_its_distribution() {
    for (median, sigma) in
        [(1u64 << 20, 0.1), (1 << 20, 1.0), (400 << 20, 2.2), (5 << 30, 1.05), (3_000_000, 3.0)]
    {
        let bins = log_normal(median, sigma, None);
        let mean = median as f64 * libm::exp(sigma * sigma / 2.0);
        near(&format!("mean at sigma {sigma}"), bins.mean(), mean, 1e-3);
        for eighth in -40..=40 {
            let size = median as f64 * libm::exp(sigma * f64::from(eighth) / 8.0);
            let below = bins.share_below(Bytes::new(size.round() as u64));
            let want = normal(f64::from(eighth) / 8.0);
            assert!((below - want).abs() < 5e-4, "sigma {sigma}, {size}: {below}, not {want}");
        }
        let at_median = bins.share_below(Bytes::new(median));
        assert!((at_median - 0.5).abs() < 5e-4, "{at_median}");
        assert!(bins.bins().len() < 1000);
    }
}

#[test]
fn edges_are_exact() {
    let bins = log_normal(1 << 20, 1.5, None);
    for bin in bins.bins().iter().filter(|bin| bin.min > 1000) {
        let want = normal((libm::log(bin.min as f64) - libm::log((1u64 << 20) as f64)) / 1.5);
        assert!((bins.share_below(Bytes::new(bin.min)) - want).abs() < 1e-12, "{bin:?}");
        let width = bin.max as f64 / bin.min as f64;
        assert!(width < 1.0452, "{bin:?} is {width} wide");
    }
}

#[test]
fn a_cap_cuts_and_the_rest_is_as_before() {
    let (whole, cut) = (log_normal(1 << 20, 2.0, None), log_normal(1 << 20, 2.0, Some(16 << 20)));
    assert_eq!(cut.largest(), Bytes::from_mib(16));
    let kept = whole.share_below(Bytes::new((16 << 20) + 1));
    for size in [1u64 << 14, 1 << 18, 1 << 20, 5 << 20] {
        let size = Bytes::new(size);
        near("share", cut.share_below(size), whole.share_below(size) / kept, 2e-3);
    }
}

#[test]
fn pareto_follows_its_distribution() {
    for (min, shape, cap) in
        [(4096u64, 1.5, 1u64 << 40), (1 << 20, 0.7, 1 << 50), (1000, 3.0, 1 << 20), (1 << 20, 20.0, 1 << 22)]
    {
        let bins = pareto(min, shape, Some(cap));
        let ratio = cap as f64 / min as f64;
        let share = 1.0 - ratio.powf(-shape);
        let mean = shape * min as f64 / (shape - 1.0) * (1.0 - ratio.powf(1.0 - shape)) / share;
        near(&format!("mean at shape {shape}"), bins.mean(), mean, 1e-3);
        assert_eq!([bins.smallest().get(), bins.largest().get()], [min, cap]);
        for step in 0..400 {
            let size = (min as f64 * libm::exp2(f64::from(step) / 13.0)).round() as u64;
            if size < cap {
                let want = (1.0 - (size as f64 / min as f64).powf(-shape)) / share;
                let below = bins.share_below(Bytes::new(size));
                assert!((below - want).abs() < 5e-4, "shape {shape}, {size}: {below}, not {want}");
            }
        }
    }
}

#[test]
fn the_ends() {
    assert_eq!(log_normal(4096, 0.0, None), SizeHistogram::constant(Bytes::new(4096)).unwrap());
    assert_eq!(pareto(SIZE_MAX, 1.0, None), SizeHistogram::constant(Bytes::new(SIZE_MAX)).unwrap());
    assert_eq!(pareto(7, 1.0, Some(7)).mean(), 7.0);
    assert_eq!(log_normal(1, 8.0, None).smallest(), Bytes::new(1));
    assert!(log_normal(SIZE_MAX, 0.001, None).mean() > 0.99 * SIZE_MAX as f64);
    for sigma in [1e-300, 1e-18, 1e-12, 1e-6] {
        near("the mean of a narrow one", log_normal(1 << 40, sigma, None).mean(), (1u64 << 40) as f64, 1e-5);
    }
}

#[test]
fn refusals() {
    let normal = |median, sigma, cap| {
        let spec = LogNormalSpec { median: Bytes::new(median), sigma, cap: Some(Bytes::new(cap)) };
        SizeHistogram::log_normal(spec).unwrap_err().to_string()
    };
    let pareto = |min, shape, cap| {
        let spec = ParetoSpec { min: Bytes::new(min), shape, cap: Some(Bytes::new(cap)) };
        SizeHistogram::pareto(spec).unwrap_err().to_string()
    };
    let refusals = [
        normal(0, 1.0, 9),
        normal(9, -1.0, 9),
        normal(9, f64::NAN, 9),
        normal(9, 9.0, 9),
        normal(9, 1.0, 8),
        normal(9, 1.0, u64::MAX),
        pareto(0, 1.0, 9),
        pareto(9, 0.0, 9),
        pareto(9, f64::INFINITY, 9),
        pareto(9, 1.0, 8),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r"
    `median` is 0B, but must be from 1B to 1EiB
    `sigma` is -1, but must be from 0 to 8
    `sigma` is NaN, but must be from 0 to 8
    `sigma` is 9, but must be from 0 to 8
    `cap` is 8B, but must be at least `median`, which is 9B
    `cap` is 18446744.073709551615TB, but must be from 1B to 1EiB
    `min` is 0B, but must be from 1B to 1EiB
    `shape` is 0, but must be from 0.01 to 100
    `shape` is inf, but must be from 0.01 to 100
    `cap` is 8B, but must be at least `min`, which is 9B
    ");
}
