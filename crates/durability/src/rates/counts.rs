//! The failure rate of a fleet from its own counts, with an exact interval.

use super::Year;
use crate::error::{DurabilityError, positive, within};
use crate::sums::{Bounds, garwood};

/// A failure rate per year, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AfrOfCounts {
    /// Failures divided by drive-years; 0 where none failed, which says little without the interval.
    pub per_year: f64,
    /// Garwood's interval.
    pub interval: Bounds,
}

/// The rate of so many failures in so many drive-days, with the exact Poisson interval at a confidence such
/// as
/// 0.95.
///
/// # Errors
/// If there are no drive-days, or the confidence is not from 0.5 to 0.9999.
pub fn afr_of_counts(
    failures: u64,
    drive_days: f64,
    year: Year,
    confidence: f64,
) -> Result<AfrOfCounts, DurabilityError> {
    let years = positive("the number of drive-days", drive_days)? * 24.0 / year.hours();
    let confidence = within("the confidence", confidence, 0.5, 0.9999)?;
    let Bounds { low, high } = garwood(failures, 1.0 - confidence);
    let interval = Bounds { low: low / years, high: high / years };
    Ok(AfrOfCounts { per_year: failures as f64 / years, interval })
}
