//! A switch: transfers of several flows leave through each of its ports and share that port's rate.
//!
//! With fair sharing, all flows that have something at a port get equal parts of its rate at every instant,
//! and the transfers of one flow follow each other (generalised processor sharing with equal weights: Parekh
//! and Gallager, IEEE/ACM Transactions on Networking 1(3), 1993). With first come first served, the whole
//! port has one queue. In both cases a port counts the bytes that a permanently backlogged flow would have
//! received. The value of this count at which a transfer ends is known when the transfer arrives; only the
//! instant changes as flows come and go. So a port states when its next transfer ends ([`Switch::due`]), and
//! must be asked again after each arrival and each end. An event for an outdated instant finds nothing done
//! and has no effect.
//!
//! Left out: packets, buffer overflows, and ports that limit their senders (a [`crate::Link`] in front does
//! that). A transfer arrives at a port with its first byte. It ends with the nanosecond in which its last
//! byte leaves, and what the port could have sent in the rest of that nanosecond is lost, so no port is
//! faster than its rate.

use std::collections::BTreeMap;

use towtank_units::{Rate, SimSpan, SimTime};

use crate::Broken;

/// How flows share a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Sharing {
    /// Flows with something to send get equal parts of the rate.
    Fair,
    /// First come, first served.
    Fifo,
}

/// The parameters of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSpec {
    /// The rate of each port.
    pub port: Rate,
    /// How flows share a port.
    pub sharing: Sharing,
}

impl SwitchSpec {
    /// The queue in which a flow's transfers wait: its own under fair sharing, otherwise the shared one.
    fn queue_of(&self, flow: u32) -> u32 {
        match self.sharing {
            Sharing::Fair => flow,
            Sharing::Fifo => 0,
        }
    }
}

/// A port of a switch; it leads to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PortId(pub u32);

/// A transfer that arrives at a switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Transfer<T> {
    /// The flow to which it belongs.
    pub flow: u32,
    /// The number of bytes.
    pub bytes: u64,
    /// Data for the receiver.
    pub item: T,
}

/// The ports of a switch and the transfers inside.
///
/// **Conservation:** at each port, bytes arrived = bytes sent + bytes inside; and the bytes sent are at most
/// what the port's rate allows in the time in which it had something to send ([`Switch::audit`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Switch<T> {
    ports: Vec<Port<T>>,
}

/// Parts per byte, so that fractions of the bytes of a nanosecond are not lost.
const PARTS: u128 = 1 << 20;
const NS_PER_SEC: u128 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Port<T> {
    /// Parts of a byte that a permanently backlogged flow would have received until `since`.
    got: u128,
    since: SimTime,
    /// Keyed by the value of the count at which they end, then by order of arrival.
    #[serde(
        with = "towtank_units::pairs",
        bound(serialize = "T: serde::Serialize", deserialize = "T: serde::Deserialize<'de>")
    )]
    inside: BTreeMap<(u128, u64), Transfer<T>>,
    /// Backlogged queues: the count at which the last transfer of each ends, and its number of transfers.
    queues: BTreeMap<u32, (u128, u32)>,
    order: u64,
    came: u64,
    gone: u64,
    busy: SimSpan,
}

impl<T> Switch<T> {
    /// A switch with this many ports and no transfers.
    #[must_use]
    pub fn new(ports: u32) -> Switch<T> {
        Switch { ports: (0..ports).map(|_| Port::new()).collect() }
    }

    /// Adds a transfer to a port. This may change [`Switch::due`].
    ///
    /// # Panics
    /// If a transfer of the port ended before now and was not taken out.
    pub fn send(&mut self, spec: &SwitchSpec, now: SimTime, port: PortId, transfer: Transfer<T>) {
        self.ports[port.0 as usize].send(spec, now, transfer);
    }

    /// When the next transfer ends at a port, if no other arrives.
    #[must_use]
    pub fn due(&self, spec: &SwitchSpec, port: PortId) -> Option<SimTime> {
        self.ports[port.0 as usize].due(spec)
    }

    /// Takes out a transfer that has ended at a port. Call it until it returns `None`, then ask
    /// [`Switch::due`] again.
    ///
    /// # Panics
    /// If one ended before now and was not taken out then.
    pub fn done(&mut self, spec: &SwitchSpec, now: SimTime, port: PortId) -> Option<Transfer<T>> {
        self.ports[port.0 as usize].done(spec, now)
    }

    /// All transfers inside, port by port.
    pub fn inside(&self) -> impl Iterator<Item = (PortId, &Transfer<T>)> {
        (0..).zip(&self.ports).flat_map(|(id, port)| port.inside.values().map(move |one| (PortId(id), one)))
    }

    /// The total time during which a port had something to send.
    #[must_use]
    pub fn busy(&self, port: PortId) -> SimSpan {
        self.ports[port.0 as usize].busy
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self, spec: &SwitchSpec) -> Result<(), Broken> {
        self.ports.iter().try_for_each(|port| port.audit(spec))
    }
}

impl<T> Port<T> {
    fn new() -> Port<T> {
        Port {
            got: 0,
            since: SimTime::ZERO,
            inside: BTreeMap::new(),
            queues: BTreeMap::new(),
            order: 0,
            came: 0,
            gone: 0,
            busy: SimSpan::ZERO,
        }
    }

    fn send(&mut self, spec: &SwitchSpec, now: SimTime, transfer: Transfer<T>) {
        self.advance(spec, now);
        let queue = spec.queue_of(transfer.flow);
        let (end, count) = self.queues.entry(queue).or_insert((self.got, 0));
        *end = (*end).max(self.got).saturating_add(u128::from(transfer.bytes) * PARTS);
        *count += 1;
        self.came += transfer.bytes;
        self.inside.insert((*end, self.order), transfer);
        self.order += 1;
    }

    fn due(&self, spec: &SwitchSpec) -> Option<SimTime> {
        let missing = self.inside.first_key_value()?.0.0.saturating_sub(self.got);
        let ns = missing
            .saturating_mul(self.queues.len() as u128 * NS_PER_SEC)
            .div_ceil(u128::from(spec.port.bytes_per_second()) * PARTS);
        Some(self.since.saturating_add(SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))))
    }

    fn done(&mut self, spec: &SwitchSpec, now: SimTime) -> Option<Transfer<T>> {
        self.advance(spec, now);
        let first = self.inside.first_entry().filter(|first| first.key().0 <= self.got)?;
        let transfer = first.remove();
        let queue = spec.queue_of(transfer.flow);
        if let Some((_, count)) = self.queues.get_mut(&queue) {
            *count -= 1;
            if *count == 0 {
                self.queues.remove(&queue);
            }
        }
        self.gone += transfer.bytes;
        Some(transfer)
    }

    /// Advances the count to `now`; while nothing is inside, the count stays and no time is saved.
    fn advance(&mut self, spec: &SwitchSpec, now: SimTime) {
        let due = self.due(spec);
        assert!(
            due.is_none_or(|due| due >= now),
            "a transfer that ended {due:?} was not taken out before {now}"
        );
        let span = now.checked_since(self.since).unwrap_or(SimSpan::ZERO);
        self.since = self.since.max(now);
        if self.queues.is_empty() {
            return;
        }
        let parts = u128::from(spec.port.bytes_per_second()) * PARTS;
        let share = parts.saturating_mul(u128::from(span.as_ns())) / (self.queues.len() as u128 * NS_PER_SEC);
        self.got = self.got.saturating_add(share);
        self.busy = self.busy.saturating_add(span);
    }

    fn audit(&self, spec: &SwitchSpec) -> Result<(), Broken> {
        let (came, gone, busy) = (self.came, self.gone, self.busy);
        let inside = self.inside.values().map(|transfer| transfer.bytes).sum();
        if came != gone + inside {
            return Err(Broken::LostBytes { came, gone, inside });
        }
        if gone > spec.port.bytes_in(busy).get() { Err(Broken::TooFast { gone, busy }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
