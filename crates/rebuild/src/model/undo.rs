//! How an event is undone: by the few values that it changed, by a copy of the one device that it was about,
//! or, where the disks of a server start jobs in turn, by a copy of the whole server.

use towtank_devices::{Disk, Lane, LineMark, Link, Uplink, Way};
use towtank_units::SimTime;

use super::event::{Event, Kind};
use super::resource::Resource;
use super::saved::Saved;
use super::server::{Device, Entity, Rack, Server, Together, WINDOW_MAX};
use super::{Made, Rebuild};

/// What is needed to undo an event.
#[derive(Debug, PartialEq)]
pub enum Undo {
    /// Nothing to restore: the event itself is enough, nothing changed, or events are never undone.
    Nothing,
    /// The disk before the event.
    Disk { place: u16, before: Disk },
    /// The sending side of the NIC before the event.
    Out(Link),
    /// The receiving side before the event.
    Inward(Link),
    /// One direction of an uplink before the event.
    Uplink { way: Way, before: Lane },
    /// How many parts of a unit had arrived.
    Parts { place: u16, before: u8 },
    /// On how many targets a unit was durable.
    Acks { before: u8 },
    /// The progress of a job before the event.
    Slot { place: u16, next: u32, left: u32, flying: u8 },
    /// A device before the event, and the limits that it shares with the others.
    Device(Box<(u16, Together, Device)>),
    /// The server before the event.
    Whole(Box<Server>),
    /// What may change at a server that clients use too.
    Saved(Box<Saved>),
    /// A shared uplink and its queue in one direction before the event.
    Rack(Box<RackBefore>),
    /// How many servers still drove something.
    Driving(u32),
    /// The maps that were made.
    Made(Box<Made>),
    /// The event was dropped by something dead.
    Swallowed,
}

impl Undo {
    /// For events that may change anything. Without speculation nothing is kept.
    pub(super) fn whole(server: &Server) -> Undo {
        if server.speculating.0 { Undo::Whole(Box::new(server.clone())) } else { Undo::Nothing }
    }

    /// For events at a resource that the rebuild has for itself.
    #[inline]
    pub(super) fn resource(server: &Server, resource: Resource) -> Undo {
        if !server.speculating.0 {
            return Undo::Nothing;
        }
        match resource {
            Resource::Out => Undo::Out(server.out),
            Resource::Inward => Undo::Inward(server.inward),
            Resource::Disk(place) => Undo::Disk { place: place as u16, before: server.devices[place].disk },
        }
    }

    /// For events that may start jobs or change limits of a device. Nothing is kept where the caller has
    /// saved what is shared with clients.
    pub(super) fn device(model: &Rebuild<'_>, server: &Server, place: usize) -> Undo {
        if !server.speculating.0 || server.shared.is_some() {
            return Undo::Nothing;
        }
        if model.limits.server_streams.is_some() {
            return Undo::whole(server);
        }
        Undo::Device(Box::new((place as u16, server.together, server.devices[place].clone())))
    }

    /// For events at a server that clients use too.
    pub(super) fn shared(model: &Rebuild<'_>, server: &Server, event: &Event) -> Undo {
        if !server.speculating.0 {
            return Undo::Nothing;
        }
        let starts_jobs = matches!(event.kind, Kind::Ack | Kind::Grant | Kind::Wake | Kind::Empty)
            && !event.marks.is_client();
        if (starts_jobs && model.limits.server_streams.is_some()) || event.kind == Kind::Map {
            return Undo::whole(server);
        }
        model.save(server, event).map_or(Undo::Nothing, Undo::Saved)
    }

    /// For events that advance a job. With a rate limit they also change its clocks, so the device is kept.
    #[inline]
    pub(super) fn slot(model: &Rebuild<'_>, server: &Server, place: usize, slot: usize) -> Undo {
        if !server.speculating.0 {
            return Undo::Nothing;
        }
        if model.limits.is_paced() {
            return Undo::device(model, server, place);
        }
        let slot = &server.devices[place].slots[slot];
        let (next, left, flying) = (slot.next, slot.left, slot.flying);
        Undo::Slot { place: place as u16, next, left, flying }
    }

    #[inline]
    pub(super) fn apply(self, model: &Rebuild<'_>, entity: &mut Entity, event: &Event) {
        let (server, undo) = match (entity, self) {
            (Entity::Rack(rack), Undo::Uplink { way, before }) => {
                *rack.uplink.lane_mut(way) = before;
                return;
            }
            (Entity::Rack(rack), Undo::Rack(before)) => {
                restore_rack(rack, *before);
                return;
            }
            (Entity::Monitor { driving, made }, undo) => {
                restore_monitor((driving, made), undo);
                return;
            }
            (Entity::Rack(_), _) => return,
            (Entity::Server(server), undo) => (server, undo),
        };
        let bytes = u64::from(event.bytes);
        match undo {
            Undo::Nothing | Undo::Uplink { .. } | Undo::Rack(_) | Undo::Driving(_) | Undo::Made(_) => {}
            Undo::Disk { place, before } => {
                give_back(&mut server.devices[usize::from(place)], before, event);
            }
            Undo::Out(before) => {
                debug_assert!(server.out.lane.busy >= before.lane.busy, "an undo has a card send more");
                debug_assert!(
                    server.sent >= bytes,
                    "{} bytes were sent, and {bytes} are undone",
                    server.sent
                );
                server.out = before;
                server.sent -= bytes;
            }
            Undo::Inward(before) => {
                debug_assert!(server.inward.lane.busy >= before.lane.busy, "an undo has a card receive more");
                debug_assert!(server.received >= bytes, "{bytes} of {} bytes are undone", server.received);
                server.inward = before;
                server.received -= bytes;
            }
            Undo::Parts { place, before } => {
                let slot = &mut server.devices[usize::from(place)].slots[usize::from(event.slot)];
                slot.parts[event.unit as usize % WINDOW_MAX] = before;
            }
            Undo::Acks { before } => {
                let place = model.hardware.place_of(event.driver);
                let slot = &mut server.devices[place].slots[usize::from(event.slot)];
                slot.acks[event.unit as usize % WINDOW_MAX] = before;
            }
            Undo::Slot { place, next, left, flying } => {
                let slot = &mut server.devices[usize::from(place)].slots[usize::from(event.slot)];
                debug_assert!(next <= slot.next, "an undo starts unit {next} after {}", slot.next);
                debug_assert!(left >= slot.left, "an undo leaves {left} units of {}", slot.left);
                (slot.next, slot.left, slot.flying) = (next, left, flying);
            }
            Undo::Device(before) => {
                let (place, together, device) = *before;
                server.devices[usize::from(place)] = device;
                server.together = together;
            }
            Undo::Whole(before) => *server = *before,
            Undo::Saved(before) => before.restore(server),
            Undo::Swallowed => {
                let last = server.swallowed.pop();
                debug_assert_eq!(last.as_ref(), Some(event), "an undo takes back what was swallowed last");
            }
        }
    }
}

/// A shared uplink, and a mark of its queue in one direction.
#[derive(Debug, PartialEq)]
pub struct RackBefore {
    /// The direction.
    pub way: Way,
    /// The uplink.
    pub uplink: Uplink,
    /// The mark.
    pub mark: LineMark<Event>,
}

/// Restores what the monitor counts, or the maps that it made.
fn restore_monitor((driving, made): (&mut u32, &mut Made), undo: Undo) {
    match undo {
        Undo::Driving(before) => *driving = before,
        Undo::Made(before) => *made = *before,
        _ => {}
    }
}

/// Restores a shared uplink and one of its queues.
fn restore_rack(rack: &mut Rack, RackBefore { way, uplink, mark }: RackBefore) {
    rack.uplink = uplink;
    if let Some(lines) = &mut rack.lines {
        lines[way as usize].take_back(mark);
    }
}

/// Restores a disk to its state before it served a unit.
#[inline]
fn give_back(device: &mut Device, before: Disk, event: &Event) {
    debug_assert!(device.disk.lane.idle_at >= before.lane.idle_at, "an undo gives a disk more to do");
    debug_assert!(device.disk.seeks >= before.seeks, "an undo has a disk seek more");
    device.disk = before;
    let bytes = u64::from(event.bytes);
    *(if event.kind == Kind::Write { &mut device.written } else { &mut device.read }) -= bytes;
}

/// One undo is kept for each event that may be undone, so it must stay small.
const _: () = assert!(size_of::<Undo>() <= 32 && size_of::<SimTime>() == 8);
