//! What storage is made of, in virtual time: lanes, links, uplinks, switches and disks, for every study.
//!
//! Most devices serve one thing after the other, in the order in which things come to them, so a queue is one
//! number: when it will be idle ([`Lane`]). A request learns at once from when to when it is served
//! ([`Service`]), and that is when the model's next event lies; nothing polls. [`Link`], [`Uplink`] and
//! [`Disk`] are lanes with the rules of what they are. Where flows share a port at every instant
//! ([`Switch`]), or a queue discipline decides who is next ([`Line`]), an end is known only when it comes
//! near, and each has an event of its own. A [`Bucket`] lets a flow have its rate and no more.
//!
//! What a device can do (a spec, or a clock with the usual request's times at hand) is apart from its state:
//! a cluster has few kinds and many devices. Bytes and a rate become a span in one place, `towtank_units`,
//! which names the rounding. The rules are those of the CODES models that the rebuild study was published
//! with (its local storage model and its LogGP network), as `disk` and `card` say.
//!
//! A page cache ([`PageCache`]) says what is in memory and what must go; whoever holds it asks a disk for the
//! rest. [`drives`] are disks that know addresses: a rate, a head that seeks, measured times, and flash with
//! its channels.
//!
//! What is deliberately absent: randomness of its own (a drive is given a source), and any protocol. Requests
//! of different kinds share a lane first come first served; weights are the business of a queue discipline in
//! front of it.

mod broken;
mod bucket;
mod card;
mod disk;
pub mod drives;
mod lane;
mod line;
mod link;
mod pages;
mod switch;

pub use broken::Broken;
pub use bucket::Bucket;
pub use card::{CardClock, CardSpec};
pub use disk::{Access, Disk, DiskClock, DiskSpec, SeekRow};
pub use lane::{Lane, Service};
pub use line::{Line, Place};
pub use link::{Link, Uplink, Way};
pub use pages::{Extent, FileId, Found, PageCache, Replacement};
pub use switch::{PortId, Sharing, Switch, SwitchSpec, Transfer};
