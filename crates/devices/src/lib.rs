//! What storage is made of, as queues in virtual time: disks, network cards, uplinks.
//!
//! Each serves one thing after the other, in the order in which things come to it, so a queue is one number: when it will
//! be idle ([`Lane`]). A request learns at once when it will be done, and that is when the model's next event lies; nothing
//! polls. The rules are those of the CODES models that the rebuild study was published with (its local storage model and
//! its LogGP network), as `disk` and `card` say.
//!
//! What is deliberately absent: randomness, and any protocol. Requests of different kinds share a lane first come first
//! served; weights are the business of a queue discipline in front of it.

mod card;
mod disk;
mod lane;

pub use card::{CardClock, CardSpec};
pub use disk::{Access, Disk, DiskClock, DiskSpec, SeekRow};
pub use lane::Lane;
