//! The equations with values worked by hand, and properties of every estimate.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use proptest::prelude::*;

use super::*;
use crate::fit::fit;
use crate::run::Run;

fn run(size_bytes: u64, reads: f64, iops: f64) -> Run {
    let (file, place) = ("runs.csv".to_owned(), "line 2".to_owned());
    Run { system: None, mix: Mix::alone(size_bytes, reads), shares: Shares::Operations, iops, file, place }
}

/// A model from pure reads and pure writes by size.
fn model(sizes: &[(u64, f64, f64)]) -> Model {
    let runs: Vec<Run> = sizes
        .iter()
        .flat_map(|(size, reads, writes)| [run(*size, 1.0, *reads), run(*size, 0.0, *writes)])
        .collect();
    fit(&runs).unwrap()
}

fn total(model: &Model, mix: &str, shares: Shares) -> f64 {
    let mix = Mix::parse(mix).unwrap();
    estimate(model, &Asked { mix: &mix, shares, beyond: Beyond::Refuse, curved: false }).unwrap().total.value
}

fn near(found: f64, want: f64) {
    assert!((found - want).abs() < 1e-9 * want.abs(), "{found} is not {want}");
}

#[test]
fn equations_3_to_6_by_hand() {
    // f_rw = 1000/200 = 5. At 60 % reads k = 1000/(60 + 40·5) = 1000/260, so T = 100·k = 384.615….
    let model = model(&[(4096, 1000.0, 200.0)]);
    near(model.sizes[0].f_rw(), 5.0);
    let mix = Mix::parse("4KiB:100%:r60").unwrap();
    let asked = Asked { mix: &mix, shares: Shares::Operations, beyond: Beyond::Refuse, curved: false };
    let found = estimate(&model, &asked).unwrap();
    near(found.total.value, 100_000.0 / 260.0);
    near(found.reads.value, 60_000.0 / 260.0);
    near(found.writes.value, 40_000.0 / 260.0);
    near(found.bandwidth.value, 4096.0 * 100_000.0 / 260.0);
    // (3): reads and writes together use C.
    near(found.reads.value + 5.0 * found.writes.value, 1000.0);
    near(model.sizes[0].capacity(0.6, found.total.value), 1000.0);
    assert_eq!(found.total.range, None, "nothing was run twice");
}

#[test]
fn writes_may_be_cheaper_than_reads() {
    // f_rw = 0.5; at half and half k = 100/(50 + 25), T = 133.33….
    let model = model(&[(4096, 100.0, 200.0)]);
    near(model.sizes[0].f_rw(), 0.5);
    near(total(&model, "4KiB:100%:r50", Shares::Operations), 400.0 / 3.0);
}

#[test]
fn shares_of_capacity_are_equation_7_and_shares_of_operations_add_up_work() {
    // The paper's case 3: both sizes at half reads. T of 16 KiB is 100·600/(50 + 50·3) = 300, of 512 KiB
    // 100·80/(50 + 50·4) = 32.
    let model = model(&[(16_384, 600.0, 200.0), (524_288, 80.0, 20.0)]);
    let mix = "16KiB:30%:r50,512KiB:70%:r50";
    near(total(&model, mix, Shares::Capacity), 0.3 * 300.0 + 0.7 * 32.0);
    near(total(&model, mix, Shares::Operations), 1.0 / (0.3 / 300.0 + 0.7 / 32.0));
    near(total(&model, mix, Shares::Concurrency), 1.0 / (0.3 / 300.0 + 0.7 / 32.0));
    let parsed = Mix::parse(mix).unwrap();
    let asked = Asked { mix: &parsed, shares: Shares::Capacity, beyond: Beyond::Refuse, curved: false };
    let found = estimate(&model, &asked).unwrap();
    near(found.parts[0].reads.value, 0.5 * 0.3 * 300.0);
    near(found.parts[1].writes.value, 0.5 * 0.7 * 32.0);
    near(found.bandwidth.value, 0.3 * 300.0 * 16_384.0 + 0.7 * 32.0 * 524_288.0);
    near(found.as_operations.value, 1.0 / (0.3 / 300.0 + 0.7 / 32.0));
}

#[test]
fn sizes_between_are_on_the_line_of_logarithms_and_sizes_outside_are_refused() {
    let model = model(&[(4096, 1000.0, 100.0), (65_536, 250.0, 25.0)]);
    // 16 KiB lies half way between 4 and 64 KiB in logarithms: sqrt(1000·250).
    near(total(&model, "16KiB:100%:r100", Shares::Operations), 500.0);
    let mix = Mix::parse("256KiB:100%:r100").unwrap();
    let asked = |beyond| Asked { mix: &mix, shares: Shares::Operations, beyond, curved: false };
    let error = estimate(&model, &asked(Beyond::Refuse)).unwrap_err();
    assert_eq!(error.to_string(), "256KiB is outside the measured sizes, 4KiB to 64KiB");
    let found = estimate(&model, &asked(Beyond::Extrapolate)).unwrap();
    near(found.total.value, 125.0);
    assert_eq!(found.parts[0].kind, SizeKind::Extrapolated);
    let one = super::tests::model(&[(4096, 1000.0, 100.0)]);
    assert!(matches!(estimate(&one, &asked(Beyond::Extrapolate)), Err(EstimateError::OneSize { .. })));
}

#[test]
fn runs_that_differ_give_an_interval() {
    let runs = [run(4096, 1.0, 900.0), run(4096, 1.0, 1100.0), run(4096, 0.0, 90.0), run(4096, 0.0, 110.0)];
    let model = fit(&runs).unwrap();
    let mix = Mix::parse("4KiB:100%:r100").unwrap();
    let found = estimate(
        &model,
        &Asked { mix: &mix, shares: Shares::Operations, beyond: Beyond::Refuse, curved: false },
    )
    .unwrap();
    let (low, high) = found.total.range.unwrap();
    // The logarithms of each pair are ln(11/9) apart, so s = ln(11/9)/√2; t for two degrees of freedom is
    // 4.3027, and each mean has two runs.
    let half = 4.302_653 * (11.0_f64 / 9.0).ln() / 2.0_f64.sqrt() / 2.0_f64.sqrt();
    assert!(
        (low - 1000.0 * (-half).exp()).abs() < 0.01 && (high - 1000.0 * half.exp()).abs() < 0.01,
        "{low} {high}"
    );
}

#[test]
fn a_curvature_bends_mixes_and_leaves_pure_loads() {
    let runs = [run(4096, 1.0, 1000.0), run(4096, 0.0, 1000.0), run(4096, 0.5, 800.0)];
    let model = fit(&runs).unwrap();
    near(model.sizes[0].curvature.unwrap().value, 0.25);
    let at = |percent: u32, curved| {
        let mix = Mix::parse(&format!("4KiB:100%:r{percent}")).unwrap();
        let asked = Asked { mix: &mix, shares: Shares::Operations, beyond: Beyond::Refuse, curved };
        estimate(&model, &asked).unwrap().total.value
    };
    near(at(50, true), 800.0);
    near(at(50, false), 1000.0);
    near(at(100, true), 1000.0);
}

prop_compose! {
    fn sizes()(rates in prop::collection::vec((1.0..1e6_f64, 1.0..1e6_f64), 1..5)) -> Vec<(u64, f64, f64)> {
        rates.into_iter().enumerate().map(|(at, (reads, writes))| (4096 << (2 * at), reads, writes)).collect()
    }
}

prop_compose! {
    fn mix(count: usize)(weights in prop::collection::vec(0.01..1.0_f64, count), reads in prop::collection::vec(0.0..=1.0_f64, count)) -> Mix {
        let sum: f64 = weights.iter().sum();
        let part = |at: usize| Part { size_bytes: 4096 << (2 * at), share: weights[at] / sum, reads: reads[at] };
        Mix::new((0..count).map(part).collect()).unwrap()
    }
}

proptest! {
    #[test]
    fn an_estimate_lies_between_its_pure_parts((sizes, mix) in sizes().prop_flat_map(|sizes| {
        let count = sizes.len();
        (Just(sizes), mix(count))
    })) {
        let least = sizes.iter().map(|(_, reads, writes)| reads.min(*writes)).fold(f64::INFINITY, f64::min);
        let most = sizes.iter().map(|(_, reads, writes)| reads.max(*writes)).fold(0.0, f64::max);
        let model = model(&sizes);
        for shares in Shares::ALL {
            let asked = Asked { mix: &mix, shares, beyond: Beyond::Refuse, curved: false };
            let found = estimate(&model, &asked).unwrap();
            prop_assert!(found.total.value >= least * (1.0 - 1e-9) && found.total.value <= most * (1.0 + 1e-9));
            prop_assert!(found.as_operations.value <= found.as_capacity.value * (1.0 + 1e-9), "the harmonic mean is the lesser");
            let both = found.reads.value + found.writes.value;
            prop_assert!((both - found.total.value).abs() <= 1e-9 * both);
        }
    }

    #[test]
    fn scaling_all_inputs_scales_the_output((sizes, mix) in sizes().prop_flat_map(|sizes| {
        let count = sizes.len();
        (Just(sizes), mix(count))
    }), factor in 0.01..100.0_f64) {
        let scaled: Vec<_> = sizes.iter().map(|(size, reads, writes)| (*size, reads * factor, writes * factor)).collect();
        let (model, scaled) = (model(&sizes), model(&scaled));
        for shares in Shares::ALL {
            let asked = Asked { mix: &mix, shares, beyond: Beyond::Refuse, curved: false };
            let (one, other) = (estimate(&model, &asked).unwrap(), estimate(&scaled, &asked).unwrap());
            prop_assert!((one.total.value * factor - other.total.value).abs() <= 1e-9 * other.total.value);
            prop_assert!((one.bandwidth.value * factor - other.bandwidth.value).abs() <= 1e-9 * other.bandwidth.value);
        }
    }

    #[test]
    fn a_model_reads_back_as_it_was_written(
        sizes in sizes(),
        more in prop::collection::vec((0..4_u32, 0.0..=1.0_f64, 1.0..1e6_f64), 0..12),
    ) {
        let more = more.into_iter().map(|(at, reads, iops)| run(4096 << (2 * (at as usize % sizes.len())), reads, iops));
        let pure = sizes.iter().flat_map(|(size, reads, writes)| [run(*size, 1.0, *reads), run(*size, 0.0, *writes)]);
        let mut runs: Vec<Run> = more.chain(pure).collect();
        runs.extend(runs.clone().into_iter().map(|run| Run { iops: run.iops * 1.1, ..run }));
        let model = fit(&runs).unwrap();
        prop_assert_eq!(Model::from_json("model.json", &model.to_json()).unwrap(), model);
    }
}
