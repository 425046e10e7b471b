//! The description of a cluster of puts, and the model built from it for a protocol.
//!
//! Defaults are those of the simulator SURGE at build d92018f; quirks of SURGE that are not numbers are in
//! [`Fidelity`].

use towtank_negotiation::{Extension, Fixed, Protocol, Rules, Terms, Timeouts};
use towtank_streams::distributions::Exponential;
use towtank_units::{BitRate, Bytes, Frequency, Percent, Rate, SimSpan, SimTime};

use crate::cluster::{Cluster, Load, Measured, Quirks, Racks, Traced, is_among};

/// A cluster, and what is measured. No default suits all spans: [`Spec::default`] measures 10 ms from the
/// start.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// How closely SURGE is followed.
    pub fidelity: Fidelity,
    /// Gateways: the initiators of puts.
    pub gateways: u32,
    /// Servers, each with one disk.
    pub servers: u32,
    /// Copies of each chunk.
    pub replicas: u32,
    /// Servers per negotiating group; servers beyond the last whole group get no chunks from Replicast.
    pub group: u32,
    /// The size of a chunk.
    pub chunk: Bytes,
    /// Further sizes; the remaining chunks have the size `chunk`.
    pub other_chunks: Vec<ChunkShare>,
    /// Write rate of a disk.
    pub disk: Rate,
    /// Read rate of a disk; if not given, that of its writes. A slow disk reads as it writes.
    pub disk_read: Option<Rate>,
    /// The length of the measured span.
    pub duration: SimSpan,
    /// The span before it that is not counted.
    pub warm_up: SimSpan,
    /// Gateways start at random times within this span.
    pub start_spread: SimSpan,
    /// Chunks that a gateway puts at the same time.
    pub in_flight: u32,
    /// Chunks arrive at random at this rate at all gateways together; if not given, the next chunk arrives
    /// when one is done.
    pub arrival_rate: Option<Frequency>,
    /// Whether a gateway starts the next chunk when the data of one have been sent, rather than when it is
    /// acknowledged.
    pub pipelined: bool,
    /// The fraction of chunks that are read rather than stored.
    pub read_share: Percent,
    /// The fraction of stored chunks that are in the store already.
    pub known_share: Percent,
    /// Room for new chunks at each server, which bids reserve; if not given, there is always room.
    pub capacity: Option<Bytes>,
    /// Links and messages.
    pub network: Network,
    /// Bids, windows and queues.
    pub bids: Bids,
    /// Servers that are slow, or fail.
    pub faults: Faults,
}

/// How closely SURGE is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// The protocol as the paper describes it: messages queue and take time.
    #[default]
    Model,
    /// What SURGE does, quirks included.
    Surge,
}

/// A further size of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkShare {
    /// The size.
    pub chunk: Bytes,
    /// Its share of all chunks.
    pub share: Percent,
}

/// How nodes are assigned to racks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Neighbours are in different racks.
    #[default]
    Spread,
    /// Neighbours are in the same rack.
    Blocks,
}

/// Links and messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Rate of each node's link in each direction.
    pub link: Rate,
    /// The fraction of it lost to overhead.
    pub overhead: Percent,
    /// Replicast: the fraction of the rest for reserved data; control messages get the remainder.
    pub data_share: Percent,
    /// Propagation time of a bit from one node to another.
    pub trip: SimSpan,
    /// Racks with gateways and servers. 1: the core is not oversubscribed.
    pub racks: u32,
    /// With several racks: the rate of each rack's link to the core, in each direction.
    pub uplink: Option<Rate>,
    /// With several racks: how nodes are assigned to them.
    pub layout: Layout,
    /// Payload of a full frame.
    pub frame: Bytes,
    /// Size of a control message of the unicast protocols.
    pub control_unicast: Bytes,
    /// Size of a control message of Replicast.
    pub control_replicast: Bytes,
    /// Unicast: what token buckets hold in addition to a frame.
    pub bucket_spare: Bytes,
    /// Replicast: how often a gateway may multicast a request, at most; if not given, whenever it wants.
    pub request_rate: Option<Frequency>,
    /// AIMD: the rate with which a flow starts, which is also its minimum and its increment.
    pub aimd_step: Rate,
    /// AIMD: how often a server examines its queue.
    pub aimd_look: SimSpan,
}

/// Bids, windows and queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Bids {
    /// Replicast-M: the width of a bid, as a fraction of transfer and trip time.
    pub extension_m: Percent,
    /// Replicast-H: the same.
    pub extension_h: Percent,
    /// The earliest start of a bid after a request. If not given: two control messages and a trip time if
    /// SURGE is followed; otherwise, where the bids of a whole group queue at the gateway, as many messages
    /// more as the group has servers.
    pub lead: Option<SimSpan>,
    /// Replicast-H: windows at most this far apart count as consecutive. If not given: three control
    /// messages, or a frame.
    pub gap: Option<SimSpan>,
    /// Replicast-M: whether a cancelled window stays in a server's list as a hole. If not given: only if
    /// SURGE is followed.
    pub keep_holes: Option<bool>,
    /// A server admits data while less than this is queued for its disk ...
    pub queue: Bytes,
    /// ... or fewer than this many chunks.
    pub queue_chunks: u64,
}

/// Servers that are slow, or fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// This many servers, spread evenly over all, have the disk `slow_disk`.
    pub slow_servers: u32,
    /// Write rate of their disks.
    pub slow_disk: Rate,
    /// This many servers, spread evenly over all, fail for good.
    pub failed_servers: u32,
    /// When they fail, after the start of the run. If not given: at the end of the warm-up.
    pub fail_at: Option<SimSpan>,
    /// How long a gateway waits for bids. Used if servers fail.
    pub bid_timeout: SimSpan,
    /// How long a gateway waits for acknowledgements, or for the reply to a unicast request. Used if servers
    /// fail.
    pub ack_timeout: SimSpan,
}

/// With more gateways than this, nothing of a run is recorded for drawing.
pub const PUTS_DRAWN: u32 = 4_000;

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            fidelity: Fidelity::default(),
            gateways: 90,
            servers: 90,
            replicas: 3,
            group: 9,
            chunk: Bytes::from_kib(128),
            other_chunks: Vec::new(),
            disk: rate(400 << 20),
            disk_read: None,
            duration: SimSpan::from_ms(10),
            warm_up: SimSpan::ZERO,
            start_spread: SimSpan::ZERO,
            in_flight: 1,
            arrival_rate: None,
            pipelined: false,
            read_share: Percent::ZERO,
            known_share: Percent::ZERO,
            capacity: None,
            network: Network::default(),
            bids: Bids::default(),
            faults: Faults::default(),
        }
    }
}

impl Default for Network {
    fn default() -> Network {
        Network {
            link: rate(1_250_000_000),
            overhead: percent(1),
            data_share: percent(90),
            trip: SimSpan::from_us(1),
            racks: 1,
            uplink: None,
            layout: Layout::Spread,
            frame: Bytes::new(9_000),
            control_unicast: Bytes::new(100),
            control_replicast: Bytes::new(300),
            bucket_spare: Bytes::new(300),
            request_rate: None,
            aimd_step: rate(125_000_000),
            aimd_look: SimSpan::from_ns(10_200),
        }
    }
}

impl Default for Bids {
    fn default() -> Bids {
        Bids {
            extension_m: percent(140),
            extension_h: percent(110),
            lead: None,
            gap: None,
            keep_holes: None,
            queue: Bytes::from_kib(256),
            queue_chunks: 2,
        }
    }
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            slow_servers: 0,
            slow_disk: rate(100 << 20),
            failed_servers: 0,
            fail_at: None,
            bid_timeout: SimSpan::from_us(100),
            ack_timeout: SimSpan::from_ms(20),
        }
    }
}

fn rate(bytes_per_second: u64) -> Rate {
    Rate::from_bytes_per_second(bytes_per_second).expect("defaults are above zero")
}

fn percent(count: u64) -> Percent {
    Percent::from_percent(count).expect("defaults are small")
}

impl Spec {
    /// Sizes of chunks, the main one first.
    #[must_use]
    pub fn sizes(&self) -> Vec<Bytes> {
        std::iter::once(self.chunk).chain(self.other_chunks.iter().map(|other| other.chunk)).collect()
    }

    /// The mean size of a chunk, in bytes.
    #[must_use]
    pub(crate) fn mean_chunk(&self) -> f64 {
        let other =
            |one: &ChunkShare| one.share.fraction_f64() * (one.chunk.get() as f64 - self.chunk.get() as f64);
        self.chunk.get() as f64 + self.other_chunks.iter().map(other).sum::<f64>()
    }

    /// Servers that take part in a protocol.
    #[must_use]
    pub fn servers_used(&self, protocol: Protocol) -> u32 {
        if protocol.negotiates() { self.servers / self.group * self.group } else { self.servers }
    }

    /// The parameters of a protocol.
    ///
    /// # Panics
    /// If no put could get its replicas: more of them than servers, or than servers in a group.
    #[must_use]
    pub fn terms(&self, protocol: Protocol) -> Terms {
        assert!(self.gateways > 0 && self.in_flight > 0, "nobody puts anything");
        let surge = self.fidelity == Fidelity::Surge;
        let link = BitRate::from(self.network.link).bits_per_second();
        let control =
            if protocol.negotiates() { self.network.control_replicast } else { self.network.control_unicast };
        let extension =
            if protocol == Protocol::ReplicastH { self.bids.extension_h } else { self.bids.extension_m };
        let servers = self.servers_used(protocol);
        // Some of the slow servers may be in no whole group.
        let slow = self.faults.slow_servers.min(servers);
        assert!(self.replicas <= servers, "{} replicas on {servers} servers", self.replicas);
        assert!(
            !protocol.negotiates() || self.replicas <= self.group,
            "{} replicas in groups of {}",
            self.replicas,
            self.group
        );
        let mut fixed = Fixed {
            protocol,
            replicas: self.replicas,
            servers,
            group: self.group,
            link: BitRate::at_least_one(link - self.network.overhead.of(link)),
            data_share: self.network.data_share.billionths(),
            trip: self.network.trip,
            frame: self.network.frame,
            control,
            bucket_spare: self.network.bucket_spare,
            lead: self.bids.lead,
            extension: Extension { of_transfer: extension.billionths() },
            capacity: self.capacity,
            queue_bytes: self.bids.queue,
            queue_least: self.bids.queue_chunks,
            gap: self.bids.gap,
            aimd_step: self.network.aimd_step.into(),
            aimd_look: self.network.aimd_look,
            timeouts: (self.faults.failed_servers > 0)
                .then_some(Timeouts { bids: self.faults.bid_timeout, acks: self.faults.ack_timeout }),
            sizes: self.sizes(),
            disks: vec![self.disk, self.faults.slow_disk],
            reads: vec![self.disk_read.unwrap_or(self.disk), self.faults.slow_disk],
            disk_of: (0..servers).map(|at| u8::from(is_among(slow, servers, at))).collect(),
            rules: if surge { Rules::surge() } else { Rules::model() },
        };
        fixed.rules.keeps_holes = self.bids.keep_holes.unwrap_or(surge);
        if !surge && fixed.lead.is_none() {
            let terms = Terms::new(fixed.clone());
            fixed.lead = Some(terms.lead.saturating_add(terms.control.saturating_mul(u64::from(self.group))));
        }
        Terms::new(fixed)
    }

    /// The model of a protocol; `drawn` says whether this run is to be recorded for drawing.
    ///
    /// # Panics
    /// As [`Spec::terms`], and if the cluster is inconsistent ([`Cluster::assert_sound`]).
    #[must_use]
    pub fn cluster(&self, protocol: Protocol, drawn: bool) -> Cluster {
        let from = SimTime::ZERO.saturating_add(self.warm_up);
        let end = from.saturating_add(self.duration);
        let surge = self.fidelity == Fidelity::Surge;
        // SURGE reads its counters for the last time a hundredth before the end.
        let until = if surge { SimTime::from_ns((u128::from(end.as_ns()) * 99 / 100) as u64) } else { end };
        assert!(until <= end, "what counts until {until:?} is measured until {end:?}");
        let terms = self.terms(protocol);
        let fail_at = self.faults.fail_at.map_or(from, |span| SimTime::ZERO.saturating_add(span));
        let small = self.gateways <= PUTS_DRAWN;
        let drawn_until = |until: SimTime| if drawn && small { until } else { SimTime::ZERO };
        let windows = terms.sizes[0].bid.saturating_mul(8);
        let cluster = Cluster {
            gateways: self.gateways,
            servers: self.servers,
            surge,
            quirks: Quirks::all(surge),
            start_spread: self.start_spread,
            in_flight: self.in_flight,
            pipelined: self.pipelined,
            request_gap: self.request_gap(protocol),
            load: self.load(),
            shares: self.shares(),
            racks: self.racks(protocol),
            read_share: self.read_share.of_words(),
            known_share: self.known_share.of_words(),
            failures: (self.faults.failed_servers.min(terms.fixed.servers), fail_at),
            measured: Measured { from, until, end },
            traced: Traced {
                puts_until: drawn_until(end),
                windows_until: drawn_until(SimTime::ZERO.saturating_add(windows)),
            },
            terms,
        };
        cluster.assert_sound();
        cluster
    }

    /// The time between two requests of a gateway, rounded up, so that the rate is never exceeded.
    #[must_use]
    pub fn request_gap(&self, protocol: Protocol) -> Option<SimSpan> {
        let rate = self.network.request_rate.filter(|_| protocol.negotiates())?;
        let gap = 1_000_000_000_000_000_000_u64.div_ceil(rate.per_billion_seconds().max(1));
        Some(SimSpan::from_ns(gap))
    }

    fn racks(&self, protocol: Protocol) -> Option<Racks> {
        let uplink = self.network.uplink.filter(|_| self.network.racks > 1)?;
        let uplink = BitRate::from(uplink).bits_per_second();
        let rate = uplink - self.network.overhead.of(uplink);
        // Data and control have the same shares as on the links of nodes.
        let data = if protocol.negotiates() { self.network.data_share.of(rate) } else { rate };
        assert!(data <= rate, "{data} of {rate} bits a second are for data");
        let control = if protocol.negotiates() { rate - data } else { rate };
        let spread = self.network.layout == Layout::Spread;
        let [rate, data, control] = [rate, data, control].map(BitRate::at_least_one);
        Some(Racks { count: self.network.racks, spread, rate, data, control })
    }

    fn load(&self) -> Load {
        let Some(rate) = self.arrival_rate else { return Load::Closed };
        let gap_ns = rate.mean_gap_ns_f64() * f64::from(self.gateways);
        Exponential::with_mean(gap_ns).map_or(Load::Closed, Load::Open)
    }

    /// For each size, the cumulative share in units of 2^-64; the main size comes first and has what the
    /// others leave.
    fn shares(&self) -> Vec<u64> {
        let others: u64 = self.other_chunks.iter().map(|other| other.share.billionths()).sum();
        assert!(others <= Percent::FULL.billionths(), "other sizes have more than all chunks: {others}");
        let mut total = Percent::FULL.billionths() - others;
        let mut shares = vec![Percent::from_billionths(total).of_words()];
        for other in &self.other_chunks {
            total += other.share.billionths();
            shares.push(Percent::from_billionths(total).of_words());
        }
        assert_eq!(total, Percent::FULL.billionths(), "every chunk has a size");
        shares
    }
}
