//! Messages between servers, and from a server to itself.

use std::hash::{Hash, Hasher};

use crate::plan::DeviceId;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// A unit arrives at the disk that it is read from; sent by another server, this is the driver's request.
    Read,
    /// A unit has been read or decoded and arrives at the NIC that sends it.
    Out,
    /// A unit arrives at the uplink of the sender's rack.
    Up,
    /// A unit arrives at the downlink of the receiver's rack.
    Down,
    /// The last byte of a unit arrives at the NIC that receives it.
    In,
    /// A unit that the driver requested has arrived.
    Part,
    /// A unit arrives at the disk that it is written to.
    Write,
    /// A unit is durable.
    Ack,
    /// A task requests a reservation from a target.
    Reserve,
    /// The target grants it.
    Grant,
    /// The task gives it back.
    Release,
    /// A driver has finished its sleep.
    Wake,
    /// A shared resource has finished serving a unit.
    Served,
    /// A client arrives.
    Arrive,
    /// A server has nothing left to drive.
    Idle,
    /// No server has anything left to drive, and no more clients arrive.
    Over,
    /// A work item leaves the queue of its driver; with 1 as its unit it moves nothing, and with 2 the driver
    /// has done its own work on the job. Of a client: its operation leaves the queue of its first device.
    Start,
    /// A unit enters the queue of the device that it is written to.
    Push,
    /// A unit is durable, and the reply enters the queue of the driver; of a pull, what follows it does.
    Reply,
    /// A request for a unit that its driver pulls enters the queue of the device that has it.
    Pull,
    /// A work item of a task whose jobs are done leaves the queue; as many follow as its unit says.
    Empty,
    /// A group is complete and asks the monitor for a change of the map.
    Changed,
    /// The monitor makes a map.
    Due,
    /// A map arrives at a server.
    Map,
}

/// Flags that travel with a unit, so that no lookup is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Marks(u8);

impl Marks {
    const GATHERS: u8 = 1;
    const ODD_NEXT: u8 = 2;
    const CLIENT: u8 = 4;
    const LAST: u8 = 8;

    /// What is not part of the event's hash, because it follows from the numbers of job and unit.
    const DERIVED: u8 = Marks::ODD_NEXT | Marks::LAST;

    /// Sets whether the unit is on its way to the driver that gathers it, rather than to a target.
    #[inline]
    #[must_use]
    pub(super) fn gathering(self, gathers: bool) -> Marks {
        Marks(self.0 & !Marks::GATHERS | u8::from(gathers))
    }

    /// Whether the unit is on its way to the driver that gathers it.
    #[inline]
    #[must_use]
    pub fn gathers(self) -> bool {
        self.0 & Marks::GATHERS != 0
    }

    /// Marks a unit of a client operation.
    pub(super) const fn client() -> Marks {
        Marks(Marks::CLIENT)
    }

    /// Whether the unit belongs to a client operation.
    #[inline]
    #[must_use]
    pub fn is_client(self) -> bool {
        self.0 & Marks::CLIENT != 0
    }

    /// Marks a unit whose acknowledgement may start one that is shorter than a full one or not on the
    /// driver's disk. The mark follows from the numbers of job and unit, so it is not part of the event's
    /// hash.
    #[inline]
    pub(super) fn before_odd(odd: bool) -> Marks {
        Marks(u8::from(odd) << 1)
    }

    #[inline]
    pub(super) fn odd_next(self) -> bool {
        self.0 & Marks::ODD_NEXT != 0
    }

    /// Marks the last unit of a job, after whose acknowledgement another job begins. As above, this is not
    /// part of the event's hash.
    #[inline]
    pub(super) fn of_last(self, last: bool) -> Marks {
        Marks(self.0 & !Marks::LAST | u8::from(last) << 3)
    }

    #[inline]
    pub(super) fn is_last(self) -> bool {
        self.0 & Marks::LAST != 0
    }
}

/// An event: what happens, and to which unit of which job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// What happens.
    pub kind: Kind,
    /// Flags of the unit.
    pub marks: Marks,
    /// The driver's slot that holds the job.
    pub slot: u16,
    /// The job; for reservations, the task.
    pub job: u32,
    /// The unit's number within the job.
    pub unit: u32,
    /// Bytes of the unit.
    pub bytes: u32,
    /// Where it is read or written, or where it is sent.
    pub device: DeviceId,
    /// The driver of the job.
    pub driver: DeviceId,
}

impl Event {
    /// The same unit with its next event.
    #[inline]
    pub(super) fn then(self, kind: Kind) -> Event {
        Event { kind, ..self }
    }

    /// Offset of the unit in the object.
    #[inline]
    pub(super) fn offset(&self, unit: u64) -> u64 {
        debug_assert!(
            self.marks.is_client() || u64::from(self.bytes) <= unit,
            "a unit of {unit} bytes has {}",
            self.bytes
        );
        if self.marks.is_client() { 0 } else { u64::from(self.unit) * unit }
    }
}

/// Hashes three words instead of eight fields, because every event is folded into the digest.
impl Hash for Event {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let kind = u32::from(self.kind as u8) << 24
            | u32::from(self.marks.0 & !Marks::DERIVED) << 16
            | u32::from(self.slot);
        state.write_u64(pair(kind, self.job));
        state.write_u64(pair(self.unit, self.bytes));
        state.write_u64(pair(self.device.0, self.driver.0));
    }
}

/// An event that carries only its kind.
pub(super) const fn plain(kind: Kind) -> Event {
    let nobody = DeviceId(0);
    Event { kind, marks: Marks(0), slot: 0, job: 0, unit: 0, bytes: 0, device: nobody, driver: nobody }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn marks_are_set_apart() {
        for gathers in [false, true] {
            for odd in [false, true] {
                let marks = Marks::before_odd(odd).gathering(gathers);
                assert_eq!((marks.gathers(), marks.odd_next(), marks.is_client()), (gathers, odd, false));
                let other = marks.gathering(!gathers);
                assert_eq!((other.gathers(), other.odd_next()), (!gathers, odd));
            }
        }
        let last = Marks::before_odd(true).of_last(true).gathering(true);
        assert!(last.is_last() && last.odd_next() && last.gathers() && !last.is_client());
        assert_eq!(last.of_last(false), Marks::before_odd(true).gathering(true));
        let client = Marks::client().gathering(true).gathering(false);
        assert!(client.is_client() && !client.gathers() && !client.odd_next() && !client.is_last());
    }

    #[test]
    fn a_unit_begins_behind_those_before_it() {
        let unit = Event { unit: 7, bytes: 90, ..plain(Kind::Read) };
        assert_eq!(unit.offset(100), 700);
        assert_eq!(Event { marks: Marks::client(), bytes: 900, ..unit }.offset(100), 0);
        assert_eq!(unit.then(Kind::Out), Event { kind: Kind::Out, ..unit });
        assert_eq!(Event { unit: u32::MAX, ..unit }.offset(1 << 22), u64::from(u32::MAX) << 22);
    }

    #[test]
    #[should_panic(expected = "a unit of 100 bytes has 101")]
    fn a_unit_that_is_too_long_is_noticed() {
        let _ = Event { bytes: 101, ..plain(Kind::Read) }.offset(100);
    }

    /// The hash covers every field of an event, except what follows from the others.
    #[test]
    fn the_hash_tells_events_apart() {
        let state = std::hash::RandomState::new();
        let hash = |event: Event| state.hash_one(event);
        let event = plain(Kind::Read);
        let odd = Event { marks: Marks::before_odd(true), ..event };
        assert_eq!(hash(event), hash(odd));
        assert_eq!(hash(event), hash(Event { marks: Marks::default().of_last(true), ..event }));
        let others = [
            Event { kind: Kind::Out, ..event },
            Event { marks: Marks::client(), ..event },
            Event { slot: 1, ..event },
            Event { job: 1, ..event },
            Event { unit: 1, ..event },
            Event { bytes: 1, ..event },
            Event { device: DeviceId(1), ..event },
            Event { driver: DeviceId(1), ..event },
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(hash(*other), hash(event), "{other:?}");
            assert!(others[..at].iter().all(|before| hash(*before) != hash(*other)), "{other:?}");
        }
    }
}
