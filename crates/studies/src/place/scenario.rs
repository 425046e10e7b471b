//! The keys of a scenario of placement, and their checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::{
    Algorithm, Arrangement, Cluster, GROUPS_USUAL, Maglev, POSITIONS_MAX, ServerId, Weight,
};
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

/// Servers, what they hold, and how it is placed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The algorithm.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// Number of servers.
    #[serde(default = "servers")]
    #[schemars(range(min = 1, max = 16_384))]
    pub servers: u32,
    /// Copies of each object or group.
    #[serde(default = "replicas")]
    #[schemars(range(min = 1, max = 64))]
    pub replicas: u32,
    /// Number of objects to place, each by itself. Not used with `groups`.
    #[serde(default = "keys")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub keys: u64,
    /// Number of groups to place instead of single objects; all counts are then in groups. Left out:
    /// objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub groups: Option<u32>,
    /// Virtual nodes of a server of weight 1, for rings, `xor` and `two_d`. Left out: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub vnodes: Option<u32>,
    /// Slots of the table of `maglev`, a prime. The change does not alter it: with another number of slots
    /// nearly everything moves. Left out: 65537.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 16_777_216))]
    pub slots: Option<u32>,
    /// Number of servers, counted from the first, that have the weight `heavy_weight`.
    #[serde(default)]
    pub heavy_servers: u32,
    /// Weight of the heavy servers; the others have 1.
    #[serde(default = "two")]
    pub heavy_weight: f64,
    /// The change to count: the last server is removed or halved, or a server is added.
    #[serde(default)]
    pub change: Change,
}

fn servers() -> u32 {
    64
}

fn replicas() -> u32 {
    3
}

fn keys() -> u64 {
    100_000
}

/// Virtual nodes of a server of weight 1, if none are given.
const VNODES: u32 = 64;

fn two() -> f64 {
    2.0
}

/// A change of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The last server is removed for good.
    #[default]
    Remove,
    /// A server of weight 1 is added.
    Add,
    /// The weight of the last server is halved.
    Halve,
}

/// The page size of the operating system's memory.
const PAGE: u64 = 4_096;
/// Bytes per server in every algorithm, and per entry of a table of groups, before and after the change:
/// measured with 16,384 servers and with a million groups.
const SERVER: u64 = 160;
const TABLE_ENTRY: u64 = 8;
/// Bytes per slot in both tables of Maglev, before and after the change.
const SLOT: u64 = 8;

impl Scenario {
    /// An estimate of the memory of a replicate: the algorithm's tables before and after the change, and the
    /// table of pairs of servers that share data.
    #[must_use]
    pub fn memory_estimate(&self) -> Bytes {
        let servers = u64::from(self.servers) + 1;
        // One bit per pair of servers, in pages that are allocated as pairs are found.
        let copies = u64::from(self.replicas);
        let found = self.items().saturating_mul(copies * copies.saturating_sub(1) / 2).saturating_mul(PAGE);
        let peers = (servers * servers / 16).min(found);
        let (each, more) = self.algorithm.memory();
        let positions = if self.algorithm.has_virtual_nodes() { u64::from(self.vnodes()) } else { 0 };
        let heavy = f64::from(self.heavy_servers) * (self.heavy_weight - 1.0) + self.servers as f64;
        let nodes = (heavy.max(0.0) * positions as f64) as u64;
        let tables = servers * (SERVER + each) + nodes * more;
        let groups = if self.algorithm.has_table() {
            u64::from(self.groups.unwrap_or(GROUPS_USUAL)) * copies * TABLE_ENTRY
        } else {
            0
        };
        let slots = if self.algorithm == Algorithm::Maglev { u64::from(self.slots()) * SLOT } else { 0 };
        Bytes::new(tables + groups + slots + peers)
    }

    /// Checks the scenario.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn checked(mut self, draft: &Draft) -> Result<Scenario, Problems> {
        let mut problems = Problems::new();
        self.check_unused(draft, &mut problems);
        self.vnodes = self.algorithm.has_virtual_nodes().then(|| self.vnodes());
        self.slots = (self.algorithm == Algorithm::Maglev).then(|| self.slots());
        if self.heavy_servers > self.servers {
            let message = format!(
                "`heavy_servers` is {}, but there are only {} servers",
                self.heavy_servers, self.servers
            );
            problems.refuse(draft, "heavy_servers", message, "set it to at most `servers`");
        }
        if !(0.0..=1000.0).contains(&self.heavy_weight) {
            let message =
                format!("`heavy_weight` is {}, but it must lie between 0 and 1000", self.heavy_weight);
            problems.refuse(
                draft,
                "heavy_weight",
                message,
                "weights are relative to 1, that of the other servers",
            );
        }
        let live = self.cluster().live_count();
        let left = live - usize::from(self.change == Change::Remove && live > 0);
        if left < self.replicas as usize {
            let servers = if left == 1 { "server with a weight is" } else { "servers with a weight are" };
            let message =
                format!("`replicas` is {}, but only {left} {servers} left after the change", self.replicas);
            // Without a server that is left, no number of replicas will do.
            let hint = match left {
                0 if live == 0 => "give some server a weight above 0".to_owned(),
                0 => "add servers, or choose another `change` than `remove`".to_owned(),
                _ => format!("set `replicas` to at most {left}, or add servers"),
            };
            problems.refuse(draft, "replicas", message, hint);
        }
        let positions = f64::from(self.servers) * f64::from(self.vnodes()) * self.heavy_weight.max(1.0);
        if self.algorithm.has_virtual_nodes() && positions > POSITIONS_MAX as f64 {
            let message =
                format!("`vnodes` is {}, which makes up to {positions:.0} positions", self.vnodes());
            problems.refuse(draft, "vnodes", message, format!("at most {POSITIONS_MAX} fit; use fewer"));
        }
        if let Some(members) = self.algorithm.members()
            && self.replicas > members
        {
            let message =
                format!("`replicas` is {}, but a negotiating group has {members} servers", self.replicas);
            problems.refuse(draft, "replicas", message, format!("set it to at most {members}"));
        }
        if self.algorithm == Algorithm::Maglev && live > 0 {
            let checked = [self.cluster(), self.cluster_after()].iter().try_for_each(|cluster| {
                if cluster.live_count() == 0 { Ok(()) } else { Maglev::check(cluster, self.slots()) }
            });
            if let Err(error) = checked {
                let problem = draft.problem("slots", error.to_string());
                problems.push(problem.hint("the paper uses 65537 and 655373"));
            }
            return problems.into_result(self);
        }
        problems.into_result(())?;
        if let Err(error) = self.algorithm.set_up(&self.cluster(), &self.trial()) {
            let problem =
                draft.problem("algorithm", format!("{} cannot be set up: {error}", self.algorithm.name()));
            return Err(problem.hint("change `servers`, or choose another algorithm").into());
        }
        Ok(self)
    }

    /// Virtual nodes of a server of weight 1, where the algorithm has some.
    #[must_use]
    pub fn vnodes(&self) -> u32 {
        self.vnodes.unwrap_or(VNODES)
    }

    /// Slots of the table of Maglev: by default those of the small table of the paper.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots.unwrap_or(Maglev::SLOTS_PUBLISHED)
    }

    /// Keys with a default that means nothing here.
    #[must_use]
    pub(super) fn unused(&self) -> Vec<&'static str> {
        let keys = [("keys", self.groups.is_some()), ("heavy_weight", self.heavy_servers == 0)];
        keys.into_iter().filter(|(_, unused)| *unused).map(|(key, _)| key).collect()
    }

    /// Refuses keys of other algorithms, and what other keys leave without a meaning.
    fn check_unused(&self, draft: &Draft, problems: &mut Problems) {
        let name = self.algorithm.name();
        let unused = [
            (
                "vnodes",
                !self.algorithm.has_virtual_nodes(),
                format!("`vnodes` are those of a ring, `xor` or `two-d`, but `algorithm` is `{name}`"),
                "leave it out, or set algorithm = \"ring\"; crush-vring always has 1,024",
            ),
            (
                "slots",
                self.algorithm != Algorithm::Maglev,
                format!("`slots` are those of `maglev`, but `algorithm` is `{name}`"),
                "leave it out, or set algorithm = \"maglev\"",
            ),
            (
                "keys",
                self.groups.is_some(),
                "`keys` is a number of objects, but `groups` has groups placed in their place".to_owned(),
                "leave one of them out",
            ),
            (
                "heavy_weight",
                self.heavy_servers == 0,
                "`heavy_weight` is that of the heavy servers, but `heavy_servers` is 0".to_owned(),
                "set `heavy_servers`, or leave it out",
            ),
        ];
        for (key, _, message, hint) in
            unused.into_iter().filter(|(key, unused, ..)| *unused && draft.says(key))
        {
            problems.refuse(draft, key, message, hint);
        }
    }

    /// A cheap arrangement, which is invalid for the same reasons as the real one.
    fn trial(&self) -> Arrangement {
        Arrangement {
            vnodes: self.vnodes().min(2),
            groups: 1,
            slots: self.slots(),
            replicas: self.replicas as usize,
            seed: 1,
        }
    }

    /// The servers before the change.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        let heavy = Weight((self.heavy_weight.clamp(0.0, 1000.0) * 65_536.0).round() as u32);
        let weight = |server: u32| if server < self.heavy_servers { heavy } else { Weight::ONE };
        Cluster::weighted((0..self.servers).map(weight).collect())
    }

    /// The last server: the one that changes, and that fails.
    #[must_use]
    pub fn last(&self) -> ServerId {
        ServerId(self.servers - 1)
    }

    /// The servers after the change.
    #[must_use]
    pub(super) fn cluster_after(&self) -> Cluster {
        let before = self.cluster();
        match self.change {
            Change::Remove => before.without(self.last()),
            Change::Add => before.with_added(Weight::ONE),
            Change::Halve => before.with_weight(self.last(), Weight(before.weight(self.last()).0 / 2)),
        }
    }

    /// The number of keys that are placed.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.groups.map_or(self.keys, u64::from)
    }

    /// The name of what is placed.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        if self.groups.is_some() { "groups" } else { "objects" }
    }
}
