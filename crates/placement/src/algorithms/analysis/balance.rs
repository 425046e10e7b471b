//! How evenly a placement distributes keys, compared with independent draws.

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
    /// The number of replicas per key that each server should hold, by id.
    pub shares: Vec<f64>,
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
        Balance { keys: count, replicas, loads, shares: cluster.ideal_shares(replicas) }
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

    /// The smallest load relative to the expected load.
    #[must_use]
    pub fn min_over_mean(&self) -> Option<f64> {
        self.relative_loads().min_by(f64::total_cmp)
    }

    /// The relative deviation of independent draws, with which the load of a server is binomial.
    #[must_use]
    pub fn binomial_deviation(&self) -> Option<f64> {
        let open: Vec<f64> = self.shares.iter().copied().filter(|share| *share > 0.0).collect();
        if open.is_empty() || self.keys == 0 {
            return None;
        }
        let squares: f64 = open.iter().map(|share| (1.0 - share) / (share * self.keys as f64)).sum();
        Some(libm::sqrt(squares / open.len() as f64))
    }

    /// The expected maximum relative load of independent draws. Loads of different servers are treated as
    /// independent, which changes the result by less than one part in the number of servers.
    #[must_use]
    pub fn binomial_max_over_mean(&self) -> Option<f64> {
        let mut classes: Vec<(f64, f64)> = Vec::new();
        let mut shares: Vec<f64> = self.shares.iter().copied().filter(|share| *share > 0.0).collect();
        shares.sort_unstable_by(f64::total_cmp);
        for share in shares {
            match classes.last_mut() {
                Some((known, servers)) if *known == share => *servers += 1.0,
                _ => classes.push((share, 1.0)),
            }
        }
        if classes.is_empty() || self.keys == 0 {
            return None;
        }
        Some(expected_max(&classes, self.keys))
    }
}

/// The mean of the maximum of all relative loads: the integral of the probability that at least one is above
/// `x`. The tail of the binomial is that of the normal distribution with a correction for the third moment
/// (Cornish and Fisher 1938).
fn expected_max(classes: &[(f64, f64)], keys: u64) -> f64 {
    let keys = keys as f64;
    let spread = |share: f64| libm::sqrt((1.0 - share) / (share * keys));
    let widest = classes.iter().map(|(share, _)| spread(*share)).fold(0.0, f64::max);
    // For a few thousand servers the probability beyond twelve deviations is negligible, but small loads have
    // long tails: the limit is twice that and two whole replicas.
    let scarcest = classes.iter().map(|(share, _)| share * keys).fold(f64::INFINITY, f64::min);
    let end = 1.0 + 24.0 * widest + 2.0 / scarcest;
    const STEPS: u32 = 4000;
    let width = end / f64::from(STEPS);
    let above = |x: f64| {
        let log_all_below: f64 =
            classes.iter().map(|(share, servers)| servers * log_below(x, *share, keys)).sum();
        -libm::expm1(log_all_below)
    };
    (0..STEPS).map(|step| above((f64::from(step) + 0.5) * width) * width).sum()
}

/// The logarithm of the probability that a relative load is at most `x`.
fn log_below(x: f64, share: f64, keys: f64) -> f64 {
    let deviation = libm::sqrt(share * (1.0 - share) * keys);
    if deviation == 0.0 {
        return if x >= 1.0 { 0.0 } else { f64::NEG_INFINITY };
    }
    let z = (x - 1.0) * share * keys / deviation;
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
        Balance { keys, replicas: 1, loads, shares }
    }

    #[test]
    fn loads_are_held_against_weights() {
        let even = balance(vec![0.5, 0.25, 0.25, 0.0], vec![50, 25, 25, 0], 100);
        assert_eq!(even.relative_deviation(), Some(0.0));
        assert_eq!(even.max_over_mean(), Some(1.0));
        let uneven = balance(vec![0.5, 0.5], vec![75, 25], 100);
        assert_eq!((uneven.max_over_mean(), uneven.min_over_mean()), (Some(1.5), Some(0.5)));
        assert_eq!(uneven.relative_deviation(), Some(0.5));
        assert_eq!(uneven.binomial_deviation(), Some(0.1));
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
}
