//! How each bucket picks when many inputs are mapped at once, and the items of the buckets laid out for it.

use super::layout::{Args, Node, NodeArgs, NodeShape, Weights, padded};
use super::way::Way;
use crate::crush::hash::RJENKINS1;
use crate::crush::lanes::{FACTOR_OF_ZERO, ITEMS_MAX, SCALE};
use crate::crush::map::{ChooseArgs, ItemId};
use std::collections::BTreeMap;

/// The same for a list, whose search ends at its first hit.
const LIST_ALONE_FROM: usize = 33;

/// Up to this many items, only buckets of one size share a queue; above, sizes are rounded up by this.
const SIZE_STEP: usize = 16;

/// The function that picks in all buckets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kernel {
    Straw2,
    Straw,
    List,
    Tree,
    Uniform,
}

/// A bucket with one set of weights and ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub queue: u32,
    /// The slot of the bucket.
    pub node: u32,
    /// Where its items begin in [`Rows::ids`].
    pub at: usize,
}

/// The buckets whose picks are made together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub kernel: Kernel,
    /// The number of items, padding included; for a tree, the number of nodes.
    pub size: usize,
}

/// The rows of a map.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub rows: Vec<Row>,
    pub queues: Vec<Queue>,
    /// The ids to hash for straws, padded to the size of the queue.
    pub ids: Vec<u32>,
    /// By how much a draw is multiplied for a straw.
    pub factors: Vec<f32>,
    /// The queue of each kind and size; a bucket where rules start has its own, which all inputs share.
    numbers: BTreeMap<(Kernel, usize, Option<u32>), u32>,
}

impl Rows {
    /// Adds a bucket with these weights (if they replace its own) and ids.
    pub fn add(
        &mut self,
        node: &Node,
        is_start: bool,
        weights: Option<&Weights>,
        ids: Option<&[u32]>,
    ) -> Way {
        let slot = !node.id;
        let size = node.items.len();
        let start = is_start.then_some(slot);
        if size == 0 || node.hash != RJENKINS1 {
            return Way::Alone;
        }
        let ids = &ids.unwrap_or(&node.ids)[..size];
        match &node.shape {
            NodeShape::Tree { node_weights, .. } if node_weights.len() > 1 => {
                self.row((Kernel::Tree, node_weights.len(), start), slot)
            }
            NodeShape::Tree { .. } => Way::Alone,
            _ if size == 1 => Way::First,
            NodeShape::Uniform => self.row((Kernel::Uniform, 0, start), slot),
            NodeShape::List { .. } if size < LIST_ALONE_FROM => self.row((Kernel::List, size, start), slot),
            NodeShape::Straw { straws } if size <= ITEMS_MAX => {
                let factors = straws[..size].iter().map(|&straw| straw as f32);
                self.straws((Kernel::Straw, size, start), slot, ids, factors, 0.0)
            }
            NodeShape::Straw2(own) if size <= ITEMS_MAX => {
                let factor = |weight: u32| if weight == 0 { FACTOR_OF_ZERO } else { SCALE / weight as f32 };
                let key = (Kernel::Straw2, size, start);
                match weights.unwrap_or(own) {
                    Weights::Zero => Way::First,
                    Weights::Equal(weight) => self.straws(
                        key,
                        slot,
                        ids,
                        std::iter::repeat_n(factor(*weight), size),
                        FACTOR_OF_ZERO,
                    ),
                    Weights::Mixed { weights, .. } => {
                        let factors = weights.iter().map(|&weight| factor(weight));
                        self.straws(key, slot, ids, factors, FACTOR_OF_ZERO)
                    }
                }
            }
            NodeShape::List { .. } | NodeShape::Straw { .. } | NodeShape::Straw2(_) | NodeShape::Vring(_) => {
                Way::Alone
            }
        }
    }

    fn straws(
        &mut self,
        (kernel, size, start): (Kernel, usize, Option<u32>),
        slot: u32,
        ids: &[u32],
        factors: impl Iterator<Item = f32>,
        padding: f32,
    ) -> Way {
        let padded =
            if size <= SIZE_STEP || start.is_some() { size } else { size.next_multiple_of(SIZE_STEP) };
        let way = self.row((kernel, padded, start), slot);
        let end = self.ids.len() + padded;
        self.ids.extend(ids);
        self.ids.resize(end, ids[0]);
        self.factors.extend(factors);
        self.factors.resize(end, padding);
        way
    }

    fn row(&mut self, key: (Kernel, usize, Option<u32>), node: u32) -> Way {
        let queue = *self.numbers.entry(key).or_insert_with(|| {
            self.queues.push(Queue { kernel: key.0, size: key.1 });
            self.queues.len() as u32 - 1
        });
        self.rows.push(Row { queue, node, at: self.ids.len() });
        Way::Together(self.rows.len() as u32 - 1)
    }
}

/// Lays out a set of choose args, which apply only to straw2 buckets.
pub(super) fn args(nodes: &[Option<Node>], args: &ChooseArgs, rows: &mut Rows, starts: &[ItemId]) -> Args {
    let mut laid: Args = vec![None; nodes.len()];
    for (&slot, arg) in args {
        if let Some(Some(node)) = nodes.get(slot as usize)
            && matches!(node.shape, NodeShape::Straw2(_))
        {
            let weight_sets: Vec<Weights> =
                arg.weight_sets.iter().map(|weights| Weights::new(weights)).collect();
            let ids = (!arg.ids.is_empty()).then(|| padded(arg.ids.iter().map(|&id| id as u32).collect()));
            let is_start = starts.contains(&(node.id as ItemId));
            let mut way = |weights| rows.add(node, is_start, weights, ids.as_deref());
            let ways = match &weight_sets[..] {
                [] => vec![way(None)],
                sets => sets.iter().map(|weights| way(Some(weights))).collect(),
            };
            laid[slot as usize] = Some(NodeArgs { weight_sets, ids, ways });
        }
    }
    laid
}
