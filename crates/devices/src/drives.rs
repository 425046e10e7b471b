//! Drives: the service time of a request by its address and by the requests before it.
//!
//! [`crate::Disk`] knows objects and extents, which is what a placement study has. A drive knows addresses.
//! There are four models, from coarse to fine, behind one type ([`DiskModel`]):
//!
//! | model | service of a request | state |
//! | --- | --- | --- |
//! | `rate` | overhead + size / rate, with or without noise | when it is idle |
//! | `seek` | overhead + seek + rotation + transfer in its zone, a track buffer | head, read-ahead |
//! | `table` | measured times by size and jump, interpolated | where the last request ended |
//! | `ssd` | channels and dies, a write buffer, garbage collection of pages | the map of all pages |
//!
//! The parameters of a drive ([`DiskModel`]) are separate from its state ([`Drive`]), which an entity holds:
//! it can be cloned, compared, hashed and serialised. Randomness is an argument: the noise of `rate` and the
//! rotation of `seek` are drawn from the given source, so a draw is determined by seed, entity and ordinal.
//! `table` and `ssd` draw nothing.
//!
//! The first three serve requests one after the other; a [`crate::Line`] or a [`HeadOrder`] in front of them
//! decides the order. Deliberately absent: power states, errors, vibration, and reordering by rotational
//! position.

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
    /// Whether this is a write.
    pub write: bool,
    /// The address of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Io {
    /// The address after the last byte, at most `u64::MAX`.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// Why the parameters of a drive are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is {value}, but must be {limit}")]
#[non_exhaustive]
pub struct DriveError {
    /// The name of the parameter.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The values that are allowed.
    pub limit: String,
}

impl DriveError {
    pub(crate) fn new(key: &'static str, value: impl ToString, limit: impl Into<String>) -> DriveError {
        DriveError { key, value: value.to_string(), limit: limit.into() }
    }
}

/// The parameters of a drive, by one of four models.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum DiskModel {
    /// An overhead and a rate.
    Rate(RateSpec),
    /// A head that moves over cylinders.
    Seek(SeekSpec),
    /// Measured times.
    Table(TableSpec),
    /// A solid-state drive.
    Ssd(SsdSpec),
}

/// The state of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Drive {
    /// The state of the `rate` model.
    Rate(Lane),
    /// The state of the `seek` model.
    Seek(SeekDrive),
    /// The state of the `table` model.
    Table(TableDrive),
    /// The state of the `ssd` model.
    Ssd(Box<Ssd>),
}

impl DiskModel {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is not valid.
    pub fn check(&self) -> Result<(), DriveError> {
        match self {
            DiskModel::Rate(spec) => spec.check(),
            DiskModel::Seek(spec) => spec.check(),
            DiskModel::Table(spec) => spec.check(),
            DiskModel::Ssd(spec) => spec.check().map(|_| ()),
        }
    }

    /// A drive of this model that has served nothing.
    ///
    /// # Errors
    /// If a parameter is not valid.
    pub fn drive(&self) -> Result<Drive, DriveError> {
        self.check()?;
        Ok(match self {
            DiskModel::Rate(_) => Drive::Rate(Lane::default()),
            DiskModel::Seek(_) => Drive::Seek(SeekDrive::default()),
            DiskModel::Table(_) => Drive::Table(TableDrive::default()),
            DiskModel::Ssd(spec) => Drive::Ssd(Box::new(Ssd::new(spec)?)),
        })
    }

    /// Serves a request that arrives now, after all earlier ones.
    ///
    /// # Panics
    /// If the drive was made by another model.
    pub fn serve(&self, drive: &mut Drive, now: SimTime, io: Io, source: &mut impl Uniform) -> Service {
        match (self, drive) {
            (DiskModel::Rate(spec), Drive::Rate(lane)) => lane.serve(now, spec.span(io, source)),
            (DiskModel::Seek(spec), Drive::Seek(drive)) => drive.serve(spec, now, io, source),
            (DiskModel::Table(spec), Drive::Table(drive)) => drive.serve(spec, now, io),
            (DiskModel::Ssd(spec), Drive::Ssd(drive)) => drive.serve(spec, now, io),
            (model, _) => panic!("the drive was made by another model than {}", model.name()),
        }
    }

    /// The model's name in scenarios.
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
    /// When all requests that have arrived will be done.
    #[must_use]
    pub fn idle_at(&self) -> SimTime {
        match self {
            Drive::Rate(lane) => lane.idle_at,
            Drive::Seek(drive) => drive.lane.idle_at,
            Drive::Table(drive) => drive.lane.idle_at,
            Drive::Ssd(drive) => drive.idle_at(),
        }
    }

    /// Checks the invariants of the drive.
    ///
    /// # Errors
    /// The first invariant that does not hold.
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
