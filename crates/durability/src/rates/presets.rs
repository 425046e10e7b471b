//! Failure rates of a real fleet, each with its date and source: a rate per drive-year of 365 days.
//!
//! They change from year to year: the peak of the bathtub moved from an age of 3 years 3 months (13.73 %,
//! study of 2013) to 10 years 3 months (4.25 %, study of 2025), so a rate without its date says little.

use super::Afr;

/// The rate of a fleet in a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetRate {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// The year, and the quarter where it is one.
    pub period: &'static str,
    /// Failures per drive-day times 365: per year of 365 days.
    pub rate: Afr,
    /// Where it was published.
    pub source: &'static str,
}

const fn backblaze(
    name: &'static str,
    period: &'static str,
    percent: f64,
    source: &'static str,
) -> FleetRate {
    FleetRate { name, period, rate: Afr::Rate(percent / 100.0), source }
}

/// All data drives of Backblaze, from its published Drive Stats.
pub const FLEET_RATES: [FleetRate; 9] = [
    backblaze("backblaze-2022-q1", "2022-Q1", 1.22, "Backblaze Drive Stats for Q1 2023"),
    backblaze("backblaze-2022-q4", "2022-Q4", 1.21, "Backblaze Drive Stats for Q1 2023"),
    backblaze("backblaze-2023-q1", "2023-Q1", 1.54, "Backblaze Drive Stats for Q1 2023"),
    backblaze("backblaze-2023-q2", "2023-Q2", 2.28, "Backblaze Drive Stats for Q2 2024"),
    backblaze("backblaze-2023-q3", "2023-Q3", 1.47, "Backblaze Drive Stats for Q3 2023"),
    backblaze("backblaze-2023-q4", "2023-Q4", 1.53, "Backblaze Drive Stats for Q1 2024"),
    backblaze("backblaze-2024-q1", "2024-Q1", 1.41, "Backblaze Drive Stats for Q1 2024"),
    backblaze("backblaze-2024", "2024", 1.57, "Backblaze Drive Stats for Q3 2025"),
    backblaze("backblaze-2025-q3", "2025-Q3", 1.55, "Backblaze Drive Stats for Q3 2025"),
];
