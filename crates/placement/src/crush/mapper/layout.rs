//! The bucket layout of the fast mapper: padded arrays and precomputed values.

use crate::crush::bucket::{Bucket, Shape};
use crate::crush::lanes::WIDTH;
use crate::crush::map::ItemId;
use crate::crush::vring::Ring;

/// A bucket laid out for picking. Arrays for [`crate::crush::lanes`] are padded with their first entry to a
/// full width.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub id: u32,
    pub kind: i32,
    pub hash: u8,
    pub items: Vec<ItemId>,
    /// The items as words to hash, padded.
    pub ids: Vec<u32>,
    pub shape: NodeShape,
}

#[derive(Clone, Debug)]
pub(super) enum NodeShape {
    Uniform,
    /// Padded in front, with weights of 0, because a list is searched towards its first item.
    List {
        words: Vec<u32>,
        sums: Vec<u32>,
        weights: Vec<u32>,
    },
    Tree {
        node_weights: Vec<u32>,
        /// The numbers of the inner nodes, which are the even ones, each at half its number; padded.
        inner: Vec<u32>,
    },
    Straw {
        straws: Vec<u32>,
    },
    Straw2(Weights),
    Vring(Ring),
}

/// The weights of a straw2 bucket.
#[derive(Clone, Debug)]
pub(super) enum Weights {
    /// All weights are zero: the first item wins every draw.
    Zero,
    /// All weights are equal, so comparing needs no division.
    Equal(u32),
    /// With the inverse of each weight; infinite for a weight of 0, which always loses.
    Mixed { weights: Vec<u32>, inverse: Vec<f32> },
}

/// A set of choose args.
#[derive(Clone, Debug)]
pub(super) struct Args {
    /// By bucket slot.
    pub nodes: Vec<Option<NodeArgs>>,
    /// Whether a bucket has weights for several positions of the result.
    pub by_position: bool,
}

/// Replacements for the weights and ids of one bucket.
#[derive(Clone, Debug)]
pub(super) struct NodeArgs {
    pub weight_sets: Vec<Weights>,
    pub ids: Option<Vec<u32>>,
    /// The row of the bucket with each weight set; without weight sets, the one row with the ids.
    pub rows: Vec<u32>,
}

impl Node {
    pub fn new(bucket: &Bucket) -> Self {
        let words: Vec<u32> = bucket.items.iter().map(|&item| item as u32).collect();
        let shape = match &bucket.shape {
            Shape::Uniform { .. } => NodeShape::Uniform,
            Shape::List { weights, sums } => NodeShape::List {
                words: padded_in_front(&words),
                sums: padded_in_front(sums),
                weights: padded_in_front(weights),
            },
            Shape::Tree { node_weights } => NodeShape::Tree {
                node_weights: node_weights.clone(),
                inner: padded((0..node_weights.len() as u32).step_by(2).collect()),
            },
            Shape::Straw { straws, .. } => NodeShape::Straw { straws: padded(straws.clone()) },
            Shape::Straw2 { weights } => NodeShape::Straw2(Weights::new(weights)),
            Shape::Vring { .. } => NodeShape::Vring(Ring::new(bucket)),
        };
        Self {
            id: bucket.id as u32,
            kind: i32::from(bucket.kind),
            hash: bucket.hash,
            items: bucket.items.clone(),
            ids: padded(words),
            shape,
        }
    }
}

impl Weights {
    pub fn new(weights: &[u32]) -> Self {
        match weights {
            [] => Self::Zero,
            [0, rest @ ..] if rest.iter().all(|&weight| weight == 0) => Self::Zero,
            [first, rest @ ..] if rest.iter().all(|weight| weight == first) => Self::Equal(*first),
            _ => Self::Mixed {
                inverse: padded(weights.iter().map(|&weight| 1.0 / weight as f32).collect()),
                weights: weights.to_vec(),
            },
        }
    }
}

pub(super) fn padded<T: Copy>(mut values: Vec<T>) -> Vec<T> {
    if let Some(&first) = values.first() {
        values.resize(values.len().next_multiple_of(WIDTH), first);
    }
    values
}

fn padded_in_front(values: &[u32]) -> Vec<u32> {
    let padding = values.len().next_multiple_of(WIDTH) - values.len();
    std::iter::repeat_n(0, padding).chain(values.iter().copied()).collect()
}
