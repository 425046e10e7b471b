//! Loops whose lanes are inputs: each lane picks in a bucket of its own, all for the same kind of bucket.
//!
//! A straw's length is estimated in single precision, without a table and without a division by the weight.
//! The estimate says which item wins unless two are close: then the caller compares exactly.

use crate::crush::hash::{hash3_triples, hash4_words};

/// The number of inputs that pick at once, as two halves side by side, because the steps of one hash depend
/// on each other.
pub const INPUTS: usize = 64;

/// The number of items of a bucket that are hashed side by side, because the steps of one hash depend on each
/// other: as many as hide that. On Zen 4 this is as fast as three with AVX2 and the portable path, and up to
/// half as fast again as two; AVX-512 does as well with two to four.
const ABREAST: usize = 4;

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

/// Values that lie in as few lines of the cache as they can, because a vector that spans two is slow to
/// store.
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

/// Notes several items of the bucket of each input at once.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]
fn note_columns<const IS_STRAW2: bool, const N: usize>(
    (x, r): At<'_>,
    position: u32,
    ids: &[[u32; INPUTS]; N],
    factors: &[[f32; INPUTS]; N],
    best: &mut Best,
) {
    // Two loops, because the compiler vectorises a loop of hashes for every instruction set, but not one that
    // also compares.
    let mut hashes = [Aligned([0; INPUTS]); N];
    for lane in 0..INPUTS {
        let mut id = [0; N];
        for item in 0..N {
            id[item] = ids[item][lane];
        }
        let all = hash3_triples([x[lane]; N], id, [r[lane]; N]);
        for item in 0..N {
            hashes[item].0[lane] = all[item];
        }
    }
    for lane in 0..INPUTS {
        for item in 0..N {
            let score = straw_score::<IS_STRAW2>(hashes[item].0[lane], factors[item][lane]);
            best.note::<IS_STRAW2>(lane, position + item as u32, score);
        }
    }
}

/// The same for inputs that are all in one bucket.
#[inline(always)]
fn note_row<const IS_STRAW2: bool, const N: usize>(
    (x, r): At<'_>,
    position: u32,
    straws: &[(u32, f32); N],
    best: &mut Best,
) {
    let mut hashes = [Aligned([0; INPUTS]); N];
    for lane in 0..INPUTS {
        let mut id = [0; N];
        for item in 0..N {
            id[item] = straws[item].0;
        }
        let all = hash3_triples([x[lane]; N], id, [r[lane]; N]);
        for item in 0..N {
            hashes[item].0[lane] = all[item];
        }
    }
    for lane in 0..INPUTS {
        for item in 0..N {
            let score = straw_score::<IS_STRAW2>(hashes[item].0[lane], straws[item].1);
            best.note::<IS_STRAW2>(lane, position + item as u32, score);
        }
    }
}

#[inline(always)]
fn columns<const IS_STRAW2: bool, const N: usize>(
    at: At<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    let worst = if IS_STRAW2 { f32::MAX } else { 0.0 };
    *best = Best { first: [worst; INPUTS], second: [worst; INPUTS] };
    let mut position = 0;
    let (several, last_ids) = ids.as_chunks::<N>();
    let (several_factors, last_factors) = factors.as_chunks::<N>();
    for (ids, factors) in several.iter().zip(several_factors) {
        note_columns::<IS_STRAW2, N>(at, position, ids, factors, best);
        position += N as u32;
    }
    let (pairs, last_ids) = last_ids.as_chunks::<2>();
    let (pairs_of_factors, last_factors) = last_factors.as_chunks::<2>();
    for (ids, factors) in pairs.iter().zip(pairs_of_factors) {
        note_columns::<IS_STRAW2, 2>(at, position, ids, factors, best);
        position += 2;
    }
    for (&ids, &factors) in last_ids.iter().zip(last_factors) {
        note_columns::<IS_STRAW2, 1>(at, position, &[ids], &[factors], best);
    }
}

#[inline(always)]
fn row<const IS_STRAW2: bool, const N: usize>(at: At<'_>, straws: &[(u32, f32)], best: &mut Best) {
    let worst = if IS_STRAW2 { f32::MAX } else { 0.0 };
    *best = Best { first: [worst; INPUTS], second: [worst; INPUTS] };
    let mut position = 0;
    let (several, last) = straws.as_chunks::<N>();
    for straws in several {
        note_row::<IS_STRAW2, N>(at, position, straws, best);
        position += N as u32;
    }
    let (pairs, last) = last.as_chunks::<2>();
    for straws in pairs {
        note_row::<IS_STRAW2, 2>(at, position, straws, best);
        position += 2;
    }
    for &straw in last {
        note_row::<IS_STRAW2, 1>(at, position, &[straw], best);
    }
}

#[inline(always)]
pub fn straw2_columns_body(at: At<'_>, ids: &[[u32; INPUTS]], factors: &[[f32; INPUTS]], best: &mut Best) {
    columns::<true, ABREAST>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw2_row_body(at: At<'_>, straws: &[(u32, f32)], best: &mut Best) {
    row::<true, ABREAST>(at, straws, best);
}

#[inline(always)]
pub fn straw_columns_body(at: At<'_>, ids: &[[u32; INPUTS]], factors: &[[f32; INPUTS]], best: &mut Best) {
    columns::<false, ABREAST>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw_row_body(at: At<'_>, straws: &[(u32, f32)], best: &mut Best) {
    row::<false, ABREAST>(at, straws, best);
}

type InBucket<'a> = (&'a [u32; INPUTS], &'a [u32; INPUTS], &'a [u32; INPUTS]);

/// Notes the hits among several items of the list of each input.
#[inline(always)]
fn note_hits<const N: usize>(
    (x, r, bucket): InBucket<'_>,
    position: u32,
    ids: &[[u32; INPUTS]; N],
    (sums, weights): (&[[u32; INPUTS]; N], &[[u32; INPUTS]; N]),
    hits: &mut [u32; INPUTS],
) {
    let mut hashes = [Aligned([0; INPUTS]); N];
    for lane in 0..INPUTS {
        let mut id = [0; N];
        for item in 0..N {
            id[item] = ids[item][lane];
        }
        let all = hash4_words([x[lane]; N], id, [r[lane]; N], [bucket[lane]; N]);
        for item in 0..N {
            hashes[item].0[lane] = all[item];
        }
    }
    for lane in 0..INPUTS {
        for item in 0..N {
            // The product of a draw and a sum without its last 16 bits, in two parts of 32 bits.
            let (draw, sum) = (hashes[item].0[lane] & 0xffff, sums[item][lane]);
            let scaled = draw * (sum >> 16) + ((draw * (sum & 0xffff)) >> 16);
            let is_hit = scaled < weights[item][lane];
            hits[lane] = if is_hit { position + item as u32 } else { hits[lane] };
        }
    }
}

#[inline(always)]
pub fn list_hits_body(
    at: InBucket<'_>,
    ids: &[[u32; INPUTS]],
    sums: &[[u32; INPUTS]],
    weights: &[[u32; INPUTS]],
    hits: &mut [u32; INPUTS],
) {
    *hits = [0; INPUTS];
    let mut position = 0;
    let (several, last_ids) = ids.as_chunks::<2>();
    let (several_sums, last_sums) = sums.as_chunks::<2>();
    let (several_weights, last_weights) = weights.as_chunks::<2>();
    for ((ids, sums), weights) in several.iter().zip(several_sums).zip(several_weights) {
        note_hits::<2>(at, position, ids, (sums, weights), hits);
        position += 2;
    }
    for ((&ids, &sums), &weights) in last_ids.iter().zip(last_sums).zip(last_weights) {
        note_hits::<1>(at, position, &[ids], (&[sums], &[weights]), hits);
    }
}

#[inline(always)]
pub fn tree_hashes_body((x, r, bucket): InBucket<'_>, nodes: &[u32; INPUTS], hashes: &mut [u32; INPUTS]) {
    for lane in 0..INPUTS / 2 {
        let (first, second) = (lane, lane + INPUTS / 2);
        [hashes[first], hashes[second]] = hash4_words(
            [x[first], x[second]],
            [nodes[first], nodes[second]],
            [r[first], r[second]],
            [bucket[first], bucket[second]],
        );
    }
}

/// A permutation swaps each place with a later one. What ends at a place is found backwards: it came there in
/// the swap of that place, from where an earlier swap may have put it.
#[inline(always)]
pub fn place_in_permutation_body(
    (x, bucket): At<'_>,
    sizes: &[u32; INPUTS],
    place: u32,
    positions: &mut [u32; INPUTS],
) {
    for step in (0..=place).rev() {
        let Aligned(hashes) = &mut Aligned([0; INPUTS]);
        for lane in 0..INPUTS / 2 {
            let other = lane + INPUTS / 2;
            [hashes[lane], hashes[other]] =
                hash3_triples([x[lane], x[other]], [bucket[lane], bucket[other]], [step; 2]);
        }
        for lane in 0..INPUTS {
            let swapped = step + remainder(hashes[lane], sizes[lane] - step);
            let came = if positions[lane] == swapped { step } else { positions[lane] };
            positions[lane] = if step == place { swapped } else { came };
        }
    }
}

/// The remainder of a division of 32-bit numbers, without an instruction for it, which vectors lack. The
/// divisor is below 2^31.
#[inline(always)]
fn remainder(dividend: u32, divisor: u32) -> u32 {
    // The sum with 2^52 rounds the quotient to an integer, which is then in the last bits.
    const ROUNDING: f64 = 4_503_599_627_370_496.0;
    let quotient = (f64::from(dividend) / f64::from(divisor) + ROUNDING).to_bits() as u32;
    let rest = dividend.wrapping_sub(quotient.wrapping_mul(divisor));
    // Negative if the quotient was rounded up.
    if (rest as i32) < 0 { rest.wrapping_add(divisor) } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crush::ln::below_max;

    #[test]
    fn remainders_are_those_of_the_division() {
        let largest = i32::MAX as u32;
        for divisor in (1..300).chain([500, 65_535, 65_537, 1 << 20, largest - 1, largest]) {
            let random = (0..2_000u32).map(|at| hash3_triples([at], [divisor], [7])[0]);
            let near = (0..4)
                .flat_map(|times| [divisor.wrapping_mul(times), divisor.wrapping_mul(times).wrapping_sub(1)]);
            let half = [divisor / 2, divisor / 2 + 1, u32::MAX, u32::MAX - 1, 0];
            for dividend in random.chain(near).chain(half) {
                assert_eq!(remainder(dividend, divisor), dividend % divisor, "{dividend} by {divisor}");
            }
        }
    }

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
