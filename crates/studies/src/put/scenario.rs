//! What a user may say about puts, and what is wrong with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_negotiation::Protocol;
use towtank_puts::Spec;
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

/// Gateways put chunks on servers by one protocol or several, each in a run of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// `replicast-m`, `replicast-h`, `uch-ccp`, `uch-aimd` or `serial`; several with commas between them.
    #[serde(default = "replicast_m")]
    #[schemars(example = "replicast-m,uch-ccp")]
    pub protocol: String,
    /// `model`: the protocol on honest physics. `surge`: what the simulator of the paper does, quirks included.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// Gateways: the initiators of puts.
    #[serde(default = "gateways")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub gateways: u32,
    /// Servers, each with one disk.
    #[serde(default = "servers")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub servers: u32,
    /// Copies of each chunk.
    #[serde(default = "replicas")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// Servers of a negotiating group; servers beyond the last whole group get no chunks from Replicast.
    #[serde(default = "group")]
    #[schemars(range(min = 1, max = 64))]
    pub group: u32,
    /// The size of a chunk.
    #[serde(default = "chunk")]
    pub chunk: Bytes,
    /// More sizes, each with its share of all chunks: `[{ chunk = "16KiB", share = "30%" }]`. The rest has the size `chunk`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_chunks: Vec<ChunkShare>,
    /// How fast a disk writes.
    #[serde(default = "disk")]
    pub disk: Rate,
    /// How long is measured. In `surge` fidelity, the whole run.
    #[serde(default = "duration")]
    pub duration: SimSpan,
    /// What is thrown away before. Left out: ten times what a put takes on idle nodes; nothing in `surge` fidelity.
    #[serde(default)]
    pub warm_up: Option<SimSpan>,
    /// Gateways begin at random within this span. Left out: what a put takes on idle nodes; all at once in `surge` fidelity.
    #[serde(default)]
    pub start_spread: Option<SimSpan>,
    /// Chunks that a gateway puts at once.
    #[serde(default = "in_flight")]
    #[schemars(range(min = 1, max = 256))]
    pub in_flight: u32,
    /// Chunks come at random at this rate to all gateways together (open loop), and wait while `in_flight` are being put. Left
    /// out: the next one comes when one is done (closed loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "50000/s")]
    pub arrival_rate: Option<Frequency>,
    /// The share of chunks that are read and not stored: gets of chunks that the store has held for long.
    #[serde(default = "no_share", skip_serializing_if = "is_no_share")]
    pub read_share: Percent,
    /// Links and messages.
    #[serde(default)]
    pub network: Network,
    /// Bids, windows and queues.
    #[serde(default)]
    pub bids: Bids,
    /// Servers that are slow, or fail.
    #[serde(default)]
    pub faults: Faults,
}

/// How closely SURGE is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// The protocol as the paper describes it: messages queue and take time, starts are random, a warm-up is discarded.
    #[default]
    Model,
    /// What the simulator SURGE does at build d92018f, quirks included: for its published tables.
    Surge,
}

/// A size beside the main one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkShare {
    /// The size.
    pub chunk: Bytes,
    /// Its share of all chunks.
    pub share: Percent,
}

/// Which nodes are in one rack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Neighbours are in different racks, so that the servers of a negotiating group are, too.
    #[default]
    Spread,
    /// Neighbours are in the same rack: a group is in one, or two.
    Blocks,
}

/// Links and messages. Defaults are those of SURGE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Each node's link, in each direction.
    pub link: Rate,
    /// The share of it that is lost to overhead.
    pub overhead: Percent,
    /// Replicast: the share of the rest that is for reserved data; control messages have what is left.
    pub data_share: Percent,
    /// How long a bit needs from one node to another.
    pub trip: SimSpan,
    /// Racks that gateways and servers are in. 1: the core does not block.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub racks: u32,
    /// Where there are racks: the link of each to the core, in each direction, that all of its nodes share.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "40Gbit/s")]
    pub uplink: Option<Rate>,
    /// Where there are racks: which nodes are in one.
    #[serde(skip_serializing_if = "is_spread")]
    pub layout: Layout,
    /// Payload of a full frame.
    pub frame: Bytes,
    /// A control message of the unicast protocols.
    pub control_unicast: Bytes,
    /// A control message of Replicast.
    pub control_replicast: Bytes,
    /// Unicast: what buckets hold beside a frame.
    pub bucket_spare: Bytes,
    /// `uch-aimd`: the rate that a flow begins with, never falls below, and gains.
    pub aimd_step: Rate,
    /// `uch-aimd`: how long a server waits between two looks at its queue.
    pub aimd_look: SimSpan,
}

impl Default for Network {
    fn default() -> Network {
        let towtank_puts::Network {
            link,
            overhead,
            data_share,
            trip,
            racks,
            uplink,
            layout: _,
            frame,
            control_unicast,
            control_replicast,
            bucket_spare,
            aimd_step,
            aimd_look,
        } = towtank_puts::Network::default();
        Network {
            link,
            overhead,
            data_share,
            trip,
            racks,
            uplink,
            layout: Layout::default(),
            frame,
            control_unicast,
            control_replicast,
            bucket_spare,
            aimd_step,
            aimd_look,
        }
    }
}

/// Bids, windows and queues. Defaults are those of SURGE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bids {
    /// `replicast-m`: how wide a bid is, as a share of transfer and trip.
    pub extension_m: Percent,
    /// `replicast-h`: the same.
    pub extension_h: Percent,
    /// How soon after a request a bid may begin. Left out: two control messages and a trip in `surge` fidelity; in `model`, where
    /// the bids of a whole group queue at the gateway, as many messages as the group has servers more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<SimSpan>,
    /// `replicast-h`: windows this far apart still follow each other. Left out: three control messages, or a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<SimSpan>,
    /// `replicast-m`: servers keep the list of reservations that SURGE has: what was cancelled stays in it as a hole that only a
    /// short list offers again. Left out: only in `surge` fidelity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_holes: Option<bool>,
    /// A server admits data while less than this waits for its disk ...
    pub queue: Bytes,
    /// ... or less than so many chunks.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queue_chunks: u64,
}

impl Default for Bids {
    fn default() -> Bids {
        let towtank_puts::Bids { extension_m, extension_h, lead, gap, keep_holes, queue, queue_chunks } =
            towtank_puts::Bids::default();
        Bids { extension_m, extension_h, lead, gap, keep_holes, queue, queue_chunks }
    }
}

/// Servers that are slow, or fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// So many servers, spread evenly over all, have the disk `slow_disk`.
    pub slow_servers: u32,
    /// How fast their disks write.
    pub slow_disk: Rate,
    /// So many servers, spread evenly over all, fail for good.
    pub failed_servers: u32,
    /// When, after the beginning of the run. Left out: when the warm-up is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_at: Option<SimSpan>,
    /// How long a gateway waits for bids. Used where servers fail.
    pub bid_timeout: SimSpan,
    /// How long a gateway waits for acknowledgements after its last frame, or for the answer to a unicast request. Used where
    /// servers fail. It must cover the queue of a disk.
    pub ack_timeout: SimSpan,
}

impl Default for Faults {
    fn default() -> Faults {
        let towtank_puts::Faults {
            slow_servers,
            slow_disk,
            failed_servers,
            fail_at,
            bid_timeout,
            ack_timeout,
        } = towtank_puts::Faults::default();
        Faults { slow_servers, slow_disk, failed_servers, fail_at, bid_timeout, ack_timeout }
    }
}

fn gateways() -> u32 {
    Spec::default().gateways
}

fn servers() -> u32 {
    Spec::default().servers
}

fn replicas() -> u32 {
    Spec::default().replicas
}

fn group() -> u32 {
    Spec::default().group
}

fn in_flight() -> u32 {
    Spec::default().in_flight
}

fn no_share() -> Percent {
    Percent::ZERO
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_no_share(share: &Percent) -> bool {
    *share == Percent::ZERO
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_one(count: &u32) -> bool {
    *count == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_spread(layout: &Layout) -> bool {
    *layout == Layout::Spread
}

fn chunk() -> Bytes {
    Spec::default().chunk
}

fn disk() -> Rate {
    Spec::default().disk
}

fn duration() -> SimSpan {
    Spec::default().duration
}

/// The protocols that a text names, with commas between them.
///
/// # Errors
/// What is wrong with it, and what to write instead.
fn protocols(text: &str) -> Result<Vec<Protocol>, (String, String)> {
    let mut list: Vec<Protocol> = Vec::new();
    for name in text.split(',').map(str::trim) {
        let Some(protocol) = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name) else {
            let names = || Protocol::ALL.into_iter().map(Protocol::name);
            let hint = did_you_mean(name, names())
                .unwrap_or_else(|| format!("the protocols are {}", names().collect::<Vec<_>>().join(", ")));
            return Err((format!("there is no protocol called `{name}`"), hint));
        };
        if list.contains(&protocol) {
            return Err((format!("`protocol` names {name} twice"), "name each protocol once".to_owned()));
        }
        list.push(protocol);
    }
    Ok(list)
}

fn replicast_m() -> String {
    Protocol::ReplicastM.name().to_owned()
}

/// How many times the length of an idle put the default warm-up takes.
const WARM_UP_PUTS: u64 = 10;
impl Default for Scenario {
    fn default() -> Scenario {
        serde_json::from_str("{}").expect("every key has a default")
    }
}

impl Scenario {
    /// Everything that is wrong, or the scenario with what was left out filled in.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn complete(mut self, draft: &Draft) -> Result<Scenario, Problems> {
        let mut problems = Problems::new();
        if let Err((message, hint)) = protocols(&self.protocol) {
            problems.push(draft.problem("protocol", message).hint(hint));
        }
        self.check_nodes(draft, &mut problems);
        self.check_sizes(draft, &mut problems);
        self.check_times(draft, &mut problems);
        self.check_racks(draft, &mut problems);
        self.check_surge(draft, &mut problems);
        problems.into_result(())?;
        self.check_timeouts(draft).into_result(())?;
        let idle = self.idle_put();
        let surge = self.fidelity == Fidelity::Surge;
        let or_none = |span: SimSpan| if surge { SimSpan::ZERO } else { span };
        self.warm_up.get_or_insert(or_none(idle.saturating_mul(WARM_UP_PUTS)));
        self.start_spread.get_or_insert(or_none(idle));
        Ok(self)
    }

    /// What a put of the largest chunk takes on idle nodes, roughly: its data once over the link and once for each replica to
    /// the disk. In whole microseconds, so that it reads well.
    fn idle_put(&self) -> SimSpan {
        let largest = self.sizes().into_iter().max().unwrap_or(self.chunk);
        let writes = self.slowest_disk().span_for(largest).saturating_mul(u64::from(self.replicas));
        let all = self.network.link.span_for(largest).saturating_add(writes);
        SimSpan::from_us(all.as_ns().div_ceil(1_000))
    }

    fn slowest_disk(&self) -> Rate {
        if self.faults.slow_servers > 0 { self.disk.min(self.faults.slow_disk) } else { self.disk }
    }

    /// The protocols, in the order in which they were named; none if one of them does not exist.
    #[must_use]
    pub fn protocols(&self) -> Vec<Protocol> {
        protocols(&self.protocol).unwrap_or_default()
    }

    /// Sizes of chunks, the main one first.
    #[must_use]
    pub fn sizes(&self) -> Vec<Bytes> {
        std::iter::once(self.chunk).chain(self.other_chunks.iter().map(|other| other.chunk)).collect()
    }

    fn check_nodes(&self, draft: &Draft, problems: &mut Problems) {
        let negotiates = self.protocols().iter().any(|protocol| protocol.negotiates());
        if self.replicas > self.servers {
            let message =
                format!("`replicas` is {}, but there are only {} servers", self.replicas, self.servers);
            problems.push(draft.problem("replicas", message).hint("lower it, or add servers"));
        }
        if negotiates && self.group > self.servers {
            let message = format!("`group` is {}, but there are only {} servers", self.group, self.servers);
            problems.push(draft.problem("group", message).hint("set it to at most `servers`"));
        }
        if negotiates && self.replicas > self.group {
            let message = format!("`replicas` is {}, but a group has {} servers", self.replicas, self.group);
            problems.push(draft.problem("replicas", message).hint("set `group` to at least `replicas`"));
        }
        for (key, count) in
            [("slow_servers", self.faults.slow_servers), ("failed_servers", self.faults.failed_servers)]
        {
            if count > self.servers {
                let message =
                    format!("`faults.{key}` is {count}, but there are only {} servers", self.servers);
                problems.push(
                    draft.problem(&format!("faults.{key}"), message).hint("set it to at most `servers`"),
                );
            }
        }
    }

    fn check_sizes(&self, draft: &Draft, problems: &mut Problems) {
        if self.other_chunks.len() > 15 {
            let message =
                format!("`other_chunks` has {} sizes, but at most 15 are possible", self.other_chunks.len());
            problems.push(draft.problem("other_chunks", message).hint("join sizes that hardly differ"));
        }
        let total: u64 =
            self.other_chunks.iter().fold(0, |total, other| total.saturating_add(other.share.billionths()));
        if total > Percent::FULL.billionths() {
            let message = format!(
                "the shares of `other_chunks` add up to {}, but at most 100% can be other",
                Percent::from_billionths(total)
            );
            problems.push(
                draft.problem("other_chunks", message).hint("lower one of them; the rest has size `chunk`"),
            );
        }
        for (key, bytes) in [("chunk", self.chunk), ("network.frame", self.network.frame)] {
            if bytes.is_zero() {
                problems.push(draft.problem(key, format!("`{key}` is 0B")).hint("it must be above zero"));
            }
        }
        if self.other_chunks.iter().any(|other| other.chunk.is_zero()) {
            problems.push(draft.problem("other_chunks", "a chunk of 0B").hint("it must be above zero"));
        }
        let limit = Bytes::from_gib(1);
        if let Some(large) = self.sizes().into_iter().find(|size| *size > limit) {
            let message = format!("a chunk has {large}, but at most {limit} are possible");
            problems.push(
                draft.problem("chunk", message).hint("a put negotiates for one chunk; use a smaller one"),
            );
        }
    }

    fn check_times(&self, draft: &Draft, problems: &mut Problems) {
        if self.duration.is_zero() {
            let hint = "10ms are some nine chunks for each gateway at 128KiB";
            problems.push(
                draft.problem("duration", "`duration` is 0s, but something must be measured").hint(hint),
            );
        }
        if self.network.trip.is_zero() {
            let hint = "a message cannot arrive before it was sent; SURGE has 1us";
            problems.push(draft.problem("network.trip", "`network.trip` is 0s").hint(hint));
        }
        for (key, share) in [("overhead", self.network.overhead), ("data_share", self.network.data_share)] {
            let none = key == "data_share" && share == Percent::ZERO;
            if share >= Percent::FULL || none {
                let message = format!("`network.{key}` is {share}");
                let hint = "something must be left for data and for control messages";
                problems.push(draft.problem(&format!("network.{key}"), message).hint(hint));
            }
        }
        for (key, wide) in [("extension_m", self.bids.extension_m), ("extension_h", self.bids.extension_h)] {
            if wide < Percent::FULL || wide.billionths() > 100_000_000_000 {
                let message = format!("`bids.{key}` is {wide}, but it lies between 100% and 10000%");
                let hint = "a bid must hold the transfer; 140% and 110% are SURGE's";
                problems.push(draft.problem(&format!("bids.{key}"), message).hint(hint));
            }
        }
        if self.read_share > Percent::FULL {
            let message = format!("`read_share` is {}, but at most 100% can be read", self.read_share);
            problems.push(draft.problem("read_share", message).hint("0% stores only, 100% reads only"));
        }
        let rate = self.arrival_rate.is_some_and(Frequency::is_zero);
        if rate {
            let hint = "leave it out for a closed loop";
            problems.push(draft.problem("arrival_rate", "`arrival_rate` is 0/s").hint(hint));
        }
    }

    fn check_racks(&self, draft: &Draft, problems: &mut Problems) {
        let (racks, uplink) = (self.network.racks, self.network.uplink);
        if racks == 0 || racks > self.servers {
            let message = format!("`network.racks` is {racks}, but there are {} servers", self.servers);
            problems.push(draft.problem("network.racks", message).hint("a rack has a server at least"));
        }
        if racks > 1 && uplink.is_none() {
            let message = format!("`network.racks` is {racks}, but `network.uplink` is not said");
            let hint = "say how fast each rack's link to the core is: uplink = \"40Gbit/s\"";
            problems.push(draft.problem("network.racks", message).hint(hint));
        }
        if racks == 1 && uplink.is_some() {
            let message = "`network.uplink` says how fast racks are linked, but `network.racks` is 1";
            problems.push(draft.problem("network.uplink", message).hint("set `network.racks` to 2 or more"));
        }
    }

    /// Where servers fail, whoever waits for less than an answer takes on an idle cluster asks for ever, and ever more messages queue.
    fn check_timeouts(&self, draft: &Draft) -> Problems {
        let mut problems = Problems::new();
        let faults = &self.faults;
        if faults.failed_servers == 0 {
            return problems;
        }
        let spec = self.spec();
        for protocol in self.protocols() {
            let terms = spec.terms(protocol);
            let there = terms.control_and_trip();
            let size = terms.sizes.iter().max_by_key(|size| size.bytes);
            let net = size.map_or(SimSpan::ZERO, |size| size.net);
            let writes = terms.disks[0].writes.iter().max().copied().unwrap_or_default();
            let stored = terms.fixed.trip.saturating_add(writes).saturating_add(there);
            let (what, bids, acks) = if protocol.negotiates() {
                // All puts of a gateway may ask at once, and each bid waits for those before it.
                let bids = u64::from(self.group) * u64::from(self.in_flight) - 1;
                let queue = terms.control.saturating_mul(bids);
                (
                    "hearing the bids of a group, with `in_flight` puts at once,",
                    there.saturating_mul(2).saturating_add(queue),
                    stored,
                )
            } else {
                let sent = there.saturating_mul(2).saturating_add(net);
                ("hearing an answer", SimSpan::ZERO, sent.max(stored))
            };
            let waits = [
                ("bid_timeout", faults.bid_timeout, bids, what),
                ("ack_timeout", faults.ack_timeout, acks, "storing a replica"),
            ];
            for (key, waits, least, what) in waits.into_iter().filter(|(_, waits, least, _)| waits < least) {
                let message = format!(
                    "`faults.{key}` is {waits}, but {what} takes {least} by {} on an idle cluster",
                    protocol.name()
                );
                let hint = "raise it well above that, or `network.link`; else gateways ask again for ever";
                problems.push(draft.problem(&format!("faults.{key}"), message).hint(hint));
            }
        }
        problems
    }

    /// What SURGE does not have is not put into its mouth.
    fn check_surge(&self, draft: &Draft, problems: &mut Problems) {
        if self.fidelity != Fidelity::Surge {
            return;
        }
        let asked = [
            ("in_flight", self.in_flight > 1),
            ("arrival_rate", self.arrival_rate.is_some()),
            ("other_chunks", !self.other_chunks.is_empty()),
            ("read_share", self.read_share > Percent::ZERO),
            ("network.racks", self.network.racks > 1),
            ("faults.failed_servers", self.faults.failed_servers > 0),
            ("warm_up", self.warm_up.is_some_and(|span| !span.is_zero())),
        ];
        for (key, _) in asked.into_iter().filter(|(_, asked)| *asked) {
            let message = format!("`{key}` goes beyond what `surge` fidelity can be held against");
            problems.push(draft.problem(key, message).hint("set `fidelity` to \"model\""));
        }
        if self.protocols().contains(&Protocol::Serial) {
            let message = "SURGE has no serial variant, so there is nothing to be true to";
            problems.push(draft.problem("protocol", message).hint("set `fidelity` to \"model\""));
        }
    }

    /// The cluster that it describes. What `complete` fills in is zero where it has not.
    #[must_use]
    pub fn spec(&self) -> Spec {
        let other = |other: &ChunkShare| towtank_puts::ChunkShare { chunk: other.chunk, share: other.share };
        Spec {
            fidelity: match self.fidelity {
                Fidelity::Model => towtank_puts::Fidelity::Model,
                Fidelity::Surge => towtank_puts::Fidelity::Surge,
            },
            gateways: self.gateways,
            servers: self.servers,
            replicas: self.replicas,
            group: self.group,
            chunk: self.chunk,
            other_chunks: self.other_chunks.iter().map(other).collect(),
            disk: self.disk,
            duration: self.duration,
            warm_up: self.warm_up.unwrap_or_default(),
            start_spread: self.start_spread.unwrap_or_default(),
            in_flight: self.in_flight,
            arrival_rate: self.arrival_rate,
            read_share: self.read_share,
            network: self.network.spec(),
            bids: self.bids.spec(),
            faults: self.faults.spec(),
        }
    }
}

impl Network {
    fn spec(&self) -> towtank_puts::Network {
        towtank_puts::Network {
            link: self.link,
            overhead: self.overhead,
            data_share: self.data_share,
            trip: self.trip,
            racks: self.racks,
            uplink: self.uplink,
            layout: match self.layout {
                Layout::Spread => towtank_puts::Layout::Spread,
                Layout::Blocks => towtank_puts::Layout::Blocks,
            },
            frame: self.frame,
            control_unicast: self.control_unicast,
            control_replicast: self.control_replicast,
            bucket_spare: self.bucket_spare,
            aimd_step: self.aimd_step,
            aimd_look: self.aimd_look,
        }
    }
}

impl Bids {
    fn spec(&self) -> towtank_puts::Bids {
        towtank_puts::Bids {
            extension_m: self.extension_m,
            extension_h: self.extension_h,
            lead: self.lead,
            gap: self.gap,
            keep_holes: self.keep_holes,
            queue: self.queue,
            queue_chunks: self.queue_chunks,
        }
    }
}

impl Faults {
    fn spec(&self) -> towtank_puts::Faults {
        towtank_puts::Faults {
            slow_servers: self.slow_servers,
            slow_disk: self.slow_disk,
            failed_servers: self.failed_servers,
            fail_at: self.fail_at,
            bid_timeout: self.bid_timeout,
            ack_timeout: self.ack_timeout,
        }
    }
}
