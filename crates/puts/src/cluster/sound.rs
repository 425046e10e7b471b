//! Consistency conditions of a cluster before a run, and of each node after each event.
//!
//! The audit checks the final state of a run. These assertions check every state before it, as far as one
//! node can tell, and so name the first event after which something was wrong.

use towtank_negotiation::bids::State;
use towtank_negotiation::{Message, ServerId, Size, SizeTerms};
use towtank_units::SimTime;

use super::{Cluster, Load};
use crate::event::Transfer;
use crate::nodes::{Entity, Gateway, Rack, Server, Target};

impl Cluster {
    /// Checks that times are in order, that shares add up, and that frames make up their chunks.
    ///
    /// # Panics
    /// If one of these does not hold.
    pub(crate) fn assert_sound(&self) {
        let (fixed, measured) = (&self.terms.fixed, &self.measured);
        assert!(self.gateways > 0, "there are no gateways");
        assert!(self.in_flight > 0, "gateways may put nothing at once");
        assert!(measured.from <= measured.until, "what counts ends at {:?}", measured.until);
        assert!(measured.until <= measured.end, "what counts ends after {:?}", measured.end);
        assert!(self.traced.puts_until <= measured.end, "puts are drawn after {:?}", measured.end);
        assert!(!fixed.trip.is_zero(), "a message arrives when it is sent");
        assert!(fixed.replicas > 0, "a chunk has no replicas");
        assert!(fixed.replicas <= fixed.servers, "{} replicas, {} servers", fixed.replicas, fixed.servers);
        assert_eq!(fixed.disk_of.len(), fixed.servers as usize, "each server has a disk");
        let kinds = self.terms.disks.len();
        assert!(fixed.disk_of.iter().all(|kind| usize::from(*kind) < kinds), "a disk is of no kind");
        assert!(self.failures.0 <= fixed.servers, "{} of {} servers fail", self.failures.0, fixed.servers);
        if self.negotiates() {
            assert!(fixed.replicas <= fixed.group, "{} replicas, groups of {}", fixed.replicas, fixed.group);
            assert_eq!(self.terms.groups() * fixed.group, fixed.servers, "some servers are in no group");
        }
        self.assert_sizes();
        if let Some(racks) = &self.racks {
            assert!(racks.count > 1, "{} racks have nothing to cross", racks.count);
            assert!(racks.count <= fixed.servers, "{} racks, {} servers", racks.count, fixed.servers);
            assert!(racks.data <= racks.rate, "data have more than their uplink");
            assert!(racks.control <= racks.rate, "control messages have more than their uplink");
        }
    }

    fn assert_sizes(&self) {
        let sizes = &self.terms.sizes;
        assert!(!sizes.is_empty(), "chunks have no size");
        assert_eq!(self.shares.len(), sizes.len(), "each size has its share");
        assert!(self.shares.is_sorted(), "some size has less than no share: {:?}", self.shares);
        assert_eq!(self.shares.last(), Some(&u64::MAX), "some chunks have no size");
        for disk in &self.terms.disks {
            assert_eq!(disk.writes.len(), sizes.len(), "a disk writes each size in some time");
            assert_eq!(disk.reads.len(), sizes.len(), "a disk reads each size in some time");
        }
        for size in sizes {
            assert!(!size.bytes.is_zero(), "a chunk has no bytes");
            assert!(size.frames > 0, "a chunk of {} has no frames", size.bytes);
            assert!(size.last_bits > 0, "the last frame of {} is empty", size.bytes);
            assert!(size.last_bits <= self.terms.frame_bits, "the last frame of {} is too long", size.bytes);
            let bits = (size.frames - 1) * self.terms.frame_bits + size.last_bits;
            assert_eq!(bits, size.bytes.get() * 8, "the frames of {} do not make it up", size.bytes);
            assert!(size.last <= size.frame, "the last frame of {} takes longer than others", size.bytes);
            assert!(size.window <= size.bid, "a transfer of {} takes more than its bid", size.bytes);
            assert!(size.queue > 0, "no chunk of {} may wait for a disk", size.bytes);
        }
    }

    /// Checks one node's state after an event.
    ///
    /// # Panics
    /// If something was lost, duplicated, or arrived early.
    pub(super) fn assert_node(&self, entity: &Entity, now: SimTime) {
        match entity {
            Entity::Gateway(gateway) => self.assert_gateway(gateway, now),
            Entity::Server(server) => self.assert_server(server),
            Entity::Rack(rack) => self.assert_rack(rack),
        }
    }

    fn assert_gateway(&self, gateway: &Gateway, now: SimTime) {
        let (tally, waiting) = (&gateway.tally, gateway.waiting.len() as u64);
        let under_way = (gateway.machine.puts() + gateway.machine.gets()) as u64;
        let ended = tally.done + tally.failed + tally.dropped + tally.gets_done + tally.gets_failed;
        let came = tally.created + tally.gets_created;
        assert_eq!(came, ended + under_way + waiting, "chunks that came, ended, are under way and wait");
        let at_once = self.under_way(gateway) as u64;
        // Servers that do not answer are replaced, and what had been sent is sent again.
        let again = self.pipelined && self.terms.fixed.timeouts.is_some();
        assert!(again || at_once <= u64::from(self.in_flight), "{at_once} of {} under way", self.in_flight);
        assert!(waiting == 0 || at_once >= u64::from(self.in_flight), "{waiting} chunks wait for nothing");
        assert!(waiting == 0 || matches!(self.load, Load::Open(_)), "chunks wait in a closed loop");
        let replicas = u64::from(self.terms.fixed.replicas);
        let exist = tally.acknowledged + tally.held_already;
        assert!(exist >= tally.done * replicas, "a put ended before its acknowledgements came");
        if let Some(gap) = self.request_gap {
            let least = gap.saturating_mul(tally.requests);
            assert!(
                gateway.requests_from >= SimTime::ZERO.saturating_add(least),
                "requests exceed their rate"
            );
        }
        let limited = self.request_gap.is_some();
        assert!(limited || gateway.held.is_empty(), "requests are held back without a limit");
        let rules = &self.terms.fixed.rules;
        assert!(tally.dropped == 0 || rules.drops_chunks, "{} chunks were dropped", tally.dropped);
        let given_up = tally.failed + tally.gets_failed;
        let may_give_up = self.terms.fixed.timeouts.is_some() || self.terms.fixed.capacity.is_some();
        assert!(given_up == 0 || may_give_up, "{given_up} were given up unasked");
        assert!(gateway.received_until <= now, "a delivery ended at {:?}", gateway.received_until);
        if let (Some(first), Some(last)) = (gateway.waiting.front(), gateway.waiting.back()) {
            assert!(first.created <= last.created, "a chunk overtook {first:?}");
            assert!(last.created <= now, "{last:?} waits before it came");
        }
        assert!(tally.gets_created > 0 || tally.bytes_received == 0, "data came that nobody wanted");
    }

    fn assert_server(&self, server: &Server) {
        let tally = &server.tally;
        let of_all = |bytes: fn(&SizeTerms) -> u64| self.terms.sizes.iter().map(bytes);
        let least = of_all(|size| size.bytes.get()).min().unwrap_or(0);
        let most = of_all(|size| size.bytes.get()).max().unwrap_or(0);
        let (stored, replicas) = (tally.bytes_stored, tally.replicas);
        assert!(stored <= tally.bytes_received, "{stored} bytes stored, {} came", tally.bytes_received);
        assert!(stored >= replicas * least, "{stored} bytes stored in {replicas} replicas");
        assert!(stored <= replicas.saturating_mul(most), "{stored} bytes stored in {replicas} replicas");
        assert!(tally.acknowledgements_lost <= replicas, "acknowledgements lost of nothing stored");
        assert!(server.failed || tally.bytes_lost == 0, "bytes were lost at a server that works");
        if let (Some(capacity), Target::Negotiating(machine)) = (self.terms.fixed.capacity, &server.machine) {
            let taken = machine.room().taken();
            assert!(taken <= capacity.get(), "{taken} bytes are reserved or stored, of {capacity}");
        }
        assert!(server.offers.is_empty() || self.quirks.buckets_admit, "frames wait for no bucket");
    }

    fn assert_rack(&self, rack: &Rack) {
        let ports = &rack.ports;
        assert!(self.racks.is_some(), "an uplink leads nowhere");
        for link in [&ports.control_out, &ports.control_in, &ports.data_out, &ports.data_in] {
            let until = link.free_at().since(SimTime::ZERO);
            assert!(link.lane.busy <= until, "an uplink is busy for {} until {until}", link.lane.busy);
        }
    }

    /// Checks a transfer whose data have arrived: it was sent in order, and one trip time ago.
    ///
    /// # Panics
    /// If not.
    pub(super) fn assert_transfer(&self, transfer: Transfer, now: SimTime) {
        let Transfer { window, began, ended } = transfer;
        assert!(window.left <= window.right, "{window:?} ends before it begins");
        assert!(began <= ended, "a transfer went out from {began:?} to {ended:?}");
        let trip = self.terms.fixed.trip;
        assert_eq!(ended.saturating_add(trip), now, "a transfer that ended at {ended:?} took {trip}");
    }

    /// Checks that a server that was asked for a chunk that it holds has no bid for it.
    ///
    /// # Panics
    /// If it has one.
    pub(super) fn assert_no_holder_bids(&self, me: ServerId, server: &Server, asked: &Message) {
        let Message::Request { put, chunk: Some(chunk), .. } = asked else { return };
        let Target::Negotiating(machine) = &server.machine else { return };
        let bids = machine.reservations().iter().any(|one| one.put == *put && one.state != State::Cancelled);
        let holds = self.terms.holders(*chunk).contains(&me);
        assert!(!(bids && holds), "server {} holds the chunk and bids for {put:?}", me.0);
    }

    /// Checks that the receivers of a multicast are one of the configured rendezvous groups: different
    /// members of one negotiating group, at most as many as there are replicas.
    ///
    /// # Panics
    /// If not.
    pub(super) fn assert_rendezvous(&self, to: &[ServerId]) {
        let group = |server: &ServerId| server.0 / self.terms.fixed.group;
        assert!(to.iter().all(|server| group(server) == group(&to[0])), "{to:?} are of several groups");
        assert!((1..to.len()).all(|at| !to[..at].contains(&to[at])), "{to:?} has a server twice");
        assert!(to.len() <= self.terms.replicas(), "{} servers receive one chunk", to.len());
    }

    /// Checks that a frame is not empty, has whole bytes, and is at most as long as the largest.
    ///
    /// # Panics
    /// If not.
    pub(super) fn assert_frame(&self, bits: u64) {
        assert!(bits > 0, "a frame is empty");
        assert!(bits <= self.terms.frame_bits, "a frame has {bits} bits, not {}", self.terms.frame_bits);
        assert_eq!(bits % 8, 0, "a frame ends within a byte");
    }

    /// Checks that a size is in the table of sizes.
    ///
    /// # Panics
    /// If not.
    pub(super) fn assert_size(&self, size: Size) {
        let sizes = self.terms.sizes.len();
        assert!(usize::from(size.0) < sizes, "a chunk has size {} of {sizes}", size.0);
    }
}

#[cfg(test)]
mod tests;
