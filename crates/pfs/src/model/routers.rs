//! Routers between clients and servers, as LNet routers stand between two networks.
//!
//! A router forwards bytes as they arrive (cut through), at its own rate in each direction. Messages that
//! would find more than the network's buffer in front of them are dropped, and sent again by their sender.
//! Left out: failover to another router, and the credits by which LNet limits messages under way.

use towtank_kernel::{Context, EntityId, Fault};
use towtank_units::{Bytes, SimSpan};

use super::Pfs;
use crate::event::{Event, Message};
use crate::nodes::{Mark, Router};

/// A message's way and size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    pub(super) from: u32,
    pub(super) to: u32,
    /// How long it occupies a NIC.
    pub(super) span: SimSpan,
    pub(super) bytes: u64,
}

impl<'a> Pfs<'a> {
    /// The router that a message between these nodes crosses: that of the client, if the other node is none.
    pub(super) fn router_between(&self, from: u32, to: u32) -> Option<EntityId> {
        let routers = self.spec.network.routers?;
        let is_client = |node: u32| node < self.clients;
        let client = match (is_client(from), is_client(to)) {
            (true, false) => from,
            (false, true) => to,
            _ => return None,
        };
        Some(EntityId(self.first_router() + client % routers.count))
    }

    /// A message arrives at a router, which forwards or drops it.
    pub(super) fn crosses(
        &self,
        router: &mut Router,
        carried: Carried,
        message: Message,
        context: &mut Context<'_, Pfs<'a>>,
    ) {
        let network = &self.spec.network;
        let Some(routers) = network.routers else { return };
        let Carried { from, to, span, bytes } = carried;
        let now = context.now();
        let lane = if to < self.clients { &mut router.to_clients } else { &mut router.to_servers };
        router.came += 1;
        if network.is_full(lane, routers.rate, now) {
            router.dropped += 1;
            self.drops(from, to, bytes, message, context);
            return;
        }
        router.forwarded += 1;
        // Where senders share ports, this is the instant of the first byte.
        let last_byte = if network.shares() { now.saturating_add(span) } else { now };
        let crossed = lane.cut_through(last_byte, span, routers.rate.span_for(Bytes::new(bytes)));
        // The receiver's NIC takes its own time from the first byte on.
        let all = crossed.end.max(crossed.begin.saturating_add(span));
        let at = if network.shares() { all.saturating_sub(span) } else { all };
        debug_assert!(at >= now, "a message leaves a router at {at:?}, and it is {now:?}");
        let at = at.saturating_add(network.latency);
        context.send_at(EntityId(to), at, Event::Comes { from, span, bytes, message });
    }

    /// A phase begins.
    pub(super) fn router_hears(&self, router: &mut Router, message: &Message) -> Result<(), Fault> {
        let Message::Begin { phase } = message else {
            return Err("a router received a message that it cannot handle".into());
        };
        if self.is_last(*phase) {
            let (sent, received) = (router.to_servers.busy, router.to_clients.busy);
            router.mark = Mark { sent, received, ..Mark::default() };
        }
        Ok(())
    }
}
