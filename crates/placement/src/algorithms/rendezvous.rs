//! Rendezvous hashing: every server draws for the key, and the servers with the smallest draws are chosen.
//!
//! A server of weight `w` draws `-ln(u)/w`, the first arrival of a stream of rate `w`; the smallest draws
//! win, so shares are exactly proportional to weights (Thaler and Ravishankar 1998 for equal weights; the
//! exponential race for others). The logarithm is libm's, in software, so every machine draws the same. It is
//! rarely computed: `t <= -ln(1 - t)`, so a server whose `t/w` already exceeds the worst draw kept is
//! rejected.

use super::contest::fill_least;
use super::drawn_shares::drawn_shares;
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::{SPREAD, mix, scatter};
use super::{Cluster, KeySpace, Placement, ServerId, ServerSet, SetupError, Weight};

/// Weighted rendezvous hashing.
///
/// Balance as for independent draws, with any weights; a server shares data with all others; joining, leaving
/// and reweighting move the minimum; every lookup examines every server; no failure domains.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    cluster: Cluster,
    entrants: Vec<Entrant>,
    salt: u64,
}

/// A server as a candidate for a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entrant {
    server: ServerId,
    word: u64,
    weight: f64,
    /// Ten parts in 2^53 below `1/weight`, so that rounding never puts the lower bound above the draw that it
    /// bounds.
    per_weight_low: f64,
}

impl Rendezvous {
    /// A placement over the servers that have a weight.
    ///
    /// # Errors
    /// If no server has a weight.
    pub fn new(cluster: &Cluster, seed: u32) -> Result<Rendezvous, SetupError> {
        let salt = scatter(u64::from(seed));
        let entrants: Vec<Entrant> =
            cluster.live().map(|(server, weight)| Entrant::new(server, weight, salt)).collect();
        if entrants.is_empty() {
            return Err(SetupError::NoServers);
        }
        Ok(Rendezvous { cluster: cluster.clone(), entrants, salt })
    }
}

/// A uniform number in `(0, 1)` or, once in 2^54 words, 1.
#[inline]
fn unit(word: u64) -> f64 {
    (word as f64 + 0.5) * (1.0 / 18_446_744_073_709_551_616.0)
}

#[inline]
fn word_of(key_word: u64, entrant: &Entrant) -> u64 {
    mix(key_word ^ entrant.word, SPREAD[1])
}

/// The draw of a candidate: the smallest wins. Infinite if the uniform number is 1, never NaN.
fn draw(word: u64, weight: f64) -> f64 {
    -libm::log1p(-unit(word)) / weight
}

impl Entrant {
    pub(super) fn new(server: ServerId, weight: Weight, salt: u64) -> Entrant {
        Entrant {
            server,
            word: scatter(salt ^ u64::from(server.0)),
            weight: weight.as_f64(),
            per_weight_low: (1.0 - 10.0 * f64::EPSILON) / weight.as_f64(),
        }
    }

    /// The draw for a key, unless it is certainly above `worst` or the server is down.
    #[inline]
    pub(super) fn draw_below(
        &self,
        key_word: u64,
        worst: Option<f64>,
        down: &ServerSet,
    ) -> Option<(f64, ServerId)> {
        let word = word_of(key_word, self);
        let hopeless = worst.is_some_and(|worst| unit(word) * self.per_weight_low > worst);
        (!hopeless && !down.contains(self.server)).then(|| (draw(word, self.weight), self.server))
    }
}

/// The word of a key, which is mixed with each candidate's word.
#[inline]
pub(super) fn key_word(key: u64, salt: u64) -> u64 {
    mix(key ^ salt, SPREAD[0])
}

impl Placement for Rendezvous {
    fn name(&self) -> &'static str {
        "rendezvous"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: Balance::Independent,
            declustering: Declustering::Everyone,
            weights: Weights::Exact,
            on_add: Movement::Minimal,
            on_remove: Movement::Minimal,
            on_reweight: Movement::Minimal,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Linear,
            granularity: Granularity::AnyKey,
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let key_word = key_word(key, self.salt);
        fill_least(servers, self.entrants.len(), |at, worst| {
            self.entrants[at].draw_below(key_word, worst, down)
        })
    }

    /// The first clocks of a race of exponential clocks are draws by weight without replacement.
    fn expected_shares(&self, replicas: usize) -> Option<Vec<f64>> {
        drawn_shares(&self.cluster, replicas, None)
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }
}
