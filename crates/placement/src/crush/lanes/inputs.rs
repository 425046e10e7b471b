//! Loops whose lanes are inputs: each lane picks in a bucket of its own, all for the same kind of bucket.
//!
//! A straw's length is estimated in single precision, without a table and without a division by the weight.
//! The estimate says which item wins unless two are close: then the caller compares exactly.

use super::WIDTH;
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
pub(crate) const SCALE: f32 = 17_592_186_044_416.0;

/// Ceph's tables deviate from the logarithm by -1.28 to 2.87 times 2^-16 of the logarithm's unit, which the
/// estimate centres. With the estimate's own error its distance from the tables is below this; a test
/// compares every draw.
const LOG_SLACK: f32 = 2.5 / 65_536.0;
const LOG_OFFSET: f32 = 0.8 / 65_536.0;

/// Below the distance of every draw, and positive, so that an item of weight 0 never wins.
const LOG_LEAST: f32 = 0.1 / 65_536.0;

/// The maximum number of items of a bucket that picks together.
pub(crate) const ITEMS_MAX: usize = 1 << POSITION_BITS;

/// The last bits of a score hold the position of the item, so that the best score names its item.
const POSITION_BITS: u32 = 7;
const POSITION: u32 = (1 << POSITION_BITS) - 1;

/// Above the relative error of two scores: twice 2^-16 for the bits of the position, and a tenth of that for
/// rounding.
const SCORE_SLACK: f32 = 4e-5;

/// The factor of an item of weight 0, which never wins: far above those of other weights, and finite, because
/// an infinite score has no room for a position.
pub(crate) const FACTOR_OF_ZERO: f32 = 1e30;

/// Values that lie in one line of the cache, because a vector that spans two is slow to store.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned([u32; WIDTH]);

/// The first lanes of the widths that so many inputs fill.
#[inline(always)]
fn widths(count: usize) -> impl Iterator<Item = usize> {
    (0..count.min(INPUTS)).step_by(WIDTH)
}

/// One width of the lanes.
#[inline(always)]
fn width<T>(lanes: &[T; INPUTS], first: usize) -> &[T; WIDTH] {
    lanes[first..].first_chunk().expect("lanes are a multiple of the width")
}

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
    pub(crate) fn is_open_in_straw2(&self, lane: usize, factor: f32) -> bool {
        let first = self.first[lane];
        self.second[lane] <= first + first * SCORE_SLACK + 2.0 * LOG_SLACK * factor + 1.0
    }

    /// The same for straw, where the greatest score wins.
    #[inline]
    pub(crate) fn is_open_in_straw(&self, lane: usize) -> bool {
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

/// The inputs of some lanes with their attempts, and how many lanes are in use.
#[derive(Clone, Copy)]
pub(crate) struct Lots<'a> {
    pub x: &'a [u32; INPUTS],
    pub r: &'a [u32; INPUTS],
    pub count: usize,
}

/// The straws of the items from a position on, for each input of one width: their ids and factors.
type SomeStraws<const N: usize> = ([[u32; WIDTH]; N], [[f32; WIDTH]; N]);

/// The straws of the buckets of all inputs.
trait Straws: Copy {
    fn count(self) -> usize;
    fn some<const N: usize>(self, position: usize, first: usize) -> SomeStraws<N>;
}

/// Each input has a bucket of its own, whose items are columns.
impl Straws for (&[[u32; INPUTS]], &[[f32; INPUTS]]) {
    #[inline(always)]
    fn count(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn some<const N: usize>(self, position: usize, first: usize) -> SomeStraws<N> {
        let columns = self.0[position..][..N].iter().zip(&self.1[position..][..N]);
        let mut some = ([[0; WIDTH]; N], [[0.0; WIDTH]; N]);
        for (item, (ids, factors)) in columns.enumerate() {
            some.0[item] = *width(ids, first);
            some.1[item] = *width(factors, first);
        }
        some
    }
}

/// All inputs are in one bucket.
impl Straws for &[(u32, f32)] {
    #[inline(always)]
    fn count(self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn some<const N: usize>(self, position: usize, _first: usize) -> SomeStraws<N> {
        let straws = &self[position..][..N];
        let mut some = ([[0; WIDTH]; N], [[0.0; WIDTH]; N]);
        for (item, &(id, factor)) in straws.iter().enumerate() {
            some.0[item] = [id; WIDTH];
            some.1[item] = [factor; WIDTH];
        }
        some
    }
}

/// Notes several items of the bucket of each input of one width at once.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]
fn note_some<const IS_STRAW2: bool, const N: usize>(
    (x, r): (&[u32; WIDTH], &[u32; WIDTH]),
    (position, first): (usize, usize),
    straws: impl Straws,
    best: &mut Best,
) {
    let (ids, factors) = straws.some::<N>(position, first);
    // Two loops, because the compiler vectorises a loop of hashes for every instruction set, but not one that
    // also compares.
    let mut hashes = [Aligned([0; WIDTH]); N];
    for lane in 0..WIDTH {
        let mut id = [0; N];
        for item in 0..N {
            id[item] = ids[item][lane];
        }
        let all = hash3_triples([x[lane]; N], id, [r[lane]; N]);
        for item in 0..N {
            hashes[item].0[lane] = all[item];
        }
    }
    for lane in 0..WIDTH {
        for item in 0..N {
            let score = straw_score::<IS_STRAW2>(hashes[item].0[lane], factors[item][lane]);
            best.note::<IS_STRAW2>(first + lane, (position + item) as u32, score);
        }
    }
}

/// Notes all items of the bucket of each input.
#[inline(always)]
fn note_all<const IS_STRAW2: bool>(lots: Lots<'_>, straws: impl Straws, best: &mut Best) {
    let worst = if IS_STRAW2 { f32::MAX } else { 0.0 };
    *best = Best { first: [worst; INPUTS], second: [worst; INPUTS] };
    let count = straws.count();
    for first in widths(lots.count) {
        let at = (width(lots.x, first), width(lots.r, first));
        let mut position = 0;
        while position + ABREAST <= count {
            note_some::<IS_STRAW2, ABREAST>(at, (position, first), straws, best);
            position += ABREAST;
        }
        while position + 2 <= count {
            note_some::<IS_STRAW2, 2>(at, (position, first), straws, best);
            position += 2;
        }
        if position < count {
            note_some::<IS_STRAW2, 1>(at, (position, first), straws, best);
        }
    }
}

#[inline(always)]
pub(super) fn straw2_columns_body(
    lots: Lots<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    note_all::<true>(lots, (ids, factors), best);
}

#[inline(always)]
pub(super) fn straw2_row_body(lots: Lots<'_>, straws: &[(u32, f32)], best: &mut Best) {
    note_all::<true>(lots, straws, best);
}

#[inline(always)]
pub(super) fn straw_columns_body(
    lots: Lots<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    note_all::<false>(lots, (ids, factors), best);
}

#[inline(always)]
pub(super) fn straw_row_body(lots: Lots<'_>, straws: &[(u32, f32)], best: &mut Best) {
    note_all::<false>(lots, straws, best);
}

/// The buckets of the inputs of some lanes.
pub type Buckets<'a> = &'a [u32; INPUTS];

/// The items of lists, as columns: their ids, the sums of their weights, and their weights.
pub(super) type ListColumns<'a> = [&'a [[u32; INPUTS]]; 3];

/// Notes the hits among several items of the list of each input of one width.
#[inline(always)]
fn note_hits<const N: usize>(
    [x, r, bucket]: [&[u32; WIDTH]; 3],
    position: usize,
    columns: ListColumns<'_>,
    (hits, first): (&mut [u32; INPUTS], usize),
) {
    let [ids, sums, weights] = columns.map(|column| -> [&[u32; WIDTH]; N] {
        std::array::from_fn(|item| width(&column[position + item], first))
    });
    let mut hashes = [Aligned([0; WIDTH]); N];
    for lane in 0..WIDTH {
        let mut id = [0; N];
        for item in 0..N {
            id[item] = ids[item][lane];
        }
        let all = hash4_words([x[lane]; N], id, [r[lane]; N], [bucket[lane]; N]);
        for item in 0..N {
            hashes[item].0[lane] = all[item];
        }
    }
    for lane in 0..WIDTH {
        let hit = &mut hits[first + lane];
        for item in 0..N {
            // The product of a draw and a sum without its last 16 bits, in two parts of 32 bits.
            let (draw, sum) = (hashes[item].0[lane] & 0xffff, sums[item][lane]);
            let scaled = draw * (sum >> 16) + ((draw * (sum & 0xffff)) >> 16);
            let is_hit = scaled < weights[item][lane];
            *hit = if is_hit { (position + item) as u32 } else { *hit };
        }
    }
}

#[inline(always)]
pub(super) fn list_hits_body(
    lots: Lots<'_>,
    buckets: Buckets<'_>,
    columns: ListColumns<'_>,
    hits: &mut [u32; INPUTS],
) {
    *hits = [0; INPUTS];
    let size = columns[0].len();
    for first in widths(lots.count) {
        let at = [width(lots.x, first), width(lots.r, first), width(buckets, first)];
        let mut position = 0;
        while position + 2 <= size {
            note_hits::<2>(at, position, columns, (hits, first));
            position += 2;
        }
        if position < size {
            note_hits::<1>(at, position, columns, (hits, first));
        }
    }
}

/// Two widths are hashed side by side where a lane needs one hash only.
const PAIR: usize = 2 * WIDTH;

#[inline(always)]
fn pairs(count: usize) -> impl Iterator<Item = usize> {
    (0..count.min(INPUTS)).step_by(PAIR)
}

#[inline(always)]
fn pair(lanes: &[u32; INPUTS], first: usize) -> &[u32; PAIR] {
    lanes[first..].first_chunk().expect("lanes are a multiple of two widths")
}

#[inline(always)]
pub(super) fn tree_hashes_body(
    lots: Lots<'_>,
    buckets: Buckets<'_>,
    nodes: &[u32; INPUTS],
    hashes: &mut [u32; INPUTS],
) {
    for first in pairs(lots.count) {
        let (x, r) = (pair(lots.x, first), pair(lots.r, first));
        let (bucket, node) = (pair(buckets, first), pair(nodes, first));
        let hashes: &mut [u32; PAIR] =
            hashes[first..].first_chunk_mut().expect("lanes are a multiple of two widths");
        for lane in 0..WIDTH {
            let other = lane + WIDTH;
            [hashes[lane], hashes[other]] = hash4_words(
                [x[lane], x[other]],
                [node[lane], node[other]],
                [r[lane], r[other]],
                [bucket[lane], bucket[other]],
            );
        }
    }
}

/// A permutation swaps each place with a later one. What ends at a place is found backwards: it came there in
/// the swap of that place, from where an earlier swap may have put it. The attempts are the places, of which
/// `most` is the greatest.
#[inline(always)]
pub(super) fn place_in_permutation_body(
    lots: Lots<'_>,
    buckets: Buckets<'_>,
    sizes: &[u32; INPUTS],
    most: u32,
    positions: &mut [u32; INPUTS],
) {
    for first in pairs(lots.count) {
        let (x, place) = (pair(lots.x, first), pair(lots.r, first));
        let (bucket, size) = (pair(buckets, first), pair(sizes, first));
        let positions: &mut [u32; PAIR] =
            positions[first..].first_chunk_mut().expect("lanes are a multiple of two widths");
        *positions = [0; PAIR];
        let mut hashes = [0; PAIR];
        for step in (0..=most).rev() {
            for lane in 0..WIDTH {
                let other = lane + WIDTH;
                [hashes[lane], hashes[other]] =
                    hash3_triples([x[lane], x[other]], [bucket[lane], bucket[other]], [step; 2]);
            }
            for lane in 0..PAIR {
                // A step beyond the place of a lane does not count there, and may be beyond its bucket too.
                let rest = if step < size[lane] { size[lane] - step } else { 1 };
                let swapped = step + remainder(hashes[lane], rest);
                let came = if positions[lane] == swapped { step } else { positions[lane] };
                let at = if step == place[lane] { swapped } else { came };
                positions[lane] = if step <= place[lane] { at } else { 0 };
            }
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
