//! The servers at the least xor distance from the key, as in Kademlia.
//!
//! After libch-placement's `xor`: virtual nodes have the same positions as on its rings, and distance is the
//! exclusive or, read as a number. The library scans all nodes; here they are sorted, and the nearest are
//! found by descending into the halves of the key space, the nearer half first. No server is listed twice,
//! which is possible in the library with several virtual nodes.

use super::cluster::{ServerId, ServerSet};
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::virtual_node_id;
use super::{Cluster, KeySpace, Placement, SetupError};

/// Least xor distance.
///
/// Uneven with one virtual node, and a server then shares data with only a few others; several virtual nodes
/// improve both; joining, leaving and reweighting move the minimum; no failure domains.
#[derive(Clone, Debug)]
pub struct Xor {
    cluster: Cluster,
    virtual_nodes: u32,
    nodes: Vec<(u64, ServerId)>,
}

impl Xor {
    /// A placement with `virtual_nodes` nodes per weight of 1.0.
    ///
    /// # Errors
    /// If no server has a weight, or `virtual_nodes` is zero.
    pub fn new(cluster: &Cluster, virtual_nodes: u32, seed: u32) -> Result<Xor, SetupError> {
        if virtual_nodes == 0 {
            return Err(SetupError::Zero { parameter: "virtual_nodes" });
        }
        let mut nodes: Vec<(u64, ServerId)> = Vec::new();
        for (server, weight) in cluster.live() {
            let numbers = 0..weight.share_of(virtual_nodes);
            nodes.extend(numbers.map(|number| (virtual_node_id(server.0, number, seed), server)));
        }
        if nodes.is_empty() {
            return Err(SetupError::NoServers);
        }
        nodes.sort_unstable();
        Ok(Xor { cluster: cluster.clone(), virtual_nodes, nodes })
    }
}

/// The state of one lookup.
struct Descent<'a> {
    key: u64,
    down: &'a ServerSet,
    places: &'a mut [ServerId],
    filled: usize,
}

impl Descent<'_> {
    /// Takes the nodes in order of distance until all places are filled. All nodes given agree in the bits
    /// from `bits` upwards.
    fn take(&mut self, nodes: &[(u64, ServerId)], bits: u32) {
        let mut bits = bits;
        let (mut near, mut far) = (nodes, &nodes[..0]);
        // Skips the bits in which all nodes agree.
        while bits > 0 && near.len() > 1 && far.is_empty() {
            bits -= 1;
            let (zeros, ones) = near.split_at(near.partition_point(|(at, _)| at >> bits & 1 == 0));
            let key_is_one = self.key >> bits & 1 == 1;
            (near, far) = if key_is_one { (ones, zeros) } else { (zeros, ones) };
            if near.is_empty() {
                (near, far) = (far, near);
            }
        }
        if far.is_empty() {
            near.iter().for_each(|(_, server)| self.place(*server));
            return;
        }
        self.take(near, bits);
        if self.filled < self.places.len() {
            self.take(far, bits);
        }
    }

    fn place(&mut self, server: ServerId) {
        let is_open = self.filled < self.places.len();
        if is_open && !self.down.contains(server) && !self.places[..self.filled].contains(&server) {
            self.places[self.filled] = server;
            self.filled += 1;
        }
    }
}

impl Placement for Xor {
    fn name(&self) -> &'static str {
        "xor"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        let virtual_nodes = self.virtual_nodes;
        Guarantees {
            balance: Balance::Cells { virtual_nodes },
            // The neighbours of a node by xor distance are the smallest subtrees around it, whose sizes vary,
            // so only the number of servers bounds the number of peers.
            declustering: Declustering::Everyone,
            weights: Weights::Rounded { steps: virtual_nodes },
            on_add: Movement::Minimal,
            on_remove: Movement::Minimal,
            on_reweight: Movement::Minimal,
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Logarithmic,
            granularity: Granularity::AnyKey,
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let mut descent = Descent { key, down, places: servers, filled: 0 };
        descent.take(&self.nodes, 64);
        descent.filled
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }
}
