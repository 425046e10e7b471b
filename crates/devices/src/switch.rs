//! A switch: transfers of several flows leave by each of its ports, and share that port's rate.
//!
//! Shared fairly, all flows that have something at a port get the same part of its rate at every instant, and
//! the transfers of a flow follow each other (generalised processor sharing with equal weights: Parekh and
//! Gallager, IEEE/ACM Transactions on Networking 1(3), 1993). First come first served, the whole port has one
//! queue. Either way a port counts the bytes that a flow which always had something would have got, and a
//! transfer ends at a value of this count that is known when it comes; only the instant moves as flows come
//! and go. So a port says when its next transfer ends ([`Switch::due`]), and is asked again whenever
//! something comes or ends. An event for an instant that has moved finds nothing done and does no harm.
//!
//! What is left out: packets, buffers that overflow, and ports that limit their senders (a [`crate::Link`] in
//! front does that). Transfers come to a port with their first byte. A transfer ends with the nanosecond in
//! which its last byte leaves, and what the port could have sent in the rest of that nanosecond is lost, so
//! that no port is faster than its rate.

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

/// What a switch can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Of each port.
    pub port: Rate,
    /// How flows share a port.
    pub sharing: Sharing,
}

impl SwitchSpec {
    /// The queue that a flow's transfers wait in: one of its own, or that of all.
    fn queue_of(&self, flow: u32) -> u32 {
        match self.sharing {
            Sharing::Fair => flow,
            Sharing::Fifo => 0,
        }
    }
}

/// A port of a switch: what leaves by it goes to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PortId(pub u32);

/// A transfer that comes to a switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Transfer<T> {
    /// Whose it is.
    pub flow: u32,
    /// How many bytes.
    pub bytes: u64,
    /// What whoever gets it needs to know.
    pub item: T,
}

/// A switch's ports, and what is in them.
///
/// **Conservation:** at each port, bytes that came = bytes through + bytes inside; and what is through is no
/// more than the port's rate allows in the time in which it had something to send ([`Switch::audit`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Switch<T> {
    ports: Vec<Port<T>>,
}

/// Bytes are counted in these parts, so that shares of a nanosecond's bytes are not lost.
const PARTS: u128 = 1 << 20;
const NS_PER_SEC: u128 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Port<T> {
    /// Parts of a byte that a flow which always had something would have got, until `since`.
    got: u128,
    since: SimTime,
    /// By where the count will be when they end; of equals, who came first.
    #[serde(
        with = "towtank_units::pairs",
        bound(serialize = "T: serde::Serialize", deserialize = "T: serde::Deserialize<'de>")
    )]
    inside: BTreeMap<(u128, u64), Transfer<T>>,
    /// Queues with something to send: where the last transfer of each ends, and how many it has.
    queues: BTreeMap<u32, (u128, u32)>,
    order: u64,
    came: u64,
    gone: u64,
    busy: SimSpan,
}

impl<T> Switch<T> {
    /// A switch with so many ports, and nothing in them.
    #[must_use]
    pub fn new(ports: u32) -> Switch<T> {
        Switch { ports: (0..ports).map(|_| Port::new()).collect() }
    }

    /// A transfer comes to a port. What [`Switch::due`] says may change with it.
    ///
    /// # Panics
    /// When a transfer of the port has ended before now and was not taken out.
    pub fn send(&mut self, spec: &SwitchSpec, now: SimTime, port: PortId, transfer: Transfer<T>) {
        self.ports[port.0 as usize].send(spec, now, transfer);
    }

    /// When the next transfer ends at a port, if nothing more comes to it.
    #[must_use]
    pub fn due(&self, spec: &SwitchSpec, port: PortId) -> Option<SimTime> {
        self.ports[port.0 as usize].due(spec)
    }

    /// A transfer that has ended at a port; to be called until there is none, then the rest is asked for
    /// again.
    ///
    /// # Panics
    /// When one has ended before now and was not taken out then.
    pub fn done(&mut self, spec: &SwitchSpec, now: SimTime, port: PortId) -> Option<Transfer<T>> {
        self.ports[port.0 as usize].done(spec, now)
    }

    /// All that is inside, port by port.
    pub fn inside(&self) -> impl Iterator<Item = (PortId, &Transfer<T>)> {
        (0..).zip(&self.ports).flat_map(|(id, port)| port.inside.values().map(move |one| (PortId(id), one)))
    }

    /// How long a port has had something to send.
    #[must_use]
    pub fn busy(&self, port: PortId) -> SimSpan {
        self.ports[port.0 as usize].busy
    }

    /// Checks the laws.
    ///
    /// # Errors
    /// The first that does not hold.
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

    /// Counts on until now; while nothing is inside, nothing is counted and no time is saved.
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
