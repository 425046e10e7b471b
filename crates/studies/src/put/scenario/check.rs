//! The checks of a scenario of puts.

use towtank_negotiation::Protocol;
use towtank_puts::Spec;
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent, SimSpan};

use super::settled::{Settled, protocols};
use super::{Fidelity, Scenario};

impl Scenario {
    /// Checks the scenario and fills in all defaults.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn complete(self, draft: &Draft) -> Result<Settled, Problems> {
        let mut problems = Problems::new();
        let protocols = match protocols(&self.protocol) {
            Ok(protocols) => protocols,
            Err((message, hint)) => {
                problems.refuse(draft, "protocol", message, hint);
                Vec::new()
            }
        };
        self.check_nodes(&protocols, draft, &mut problems);
        self.check_sizes(draft, &mut problems);
        self.check_times(draft, &mut problems);
        self.check_racks(&protocols, draft, &mut problems);
        self.check_negotiated(&protocols, draft, &mut problems);
        self.check_surge(&protocols, draft, &mut problems);
        problems.into_result(())?;
        let settled = Settled::of(self, protocols);
        settled.check_timeouts(draft).into_result(())?;
        Ok(settled)
    }

    fn check_nodes(&self, protocols: &[Protocol], draft: &Draft, problems: &mut Problems) {
        let negotiates = protocols.iter().any(|protocol| protocol.negotiates());
        if self.replicas > self.servers {
            let message =
                format!("`replicas` is {}, but there are only {} servers", self.replicas, self.servers);
            problems.refuse(draft, "replicas", message, "lower it, or add servers");
        }
        if negotiates && self.group > self.servers {
            let message = format!("`group` is {}, but there are only {} servers", self.group, self.servers);
            problems.refuse(draft, "group", message, "set it to at most `servers`");
        }
        if negotiates && self.replicas > self.group {
            let message = format!("`replicas` is {}, but a group has {} servers", self.replicas, self.group);
            problems.refuse(draft, "replicas", message, "set `group` to at least `replicas`");
        }
        for (key, count) in
            [("slow_servers", self.faults.slow_servers), ("failed_servers", self.faults.failed_servers)]
        {
            let (storing, what) = self.storing(protocols);
            if count > storing {
                let message = format!("`faults.{key}` is {count}, but there are only {what}");
                let hint = format!("set it to at most {storing}");
                problems.refuse(draft, &format!("faults.{key}"), message, hint);
            }
        }
    }

    /// The servers that store something with every protocol, and what they are called: those beyond the last
    /// complete group get nothing from protocols that negotiate.
    fn storing(&self, protocols: &[Protocol]) -> (u32, String) {
        let spec = Spec { servers: self.servers, group: self.group.max(1), ..Spec::default() };
        match protocols.iter().map(|protocol| spec.servers_used(*protocol)).min() {
            // A group with more members than there are servers is refused for that.
            Some(storing) if (1..self.servers).contains(&storing) => {
                (storing, format!("{storing} servers in complete groups of {}", self.group))
            }
            _ => (self.servers, format!("{} servers", self.servers)),
        }
    }

    fn check_sizes(&self, draft: &Draft, problems: &mut Problems) {
        if self.other_chunks.len() > 15 {
            let message =
                format!("`other_chunks` has {} sizes, but at most 15 are possible", self.other_chunks.len());
            problems.refuse(draft, "other_chunks", message, "merge sizes that hardly differ");
        }
        let total: u64 =
            self.other_chunks.iter().fold(0, |total, other| total.saturating_add(other.share.billionths()));
        if total > Percent::FULL.billionths() {
            let message = format!(
                "the shares of `other_chunks` add up to {}, but the limit is 100%",
                Percent::from_billionths(total)
            );
            problems.refuse(draft, "other_chunks", message, "lower one of them; the rest has size `chunk`");
        }
        for (key, bytes) in [("chunk", self.chunk), ("network.frame", self.network.frame)] {
            if bytes.is_zero() {
                problems.refuse(draft, key, format!("`{key}` is 0B"), "it must be above zero");
            }
        }
        if self.other_chunks.iter().any(|other| other.chunk.is_zero()) {
            problems.refuse(draft, "other_chunks", "a chunk of 0B", "it must be above zero");
        }
        let limit = Bytes::from_gib(1);
        if let Some(large) = self.sizes().into_iter().find(|size| *size > limit) {
            let message = format!("a chunk has {large}, but at most {limit} are possible");
            problems.refuse(draft, "chunk", message, "a put negotiates for one chunk; use a smaller one");
        }
    }

    fn check_times(&self, draft: &Draft, problems: &mut Problems) {
        if self.duration.is_some_and(|span| span.is_zero()) {
            let hint = "in 10ms, each gateway stores about nine chunks of 128KiB";
            problems.refuse(draft, "duration", "`duration` is 0s, but something must be measured", hint);
        }
        if self.network.trip.is_zero() {
            let hint = "a message needs some time to arrive; SURGE has 1us";
            problems.refuse(draft, "network.trip", "`network.trip` is 0s", hint);
        }
        for (key, share) in [("overhead", self.network.overhead), ("data_share", self.network.data_share)] {
            let none = key == "data_share" && share == Percent::ZERO;
            if share >= Percent::FULL || none {
                let message = format!("`network.{key}` is {share}");
                let hint = "something must be left for data and for control messages";
                problems.refuse(draft, &format!("network.{key}"), message, hint);
            }
        }
        for (key, wide) in [("extension_m", self.bids.extension_m), ("extension_h", self.bids.extension_h)] {
            if wide < Percent::FULL || wide.billionths() > 100_000_000_000 {
                let message = format!("`bids.{key}` is {wide}, but it must lie between 100% and 10000%");
                let hint = "a bid must be long enough for the transfer; SURGE has 140% and 110%";
                problems.refuse(draft, &format!("bids.{key}"), message, hint);
            }
        }
        if self.read_share > Percent::FULL {
            let message = format!("`read_share` is {}, but the limit is 100%", self.read_share);
            problems.refuse(draft, "read_share", message, "0% stores only, 100% reads only");
        }
        if self.disk_read.is_some() && self.read_share == Percent::ZERO {
            let message = "`disk_read` is set, but nothing is read: `read_share` is 0%";
            let hint = "set `read_share`, or leave `disk_read` out";
            problems.refuse(draft, "disk_read", message, hint);
        }
        let rate = self.arrival_rate.is_some_and(Frequency::is_zero);
        if rate {
            let hint = "leave it out for a closed loop";
            problems.refuse(draft, "arrival_rate", "`arrival_rate` is 0/s", hint);
        }
    }

    fn check_racks(&self, protocols: &[Protocol], draft: &Draft, problems: &mut Problems) {
        let (racks, uplink) = (self.network.racks, self.network.uplink);
        let (storing, what) = self.storing(protocols);
        if racks == 0 || racks > storing {
            let message = format!("`network.racks` is {racks}, but there are {what}");
            problems.refuse(draft, "network.racks", message, "each rack needs at least one server");
        }
        if racks > 1 && uplink.is_none() {
            let message = format!("`network.racks` is {racks}, but `network.uplink` is not set");
            let hint = "set the bandwidth of each rack's link to the core: uplink = \"40Gbit/s\"";
            problems.refuse(draft, "network.racks", message, hint);
        }
        if racks == 1 && uplink.is_some() {
            let message = "`network.uplink` is set, but `network.racks` is 1";
            problems.refuse(draft, "network.uplink", message, "set `network.racks` to 2 or more");
        }
    }

    /// Checks settings that only protocols that negotiate have.
    fn check_negotiated(&self, protocols: &[Protocol], draft: &Draft, problems: &mut Problems) {
        let asked = [
            ("known_share", self.known_share > Percent::ZERO),
            ("capacity", self.capacity.is_some()),
            ("network.request_rate", self.network.request_rate.is_some()),
        ];
        let unicast = protocols.iter().find(|protocol| !protocol.negotiates());
        for (key, _) in asked.into_iter().filter(|(_, asked)| *asked) {
            if let Some(protocol) = unicast {
                let message = format!("`{key}` is set, but {} does not negotiate", protocol.name());
                let hint = "leave it out, or set `protocol` to replicast-m, replicast-h or both";
                problems.refuse(draft, key, message, hint);
            }
        }
        if self.known_share > Percent::FULL {
            let message = format!("`known_share` is {}, but the limit is 100%", self.known_share);
            problems.refuse(draft, "known_share", message, "0%: all chunks are new");
        }
        let largest = self.sizes().into_iter().max().unwrap_or(self.chunk);
        if let Some(capacity) = self.capacity.filter(|capacity| *capacity < largest) {
            let message = format!("`capacity` is {capacity}, but a chunk has {largest}");
            problems.refuse(draft, "capacity", message, "set it to the size of several chunks");
        }
        if self.network.request_rate.is_some_and(Frequency::is_zero) {
            let message = "`network.request_rate` is 0/s, so nothing would ever be put";
            problems.refuse(draft, "network.request_rate", message, "leave it out for no limit");
        }
    }

    /// Refuses settings that SURGE does not have.
    fn check_surge(&self, protocols: &[Protocol], draft: &Draft, problems: &mut Problems) {
        if self.fidelity != Fidelity::Surge {
            return;
        }
        let asked = [
            ("in_flight", self.in_flight > 1),
            ("arrival_rate", self.arrival_rate.is_some()),
            ("other_chunks", !self.other_chunks.is_empty()),
            ("pipelined", self.pipelined),
            ("read_share", self.read_share > Percent::ZERO),
            ("known_share", self.known_share > Percent::ZERO),
            ("capacity", self.capacity.is_some()),
            ("network.request_rate", self.network.request_rate.is_some()),
            ("network.racks", self.network.racks > 1),
            ("faults.failed_servers", self.faults.failed_servers > 0),
            ("warm_up", self.warm_up.is_some_and(|span| !span.is_zero())),
        ];
        for (key, _) in asked.into_iter().filter(|(_, asked)| *asked) {
            let message = format!("`{key}` is beyond what `surge` fidelity supports");
            problems.refuse(draft, key, message, "set `fidelity` to \"model\"");
        }
        if protocols.contains(&Protocol::Serial) {
            let message = "SURGE has no serial variant, so `surge` fidelity is not possible";
            problems.refuse(draft, "protocol", message, "set `fidelity` to \"model\"");
        }
    }
}

impl Settled {
    /// Checks timeouts where servers fail. A timeout below the time of an answer on an idle cluster causes
    /// endless retries, and ever more messages queue.
    fn check_timeouts(&self, draft: &Draft) -> Problems {
        let mut problems = Problems::new();
        let (spec, faults) = (&self.spec, &self.spec.faults);
        if faults.failed_servers == 0 {
            return problems;
        }
        for &protocol in &self.protocols {
            let terms = spec.terms(protocol);
            let there = terms.control_and_trip();
            let size = terms.sizes.iter().max_by_key(|size| size.bytes);
            let net = size.map_or(SimSpan::ZERO, |size| size.net);
            let writes = terms.disks[0].writes.iter().max().copied().unwrap_or_default();
            let stored = terms.fixed.trip.saturating_add(writes).saturating_add(there);
            let (what, bids, acks) = if protocol.negotiates() {
                // All puts of a gateway may request at once, and each bid waits for those before it.
                let bids = u64::from(spec.group) * u64::from(spec.in_flight) - 1;
                // A limit on requests holds each of them back for those before it.
                let held = spec.request_gap(protocol).unwrap_or_default();
                let held = held.saturating_mul(u64::from(spec.in_flight));
                let queue = terms.control.saturating_mul(bids).saturating_add(held);
                (
                    "receiving the bids of a group, with `in_flight` puts at once,",
                    there.saturating_mul(2).saturating_add(queue),
                    stored,
                )
            } else {
                let sent = there.saturating_mul(2).saturating_add(net);
                ("receiving an answer", SimSpan::ZERO, sent.max(stored))
            };
            let waits = [
                ("bid_timeout", faults.bid_timeout, bids, what),
                ("ack_timeout", faults.ack_timeout, acks, "storing a replica"),
            ];
            for (key, waits, least, what) in waits.into_iter().filter(|(_, waits, least, _)| waits < least) {
                let message = format!(
                    "`faults.{key}` is {waits}, but {what} takes {least} with {} on an idle cluster",
                    protocol.name()
                );
                let hint =
                    "raise it well above that, or raise `network.link`; else gateways ask again for ever";
                problems.refuse(draft, &format!("faults.{key}"), message, hint);
            }
        }
        problems
    }
}
