//! P(loss | so many nodes are lost at once) where the copies of all data lie on few sets of nodes (Cidon et
//! al., Copysets, USENIX ATC 2013). Sets count as independent; [`partition`] is exact for one permutation.

use super::Layout;
use crate::error::{DurabilityError, within};
use crate::sums::choose;

/// Nodes, and how many of them are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// All.
    pub nodes: u64,
    /// Lost at once.
    pub lost: u64,
    /// Copies of each chunk.
    pub copies: u64,
}

/// The number of sets that hold all copies of some chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sets {
    /// As copyset replication makes them for a scatter width: width / (copies - 1) permutations, each with a
    /// set for each `copies` nodes.
    Copyset {
        /// Other nodes that hold copies of a node's chunks.
        scatter_width: u64,
    },
    /// Copies drawn among the next `scatter_width` nodes of the first, every set in use.
    Random {
        /// Other nodes that can hold copies of a node's chunks.
        scatter_width: u64,
    },
    /// Distinct sets among so many chunks, each on a set drawn among all.
    Chunks {
        /// Chunks.
        chunks: f64,
    },
    /// So many.
    Known(f64),
}

impl Sets {
    /// How many there are.
    #[must_use]
    pub fn count(self, of: Nodes) -> f64 {
        let (nodes, copies) = (of.nodes as f64, of.copies as f64);
        match self {
            Sets::Copyset { scatter_width } => scatter_width as f64 / (copies - 1.0) * nodes / copies,
            Sets::Random { scatter_width } => nodes * choose(scatter_width, of.copies - 1),
            Sets::Chunks { chunks } => {
                let all = choose(of.nodes, of.copies);
                -all * libm::expm1(-chunks / all)
            }
            Sets::Known(count) => count,
        }
    }
}

/// P(all nodes of some set are lost): 1 - (1 - C(F, R) / C(N, R))^sets.
///
/// # Errors
/// If more nodes are lost than there are, or fewer than two copies are kept.
pub fn loss(nodes: Nodes, sets: Sets) -> Result<f64, DurabilityError> {
    within("the number of copies", nodes.copies as f64, 2.0, nodes.nodes as f64)?;
    within("the number of lost nodes", nodes.lost as f64, 0.0, nodes.nodes as f64)?;
    let one = choose(nodes.lost, nodes.copies) / choose(nodes.nodes, nodes.copies);
    Ok(-libm::expm1(sets.count(nodes) * libm::log1p(-one)))
}

/// The same for one permutation, whose sets are disjoint: an exact count.
///
/// # Errors
/// If the copies do not divide the nodes.
pub fn partition(nodes: Nodes) -> Result<f64, DurabilityError> {
    let left = (nodes.nodes % nodes.copies.max(1)) as f64;
    within("the number of nodes that are in no set", left, 0.0, 0.0)?;
    let copies = nodes.copies as usize;
    let layout = Layout {
        sets: 1,
        racks_per_set: 1,
        places: nodes.nodes as usize / copies,
        local: copies,
        local_tolerance: copies - 1,
        top_tolerance: 0,
    };
    layout.loss(nodes.lost as usize, 1)
}
