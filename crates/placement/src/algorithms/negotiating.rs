//! Replicast's negotiating groups: the key selects a group of servers, whose members agree on which of them
//! store it.
//!
//! After the published model of Replicast: groups are blocks of consecutive server ids (9 in the paper), a
//! key belongs to the group of its remainder, and servers that do not fill a group stay idle. The real choice
//! among members follows their bids, which depend on time and load; as a placement it is a weighted
//! rendezvous among the members, which gives each of them the share that it would have in an evenly loaded
//! group.

use super::contest::fill_least;
use super::drawn_shares::shares_of;
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::{Modulus, scatter};
use super::rendezvous::{Entrant, key_word};
use super::{
    Cluster, KeyRun, KeySpace, Placement, ServerId, ServerSet, SetupError, Territory, Touching, Weight,
};

/// The number of members per group in the published model.
pub const MEMBERS_PUBLISHED: u32 = 9;

/// Groups of servers that negotiate among themselves.
///
/// All groups get the same, members by weight; servers that fill no group get nothing; a server shares data
/// only with its group; leaving and reweighting move the minimum within the group, joining moves nothing
/// until a group is full and then nearly everything; replicas are separated only by server.
#[derive(Clone, Debug)]
pub struct Negotiating {
    cluster: Cluster,
    members: u32,
    groups: Modulus,
    salt: u64,
    /// The members with weight, group by group.
    entrants: Vec<Entrant>,
    /// The begin of each group's members, and the end of the last group.
    begins: Vec<usize>,
}

impl Negotiating {
    /// Groups of `members` consecutive ids.
    ///
    /// # Errors
    /// If no server has a weight, `members` is zero, or no group is full.
    pub fn new(cluster: &Cluster, members: u32, seed: u32) -> Result<Negotiating, SetupError> {
        if members == 0 {
            return Err(SetupError::Zero { parameter: "members" });
        }
        let groups = cluster.ids() as u64 / u64::from(members);
        if groups == 0 {
            return Err(SetupError::GroupTooLarge { servers: cluster.ids(), members });
        }
        let salt = scatter(u64::from(seed));
        let (mut entrants, mut begins) = (Vec::new(), vec![0]);
        for group in 0..groups as u32 {
            for server in (group * members..(group + 1) * members).map(ServerId) {
                let weight = cluster.weight(server);
                if weight > Weight::ZERO {
                    entrants.push(Entrant::new(server, weight, salt));
                }
            }
            begins.push(entrants.len());
        }
        if entrants.is_empty() {
            return Err(SetupError::NoServers);
        }
        Ok(Negotiating {
            cluster: cluster.clone(),
            members,
            groups: Modulus::new(groups),
            salt,
            entrants,
            begins,
        })
    }

    /// The number of groups.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.groups.value()
    }

    /// The group of a key.
    #[must_use]
    pub fn group_of(&self, key: u64) -> u64 {
        self.groups.of(key)
    }

    /// Whether a server is in no complete group, and so gets nothing.
    #[must_use]
    pub(super) fn is_idle(&self, server: ServerId) -> bool {
        u64::from(server.0 / self.members) >= self.groups()
    }

    fn members_of(&self, group: u64) -> &[Entrant] {
        let group = group as usize;
        &self.entrants[self.begins[group]..self.begins[group + 1]]
    }
}

impl Placement for Negotiating {
    fn name(&self) -> &'static str {
        "negotiating"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: Balance::WithinGroups {
                members: self.members,
                idle: (self.cluster.live().filter(|(server, _)| self.is_idle(*server))).count() as u32,
            },
            declustering: Declustering::Members { members: self.members },
            weights: Weights::WithinGroup,
            on_add: Movement::Most,
            on_remove: Movement::Minimal,
            on_reweight: Movement::Minimal,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Constant,
            granularity: Granularity::AnyKey,
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let members = self.members_of(self.group_of(key));
        let key_word = key_word(key, self.salt);
        fill_least(servers, members.len(), |at, worst| members[at].draw_below(key_word, worst, down))
    }

    /// Each group gets the same; its members are drawn by weight without replacement.
    fn expected_shares(&self, replicas: usize) -> Option<Vec<f64>> {
        let mut shares = vec![0.0; self.cluster.ids()];
        for group in 0..self.groups() {
            let begin = group as u32 * self.members;
            let members = (begin..begin + self.members).map(ServerId);
            let weights = members.map(|server| (server, u64::from(self.cluster.weight(server).0)));
            let drawn = shares_of(weights, (self.cluster.ids(), replicas), None)?;
            shares.iter_mut().zip(drawn).for_each(|(share, drawn)| *share += drawn / self.groups() as f64);
        }
        Some(shares)
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }

    /// All keys of the server's group; which of them the server holds depends on the key, unless all members
    /// hold each key.
    fn territory(&self, touching: Touching, run: &mut dyn FnMut(KeyRun)) -> Territory {
        let Touching { server, replicas } = touching;
        let group = u64::from(server.0 / self.members);
        let takes_part = self.cluster.weight(server) > Weight::ZERO && group < self.groups() && replicas > 0;
        if !takes_part {
            return Territory::Exact(KeySpace::AsGiven);
        }
        run(KeyRun::residue_class(group, self.groups()));
        if replicas >= self.members_of(group).len() {
            Territory::Exact(KeySpace::AsGiven)
        } else {
            Territory::Superset(KeySpace::AsGiven)
        }
    }
}
