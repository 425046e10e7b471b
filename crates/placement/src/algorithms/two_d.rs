//! The servers nearest to the key in the plane.
//!
//! After libch-placement's `two_d`: the halves of a 64-bit word are the two coordinates, for keys and virtual
//! nodes alike, and distance is Euclidean, without wrapping around. The distance of a server is that of its
//! nearest virtual node, so no server is listed twice, which is possible in the library with several nodes.
//! Distances are squared and exact.

use super::contest::fill_least;
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::virtual_node_id;
use super::{Cluster, KeySpace, Placement, ServerId, ServerSet, SetupError};

/// Least distance in the plane.
///
/// Uneven with one virtual node, most of all at the borders; a server shares data with the neighbours of its
/// nodes; joining, leaving and reweighting move the minimum; every lookup examines every node; no failure
/// domains.
#[derive(Clone, Debug)]
pub struct TwoD {
    cluster: Cluster,
    virtual_nodes: u32,
    /// The nodes of all servers, server by server.
    nodes: Vec<u64>,
    servers: Vec<Standing>,
}

#[derive(Clone, Copy, Debug)]
struct Standing {
    server: ServerId,
    first: usize,
    end: usize,
}

impl TwoD {
    /// A placement with `virtual_nodes` nodes per weight of 1.0.
    ///
    /// # Errors
    /// If no server has a weight, or `virtual_nodes` is zero.
    pub fn new(cluster: &Cluster, virtual_nodes: u32, seed: u32) -> Result<TwoD, SetupError> {
        if virtual_nodes == 0 {
            return Err(SetupError::Zero { parameter: "virtual_nodes" });
        }
        let (mut nodes, mut servers) = (Vec::new(), Vec::new());
        for (server, weight) in cluster.live() {
            let first = nodes.len();
            let numbers = 0..weight.share_of(virtual_nodes);
            nodes.extend(numbers.map(|number| virtual_node_id(server.0, number, seed)));
            servers.push(Standing { server, first, end: nodes.len() });
        }
        if servers.is_empty() {
            return Err(SetupError::NoServers);
        }
        Ok(TwoD { cluster: cluster.clone(), virtual_nodes, nodes, servers })
    }
}

/// The squared distance; the greatest one has 65 bits.
fn squared_distance(left: u64, right: u64) -> u128 {
    let square = |left: u64, right: u64| u128::from(left.abs_diff(right)).pow(2);
    square(left & 0xffff_ffff, right & 0xffff_ffff) + square(left >> 32, right >> 32)
}

impl Placement for TwoD {
    fn name(&self) -> &'static str {
        "two-d"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        let virtual_nodes = self.virtual_nodes;
        Guarantees {
            balance: Balance::Cells { virtual_nodes },
            // A cell of the plane has six neighbours on average, but up to as many as there are nodes.
            declustering: Declustering::Everyone,
            weights: Weights::Rounded { steps: virtual_nodes },
            on_add: Movement::Minimal,
            on_remove: Movement::Minimal,
            on_reweight: Movement::Minimal,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Linear,
            granularity: Granularity::AnyKey,
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        fill_least(servers, self.servers.len(), |at, _: Option<u128>| {
            let Standing { server, first, end } = self.servers[at];
            if down.contains(server) {
                return None;
            }
            let distances = self.nodes[first..end].iter().map(|node| squared_distance(key, *node));
            distances.min().map(|nearest| (nearest, server))
        })
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }
}
