//! Where records belong once something is out.

use crate::plan::DeviceId;

/// Where records belong when some devices are out, where the lists of `affected` do not say.
pub trait Homes: Send + Sync + std::fmt::Debug {
    /// The placement with these devices out.
    fn with_out<'a>(&'a self, out: &'a [bool]) -> Box<dyn Wanted + 'a>;
}

/// Where records belong, at one moment.
pub trait Wanted {
    /// The devices of a record, by its number and key; [`NOWHERE`](crate::plan::NOWHERE) where there is none.
    fn find(&mut self, record: (u64, u64), devices: &mut [DeviceId]);
}
