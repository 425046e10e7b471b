//! Loops whose lanes are inputs: each lane picks in a bucket of its own, all for the same kind of bucket.
//!
//! A straw's length is estimated in single precision, without a table and without a division by the weight.
//! The estimate says which item wins unless two are close: then the caller compares exactly.

use crate::crush::hash::{hash3_triples, hash4_among_many};

/// The number of inputs that pick at once, as two halves side by side, because the steps of one hash depend
/// on each other.
pub const INPUTS: usize = 64;

/// The number of hashes side by side, because the steps of one hash depend on each other: as many as hide
/// that, and no more than the registers hold. On an AMD EPYC (Zen 4), AVX-512 does 15 % more with two than
/// with four, AVX2 and the portable path do a quarter more with four than with two.
const SIDES: usize = 4;
const SIDES_OF_AVX512: usize = 2;

/// The number of steps of a permutation that are hashed for all inputs; later places are rare.
pub const STEPS: usize = 8;

/// A straw of straw2 is this, times its estimated logarithm, divided by the weight.
pub const SCALE: f32 = 17_592_186_044_416.0;

/// Ceph's tables deviate from the logarithm by -1.28 to 2.87 times 2^-16 of the logarithm's unit, which the
/// estimate centres. With the estimate's own error its distance from the tables is below this; a test
/// compares every draw.
pub const LOG_SLACK: f32 = 2.5 / 65_536.0;
const LOG_OFFSET: f32 = 0.8 / 65_536.0;

/// Below the distance of every draw, and positive, so that an item of weight 0 never wins.
const LOG_LEAST: f32 = 0.1 / 65_536.0;

/// The maximum number of items of a bucket that picks together.
pub const ITEMS_MAX: usize = 1 << POSITION_BITS;

/// The last bits of a score hold the position of the item, so that the best score names its item.
const POSITION_BITS: u32 = 7;
const POSITION: u32 = (1 << POSITION_BITS) - 1;

/// Above the relative error of two scores: twice 2^-16 for the bits of the position, and a tenth of that for
/// rounding.
const SCORE_SLACK: f32 = 4e-5;

/// The factor of an item of weight 0, which never wins: far above those of other weights, and finite, because
/// an infinite score has no room for a position.
pub const FACTOR_OF_ZERO: f32 = 1e30;

/// Values in as few lines of the cache as they need, because a vector that spans two is slow to store.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned([u32; INPUTS]);

/// The best two straws of each input.
#[repr(align(64))]
pub struct Best {
    first: [f32; INPUTS],
    second: [f32; INPUTS],
}

impl Best {
    pub const NONE: Self = Self { first: [0.0; INPUTS], second: [0.0; INPUTS] };

    /// The position of the best item.
    #[inline]
    pub fn position(&self, lane: usize) -> usize {
        (self.first[lane].to_bits() & POSITION) as usize
    }

    /// Whether another item than the best may be the best of straw2, whose scores are lower bounds. An exact
    /// straw is truncated to an integer, hence the 1.
    #[inline]
    pub fn is_open_in_straw2(&self, lane: usize, factor: f32) -> bool {
        let first = self.first[lane];
        self.second[lane] <= first + first * SCORE_SLACK + 2.0 * LOG_SLACK * factor + 1.0
    }

    /// The same for straw, where the greatest score wins.
    #[inline]
    pub fn is_open_in_straw(&self, lane: usize) -> bool {
        let first = self.first[lane];
        first < f32::MIN_POSITIVE || self.second[lane] >= first - first * SCORE_SLACK
    }

    /// Keeps the best two scores: the smallest of straw2, the greatest of straw.
    #[inline(always)]
    fn note<const IS_STRAW2: bool>(&mut self, lane: usize, position: u32, score: f32) {
        let score = f32::from_bits(score.to_bits() & !POSITION | position);
        let (first, second) = (self.first[lane], self.second[lane]);
        let (better, worse) = (smaller(score, first), greater(score, first));
        if IS_STRAW2 {
            self.first[lane] = better;
            self.second[lane] = smaller(worse, second);
        } else {
            self.first[lane] = worse;
            self.second[lane] = greater(better, second);
        }
    }
}

// One instruction each, unlike the functions of the standard library, which treat NaN specially.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// A lower bound of the distance of the logarithm of a draw below its upper limit, in units of 2^44. Twice
/// the slack above it is an upper bound.
#[inline(always)]
fn log_distance(hash: u32) -> f32 {
    // log2(2^e (1 + s) / (1 - s)), by the series in s, whose first omitted term is below 2^-18.
    const ROOT_HALF_BITS: u32 = 0x3f35_04f3;
    let bits = (((hash & 0xffff) + 1) as i32 as f32).to_bits();
    let exponent = (bits - ROOT_HALF_BITS) >> 23;
    let mantissa = f32::from_bits(bits - (exponent << 23));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = s * (2.885_39 + square * (0.961_796_7 + square * 0.577_078));
    let least = ((16 - exponent as i32) as f32 - series) + (LOG_OFFSET - LOG_SLACK);
    greater(least, LOG_LEAST)
}

#[inline(always)]
fn straw_score<const IS_STRAW2: bool>(hash: u32, factor: f32) -> f32 {
    if IS_STRAW2 { log_distance(hash) * factor } else { (hash & 0xffff) as i32 as f32 * factor }
}

type At<'a> = (&'a [u32; INPUTS], &'a [u32; INPUTS]);

#[inline(always)]
fn note_columns<const IS_STRAW2: bool, const SIDES: usize>(
    (x, r): At<'_>,
    position: u32,
    ids: &[u32; INPUTS],
    factors: &[f32; INPUTS],
    best: &mut Best,
) {
    // Two loops, because the compiler vectorises a loop of hashes for every instruction set, but not one that
    // also compares.
    let Aligned(hashes) = &mut Aligned([0; INPUTS]);
    let side = INPUTS / SIDES;
    for first in 0..side {
        let (mut x_of, mut id_of, mut r_of) = ([0; SIDES], [0; SIDES], [0; SIDES]);
        for at in 0..SIDES {
            let lane = first + at * side;
            (x_of[at], id_of[at], r_of[at]) = (x[lane], ids[lane], r[lane]);
        }
        let all = hash3_triples(x_of, id_of, r_of);
        for at in 0..SIDES {
            hashes[first + at * side] = all[at];
        }
    }
    for lane in 0..INPUTS {
        best.note::<IS_STRAW2>(lane, position, straw_score::<IS_STRAW2>(hashes[lane], factors[lane]));
    }
}

#[inline(always)]
fn columns<const IS_STRAW2: bool, const SIDES: usize>(
    at: At<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    let worst = if IS_STRAW2 { f32::MAX } else { 0.0 };
    *best = Best { first: [worst; INPUTS], second: [worst; INPUTS] };
    for ((position, ids), factors) in (0..).zip(ids).zip(factors) {
        note_columns::<IS_STRAW2, SIDES>(at, position, ids, factors, best);
    }
}

#[inline(always)]
fn row<const IS_STRAW2: bool, const SIDES: usize>(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    let worst = if IS_STRAW2 { f32::MAX } else { 0.0 };
    *best = Best { first: [worst; INPUTS], second: [worst; INPUTS] };
    for ((position, &id), &factor) in (0..).zip(ids).zip(factors) {
        note_columns::<IS_STRAW2, SIDES>(at, position, &[id; INPUTS], &[factor; INPUTS], best);
    }
}

#[inline(always)]
pub fn straw2_columns_body(at: At<'_>, ids: &[[u32; INPUTS]], factors: &[[f32; INPUTS]], best: &mut Best) {
    columns::<true, SIDES>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw2_columns_wide_body(
    at: At<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    columns::<true, SIDES_OF_AVX512>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw2_row_body(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    row::<true, SIDES>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw2_row_wide_body(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    row::<true, SIDES_OF_AVX512>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw_columns_body(at: At<'_>, ids: &[[u32; INPUTS]], factors: &[[f32; INPUTS]], best: &mut Best) {
    columns::<false, SIDES>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw_columns_wide_body(
    at: At<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    columns::<false, SIDES_OF_AVX512>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw_row_body(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    row::<false, SIDES>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw_row_wide_body(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    row::<false, SIDES_OF_AVX512>(at, ids, factors, best);
}

#[inline(always)]
pub fn list_hits_body(
    (x, r, bucket): (&[u32; INPUTS], &[u32; INPUTS], &[u32; INPUTS]),
    ids: &[[u32; INPUTS]],
    sums: &[[u32; INPUTS]],
    weights: &[[u32; INPUTS]],
    hits: &mut [u32; INPUTS],
) {
    *hits = [0; INPUTS];
    for (position, ((ids, sums), weights)) in (0..).zip(ids.iter().zip(sums).zip(weights)) {
        for lane in 0..INPUTS {
            let draw = hash4_among_many(x[lane], ids[lane], r[lane], bucket[lane]) & 0xffff;
            let is_hit = (u64::from(draw) * u64::from(sums[lane])) >> 16 < u64::from(weights[lane]);
            hits[lane] = if is_hit { position } else { hits[lane] };
        }
    }
}

#[inline(always)]
pub fn tree_hashes_body(
    (x, r, bucket): (&[u32; INPUTS], &[u32; INPUTS], &[u32; INPUTS]),
    nodes: &[u32; INPUTS],
    hashes: &mut [u32; INPUTS],
) {
    for lane in 0..INPUTS {
        hashes[lane] = hash4_among_many(x[lane], nodes[lane], r[lane], bucket[lane]);
    }
}

/// A permutation swaps each place with a later one. What ends at a place is found backwards: it came there in
/// the swap of that place, from where an earlier swap may have put it.
#[inline(always)]
pub fn place_in_permutation_body((x, bucket): At<'_>, sizes: &[u32; INPUTS], places: &mut [u32; INPUTS]) {
    let last = places.iter().fold(0, |last, &place| if place > last { place } else { last });
    let place = *places;
    let mut position = [u32::MAX; INPUTS];
    for step in (0..=last).rev() {
        for lane in 0..INPUTS / 2 {
            let other = lane + INPUTS / 2;
            let hashes = hash3_triples([x[lane], x[other]], [bucket[lane], bucket[other]], [step; 2]);
            for (lane, hash) in [(lane, hashes[0]), (other, hashes[1])] {
                // Exact, since the quotient has at most 32 bits and a double 53.
                let left = sizes[lane].wrapping_sub(step).max(1);
                let quotient = (f64::from(hash) / f64::from(left)) as u32;
                let swapped = step + (hash - quotient * left);
                let came = if position[lane] == swapped { step } else { position[lane] };
                position[lane] = if place[lane] == step { swapped } else { came };
            }
        }
    }
    *places = position;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crush::ln::below_max;

    #[test]
    fn every_draw_lies_between_its_bounds() {
        for draw in 0..=u16::MAX {
            let exact = -below_max(draw) as f64 / f64::from(SCALE);
            let least = f64::from(log_distance(u32::from(draw)));
            assert!(least > 0.0 && least < exact, "draw {draw}");
            assert!(exact < least + 2.0 * f64::from(LOG_SLACK), "draw {draw}");
        }
    }
}
