//! Disks, NICs and uplinks that clients share with the rebuild, by weight.
//!
//! In front of each stands a [`Line`] with a fair discipline. It chooses the next unit when a service ends,
//! so each service ends with its own event. Within a class the order is first come, first served. What a unit
//! does at a resource, and where it goes next, is defined once, in `transfer`.

use towtank_devices::{Line, LineMark};
use towtank_iosched::{Fair, FlowId, Limiter};
use towtank_units::SimTime;

use super::event::Event;
use super::resource::Resource;
use super::{Clients, Weights};

/// The queue of a resource, and the unit in service.
pub type SharedLine = Line<Fair<Event>>;

/// A new queue for a resource.
pub(super) fn line(clients: &Clients) -> SharedLine {
    let Weights { clients, lacking, moving } = clients.weights;
    let weights: Vec<u32> = [clients, lacking].into_iter().chain(moving).collect();
    Line::new(Fair::new(&weights), 1)
}

/// The flow of all clients in one shard of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Gate {
    /// Index of the disk in its server.
    pub(super) place: u32,
    /// The shard.
    pub(super) shard: u32,
    /// When the next operation may go.
    pub(super) limiter: Limiter,
}

/// What a server needs to share its disks and its NIC with clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shared {
    disks: Vec<SharedLine>,
    /// The queue of the NIC, sending.
    pub out: SharedLine,
    inward: SharedLine,
    pub(super) operations: Vec<Operation>,
    /// Free entries of `operations`.
    pub(super) free: Vec<u32>,
    /// The flows of clients that are limited, in order; none where clients have no limit.
    pub(super) gates: Vec<Gate>,
    /// The rebuild is complete, and no more clients arrive.
    pub(super) over: bool,
    /// The server has reported that it has nothing left to drive.
    pub(super) reported_idle: bool,
}

/// An operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Operation {
    /// When it was requested.
    pub since: SimTime,
    /// Parts still to be read or to become durable.
    pub left: u32,
    /// Whether it is a write.
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
            gates: Vec::new(),
            over: false,
            reported_idle: false,
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &SharedLine> {
        self.disks.iter().chain([&self.out, &self.inward])
    }

    /// All units that wait or are being served.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.lines().flat_map(SharedLine::items)
    }

    /// The state of a line before an event at it.
    pub(super) fn mark(&self, resource: Resource, arriving: Option<FlowId>) -> LineMark<Event> {
        match resource {
            Resource::Out => &self.out,
            Resource::Inward => &self.inward,
            Resource::Disk(place) => &self.disks[place],
        }
        .mark(arriving)
    }

    pub(super) fn line(&mut self, resource: Resource) -> &mut SharedLine {
        match resource {
            Resource::Out => &mut self.out,
            Resource::Inward => &mut self.inward,
            Resource::Disk(place) => &mut self.disks[place],
        }
    }
}
