//! As many rings as virtual nodes, each with one node per server; the key's remainder selects the ring.
//!
//! After libch-placement's `multiring`, which finds replicas without walking over virtual nodes of servers
//! already in the list. Weights are our addition: a server of weight 0.5 is in half of the rings, one of
//! weight 2.0 is twice in each. If a ring has fewer servers than replicas, which small weights may cause, the
//! list continues in the next ring.

use super::circles::{Circles, Node};
use super::draws::fill_from;
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::{Modulus, scatter, virtual_node_id};
use super::{Cluster, KeyRun, KeySpace, Placement, ServerId, ServerSet, SetupError, Territory, Touching};

/// Rings selected by the key's remainder.
///
/// Balance and peers as for a ring with as many virtual nodes; joining, leaving and reweighting move the
/// minimum; no failure domains.
#[derive(Clone, Debug)]
pub struct MultiRing {
    cluster: Cluster,
    rings: Modulus,
    circles: Circles,
    /// The smallest number of distinct servers of any ring.
    servers_min: usize,
}

impl MultiRing {
    /// `rings` rings, each of which contains every server of weight 1.0 once.
    ///
    /// # Errors
    /// If no server has a weight, if `rings` is zero, or if there are more than 2^31 nodes.
    pub fn new(cluster: &Cluster, rings: u32, seed: u32) -> Result<MultiRing, SetupError> {
        if rings == 0 {
            return Err(SetupError::Zero { parameter: "rings" });
        }
        let mut nodes = Vec::new();
        let mut in_ring = vec![0usize; rings as usize];
        for (server, weight) in cluster.live() {
            let count = weight.share_of(rings);
            if count >= rings {
                in_ring.iter_mut().for_each(|servers| *servers += 1);
            }
            let (rounds, partial) = (count / rings, count % rings);
            nodes.extend((0..rounds * rings).map(|number| node(server, number, rings, seed)));
            for ring in first_rings(server, rounds, rings, partial, seed) {
                nodes.push(node(server, rounds * rings + ring, rings, seed));
                in_ring[ring as usize] += usize::from(rounds == 0);
            }
        }
        let circles = Circles::build(rings, nodes, cluster.ids())?;
        let servers_min = in_ring.into_iter().min().unwrap_or(0);
        Ok(MultiRing {
            cluster: cluster.clone(),
            rings: Modulus::new(u64::from(rings)),
            circles,
            servers_min,
        })
    }

    #[inline]
    fn ring_of(&self, key: u64) -> u32 {
        self.rings.of(key) as u32
    }

    /// The number of nodes of all rings together.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.circles.nodes()
    }

    /// Fills the list from the key's ring and, if it ends early, from the rings after it.
    fn fill_across(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let rings = self.rings.value() as u32;
        let own = self.ring_of(key);
        let order = (own..rings).chain(0..own);
        fill_from(servers, down, order.flat_map(|ring| self.circles.walk(ring, key)))
    }
}

fn node(server: ServerId, number: u32, rings: u32, seed: u32) -> Node {
    Node { circle: number % rings, at: virtual_node_id(server.0, number, seed), server }
}

/// The rings that a server enters first in an incomplete round: an order of its own per server, so that more
/// weight only adds rings, and servers of equal weight do not all choose the same rings.
fn first_rings(server: ServerId, round: u32, rings: u32, count: u32, seed: u32) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let salt = scatter(u64::from(server.0) << 32 | u64::from(seed)) ^ u64::from(round) << 32;
    let mut order: Vec<u32> = (0..rings).collect();
    order.sort_unstable_by_key(|ring| scatter(salt ^ u64::from(*ring)));
    order.truncate(count as usize);
    order
}

impl Placement for MultiRing {
    fn name(&self) -> &'static str {
        "multiring"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        let virtual_nodes = self.rings.value() as u32;
        Guarantees {
            balance: Balance::Arcs { virtual_nodes },
            declustering: Declustering::Neighbours { virtual_nodes },
            weights: Weights::Rounded { steps: virtual_nodes },
            on_add: Movement::Minimal,
            on_remove: Movement::Minimal,
            on_reweight: Movement::Minimal,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Constant,
            granularity: Granularity::AnyKey,
        }
    }

    #[inline]
    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let found = self.circles.fill(self.ring_of(key), key, down, servers);
        if found == servers.len() { found } else { self.fill_across(key, down, servers) }
    }

    fn lookup_batch(&self, keys: &[u64], replicas: usize, servers: &mut [ServerId]) {
        assert_eq!(servers.len(), keys.len() * replicas, "a batch needs {replicas} places for each key");
        let rings = self.rings.value();
        if rings.is_power_of_two() {
            self.circles.fill_batch(keys, |key| (key & (rings - 1)) as u32, replicas, servers);
        } else {
            self.circles.fill_batch(keys, |key| self.ring_of(key), replicas, servers);
        }
        if replicas > self.servers_min {
            // Some lists continue in another ring.
            for (key, places) in keys.iter().zip(servers.chunks_exact_mut(replicas)) {
                let found = self.lookup(*key, places);
                places[found..].fill(ServerId::NONE);
            }
        }
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }

    fn territory(&self, touching: Touching, run: &mut dyn FnMut(KeyRun)) -> Territory {
        let Touching { server, replicas } = touching;
        let modulus = self.rings.value();
        if self.cluster.weight(server) == super::Weight::ZERO || replicas == 0 {
            return Territory::Exact(KeySpace::AsGiven);
        }
        if replicas > self.servers_min {
            // Lists may continue in other rings: any key can touch any server.
            run(KeyRun::all(0, u64::MAX));
            return Territory::Superset(KeySpace::AsGiven);
        }
        for ring in 0..modulus {
            let mut own = |first, last| run(KeyRun { first, last, residue: ring, modulus });
            self.circles.runs(ring as u32, server, replicas, &mut own);
        }
        Territory::Exact(KeySpace::AsGiven)
    }
}
