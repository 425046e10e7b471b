//! The inner loops of the fast mapper, compiled for several instruction sets; the fastest that the machine
//! supports is selected at run time.
//!
//! The loops are plain Rust that the compiler vectorises: one body, instantiated for wider registers by a
//! function attribute. The portable path is the same body without the attribute. The result does not depend
//! on the path.
//!
//! Lanes run over the items of one bucket here, and over inputs in [`inputs`].

mod inputs;

use super::hash::{hash3_all, hash4_among_many};
pub(super) use inputs::{Best, Buckets, FACTOR_OF_ZERO, INPUTS, ITEMS_MAX, Lots, SCALE, STEPS};
use inputs::{
    ListColumns, list_hits_body, place_in_permutation_body, straw_columns_body, straw_row_body,
    straw2_columns_body, straw2_row_body, tree_hashes_body,
};

/// Items are padded to a multiple of this, so that the loops need no remainder handling.
pub(super) const WIDTH: usize = 16;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// The baseline of the target.
    Portable,
    /// x86-64 with AVX2: eight hashes at once.
    Avx2,
    /// x86-64 with AVX-512: sixteen hashes at once.
    Avx512,
}

impl Lanes {
    /// The fastest that this machine supports.
    #[must_use]
    pub fn detect() -> Self {
        *Self::available().last().expect("the portable path is always there")
    }

    /// All that this machine supports, slowest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut found = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                found.push(Self::Avx2);
            }
            if std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512dq")
            {
                found.push(Self::Avx512);
            }
        }
        found
    }
}

/// Declares functions that run one body with every instruction set.
macro_rules! on_lanes {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $body:path;
    )*) => {
        $(
            $(#[$doc])*
            #[allow(unsafe_code)]
            pub(super) fn $name(lanes: Lanes, $($arg: $type),*) $(-> $out)? {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2")]
                    fn avx2($($arg: $type),*) $(-> $out)? {
                        $body($($arg),*)
                    }
                    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512dq")]
                    fn avx512($($arg: $type),*) $(-> $out)? {
                        $body($($arg),*)
                    }
                    match lanes {
                        // SAFETY: this value comes from `Lanes::available`, which found the feature on this
                        // machine.
                        Lanes::Avx2 => return unsafe { avx2($($arg),*) },
                        // SAFETY: as above.
                        Lanes::Avx512 => return unsafe { avx512($($arg),*) },
                        Lanes::Portable => {}
                    }
                }
                let _ = lanes;
                $body($($arg),*)
            }
        )*
    };
}

on_lanes! {
    /// Draws 16 bits for each id into `draws`, and returns the greatest.
    fn draw_all(x: u32, ids: &[u32], r: u32, draws: &mut [u32]) -> u32 = draw_all_body;
    /// The first position from `from` on whose draw is at least `least`.
    fn next_at_least(draws: &[u32], least: u32, from: usize) -> Option<usize> = next_at_least_body;
    /// Computes a score for each draw and weight into `scores` (smaller wins), and returns the smallest.
    fn score_all(draws: &[u32], inverse: &[f32], table: &[f32], scores: &mut [f32]) -> f32 = score_all_body;
    /// The first position from `from` on whose score is at most `most`.
    fn next_at_most(scores: &[f32], most: f32, from: usize) -> Option<usize> = next_at_most_body;
    /// The first position with the longest straw; `hashes` needs as many words as there are ids.
    fn longest(x: u32, ids: &[u32], r: u32, straws: &[u32], hashes: &mut [u32]) -> usize = longest_body;
    /// The hashes of a tree bucket's nodes.
    fn hash_nodes(x: u32, nodes: &[u32], r: u32, id: u32, hashes: &mut [u32]) = hash_nodes_body;
    /// For each input the best straw of its straw2 bucket, whose items are a column of `ids` and `factors`.
    fn straw2_columns(
        lots: Lots<'_>,
        ids: &[[u32; INPUTS]],
        factors: &[[f32; INPUTS]],
        best: &mut Best
    ) = straw2_columns_body;
    /// The same for inputs that are all in one bucket.
    fn straw2_row(lots: Lots<'_>, straws: &[(u32, f32)], best: &mut Best)
        = straw2_row_body;
    /// For each input the longest straw of its straw bucket, whose items are a column of `ids` and `factors`.
    fn straw_columns(
        lots: Lots<'_>,
        ids: &[[u32; INPUTS]],
        factors: &[[f32; INPUTS]],
        best: &mut Best
    ) = straw_columns_body;
    /// The same for inputs that are all in one bucket.
    fn straw_row(lots: Lots<'_>, straws: &[(u32, f32)], best: &mut Best)
        = straw_row_body;
    /// For each input the last hit of its list bucket, whose items are columns.
    fn list_hits(
        lots: Lots<'_>,
        buckets: Buckets<'_>,
        columns: ListColumns<'_>,
        hits: &mut [u32; INPUTS]
    ) = list_hits_body;
    /// For each input the hash of one node of its tree bucket.
    fn tree_hashes(
        lots: Lots<'_>,
        buckets: Buckets<'_>,
        nodes: &[u32; INPUTS],
        hashes: &mut [u32; INPUTS]
    ) = tree_hashes_body;
    /// For each input the position at a place of its bucket's permutation, up to place `most`.
    fn place_in_permutation(
        lots: Lots<'_>,
        buckets: Buckets<'_>,
        sizes: &[u32; INPUTS],
        most: u32,
        positions: &mut [u32; INPUTS]
    ) = place_in_permutation_body;
    /// The last position whose draw in a list bucket is below its weight.
    fn last_in_list(x: u32, r: u32, id: u32, list: ListLanes<'_>) -> Option<usize> = last_in_list_body;
}

/// The items of a list bucket, padded in front: an item without weight is never picked.
#[derive(Clone, Copy)]
pub(super) struct ListLanes<'a> {
    pub items: &'a [u32],
    pub sums: &'a [u32],
    pub weights: &'a [u32],
}

/// The hashes of two widths of ids, as two vectors side by side.
#[inline(always)]
fn hash_two_widths(x: u32, ids: &[u32; 2 * WIDTH], r: u32, hashes: &mut [u32; 2 * WIDTH]) {
    let (ids, more_ids) = ids.split_at(WIDTH);
    let (hashes, more_hashes) = hashes.split_at_mut(WIDTH);
    let pairs = ids.iter().zip(more_ids).zip(hashes.iter_mut().zip(more_hashes));
    for ((&id, &other_id), (hash, other_hash)) in pairs {
        [*hash, *other_hash] = hash3_all(x, [id, other_id], r);
    }
}

/// The hashes of one width of ids.
#[inline(always)]
fn hash_width(x: u32, ids: &[u32; WIDTH], r: u32, hashes: &mut [u32; WIDTH]) {
    for (&id, hash) in ids.iter().zip(hashes) {
        [*hash] = hash3_all(x, [id], r);
    }
}

// No closures around the loops below: a closure that is not inlined is compiled for the portable path,
// whoever calls it.
#[inline(always)]
fn hash_all(x: u32, ids: &[u32], r: u32, hashes: &mut [u32]) {
    let (ids, last_ids) = ids.as_chunks();
    let (hashes, last_hashes) = hashes.as_chunks_mut();
    for (ids, hashes) in ids.iter().zip(hashes) {
        hash_two_widths(x, ids, r, hashes);
    }
    for (ids, hashes) in last_ids.as_chunks().0.iter().zip(last_hashes.as_chunks_mut().0) {
        hash_width(x, ids, r, hashes);
    }
}

#[inline(always)]
fn draw_all_body(x: u32, ids: &[u32], r: u32, draws: &mut [u32]) -> u32 {
    hash_all(x, ids, r, draws);
    let mut greatest = 0;
    for draw in draws.iter_mut() {
        *draw &= 0xffff;
        greatest = greatest.max(*draw);
    }
    greatest
}

/// A draw has 16 bits and a straw 32, which leaves this many bits of a 64-bit key to distinguish items: they
/// hold the distance of the item from the end, so that of equal straws the first one wins.
const MARK_BITS: u32 = 16;

const MARKS: [u32; WIDTH] = {
    let mut marks = [0; WIDTH];
    let mut at = 0;
    while at < WIDTH {
        marks[at] = (1 << MARK_BITS) - 1 - at as u32;
        at += 1;
    }
    marks
};

#[inline(always)]
fn longest_body(x: u32, ids: &[u32], r: u32, straws: &[u32], hashes: &mut [u32]) -> usize {
    let mut best = BestKey::default();
    for (ids, straws) in ids.chunks(1 << MARK_BITS).zip(straws.chunks(1 << MARK_BITS)) {
        let hashes = &mut hashes[..ids.len()];
        hash_all(x, ids, r, hashes);
        let (mut keys, mut passed) = ([0u64; WIDTH], 0);
        for (hashes, straws) in hashes.as_chunks::<WIDTH>().0.iter().zip(straws.as_chunks::<WIDTH>().0) {
            for (((key, hash), &straw), mark) in keys.iter_mut().zip(hashes).zip(straws).zip(&MARKS) {
                let length = u64::from(hash << MARK_BITS) * u64::from(straw);
                *key = (*key).max(length | u64::from(mark - passed));
            }
            passed += WIDTH as u32;
        }
        best.next(keys.into_iter().fold(0, u64::max));
    }
    best.position
}

/// The position of the greatest of several keys, each of which covers as many items as the mark bits can
/// distinguish.
#[derive(Default)]
struct BestKey {
    passed: usize,
    position: usize,
    above_mark: u64,
}

impl BestKey {
    #[inline(always)]
    fn next(&mut self, key: u64) {
        let mark = key as usize % (1 << MARK_BITS);
        if self.passed == 0 || key >> MARK_BITS > self.above_mark {
            self.position = self.passed + ((1 << MARK_BITS) - 1 - mark);
            self.above_mark = key >> MARK_BITS;
        }
        self.passed += 1 << MARK_BITS;
    }
}

#[inline(always)]
fn next_at_least_body(draws: &[u32], least: u32, from: usize) -> Option<usize> {
    next(draws, from, |draw| draw >= least)
}

#[inline(always)]
fn next_at_most_body(scores: &[f32], most: f32, from: usize) -> Option<usize> {
    next(scores, from, |score| score <= most)
}

/// Tests whole chunks before single values, because hits are rare.
#[inline(always)]
fn next<T: Copy>(values: &[T], from: usize, good: impl Fn(T) -> bool) -> Option<usize> {
    let first = from - from % WIDTH;
    for (chunk, start) in values[first..].chunks_exact(WIDTH).zip((first..).step_by(WIDTH)) {
        let any = chunk.iter().fold(false, |any, &value| any | good(value));
        if any {
            let hit = (start.max(from)..start + WIDTH).find(|&at| good(values[at]));
            if hit.is_some() {
                return hit;
            }
        }
    }
    None
}

#[inline(always)]
fn score_all_body(draws: &[u32], inverse: &[f32], table: &[f32], scores: &mut [f32]) -> f32 {
    let table: &[f32; 65_536] = table.try_into().expect("the table has an entry for each draw");
    for ((score, &draw), &inverse) in scores.iter_mut().zip(draws).zip(inverse) {
        *score = table[(draw & 0xffff) as usize] * inverse;
    }
    let mut least = [f32::INFINITY; WIDTH];
    for chunk in scores.chunks_exact(WIDTH) {
        for (least, &score) in least.iter_mut().zip(chunk) {
            *least = if score < *least { score } else { *least };
        }
    }
    least.into_iter().fold(f32::INFINITY, f32::min)
}

#[inline(always)]
fn hash_nodes_body(x: u32, nodes: &[u32], r: u32, id: u32, hashes: &mut [u32]) {
    for (hashes, nodes) in hashes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(nodes.as_chunks::<WIDTH>().0) {
        for (hash, &node) in hashes.iter_mut().zip(nodes) {
            *hash = hash4_among_many(x, node, r, id);
        }
    }
}

#[inline(always)]
fn last_in_list_body(x: u32, r: u32, id: u32, list: ListLanes<'_>) -> Option<usize> {
    let chunks = list
        .items
        .rchunks_exact(WIDTH)
        .zip(list.sums.rchunks_exact(WIDTH))
        .zip(list.weights.rchunks_exact(WIDTH));
    let mut end = list.items.len();
    for ((items, sums), weights) in chunks {
        let mut below = [false; WIDTH];
        for (((below, &item), &sum), &weight) in below.iter_mut().zip(items).zip(sums).zip(weights) {
            let draw = u64::from(hash4_among_many(x, item, r, id) & 0xffff);
            *below = (draw * u64::from(sum)) >> 16 < u64::from(weight);
        }
        if let Some(at) = below.iter().rposition(|&below| below) {
            return Some(end - WIDTH + at);
        }
        end -= WIDTH;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crush::hash::hash3;

    /// More items than the mark bits distinguish, two equal items, and padding.
    #[test]
    fn the_longest_straw_is_the_first_of_equal_ones_on_every_path() {
        let ids: Vec<u32> = (0..70_000).collect();
        for (size, straw) in [(3usize, 1u32), (16, 0), (33, 7), (65_536, u32::MAX), (69_000, u32::MAX)] {
            let width = size.next_multiple_of(WIDTH);
            let mut ids = ids[..width].to_vec();
            ids[size..].fill(0);
            ids[size - 1] = ids[size / 2];
            let straws = vec![straw; width];
            for x in 0..20 {
                let length = |at: &usize| u64::from(hash3(x, ids[*at], 1) & 0xffff) * u64::from(straw);
                let greatest = (0..size).map(|at| length(&at)).max().unwrap_or(0);
                let want = (0..size).find(|at| length(at) == greatest);
                for lanes in Lanes::available() {
                    let got = longest(lanes, x, &ids, 1, &straws, &mut vec![0; width]);
                    assert_eq!(Some(got), want, "{size} items, input {x}, {lanes:?}");
                }
            }
        }
    }
}
