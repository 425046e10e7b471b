//! Formulas of other tools, for tests of those formulas and to explain why their numbers differ. None of them
//! is used for an answer.

use crate::error::{DurabilityError, positive, within};
use crate::rates::Year;
use crate::sums::{binomial, choose, sum};

/// What Backblaze's calculator asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calculator {
    /// Shards of a set.
    pub shards: u32,
    /// Lost ones that it survives.
    pub parity: u32,
    /// The failure rate, a rate per year of 365 days.
    pub afr: f64,
    /// The time until a shard is replaced.
    pub replace_days: f64,
}

/// What it answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calculated {
    /// P(more are lost than survived) in one period.
    pub in_period: f64,
    /// P(loss) in a year.
    pub in_year: f64,
}

/// Backblaze's calculator: periods as long as a replacement, all shards good at the start of each, so a
/// window that spans two periods is missed. It is low by a factor of about tolerance + 1.
///
/// # Errors
/// If a number is not above zero.
pub fn backblaze(asked: Calculator) -> Result<Calculated, DurabilityError> {
    let Calculator { shards, parity, afr, replace_days } = asked;
    within("the parity", f64::from(parity), 0.0, f64::from(shards) - 1.0)?;
    let periods = Year::Common.hours() / 24.0 / positive("the replacement time", replace_days)?;
    // Their rate is afr per year, and P(failed in a period) = 1 - exp(-afr / periods).
    let p = -libm::expm1(-positive("the AFR", afr)? / periods);
    let lost = (parity + 1..=shards).rev().map(|lost| binomial(shards.into(), lost.into(), p));
    let in_period = sum(lost);
    Ok(Calculated { in_period, in_year: -libm::expm1(periods * libm::log1p(-in_period)) })
}

/// What the reliability model of ceph-tools (2014) asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OldCeph {
    /// Copies.
    pub copies: u32,
    /// Failures of a drive in 10^9 hours.
    pub fits: f64,
    /// Groups of a drive, each of which has its copies elsewhere.
    pub groups_per_drive: f64,
    /// The recovery of a drive, with the time until it begins.
    pub window_h: f64,
}

/// Its column `PL(copies)`: the first of the copies fails in a year, then one of the peers in the window, and
/// so on. It is per drive, and no durability of an object.
///
/// # Errors
/// If a number is not above zero.
pub fn old_ceph(asked: OldCeph) -> Result<f64, DurabilityError> {
    let per_h = positive("the failures in 10^9 hours", asked.fits)? * 1e-9;
    let copies = positive("the number of copies", f64::from(asked.copies))?;
    let window = positive("the window", asked.window_h)?;
    let peers = positive("the groups of a drive", asked.groups_per_drive)?;
    let first = -libm::expm1(-per_h * Year::Julian.hours() * copies);
    let further = (1..asked.copies).map(|left| -libm::expm1(-per_h * window * peers * f64::from(left)));
    Ok(first * further.product::<f64>())
}

/// What an online erasure-code calculator asks for, whose numbers stand beside those of mlec-sim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Online {
    /// Devices of a group.
    pub n: u32,
    /// Failed ones that it survives.
    pub tolerance: u32,
    /// The hazard of a device.
    pub failures_per_h: f64,
    /// The time of a repair.
    pub repair_h: f64,
    /// Groups.
    pub groups: u32,
}

/// Its expected losses in a year: n! / (n - m - 1)! times rate^(m+1) times window^m. It counts on repairs
/// that are short against the year: where they take months it is 0.4 nines low.
///
/// # Errors
/// If a number is not above zero.
pub fn online(asked: Online) -> Result<f64, DurabilityError> {
    let Online { n, tolerance, failures_per_h, repair_h, groups } = asked;
    let law = super::chain::RepairLaw::Shared;
    let group = super::Windows { n, tolerance, failures_per_h, repair_h, law };
    Ok(f64::from(groups) * super::leading_order(group, Year::Julian.hours())?)
}

/// What clyso-nines asks for (clyso/otto@9859a5e), without a simulation of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClysoNines {
    /// Hosts, which are its failure domains.
    pub hosts: u32,
    /// Devices of a host.
    pub per_host: u32,
    /// Copies.
    pub copies: u32,
    /// Groups.
    pub groups: u32,
    /// Groups of a device, as asked for; the number of groups is a power of two near it.
    pub groups_per_device: f64,
    /// Bytes of a group that one device stores.
    pub group_bytes: f64,
    /// Bytes of an object.
    pub object_bytes: f64,
    /// Bytes per second of a recovery that does not pause.
    pub recovery_bytes_s: f64,
    /// The pause after each object.
    pub sleep_s: f64,
    /// The failure rate per year of 365 days.
    pub afr: f64,
    /// Its factor for failures that are correlated, 100 by default.
    pub correlation: f64,
}

/// What it answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClysoAnswer {
    /// The window in which all copies of a group have to fail.
    pub critical_h: f64,
    /// The mean time to loss in years of 365 days.
    pub mean_years: f64,
}

/// Windows as long as the recovery of the fullest of the devices that take over, all devices good at the
/// start of each; as many failures in one window as there are copies; times P(they hold all copies of a
/// group). It is low by about the number of copies, and the factor for correlation is no measurement.
///
/// # Errors
/// If there are fewer hosts than copies, or a number is not above zero.
pub fn clyso_nines(asked: ClysoNines) -> Result<ClysoAnswer, DurabilityError> {
    let ClysoNines { hosts, per_host, copies, groups, groups_per_device, .. } = asked;
    within("the number of copies", f64::from(copies), 2.0, f64::from(hosts))?;
    let object = positive("the bytes of an object", asked.object_bytes)?;
    let object_s = object / positive("the rate of recovery", asked.recovery_bytes_s)? + asked.sleep_s;
    let group_s = positive("the bytes of a group", asked.group_bytes)? / object * object_s;
    let devices = f64::from(hosts * per_host);
    let left = devices - f64::from(copies) + 1.0;
    let average = f64::from(copies - 1) * positive("the groups of a device", groups_per_device)? / left;
    within("the groups that each device takes over", average, 1.0, 1e9)?;
    let fullest = libm::ceil(average + libm::sqrt(2.0 * average * libm::log(left)));
    let critical_h = (fullest * group_s / 3600.0).max(1.0 / 60.0);
    let windows = Year::Common.hours() / critical_h;
    let p = positive("the AFR", asked.afr)? / windows;
    let all = u64::from(hosts * per_host);
    let failures = sum((u64::from(copies)..=all).rev().map(|failed| binomial(all, failed, p)));
    let spread = libm::pow(f64::from(per_host), f64::from(copies));
    let apart = choose(hosts.into(), copies.into()) * spread / choose(all, copies.into());
    let group = 1.0 / (choose(hosts.into(), copies.into()) * spread);
    let held = -libm::expm1(f64::from(groups) * libm::log1p(-group));
    Ok(ClysoAnswer { critical_h, mean_years: 1.0 / (windows * asked.correlation * failures * apart * held) })
}
