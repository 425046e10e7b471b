//! Loops whose lanes are inputs: each lane picks in a bucket of its own, all for the same kind of bucket.
//!
//! A straw's length is estimated in single precision, without a table and without a division by the weight.
//! The estimate says which item wins unless two are close: then the caller compares exactly. See
//! [`ambiguous_below`].

use crate::crush::hash::{hash3_triples, hash4_among_many};

/// The number of inputs that pick at once, as two halves side by side, because the steps of one hash depend
/// on each other.
pub const INPUTS: usize = 32;
const HALF: usize = INPUTS / 2;

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

/// The relative error of a score: that of the product, of the factor, and of what compares them.
pub const SCORE_SLACK: f32 = 2e-6;

/// The best straw of each input; smaller scores are better.
pub struct Best {
    pub position: [u32; INPUTS],
    pub score: [f32; INPUTS],
    /// The score of the second best.
    pub second: [f32; INPUTS],
}

impl Best {
    pub const NONE: Self =
        Self { position: [0; INPUTS], score: [f32::INFINITY; INPUTS], second: [f32::INFINITY; INPUTS] };

    #[inline(always)]
    fn note(&mut self, lane: usize, position: u32, score: f32) {
        let best = self.score[lane];
        let second = self.second[lane];
        let is_better = score < best;
        let worse = if is_better { best } else { score };
        self.second[lane] = if worse < second { worse } else { second };
        self.score[lane] = if is_better { score } else { best };
        self.position[lane] = if is_better { position } else { self.position[lane] };
    }
}

/// A second score up to this may belong to the true winner, if the best item has this score and factor: scores
/// of straw2 are lower bounds. An exact straw is truncated to an integer, hence the 1.
#[inline]
pub fn ambiguous_below(score: f32, factor: f32) -> f32 {
    score + score.abs() * SCORE_SLACK + 2.0 * LOG_SLACK * factor + 1.0
}

/// A lower bound of the distance of the logarithm of a draw below its upper limit, in units of 2^44. Twice the
/// slack above it is an upper bound.
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
    if least > LOG_LEAST { least } else { LOG_LEAST }
}

#[inline(always)]
fn straw_score<const IS_STRAW2: bool>(hash: u32, factor: f32) -> f32 {
    if IS_STRAW2 { log_distance(hash) * factor } else { -((hash & 0xffff) as i32 as f32 * factor) }
}

type At<'a> = (&'a [u32; INPUTS], &'a [u32; INPUTS]);

#[inline(always)]
fn note_columns<const IS_STRAW2: bool>(
    (x, r): At<'_>,
    position: u32,
    ids: &[u32; INPUTS],
    factors: &[f32; INPUTS],
    best: &mut Best,
) {
    for lane in 0..HALF {
        let other = lane + HALF;
        let [hash, other_hash] =
            hash3_triples([x[lane], x[other]], [ids[lane], ids[other]], [r[lane], r[other]]);
        best.note(lane, position, straw_score::<IS_STRAW2>(hash, factors[lane]));
        best.note(other, position, straw_score::<IS_STRAW2>(other_hash, factors[other]));
    }
}

#[inline(always)]
fn columns<const IS_STRAW2: bool>(
    at: At<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    *best = Best::NONE;
    for ((position, ids), factors) in (0..).zip(ids).zip(factors) {
        note_columns::<IS_STRAW2>(at, position, ids, factors, best);
    }
}

#[inline(always)]
fn row<const IS_STRAW2: bool>(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    *best = Best::NONE;
    for ((position, &id), &factor) in (0..).zip(ids).zip(factors) {
        note_columns::<IS_STRAW2>(at, position, &[id; INPUTS], &[factor; INPUTS], best);
    }
}

#[inline(always)]
pub fn straw2_columns_body(at: At<'_>, ids: &[[u32; INPUTS]], factors: &[[f32; INPUTS]], best: &mut Best) {
    columns::<true>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw2_row_body(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    row::<true>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw_columns_body(at: At<'_>, ids: &[[u32; INPUTS]], factors: &[[f32; INPUTS]], best: &mut Best) {
    columns::<false>(at, ids, factors, best);
}

#[inline(always)]
pub fn straw_row_body(at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    row::<false>(at, ids, factors, best);
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
        for lane in 0..HALF {
            let other = lane + HALF;
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
