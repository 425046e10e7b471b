//! Measurements whose result does not depend on the order in which they are combined.
//!
//! While a model runs, it accumulates integers only: counts, sums, squares, buckets and level × time
//! products. Any worker can add integers in any order, and subtract them again exactly when an event is
//! undone. Floats are used only after a run: means, quantiles and intervals are computed once, from the
//! integers.
//!
//! - [`Tally`]: exact count, mean and variance; [`Extremes`] for the smallest and the largest value.
//! - [`Histogram`]: the whole distribution in a few kilobytes, with a stated relative error.
//! - [`Level`] and [`LevelTimes`]: quantities that hold for a time, such as a queue's length.
//! - [`interval`]: means with Student's 95 % interval; [`Contrast`]: comparison of two samples; [`quantile`]:
//!   exact quantiles of sorted data; [`spearman`]: rank correlation; [`rank()`]: which candidate is best.
//!
//! Deliberately absent: running means in floats (their result depends on the order of the terms), and any
//! printing.

mod contrast;
mod histogram;
pub mod interval;
mod level;
pub mod quantile;
mod rank;
mod ranking;
mod tally;
mod wide;

pub use contrast::{Contrast, Pairing, ratio_95, spread_ratio_95};
pub use histogram::{Bin, Histogram, QuantileEstimate};
pub use interval::{
    Domain, MeanInterval, mean_interval_95, mean_interval_95_in, student_t_975, student_t_beyond,
};
pub use level::{Level, LevelTimes};
pub use rank::spearman;
pub use ranking::{Better, Chance, ONE_RUN, Ranking, rank, significant_order};
pub use tally::{Extremes, Tally};
pub use wide::{SquareSum, Sum};
