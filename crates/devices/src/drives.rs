//! Drives: what one request takes, by where it lies and what came before it.
//!
//! [`crate::Disk`] knows objects and extents, which is what a study of placement has. A drive knows
//! addresses. There are four models of one, from coarse to fine, behind one type ([`DiskModel`]):
//!
//! | model | service of a request | state |
//! | --- | --- | --- |
//! | `rate` | overhead + size / rate, with or without noise | when it is idle |
//! | `seek` | overhead + seek + rotation + its zone's transfer, a track buffer | head, what it read ahead |
//! | `table` | measured times by size and jump, interpolated | where the last request ended |
//! | `ssd` | channels and dies, a write buffer, pages that must be collected | the map of all pages |
//!
//! What a drive can do ([`DiskModel`]) is apart from its state ([`Drive`]), which an entity holds: it can be
//! cloned, compared, hashed and sent. Randomness is an argument: the noise of `rate` and the rotation of
//! `seek` are drawn from the source that is given, so a draw is known by seed, entity and ordinal. `table`
//! and `ssd` draw nothing.
//!
//! The first three serve one request after the other; who is next is decided in front of them, by a
//! [`crate::Line`] or by [`HeadOrder`]. What is deliberately absent: power states, errors, vibration, and a
//! drive that reorders by rotational position.

mod fit;
mod order;
mod presets;
mod rate;
mod seek;
mod ssd;
mod table;

use towtank_streams::Uniform;
use towtank_units::SimTime;

use crate::{Broken, Lane, Service};

pub use order::HeadOrder;
pub use rate::{Noise, RateSpec};
pub use seek::{SeekCurve, SeekDrive, SeekSpec, TrackBuffer, Zone};
pub use ssd::{PAGES_MAX, Ssd, SsdSpec, Wear};
pub use table::{TableDrive, TableSpec, Times};

/// A request to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Io {
    /// Written, not read.
    pub write: bool,
    /// Its first byte's address.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

impl Io {
    /// The address behind its last byte, at most the last that there is.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// Why there is no such drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is {value}, and must be {limit}")]
#[non_exhaustive]
pub struct DriveError {
    /// Which part of the description.
    pub key: &'static str,
    /// What it says.
    pub value: String,
    /// What it may say.
    pub limit: String,
}

impl DriveError {
    pub(crate) fn new(key: &'static str, value: impl ToString, limit: impl Into<String>) -> DriveError {
        DriveError { key, value: value.to_string(), limit: limit.into() }
    }
}

/// What a drive can do, by one of four models.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum DiskModel {
    /// An overhead and a rate.
    Rate(RateSpec),
    /// A head that moves over cylinders.
    Seek(SeekSpec),
    /// Measured times.
    Table(TableSpec),
    /// Flash.
    Ssd(SsdSpec),
}

/// A drive's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Drive {
    /// Of `rate`.
    Rate(Lane),
    /// Of `seek`.
    Seek(SeekDrive),
    /// Of `table`.
    Table(TableDrive),
    /// Of `ssd`.
    Ssd(Box<Ssd>),
}

impl DiskModel {
    /// Whether there can be such a drive.
    ///
    /// # Errors
    /// If there can be none.
    pub fn check(&self) -> Result<(), DriveError> {
        match self {
            DiskModel::Rate(spec) => spec.check(),
            DiskModel::Seek(spec) => spec.check(),
            DiskModel::Table(spec) => spec.check(),
            DiskModel::Ssd(spec) => spec.check().map(|_| ()),
        }
    }

    /// A drive of this kind that has done nothing.
    ///
    /// # Errors
    /// If there can be no such drive.
    pub fn drive(&self) -> Result<Drive, DriveError> {
        self.check()?;
        Ok(match self {
            DiskModel::Rate(_) => Drive::Rate(Lane::default()),
            DiskModel::Seek(_) => Drive::Seek(SeekDrive::default()),
            DiskModel::Table(_) => Drive::Table(TableDrive::default()),
            DiskModel::Ssd(spec) => Drive::Ssd(Box::new(Ssd::new(spec)?)),
        })
    }

    /// A request comes now and is served after all that came before it.
    ///
    /// # Panics
    /// When the drive was made by another model.
    pub fn serve(&self, drive: &mut Drive, now: SimTime, io: Io, source: &mut impl Uniform) -> Service {
        match (self, drive) {
            (DiskModel::Rate(spec), Drive::Rate(lane)) => lane.serve(now, spec.span(io, source)),
            (DiskModel::Seek(spec), Drive::Seek(drive)) => drive.serve(spec, now, io, source),
            (DiskModel::Table(spec), Drive::Table(drive)) => drive.serve(spec, now, io),
            (DiskModel::Ssd(spec), Drive::Ssd(drive)) => drive.serve(spec, now, io),
            (model, _) => panic!("the drive was made by another model than {}", model.name()),
        }
    }

    /// Its name in scenarios.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            DiskModel::Rate(_) => "rate",
            DiskModel::Seek(_) => "seek",
            DiskModel::Table(_) => "table",
            DiskModel::Ssd(_) => "ssd",
        }
    }
}

impl Drive {
    /// When all that has come so far will be done.
    #[must_use]
    pub fn idle_at(&self) -> SimTime {
        match self {
            Drive::Rate(lane) => lane.idle_at,
            Drive::Seek(drive) => drive.lane.idle_at,
            Drive::Table(drive) => drive.lane.idle_at,
            Drive::Ssd(drive) => drive.idle_at(),
        }
    }

    /// Checks its laws.
    ///
    /// # Errors
    /// When one does not hold.
    pub fn audit(&self) -> Result<(), Broken> {
        match self {
            Drive::Rate(lane) => lane.audit(),
            Drive::Seek(drive) => drive.lane.audit(),
            Drive::Table(drive) => drive.lane.audit(),
            Drive::Ssd(drive) => drive.audit(),
        }
    }
}

#[cfg(test)]
mod tests;
