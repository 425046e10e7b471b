//! Network interfaces (NICs): LogGP without its overheads, full duplex.
//!
//! A message of S bytes occupies the sender's NIC for S bytes at its rate plus a gap, reaches the receiver a
//! latency later, and occupies the receiver's NIC for the same time. Bytes stream: the receiver takes them in
//! while the sender still sends, so a message waits only once for the receiver's NIC. (Alexandrov and others,
//! LogGP, SPAA 1995; CODES leaves out the overheads o as well.) Packets are not modelled. Two messages to one
//! NIC are received one after the other, in the order of their last bytes.

use towtank_units::{Bytes, Rate, SimSpan};

/// The parameters of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardSpec {
    /// The rate in each direction.
    pub rate: Rate,
    /// The time from one NIC to another, for the first byte.
    pub latency: SimSpan,
    /// The fixed time per message besides its bytes, at either end.
    pub gap: SimSpan,
}

impl CardSpec {
    /// How long a message occupies a NIC.
    #[must_use]
    pub fn span(&self, size: Bytes) -> SimSpan {
        self.rate.span_for(size).saturating_add(self.gap)
    }
}

/// The service times of a NIC, with that of the usual size cached.
#[derive(Clone, Copy, Debug)]
pub struct CardClock {
    spec: CardSpec,
    usual: (u64, SimSpan),
}

impl CardClock {
    /// `usual` is the size that most messages have.
    #[must_use]
    pub fn new(spec: CardSpec, usual: Bytes) -> CardClock {
        CardClock { spec, usual: (usual.get(), spec.span(usual)) }
    }

    /// How long a message of `size` bytes occupies the NIC.
    #[inline]
    #[must_use]
    pub fn span(&self, size: u64) -> SimSpan {
        if size == self.usual.0 { self.usual.1 } else { self.spec.span(Bytes::new(size)) }
    }

    /// The parameters of the NIC.
    #[must_use]
    pub fn spec(&self) -> &CardSpec {
        &self.spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_size_takes_what_the_rule_says() {
        let rate = Rate::from_bytes_per_second(2_000_000_000).expect("above zero");
        let spec = CardSpec { rate, latency: SimSpan::from_us(7), gap: SimSpan::from_ns(100) };
        let clock = CardClock::new(spec, Bytes::new(4096));
        assert_eq!(clock.span(4096), SimSpan::from_ns(2048 + 100));
        assert_eq!(clock.span(1), SimSpan::from_ns(1 + 100));
        assert_eq!(clock.spec(), &spec);
    }
}
