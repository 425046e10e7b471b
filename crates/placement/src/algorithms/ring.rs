//! A ring of virtual nodes, as in Chord: a key starts at the last node at or below it, and its list walks
//! upwards to the next distinct servers.
//!
//! Positions are those of libch-placement's `ring` (Carns and others, Argonne): lookup3 of server and virtual
//! node; keys are used as given. Weights are our addition: the number of a server's virtual nodes is
//! proportional to its weight, and a change of weight adds or removes the last of them, so nothing else
//! moves.

use super::circles::{Circles, Node};
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::virtual_node_id;
use super::{Cluster, KeyRun, KeySpace, Placement, ServerId, ServerSet, SetupError, Territory, Touching};

/// A ring with virtual nodes.
///
/// Balance improves with the square root of the number of virtual nodes; a server shares data with at most `2
/// (r - 1)` peers per virtual node; joining, leaving and reweighting move the minimum; no failure domains.
#[derive(Clone, Debug)]
pub struct Ring {
    cluster: Cluster,
    virtual_nodes: u32,
    circles: Circles,
}

impl Ring {
    /// A ring with `virtual_nodes` nodes per weight of 1.0.
    ///
    /// # Errors
    /// If no server has a weight, if `virtual_nodes` is zero, or if there are more than 2^31 nodes.
    pub fn new(cluster: &Cluster, virtual_nodes: u32, seed: u32) -> Result<Ring, SetupError> {
        if virtual_nodes == 0 {
            return Err(SetupError::Zero { parameter: "virtual_nodes" });
        }
        let node = |server: ServerId, number: u32| Node {
            circle: 0,
            at: virtual_node_id(server.0, number, seed),
            server,
        };
        let nodes = cluster
            .live()
            .flat_map(|(server, weight)| {
                (0..weight.share_of(virtual_nodes)).map(move |number| node(server, number))
            })
            .collect();
        let circles = Circles::build(1, nodes, cluster.ids())?;
        Ok(Ring { cluster: cluster.clone(), virtual_nodes, circles })
    }

    /// The number of virtual nodes on the ring.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.circles.nodes()
    }
}

impl Placement for Ring {
    fn name(&self) -> &'static str {
        "ring"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        let virtual_nodes = self.virtual_nodes;
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
        self.circles.fill(0, key, down, servers)
    }

    fn lookup_batch(&self, keys: &[u64], replicas: usize, servers: &mut [ServerId]) {
        assert_eq!(servers.len(), keys.len() * replicas, "a batch needs {replicas} places for each key");
        self.circles.fill_batch(keys, |_| 0, replicas, servers);
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }

    fn territory(&self, touching: Touching, run: &mut dyn FnMut(KeyRun)) -> Territory {
        let Touching { server, replicas } = touching;
        self.circles.runs(0, server, replicas, &mut |first, last| run(KeyRun::all(first, last)));
        Territory::Exact(KeySpace::AsGiven)
    }
}
