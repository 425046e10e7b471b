//! Shares that are held as asked, mixes whose rate is known, and one that counts its shares wrongly.

use towtank_kernel::Executor;
use towtank_streams::Seed;

use super::super::observed::{Estimated, estimated, mistaken};
use super::*;

/// A cluster of one disk without copies, with this mix: what it does follows from the times of the disk.
fn scenario(mix: &str, more: &str) -> Scenario {
    let text = format!(
        "mix = \"{mix}\"\nservers = 1\nreplicas = 1\ndepth = 40\nwrite_overhead = \"130us\"\nduration = \"20s\"\n{more}"
    );
    toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn measured(scenario: &Scenario) -> Mixed {
    let context = RunContext { executor: Executor::Sequential, ..RunContext::alone(Seed(3), 0) };
    let mut all = Replicate { measured: Default::default(), events: 0, digests: Vec::new(), partial: false };
    measure(scenario, &context, &mut all).expect("the cluster runs");
    all.measured.mixed.expect("nothing stopped it")
}

fn with_estimates(scenario: &Scenario) -> (Mixed, Vec<Estimated>) {
    let mixed = measured(scenario);
    let all = super::super::runs::Measured { mixed: Some(mixed.clone()), ..Default::default() };
    (mixed, estimated(scenario, &all))
}

fn of_way(portion: &Portion, shares: Shares) -> f64 {
    match shares {
        Shares::Operations => portion.operations,
        Shares::Concurrency => portion.concurrency,
        Shares::Capacity => portion.capacity,
    }
}

/// The largest deviation of the shares of a run, counted in one way, from those of the mix.
fn deviation(scenario: &Scenario, held: &Held, counted: Shares) -> f64 {
    let mix = scenario.mix_of_sizes().expect("it has a mix");
    let off =
        |(part, portion): (&towtank_capacity::Part, &Portion)| (of_way(portion, counted) - part.share).abs();
    mix.parts().iter().zip(&held.parts).map(off).fold(0.0, f64::max)
}

/// Four standard deviations of a share of one half among 10,000 draws; the shortest run has more operations.
const DRAWN_WITHIN: f64 = 4.0 * 0.5 / 100.0;
/// What that does to a rate: the large size takes the time of two and a half mean operations.
const RATE_WITHIN: f64 = 2.5 * DRAWN_WITHIN;

const TWO_SIZES: &str = "16KiB:60%:r100,1MiB:40%:r100";

/// Drawn shares scatter as draws do; those of operations in flight are held exactly, but for operations that
/// began before the measured span.
#[test]
fn shares_are_held_as_asked() {
    for mix in [TWO_SIZES, "16KiB:30%:r50,256KiB:70%:r0", "4KiB:50%:r0,64KiB:25%:r50,1MiB:25%:r100"] {
        let scenario = scenario(mix, "");
        for held in measured(&scenario).held {
            let off = deviation(&scenario, &held, held.shares);
            assert!(off < DRAWN_WITHIN, "{mix}, {:?}: {off}", held.shares);
        }
    }
}

/// The planted violation: shares of operations that are taken for shares of capacity, and the other way
/// round, are far from those of the mix.
#[test]
fn shares_of_another_kind_are_noticed() {
    let scenario = scenario(TWO_SIZES, "");
    for held in measured(&scenario).held {
        let off = deviation(&scenario, &held, mistaken(held.shares));
        assert!(off > 5.0 * DRAWN_WITHIN, "{:?}: {off}", held.shares);
    }
}

#[test]
fn a_pure_mix_is_estimated_exactly() {
    for mix in ["1MiB:100%:r100", "4KiB:100%:r0"] {
        let scenario = scenario(mix, "");
        let (mixed, estimated) = with_estimates(&scenario);
        let pure = if mix.ends_with("r0") { mixed.pure[0].writes } else { mixed.pure[0].reads };
        assert_eq!(estimated.len(), 3);
        for one in estimated {
            assert!((one.simulated - pure).abs() < 1e-9 * pure, "{mix}: {one:?}");
            for counted in Shares::ALL {
                let error = one.error(counted).expect("it did operations");
                assert!(error.abs() < 1e-12, "{mix}, {counted:?}: {error}");
            }
        }
    }
}

/// One disk serves one operation after the other, so its work adds up: each estimate is right for its own
/// kind of shares, and (7) is wrong for the others.
#[test]
fn each_estimate_is_right_for_its_own_kind_of_shares_on_one_disk() {
    let (_, estimated) = with_estimates(&scenario(TWO_SIZES, ""));
    for one in estimated {
        let [own, other] = [one.shares, mistaken(one.shares)].map(|counted| one.error(counted).unwrap());
        assert!(own.abs() < RATE_WITHIN, "{one:?}");
        assert!(other.abs() > 0.3, "{one:?}");
    }
}

#[test]
fn a_mix_that_does_nothing_has_no_error() {
    let one = Estimated { shares: Shares::Operations, simulated: 0.0, counted: [1.0; 3] };
    assert_eq!(one.error(Shares::Operations), None);
}

#[test]
fn every_operation_in_flight_belongs_to_a_part() {
    let check = |mix: &str, depth: u32, want: &[u32]| {
        let scenario = Scenario { depth, ..scenario(mix, "") };
        assert_eq!(scenario.depths(&scenario.mix_of_sizes().unwrap()), want, "{mix}");
    };
    check("16KiB:50%:r100,1MiB:50%:r100", 5, &[3, 2]);
    check("16KiB:90%:r100,1MiB:10%:r100", 8, &[7, 1]);
    check("4KiB:30%:r0,16KiB:30%:r0,1MiB:40%:r0", 10, &[3, 3, 4]);
    check("16KiB:90%:r100,1MiB:10%:r100", 1, &[1, 0]);
}
