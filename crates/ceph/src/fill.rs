//! The fill levels of devices.

use serde::{Deserialize, Serialize};
use towtank_imports::ceph::OsdDump;

/// Fractions of a device's size above which Ceph warns, moves no more data onto it, and stops writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FillLimits {
    /// `nearfull_ratio`: a health warning.
    pub nearfull: f64,
    /// `backfillfull_ratio`: nothing is moved onto the device.
    pub backfillfull: f64,
    /// `full_ratio`: its pools accept no writes.
    pub full: f64,
}

/// A limit that a device is above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillLevel {
    /// Ceph warns.
    Nearfull,
    /// Ceph moves no more data onto it.
    Backfillfull,
    /// Ceph stops writes to its pools.
    Full,
}

impl FillLevel {
    /// All levels, the worst first.
    pub const ALL: [FillLevel; 3] = [FillLevel::Full, FillLevel::Backfillfull, FillLevel::Nearfull];

    /// Ceph's name for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FillLevel::Nearfull => "nearfull",
            FillLevel::Backfillfull => "backfillfull",
            FillLevel::Full => "full",
        }
    }
}

impl Default for FillLimits {
    /// Ceph's defaults: `mon_osd_nearfull_ratio`, `mon_osd_backfillfull_ratio` and `mon_osd_full_ratio`.
    fn default() -> Self {
        Self { nearfull: 0.85, backfillfull: 0.90, full: 0.95 }
    }
}

impl FillLimits {
    /// The limits by which the daemons go; Ceph's defaults where a dump has none. A device takes each limit
    /// for at least as high as the one below it (`OSDService::recalc_full_state`, 12 to 21).
    #[must_use]
    pub fn of(dump: &OsdDump) -> Self {
        let Self { nearfull, backfillfull, full } = Self::written(dump);
        let backfillfull = backfillfull.max(nearfull);
        Self { nearfull, backfillfull, full: full.max(backfillfull) }
    }

    /// The limits as a dump has them.
    pub(crate) fn written(dump: &OsdDump) -> Self {
        let usual = Self::default();
        Self {
            nearfull: dump.nearfull_ratio().unwrap_or(usual.nearfull),
            backfillfull: dump.backfillfull_ratio().unwrap_or(usual.backfillfull),
            full: dump.full_ratio().unwrap_or(usual.full),
        }
    }

    /// The limit of a level.
    #[must_use]
    pub fn at(&self, level: FillLevel) -> f64 {
        match level {
            FillLevel::Nearfull => self.nearfull,
            FillLevel::Backfillfull => self.backfillfull,
            FillLevel::Full => self.full,
        }
    }

    /// The worst level whose limit a fill exceeds.
    #[must_use]
    pub fn above(&self, fill: f64) -> Option<FillLevel> {
        FillLevel::ALL.into_iter().find(|level| fill > self.at(*level))
    }
}
