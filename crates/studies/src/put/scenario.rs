//! The keys of a scenario of puts.
//!
//! - `check`: its checks;
//! - `settled`: the scenario with all defaults filled in.

mod check;
mod settled;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_negotiation::Protocol;
use towtank_puts::Spec;
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

pub use self::settled::Settled;

/// Gateways store chunks on servers with one protocol or several, each in its own run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// `replicast-m`, `replicast-h`, `uch-ccp`, `uch-aimd` or `serial`; several with commas between them.
    #[serde(default = "replicast_m")]
    #[schemars(example = "replicast-m,uch-ccp")]
    pub protocol: String,
    /// `model`: the protocol with realistic physics. `surge`: what the simulator of the paper does, quirks
    /// included.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// Number of gateways, which start the puts.
    #[serde(default = "gateways")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub gateways: u32,
    /// Number of servers, each with one disk.
    #[serde(default = "servers")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub servers: u32,
    /// Copies of each chunk.
    #[serde(default = "replicas")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// Servers per negotiating group; servers beyond the last complete group get no chunks from Replicast.
    #[serde(default = "group")]
    #[schemars(range(min = 1, max = 64))]
    pub group: u32,
    /// The size of a chunk.
    #[serde(default = "chunk")]
    pub chunk: Bytes,
    /// More sizes, each with its share of all chunks: `[{ chunk = "16KiB", share = "30%" }]`. The rest has
    /// the size `chunk`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_chunks: Vec<ChunkShare>,
    /// Bandwidth of a disk, for writes.
    #[serde(default = "disk")]
    pub disk: Rate,
    /// Bandwidth of a disk for reads. Left out: that of writes. The disks of `faults.slow_servers` read as
    /// they write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "500MiB/s")]
    pub disk_read: Option<Rate>,
    /// Length of the measured span; in `surge` fidelity, of the whole run. Left out: ten times the latency of
    /// a put under this load, in whole milliseconds, and at least 10ms; 10ms in `surge` fidelity.
    #[serde(default)]
    pub duration: Option<SimSpan>,
    /// Time before it that is discarded. Left out: ten times the latency of a put under this load; 0s in
    /// `surge` fidelity.
    #[serde(default)]
    pub warm_up: Option<SimSpan>,
    /// Gateways start at random within this span. Left out: the latency of a put on idle nodes; 0s in `surge`
    /// fidelity.
    #[serde(default)]
    pub start_spread: Option<SimSpan>,
    /// Maximum number of concurrent operations of a gateway.
    #[serde(default = "in_flight")]
    #[schemars(range(min = 1, max = 256))]
    pub in_flight: u32,
    /// Whether a gateway starts the next chunk when the data of one have been sent, and not only when it is
    /// acknowledged. `in_flight` then counts operations whose data have not been sent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pipelined: bool,
    /// Chunks arrive at random at this total rate (open loop), and wait while a gateway has `in_flight` in
    /// progress. Left out: the next one arrives when one is done (closed loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "50000/s")]
    pub arrival_rate: Option<Frequency>,
    /// Share of operations that are gets: reads of chunks stored long before.
    #[serde(default = "no_share", skip_serializing_if = "is_no_share")]
    pub read_share: Percent,
    /// Replicast: share of puts whose chunk is in the store already. Its holders do not bid, and count as
    /// replicas.
    #[serde(default = "no_share", skip_serializing_if = "is_no_share")]
    pub known_share: Percent,
    /// Replicast: room for new chunks at each server. A bid reserves it, and a server without room does not
    /// bid. Left out: there is always room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "64MiB")]
    pub capacity: Option<Bytes>,
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

/// How closely the run follows SURGE, the simulator of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// The protocol as the paper describes it: messages queue and take time, starts are random, a warm-up is
    /// discarded.
    #[default]
    Model,
    /// What the simulator SURGE does at build d92018f, quirks included: for its published tables.
    Surge,
}

/// Another chunk size.
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
    /// Neighbours are in different racks, and so are the servers of a negotiating group.
    #[default]
    Spread,
    /// Neighbours are in the same rack: a group is in one rack, or in two.
    Blocks,
}

/// Links and messages. Defaults are those of SURGE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Bandwidth of each node's link, in each direction.
    pub link: Rate,
    /// Share of the link bandwidth lost to overhead.
    pub overhead: Percent,
    /// Replicast: share of the rest that carries reserved data; control messages use what is left.
    pub data_share: Percent,
    /// One-way latency from node to node.
    pub trip: SimSpan,
    /// Number of racks of gateways and servers. 1: the core is not a bottleneck.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub racks: u32,
    /// With racks: bandwidth of the link from a rack to the core, in each direction, shared by its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "40Gbit/s")]
    pub uplink: Option<Rate>,
    /// With racks: which nodes are in the same rack.
    #[serde(skip_serializing_if = "is_spread")]
    pub layout: Layout,
    /// Payload of a full frame.
    pub frame: Bytes,
    /// Size of a control message of the unicast protocols.
    pub control_unicast: Bytes,
    /// Size of a control message of Replicast.
    pub control_replicast: Bytes,
    /// Unicast: capacity of the token buckets beyond one frame.
    pub bucket_spare: Bytes,
    /// Replicast: maximum rate at which one gateway sends requests. Left out: it sends them at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "2000/s")]
    pub request_rate: Option<Frequency>,
    /// `uch-aimd`: initial rate of a flow, also its minimum and its increment.
    pub aimd_step: Rate,
    /// `uch-aimd`: interval at which a server checks its queue.
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
            request_rate,
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
            request_rate,
            aimd_step,
            aimd_look,
        }
    }
}

/// Bids, windows and queues. Defaults are those of SURGE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bids {
    /// `replicast-m`: length of a bid window, as a percentage of transfer and trip time.
    pub extension_m: Percent,
    /// `replicast-h`: length of a bid window, as a percentage of transfer and trip time.
    pub extension_h: Percent,
    /// Minimum time from a request to the start of a bid window. Left out: two control messages and a trip
    /// in `surge` fidelity; in `model`, one message more per server of the group, because the bids of the
    /// group queue at the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<SimSpan>,
    /// `replicast-h`: windows at most this far apart count as consecutive. Left out: three control messages,
    /// or a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<SimSpan>,
    /// `replicast-m`: servers keep reservations as SURGE does: a cancelled one stays in the list as a hole,
    /// which only a short list offers again. Left out: true in `surge` fidelity, else false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_holes: Option<bool>,
    /// A server admits data while less than this is queued for its disk ...
    pub queue: Bytes,
    /// ... or fewer than this number of chunks.
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
    /// Number of servers, spread evenly over all, whose disk is `slow_disk`.
    pub slow_servers: u32,
    /// Bandwidth of their disks.
    pub slow_disk: Rate,
    /// Number of servers, spread evenly over all, that fail for good.
    pub failed_servers: u32,
    /// When they fail, from the beginning of the run. Left out: at the end of the warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_at: Option<SimSpan>,
    /// How long a gateway waits for bids. Used only if servers fail.
    pub bid_timeout: SimSpan,
    /// How long a gateway waits for acknowledgements after its last frame, or for the answer to a unicast
    /// request. Used only if servers fail. It must cover the queue of a disk.
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
fn is_false(value: &bool) -> bool {
    !*value
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

fn replicast_m() -> String {
    Protocol::ReplicastM.name().to_owned()
}
