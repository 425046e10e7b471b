//! How each bucket picks when many inputs are mapped at once, and what its picks read, laid out for it.

use super::layout::{Args, Node, NodeArgs, NodeShape, Weights, padded};
use crate::crush::hash::RJENKINS1;
use crate::crush::lanes::{FACTOR_OF_ZERO, ITEMS_MAX, SCALE, STEPS};
use crate::crush::map::{ChooseArgs, ItemId, slot_of};
use std::collections::BTreeMap;

/// A list of so many items or more picks by itself: its search ends at its first hit.
const LIST_ALONE_FROM: usize = 33;

/// Up to this many items, only buckets of one size share a queue; above, sizes are rounded up by this.
const SIZE_STEP: usize = 16;

/// What picks in all buckets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kernel {
    /// Nothing: the buckets are empty.
    Empty,
    /// Their first items, always.
    First,
    /// Each bucket by itself.
    Alone,
    /// One place of the permutations of uniform buckets.
    Place,
    Straw2,
    Straw,
    List,
    Tree,
}

/// A bucket with one set of weights and ids. The row of a bucket with its own is that of its slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Row {
    /// The queue; for [`PLACES`] the queue of place 0.
    pub queue: u32,
    /// The slot of the bucket.
    pub node: u32,
    /// The number of items of a uniform bucket; 0 for others.
    pub uniform: u32,
    /// Where the data of its kernel begin.
    pub at: u32,
    /// Where its items begin in [`Rows::children`].
    pub children: u32,
    /// Buckets of one pass can pick together, those of fewer items with padding.
    pub pass: Pass,
    /// The number of its items; for a tree, the number of nodes.
    pub size: u32,
}

impl Row {
    /// What picks at an attempt, the attempt with the round where it counts, and the place in the permutation
    /// of a uniform bucket. The round counts in uniform buckets whose size the divisor divides.
    pub(super) fn pass_at(&self, attempt: u32, round: u32, divisor: u32) -> (Pass, u32, u32) {
        let counts = divisor > 0 && self.uniform > 0 && self.uniform.is_multiple_of(divisor);
        let r = if counts { attempt.wrapping_add(round) } else { attempt };
        if self.pass.kernel() != Kernel::Place {
            return (self.pass, r, 0);
        }
        let at = if r < self.uniform { r } else { r % self.uniform };
        (if at < STEPS as u32 { self.pass } else { Pass::APART }, r, at)
    }
}

/// What picks in a bucket, and the length of its data, in one word that is soon compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass(u32);

/// The kernels by number.
const KERNELS: [Kernel; 8] = [
    Kernel::Empty,
    Kernel::First,
    Kernel::Alone,
    Kernel::Place,
    Kernel::Straw2,
    Kernel::Straw,
    Kernel::List,
    Kernel::Tree,
];

const _: () = {
    let mut number = 0;
    while number < KERNELS.len() {
        assert!(KERNELS[number] as usize == number, "a kernel has another number");
        number += 1;
    }
};

impl Pass {
    const fn of(kernel: Kernel, length: usize) -> Self {
        Self(kernel as u32 | (length as u32) << KERNELS.len().trailing_zeros())
    }

    /// The pass of buckets that pick alone.
    pub const APART: Self = Self::of(Kernel::Alone, 0);

    #[inline]
    pub(super) fn kernel(self) -> Kernel {
        KERNELS[self.0 as usize % KERNELS.len()]
    }
}

impl Row {
    /// The row of a slot without a bucket.
    pub const NONE: Self = Self {
        queue: EMPTY,
        node: 0,
        uniform: 0,
        at: 0,
        children: 0,
        pass: Pass::of(Kernel::Empty, 0),
        size: 0,
    };
}

/// The buckets whose picks are made together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub kernel: Kernel,
    /// The number of items, padding included; for a tree, the number of nodes; for a permutation, the place.
    pub size: usize,
}

/// The queues that every map has.
pub(super) const EMPTY: u32 = 0;
pub(super) const FIRST: u32 = 1;
pub(super) const ALONE: u32 = 2;
/// The first of the queues of permutations, by place. Later places are rare, and picked alone.
pub(super) const PLACES: u32 = 3;

/// An item of a bucket with its type, which says how an input goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub item: ItemId,
    pub kind: i32,
}

impl Child {
    /// An item that the map does not contain, or a draw that ended outside the bucket.
    pub(super) const BAD: Self = Self { item: 0, kind: -1 };
}

/// An item of a list bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub id: u32,
    pub sum: u32,
    pub weight: u32,
}

/// The rows of a map.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub rows: Vec<Row>,
    pub queues: Vec<Queue>,
    pub children: Vec<Child>,
    /// The ids to hash for straws, with the factors by which draws are multiplied, padded to a multiple of
    /// [`SIZE_STEP`].
    pub straws: Vec<(u32, f32)>,
    /// The items of lists, padded likewise.
    pub entries: Vec<Entry>,
    /// The weights of the nodes of trees.
    pub trees: Vec<u32>,
    /// The queue of each kind and size; a bucket where rules start has its own, which all inputs share.
    numbers: BTreeMap<(Kernel, usize, Option<u32>), u32>,
}

impl Rows {
    /// The rows of all buckets with their own weights and ids.
    pub fn new(nodes: &[Option<Node>], max_devices: i32, starts: &[ItemId]) -> Self {
        let queue = |kernel, size| Queue { kernel, size };
        let mut queues = vec![queue(Kernel::Empty, 0), queue(Kernel::First, 0), queue(Kernel::Alone, 0)];
        queues.extend((0..STEPS).map(|place| queue(Kernel::Place, place)));
        let mut rows = Self {
            rows: Vec::with_capacity(nodes.len()),
            queues,
            children: Vec::new(),
            straws: Vec::new(),
            entries: Vec::new(),
            trees: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for node in nodes {
            let children = rows.children.len();
            match node {
                Some(node) => {
                    let items = node.items.iter().map(|&item| child(nodes, max_devices, item));
                    rows.children.extend(items);
                    rows.add(node, children, starts, (None, None));
                }
                None => {
                    rows.rows.push(Row::NONE);
                }
            }
        }
        rows
    }

    /// Adds a bucket with these weights and ids, if they replace its own; returns its row.
    fn add(
        &mut self,
        node: &Node,
        children: usize,
        starts: &[ItemId],
        (weights, ids): (Option<&Weights>, Option<&[u32]>),
    ) -> u32 {
        let size = node.items.len();
        let uniform = if matches!(node.shape, NodeShape::Uniform) { size as u32 } else { 0 };
        let start = starts.contains(&(node.id as ItemId)).then_some(!node.id);
        let ids = &ids.unwrap_or(&node.ids)[..size];
        let (queue, at) = match &node.shape {
            _ if size == 0 => (EMPTY, 0),
            _ if node.hash != RJENKINS1 => (ALONE, 0),
            NodeShape::Tree { node_weights, .. } if node_weights.len() > 1 => {
                let at = self.trees.len();
                self.trees.extend(node_weights);
                (self.queue(Kernel::Tree, node_weights.len(), None), at)
            }
            NodeShape::Tree { .. } => (ALONE, 0),
            _ if size == 1 => (FIRST, 0),
            NodeShape::Uniform => (PLACES, 0),
            NodeShape::List { words, sums, weights } if size < LIST_ALONE_FROM => {
                let at = self.entries.len();
                let entry =
                    |index: usize| Entry { id: words[index], sum: sums[index], weight: weights[index] };
                self.entries.extend((words.len() - size..words.len()).map(entry));
                self.entries
                    .resize(at + size.next_multiple_of(SIZE_STEP), Entry { id: 0, sum: 0, weight: 0 });
                (self.queue(Kernel::List, size, None), at)
            }
            NodeShape::Straw { straws } if size <= ITEMS_MAX => {
                let factors = straws[..size].iter().map(|&straw| straw as f32);
                self.straws(Kernel::Straw, start, ids, factors, 0.0)
            }
            NodeShape::Straw2(own) if size <= ITEMS_MAX => {
                let factor = |weight: u32| if weight == 0 { FACTOR_OF_ZERO } else { SCALE / weight as f32 };
                match weights.unwrap_or(own) {
                    Weights::Zero => (FIRST, 0),
                    Weights::Equal(weight) => {
                        let factors = std::iter::repeat_n(factor(*weight), size);
                        self.straws(Kernel::Straw2, start, ids, factors, FACTOR_OF_ZERO)
                    }
                    Weights::Mixed { weights, .. } => {
                        let factors = weights.iter().map(|&weight| factor(weight));
                        self.straws(Kernel::Straw2, start, ids, factors, FACTOR_OF_ZERO)
                    }
                }
            }
            NodeShape::List { .. } | NodeShape::Straw { .. } | NodeShape::Straw2(_) | NodeShape::Vring(_) => {
                (ALONE, 0)
            }
        };
        let (at, children) = (at as u32, children as u32);
        let Queue { kernel, size: in_queue } = self.queues[queue as usize];
        let (length, size) = match kernel {
            Kernel::Tree => (in_queue, in_queue),
            Kernel::Straw2 | Kernel::Straw | Kernel::List => (size.next_multiple_of(SIZE_STEP), size),
            Kernel::Empty | Kernel::First | Kernel::Alone | Kernel::Place => (0, size),
        };
        let (pass, size) = (Pass::of(kernel, length), size as u32);
        self.rows.push(Row { queue, node: !node.id, uniform, at, children, pass, size });
        self.rows.len() as u32 - 1
    }

    fn straws(
        &mut self,
        kernel: Kernel,
        start: Option<u32>,
        ids: &[u32],
        factors: impl Iterator<Item = f32>,
        padding: f32,
    ) -> (u32, usize) {
        let size = ids.len();
        let padded =
            if size <= SIZE_STEP || start.is_some() { size } else { size.next_multiple_of(SIZE_STEP) };
        let at = self.straws.len();
        self.straws.extend(ids.iter().copied().zip(factors));
        self.straws.resize(at + size.next_multiple_of(SIZE_STEP), (ids[0], padding));
        (self.queue(kernel, padded, start), at)
    }

    fn queue(&mut self, kernel: Kernel, size: usize, start: Option<u32>) -> u32 {
        *self.numbers.entry((kernel, size, start)).or_insert_with(|| {
            self.queues.push(Queue { kernel, size });
            self.queues.len() as u32 - 1
        })
    }
}

/// An item with its type: 0 for a device.
pub(super) fn child(nodes: &[Option<Node>], max_devices: i32, item: ItemId) -> Child {
    if item >= max_devices {
        return Child::BAD;
    }
    let kind = match slot_of(item) {
        None => Some(0),
        Some(slot) => nodes.get(slot).and_then(Option::as_ref).map(|node| node.kind),
    };
    kind.map_or(Child::BAD, |kind| Child { item, kind })
}

/// Lays out a set of choose args, which apply only to straw2 buckets.
pub(super) fn args(nodes: &[Option<Node>], args: &ChooseArgs, rows: &mut Rows, starts: &[ItemId]) -> Args {
    let mut laid = Args { nodes: vec![None; nodes.len()], by_position: false };
    for (&slot, arg) in args {
        if let Some(Some(node)) = nodes.get(slot as usize)
            && matches!(node.shape, NodeShape::Straw2(_))
        {
            let weight_sets: Vec<Weights> =
                arg.weight_sets.iter().map(|weights| Weights::new(weights)).collect();
            let ids = (!arg.ids.is_empty()).then(|| padded(arg.ids.iter().map(|&id| id as u32).collect()));
            let children = rows.rows[slot as usize].children as usize;
            let mut row = |weights| rows.add(node, children, starts, (weights, ids.as_deref()));
            let rows = match &weight_sets[..] {
                [] => vec![row(None)],
                sets => sets.iter().map(|weights| row(Some(weights))).collect(),
            };
            laid.by_position |= rows.len() > 1;
            laid.nodes[slot as usize] = Some(NodeArgs { weight_sets, ids, rows });
        }
    }
    laid
}
