//! Admission control: three ways of keeping a cluster at a target of utilisation while the mix of its load
//! changes.
//!
//! - **budget**: an operation costs 1/T100r or 1/T100w of a second of the cluster, by its measured rates; the
//!   budget grows by the target in each second. This applies the constant C of the method.
//! - **fixed**: a fixed number of operations per second, of either kind: the method's prediction for half
//!   reads, times the target.
//! - **pid**: a number of operations per second as well, adjusted at each measurement of how busy the disks
//!   were.
//!
//! An operation that is not admitted is rejected. All values are integers, so that a state can be compared
//! and undone.

use towtank_units::{SimSpan, SimTime};

/// Picoseconds in a nanosecond.
const PS: u64 = 1_000;
/// Parts of a share: one million.
pub(crate) const PPM: i64 = 1_000_000;
/// The maximum a budget may accumulate: what it gains in this many nanoseconds.
const BURST_NS: u64 = 1_000_000;
/// The regulator's gains, in parts per million: choices, not tuned. Gains that are too high make it
/// oscillate.
const GAINS: (i64, i64, i64) = (500_000, 300_000, 100_000);
/// The bounds of the regulator's limit relative to its initial value, in parts per million.
const REACH: (i64, i64) = (50_000, 4_000_000);

/// A rule of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Admission {
    /// Admits every operation.
    Open,
    /// Admits as many operations as the budget pays for.
    Budget(Budget),
    /// Admits a number of operations per second that the regulator sets.
    Regulated(Budget, Regulator),
}

/// A budget of cluster time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Budget {
    /// The costs of a read and of a write, in picoseconds of the whole cluster.
    costs: [u64; 2],
    /// The share of each second that may be spent, in parts per million.
    target: i64,
    left_ps: u64,
    at: SimTime,
}

/// A regulator of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Regulator {
    /// The initial cost.
    base: u64,
    sum: i64,
    last: i64,
}

impl Budget {
    /// A budget whose costs of a read and a write follow from rates per second.
    #[must_use]
    pub fn new(reads_per_second: f64, writes_per_second: f64, target: i64) -> Budget {
        let cost = |rate: f64| (1e12 / rate.max(1e-3)) as u64;
        let costs = [cost(reads_per_second), cost(writes_per_second)];
        Budget { costs, target, left_ps: 0, at: SimTime::ZERO }
    }

    fn spend(&mut self, now: SimTime, write: bool) -> bool {
        let gained = |span: u64| {
            (u128::from(span) * u128::from(PS) * self.target.unsigned_abs() as u128) / PPM as u128
        };
        let since = now.checked_since(self.at).unwrap_or(SimSpan::ZERO).as_ns();
        let cost = self.costs[usize::from(write)];
        let most = u64::try_from(gained(BURST_NS)).unwrap_or(u64::MAX).max(cost);
        let more = u64::try_from(gained(since)).unwrap_or(u64::MAX);
        self.left_ps = self.left_ps.saturating_add(more).min(most);
        self.at = now;
        let enough = self.left_ps >= cost;
        if enough {
            self.left_ps -= cost;
        }
        enough
    }
}

impl Admission {
    /// A regulator that begins with this limit.
    #[must_use]
    pub fn regulated(limit_per_second: f64, target: i64) -> Admission {
        let budget = Budget::new(limit_per_second, limit_per_second, target);
        Admission::Regulated(budget, Regulator { base: budget.costs[0], sum: 0, last: 0 })
    }

    /// Whether an operation is admitted now; if so, its cost is deducted.
    pub(crate) fn admits(&mut self, now: SimTime, write: bool) -> bool {
        match self {
            Admission::Open => true,
            Admission::Budget(budget) | Admission::Regulated(budget, _) => budget.spend(now, write),
        }
    }

    /// Adjusts the limit: `busy` is the share of the time since the last call for which the disks were busy,
    /// in parts per million.
    pub fn look(&mut self, busy: i64) {
        let Admission::Regulated(budget, regulator) = self else { return };
        let error = budget.target - busy;
        regulator.sum = (regulator.sum + error).clamp(-4 * PPM, 4 * PPM);
        let (now, total, change) = GAINS;
        let moved = (error * now + regulator.sum * total + (error - regulator.last) * change) / PPM;
        regulator.last = error;
        let limit = (PPM + moved).clamp(REACH.0, REACH.1);
        let cost = u128::from(regulator.base) * PPM as u128 / limit as u128;
        budget.costs = [u64::try_from(cost).unwrap_or(u64::MAX); 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(admission: &mut Admission, every_ns: u64, writes: impl Fn(u64) -> bool) -> u64 {
        (0..1_000_000_000 / every_ns)
            .filter(|at| admission.admits(SimTime::from_ns(at * every_ns), writes(*at)))
            .count() as u64
    }

    #[test]
    fn a_budget_is_spent_by_costs_and_a_limit_by_counts() {
        let budget = || Admission::Budget(Budget::new(10_000.0, 2_500.0, PPM / 2));
        assert!(admitted(&mut budget(), 20_000, |_| false).abs_diff(5_000) <= 10);
        assert!(admitted(&mut budget(), 20_000, |_| true).abs_diff(1_250) <= 5);
        let mixed = admitted(&mut budget(), 20_000, |at| at % 2 == 0);
        assert!((1_250..5_000).contains(&mixed), "{mixed}");
        let mut fixed = Admission::regulated(4_000.0, PPM / 2);
        assert!(admitted(&mut fixed, 20_000, |at| at % 2 == 0).abs_diff(2_000) <= 5);
    }

    #[test]
    fn a_regulator_lets_more_in_while_the_disks_are_idle() {
        let mut regulated = Admission::regulated(4_000.0, PPM / 2);
        let before = admitted(&mut regulated.clone(), 20_000, |_| false);
        regulated.look(PPM / 10);
        let after = admitted(&mut regulated.clone(), 20_000, |_| false);
        regulated.look(PPM);
        regulated.look(PPM);
        let then = admitted(&mut regulated, 20_000, |_| false);
        assert!(after > before && then < after, "{before}, {after}, {then}");
    }
}
