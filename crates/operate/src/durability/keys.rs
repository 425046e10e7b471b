//! The keys of a system that is described: its disks and how data lie on them, how failed disks are repaired,
//! and what fails how often.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_units::{Bytes, Percent, Rate, SimSpan};

/// The keys of a system that is described, in place of exports of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Described {
    /// Disks, and how data lie on them.
    #[serde(flatten)]
    pub system: SystemKeys,
    /// How failed disks are repaired.
    #[serde(flatten)]
    pub repair: RepairKeys,
    /// What fails how often.
    #[serde(flatten)]
    pub failures: FailureKeys,
}

/// Disks, and how data lie on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemKeys {
    /// Number of servers of a system that is described, in place of exports. Left out: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub servers: Option<u32>,
    /// Number of racks of a system that is described; servers are numbered rack by rack. Left out: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub racks: Option<u32>,
    /// Number of disks per server of a system that is described. Left out: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub disks_per_server: Option<u32>,
    /// Number of copies. Left out: 3, unless `ec` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64), extend("x-aliases" = ["copies"]))]
    pub replicas: Option<u32>,
    /// Erasure coding in place of copies: `8+3` has 8 data shards and 3 parity shards, on 11 disks; RAID-6 of
    /// ten disks is `8+2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// A second code above that of the arrays: `9+1` survives the loss of one of ten arrays. Only with
    /// `layout = "arrays"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<String>,
    /// How data lie on the disks. Left out: arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Lie>,
    /// Failure domain: what two disks of an array or a group must not share. Left out: server, with one
    /// server disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<Apart>,
    /// Disks of a declustered pool, within a server. Left out: all of a server. Only with `layout = "pool"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 1_000_000))]
    pub pool_disks: Option<u32>,
    /// Number of placement groups, each on disks that are drawn. Only with `layout = "groups"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub groups: Option<u32>,
    /// Number of servers that can share data with a server. Only with `layout = "copysets"`, which has few
    /// sets of servers for it, and `layout = "scattered"`, which has all sets among the servers that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub scatter_width: Option<u32>,
    /// Copies or shards with which data are served. Left out: as many as are needed to read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub min_size: Option<u32>,
    /// Capacity of a disk: 20TB are 20 * 10^12 bytes, 20TiB are 20 * 2^40.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_capacity: Option<Bytes>,
    /// Share of the capacity of a disk that holds data, and is repaired. Left out: 100%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Percent>,
}

/// How data lie on disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lie {
    /// In arrays that have no disk in common, each with as many disks as copies or shards.
    #[default]
    Arrays,
    /// Declustered: every choice of disks of a pool holds a stripe, and those that lack most go first.
    Pool,
    /// In placement groups, each on disks that are drawn.
    Groups,
    /// On few sets of servers: permutations of them, cut into sets (copyset replication).
    Copysets,
    /// On every set of a server and others among those that follow it.
    Scattered,
}

/// What two disks of an array must not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Apart {
    /// Only the disk.
    Disk,
    /// A server.
    Server,
    /// A rack.
    Rack,
}

/// How failed disks are repaired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepairKeys {
    /// Time to repair a disk alone, without `delay`. In place of `repair_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_time: Option<SimSpan>,
    /// Rate at which a disk alone is repaired, for `disk_capacity` and `used`: in a pool, the rate at which
    /// each of its disks reads and writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_rate: Option<Rate>,
    /// Law of the repair time. Left out: constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_law: Option<Law>,
    /// Who shares the rate of repairs: with two failed disks, each proceeds at half of it. Left out: nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<SharedBy>,
    /// Shards that a pool moves for each one that it repairs. Left out: `data-and-lost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amplification: Option<Moved>,
    /// Whether stripes of a pool that lack less wait until no stripe lacks most. Left out: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_first: Option<bool>,
    /// Time from a failure until its repair begins: detection, until a device is marked out, a spare. Left
    /// out: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<SimSpan>,
}

/// The law of a repair time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Always the same.
    #[default]
    Constant,
    /// Exponential, with this mean.
    Exponential,
    /// Nothing is repaired.
    Never,
}

/// Who shares the rate of repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SharedBy {
    /// Each repair has the full rate.
    #[default]
    Nobody,
    /// The failed disks of an array.
    Array,
    /// The failed disks of a server.
    Server,
}

/// What a pool moves for each shard that it repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Moved {
    /// It reads the data shards, and writes each lost one: k + 1 for a stripe that lacks one, k + 2 for two.
    #[default]
    DataAndLost,
    /// It reads the data shards, and writes one.
    DataAndOne,
}

/// What fails how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureKeys {
    /// Probability that a disk fails within a year, in place of `failure_rate`: a rate of -ln(1 - p).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_probability: Option<Percent>,
    /// Failures that were counted in `disk_years`, in place of `failure_rate`: the interval of the rate is
    /// carried to the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    /// Years of all disks together in which `failures` were counted: 300 disks for two years are 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1e12))]
    pub disk_years: Option<f64>,
    /// Confidence of the interval from counts. Left out: 95%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Percent>,
    /// Shape of a Weibull law of age: as many disks fail in their first five years as with a constant rate of
    /// `failure_probability`. Left out: failures do not depend on age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.1, max = 20.0))]
    pub weibull_shape: Option<f64>,
    /// Age of all disks at the start. Only with `weibull_shape`. Left out: 0s, new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<SimSpan>,
    /// Length of a year in rates: `365.25d` or `365d`. Left out: 365.25d. The unit `y` of other keys always
    /// has 365.25 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<SimSpan>,
    /// Probability that a bit cannot be read, such as 1e-15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-24, max = 1e-6))]
    pub errors_per_bit: Option<f64>,
    /// Latent errors that arise on each disk in a year: one that the scrub has not found is met by a repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latent_error_rate: Option<Percent>,
    /// Time in which a scrub reads all of a disk, for `latent_error_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub_interval: Option<SimSpan>,
    /// How often in a year a server is ruined with all its disks: a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_ruin_rate: Option<Percent>,
    /// How often in a year a rack is ruined with all its disks: a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_ruin_rate: Option<Percent>,
    /// How often in a year a server is out, which loses nothing: a rate while it is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_outage_rate: Option<Percent>,
    /// For how long a server is out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_outage_time: Option<SimSpan>,
    /// How often in a year a rack is out, which loses nothing: a rate while it is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_outage_rate: Option<Percent>,
    /// For how long a rack is out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_outage_time: Option<SimSpan>,
}
