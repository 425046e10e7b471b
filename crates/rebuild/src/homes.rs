//! The homes of records once devices are out.

use crate::plan::DeviceId;

/// Finds the homes of records when some devices are out, where the lists of `affected` do not give them.
pub trait Homes: Send + Sync + std::fmt::Debug {
    /// The placement with these devices out, after so many later changes of the map.
    fn with_out<'a>(&'a self, changes: usize, out: &'a [bool]) -> Box<dyn Wanted + 'a>;
}

/// The homes of records for one set of devices that are out.
pub trait Wanted {
    /// Writes the devices of a record, given by number and key; [`NOWHERE`](crate::plan::NOWHERE) where there
    /// is none.
    fn find(&mut self, record: (u64, u64), devices: &mut [DeviceId]);
}
