//! Latent sector errors: how likely a read of many bytes meets one, and for how long one waits to be met.
//!
//! Errors are taken as independent between bits, at one rate. In the field they are clustered on few disks
//! (Bairavasundaram et al., SIGMETRICS 2007), so this is an upper bound of the probability for a given rate.

use crate::error::{DurabilityError, within};

/// P(at least one unreadable place) in a read of so many bytes: at least one, not exactly one.
///
/// # Errors
/// If the rate is no probability or the number of bytes is negative.
pub fn unreadable(bytes: f64, errors_per_bit: f64) -> Result<f64, DurabilityError> {
    let errors = within("the rate of errors per bit", errors_per_bit, 0.0, 1e-6)?;
    let bytes = within("the number of bytes", bytes, 0.0, 1e24)?;
    Ok(-libm::expm1(8.0 * bytes * libm::log1p(-errors)))
}

/// For how long a latent error exists before it matters, on average: half the interval of the scrub that
/// would find it, and the repair of the device whose failure makes it matter.
///
/// # Errors
/// If either is negative.
pub fn exposure_h(scrub_interval_h: f64, repair_h: f64) -> Result<f64, DurabilityError> {
    let scrub = within("the scrub interval in hours", scrub_interval_h, 0.0, 1e9)?;
    Ok(0.5 * scrub + within("the repair time in hours", repair_h, 0.0, 1e9)?)
}
