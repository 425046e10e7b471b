//! What an event at a server that clients use too may change, saved before the event.
//!
//! Such an event is about one queue, one device and one operation of a client at most, so these are saved and
//! not the whole server, of which there may be dozens of disks with long queues.

use towtank_devices::{Disk, LineMark, Link};

use super::Rebuild;
use super::event::{Event, Kind};
use super::resource::Resource;
use super::server::{Device, Server, Slot, Together};
use super::shared::{Gate, Operation};

/// The parts of a server before an event.
#[derive(Debug, PartialEq)]
pub struct Saved {
    cards: [Link; 2],
    /// Bytes sent and received.
    bytes: [u64; 2],
    together: Together,
    over: bool,
    reported_idle: bool,
    device: SavedDevice,
    line: Option<(Resource, LineMark<Event>)>,
    /// An operation by its number; `None` if there was no such place.
    operation: Option<(usize, Option<Operation>)>,
    /// How many places for operations were free, and the last of them.
    free: (usize, Option<u32>),
    /// The flows of clients, if there are limits.
    gates: Option<Vec<Gate>>,
}

/// The part of a device that an event may change, and the device's index.
#[derive(Debug, PartialEq)]
enum SavedDevice {
    None,
    /// The disk, and the bytes read and written.
    Disk(usize, Disk, [u64; 2]),
    /// One job.
    Slot(usize, usize, Slot),
    /// All.
    Whole(usize, Box<Device>),
}

impl Rebuild<'_> {
    /// Saves what an event may change; `None` at a server without clients.
    pub(super) fn save(&self, server: &Server, event: &Event) -> Option<Box<Saved>> {
        let shared = server.shared.as_ref()?;
        let client = event.marks.is_client();
        let line = self
            .line_of(event)
            .map(|(resource, arrives)| (resource, shared.mark(resource, arrives.then(|| self.flow(event)))));
        let ends = line.as_ref().filter(|_| event.kind == Kind::Served);
        let number = match event.kind {
            Kind::Arrive => Some(shared.free.last().map_or(shared.operations.len(), |&free| free as usize)),
            Kind::Part | Kind::Ack | Kind::Start if client => Some(event.job as usize),
            _ => ends
                .and_then(|(_, mark)| mark.serving.as_ref())
                .filter(|served| served.item.marks.is_client())
                .map(|served| served.item.job as usize),
        };
        Some(Box::new(Saved {
            cards: [server.out, server.inward],
            bytes: [server.sent, server.received],
            together: server.together,
            over: shared.over,
            reported_idle: shared.reported_idle,
            device: self.device_of(server, event),
            line,
            operation: number.map(|number| (number, shared.operations.get(number).copied())),
            free: (shared.free.len(), shared.free.last().copied()),
            gates: self.limits.queues.is_some().then(|| shared.gates.clone()),
        }))
    }

    /// The resource whose queue an event changes, and whether the event's unit arrives there.
    fn line_of(&self, event: &Event) -> Option<(Resource, bool)> {
        match event.kind {
            Kind::Read | Kind::Write => Some((Resource::Disk(self.hardware.place_of(event.device)), true)),
            Kind::Out => Some((Resource::Out, true)),
            Kind::In => Some((Resource::Inward, true)),
            Kind::Served => Some((Resource::of(event.slot), false)),
            _ => None,
        }
    }

    fn device_of(&self, server: &Server, event: &Event) -> SavedDevice {
        if let Some((resource, _)) = self.line_of(event) {
            let Resource::Disk(place) = resource else { return SavedDevice::None };
            let device = &server.devices[place];
            return SavedDevice::Disk(place, device.disk, [device.read, device.written]);
        }
        let whole = |device| {
            let place = self.hardware.place_of(device);
            SavedDevice::Whole(place, Box::new(server.devices[place].clone()))
        };
        match event.kind {
            Kind::Arrive | Kind::Over => SavedDevice::None,
            Kind::Part | Kind::Ack | Kind::Start if event.marks.is_client() => SavedDevice::None,
            Kind::Part | Kind::Ack => {
                let (place, at) = (self.hardware.place_of(event.driver), usize::from(event.slot));
                let slot = server.devices[place].slots[at];
                let one_job = event.kind == Kind::Part || (slot.left > 1 && !self.limits.is_paced());
                if one_job { SavedDevice::Slot(place, at, slot) } else { whole(event.driver) }
            }
            Kind::Reserve | Kind::Release | Kind::Push | Kind::Pull => whole(event.device),
            _ => whole(event.driver),
        }
    }
}

impl Saved {
    /// Returns a server to what it was.
    pub(super) fn restore(self, server: &mut Server) {
        #[cfg(test)]
        let this = tests::damaged(self, server);
        #[cfg(not(test))]
        let this = self;
        this.put_back(server);
    }

    fn put_back(self, server: &mut Server) {
        [server.out, server.inward] = self.cards;
        [server.sent, server.received] = self.bytes;
        server.together = self.together;
        match self.device {
            SavedDevice::None => {}
            SavedDevice::Disk(place, disk, bytes) => {
                let device = &mut server.devices[place];
                device.disk = disk;
                [device.read, device.written] = bytes;
            }
            SavedDevice::Slot(place, at, slot) => server.devices[place].slots[at] = slot,
            SavedDevice::Whole(place, device) => server.devices[place] = *device,
        }
        let shared = super::server::shared(server);
        (shared.over, shared.reported_idle) = (self.over, self.reported_idle);
        if let Some((resource, mark)) = self.line {
            shared.line(resource).take_back(mark);
        }
        match self.operation {
            Some((number, Some(operation))) => shared.operations[number] = operation,
            Some((number, None)) => shared.operations.truncate(number),
            None => {}
        }
        let (free, last) = self.free;
        shared.free.truncate(free);
        if shared.free.len() < free {
            shared.free.extend(last);
        }
        if let Some(gates) = self.gates {
            shared.gates = gates;
        }
    }
}

#[cfg(test)]
mod tests;
