//! Links between nodes: one direction of a node's link ([`Link`]), and both directions of a rack's link to
//! the core ([`Uplink`]).
//!
//! The sender states how long a transfer occupies the link: from the rate and gap of a NIC
//! ([`crate::CardClock`]), or from the rate and rounding of a published model. A link that carries two kinds
//! of traffic by fixed shares is modelled as one link for each.

use towtank_units::{SimSpan, SimTime};

use crate::{Broken, Lane, Service};

/// One direction of a node's link: sending or receiving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Link {
    /// Its queue.
    pub lane: Lane,
}

impl Link {
    /// Sends a message that occupies the link for `span`, after earlier ones.
    #[inline]
    pub fn send(&mut self, now: SimTime, span: SimSpan) -> Service {
        self.lane.serve(now, span)
    }

    /// Receives a message that was sent no faster than this link receives and whose last byte can arrive at
    /// `last_byte`.
    #[inline]
    pub fn receive(&mut self, last_byte: SimTime, span: SimSpan) -> Service {
        self.lane.receive(last_byte, span)
    }

    /// When all transfers that it has accepted will be done.
    #[must_use]
    pub fn free_at(&self) -> SimTime {
        self.lane.idle_at
    }
}

/// The direction in which a transfer crosses an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Way {
    /// Out of the rack.
    Up,
    /// Into the rack.
    Down,
}

impl Way {
    /// Both directions.
    pub const BOTH: [Way; 2] = [Way::Up, Way::Down];
}

/// Both directions of a rack's link to the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Uplink {
    lanes: [Lane; 2],
}

impl Uplink {
    /// Sends a transfer across in `span`; its last byte arrives at `last_byte`. Upwards it comes from a node
    /// that sent for `sent_in` and may be faster than the uplink; downwards it comes from another uplink, and
    /// all uplinks have the same rate.
    #[inline]
    pub fn cross(&mut self, way: Way, last_byte: SimTime, sent_in: SimSpan, span: SimSpan) -> Service {
        let lane = self.lane_mut(way);
        match way {
            Way::Up => lane.cut_through(last_byte, sent_in, span),
            Way::Down => lane.receive(last_byte, span),
        }
    }

    /// The lane of one direction.
    #[must_use]
    pub fn lane(&self, way: Way) -> &Lane {
        &self.lanes[way as usize]
    }

    /// Mutable access to the lane of one direction, for undoing.
    pub fn lane_mut(&mut self, way: Way) -> &mut Lane {
        &mut self.lanes[way as usize]
    }

    /// Checks the conservation law of both directions.
    ///
    /// # Errors
    /// The first violation.
    pub fn audit(&self) -> Result<(), Broken> {
        self.lanes.iter().try_for_each(Lane::audit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    #[test]
    fn what_comes_together_is_spread() {
        let (mut link, span) = (Link::default(), SimSpan::from_ns(10));
        assert_eq!(link.send(at(5), span), Service { begin: at(5), end: at(15) });
        assert_eq!(link.send(at(6), span), Service { begin: at(15), end: at(25) });
        assert_eq!(link.free_at(), at(25));
        let mut link = Link::default();
        assert_eq!(
            [100, 100, 105, 140].map(|now| link.receive(at(now), span).end.as_ns()),
            [100, 110, 120, 140]
        );
    }

    #[test]
    fn idle_time_is_not_saved() {
        let (mut link, span) = (Link::default(), SimSpan::from_ns(10));
        link.send(at(0), span);
        // Idle from 10 to 1,000: idle time is not saved for two transfers that come then.
        assert_eq!(
            [link.send(at(1_000), span), link.send(at(1_000), span)].map(|one| one.end),
            [at(1_010), at(1_020)]
        );
    }

    #[test]
    fn the_ways_of_an_uplink_do_not_hinder_each_other() {
        let (mut uplink, sent_in, span) = (Uplink::default(), SimSpan::from_ns(10), SimSpan::from_ns(40));
        // A node sends from 100 to 110: the uplink takes four times as long, starting with the first byte.
        assert_eq!(uplink.cross(Way::Up, at(110), sent_in, span), Service { begin: at(100), end: at(140) });
        assert_eq!(uplink.cross(Way::Up, at(110), sent_in, span), Service { begin: at(140), end: at(180) });
        // Downwards it was sent by an uplink, and it ends with the last byte.
        assert_eq!(uplink.cross(Way::Down, at(140), sent_in, span), Service { begin: at(100), end: at(140) });
        assert_eq!(Way::BOTH.map(|way| uplink.lane(way).busy.as_ns()), [80, 40]);
    }

    #[test]
    fn an_uplink_with_work_from_nowhere_is_noticed() {
        let mut uplink = Uplink::default();
        uplink.cross(Way::Down, at(40), SimSpan::from_ns(10), SimSpan::from_ns(40));
        assert_eq!(uplink.audit(), Ok(()));
        uplink.lane_mut(Way::Down).busy = SimSpan::from_ns(41);
        assert!(uplink.audit().is_err());
    }
}
