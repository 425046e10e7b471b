//! How often devices fail: what is meant by an AFR, and how it becomes a hazard per hour.
//!
//! All times are in hours, and all rates per hour; a year says how many hours it has. Left out: failures that
//! depend on each other. Those of domains are in `fleet`, batches are not modelled.

mod counts;
mod life;
mod presets;
mod reads;

pub use counts::{AfrOfCounts, afr_of_counts};
pub use life::{Life, Piece, average_hazard};
pub use presets::{FLEET_RATES, FleetRate};
pub use reads::{exposure_h, unreadable};

use crate::error::{DurabilityError, positive};

/// How long a year is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Year {
    /// 365.25 days.
    #[default]
    Julian,
    /// 365 days, as those who count drive-days have it.
    Common,
}

impl Year {
    /// Its hours.
    #[must_use]
    pub fn hours(self) -> f64 {
        match self {
            Year::Julian => 8766.0,
            Year::Common => 8760.0,
        }
    }
}

/// How often a device fails, in the form in which it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Afr {
    /// The probability that a new device fails within a year: below 1.
    Probability(f64),
    /// Failures per device and year, of which there can be more than one.
    Rate(f64),
    /// Failures in 10^9 hours.
    Fits(f64),
    /// The mean time to failure.
    MttfHours(f64),
}

impl Afr {
    /// The constant hazard per hour.
    ///
    /// # Errors
    /// If the number is zero, negative or, as a probability, not below 1.
    pub fn per_hour(self, year: Year) -> Result<f64, DurabilityError> {
        match self {
            Afr::Probability(p) if p > 0.0 && p < 1.0 => Ok(-libm::log1p(-p) / year.hours()),
            Afr::Probability(p) => Err(DurabilityError::NoProbability(p)),
            Afr::Rate(rate) => Ok(positive("the failure rate per year", rate)? / year.hours()),
            Afr::Fits(fits) => Ok(positive("the failures in 10^9 hours", fits)? * 1e-9),
            Afr::MttfHours(hours) => Ok(1.0 / positive("the mean time to failure", hours)?),
        }
    }

    /// The probability of failing within a year.
    ///
    /// # Errors
    /// As [`Afr::per_hour`].
    pub fn probability(self, year: Year) -> Result<f64, DurabilityError> {
        Ok(-libm::expm1(-self.per_hour(year)? * year.hours()))
    }
}

/// Nines of a probability of loss: 3 for 0.001. Infinite where nothing is lost.
#[must_use]
pub fn nines(loss: f64) -> f64 {
    -libm::log10(loss)
}
