//! Storage hardware in virtual time: lanes, links, uplinks, switches and disks, for every study.
//!
//! Most devices serve requests one after the other, in order of arrival, so the state of a queue is one
//! number: when it will be idle ([`Lane`]). A request learns at once when its service begins and ends
//! ([`Service`]), and the model schedules its next event at that end; nothing polls. [`Link`], [`Uplink`] and
//! [`Disk`] are lanes with device-specific rules. Where flows share a port continuously ([`Switch`]), or a
//! queue discipline decides who is next ([`Line`]), an end is known only shortly before it, and each has an
//! event of its own. A [`Bucket`] limits a flow to its rate.
//!
//! The parameters of a device (a spec, or a clock with the times of the usual request cached) are separate
//! from its state: a cluster has few kinds and many devices. Bytes and a rate are converted into a span in
//! one place, `towtank_units`, which names the rounding. The rules are those of the CODES models with which
//! the rebuild study was published (its local storage model and its LogGP network); see `disk` and `card`.
//!
//! A page cache ([`PageCache`]) says which pages are in memory and which must be evicted; its owner asks a
//! disk for the rest. [`drives`] are disks that know addresses: a rate, a head that seeks, measured times,
//! and flash with its channels.
//!
//! Deliberately absent: randomness of its own (a drive is given a source), and any protocol. Requests of
//! different kinds share a lane first come first served; a queue discipline in front of it applies weights.

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
pub use line::{Line, LineMark, Place};
pub use link::{Link, Uplink, Way};
pub use pages::{Extent, FileId, Found, PageCache, Replacement};
pub use switch::{PortId, Sharing, Switch, SwitchSpec, Transfer};
