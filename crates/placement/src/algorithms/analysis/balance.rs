//! How evenly a placement distributes keys, compared with independent draws.
//!
//! Loads are compared with what the weights ask for, of the replicas that exist: an algorithm may give up a
//! replica for which it finds no server. Independent draws are draws of distinct servers by weight, whose
//! expectation differs from the weights where there are several replicas.

use super::super::drawn_shares::drawn_shares;
use super::super::visit::for_each_list;
use super::super::{Placement, ServerId};

/// The number of replicas that each server holds of a set of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// The number of keys placed.
    pub keys: u64,
    /// The number of replicas requested per key.
    pub replicas: usize,
    /// The number of replicas that each server holds, by id.
    pub loads: Vec<u64>,
    /// The number of replicas that the algorithm did not place.
    pub unplaced: u64,
    /// The number of replicas per key that each server should hold of those that are placed, by id.
    pub shares: Vec<f64>,
    /// The number that each server should hold if all were placed, by id.
    pub shares_of_all: Vec<f64>,
    /// The number that each server holds in the mean if distinct servers are drawn by weight, by id.
    pub drawn: Vec<f64>,
}

impl Balance {
    /// Places all keys.
    ///
    /// # Panics
    /// If `replicas` exceeds 512.
    pub fn of(placement: &dyn Placement, keys: impl Iterator<Item = u64>, replicas: usize) -> Balance {
        let cluster = placement.cluster();
        let mut loads = vec![0u64; cluster.ids()];
        let mut count = 0;
        for_each_list(placement, keys, replicas, |_, list| {
            count += 1;
            list.iter().for_each(|server| loads[server.index()] += 1);
        });
        let asked = count * replicas.min(cluster.live_count()) as u64;
        let placed = loads.iter().sum::<u64>();
        assert!(placed <= asked, "no more replicas are placed than are asked for: {placed} of {asked}");
        let unplaced = asked - placed;
        let shares_of_all = cluster.ideal_shares(replicas);
        let shares = if unplaced == 0 {
            shares_of_all.clone()
        } else {
            cluster.ideal_shares_of((asked - unplaced) as f64 / count as f64)
        };
        let drawn = drawn_shares(cluster, replicas, None).unwrap_or_else(|| shares_of_all.clone());
        Balance { keys: count, replicas, loads, unplaced, shares, shares_of_all, drawn }
    }

    /// The number of replicas that all keys have together, placed or not: as many as were requested, or one
    /// on each server.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.loads.iter().sum::<u64>() + self.unplaced
    }

    /// The expected load of a server.
    #[must_use]
    pub fn expected(&self, server: ServerId) -> f64 {
        self.shares[server.index()] * self.keys as f64
    }

    /// The load divided by the expected load, for each server that should hold something.
    fn relative_loads(&self) -> impl Iterator<Item = f64> + '_ {
        let wanted = self.shares.iter().map(|share| share * self.keys as f64);
        self.loads.iter().zip(wanted).filter(|(_, want)| *want > 0.0).map(|(load, want)| *load as f64 / want)
    }

    /// The standard deviation of load over expected load, around 1; `None` without servers or keys.
    #[must_use]
    pub fn relative_deviation(&self) -> Option<f64> {
        let (mut squares, mut count) = (0.0, 0u32);
        for relative in self.relative_loads() {
            squares += (relative - 1.0) * (relative - 1.0);
            count += 1;
        }
        (count > 0).then(|| libm::sqrt(squares / f64::from(count)))
    }

    /// The largest load relative to the expected load ("max/mean" at equal weights).
    #[must_use]
    pub fn max_over_mean(&self) -> Option<f64> {
        self.relative_loads().max_by(f64::total_cmp)
    }

    /// The relative deviation of independent draws, with which the load of a server is binomial.
    #[must_use]
    pub fn binomial_deviation(&self) -> Option<f64> {
        if self.keys == 0 {
            return None;
        }
        let (mut squares, mut count) = (0.0, 0u32);
        for Drawn { wanted, drawn, servers } in self.drawn_classes() {
            let away = (drawn - wanted) / wanted;
            let scatter = drawn * (1.0 - drawn) / (wanted * wanted * self.keys as f64);
            squares += f64::from(servers) * (away * away + scatter);
            count += servers;
        }
        (count > 0).then(|| libm::sqrt(squares / f64::from(count)))
    }

    /// The expected maximum relative load of independent draws. Loads of different servers are treated as
    /// independent, which changes the result by less than one part in the number of servers.
    #[must_use]
    pub fn binomial_max_over_mean(&self) -> Option<f64> {
        let classes = self.drawn_classes();
        (!classes.is_empty() && self.keys > 0).then(|| expected_max(&classes, self.keys))
    }

    /// The servers that should hold something, in classes of equal shares.
    fn drawn_classes(&self) -> Vec<Drawn> {
        let mut shares: Vec<(f64, f64)> = self
            .shares_of_all
            .iter()
            .copied()
            .zip(self.drawn.iter().copied())
            .filter(|(wanted, _)| *wanted > 0.0)
            .collect();
        shares.sort_unstable_by(|left, right| left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1)));
        let class = |same: &[(f64, f64)]| Drawn {
            wanted: same[0].0,
            // A sum of many terms may differ from one copy of each key by its rounding.
            drawn: if same[0].1 > 1.0 - 1e-12 { 1.0 } else { same[0].1 },
            servers: same.len() as u32,
        };
        shares.chunk_by(|left, right| left == right).map(class).collect()
    }
}

/// Servers with the same number of replicas per key: the number that their weight asks for, and the number
/// that draws of distinct servers give them.
struct Drawn {
    wanted: f64,
    drawn: f64,
    servers: u32,
}

/// The mean of the maximum of all relative loads: the integral of the probability that at least one is above
/// `x`. The tail of the binomial is that of the normal distribution with a correction for the third moment
/// (Cornish and Fisher 1938).
fn expected_max(classes: &[Drawn], keys: u64) -> f64 {
    let keys = keys as f64;
    // For a few thousand servers the probability beyond twelve deviations is negligible, but small loads have
    // long tails: the limit is twice that and two whole replicas.
    let end_of = |class: &Drawn| {
        let spread = libm::sqrt(class.drawn * (1.0 - class.drawn) / keys);
        (class.drawn + 24.0 * spread + 2.0 / keys) / class.wanted
    };
    let end = classes.iter().map(end_of).fold(0.0, f64::max);
    const STEPS: u32 = 4000;
    let width = end / f64::from(STEPS);
    let above = |x: f64| {
        let log_below = |class: &Drawn| f64::from(class.servers) * log_below(x, class, keys);
        let log_all_below: f64 = classes.iter().map(log_below).sum();
        -libm::expm1(log_all_below)
    };
    (0..STEPS).map(|step| above((f64::from(step) + 0.5) * width) * width).sum()
}

/// The logarithm of the probability that a relative load is at most `x`.
fn log_below(x: f64, class: &Drawn, keys: f64) -> f64 {
    let share = class.drawn;
    let deviation = libm::sqrt(share * (1.0 - share) * keys);
    if deviation == 0.0 {
        return if x * class.wanted >= share { 0.0 } else { f64::NEG_INFINITY };
    }
    let z = (x * class.wanted - share) * keys / deviation;
    let skew = (1.0 - 2.0 * share) / deviation;
    // The inverse of the expansion to first order: the normal quantile to which this load corresponds.
    let normal = z - skew * (z * z - 1.0) / 6.0 + skew * skew * (4.0 * z * z * z - 7.0 * z) / 36.0;
    // Beyond its turning point the expansion is invalid; the load is far in the tail in any case.
    let normal = if z > 0.0 { normal.max(0.5 * z) } else { normal.min(0.5 * z) };
    libm::log1p(-0.5 * libm::erfc(normal / std::f64::consts::SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(shares: Vec<f64>, loads: Vec<u64>, keys: u64) -> Balance {
        let [shares_of_all, drawn] = [shares.clone(), shares.clone()];
        Balance { keys, replicas: 1, loads, unplaced: 0, shares, shares_of_all, drawn }
    }

    #[test]
    fn loads_are_held_against_weights() {
        let even = balance(vec![0.5, 0.25, 0.25, 0.0], vec![50, 25, 25, 0], 100);
        assert_eq!(even.relative_deviation(), Some(0.0));
        assert_eq!(even.max_over_mean(), Some(1.0));
        let uneven = balance(vec![0.5, 0.5], vec![75, 25], 100);
        assert_eq!(uneven.max_over_mean(), Some(1.5));
        assert_eq!(uneven.relative_deviation(), Some(0.5));
        assert_eq!(uneven.binomial_deviation(), Some(0.1));
        // A former bug: 1.666e-8 % where every server holds every key.
        let all = Balance { drawn: vec![1.0 - 1e-15; 2], ..balance(vec![1.0; 2], vec![9, 9], 9) };
        assert_eq!((all.binomial_deviation(), all.max_over_mean()), (Some(0.0), Some(1.0)));
        assert_eq!(balance(vec![], vec![], 0).max_over_mean(), None);
        assert_eq!(balance(vec![1.0], vec![0], 0).binomial_max_over_mean(), None);
    }

    /// Compared with simulation: the maximum of independent binomial loads, averaged over many draws.
    #[test]
    fn the_expected_maximum_is_that_of_draws() {
        for (servers, keys) in [(64u64, 10_000u64), (256, 9_600), (1000, 1_000_000)] {
            let share = 1.0 / servers as f64;
            let found = balance(vec![share; servers as usize], vec![0; servers as usize], keys);
            let mut sum = 0.0;
            let rounds = 40;
            for round in 0..rounds {
                let mut loads = vec![0u64; servers as usize];
                for key in 0..keys {
                    let word = super::super::super::hashing::scatter(key ^ round << 40);
                    loads[(word % servers) as usize] += 1;
                }
                sum += loads.into_iter().max().unwrap() as f64 * servers as f64 / keys as f64;
            }
            let (found, want) = (found.binomial_max_over_mean().unwrap(), sum / rounds as f64);
            // Half a replica for rounding, and the noise of forty rounds.
            let tolerance = 0.02 * want + servers as f64 / keys as f64;
            assert!((found - want).abs() < tolerance, "{servers} servers, {keys} keys: {found} for {want}");
        }
    }

    #[test]
    #[should_panic(expected = "no more replicas are placed than are asked for: 6 of 3")]
    fn more_replicas_than_are_asked_for_break_a_law() {
        let twice = crate::algorithms::tests::broken::Broken::listing(1, &[0, 0]);
        let _ = Balance::of(&twice, 0..3, 2);
    }
}
