//! What all inputs of one call have in common.

use super::Mapper;
use super::layout::{Args, Node};
use super::pick::{self, Draw, Scratch};
use super::program::Op;
use super::rows::{Child, child};
use crate::crush::hash::hash2;
use crate::crush::map::ItemId;

/// A rule with its arguments.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub mapper: &'a Mapper,
    pub program: &'a [Op],
    pub args: Option<&'a Args>,
    pub result_max: usize,
    pub weights: &'a [u32],
}

/// A pick in a bucket that is not empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub node: u32,
    pub r: u32,
    /// The position in the result, which chooses the weight set.
    pub position: u32,
    /// Whether the item comes from the bucket's permutation, whatever its algorithm.
    pub is_permuted: bool,
}

impl<'a> Run<'a> {
    pub fn node(&self, slot: u32) -> &'a Node {
        self.mapper.nodes[slot as usize].as_ref().expect("an input enters only buckets of the map")
    }

    /// Whether a slot has a bucket.
    pub(super) fn has_bucket(&self, slot: usize) -> bool {
        self.mapper.nodes.get(slot).is_some_and(Option::is_some)
    }

    /// The row of a bucket for a position of the result.
    #[inline]
    pub fn row(&self, node: u32, position: u32) -> u32 {
        match self.args.and_then(|args| args.nodes[node as usize].as_ref()) {
            Some(args) => args.rows[(position as usize).min(args.rows.len() - 1)],
            None => node,
        }
    }

    /// The item that an input picks by itself.
    pub fn pick(&self, want: Want, x: u32, scratch: &mut Scratch) -> Child {
        let node = self.node(want.node);
        let item = if want.is_permuted {
            Some(pick::permuted(node, x, want.r, scratch))
        } else {
            let args = self.args.and_then(|args| args.nodes[want.node as usize].as_ref());
            let weights = args
                .and_then(|args| args.weight_sets.get(want.position as usize).or(args.weight_sets.last()));
            let ids = args.and_then(|args| args.ids.as_deref());
            pick::pick(node, Draw { lanes: self.mapper.lanes, x, r: want.r, weights, ids }, scratch)
        };
        item.map_or(Child::BAD, |item| child(&self.mapper.nodes, self.mapper.max_devices, item))
    }

    #[inline]
    pub fn is_out(&self, x: u32, device: ItemId) -> bool {
        match self.weights.get(device as usize) {
            None | Some(0) => true,
            Some(&weight) => weight < 0x1_0000 && (hash2(x, device as u32) & 0xffff) >= weight,
        }
    }

    /// The maximum number of items that an input has in a list at any time.
    pub(super) fn items_max(&self) -> usize {
        let (mut at_hand, mut most, mut out) = (0usize, 1, 0usize);
        for op in self.program {
            match op {
                Op::Take(_) => at_hand = 1,
                Op::Choose(choice) => {
                    let wanted = usize::try_from(choice.wanted(self.result_max)).unwrap_or(0);
                    at_hand = at_hand.saturating_mul(wanted).min(self.result_max);
                    most = most.max(at_hand);
                }
                Op::Emit => {
                    out = out.saturating_add(at_hand).min(self.result_max);
                    most = most.max(out);
                    at_hand = 0;
                }
            }
        }
        most
    }
}
