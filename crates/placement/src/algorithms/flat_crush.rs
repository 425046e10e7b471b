//! CRUSH as one of the placement algorithms: one flat bucket of all servers, and a rule that picks devices
//! from it.

use std::sync::Mutex;

use super::drawn_shares::drawn_shares;
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::{Cluster, KeySpace, Placement, ServerId, ServerSet, SetupError, hashing};
use crate::crush::{
    Alg, Ask, Bucket, BucketSpec, Map, Mapper, Mode, Rule, RuleKind, Step, Tunables, Workspace,
};

/// CRUSH on one bucket of servers, as in libch-placement's benchmark.
#[derive(Debug)]
pub(super) struct FlatCrush {
    cluster: Cluster,
    alg: Alg,
    salt: u64,
    mapper: Mapper,
    weights: Vec<u32>,
    /// The workspace of a mapping; concurrent lookups of one placement are serialised.
    workspace: Mutex<(Workspace, Vec<i32>)>,
}

impl FlatCrush {
    pub(super) fn new(cluster: &Cluster, alg: Alg, seed: u32) -> Result<Self, SetupError> {
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

/// The length of a straw depends on all weights (Ceph's own notes on straw2). Measured here with weights of
/// 0.5, 1 and 4: up to 1.6 times the minimum.
const STRAWS: Movement = Movement::NearMinimal { times_max: 4.0 };

impl FlatCrush {
    /// Straws stay as they are when a server joins or leaves only if all weights are equal.
    fn on_change(&self) -> Movement {
        if self.alg == Alg::Straw && !self.cluster.is_equal() { STRAWS } else { Movement::MinimalForOne }
    }
}

impl Placement for FlatCrush {
    fn name(&self) -> &'static str {
        match self.alg {
            Alg::Straw => "crush-straw",
            Alg::Vring => "crush-vring",
            _ => "crush-straw2",
        }
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: match self.alg {
                // The number of virtual nodes of each item; otherwise draws are independent.
                Alg::Vring => Balance::Arcs { virtual_nodes: 1_024 },
                _ => Balance::Independent,
            },
            declustering: Declustering::Everyone,
            weights: match self.alg {
                // The heaviest server has all virtual nodes, the others a share of them.
                Alg::Vring => Weights::Rounded { steps: 1_024 },
                _ => Weights::Exact,
            },
            on_add: self.on_change(),
            on_remove: self.on_change(),
            on_reweight: match self.alg {
                Alg::Straw => STRAWS,
                _ => Movement::MinimalForOne,
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

    /// Draws by weight, repeated until the servers differ or the tries of a copy are used up. The n-th copy
    /// begins with draw n, so all copies together see one draw less than a copy has tries, and one each.
    fn expected_shares(&self, replicas: usize) -> Option<Vec<f64>> {
        let tries = Tunables::JEWEL.choose_total_tries as usize + 1;
        let draws = replicas.saturating_sub(1) + tries;
        let by_weight = self.alg == Alg::Straw2 || (self.alg == Alg::Straw && self.cluster.is_equal());
        if by_weight { drawn_shares(&self.cluster, replicas, Some(draws)) } else { None }
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::Scattered
    }
}
