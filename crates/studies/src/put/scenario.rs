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

/// Gateways put chunks on servers by one protocol or several, each in a run of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// `replicast-m`, `replicast-h`, `uch-ccp`, `uch-aimd` or `serial`; several with commas between them.
    #[serde(default = "replicast_m")]
    #[schemars(example = "replicast-m,uch-ccp")]
    pub protocol: String,
    /// `model`: the protocol on honest physics. `surge`: what the simulator of the paper does, quirks
    /// included.
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
    /// More sizes, each with its share of all chunks: `[{ chunk = "16KiB", share = "30%" }]`. The rest has
    /// the size `chunk`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_chunks: Vec<ChunkShare>,
    /// How fast a disk writes.
    #[serde(default = "disk")]
    pub disk: Rate,
    /// How long is measured. In `surge` fidelity, the whole run.
    #[serde(default = "duration")]
    pub duration: SimSpan,
    /// What is thrown away before. Left out: ten times what a put takes on idle nodes; nothing in `surge`
    /// fidelity.
    #[serde(default)]
    pub warm_up: Option<SimSpan>,
    /// Gateways begin at random within this span. Left out: what a put takes on idle nodes; all at once in
    /// `surge` fidelity.
    #[serde(default)]
    pub start_spread: Option<SimSpan>,
    /// Chunks that a gateway puts at once.
    #[serde(default = "in_flight")]
    #[schemars(range(min = 1, max = 256))]
    pub in_flight: u32,
    /// Chunks come at random at this rate to all gateways together (open loop), and wait while `in_flight`
    /// are being put. Left out: the next one comes when one is done (closed loop).
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
    /// The protocol as the paper describes it: messages queue and take time, starts are random, a warm-up is
    /// discarded.
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
    /// How soon after a request a bid may begin. Left out: two control messages and a trip in `surge`
    /// fidelity; in `model`, where the bids of a whole group queue at the gateway, as many messages as the
    /// group has servers more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<SimSpan>,
    /// `replicast-h`: windows this far apart still follow each other. Left out: three control messages, or a
    /// frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<SimSpan>,
    /// `replicast-m`: servers keep the list of reservations that SURGE has: what was cancelled stays in it as
    /// a hole that only a short list offers again. Left out: only in `surge` fidelity.
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
    /// How long a gateway waits for acknowledgements after its last frame, or for the answer to a unicast
    /// request. Used where servers fail. It must cover the queue of a disk.
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

fn replicast_m() -> String {
    Protocol::ReplicastM.name().to_owned()
}
