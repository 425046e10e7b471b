//! Loss with repairs of a constant time, to the leading order in failures per repair: each further failure
//! falls within the repair of those before.

use super::chain::RepairLaw;
use crate::error::{DurabilityError, positive, within};

/// A group, and for how long a repair lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows {
    /// Devices of the group.
    pub n: u32,
    /// Failed ones that it survives.
    pub tolerance: u32,
    /// The hazard of each.
    pub failures_per_h: f64,
    /// The time of a repair.
    pub repair_h: f64,
    /// How repairs affect each other.
    pub law: RepairLaw,
}

/// The expected losses of a mission, for repairs that are short against it: the ordered choices of m + 1
/// devices, times their hazards, times the mission, times the window: t^m / m! for independent repairs, whose
/// windows all have to overlap, and t^m where the work is shared or restarted.
///
/// # Errors
/// If nothing is repaired, or a number is not above zero.
pub fn leading_order(group: Windows, mission_h: f64) -> Result<f64, DurabilityError> {
    let Windows { n, tolerance, failures_per_h, repair_h, law } = group;
    within("the tolerance of a group", f64::from(tolerance), 0.0, f64::from(n) - 1.0)?;
    let fail = positive("the failure rate per hour", failures_per_h)?;
    let window = positive("the repair time in hours", repair_h)?;
    let mission = positive("the mission time in hours", mission_h)?;
    let overlap = match law {
        RepairLaw::Independent => 1.0 / (1..=tolerance).map(f64::from).product::<f64>(),
        RepairLaw::Shared | RepairLaw::Restarted => 1.0,
        RepairLaw::Never => {
            let next = "use the chain, which has it exactly";
            return Err(DurabilityError::NotModelled { what: "a window without repairs", next });
        }
    };
    let ways: f64 = (0..=tolerance).map(|failed| f64::from(n - failed) * fail).product();
    Ok(ways * libm::pow(window, f64::from(tolerance)) * overlap * mission)
}
