//! The less loaded of two random servers (Azar, Broder, Karlin and Upfal 1994).
//!
//! The servers of a group depend on what was placed before it, so a placement is computed once, group by
//! group, and kept as a table; objects are divided into groups by hash. Loads are relative to weights, and
//! servers are drawn by weight. A failed server's group moves to the less loaded of two further draws, by the
//! loads after the last group was placed.

use super::draws::{attempts_max, draw_word, fill_distinct, fill_from, place_of};
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::{Modulus, scatter};
use super::{Cluster, KeyRun, KeySpace, Placement, ServerId, ServerSet, SetupError, Territory, Touching};

/// Groups placed on the less loaded of two random servers.
///
/// Nearly even, whatever the number of groups; a server shares data with all others; a table recomputed after
/// a change has little in common with the old one, so a live system keeps its table and moves groups as it
/// chooses; no failure domains.
#[derive(Clone, Debug)]
pub struct TwoChoice {
    cluster: Cluster,
    dice: Dice,
    groups: Modulus,
    replicas: usize,
    /// The servers of all groups, one row per group.
    table: Vec<ServerId>,
    loads: Vec<u64>,
}

/// The parameters of the placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoChoiceSpec {
    /// The number of groups.
    pub groups: u32,
    /// The number of replicas that are placed and counted as load.
    pub replicas: usize,
    /// The seed of the draws.
    pub seed: u32,
}

/// Draws servers by weight.
#[derive(Clone, Debug)]
struct Dice {
    salt: u64,
    live: Vec<ServerId>,
    /// The cumulative weights of the live servers.
    sums: Vec<u64>,
}

impl Dice {
    fn server(&self, word: u64) -> ServerId {
        let total = self.sums.last().copied().unwrap_or(0);
        let place = place_of(word, total);
        self.live[self.sums.partition_point(|sum| *sum <= place)]
    }

    /// Draws two servers and returns the less loaded one.
    fn draw(&self, group: u64, attempt: u32, cluster: &Cluster, loads: &[u64]) -> ServerId {
        let word = draw_word(scatter(group), self.salt, attempt);
        let (left, right) = (self.server(word), self.server(scatter(word)));
        // load / weight, compared without division.
        let scaled = |own: ServerId, other: ServerId| {
            u128::from(loads[own.index()]) * u128::from(cluster.weight(other).0)
        };
        if scaled(right, left) < scaled(left, right) { right } else { left }
    }
}

/// The first attempt number for servers beyond a table's row.
const BEHIND_THE_TABLE: u32 = 1 << 31;

impl TwoChoice {
    /// Places all groups in order.
    ///
    /// # Errors
    /// If no server has a weight, or the number of groups or of replicas is zero.
    pub fn new(cluster: &Cluster, spec: TwoChoiceSpec) -> Result<TwoChoice, SetupError> {
        for (parameter, is_zero) in [("groups", spec.groups == 0), ("replicas", spec.replicas == 0)] {
            if is_zero {
                return Err(SetupError::Zero { parameter });
            }
        }
        let live: Vec<ServerId> = cluster.live().map(|(server, _)| server).collect();
        if live.is_empty() {
            return Err(SetupError::NoServers);
        }
        let mut total = 0;
        let sums = cluster.live().map(|(_, weight)| {
            total += u64::from(weight.0);
            total
        });
        let sums = sums.collect();
        let dice = Dice { salt: scatter(u64::from(spec.seed)), live, sums };
        let replicas = spec.replicas.min(dice.live.len());
        let attempts = attempts_max(dice.live.len(), 1);
        let mut loads = vec![0u64; cluster.ids()];
        let mut table = vec![ServerId::NONE; spec.groups as usize * replicas];
        for (group, row) in (0u64..).zip(table.chunks_exact_mut(replicas)) {
            let draw = |attempt| Some(dice.draw(group, attempt, cluster, &loads));
            fill_distinct(row, &ServerSet::none(), (attempts, draw), &dice.live);
            row.iter().for_each(|server| loads[server.index()] += 1);
        }
        let groups = Modulus::new(u64::from(spec.groups));
        Ok(TwoChoice { cluster: cluster.clone(), dice, groups, replicas, table, loads })
    }

    /// The number of group replicas that each server holds, by id.
    #[must_use]
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    fn row(&self, group: u64) -> &[ServerId] {
        &self.table[group as usize * self.replicas..][..self.replicas]
    }
}

impl Placement for TwoChoice {
    fn name(&self) -> &'static str {
        "two-choice"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: Balance::LessLoadedOfTwo,
            declustering: Declustering::Everyone,
            weights: Weights::Exact,
            on_add: Movement::Most,
            on_remove: Movement::Most,
            on_reweight: Movement::Most,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Constant,
            granularity: Granularity::Groups { groups: self.groups.value() },
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let group = self.groups.of(scatter(key));
        let row = self.row(group);
        let filled = fill_from(servers, down, row.iter().copied());
        if filled == servers.len() {
            return filled;
        }
        let attempts = BEHIND_THE_TABLE..BEHIND_THE_TABLE + (attempts_max(self.dice.live.len(), 1) - 1);
        let further = attempts.map(|attempt| self.dice.draw(group, attempt, &self.cluster, &self.loads));
        let all = row.iter().copied().chain(further).chain(self.dice.live.iter().copied());
        fill_from(servers, down, all)
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::Scattered
    }

    fn territory(&self, touching: Touching, run: &mut dyn FnMut(KeyRun)) -> Territory {
        let Touching { server, replicas } = touching;
        let mut row = vec![ServerId::NONE; replicas];
        for group in 0..self.groups.value() {
            let listed = if replicas <= self.replicas {
                &self.row(group)[..replicas]
            } else {
                let found = self.lookup(KeySpace::Scattered.key(group), &mut row);
                &row[..found]
            };
            if listed.contains(&server) {
                run(KeyRun::residue_class(group, self.groups.value()));
            }
        }
        Territory::Exact(KeySpace::Scattered)
    }
}
