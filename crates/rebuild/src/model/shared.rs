//! Disks, cards and uplinks that clients share with the rebuild, by weight.
//!
//! In front of each lies a [`Line`] with a fair discipline: who goes next is decided when something is done,
//! so each service ends with an event of its own. Within a class the order is that of coming. What a unit
//! does at a resource, and where it goes from there, is said once, in `transfer`.

use towtank_devices::Line;
use towtank_iosched::Fair;
use towtank_units::SimTime;

use super::Clients;
use super::event::Event;
use super::resource::Resource;

/// What waits for one resource, and what it serves.
pub type SharedLine = Line<Fair<Event>>;

/// The line in front of a resource.
pub(super) fn line(clients: &Clients) -> SharedLine {
    Line::new(Fair::new(&[clients.weight, 1]), 1)
}

/// What a server needs to share its disks and its card with clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shared {
    disks: Vec<SharedLine>,
    /// In front of its card, sending.
    pub out: SharedLine,
    inward: SharedLine,
    pub(super) operations: Vec<Operation>,
    /// Places in `operations` that are free.
    pub(super) free: Vec<u32>,
    /// No more clients come: the rebuild is over.
    pub(super) over: bool,
    /// It has said that it has nothing left to drive.
    pub(super) told: bool,
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Operation {
    /// When it was asked for.
    pub since: SimTime,
    /// Parts that are still to be read, or to become durable.
    pub left: u32,
    /// It writes.
    pub write: bool,
}

impl Shared {
    pub(super) fn new(clients: &Clients, disks: usize) -> Shared {
        let line = || line(clients);
        Shared {
            disks: (0..disks).map(|_| line()).collect(),
            out: line(),
            inward: line(),
            operations: Vec::new(),
            free: Vec::new(),
            over: false,
            told: false,
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &SharedLine> {
        self.disks.iter().chain([&self.out, &self.inward])
    }

    /// All that waits or is being served.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.lines().flat_map(SharedLine::items)
    }

    pub(super) fn line(&mut self, resource: Resource) -> &mut SharedLine {
        match resource {
            Resource::Out => &mut self.out,
            Resource::Inward => &mut self.inward,
            Resource::Disk(place) => &mut self.disks[place],
        }
    }
}
