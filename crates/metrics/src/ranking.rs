//! Which of several candidates is best, where each was run with the same seeds.
//!
//! Two candidates are distinguished if the paired interval of their difference excludes zero. The best is
//! chosen among all of them after the fact, so all pairs together are wrong in at most 5 of 100 experiments
//! (Bonferroni): with m candidates, each pair is judged at 5 % over m(m − 1)/2. Candidates that are not
//! distinguished from the best are tied with it. Tied does not mean equal: more replicates may separate them.

use std::cmp::Ordering;

use crate::interval::{mean_interval_95, student_t_beyond};

/// Which value is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A higher one, such as a throughput.
    Higher,
    /// A lower one, such as a latency.
    Lower,
}

/// What the values of a candidate are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// One value for each seed, subject to chance. Values at one index come from the same seed.
    Seeds,
    /// Exact values, which another seed does not change: the means are compared.
    None,
    /// Values of one run, all of the same data. Other seeds were not tried, so values that differ by less
    /// than [`ONE_RUN`] of the larger one are tied.
    OneRun,
}

/// Values of one run that differ by less than this part are not distinguished. A choice: the least that is
/// worth a change.
pub const ONE_RUN: f64 = 0.01;

/// The candidates by their means, with those that cannot be distinguished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// All candidates that have a value, the best mean first. Indices of the samples.
    pub order: Vec<usize>,
    /// The candidate with the best mean, then all that are tied with it, by their means.
    pub best: Vec<usize>,
    /// The candidate with the worst mean, then all that are tied with it, by their means.
    pub worst: Vec<usize>,
}

impl Ranking {
    /// Whether the best and the worst cannot be distinguished, so that nothing is to be said of an order.
    #[must_use]
    pub fn is_tied(&self) -> bool {
        self.order.len() > 1 && self.worst.first().is_some_and(|worst| self.best.contains(worst))
    }

    /// The only best candidate, if there is one.
    #[must_use]
    pub fn winner(&self) -> Option<usize> {
        (self.best.len() == 1).then(|| self.best[0])
    }
}

/// Differences of this share of the larger value are rounding of sums of floats, whose relative error is
/// below 1e-12 for fewer than 4,000 terms.
const ROUNDING: f64 = 1e-12;

/// Ranks candidates. Each sample has one value per seed, `None` where that run has none; a candidate without
/// any value is left out.
#[must_use]
pub fn rank(samples: &[Vec<Option<f64>>], better: Better, chance: Chance) -> Ranking {
    let mut means: Vec<(usize, f64)> = samples
        .iter()
        .enumerate()
        .filter_map(|(index, sample)| {
            let known: Vec<f64> = sample.iter().copied().flatten().collect();
            Some((index, mean_interval_95(&known)?.mean))
        })
        .collect();
    means.sort_by(|left, right| match better {
        Better::Higher => right.1.total_cmp(&left.1),
        Better::Lower => left.1.total_cmp(&right.1),
    });
    let pairs = (means.len() * means.len().saturating_sub(1) / 2).max(1);
    let apart = |one: &(usize, f64), other: &(usize, f64)| match chance {
        Chance::None => !equal(one.1, other.1, ROUNDING),
        Chance::OneRun => !equal(one.1, other.1, ONE_RUN),
        Chance::Seeds => significant_order(&samples[one.0], &samples[other.0], pairs).is_some(),
    };
    let tied_with = |head: Option<&(usize, f64)>, all: &mut dyn Iterator<Item = &(usize, f64)>| {
        let Some(head) = head else { return Vec::new() };
        all.filter(|one| one.0 == head.0 || !apart(head, one)).map(|one| one.0).collect()
    };
    Ranking {
        order: means.iter().map(|one| one.0).collect(),
        best: tied_with(means.first(), &mut means.iter()),
        worst: tied_with(means.last(), &mut means.iter().rev()),
    }
}

/// Which of two samples is larger, where the paired interval of their difference excludes zero: at 95 % for
/// one pair, and narrower in proportion where the pair is one of `pairs` that are judged together. `None` for
/// samples that cannot be distinguished, and for fewer than two seeds at which both have a value.
#[must_use]
pub fn significant_order(left: &[Option<f64>], right: &[Option<f64>], pairs: usize) -> Option<Ordering> {
    let both = left.iter().zip(right).filter_map(|(left, right)| Some(((*left)?, (*right)?)));
    let differences: Vec<f64> =
        both.map(|(left, right)| if equal(left, right, ROUNDING) { 0.0 } else { left - right }).collect();
    let found = mean_interval_95(&differences)?;
    let degrees = found.count.checked_sub(1).filter(|&degrees| degrees > 0)?;
    let (low, high) = found.range?;
    let tails = 0.05 / pairs as f64;
    let half = (high - low) / 2.0 / student_t_beyond(degrees, 0.05) * student_t_beyond(degrees, tails);
    (found.mean.abs() > half).then(|| found.mean.total_cmp(&0.0))
}

/// Whether two values differ by no more than this part of the larger one.
fn equal(left: f64, right: f64, part: f64) -> bool {
    (left - right).abs() <= part * left.abs().max(right.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn a_difference_that_every_seed_shows_counts_although_the_seeds_differ() {
        let samples = [of(&[10.0, 20.0, 30.0, 40.0]), of(&[11.0, 21.1, 30.9, 41.0])];
        let ranking = rank(&samples, Better::Lower, Chance::Seeds);
        assert_eq!((ranking.winner(), ranking.worst.as_slice()), (Some(0), [1].as_slice()));
        assert!(!ranking.is_tied());
        assert_eq!(rank(&samples, Better::Higher, Chance::Seeds).winner(), Some(1));
    }

    #[test]
    fn a_difference_within_chance_is_a_tie() {
        let samples = [of(&[1.0, 2.0, 3.0]), of(&[2.0, 1.9, 2.6]), of(&[9.0, 9.5, 9.1])];
        let ranking = rank(&samples, Better::Lower, Chance::Seeds);
        assert_eq!(ranking.order, [0, 1, 2]);
        assert_eq!(ranking.best, [0, 1]);
        assert_eq!(ranking.winner(), None);
        assert_eq!(ranking.worst, [2]);
        assert!(!ranking.is_tied());
        assert!(rank(&samples[..2], Better::Lower, Chance::Seeds).is_tied());
    }

    #[test]
    fn one_seed_tells_nothing_apart_but_exact_values_do() {
        let samples = [of(&[1.0]), of(&[2.0])];
        assert!(rank(&samples, Better::Lower, Chance::Seeds).is_tied());
        assert_eq!(rank(&samples, Better::Lower, Chance::None).winner(), Some(0));
        assert!(rank(&[of(&[1.0]), of(&[1.0])], Better::Lower, Chance::None).is_tied());
    }

    #[test]
    fn values_of_one_run_are_tied_within_a_hundredth() {
        let samples = [of(&[100.0]), of(&[100.9]), of(&[102.0])];
        let ranking = rank(&samples, Better::Lower, Chance::OneRun);
        assert_eq!((ranking.best.as_slice(), ranking.worst.as_slice()), ([0, 1].as_slice(), [2].as_slice()));
    }

    #[test]
    fn values_that_differ_by_rounding_are_equal() {
        let sum = [0.1 + 0.2, 1.1 + 2.2, 0.7];
        let samples = [of(&sum), of(&[0.3, 3.3, 0.7])];
        assert!(rank(&samples, Better::Lower, Chance::Seeds).is_tied());
    }

    #[test]
    fn candidates_without_values_are_left_out_and_pairs_need_two_seeds() {
        let samples = [vec![None, None], of(&[1.0, 2.0]), vec![Some(8.0), None]];
        let ranking = rank(&samples, Better::Lower, Chance::Seeds);
        assert_eq!(
            (ranking.order.as_slice(), ranking.best.as_slice()),
            ([1, 2].as_slice(), [1, 2].as_slice())
        );
        assert_eq!(rank(&[], Better::Lower, Chance::Seeds).order, [0_usize; 0]);
        assert!(!rank(&[], Better::Lower, Chance::Seeds).is_tied());
    }

    /// Eight equal candidates: some winner is named in at most 5 of 100 experiments. Without the division by
    /// the number of pairs, it is named in a third of them: the planted counterpart.
    #[test]
    fn equal_candidates_have_a_winner_in_at_most_5_of_100_experiments() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let (mut named, mut careless) = (0, 0);
        for _ in 0..1_000 {
            let samples: Vec<_> =
                (0..8).map(|_| (0..5).map(|_| Some(normal())).collect::<Vec<_>>()).collect();
            let ranking = rank(&samples, Better::Lower, Chance::Seeds);
            named += u32::from(!ranking.is_tied());
            let (best, worst) = (ranking.best[0], ranking.worst[0]);
            careless += u32::from(significant_order(&samples[best], &samples[worst], 1).is_some());
        }
        // 50 are expected at most; four deviations more are 78.
        assert!(named <= 78, "{named}");
        assert!(careless > 200, "{careless}");
    }
}
