//! Detects ports with a longer queue than all puts together could need. A gateway that retries sooner than
//! its messages get through sends more and more of them, and such a run would use up all memory. It ends with
//! a fault instead, which names the keys to change.

use towtank_kernel::Fault;
use towtank_units::{Rounding, SimSpan, SimTime};

use super::Cluster;
use crate::nodes::Entity;
use crate::ports::Ports;

/// The messages, or frames, of each put that may wait at one port. A put without retries has at most four
/// messages in flight to or from a server, and the frames of a chunk once; a server of UCH-CCP notifies all
/// flows of each change.
const OF_A_PUT: u64 = 8;
/// The number that may wait at a port however few puts there are.
const OF_NOBODY: u64 = 10_000;

impl Cluster {
    /// Fails if the queue at a port of the node is too long.
    pub(super) fn check_crowd(&self, entity: &Entity, now: SimTime) -> Result<(), Fault> {
        if self.quirks.control_is_free {
            return Ok(());
        }
        let (ports, control, frame) = match entity {
            Entity::Gateway(gateway) => {
                (&gateway.ports, self.terms.control, self.terms.wire(self.terms.frame_bits))
            }
            Entity::Server(server) => {
                (&server.ports, self.terms.control, self.terms.wire(self.terms.frame_bits))
            }
            Entity::Rack(rack) => {
                let Some(racks) = &self.racks else { return Ok(()) };
                let control = racks.control.span(self.terms.control_bits, Rounding::Up);
                (&rack.ports, control, racks.data.span(self.terms.frame_bits, Rounding::Up))
            }
        };
        let puts = u64::from(self.gateways) * u64::from(self.in_flight);
        let frames = self.terms.sizes.iter().map(|size| size.frames).max().unwrap_or(1);
        let messages_max = OF_NOBODY + OF_A_PUT * puts;
        let frames_max = messages_max.saturating_mul(frames * u64::from(self.terms.fixed.replicas));
        // Where control has no share of its own, data wait for it too.
        let data = frame.saturating_mul(frames_max).saturating_add(control.saturating_mul(messages_max));
        crowded(
            "control messages",
            waits(ports, now, false),
            control.saturating_mul(messages_max),
            messages_max,
        )?;
        crowded("frames", waits(ports, now, true), data, frames_max)
    }
}

/// How long a message that arrives now waits at a port.
fn waits(ports: &Ports, now: SimTime, data: bool) -> SimSpan {
    let [out, back] =
        if data { [&ports.data_out, &ports.data_in] } else { [&ports.control_out, &ports.control_in] };
    debug_assert!(out.lane.busy <= out.free_at().since(SimTime::ZERO), "a link has more to do than time");
    debug_assert!(back.lane.busy <= back.free_at().since(SimTime::ZERO), "a link has more to do than time");
    out.free_at().max(back.free_at()).checked_since(now).unwrap_or_default()
}

fn crowded(what: &str, waits: SimSpan, limit: SimSpan, count: u64) -> Result<(), Fault> {
    if waits <= limit {
        return Ok(());
    }
    Err(format!(
        "more than {count} {what} wait {waits} for a link: they arrive faster than `network.link` and `network.uplink` \
         carry them; raise these, `faults.bid_timeout` or `faults.ack_timeout`, or lower `in_flight` or `gateways`"
    )
    .into())
}
