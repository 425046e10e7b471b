//! Links between nodes: one direction of a node's card ([`Link`]), and both ways of a rack's link to the core
//! ([`Uplink`]).
//!
//! How long something occupies them is said by whoever sends it: a card's rate and gap
//! ([`crate::CardClock`]), or the rate and rounding of a published model. A link that carries two kinds of
//! traffic by fixed shares is a link for each.

use towtank_units::{SimSpan, SimTime};

use crate::{Broken, Lane, Service};

/// One direction of a node's link: what it sends, or what it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Link {
    /// Its queue.
    pub lane: Lane,
}

impl Link {
    /// Something is sent that occupies the link for `span`, behind what is there.
    #[inline]
    pub fn send(&mut self, now: SimTime, span: SimSpan) -> Service {
        self.lane.serve(now, span)
    }

    /// Something comes that was sent no faster than this link receives, and whose last byte could be here
    /// now.
    #[inline]
    pub fn receive(&mut self, last_byte: SimTime, span: SimSpan) -> Service {
        self.lane.receive(last_byte, span)
    }

    /// When all that it has taken on is through.
    #[must_use]
    pub fn free_at(&self) -> SimTime {
        self.lane.idle_at
    }
}

/// Which way something crosses an uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Way {
    /// Out of the rack.
    Up,
    /// Into it.
    Down,
}

impl Way {
    /// Both.
    pub const BOTH: [Way; 2] = [Way::Up, Way::Down];
}

/// Both ways of a rack's link to the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Uplink {
    lanes: [Lane; 2],
}

impl Uplink {
    /// Something crosses in `span` whose last byte is here now. Upwards it comes from a node that sent for
    /// `sent_in` and may be faster than the uplink; downwards from another uplink, and all are alike.
    #[inline]
    pub fn cross(&mut self, way: Way, last_byte: SimTime, sent_in: SimSpan, span: SimSpan) -> Service {
        let lane = self.lane_mut(way);
        match way {
            Way::Up => lane.cut_through(last_byte, sent_in, span),
            Way::Down => lane.receive(last_byte, span),
        }
    }

    /// One way.
    #[must_use]
    pub fn lane(&self, way: Way) -> &Lane {
        &self.lanes[way as usize]
    }

    /// One way, to be put back as it was.
    pub fn lane_mut(&mut self, way: Way) -> &mut Lane {
        &mut self.lanes[way as usize]
    }

    /// Checks the laws of both ways.
    ///
    /// # Errors
    /// The first that does not hold.
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
        // Idle from 10 to 1,000: two that come then are no faster for it.
        assert_eq!(
            [link.send(at(1_000), span), link.send(at(1_000), span)].map(|one| one.end),
            [at(1_010), at(1_020)]
        );
    }

    #[test]
    fn the_ways_of_an_uplink_do_not_hinder_each_other() {
        let (mut uplink, sent_in, span) = (Uplink::default(), SimSpan::from_ns(10), SimSpan::from_ns(40));
        // A node sends from 100 to 110: four times as long over the uplink, from the first byte on.
        assert_eq!(uplink.cross(Way::Up, at(110), sent_in, span), Service { begin: at(100), end: at(140) });
        assert_eq!(uplink.cross(Way::Up, at(110), sent_in, span), Service { begin: at(140), end: at(180) });
        // Down it was sent by an uplink, and the last byte ends it.
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
