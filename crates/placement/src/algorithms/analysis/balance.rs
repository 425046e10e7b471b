//! How evenly a placement spreads keys, and how evenly independent draws would.

use super::super::visit::for_each_list;
use super::super::{Placement, ServerId};

/// The replicas that each server holds of a population of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// How many keys were placed.
    pub keys: u64,
    /// How many replicas each key was to have.
    pub replicas: usize,
    /// How many replicas each server holds, by id.
    pub loads: Vec<u64>,
    /// The part of all keys that each server should hold, by id.
    pub shares: Vec<f64>,
}

impl Balance {
    /// Places all keys.
    ///
    /// # Panics
    /// When `replicas` exceeds 512.
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

    /// What a server should hold.
    #[must_use]
    pub fn expected(&self, server: ServerId) -> f64 {
        self.shares[server.index()] * self.keys as f64
    }

    /// What each server that should hold something does hold, in units of what it should.
    fn relative_loads(&self) -> impl Iterator<Item = f64> + '_ {
        let wanted = self.shares.iter().map(|share| share * self.keys as f64);
        self.loads.iter().zip(wanted).filter(|(_, want)| *want > 0.0).map(|(load, want)| *load as f64 / want)
    }

    /// The standard deviation of load over expected load, around 1; nothing without servers or keys.
    #[must_use]
    pub fn relative_deviation(&self) -> Option<f64> {
        let (mut squares, mut count) = (0.0, 0u32);
        for relative in self.relative_loads() {
            squares += (relative - 1.0) * (relative - 1.0);
            count += 1;
        }
        (count > 0).then(|| libm::sqrt(squares / f64::from(count)))
    }

    /// The greatest load over its expected load ("max/mean" at equal weights).
    #[must_use]
    pub fn max_over_mean(&self) -> Option<f64> {
        self.relative_loads().max_by(f64::total_cmp)
    }

    /// The least load over its expected load.
    #[must_use]
    pub fn min_over_mean(&self) -> Option<f64> {
        self.relative_loads().min_by(f64::total_cmp)
    }

    /// The relative deviation that independent draws would have: a server's load is binomial then.
    #[must_use]
    pub fn binomial_deviation(&self) -> Option<f64> {
        let open: Vec<f64> = self.shares.iter().copied().filter(|share| *share > 0.0).collect();
        if open.is_empty() || self.keys == 0 {
            return None;
        }
        let squares: f64 = open.iter().map(|share| (1.0 - share) / (share * self.keys as f64)).sum();
        Some(libm::sqrt(squares / open.len() as f64))
    }

    /// The greatest relative load that independent draws would have on average. Loads of different servers
    /// are taken as independent, which changes it by less than one part in the number of servers.
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

/// The mean of the greatest of all relative loads: the integral of the chance that one of them lies above
/// `x`. The binomial's tail is that of the normal distribution with its third moment corrected (Cornish and
/// Fisher 1938).
fn expected_max(classes: &[(f64, f64)], keys: u64) -> f64 {
    let keys = keys as f64;
    let spread = |share: f64| libm::sqrt((1.0 - share) / (share * keys));
    let widest = classes.iter().map(|(share, _)| spread(*share)).fold(0.0, f64::max);
    // Nothing of weight lies beyond twelve deviations at the few thousand servers that there are, but small
    // loads have long tails: twice that and two whole replicas.
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

/// The logarithm of the chance that a relative load is at most `x`.
fn log_below(x: f64, share: f64, keys: f64) -> f64 {
    let deviation = libm::sqrt(share * (1.0 - share) * keys);
    if deviation == 0.0 {
        return if x >= 1.0 { 0.0 } else { f64::NEG_INFINITY };
    }
    let z = (x - 1.0) * share * keys / deviation;
    let skew = (1.0 - 2.0 * share) / deviation;
    // The inverse of the expansion to first order: which normal quantile this load corresponds to.
    let normal = z - skew * (z * z - 1.0) / 6.0 + skew * skew * (4.0 * z * z * z - 7.0 * z) / 36.0;
    // Beyond the expansion's turning point it means nothing; the load is far out there in any case.
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

    /// Against plain counting: the greatest of independent binomial loads, averaged over many draws.
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
            // Half a replica of rounding and the noise of forty rounds.
            let tolerance = 0.02 * want + servers as f64 / keys as f64;
            assert!((found - want).abs() < tolerance, "{servers} servers, {keys} keys: {found} for {want}");
        }
    }
}
