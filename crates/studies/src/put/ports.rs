//! Network ports: what is sent queues for the link of its node, and again for the link of the receiver.
//!
//! A port is known by when it falls free. A message whose way is free needs the time of its bits once and the trip; behind
//! others it waits for theirs. In SURGE's fidelity ports are not used: there, control messages never queue.

use towtank_units::{SimSpan, SimTime};

/// One direction of a node's link, or the share of it that one kind of traffic has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Port {
    free: SimTime,
}

impl Port {
    /// Sends what takes `span`, behind what is there; when that begins.
    pub fn send(&mut self, now: SimTime, span: SimSpan) -> SimTime {
        let begin = self.free.max(now);
        self.free = begin.saturating_add(span);
        begin
    }

    /// Receives what takes `span` and whose last bit could be here now; when it is.
    pub fn receive(&mut self, now: SimTime, span: SimSpan) -> SimTime {
        self.free = self.free.saturating_add(span).max(now);
        self.free
    }

    /// When all that it has taken on is through.
    pub fn free_at(&self) -> SimTime {
        self.free
    }
}

/// The ports of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Ports {
    /// Control messages that go.
    pub control_out: Port,
    /// Control messages that come.
    pub control_in: Port,
    /// Data that go.
    pub data_out: Port,
    /// Data that come.
    pub data_in: Port,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_together_is_spread() {
        let (mut port, at, span) = (Port::default(), SimTime::from_ns, SimSpan::from_ns(10));
        assert_eq!(port.send(at(5), span), at(5));
        assert_eq!(port.send(at(6), span), at(15));
        let mut port = Port::default();
        assert_eq!([100, 100, 105, 140].map(|now| port.receive(at(now), span).as_ns()), [100, 110, 120, 140]);
    }
}
