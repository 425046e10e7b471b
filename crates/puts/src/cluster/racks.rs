//! An oversubscribed core: racks whose uplinks are slower than the sum of their nodes' links.
//!
//! Traffic between racks queues for the uplink of the first rack, then for that of the second, then as usual
//! for the receiver's port; within a rack nothing changes. A multicast crosses the sender's uplink once, and
//! once the uplink of each destination rack. Protocols know nothing of this: they negotiate for nodes' links,
//! and data are late if the core is. Reserved transfers cross in frames, and a third of the trip time lies
//! before the first uplink, between the two, and after the second.

use towtank_kernel::EntityId;
use towtank_negotiation::Window;
use towtank_units::{BitRate, Rounding, SimSpan, SimTime};

use super::{Cluster, Ctx};
use crate::counts::Sample;
use crate::event::{Cargo, Crossing, Event};
use crate::nodes::Rack;

/// Racks and their uplinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Racks {
    /// Number of racks.
    pub count: u32,
    /// Whether neighbouring nodes are in different racks rather than in the same one.
    pub spread: bool,
    /// Rate of an uplink in each direction.
    pub rate: BitRate,
    /// The part of that rate for data.
    pub data: BitRate,
    /// The part of that rate for control messages.
    pub control: BitRate,
}

impl Racks {
    /// The rack of node `at` among `all` nodes of its kind.
    fn of(&self, at: u32, all: u32) -> u32 {
        if self.spread {
            at % self.count
        } else {
            (u64::from(at) * u64::from(self.count) / u64::from(all.max(1))) as u32
        }
    }
}

/// The busy time of a share of the link, converted to busy time of the whole link.
pub(super) fn share_of(span: SimSpan, rate: BitRate, whole: BitRate) -> SimSpan {
    assert!(rate <= whole, "a share of {rate:?} of a link of {whole:?}");
    let [rate, whole] = [rate, whole].map(|rate| u128::from(rate.bits_per_second()));
    let ns = u128::from(span.as_ns()) * rate / whole;
    SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

impl Cluster {
    /// The rack of a node.
    fn rack_of(&self, racks: &Racks, node: EntityId) -> u32 {
        assert!(node.0 < self.gateways + self.terms.fixed.servers, "entity {node} is in no rack");
        match node.0.checked_sub(self.gateways) {
            None => racks.of(node.0, self.gateways),
            Some(server) => racks.of(server, self.terms.fixed.servers),
        }
    }

    fn entity_of_rack(&self, rack: u32) -> EntityId {
        let racks = self.racks.map_or(0, |racks| racks.count);
        assert!(rack < racks, "rack {rack} of {racks}");
        EntityId(self.gateways + self.terms.fixed.servers + rack)
    }

    /// A third of the trip time, and the remainder after two thirds.
    pub(super) fn hops(&self) -> (SimSpan, SimSpan) {
        let trip = self.terms.fixed.trip.as_ns();
        let third = (trip / 3).max(1);
        let last = trip.saturating_sub(2 * third).max(1);
        assert!(trip < 3 || 2 * third + last == trip, "two hops of {third} ns and one of {last} ns");
        (SimSpan::from_ns(third), SimSpan::from_ns(last))
    }

    /// Sends a message or frame to one node; its last bit leaves after `after`.
    pub(super) fn carry(&self, to: EntityId, after: SimSpan, cargo: Cargo, context: &mut Ctx<'_>) {
        self.carry_to_all(&[(to, cargo)], after, context);
    }

    /// Sends to several nodes at once by multicast; each may read another part.
    pub(super) fn carry_to_all(&self, to: &[(EntityId, Cargo)], after: SimSpan, context: &mut Ctx<'_>) {
        assert!(!to.is_empty(), "something goes to nobody");
        let Some(racks) = &self.racks else {
            let way = after.saturating_add(self.terms.fixed.trip);
            to.iter().for_each(|(to, cargo)| context.send(*to, way, cargo.arrival()));
            return;
        };
        let home = self.rack_of(racks, context.me());
        let mut crossed: Vec<u32> = Vec::new();
        for (to, cargo) in to {
            let rack = self.rack_of(racks, *to);
            if rack == home {
                context.send(*to, after.saturating_add(self.terms.fixed.trip), cargo.arrival());
                continue;
            }
            let crossing = Crossing {
                to: *to,
                cargo: *cargo,
                descends: false,
                first: crossed.is_empty(),
                first_of_rack: !crossed.contains(&rack),
            };
            crossed.push(rack);
            let way = after.saturating_add(self.hops().0);
            context.send(self.entity_of_rack(home), way, Event::Crossing(crossing));
        }
    }

    /// A message or frame arrives at an uplink, queues there and is forwarded. Further copies of a multicast
    /// need no time of their own; they follow just behind the first one.
    pub(super) fn at_rack(&self, rack: &mut Rack, event: &Event, context: &mut Ctx<'_>) -> bool {
        let (Event::Crossing(crossing), Some(racks)) = (event, &self.racks) else { return false };
        let now = context.now();
        let goal = self.rack_of(racks, crossing.to);
        let here = self.entity_of_rack(goal) == context.me();
        assert_eq!(here, crossing.descends, "what goes to rack {goal} is at {}", context.me());
        assert!(crossing.first_of_rack || !crossing.first, "the first of all is the first of its rack");
        let (counts, bits, rate) = match crossing.cargo {
            Cargo::Control(_) => (false, self.terms.control_bits, racks.control),
            Cargo::Frame(frame) => (true, frame.bits(), racks.data),
        };
        let ports = &mut rack.ports;
        let (control, data) = if crossing.descends {
            (&mut ports.control_in, &mut ports.data_in)
        } else {
            (&mut ports.control_out, &mut ports.data_out)
        };
        let charged = if crossing.descends { crossing.first_of_rack } else { crossing.first };
        let span = rate.span(bits, Rounding::Up);
        // Control has no share of its own: it goes first, and data wait for it.
        let shared = charged && !counts && !self.negotiates();
        let waited_for = shared.then(|| data.send(now, span));
        let port = if counts { data } else { control };
        let leaves = if charged {
            let crossing = port.receive(now, span);
            let begin = waited_for.unwrap_or(crossing).begin;
            let window = Window { left: begin, right: begin.saturating_add(span) };
            context.record(Sample::Busy(share_of(self.within_measured(window), rate, racks.rate)));
            crossing.end
        } else {
            port.free_at().max(now)
        };
        assert!(leaves >= now, "{crossing:?} leaves at {leaves:?}, before it came");
        self.go_on_from_rack(crossing, leaves, context);
        true
    }

    fn go_on_from_rack(&self, crossing: &Crossing, leaves: SimTime, context: &mut Ctx<'_>) {
        let (hop, last_hop) = self.hops();
        if crossing.descends {
            let arrives = leaves.saturating_add(last_hop);
            context.send_at(crossing.to, arrives, crossing.cargo.arrival());
        } else if let Some(racks) = &self.racks {
            let to = self.entity_of_rack(self.rack_of(racks, crossing.to));
            let arrives = leaves.saturating_add(hop);
            context.send_at(to, arrives, Event::Crossing(Crossing { descends: true, ..*crossing }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_spread_over_racks_or_fill_them() {
        let rate = BitRate::at_least_one(1);
        let racks = Racks { count: 3, spread: true, rate, data: rate, control: rate };
        let of = |racks: &Racks| (0..9).map(|at| racks.of(at, 9)).collect::<Vec<_>>();
        assert_eq!(of(&racks), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(of(&Racks { spread: false, ..racks }), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    }
}
