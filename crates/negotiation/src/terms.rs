//! The parameters of a cluster, and the values derived from them: durations, and the width and earliest start
//! of a bid.
//!
//! Defaults and derivations are those of SURGE at build d92018f. All spans are whole nanoseconds, rounded
//! down as there ([`Rounding::Down`]).

use towtank_units::{BitRate, Bytes, Rate, Rounding, SimSpan, SimTime};

use crate::{ServerId, Size};

/// How gateways and servers agree on who sends what when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Unicast to random servers, which divide their links equally.
    UchCcp,
    /// Unicast to random servers; senders find their own rates.
    UchAimd,
    /// Unicast to random servers, which give their whole link to one flow after another.
    Serial,
    /// Multicast negotiation, one window, multicast data.
    ReplicastM,
    /// Multicast negotiation, one window per replica, unicast data.
    ReplicastH,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 5] =
        [Self::UchCcp, Self::ReplicastM, Self::ReplicastH, Self::UchAimd, Self::Serial];

    /// Its name in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UchCcp => "uch-ccp",
            Self::UchAimd => "uch-aimd",
            Self::Serial => "serial",
            Self::ReplicastM => "replicast-m",
            Self::ReplicastH => "replicast-h",
        }
    }

    /// Whether groups of servers negotiate.
    #[must_use]
    pub fn negotiates(self) -> bool {
        matches!(self, Self::ReplicastM | Self::ReplicastH)
    }
}

/// How much wider a bid is than the transfer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    /// The width of the window as a share of transfer and trip time, in billionths: 1.4 billion for 140 %.
    pub of_transfer: u64,
}

/// Where the model follows SURGE exactly instead of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Hybrid: what a gateway trims off a bid is free at the server at once, before any message arrives.
    pub trims_at_once: bool,
    /// Common window: the last possible choice of neighbouring bids is not examined.
    pub skips_last_choice: bool,
    /// Common window: a chunk for which none is found is dropped, and its time lost.
    pub drops_chunks: bool,
    /// Common window: cancelled reservations stay in a server's list as holes, which only a short list offers
    /// again.
    pub keeps_holes: bool,
    /// Unicast: the last frame of a replica counts neither for the link nor for its flow.
    pub last_frame_free: bool,
    /// Unicast: a frame is transmitted at the rate of its flow, not at that of the link.
    pub frames_at_flow_rate: bool,
    /// Hybrid: a gateway starts no data frame while it sends a control message.
    pub control_holds_data: bool,
}

impl Rules {
    /// All quirks.
    #[must_use]
    pub fn surge() -> Rules {
        Rules {
            trims_at_once: true,
            skips_last_choice: true,
            drops_chunks: true,
            keeps_holes: true,
            last_frame_free: true,
            frames_at_flow_rate: true,
            control_holds_data: true,
        }
    }

    /// No quirks.
    #[must_use]
    pub fn model() -> Rules {
        Rules {
            trims_at_once: false,
            skips_last_choice: false,
            drops_chunks: false,
            keeps_holes: false,
            last_frame_free: false,
            frames_at_flow_rate: false,
            control_holds_data: false,
        }
    }
}

/// How long a gateway waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timeouts {
    /// For replies to a request.
    pub bids: SimSpan,
    /// For acknowledgements, after the last frame.
    pub acks: SimSpan,
}

/// The parameters that are set rather than derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The protocol.
    pub protocol: Protocol,
    /// Copies of each chunk.
    pub replicas: u32,
    /// Number of servers.
    pub servers: u32,
    /// Servers per negotiating group.
    pub group: u32,
    /// The rate of each link, in each direction, for data and control together.
    pub link: BitRate,
    /// The share of the link for data, in billionths. All of it for unicast protocols.
    pub data_share: u64,
    /// Propagation time of a bit from one node to another.
    pub trip: SimSpan,
    /// The payload of a full frame.
    pub frame: Bytes,
    /// Bytes of a control message on the wire.
    pub control: Bytes,
    /// What a token bucket holds in addition to a frame.
    pub bucket_spare: Bytes,
    /// The earliest start of a bid after its request arrives; if not given, two control messages and a trip
    /// time.
    pub lead: Option<SimSpan>,
    /// How much wider a bid is than its transfer.
    pub extension: Extension,
    /// Room for new chunks at each server, which bids reserve; if not given, there is always room.
    pub capacity: Option<Bytes>,
    /// A server admits new data while less than this many bytes, or `queue_least` chunks, are queued for its
    /// disk.
    pub queue_bytes: Bytes,
    /// The minimum of that limit, in chunks.
    pub queue_least: u64,
    /// The largest gap between windows that counts as none; if not given, three control messages or a frame.
    pub gap: Option<SimSpan>,
    /// AIMD: the rate with which a flow starts, which is also its minimum and its increment.
    pub aimd_step: BitRate,
    /// AIMD: how often a server examines its queue.
    pub aimd_look: SimSpan,
    /// How long a gateway waits, if servers may fail.
    pub timeouts: Option<Timeouts>,
    /// Sizes of chunks.
    pub sizes: Vec<Bytes>,
    /// Classes of disks, by write rate.
    pub disks: Vec<Rate>,
    /// The read rate of each class of disks.
    pub reads: Vec<Rate>,
    /// The class of each server's disk; servers beyond the end of the list have the first class.
    pub disk_of: Vec<u8>,
    /// Where SURGE is followed exactly.
    pub rules: Rules,
}

/// All parameters, set and derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The parameters that were set.
    pub fixed: Fixed,
    /// The data rate of a link.
    pub data: BitRate,
    /// Bits of a full frame.
    pub frame_bits: u64,
    /// Bits of a control message.
    pub control_bits: u64,
    /// Capacity of a token bucket.
    pub bucket_bits: u64,
    /// Transmission time of a control message on its share of the link.
    pub control: SimSpan,
    /// The earliest start of a bid after its request arrives.
    pub lead: SimSpan,
    /// The largest gap between windows that counts as none.
    pub gap: SimSpan,
    /// By [`Size`].
    pub sizes: Vec<SizeTerms>,
    /// By class of disk.
    pub disks: Vec<DiskTerms>,
}

/// The values derived from the size of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeTerms {
    /// Bytes of the chunk.
    pub bytes: Bytes,
    /// Number of frames, including the last one.
    pub frames: u64,
    /// Bits of the last frame.
    pub last_bits: u64,
    /// Transmission time of the whole chunk at the data rate.
    pub net: SimSpan,
    /// Transmission time of a full frame.
    pub frame: SimSpan,
    /// Transmission time of the last frame.
    pub last: SimSpan,
    /// The width of a bid.
    pub bid: SimSpan,
    /// The part of a bid that a transfer uses.
    pub window: SimSpan,
    /// How many chunks may be queued for a disk.
    pub queue: u64,
}

/// The values derived from the rates of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskTerms {
    /// The write time of a chunk of each [`Size`].
    pub writes: Vec<SimSpan>,
    /// The read time of a chunk of each [`Size`].
    pub reads: Vec<SimSpan>,
}

const BILLION: u64 = 1_000_000_000;

/// A share in billionths of a number.
fn share_of(number: u64, billionths: u64) -> u64 {
    u64::try_from(u128::from(number) * u128::from(billionths) / u128::from(BILLION)).unwrap_or(u64::MAX)
}

impl Terms {
    /// Derives all values.
    ///
    /// # Panics
    /// If data take more than the whole link, or a server's disk class does not exist or has no read rate.
    #[must_use]
    pub fn new(fixed: Fixed) -> Terms {
        assert!(fixed.data_share <= BILLION, "{} billionths of a link are data", fixed.data_share);
        let kinds = fixed.disks.len();
        let known = fixed.disk_of.iter().all(|&kind| usize::from(kind) < kinds);
        assert!(known, "a server has a disk of an unknown class: there are {kinds}");
        assert_eq!(fixed.reads.len(), kinds, "each class of disks reads at some rate");
        let negotiates = fixed.protocol.negotiates();
        let link = fixed.link.bits_per_second();
        let for_data = if negotiates { share_of(link, fixed.data_share) } else { link };
        let for_control = if negotiates { link - for_data } else { link };
        let (data, for_control) = (BitRate::at_least_one(for_data), BitRate::at_least_one(for_control));
        let frame_bits = fixed.frame.get() * 8;
        let control_bits = fixed.control.get() * 8;
        let control = for_control.span(control_bits, Rounding::Down);
        let frame = data.span(frame_bits, Rounding::Down);
        let lead = fixed.lead.unwrap_or(control.saturating_mul(2).saturating_add(fixed.trip));
        let gap = fixed.gap.unwrap_or(control.saturating_mul(3).max(frame));
        let sizes = fixed.sizes.iter().map(|bytes| SizeTerms::new(&fixed, *bytes, data)).collect();
        let spans = |rate: &Rate| -> Vec<SimSpan> {
            fixed.sizes.iter().map(|bytes| rate.span(*bytes, Rounding::Down)).collect()
        };
        let both = fixed.disks.iter().zip(&fixed.reads);
        let disks =
            both.map(|(write, read)| DiskTerms { writes: spans(write), reads: spans(read) }).collect();
        let bucket_bits = frame_bits + fixed.bucket_spare.get() * 8;
        Terms { data, frame_bits, control_bits, bucket_bits, control, lead, gap, sizes, disks, fixed }
    }

    /// The values derived from a size.
    #[must_use]
    pub fn size(&self, size: Size) -> &SizeTerms {
        &self.sizes[usize::from(size.0)]
    }

    /// The time that a server's disk takes to write a chunk.
    #[must_use]
    pub fn write(&self, server: ServerId, size: Size) -> SimSpan {
        self.disk(server).writes[usize::from(size.0)]
    }

    /// The time that a server's disk takes to read a chunk.
    #[must_use]
    pub fn read(&self, server: ServerId, size: Size) -> SimSpan {
        self.disk(server).reads[usize::from(size.0)]
    }

    fn disk(&self, server: ServerId) -> &DiskTerms {
        debug_assert!(server.0 < self.fixed.servers, "server {} of {}", server.0, self.fixed.servers);
        let kind = self.fixed.disk_of.get(server.0 as usize).copied().unwrap_or(0);
        &self.disks[usize::from(kind)]
    }

    /// How many subsets of a negotiating group may receive a chunk by multicast: those of two members up to
    /// the number of replicas. One member is sent to by unicast. The paper enumerates every subset of two or
    /// three of nine members, 120.
    #[must_use]
    pub fn rendezvous_groups(&self) -> u64 {
        let members = u64::from(self.fixed.group);
        let (mut subsets, mut all) = (1_u64, 0_u64);
        for size in 1..=u64::from(self.fixed.replicas) {
            // The product of `size` successive numbers is a multiple of `size` factorial.
            subsets = subsets.saturating_mul(members.saturating_sub(size - 1)) / size;
            all = all.saturating_add(if size >= 2 { subsets } else { 0 });
        }
        all
    }

    /// The multicast forwarding rules that each switch needs if all rendezvous groups are configured in
    /// advance.
    #[must_use]
    pub fn forwarding_rules(&self) -> u64 {
        self.rendezvous_groups().saturating_mul(u64::from(self.groups()))
    }

    /// Number of negotiating groups; servers beyond the last whole group belong to none.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.fixed.servers / self.fixed.group.max(1)
    }

    /// The members of a group.
    pub fn members(&self, group: u32) -> impl Iterator<Item = ServerId> + use<> {
        let first = group * self.fixed.group;
        debug_assert!(group < self.groups().max(1), "group {group} of {}", self.groups());
        (first..first + self.fixed.group).map(ServerId)
    }

    /// The time from sending a control message until it arrives, without contention.
    #[must_use]
    pub fn control_and_trip(&self) -> SimSpan {
        self.control.saturating_add(self.fixed.trip)
    }

    /// Transmission time of data bits.
    #[must_use]
    pub fn wire(&self, bits: u64) -> SimSpan {
        self.data.span(bits, Rounding::Down)
    }

    /// The end of transmission of a control message that starts now.
    pub(crate) fn control_end(&self, now: SimTime) -> SimTime {
        now.saturating_add(self.control)
    }

    /// Number of replicas of a put.
    #[must_use]
    pub fn replicas(&self) -> usize {
        self.fixed.replicas as usize
    }
}

impl SizeTerms {
    fn new(fixed: &Fixed, bytes: Bytes, data: BitRate) -> SizeTerms {
        let frame_bytes = fixed.frame.get().max(1);
        let frames = bytes.get().div_ceil(frame_bytes).max(1);
        let last_bits = (bytes.get() - (frames - 1) * frame_bytes) * 8;
        let on_wire = |bits: u64| data.span(bits, Rounding::Down);
        let (net, frame) = (on_wire(bytes.get() * 8), on_wire(frame_bytes * 8));
        let (bid, window) = match fixed.protocol {
            Protocol::ReplicastH => hybrid_windows(net, frame, fixed),
            _ => common_windows(net, frame, fixed),
        };
        let queue = (fixed.queue_bytes.get() / bytes.get().max(1)).max(fixed.queue_least);
        assert!(last_bits <= frame_bytes * 8, "the last frame has {last_bits} bits, more than a full one");
        assert!(window <= bid, "a bid of {bid} has no room for a window of {window}");
        SizeTerms { bytes, frames, last_bits, net, frame, last: on_wire(last_bits), bid, window, queue }
    }
}

/// The width of a bid, increased if it would not hold the transfer and a frame.
fn widened(net: SimSpan, frame: SimSpan, trip: SimSpan, extension: u64) -> SimSpan {
    let least = net.saturating_add(frame);
    let wide = SimSpan::from_ns(share_of(net.saturating_add(trip).as_ns(), extension));
    if wide < least { least.saturating_add(frame) } else { wide }
}

/// Replicast-M: the bid, and the transfer's part of it. Very wide bids leave a third of their slack to the
/// transfer.
fn common_windows(net: SimSpan, frame: SimSpan, fixed: &Fixed) -> (SimSpan, SimSpan) {
    let bid = widened(net, frame, fixed.trip, fixed.extension.of_transfer);
    let least = net.saturating_add(frame);
    let slack_frames = bid.saturating_sub(least).as_ns() / frame.as_ns().max(1);
    let window =
        if slack_frames > 4 { net.saturating_add(frame.saturating_mul(slack_frames / 3)) } else { least };
    (bid, window)
}

/// Replicast-H: the bid, and the transfer's part of it. Bids narrower than three frames are widened by
/// another tenth.
fn hybrid_windows(net: SimSpan, frame: SimSpan, fixed: &Fixed) -> (SimSpan, SimSpan) {
    let mut bid = widened(net, frame, fixed.trip, fixed.extension.of_transfer);
    if bid < frame.saturating_mul(3) {
        bid = widened(net, frame, fixed.trip, fixed.extension.of_transfer + BILLION / 10);
    }
    (bid, bid.saturating_sub(fixed.trip))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn fixed(protocol: Protocol) -> Fixed {
        Fixed {
            protocol,
            replicas: 3,
            servers: 90,
            group: 9,
            link: BitRate::at_least_one(9_900_000_000),
            data_share: 900_000_000,
            trip: SimSpan::from_ns(1_000),
            frame: Bytes::new(9_000),
            control: Bytes::new(if protocol.negotiates() { 300 } else { 100 }),
            bucket_spare: Bytes::new(300),
            lead: None,
            extension: Extension {
                of_transfer: if protocol == Protocol::ReplicastH { 1_100_000_000 } else { 1_400_000_000 },
            },
            capacity: None,
            queue_bytes: Bytes::from_kib(256),
            queue_least: 2,
            gap: None,
            aimd_step: BitRate::at_least_one(1_000_000_000),
            aimd_look: SimSpan::from_ns(10_200),
            timeouts: None,
            sizes: vec![Bytes::from_kib(16), Bytes::from_kib(128), Bytes::from_mib(1)],
            disks: vec![
                Rate::from_bytes_per_second(400 << 20).unwrap(),
                Rate::from_bytes_per_second(1000 << 20).unwrap(),
            ],
            reads: vec![
                Rate::from_bytes_per_second(800 << 20).unwrap(),
                Rate::from_bytes_per_second(1000 << 20).unwrap(),
            ],
            disk_of: vec![0, 1],
            rules: Rules::surge(),
        }
    }

    /// All derived numbers that the description of SURGE's model lists.
    #[test]
    fn derived_numbers_are_those_of_surge() {
        let ns = |span: SimSpan| span.as_ns();
        let unicast = Terms::new(fixed(Protocol::UchCcp));
        assert_eq!(ns(unicast.control_and_trip()), 1_080);
        assert_eq!([0, 1, 2].map(|at| ns(unicast.sizes[at].net)), [13_239, 105_916, 847_334]);
        assert_eq!(ns(unicast.sizes[0].frame), 7_272);
        assert_eq!([0, 1, 2].map(|at| unicast.sizes[at].frames), [2, 15, 117]);
        assert_eq!([0, 1, 2].map(|at| unicast.sizes[at].last_bits / 8), [7_384, 5_072, 4_576]);
        assert_eq!([0, 1, 2].map(|at| unicast.sizes[at].queue), [16, 2, 2]);
        let writes = |server, size| ns(unicast.write(ServerId(server), Size(size)));
        assert_eq!([writes(0, 0), writes(0, 1), writes(0, 2)], [39_062, 312_500, 2_500_000]);
        assert_eq!([writes(1, 0), writes(1, 1), writes(89, 2)], [15_625, 125_000, 2_500_000]);
        let reads = |server, size| ns(unicast.read(ServerId(server), Size(size)));
        assert_eq!([reads(0, 1), reads(1, 1), reads(89, 2)], [156_250, 125_000, 1_250_000]);
        let common = Terms::new(fixed(Protocol::ReplicastM));
        assert_eq!(
            (ns(common.control), ns(common.control_and_trip()), ns(common.lead)),
            (2_424, 3_424, 5_848)
        );
        assert_eq!([0, 1, 2].map(|at| ns(common.sizes[at].net)), [14_710, 117_685, 941_482]);
        assert_eq!([0, 1, 2].map(|at| ns(common.sizes[at].last)), [6_629, 4_553, 4_108]);
        assert_eq!([0, 1, 2].map(|at| ns(common.sizes[at].bid)), [30_870, 166_159, 1_319_474]);
        assert_eq!([0, 1, 2].map(|at| ns(common.sizes[at].window)), [22_790, 125_765, 1_062_682]);
        let hybrid = Terms::new(fixed(Protocol::ReplicastH));
        assert_eq!((ns(hybrid.gap), hybrid.groups()), (8_080, 10));
        assert_eq!([0, 1, 2].map(|at| ns(hybrid.sizes[at].bid)), [30_870, 130_553, 1_036_730]);
        assert_eq!([0, 1, 2].map(|at| ns(hybrid.sizes[at].window)), [29_870, 129_553, 1_035_730]);
    }

    /// The paper: 84 subsets of three and 36 of two are 120, and 12,000 rules at 900 servers.
    #[test]
    fn rendezvous_groups_are_those_of_the_paper() {
        let of = |servers| Terms::new(Fixed { servers, ..fixed(Protocol::ReplicastM) });
        assert_eq!((of(90).rendezvous_groups(), of(90).forwarding_rules()), (120, 1_200));
        assert_eq!(of(900).forwarding_rules(), 12_000);
    }

    /// Counts subsets one by one.
    fn subsets(members: u32, most: u32) -> u64 {
        (0_u64..1 << members).filter(|set| (2..=most).contains(&set.count_ones())).count() as u64
    }

    fn drawn() -> impl Strategy<Value = Fixed> {
        let sizes = prop::collection::vec((1u64..3_000_000).prop_map(Bytes::new), 1..4);
        let set = (200u64..1_000_000_000, 1u32..20, 1u32..120, 1u64..20_000, 1_000_000_000u64..2_000_000_000);
        (prop::sample::select(Protocol::ALL.to_vec()), set, sizes).prop_map(|(protocol, set, sizes)| {
            let (data_share, group, servers, frame, of_transfer) = set;
            let extension = Extension { of_transfer };
            Fixed {
                data_share,
                group,
                servers,
                frame: Bytes::new(frame),
                extension,
                sizes,
                ..fixed(protocol)
            }
        })
    }

    proptest! {
        #[test]
        fn rendezvous_groups_are_the_subsets_of_a_group(members in 1_u32..14, replicas in 1_u32..7) {
            let of = Fixed { group: members, servers: members, replicas, ..fixed(Protocol::ReplicastM) };
            prop_assert_eq!(Terms::new(of).rendezvous_groups(), subsets(members, replicas.min(members)));
        }
        /// For all parameters, frames hold the chunk, bids hold the transfer, and groups hold the servers.
        #[test]
        fn frames_hold_chunks_and_groups_servers(set in drawn()) {
            let terms = Terms::new(set.clone());
            prop_assert!(terms.data <= set.link);
            prop_assert_eq!(terms.sizes.len(), set.sizes.len());
            prop_assert_eq!(terms.control_end(SimTime::ZERO).since(SimTime::ZERO), terms.control);
            for (size, bytes) in terms.sizes.iter().zip(&set.sizes) {
                let bits = (size.frames - 1) * terms.frame_bits + size.last_bits;
                prop_assert_eq!(bits, bytes.get() * 8);
                prop_assert!(size.last_bits > 0 && size.last_bits <= terms.frame_bits);
                prop_assert!(size.last <= size.frame && size.last <= size.net);
                let to_last_frame = size.frame.saturating_mul(size.frames - 1);
                prop_assert!(to_last_frame <= size.net, "{:?}", size);
                // Each frame is rounded down, so together they take no longer than the whole.
                prop_assert!(to_last_frame.saturating_add(size.last) <= size.net);
                prop_assert!(size.window <= size.bid && size.queue >= set.queue_least);
                prop_assert!(size.bid >= size.net.saturating_add(size.frame));
            }
            let groups = terms.groups();
            prop_assert!(groups * set.group <= set.servers && set.servers < (groups + 1) * set.group);
            let members: Vec<ServerId> = (0..groups).flat_map(|group| terms.members(group)).collect();
            prop_assert_eq!(members, (0..groups * set.group).map(ServerId).collect::<Vec<_>>());
        }

        /// A stored chunk lies on members of its group, on each at most once.
        #[test]
        fn chunks_lie_on_members_of_one_group(set in drawn(), name: u64) {
            let terms = Terms::new(set);
            prop_assume!(terms.groups() > 0);
            let chunk = crate::ChunkName(name);
            let holders = terms.holders(chunk);
            let count = if terms.fixed.protocol.negotiates() { terms.fixed.group } else { terms.fixed.servers };
            prop_assert_eq!(holders.len(), terms.replicas().min(count as usize));
            prop_assert!((1..holders.len()).all(|at| !holders[..at].contains(&holders[at])), "{:?}", holders);
            prop_assert!(holders.iter().all(|server| server.0 < terms.fixed.servers));
            prop_assert!(terms.group_of(chunk) < terms.groups());
            if terms.fixed.protocol.negotiates() {
                let members: Vec<ServerId> = terms.members(terms.group_of(chunk)).collect();
                prop_assert!(holders.iter().all(|server| members.contains(server)));
            }
        }

        /// More bytes, or a slower link, never take less time.
        #[test]
        fn spans_grow_with_bits(bits in 0u64..1 << 40, more in 0u64..1 << 20) {
            let terms = Terms::new(fixed(Protocol::ReplicastM));
            prop_assert!(terms.wire(bits) <= terms.wire(bits + more));
            let unicast = Terms::new(fixed(Protocol::UchCcp));
            prop_assert!(unicast.wire(bits) <= terms.wire(bits), "a part of the link is as fast as all of it");
        }
    }

    #[test]
    #[should_panic(expected = "1000000001 billionths of a link are data")]
    fn more_data_than_a_link_are_refused() {
        let _ = Terms::new(Fixed { data_share: BILLION + 1, ..fixed(Protocol::ReplicastM) });
    }

    #[test]
    #[should_panic(expected = "a server has a disk of an unknown class: there are 2")]
    fn a_disk_of_no_kind_is_refused() {
        let _ = Terms::new(Fixed { disk_of: vec![0, 2], ..fixed(Protocol::ReplicastM) });
    }

    #[test]
    fn protocols_have_names_of_their_own() {
        for (at, protocol) in Protocol::ALL.iter().enumerate() {
            assert!(Protocol::ALL[..at].iter().all(|other| other.name() != protocol.name()), "{protocol:?}");
        }
        assert_eq!(Protocol::ALL.iter().filter(|protocol| protocol.negotiates()).count(), 2);
        assert!(Protocol::ReplicastH.negotiates() && !Protocol::Serial.negotiates());
    }

    #[test]
    fn shares_of_numbers_are_rounded_down() {
        assert_eq!(share_of(1_000, BILLION / 2), 500);
        assert_eq!(share_of(999, BILLION / 2), 499);
        assert_eq!(share_of(u64::MAX, BILLION), u64::MAX);
        assert_eq!(share_of(u64::MAX, 2 * BILLION), u64::MAX, "no more than there are numbers for");
        assert_eq!(share_of(7, 0), 0);
    }
}
