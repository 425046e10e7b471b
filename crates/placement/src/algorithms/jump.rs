//! Jump consistent hash (Lamping and Veach 2014): minimal movement when the number of buckets grows, without
//! a table.
//!
//! The paper has one server per key, equal weights, and lets only the last bucket leave. Here each replica is
//! a separate draw, repeated if it hits a server that is already in the list, and a draw of a server is
//! accepted with a probability proportional to its weight. So any server may leave (its weight becomes zero;
//! its bucket stays) and weights are respected; the price is more draws if weights differ much.

use super::drawn_shares::drawn_shares;
use super::draws::{attempts_max, draw_word, fill_distinct};
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::scatter;
use super::{Cluster, KeySpace, Placement, ServerId, ServerSet, SetupError};

/// Jump consistent hash with weights.
///
/// Balance as for independent draws; a server shares data with all others; leaving and reweighting move the
/// minimum, joining nearly so (two replicas of one key that both jump to the new server are drawn again),
/// unless the new weight exceeds all others' and a power of two; no failure domains.
#[derive(Clone, Debug)]
pub struct Jump {
    cluster: Cluster,
    salt: u64,
    weight_limit: u64,
    live: Vec<ServerId>,
    attempts: u32,
}

impl Jump {
    /// A placement over all server ids; draws of servers of weight zero are rejected.
    ///
    /// # Errors
    /// If no server has a weight.
    pub fn new(cluster: &Cluster, seed: u32) -> Result<Jump, SetupError> {
        let heaviest = cluster.live().map(|(_, weight)| weight.0).max().ok_or(SetupError::NoServers)?;
        // A power of two, so that a slightly heavier server does not change the probabilities of all others.
        let weight_limit = u64::from(heaviest).next_power_of_two();
        let live: Vec<ServerId> = cluster.live().map(|(server, _)| server).collect();
        // One draw in `per_hit` is accepted.
        let kept: u64 = cluster.live().map(|(_, weight)| u64::from(weight.0)).sum();
        let per_hit = (weight_limit * cluster.ids() as u64).div_ceil(kept);
        let attempts = attempts_max(live.len(), usize::try_from(per_hit).unwrap_or(usize::MAX));
        Ok(Jump { cluster: cluster.clone(), salt: scatter(u64::from(seed)), weight_limit, live, attempts })
    }

    fn draw(&self, key: u64, attempt: u32) -> Option<ServerId> {
        let word = draw_word(key, self.salt, attempt);
        let server = ServerId(bucket(word, self.cluster.ids() as u32));
        let weight = u64::from(self.cluster.weight(server).0);
        // Acceptance depends on (key, attempt, server): if a weight falls, that server loses keys and no
        // other server is affected.
        let chance = scatter(word ^ scatter(u64::from(server.0))) % self.weight_limit;
        (chance < weight).then_some(server)
    }
}

/// The bucket of a word among `buckets`. Each step jumps to the next number of buckets at which the word
/// would move.
#[must_use]
pub fn bucket(word: u64, buckets: u32) -> u32 {
    let mut state = word;
    let (mut at, mut next) = (0u32, 0u64);
    while next < u64::from(buckets) {
        at = next as u32;
        // The generator and the constants are those of the paper.
        state = state.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let draw = ((state >> 33) + 1) as f64;
        next = (f64::from(at + 1) * ((1u64 << 31) as f64 / draw)) as u64;
    }
    at
}

impl Placement for Jump {
    fn name(&self) -> &'static str {
        "jump"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: Balance::Independent,
            declustering: Declustering::Everyone,
            weights: Weights::Exact,
            on_add: Movement::NearMinimal { times_max: 1.1 },
            on_remove: Movement::Minimal,
            on_reweight: Movement::Minimal,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Logarithmic,
            granularity: Granularity::AnyKey,
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let draw = |attempt| self.draw(key, attempt);
        fill_distinct(servers, down, (self.attempts, draw), &self.live)
    }

    fn expected_shares(&self, replicas: usize) -> Option<Vec<f64>> {
        drawn_shares(&self.cluster, replicas, None)
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the published algorithm (Guava's `consistentHash` and the paper's code agree on them).
    #[test]
    fn buckets_are_those_of_the_paper() {
        let check =
            |word: u64, buckets: u32, want: u32| assert_eq!(bucket(word, buckets), want, "{word} {buckets}");
        check(1, 1, 0);
        check(42, 57, 43);
        check(0xDEAD_10CC, 1, 0);
        check(0xDEAD_10CC, 666, 361);
        check(256, 1024, 520);
    }
}
