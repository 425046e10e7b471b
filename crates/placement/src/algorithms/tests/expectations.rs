//! Expected shares of servers, where an algorithm knows them, against counts over many keys.

use super::*;
use crate::algorithms::analysis::Balance;

/// The algorithms that know their shares exactly, whatever the weights.
const EXACT: [Algorithm; 4] =
    [Algorithm::CrushStraw2, Algorithm::Rendezvous, Algorithm::Jump, Algorithm::Negotiating];

fn weighted(weights: &[u32]) -> Cluster {
    Cluster::weighted(weights.iter().map(|weight| Weight(*weight << 12)).collect())
}

/// The largest deviation of a count from its expectation, in standard deviations of a binomial count. Counts
/// that cannot vary must agree.
fn deviations(placement: &dyn Placement, shares: &[f64], copies: usize) -> f64 {
    const KEYS: u64 = 40_000;
    let balance = Balance::of(placement, spread_keys(KEYS, 77), copies);
    let one = |(load, share): (&u64, &f64)| {
        let away = (*load as f64 - share * KEYS as f64).abs();
        // A quarter of a copy is added, so that certain counts have a deviation.
        away / libm::sqrt(share * (1.0 - share).max(0.0) * KEYS as f64 + 0.0625)
    };
    balance.loads.iter().zip(shares).map(one).fold(0.0, f64::max)
}

/// Three copies, one heavy server: its weight asks for 90 % of the keys, and it gets 70.8 %. Counts agree
/// with the expectation within five deviations, and not with the weights: the planted violation.
#[test]
fn shares_are_those_of_draws_without_replacement() {
    let mut one_heavy = [16u32; 8];
    one_heavy[0] = 48;
    for (weights, copies) in [
        (&one_heavy[..], 3usize),
        (&[16; 9], 3),
        (&[1, 16, 16, 16, 16, 16, 16, 16, 64], 4),
        (&[160, 160, 160, 160, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16], 5),
        (&[16, 0, 16, 32, 32, 16, 0, 16, 16, 48], 5),
    ] {
        let cluster = weighted(weights);
        for algorithm in EXACT {
            if algorithm == Algorithm::Negotiating && cluster.ids() < MEMBERS_PUBLISHED as usize {
                continue;
            }
            let placement = by_name(algorithm, &cluster, 5);
            let shares = placement.expected_shares(copies).unwrap();
            let away = deviations(&*placement, &shares, copies);
            assert!(away < 5.0, "{algorithm:?} {weights:?} {copies}: {away}");
            if weights == one_heavy {
                assert!((shares[0] - 0.708_333).abs() < 1e-4, "{shares:?}");
            }
            if !cluster.is_equal() && algorithm != Algorithm::Negotiating {
                let away = deviations(&*placement, &cluster.ideal_shares(copies), copies);
                assert!(away > 20.0, "{algorithm:?} {weights:?} {copies}: {away} from the weights");
            }
        }
        for algorithm in [Algorithm::Maglev, Algorithm::StaticModulo] {
            let placement = by_name(algorithm, &cluster, 5);
            let Some(shares) = placement.expected_shares(copies) else { panic!("{algorithm:?} {weights:?}") };
            let away = deviations(&*placement, &shares, copies);
            assert!(away < 5.0, "{algorithm:?} {weights:?} {copies}: {away}");
        }
    }
}

/// Eight copies on eight servers, four of them ten times as heavy: CRUSH gives copies up, about as many as
/// the limit of its tries predicts, and other algorithms none.
#[test]
fn copies_that_crush_gives_up_are_as_many_as_expected() {
    let cluster = weighted(&[160, 160, 160, 160, 16, 16, 16, 16]);
    for seed in 0..3 {
        let crush = by_name(Algorithm::CrushStraw2, &cluster, seed);
        let shares = crush.expected_shares(8).unwrap();
        assert!(deviations(&*crush, &shares, 8) < 5.0, "{shares:?}");
        let balance = Balance::of(&*crush, spread_keys(20_000, 1), 8);
        let expected = 20_000.0 * (8.0 - shares.iter().sum::<f64>());
        assert!(
            (balance.unplaced as f64 / expected - 1.0).abs() < 0.05,
            "{} for {expected}",
            balance.unplaced
        );
        assert_eq!(balance.asked(), 160_000);
        // Loads are compared with what exists.
        let exist: f64 = balance.shares.iter().sum();
        assert!((exist * 20_000.0 - (160_000 - balance.unplaced) as f64).abs() < 1e-6, "{exist}");
        assert_eq!(balance.shares[..4], [1.0; 4]);
    }
    for algorithm in [Algorithm::Rendezvous, Algorithm::Jump, Algorithm::Maglev, Algorithm::Ring] {
        let placement = by_name(algorithm, &cluster, 1);
        assert_eq!(Balance::of(&*placement, spread_keys(500, 1), 8).unplaced, 0, "{algorithm:?}");
    }
}

/// The deviation of independent draws includes that a heavy server cannot get what its weight asks for.
#[test]
fn independent_draws_deviate_from_unequal_weights_too() {
    let mut weights = [16u32; 8];
    weights[0] = 48;
    for algorithm in [Algorithm::CrushStraw2, Algorithm::Rendezvous, Algorithm::Jump] {
        let balance = Balance::of(&*by_name(algorithm, &weighted(&weights), 2), spread_keys(40_000, 3), 3);
        let (found, want) = (balance.relative_deviation().unwrap(), balance.binomial_deviation().unwrap());
        assert!((found / want - 1.0).abs() < 0.05, "{algorithm:?}: {found} for {want}");
        let (found, want) = (balance.max_over_mean().unwrap(), balance.binomial_max_over_mean().unwrap());
        assert!((found / want - 1.0).abs() < 0.02, "{algorithm:?}: {found} for {want}");
    }
}

/// A former bug: the balance of `negotiating` was "like independent draws" with 7 of 16 servers empty.
#[test]
fn servers_in_no_group_are_counted() {
    use crate::algorithms::guarantees::Balance as Promise;
    let placement = Negotiating::new(&Cluster::equal(16), MEMBERS_PUBLISHED, 1).unwrap();
    assert_eq!(placement.guarantees().balance, Promise::WithinGroups { members: 9, idle: 7 });
    let balance = Balance::of(&placement, spread_keys(20_000, 1), 3);
    assert!(balance.loads[9..].iter().all(|load| *load == 0) && placement.is_idle(ServerId(9)));
    let promised = placement.guarantees().structural_deviation(16, 3).unwrap();
    assert!((balance.relative_deviation().unwrap() / promised - 1.0).abs() < 0.01, "{promised}");
    let whole = Negotiating::new(&Cluster::equal(18), MEMBERS_PUBLISHED, 1).unwrap();
    assert_eq!(whole.guarantees().balance, Promise::WithinGroups { members: 9, idle: 0 });
}
