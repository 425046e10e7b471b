//! The key's hash modulo the number of servers, then the next indices.
//!
//! After libch-placement's `static_modulo`: fast and even, but not consistent. It hashes the key with
//! [`scatter`], where the library has its own hash. Servers of weight zero are left out, and the others are
//! renumbered without gaps.

use super::draws::fill_from;
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::{Modulus, scatter};
use super::{Cluster, KeyRun, KeySpace, Placement, ServerId, ServerSet, SetupError, Territory, Touching};

/// Static modulo.
///
/// Balance as for independent draws; a server shares data only with its `2 (r - 1)` neighbours by index, and
/// a failed server's data move to `r` of them; joining and leaving move nearly everything; weights are
/// ignored; no failure domains.
#[derive(Clone, Debug)]
pub struct StaticModulo {
    cluster: Cluster,
    live: Vec<ServerId>,
    modulus: Modulus,
}

impl StaticModulo {
    /// A placement over the servers that have a weight.
    ///
    /// # Errors
    /// If no server has a weight.
    pub fn new(cluster: &Cluster) -> Result<StaticModulo, SetupError> {
        let live: Vec<ServerId> = cluster.live().map(|(server, _)| server).collect();
        if live.is_empty() {
            return Err(SetupError::NoServers);
        }
        let modulus = Modulus::new(live.len() as u64);
        Ok(StaticModulo { cluster: cluster.clone(), live, modulus })
    }
}

impl Placement for StaticModulo {
    fn name(&self) -> &'static str {
        "static-modulo"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: Balance::Independent,
            declustering: Declustering::Neighbours { virtual_nodes: 1 },
            weights: Weights::Ignored,
            on_add: Movement::Most,
            on_remove: Movement::Most,
            on_reweight: Movement::Nothing,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Constant,
            granularity: Granularity::AnyKey,
        }
    }

    #[inline]
    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let all_up = down.is_empty();
        if all_up && servers.len() <= self.live.len() {
            let mut at = self.modulus.of(scatter(key)) as usize;
            for server in servers.iter_mut() {
                *server = self.live[at];
                at = if at + 1 == self.live.len() { 0 } else { at + 1 };
            }
            return servers.len();
        }
        let (before, from) = self.live.split_at(self.modulus.of(scatter(key)) as usize);
        fill_from(servers, down, from.iter().chain(before).copied())
    }

    fn expected_shares(&self, replicas: usize) -> Option<Vec<f64>> {
        let each = replicas.min(self.live.len()) as f64 / self.live.len() as f64;
        let share = |server: &ServerId| if self.live.binary_search(server).is_ok() { each } else { 0.0 };
        Some((0..self.cluster.ids() as u32).map(|id| share(&ServerId(id))).collect())
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::Scattered
    }

    fn territory(&self, touching: Touching, run: &mut dyn FnMut(KeyRun)) -> Territory {
        let modulus = self.modulus.value();
        if let Ok(index) = self.live.binary_search(&touching.server) {
            let replicas = (touching.replicas as u64).min(modulus);
            for back in 0..replicas {
                let residue = (index as u64 + modulus - back) % modulus;
                run(KeyRun::residue_class(residue, modulus));
            }
        }
        Territory::Exact(KeySpace::Scattered)
    }
}
