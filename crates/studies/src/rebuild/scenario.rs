//! What a user may say about a rebuild, what is wrong with it, and what is filled in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::failures::{FailWords, Failure};
use super::filled::Filled;
use super::hardware::Hardware;
use super::model::{Load, WINDOW_MAX};
use super::population::{DataSet, PopulationSpec};
use crate::place::Algorithm;

/// A cluster, what it holds, what fails, and how the lost copies are made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where defaults come from: the published study, or Ceph up to 16 as it is shipped.
    #[serde(default)]
    pub preset: Preset,
    /// A real cluster's CRUSH map, as text, binary, or JSON of `ceph osd crush dump`, in place of a generated one. Left out:
    /// that of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_map"]))]
    pub crush_map: Option<String>,
    /// What `ceph osd dump -f json` printed. Left out: that of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_dump"]))]
    pub osd_dump: Option<String>,
    /// What `ceph pg dump -f json` printed. Left out: groups of equal size, from the sums of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pg_dump: Option<String>,
    /// What `ceph osd df -f json` printed, for the fill of devices. Left out: as `pg_dump` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub osd_df: Option<String>,
    /// What `ceph report` printed, in place of single dumps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// Servers.
    #[serde(default = "servers")]
    #[schemars(range(min = 2, max = 16_384))]
    pub servers: u32,
    /// Racks, in which servers are numbered one after the other; copies of an object lie in different ones where
    /// `failure_domain` is `rack`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4_096))]
    pub racks: u32,
    /// Disks of a server, which share what it holds.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 128))]
    pub disks_per_server: u32,
    /// What a server holds, all copies counted. Left out: 60 TiB, unless `objects` says how much there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_server: Option<Bytes>,
    /// How many objects there are, in place of `per_server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub objects: Option<u64>,
    /// What the data are.
    #[serde(default)]
    pub population: PopulationSpec,
    /// How objects, or groups of them, find their servers.
    #[serde(default)]
    pub placement: Placement,
    /// Virtual nodes of a server, for rings.
    #[serde(default = "vnodes")]
    #[schemars(range(min = 1, max = 65_536))]
    pub vnodes: u32,
    /// Placement groups: objects of one group lie on the same servers. Left out, or 0: each object is placed by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4_194_304))]
    pub groups: Option<u32>,
    /// Copies or shards of groups on a server, in place of `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub groups_per_server: Option<u32>,
    /// What copies of an object must not share.
    #[serde(default)]
    pub failure_domain: Domain,
    /// Copies of an object.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// Erasure coding in place of copies: `8+3` cuts an object into 8 shards and adds 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// What fails, and when: `server`, `disk`, `rack` draw one; `server=5`, `osd.3`, `rack=1`, `host=node7` name one; `@30s`
    /// behind it says when.
    #[serde(default)]
    pub fail: FailWords,
    /// How lost objects are found: by asking every object, or drawn from the exact distribution where placement has no
    /// inverse.
    #[serde(default)]
    pub lost_set: LostSet,
    /// Bytes a disk reads in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_read: Option<Rate>,
    /// Bytes a disk writes in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_write: Option<Rate>,
    /// Bytes a disk holds. Left out: as many as come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_capacity: Option<Bytes>,
    /// What moving a disk's head costs: the published table, a usual 7,200 rpm disk, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeks: Option<Seeks>,
    /// How much of an object one seek is good for, however many objects are in work: what read-ahead and write-back gather.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seek_extent: Option<Bytes>,
    /// A server's card, each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Rate>,
    /// From one card to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<SimSpan>,
    /// A rack's uplink, each way. Left out: never the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
    /// The most one object's rebuild moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<Rate>,
    /// The most one disk's rebuilds move together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_cap: Option<Rate>,
    /// Objects go in units of this size.
    #[serde(default = "unit")]
    pub unit: Bytes,
    /// Units of an object under way at once.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 16))]
    pub window: u32,
    /// Objects that a disk's rebuilds work on at once: Ceph's `osd_recovery_max_active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_024))]
    pub recovery_max_active: Option<u32>,
    /// Groups that a disk leads at once, and as many again that it takes in. 0: no reservations. Only for groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_024))]
    pub max_backfills: Option<u32>,
    /// How long a disk's rebuilds rest after each object: Ceph's `osd_recovery_sleep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_sleep: Option<SimSpan>,
    /// Operations of clients in a second, in the whole cluster, while it rebuilds. Left out: nobody else uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_load: Option<Frequency>,
    /// Which share of them reads. Left out: 70%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_read: Option<Percent>,
    /// Bytes of each. Left out: 64KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_size: Option<Bytes>,
    /// How much of a busy disk or link is clients', against one for the rebuild. Left out: 1; with `preset = "ceph-wpq"` 21, as
    /// its priorities of 63 and 3 have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub client_weight: Option<u32>,
    /// Which copy is read.
    #[serde(default)]
    pub source: Source,
    /// Where shards are gathered and decoded.
    #[serde(default)]
    pub gather: Gather,
    /// From a failure until the cluster knows of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<SimSpan>,
    /// From then on until what failed is given up and its data are made again elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_out: Option<SimSpan>,
    /// What failed is never given up: nothing is made again.
    #[serde(default)]
    pub noout: bool,
    /// Whether a whole rack is given up too; Ceph by default does not (`mon_osd_down_out_subtree_limit`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_out: Option<bool>,
    /// No disk takes anything in beyond this share of its capacity.
    #[serde(default = "ninety")]
    pub backfillfull_ratio: Percent,
}

fn servers() -> u32 {
    64
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

fn four() -> u32 {
    4
}

fn vnodes() -> u32 {
    64
}

fn unit() -> Bytes {
    Bytes::from_mib(4)
}

fn ninety() -> Percent {
    Percent::from_percent(90).expect("less than all")
}

/// The most of the disks or cards that clients may take when all is well.
const CLIENTS_MAX: f64 = 0.9;

/// Where defaults come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The published study: its disks and network, no reservations, no rests, no waiting.
    #[default]
    Paper,
    /// Ceph up to 16 as it is shipped, with its queue WPQ, on rotating disks: one backfill a disk, three objects, a rest of
    /// 0.1 s, ten minutes until out. mClock, which paces recovery from 17 on, is not modelled.
    CephWpq,
    /// The same as ceph-wpq.
    Ceph,
}

/// How objects find their servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// CRUSH with straw2 buckets.
    #[serde(rename = "crush-straw2")]
    #[schemars(extend("x-aliases" = ["crush", "crush_straw2"]))]
    CrushStraw2,
    /// CRUSH with straw buckets.
    #[schemars(extend("x-aliases" = ["crush_straw"]))]
    CrushStraw,
    /// CRUSH with one ring bucket of independent draws.
    #[default]
    #[schemars(extend("x-aliases" = ["crush_vring"]))]
    CrushVring,
    /// A ring with virtual nodes.
    Ring,
    /// One ring a virtual node.
    Multiring,
    /// Rendezvous hashing.
    Rendezvous,
    /// Jump consistent hash.
    Jump,
    /// Maglev's table.
    Maglev,
    /// The remainder of a hash.
    #[schemars(extend("x-aliases" = ["static_modulo"]))]
    StaticModulo,
}

impl Placement {
    /// As the placement study knows it.
    #[must_use]
    pub fn algorithm(self) -> Algorithm {
        match self {
            Placement::CrushStraw2 => Algorithm::Crush,
            Placement::CrushStraw => Algorithm::CrushStraw,
            Placement::CrushVring => Algorithm::CrushVring,
            Placement::Ring => Algorithm::Ring,
            Placement::Multiring => Algorithm::Multiring,
            Placement::Rendezvous => Algorithm::Rendezvous,
            Placement::Jump => Algorithm::Jump,
            Placement::Maglev => Algorithm::Maglev,
            Placement::StaticModulo => Algorithm::StaticModulo,
        }
    }
}

/// What copies of an object must not share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// A server.
    #[default]
    Server,
    /// A rack.
    Rack,
}

/// How lost objects are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostSet {
    /// By the placement's inverse; else by asking every object, or drawn where there are more than 100,000.
    #[default]
    Auto,
    /// By asking every object.
    Enumerate,
    /// Drawn from the exact distribution.
    Draw,
}

/// What moving a disk's head costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seeks {
    /// The table of a JBOD that CODES' guide prints.
    Jbod,
    /// 8 ms before a read and 4 ms before a write, as data sheets of 7,200 rpm disks have it.
    Hdd,
    /// Flash: nothing.
    None,
}

/// Which copy is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The first that is left.
    #[default]
    Primary,
    /// Any that is left, drawn for each object.
    Random,
    /// The one that has been given the least to read so far.
    LeastLoaded,
}

/// Where shards are gathered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// On the primary, as Ceph does.
    #[default]
    Primary,
    /// On the first target.
    Target,
}

/// How objects are kept safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundancy {
    /// What is needed to read: 1 copy, or k shards.
    pub data: u32,
    /// Copies or shards in all.
    pub width: u32,
}

impl Redundancy {
    /// Fewer than that, and the object takes no writes: Ceph's defaults. Of copies, all but half of them, rounded down
    /// (`osd_pool_default_min_size` = 0); of k+m shards, k + min(1, m - 1) (`OSDMonitor::prepare_pool_size`), so that k are
    /// enough where m is 1.
    #[must_use]
    pub fn min_size(self) -> u32 {
        let spare = self.width - self.data;
        if self.data == 1 { self.width - self.width / 2 } else { self.data + spare.saturating_sub(1).min(1) }
    }
}

/// A scenario with everything that can be known of it before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Complete {
    /// All defaults filled in.
    pub scenario: Filled,
    /// How objects are kept safe.
    pub redundancy: Redundancy,
    /// What fails, in the order of time.
    pub failures: Vec<Failure>,
    /// What the data are.
    pub data: DataSet,
}

impl Scenario {
    /// Everything that is wrong, or the scenario with what was left out filled in.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn complete(self, draft: &Draft) -> Result<Complete, Problems> {
        let mut problems = Problems::new();
        let redundancy = self.redundancy(draft, &mut problems);
        if draft.says("ec") && draft.says("replicas") {
            let message = "`replicas` and `ec` both say how objects are kept safe";
            problems.push(draft.problem("replicas", message).hint("leave one of them out"));
        }
        let mut filled = Filled::of(self);
        filled.check_sizes(draft, redundancy, &mut problems);
        filled.scenario.check_groups(draft, redundancy, &mut problems);
        let failures = filled.fail.resolve(&filled, draft, &mut problems);
        problems.into_result(())?;
        let mut problems = Problems::new();
        let hardware = super::generated::hardware(&filled);
        filled.check_clients(draft, (redundancy, &hardware), &mut problems);
        problems.into_result(())?;
        let width_usual = (filled.servers / redundancy.width).max(1);
        let population = filled.population.clone().complete(draft, "population", width_usual)?;
        let data = population.data_set(draft, "population")?;
        filled.scenario.population = population;
        Ok(Complete { scenario: filled, redundancy, failures, data })
    }

    fn redundancy(&self, draft: &Draft, problems: &mut Problems) -> Redundancy {
        let Some(text) = &self.ec else { return Redundancy { data: 1, width: self.replicas } };
        let parts = text.split_once('+').and_then(|(k, m)| {
            let (k, m): (u32, u32) = (k.trim().parse().ok()?, m.trim().parse().ok()?);
            (k > 0 && m > 0 && k + m <= 64).then_some(Redundancy { data: k, width: k + m })
        });
        parts.unwrap_or_else(|| {
            let message = format!("`ec` is `{text}`, which is no code");
            let hint = "write data and parity shards, such as \"8+3\": at most 64 together";
            problems.push(draft.problem("ec", message).hint(hint));
            Redundancy { data: 1, width: 1 }
        })
    }

    fn check_sizes(&self, draft: &Draft, redundancy: Redundancy, problems: &mut Problems) {
        if self.racks > self.servers {
            let message = format!("`racks` is {}, but there are {} servers", self.racks, self.servers);
            problems.push(draft.problem("racks", message).hint("set it to at most `servers`"));
        }
        let domains = if self.failure_domain == Domain::Rack { self.racks } else { self.servers };
        if redundancy.width > domains {
            let (key, what) = if self.ec.is_some() { ("ec", "shards") } else { ("replicas", "copies") };
            let names = if self.failure_domain == Domain::Rack { "racks" } else { "servers" };
            let message =
                format!("{} {what} are asked for, but there are {domains} {names}", redundancy.width);
            problems.push(draft.problem(key, message).hint(format!("set more {names}, or fewer {what}")));
        }
        if self.objects.is_some() && self.per_server.is_some() {
            let message = "`objects` and `per_server` both say how much there is";
            problems.push(draft.problem("objects", message).hint("leave one of them out"));
        }
        if self.failure_domain == Domain::Rack && self.placement != Placement::CrushStraw2 {
            let message = "`failure_domain` is `rack`, but only `crush-straw2` knows racks";
            problems.push(draft.problem("failure_domain", message).hint("set placement = \"crush-straw2\""));
        }
        self.check_amounts(draft, problems);
    }

    /// What must hold of real clusters too.
    pub(super) fn check_amounts(&self, draft: &Draft, problems: &mut Problems) {
        let legal = 512..=1 << 30;
        if !legal.contains(&self.unit.get()) {
            let message = format!("`unit` is {}, but it must lie from 512B to 1GiB", self.unit);
            problems.push(draft.problem("unit", message).hint("4MiB is what Ceph and the study use"));
        }
        if self.window as usize > WINDOW_MAX {
            let message = format!("`window` is {}, at most {WINDOW_MAX}", self.window);
            problems.push(draft.problem("window", message).hint("take larger units"));
        }
        if self.backfillfull_ratio > Percent::FULL {
            let message = format!("`backfillfull_ratio` is {}, more than all", self.backfillfull_ratio);
            problems.push(draft.problem("backfillfull_ratio", message).hint("Ceph's default is 90%"));
        }
    }

    /// What clients ask for; none where there are none.
    #[must_use]
    pub fn clients(&self, redundancy: Redundancy) -> Option<Load> {
        Some(Load {
            rate: self.client_load.filter(|rate| !rate.is_zero())?,
            reads: self.client_read?.fraction_f64(),
            bytes: u32::try_from(self.client_size?.get()).ok()?,
            redundancy,
            weight: self.client_weight?,
        })
    }

    /// What is wrong with the clients. Queues that grow for ever have no latency, so a cluster that cannot serve them even
    /// without a rebuild is refused.
    pub(super) fn check_clients(
        &self,
        draft: &Draft,
        (redundancy, hardware): (Redundancy, &Hardware),
        problems: &mut Problems,
    ) {
        let legal = 512..=64 << 20;
        if let Some(size) = self.client_size.filter(|size| !legal.contains(&size.get())) {
            let message = format!("`client_size` is {size}, but it must lie from 512B to 64MiB");
            problems
                .push(draft.problem("client_size", message).hint("64KiB is what is taken if it is left out"));
            return;
        }
        if let Some(read) = self.client_read.filter(|&read| read > Percent::FULL) {
            let message = format!("`client_read` is {read}, more than all");
            problems
                .push(draft.problem("client_read", message).hint("70% is what is taken if it is left out"));
            return;
        }
        let Some(load) = self.clients(redundancy) else {
            let keys = ["client_read", "client_size", "client_weight"].into_iter();
            for key in keys.filter(|key| self.client_load.is_none() && draft.says(key)) {
                let message = format!("`{key}` says what clients are like, but `client_load` is left out");
                problems
                    .push(draft.problem(key, message).hint("set client_load = \"1000/s\", or leave it out"));
            }
            return;
        };
        let share = load.share(hardware);
        if share > CLIENTS_MAX {
            let most = (load.rate.per_second_f64() / share * CLIENTS_MAX).floor();
            let size = self.client_size.unwrap_or(Bytes::ZERO);
            let message = format!(
                "`client_load` is {}, but the cluster serves at most {most}/s of {size} at {:.0} % of its disks or cards",
                load.rate,
                100.0 * CLIENTS_MAX
            );
            problems.push(draft.problem("client_load", message).hint("set less, or more and faster disks"));
        }
    }

    fn check_groups(&mut self, draft: &Draft, redundancy: Redundancy, problems: &mut Problems) {
        match (self.groups, self.groups_per_server) {
            (Some(_), Some(_)) => {
                let message = "`groups` and `groups_per_server` both say how many groups there are";
                problems.push(draft.problem("groups_per_server", message).hint("leave one of them out"));
            }
            (None, Some(each)) => {
                let all = u64::from(each) * u64::from(self.servers) / u64::from(redundancy.width.max(1));
                self.groups = Some(u32::try_from(all).unwrap_or(u32::MAX).clamp(1, 1 << 22));
                self.groups_per_server = None;
            }
            _ => {}
        }
        self.groups = self.groups.filter(|&groups| groups > 0);
    }

    /// Whether the cluster comes from exports of a real one.
    #[must_use]
    pub fn is_real(&self) -> bool {
        let files = [&self.crush_map, &self.osd_dump, &self.pg_dump, &self.osd_df, &self.report];
        files.into_iter().any(Option::is_some)
    }

    /// Whether a group must reserve its servers.
    #[must_use]
    pub fn reservations(&self) -> Option<u32> {
        let grouped = self.is_real() || self.groups.is_some();
        self.max_backfills.filter(|&most| grouped && most > 0)
    }
}

#[cfg(test)]
mod tests;
