//! Buckets: the inner nodes of the hierarchy, and the six algorithms by which they pick one of their items.
//!
//! Data that a bucket stores besides items and weights (running sums, node weights, straw lengths) are
//! computed here as in Ceph; reading a binary map takes them from the map. The sixth algorithm, `vring`, is
//! not Ceph's; see [`super::vring`].

use super::hash::RJENKINS1;
use super::straw;

/// The id of a device (zero and up) or of a bucket (below zero).
pub type ItemId = i32;

/// A bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The id, which is negative.
    pub id: ItemId,
    /// The type, 1 or greater.
    pub kind: u16,
    /// The hash id; 0 is rjenkins1, and any other hashes everything to 0.
    pub hash: u8,
    /// The sum of the items' weights in 16.16 fixed point.
    pub weight: u32,
    /// The devices and buckets in it.
    pub items: Vec<ItemId>,
    /// The algorithm, with its data.
    pub shape: Shape,
}

/// The algorithm of a bucket, with the data stored for each item.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A pseudo-random permutation; all weights are equal.
    Uniform {
        /// The weight of every item.
        item_weight: u32,
    },
    /// From the last item to the first, each compared with the sum of those before it.
    List {
        /// The weight of each item.
        weights: Vec<u32>,
        /// The sum of the weights up to and including each item.
        sums: Vec<u32>,
    },
    /// A binary tree over the items.
    Tree {
        /// The weight of each node of the implicit tree; item `i` is leaf `2 i + 1`.
        node_weights: Vec<u32>,
    },
    /// The longest straw wins; straw lengths are scaled in advance.
    Straw {
        /// The weight of each item.
        weights: Vec<u32>,
        /// The straw length of each item in 16.16 fixed point.
        straws: Vec<u32>,
    },
    /// The longest straw wins; its length is an exponential draw divided by the weight.
    Straw2 {
        /// The weight of each item.
        weights: Vec<u32>,
    },
    /// A ring of virtual nodes.
    Vring {
        /// The weight of each item.
        weights: Vec<u32>,
    },
}

/// A bucket algorithm without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alg {
    /// See [`Shape::Uniform`].
    Uniform,
    /// See [`Shape::List`].
    List,
    /// See [`Shape::Tree`].
    Tree,
    /// See [`Shape::Straw`].
    Straw,
    /// See [`Shape::Straw2`].
    Straw2,
    /// See [`Shape::Vring`].
    Vring,
}

impl Alg {
    /// Every algorithm, with its number in the binary map and its name in the text map.
    pub const ALL: [(Self, u8, &'static str); 6] = [
        (Self::Uniform, 1, "uniform"),
        (Self::List, 2, "list"),
        (Self::Tree, 3, "tree"),
        (Self::Straw, 4, "straw"),
        (Self::Straw2, 5, "straw2"),
        (Self::Vring, 6, "vring"),
    ];

    /// The name in the text map.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// The number in the binary map.
    #[must_use]
    pub fn number(self) -> u8 {
        self.row().1
    }

    /// The algorithm with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    fn row(self) -> (Self, u8, &'static str) {
        Self::ALL[self as usize]
    }
}

/// Why a bucket cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// The sum does not fit in 16.16 fixed point.
    #[error("the weights add up to 65536 or more")]
    WeightOverflow,
    /// Ceph's crushtool aborts on such a bucket.
    #[error("a uniform bucket's items weigh 0")]
    UniformZero,
    /// The items of a uniform bucket must have equal weights.
    #[error("a uniform bucket's items differ in weight")]
    UniformMixed,
    /// Ceph stores the number of nodes in one byte.
    #[error("a tree bucket has {items} items, but at most 64 fit")]
    TreeTooLarge {
        /// The number of items.
        items: usize,
    },
}

/// The properties of a new bucket, without its items.
#[derive(Clone, Copy, Debug)]
pub struct BucketSpec {
    /// The id, which is negative.
    pub id: ItemId,
    /// The type.
    pub kind: u16,
    /// The algorithm.
    pub alg: Alg,
    /// The hash id.
    pub hash: u8,
    /// The version of the formula for straw lengths.
    pub straw_calc_version: u8,
}

impl BucketSpec {
    /// A bucket with the usual hash and straw formula.
    #[must_use]
    pub fn new(id: ItemId, kind: u16, alg: Alg) -> Self {
        Self { id, kind, alg, hash: RJENKINS1, straw_calc_version: 1 }
    }
}

/// The maximum number of items of a tree bucket: Ceph stores the number of nodes, twice the next power of
/// two, in one byte.
pub const TREE_ITEMS_MAX: usize = 64;

impl Bucket {
    /// Makes a bucket from items and their weights.
    pub fn new(spec: BucketSpec, items: Vec<ItemId>, weights: Vec<u32>) -> Result<Self, BucketError> {
        assert_eq!(items.len(), weights.len(), "every item has a weight");
        let weight = weights
            .iter()
            .try_fold(0u32, |sum, &weight| sum.checked_add(weight))
            .ok_or(BucketError::WeightOverflow)?;
        let shape = match spec.alg {
            Alg::Uniform => Shape::Uniform { item_weight: uniform_weight(&weights)? },
            Alg::List => Shape::List { sums: running_sums(&weights), weights },
            Alg::Tree if items.len() > TREE_ITEMS_MAX => {
                return Err(BucketError::TreeTooLarge { items: items.len() });
            }
            Alg::Tree => Shape::Tree { node_weights: node_weights(&weights) },
            Alg::Straw => Shape::Straw { straws: straw::lengths(&weights, spec.straw_calc_version), weights },
            Alg::Straw2 => Shape::Straw2 { weights },
            Alg::Vring => Shape::Vring { weights },
        };
        Ok(Self { id: spec.id, kind: spec.kind, hash: spec.hash, weight, items, shape })
    }

    /// The algorithm.
    #[must_use]
    pub fn alg(&self) -> Alg {
        match self.shape {
            Shape::Uniform { .. } => Alg::Uniform,
            Shape::List { .. } => Alg::List,
            Shape::Tree { .. } => Alg::Tree,
            Shape::Straw { .. } => Alg::Straw,
            Shape::Straw2 { .. } => Alg::Straw2,
            Shape::Vring { .. } => Alg::Vring,
        }
    }

    /// The weight of the item at `position`; 0 if a binary map stores none.
    #[must_use]
    pub fn item_weight(&self, position: usize) -> u32 {
        match &self.shape {
            Shape::Uniform { item_weight } => *item_weight,
            Shape::Tree { node_weights } => node_weights.get(2 * position + 1).copied().unwrap_or(0),
            Shape::List { weights, .. }
            | Shape::Straw { weights, .. }
            | Shape::Straw2 { weights }
            | Shape::Vring { weights } => weights.get(position).copied().unwrap_or(0),
        }
    }

    /// The weights of all items, in order.
    #[must_use]
    pub(crate) fn item_weights(&self) -> Vec<u32> {
        (0..self.items.len()).map(|position| self.item_weight(position)).collect()
    }
}

fn uniform_weight(weights: &[u32]) -> Result<u32, BucketError> {
    match weights {
        [] => Ok(0),
        [0, ..] => Err(BucketError::UniformZero),
        [first, rest @ ..] if rest.iter().any(|weight| weight != first) => Err(BucketError::UniformMixed),
        [first, ..] => Ok(*first),
    }
}

fn running_sums(weights: &[u32]) -> Vec<u32> {
    weights
        .iter()
        .scan(0u32, |sum, &weight| {
            *sum = sum.wrapping_add(weight);
            Some(*sum)
        })
        .collect()
}

/// The node weights of the implicit tree: a leaf has the weight of its item, an inner node the sum of its
/// children.
pub(super) fn node_weights(weights: &[u32]) -> Vec<u32> {
    if weights.is_empty() {
        return Vec::new();
    }
    let nodes = 2 * weights.len().next_power_of_two();
    let mut sums = vec![0u32; nodes];
    for (item, &weight) in weights.iter().enumerate() {
        let mut node = 2 * item + 1;
        let mut height = 0;
        sums[node] = weight;
        while node != nodes / 2 {
            let on_right = node & (2 << height) != 0;
            node = if on_right { node - (1 << height) } else { node + (1 << height) };
            height += 1;
            sums[node] += weight;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_nodes_sum_their_leaves() {
        assert_eq!(node_weights(&[5]), [0, 5]);
        assert_eq!(node_weights(&[1, 2, 4]), [0, 1, 3, 2, 7, 4, 4, 0]);
    }
}
