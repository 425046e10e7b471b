//! Measurements that add up to the same result in any order.
//!
//! What a model accumulates while it runs is integers: counts, sums, squares, buckets and level × time
//! products. Integers can be added by any worker in any order, and taken away again when an event is undone,
//! without a trace. Floats begin where a run has ended: means, quantiles and intervals are computed from the
//! integers once.
//!
//! - [`Tally`]: how many, their mean and variance, exactly; [`Extremes`] beside it.
//! - [`Histogram`]: the whole distribution in a few kilobytes, with a stated relative error.
//! - [`Level`] and [`LevelTimes`]: quantities that hold for a time, such as a queue's length.
//! - [`interval`]: means with Student's 95 % interval; [`Contrast`]: two samples beside each other;
//!   [`quantile`]: exact quantiles of sorted data.
//!
//! What is deliberately absent: running means in floats (their result depends on the order of the terms), and
//! any printing.

mod contrast;
mod histogram;
pub mod interval;
mod level;
pub mod quantile;
mod tally;
mod wide;

pub use contrast::{Contrast, Pairing, difference_95, ratio_95, spread_ratio_95};
pub use histogram::{Bin, Histogram, QuantileEstimate};
pub use interval::{MeanInterval, mean_interval_95, student_t_975};
pub use level::{Level, LevelTimes};
pub use tally::{Extremes, Tally};
pub use wide::{SquareSum, Sum};
