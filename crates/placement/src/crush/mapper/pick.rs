//! The fast implementation of picking an item from a bucket.

use super::layout::{Node, NodeShape, Weights};
use crate::crush::hash::{RJENKINS1, hash3_by, hash4_by};
use crate::crush::lanes::{self, Lanes, ListLanes, WIDTH};
use crate::crush::ln::{below_max, draw};
use crate::crush::map::ItemId;
use std::sync::OnceLock;

/// With equal weights the greatest draw wins, except for two flaws of the logarithm (neighbouring draws may
/// have the same value, or be in the wrong order) and for the division, which may round two values to one.
/// Draws this far below the greatest certainly lose, whatever the weight; a test checks this against the
/// whole table.
const WITHIN: u32 = 12;

/// A score is the product of two rounded numbers, so its relative error is below this; and the exact value is
/// truncated to an integer.
const SCORE_SLACK: f32 = 1.0 + 1e-6;

/// Draws and scores of the current bucket, and the permutations of the current input.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    draws: Vec<u32>,
    scores: Vec<f32>,
    /// Those of the current input come first.
    permutations: Vec<Permutation>,
    begun: usize,
}

impl Scratch {
    /// Discards what depends on the input.
    pub fn start(&mut self) {
        self.begun = 0;
    }

    /// The permutation of a bucket, as far as it was computed for this input.
    fn permutation(&mut self, of: u32, size: u32) -> &mut Permutation {
        let known = self.permutations[..self.begun].iter().position(|permutation| permutation.of == of);
        let at = known.unwrap_or_else(|| {
            let at = if self.begun < PERMUTATIONS_MAX { self.begun } else { of as usize % PERMUTATIONS_MAX };
            self.begun = self.begun.max(at + 1);
            if self.permutations.len() < self.begun {
                self.permutations.push(Permutation::default());
            }
            self.permutations[at].restart(of, size);
            at
        });
        &mut self.permutations[at]
    }

    /// A buffer for `width` draws.
    fn room(&mut self, width: usize) -> &mut [u32] {
        if self.draws.len() < width {
            self.draws.resize(width, 0);
            self.scores.resize(width, 0.0);
        }
        &mut self.draws[..width]
    }
}

/// The beginning of a permutation: at first only the places that differ from the identity, later all places.
#[derive(Clone, Debug, Default)]
struct Permutation {
    /// The bucket to which it belongs.
    of: u32,
    /// The number of final places.
    done: u32,
    moved: Vec<(u32, u32)>,
    /// Every place, stored once more than a few have moved.
    whole: Vec<u32>,
}

/// The number of moved places above which a search costs more than storing all places.
const MOVED_MAX: usize = 24;

/// The number of permutations stored: replicas of one input pass through the same upper buckets again.
const PERMUTATIONS_MAX: usize = 16;

/// Up to this size, storing all places from the start costs less than searching the moved ones.
const WHOLE_AT_ONCE: u32 = 64;

impl Permutation {
    fn restart(&mut self, of: u32, size: u32) {
        self.of = of;
        self.done = 0;
        self.moved.clear();
        self.whole.clear();
        if size <= WHOLE_AT_ONCE {
            self.whole.extend(0..size);
        }
    }

    fn at(&self, place: u32) -> u32 {
        match self.whole.get(place as usize) {
            Some(&value) => value,
            None => self.moved.iter().find(|moved| moved.0 == place).map_or(place, |moved| moved.1),
        }
    }

    fn set(&mut self, place: u32, value: u32) {
        if let Some(slot) = self.whole.get_mut(place as usize) {
            *slot = value;
        } else if let Some(moved) = self.moved.iter_mut().find(|moved| moved.0 == place) {
            moved.1 = value;
        } else {
            self.moved.push((place, value));
        }
    }

    fn swap(&mut self, a: u32, b: u32, size: u32) {
        if self.whole.is_empty() && self.moved.len() > MOVED_MAX {
            self.whole.extend(0..size);
            for &(place, value) in &self.moved {
                self.whole[place as usize] = value;
            }
        }
        let (at_a, at_b) = (self.at(a), self.at(b));
        self.set(a, at_b);
        self.set(b, at_a);
    }
}

/// The arguments of a pick besides the bucket.
#[derive(Clone, Copy)]
pub(super) struct Draw<'a> {
    pub lanes: Lanes,
    pub x: u32,
    pub r: u32,
    /// Replacement weights.
    pub weights: Option<&'a Weights>,
    /// Replacement ids.
    pub ids: Option<&'a [u32]>,
}

/// Up to this many items are drawn one by one, which is faster than a vector.
const FEW: usize = 3;

/// The item that a non-empty bucket picks; `None` if a draw ends outside the bucket.
pub(super) fn pick(node: &Node, draw: Draw<'_>, scratch: &mut Scratch) -> Option<ItemId> {
    // In a tree, a draw may end next to the only item.
    if let ([only], false) = (&node.items[..], matches!(node.shape, NodeShape::Tree { .. })) {
        return Some(*only);
    }
    let position = match &node.shape {
        NodeShape::Uniform => return Some(permuted(node, draw.x, draw.r, scratch)),
        NodeShape::List { words, sums, weights } => {
            list(node, draw, ListLanes { items: words, sums, weights })
        }
        NodeShape::Tree { node_weights, inner } => tree(node, draw, node_weights, inner, scratch)?,
        NodeShape::Vring(ring) => ring.pick(draw.x, draw.r).unwrap_or(0),
        // With an unknown hash every draw is 0.
        NodeShape::Straw { .. } if node.hash != RJENKINS1 => 0,
        NodeShape::Straw { straws } => {
            lanes::longest(draw.lanes, draw.x, &node.ids, draw.r, straws, scratch.room(node.ids.len()))
        }
        NodeShape::Straw2(own) => straw2(node, draw.weights.unwrap_or(own), draw, scratch),
    };
    node.items.get(position).copied()
}

/// The item at place `r` of a permutation that depends on the input and the bucket.
pub(super) fn permuted(node: &Node, x: u32, r: u32, scratch: &mut Scratch) -> ItemId {
    let size = node.items.len() as u32;
    let place = r % size;
    let permutation = scratch.permutation(node.id, size);
    while permutation.done <= place {
        let p = permutation.done;
        if p + 1 < size {
            let other = p + hash3_by(node.hash, x, node.id, p) % (size - p);
            permutation.swap(p, other, size);
        }
        permutation.done += 1;
    }
    node.items[permutation.at(place) as usize]
}

fn list(node: &Node, draw: Draw<'_>, list: ListLanes<'_>) -> usize {
    let padding = list.items.len() - node.items.len();
    let found = if node.items.len() <= FEW {
        (padding..list.items.len()).rev().find(|&at| {
            let hash = hash4_by(node.hash, draw.x, list.items[at], draw.r, node.id);
            (u64::from(hash & 0xffff) * u64::from(list.sums[at])) >> 16 < u64::from(list.weights[at])
        })
    } else if node.hash == RJENKINS1 {
        lanes::last_in_list(draw.lanes, draw.x, draw.r, node.id, list)
    } else {
        list.weights.iter().rposition(|&weight| weight > 0)
    };
    found.map_or(0, |at| at - padding)
}

/// Descends from the root to a leaf. The next node depends on the hash of the current one, so single hashes
/// would be sequential: hashing all nodes as a vector is faster if the vector holds them all.
fn tree(
    node: &Node,
    draw: Draw<'_>,
    node_weights: &[u32],
    inner: &[u32],
    scratch: &mut Scratch,
) -> Option<usize> {
    if node.hash != RJENKINS1 || inner.len() > WIDTH {
        return descend(node_weights, |at| hash4_by(node.hash, draw.x, at as u32, draw.r, node.id));
    }
    let hashes = scratch.room(inner.len());
    lanes::hash_nodes(draw.lanes, draw.x, inner, draw.r, node.id, hashes);
    descend(node_weights, |at| hashes[at / 2])
}

fn descend(node_weights: &[u32], hash: impl Fn(usize) -> u32) -> Option<usize> {
    let mut at = node_weights.len() / 2;
    if at == 0 {
        return None;
    }
    while at & 1 == 0 {
        let point = (u64::from(hash(at)) * u64::from(node_weights[at])) >> 32;
        let half = 1 << (at.trailing_zeros() - 1);
        at = if point < u64::from(node_weights[at - half]) { at - half } else { at + half };
    }
    Some(at >> 1)
}

fn straw2(node: &Node, weights: &Weights, draw: Draw<'_>, scratch: &mut Scratch) -> usize {
    let ids = draw.ids.unwrap_or(&node.ids);
    if node.items.len() <= FEW {
        return few_straws(node, weights, draw, ids);
    }
    scratch.room(ids.len());
    let draws = &mut scratch.draws[..ids.len()];
    let greatest = if node.hash == RJENKINS1 {
        lanes::draw_all(draw.lanes, draw.x, ids, draw.r, draws)
    } else {
        draws.fill(0);
        0
    };
    match weights {
        Weights::Zero => 0,
        Weights::Equal(weight) => {
            let least = greatest.saturating_sub(WITHIN);
            let next = |from| lanes::next_at_least(draw.lanes, draws, least, from);
            best(next, |at| exact(draws[at], *weight), node.items.len())
        }
        Weights::Mixed { weights, inverse } => {
            let scores = &mut scratch.scores[..ids.len()];
            let smallest = lanes::score_all(draw.lanes, draws, inverse, score_table(), scores);
            let most = smallest * SCORE_SLACK + 1.0;
            let next = |from| lanes::next_at_most(draw.lanes, scores, most, from);
            best(next, |at| exact(draws[at], weights[at]), node.items.len())
        }
    }
}

fn few_straws(node: &Node, weights: &Weights, draw: Draw<'_>, ids: &[u32]) -> usize {
    let (mut best, mut greatest) = (0, None);
    for (at, &id) in ids.iter().enumerate().take(node.items.len()) {
        let weight = match weights {
            Weights::Zero => return 0,
            Weights::Equal(weight) => *weight,
            Weights::Mixed { weights, .. } => weights[at],
        };
        let value = exact(hash3_by(node.hash, draw.x, id, draw.r) & 0xffff, weight);
        if greatest.is_none_or(|greatest| value > greatest) {
            (best, greatest) = (at, Some(value));
        }
    }
    best
}

/// The first position with the greatest value among the candidates; padding is not a candidate.
#[inline(always)]
fn best(next: impl Fn(usize) -> Option<usize>, value: impl Fn(usize) -> i64, size: usize) -> usize {
    let Some(mut best) = next(0) else { return 0 };
    let Some(mut at) = next(best + 1).filter(|&at| at < size) else { return best };
    let mut greatest = value(best);
    loop {
        let value = value(at);
        if value > greatest {
            (best, greatest) = (at, value);
        }
        match next(at + 1) {
            Some(further) if further < size => at = further,
            _ => return best,
        }
    }
}

#[inline]
fn exact(value: u32, weight: u32) -> i64 {
    draw(value as u16, weight)
}

/// The distance of each logarithm below its upper limit; positive, so that small scores win.
fn score_table() -> &'static [f32] {
    static TABLE: OnceLock<Vec<f32>> = OnceLock::new();
    TABLE.get_or_init(|| (0..=u16::MAX).map(|u| -below_max(u) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance [`WITHIN`] is enough for every weight up to 2^32 - 1.
    #[test]
    fn a_draw_far_below_another_is_shorter_at_any_weight() {
        let logs: Vec<i64> = (0..=u16::MAX).map(below_max).collect();
        let mut greatest_so_far = i64::MIN;
        let mut least_from = vec![i64::MAX; logs.len() + 1];
        for at in (0..logs.len()).rev() {
            least_from[at] = logs[at].min(least_from[at + 1]);
        }
        for at in WITHIN as usize + 1..logs.len() {
            greatest_so_far = greatest_so_far.max(logs[at - WITHIN as usize - 1]);
            assert!(least_from[at] - greatest_so_far >= 1 << 32, "u = {at}");
        }
    }
}
