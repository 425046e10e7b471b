//! A chain of states with rates between them, and a rate from each to the loss.
//!
//! - The transition matrix over the mission comes from uniformization over a short span, which is then
//!   doubled by squaring (Jensen 1953; Moler & Van Loan 2003, method 3). Rows are brought back to a sum of 1
//!   after each squaring, so relative errors do not double with it.
//! - The mean time to loss comes from elimination without subtraction (Grassmann, Taksar & Heyman 1985).

use crate::error::{DurabilityError, positive, within};
use crate::sums::sum;

/// What several repairs of one group do to each other. All have the same mean for a single failed device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairLaw {
    /// Each device is repaired by itself: with i failed, the next is good i times as soon.
    Independent,
    /// All share one rate: with i failed, the next is good as soon as with one.
    Shared,
    /// Each failure begins the work anew, and when it ends, all are good.
    Restarted,
    /// Nothing is repaired.
    Never,
}

/// A group of `n` devices of which `tolerance` may be failed at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KOfN {
    /// Devices of the group.
    pub n: u32,
    /// Failed ones that it survives.
    pub tolerance: u32,
    /// The hazard of each.
    pub failures_per_h: f64,
    /// The mean time of one repair; not used where nothing is repaired.
    pub repair_h: f64,
    /// How repairs affect each other.
    pub law: RepairLaw,
}

/// States without loss, from 0, and the rates at which they are left.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Per hour, from each state to each; the diagonal is zero.
    rates: Vec<Vec<f64>>,
    /// Per hour, from each state to the loss.
    loss: Vec<f64>,
}

impl Chain {
    /// A chain with these rates per hour between its states, and from each to the loss.
    ///
    /// # Errors
    /// If a rate is negative, not finite or on the diagonal, or the numbers of states differ.
    pub fn new(rates: Vec<Vec<f64>>, loss: Vec<f64>) -> Result<Chain, DurabilityError> {
        let states = positive("the number of states", loss.len() as f64)?;
        within("the number of rows of rates", rates.len() as f64, states, states)?;
        for (from, row) in rates.iter().enumerate() {
            within("the number of rates in a row", row.len() as f64, states, states)?;
            within("a rate from a state to itself", row[from], 0.0, 0.0)?;
            for rate in row.iter().chain(&loss) {
                within("a rate per hour", *rate, 0.0, 1e300)?;
            }
        }
        Ok(Chain { rates, loss })
    }

    /// The chain of one group; its state is the number of failed devices.
    ///
    /// # Errors
    /// If the tolerance is not below the number of devices, or a time or rate is not above zero.
    pub fn k_of_n(group: KOfN) -> Result<Chain, DurabilityError> {
        let KOfN { n, tolerance, failures_per_h, repair_h, law } = group;
        let most = f64::from(n) - 1.0;
        let tolerance = within("the tolerance of a group", f64::from(tolerance), 0.0, most)? as usize;
        let fail = positive("the failure rate per hour", failures_per_h)?;
        let repair = match law {
            RepairLaw::Never => 0.0,
            _ => 1.0 / positive("the repair time in hours", repair_h)?,
        };
        let states = tolerance + 1;
        let mut rates = vec![vec![0.0; states]; states];
        let mut loss = vec![0.0; states];
        for failed in 0..states {
            let next = f64::from(n - failed as u32) * fail;
            match rates[failed].get_mut(failed + 1) {
                Some(rate) => *rate = next,
                None => loss[failed] = next,
            }
            if failed > 0 {
                match law {
                    RepairLaw::Independent => rates[failed][failed - 1] = failed as f64 * repair,
                    RepairLaw::Shared => rates[failed][failed - 1] = repair,
                    RepairLaw::Restarted => rates[failed][0] = repair,
                    RepairLaw::Never => {}
                }
            }
        }
        Chain::new(rates, loss)
    }

    /// P(loss within so many hours), from a state: 0 is clean in [`Chain::k_of_n`].
    ///
    /// # Errors
    /// If the time is negative or beyond 1e9 h, or there is no such state.
    pub fn loss_within(&self, start: usize, mission_h: f64) -> Result<f64, DurabilityError> {
        let states = self.loss.len();
        within("the state at the start", start as f64, 0.0, states as f64 - 1.0)?;
        let mission = within("the mission time in hours", mission_h, 0.0, 1e9)?;
        let out: Vec<f64> = (0..states).map(|state| self.out(state)).collect();
        let pace = 2.0 * out.iter().copied().fold(0.0, f64::max);
        if pace * mission == 0.0 {
            return Ok(0.0);
        }
        let mut doublings = 0;
        let mut span = mission;
        while pace * span > 0.5 {
            span *= 0.5;
            doublings += 1;
        }
        let mut matrix = self.short(pace, span);
        for _ in 0..doublings {
            matrix = product(&matrix, &matrix);
            level(&mut matrix);
        }
        Ok(matrix[start][states])
    }

    /// The mean time to loss from a state; infinite where none can happen.
    ///
    /// # Errors
    /// If there is no such state.
    pub fn mean_time_to_loss_h(&self, start: usize) -> Result<f64, DurabilityError> {
        let states = self.loss.len();
        within("the state at the start", start as f64, 0.0, states as f64 - 1.0)?;
        // The start is eliminated last.
        let mut order: Vec<usize> = (0..states).filter(|state| *state != start).collect();
        order.insert(0, start);
        let mut rates: Vec<Vec<f64>> =
            order.iter().map(|from| order.iter().map(|to| self.rates[*from][*to]).collect()).collect();
        let mut loss: Vec<f64> = order.iter().map(|from| self.loss[*from]).collect();
        let mut time = vec![1.0; states];
        for last in (1..states).rev() {
            let out = loss[last] + sum(rates[last][..last].iter().copied());
            if out == 0.0 {
                let is_entered = (0..last).any(|from| rates[from][last] > 0.0);
                if is_entered {
                    return Ok(f64::INFINITY);
                }
                continue;
            }
            let left = rates[last].clone();
            for from in 0..last {
                let through = rates[from][last] / out;
                for (to, rate) in left[..last].iter().enumerate().filter(|(to, _)| *to != from) {
                    rates[from][to] += through * rate;
                }
                loss[from] += through * loss[last];
                time[from] += through * time[last];
            }
        }
        Ok(time[0] / loss[0])
    }

    /// The rate at which a state is left.
    fn out(&self, state: usize) -> f64 {
        sum(self.rates[state].iter().copied()) + self.loss[state]
    }

    /// The transition matrix of a short span, the loss as its last state.
    fn short(&self, pace: f64, span: f64) -> Vec<Vec<f64>> {
        let states = self.loss.len();
        let step: Vec<Vec<f64>> = (0..=states)
            .map(|from| {
                let mut row = vec![0.0; states + 1];
                if from == states {
                    row[states] = 1.0;
                    return row;
                }
                row.iter_mut().zip(&self.rates[from]).for_each(|(cell, rate)| *cell = rate / pace);
                row[states] = self.loss[from] / pace;
                row[from] = 1.0 - self.out(from) / pace;
                row
            })
            .collect();
        let mut power: Vec<Vec<f64>> =
            (0..=states).map(|i| (0..=states).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let mut total = vec![vec![0.0; states + 1]; states + 1];
        let mut weight = libm::exp(-pace * span);
        // A state may be reached only after as many steps as there are states.
        for steps in 0..states + 40 {
            for (row, powers) in total.iter_mut().zip(&power) {
                row.iter_mut().zip(powers).for_each(|(cell, value)| *cell += weight * value);
            }
            power = product(&power, &step);
            weight *= pace * span / (steps + 1) as f64;
        }
        level(&mut total);
        total
    }
}

fn product(left: &[Vec<f64>], right: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let size = right.len();
    left.iter()
        .map(|row| {
            let mut result = vec![0.0; size];
            for (value, line) in row.iter().zip(right).filter(|(value, _)| **value != 0.0) {
                result.iter_mut().zip(line).for_each(|(cell, other)| *cell += value * other);
            }
            result
        })
        .collect()
}

/// Brings each row to a sum of 1.
fn level(matrix: &mut [Vec<f64>]) {
    for row in matrix {
        let all = sum(row.iter().copied());
        row.iter_mut().for_each(|cell| *cell /= all);
    }
}
