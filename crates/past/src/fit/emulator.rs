//! What a model says near some values of its constants, from a few runs of it: the time of each level as a
//! sum of a part for each constant, which grows with it, and of parts for each two; and how runs scatter
//! about it.
//!
//! A model with chance in it, run twice with the same constants, says two things. So what it says at one
//! place is not compared with what was seen, but what it says around it on average, and how far single runs
//! are from that: J. Sacks et al., "Design and Analysis of Computer Experiments" (1989), with the scatter as
//! the likelihood (S. Wood, "Statistical inference for noisy nonlinear ecological dynamic systems", 2010).

use super::matrix::{Cholesky, squares};

/// Values further from the runs than this, in standard deviations of them, are taken for such: a sum that was
/// fitted to some runs says nothing far from them.
const FURTHEST: f64 = 3.0;

/// The least time, so that a share of it is defined.
const LEAST_S: f64 = 1e-2;

/// No time is less than this share of the least one of a run.
const LEAST_SHARE: f64 = 0.2;

/// A run of the model.
pub(super) struct Run {
    /// The constants, in standard deviations of their priors.
    pub place: Vec<f64>,
    /// The factors that these are.
    pub factors: Vec<f64>,
    /// The seconds of each level.
    pub times: Vec<f64>,
}

/// The sums.
pub(super) struct Emulator {
    /// The mean of the constants of the runs, and how far they are apart.
    pub center: Vec<f64>,
    pub spread: Vec<f64>,
    levels: Vec<Level>,
    /// How runs scatter: the covariance of the shares by which they differ from the sums.
    pub scatter: Vec<Vec<f64>>,
    /// Runs beyond those that it takes to know the parts.
    pub freedom: f64,
}

/// The sum of one level.
struct Level {
    /// Of the squares of the parts, each as a share of the time.
    squared: Cholesky,
    parts: Vec<f64>,
    least: f64,
}

impl Emulator {
    /// The sums that fit runs best.
    pub fn of(runs: &[Run]) -> Emulator {
        let count = runs.len() as f64;
        let size = runs[0].place.len();
        let mean = |at: usize| runs.iter().map(|run| run.place[at]).sum::<f64>() / count;
        let center: Vec<f64> = (0..size).map(mean).collect();
        let spread = (0..size).map(|at| {
            let off = runs.iter().map(|run| (run.place[at] - center[at]).powi(2)).sum::<f64>();
            (off / count).sqrt().max(1e-6)
        });
        let spread = spread.collect();
        let rows: Vec<Vec<f64>> = runs.iter().map(|run| terms(&run.factors)).collect();
        let times = |level: usize| runs.iter().map(move |run| run.times[level].max(LEAST_S));
        let levels: Vec<Level> = (0..runs[0].times.len())
            .map(|level| {
                let times: Vec<f64> = times(level).collect();
                let least = LEAST_SHARE * times.iter().copied().fold(f64::INFINITY, f64::min);
                let first = Level::of(&rows, (&times, &times), least);
                // Shares of single runs would count those most that chance made short.
                let usual: Vec<f64> = rows.iter().map(|row| first.at(row)).collect();
                Level::of(&rows, (&times, &usual), least)
            })
            .collect();
        let off: Vec<Vec<f64>> = rows
            .iter()
            .zip(runs)
            .map(|(row, run)| {
                let share = |(level, time): (&Level, &f64)| time.max(LEAST_S) / level.at(row) - 1.0;
                levels.iter().zip(&run.times).map(share).collect()
            })
            .collect();
        let freedom = (count - rows[0].len() as f64).max(1.0);
        let with = |one: usize, other: usize| {
            let sum: f64 = off.iter().map(|off| off[one] * off[other]).sum();
            sum / freedom + if one == other { 1e-7 } else { 0.0 }
        };
        let scatter =
            (0..levels.len()).map(|one| (0..levels.len()).map(|other| with(one, other)).collect()).collect();
        Emulator { center, spread, levels, scatter, freedom }
    }

    /// The usual times at these constants, which `factor` makes factors of, in seconds; and how much less is
    /// known of each than of one run, as a share of the scatter.
    pub fn at(&self, place: &[f64], factor: impl Fn(usize, f64) -> f64) -> (Vec<f64>, Vec<f64>) {
        let near = |at: usize| {
            let far = FURTHEST * self.spread[at];
            factor(at, place[at].clamp(self.center[at] - far, self.center[at] + far))
        };
        let row = terms(&(0..self.center.len()).map(near).collect::<Vec<f64>>());
        self.levels
            .iter()
            .map(|level| {
                let time = level.at(&row);
                let shares: Vec<f64> = row.iter().map(|term| term / time).collect();
                (time, squares(&level.squared.forward(&shares)))
            })
            .unzip()
    }
}

impl Level {
    /// The parts that fit times best, as shares of the usual ones.
    fn of(rows: &[Vec<f64>], (times, usual): (&[f64], &[f64]), least: f64) -> Level {
        let size = rows[0].len();
        let share = |at: usize, term: usize| rows[at][term] / usual[at];
        let product = |one: usize, other: usize| {
            let sum: f64 = (0..rows.len()).map(|at| share(at, one) * share(at, other)).sum();
            // What the runs do not tell apart stays small.
            if one == other { sum * (1.0 + 1e-4) } else { sum }
        };
        let matrix: Vec<Vec<f64>> =
            (0..size).map(|one| (0..size).map(|other| product(one, other)).collect()).collect();
        let squared = Cholesky::of_nearly(&matrix);
        let right =
            |term: usize| (0..rows.len()).map(|at| share(at, term) * times[at] / usual[at]).sum::<f64>();
        let parts = squared.solve(&(0..size).map(right).collect::<Vec<f64>>());
        Level { squared, parts, least }
    }

    fn at(&self, row: &[f64]) -> f64 {
        let sum: f64 = row.iter().zip(&self.parts).map(|(term, part)| term * part).sum();
        sum.max(self.least)
    }
}

/// One, each factor, and the geometric mean of each two: where two parts go on side by side, the time lies
/// between their sum and the longer one.
fn terms(factors: &[f64]) -> Vec<f64> {
    let mut terms = vec![1.0];
    terms.extend(factors);
    for (at, one) in factors.iter().enumerate() {
        terms.extend(factors[at + 1..].iter().map(|other| (one * other).sqrt()));
    }
    terms
}
