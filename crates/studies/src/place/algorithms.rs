//! From a name to a placement. CRUSH is one of them: a flat bucket of all servers, and the rule that picks devices from it.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use towtank_placement::algorithms::{
    Cluster, Jump, KeySpace, MEMBERS_PUBLISHED, Maglev, MultiRing, Negotiating, Placement, Rendezvous, Ring,
    ServerId, ServerSet, SetupError, StaticModulo, TwoChoice, TwoChoiceSpec, TwoD, Xor, hashing,
};
use towtank_placement::crush::{
    Alg, Ask, Bucket, BucketSpec, Map, Mapper, Mode, Rule, RuleKind, Step, Tunables, Workspace,
};

/// How keys find their servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// CRUSH with one straw2 bucket, as new Ceph clusters have.
    #[default]
    #[schemars(extend("x-aliases" = ["crush-straw2", "crush_straw2"]))]
    Crush,
    /// CRUSH with one straw bucket, as Ceph had before hammer.
    #[schemars(extend("x-aliases" = ["crush-straw"]))]
    CrushStraw,
    /// CRUSH with one ring bucket of independent draws.
    #[schemars(extend("x-aliases" = ["crush-vring"]))]
    CrushVring,
    /// A ring with virtual nodes, in the manner of Chord.
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
    #[schemars(extend("x-aliases" = ["static-modulo"]))]
    StaticModulo,
    /// The less loaded of two, by a table of groups.
    #[schemars(extend("x-aliases" = ["two-choice"]))]
    TwoChoice,
    /// Least bitwise distance.
    Xor,
    /// Least distance in the plane.
    #[schemars(extend("x-aliases" = ["two-d"]))]
    TwoD,
    /// Groups of servers that negotiate among themselves, as in Replicast.
    Negotiating,
}

/// What an algorithm needs to know beside the servers.
#[derive(Clone, Copy, Debug)]
pub struct Arrangement {
    /// Virtual nodes of a server of weight 1.
    pub vnodes: u32,
    /// Groups, for algorithms that keep a table of them.
    pub groups: u32,
    /// Copies that are placed and counted as load.
    pub replicas: usize,
    /// What makes one arrangement differ from another.
    pub seed: u32,
}

/// Groups of the table of two choices where objects are placed one by one.
pub const GROUPS_USUAL: u32 = 65_536;

impl Algorithm {
    /// Every one, in the order of the schema.
    pub const ALL: [Algorithm; 13] = [
        Self::Crush,
        Self::CrushStraw,
        Self::CrushVring,
        Self::Ring,
        Self::Multiring,
        Self::Rendezvous,
        Self::Jump,
        Self::Maglev,
        Self::StaticModulo,
        Self::TwoChoice,
        Self::Xor,
        Self::TwoD,
        Self::Negotiating,
    ];

    /// The word in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Crush => "crush",
            Self::CrushStraw => "crush_straw",
            Self::CrushVring => "crush_vring",
            Self::Ring => "ring",
            Self::Multiring => "multiring",
            Self::Rendezvous => "rendezvous",
            Self::Jump => "jump",
            Self::Maglev => "maglev",
            Self::StaticModulo => "static_modulo",
            Self::TwoChoice => "two_choice",
            Self::Xor => "xor",
            Self::TwoD => "two_d",
            Self::Negotiating => "negotiating",
        }
    }

    /// The algorithm of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Algorithm> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Whether it uses `vnodes`.
    #[must_use]
    pub fn has_virtual_nodes(self) -> bool {
        matches!(self, Self::Ring | Self::Multiring | Self::Xor | Self::TwoD)
    }

    /// Whether it looks groups up by their number in a table of its own.
    #[must_use]
    pub fn has_table(self) -> bool {
        self == Self::TwoChoice
    }

    /// Bytes that a server takes beside what it takes in every algorithm, and a virtual node of it, before and after the change:
    /// measured with 2,000 and 16,384 servers.
    #[must_use]
    pub fn memory(self) -> (u64, u64) {
        match self {
            Self::CrushVring => (40_000, 0),
            Self::Maglev => (900, 0),
            Self::Ring | Self::Multiring => (0, 84),
            Self::Xor => (0, 27),
            Self::TwoD => (0, 8),
            _ => (0, 0),
        }
    }

    /// Servers of a negotiating group.
    #[must_use]
    pub fn members(self) -> Option<u32> {
        (self == Self::Negotiating).then_some(MEMBERS_PUBLISHED)
    }

    /// Sets it up.
    ///
    /// # Errors
    /// When it cannot serve such a cluster.
    pub fn set_up(self, cluster: &Cluster, with: &Arrangement) -> Result<Box<dyn Placement>, SetupError> {
        let Arrangement { vnodes, groups, replicas, seed } = *with;
        let positions: u64 = cluster.live().map(|(_, weight)| u64::from(weight.share_of(vnodes))).sum();
        if self.has_virtual_nodes() && positions > POSITIONS_MAX {
            return Err(SetupError::TooManyPositions { asked: positions, limit: POSITIONS_MAX });
        }
        Ok(match self {
            Self::Crush => Box::new(FlatCrush::new(cluster, Alg::Straw2, seed)?),
            Self::CrushStraw => Box::new(FlatCrush::new(cluster, Alg::Straw, seed)?),
            Self::CrushVring => Box::new(FlatCrush::new(cluster, Alg::Vring, seed)?),
            Self::Ring => Box::new(Ring::new(cluster, vnodes, seed)?),
            Self::Multiring => Box::new(MultiRing::new(cluster, vnodes, seed)?),
            Self::Rendezvous => Box::new(Rendezvous::new(cluster, seed)?),
            Self::Jump => Box::new(Jump::new(cluster, seed)?),
            Self::Maglev => Box::new(Maglev::new(cluster, Maglev::slots_for(cluster.ids() as u32), seed)?),
            Self::StaticModulo => Box::new(StaticModulo::new(cluster)?),
            Self::TwoChoice => Box::new(TwoChoice::new(cluster, TwoChoiceSpec { groups, replicas, seed })?),
            Self::Xor => Box::new(Xor::new(cluster, vnodes, seed)?),
            Self::TwoD => Box::new(TwoD::new(cluster, vnodes, seed)?),
            Self::Negotiating => Box::new(Negotiating::new(cluster, MEMBERS_PUBLISHED, seed)?),
        })
    }
}

/// The most positions on rings: each takes 16 bytes or more.
pub(super) const POSITIONS_MAX: u64 = 100_000_000;

/// CRUSH on one bucket of servers, as libch-placement's benchmark sets it up.
#[derive(Debug)]
struct FlatCrush {
    cluster: Cluster,
    alg: Alg,
    salt: u64,
    mapper: Mapper,
    weights: Vec<u32>,
    /// What a mapping needs; lookups of one placement take turns.
    workspace: Mutex<(Workspace, Vec<i32>)>,
}

impl FlatCrush {
    fn new(cluster: &Cluster, alg: Alg, seed: u32) -> Result<Self, SetupError> {
        let ids = i32::try_from(cluster.ids()).map_err(|_| SetupError::NoServers)?;
        if cluster.live_count() == 0 {
            return Err(SetupError::NoServers);
        }
        let too_many = |_| SetupError::TooManyPositions { asked: cluster.ids() as u64, limit: 65_535 };
        let item_weights: Vec<u32> =
            (0..cluster.ids() as u32).map(|id| cluster.weight(ServerId(id)).0).collect();
        let mut map = Map { tunables: Tunables::JEWEL, ..Map::default() };
        let bucket =
            Bucket::new(BucketSpec::new(-1, 1, alg), (0..ids).collect(), item_weights).map_err(too_many)?;
        map.add_bucket(bucket).expect("the map is empty");
        let choose = Step::Choose { mode: Mode::Firstn, leaf: false, count: 0, kind: 0 };
        let steps = vec![Step::Take(-1), choose, Step::Emit];
        let rule = Rule { ruleset: 0, kind: RuleKind::Replicated, min_size: 1, max_size: u8::MAX, steps };
        map.rules.push(Some(rule));
        map.finalize();
        let mapper = map.compile().expect("one bucket of devices is a legal map");
        let weights = vec![0x1_0000; cluster.ids()];
        let salt = hashing::scatter(u64::from(seed));
        Ok(Self { cluster: cluster.clone(), alg, salt, mapper, weights, workspace: Mutex::default() })
    }
}

impl Placement for FlatCrush {
    fn name(&self) -> &'static str {
        match self.alg {
            Alg::Straw => "crush_straw",
            Alg::Vring => "crush_vring",
            _ => "crush",
        }
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: match self.alg {
                // The number of virtual nodes of each item; draws are independent beyond them.
                Alg::Vring => Balance::Arcs { virtual_nodes: 1_024 },
                _ => Balance::Independent,
            },
            declustering: Declustering::Everyone,
            weights: Weights::Exact,
            on_add: Movement::Minimal,
            on_remove: Movement::Minimal,
            on_reweight: match self.alg {
                // A straw's length depends on all weights (Ceph's own notes on straw2).
                Alg::Straw => Movement::NearMinimal { times_max: 4.0 },
                _ => Movement::Minimal,
            },
            failure_domains: FailureDomains::ServersOnly,
            cost: match self.alg {
                Alg::Vring => Cost::Logarithmic,
                _ => Cost::Linear,
            },
            granularity: Granularity::AnyKey,
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let x = hashing::scatter(key ^ self.salt) as u32;
        let mut guard = self.workspace.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (workspace, found) = &mut *guard;
        let mut ask = Ask { rule: 0, x, result_max: servers.len(), weights: &self.weights, pool: 0 };
        let mut weights;
        if !down.is_empty() {
            weights = self.weights.clone();
            for server in down.iter() {
                if let Some(weight) = weights.get_mut(server.index()) {
                    *weight = 0;
                }
            }
            ask.weights = &weights;
        }
        self.mapper.do_rule(ask, workspace, found);
        for (place, item) in servers.iter_mut().zip(found.iter()) {
            *place = ServerId(*item as u32);
        }
        found.len().min(servers.len())
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::Scattered
    }
}
