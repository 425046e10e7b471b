//! The inner loops of the fast mapper, compiled for several instruction sets; the fastest that the machine has is picked at run time.
//!
//! The loops are plain Rust, written so that the compiler makes vectors of them: one body, instantiated for wider
//! registers by a function attribute. The portable path is the same body without one. No result depends on the path.

use super::hash::{hash3, hash4};

/// Items are padded to a multiple of this, so that the loops have no ragged end.
pub(super) const WIDTH: usize = 16;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// What every machine of the target has.
    Portable,
    /// x86-64 with AVX2: eight hashes at once.
    Avx2,
    /// x86-64 with AVX-512: sixteen hashes at once.
    Avx512,
}

impl Lanes {
    /// The fastest that this machine has.
    #[must_use]
    pub fn detect() -> Self {
        *Self::available().last().expect("the portable path is always there")
    }

    /// All that this machine has, slowest first.
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

/// Declares functions that run one body under every instruction set.
macro_rules! on_lanes {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $body:path;)*) => {
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
                        // SAFETY: this value comes from `Lanes::available`, which found the feature on this machine.
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
    /// Draws 16 bits for each id into `draws`, and gives the greatest.
    fn draw_all(x: u32, ids: &[u32], r: u32, draws: &mut [u32]) -> u32 = draw_all_body;
    /// The first position from `from` on whose draw is at least `least`.
    fn next_at_least(draws: &[u32], least: u32, from: usize) -> Option<usize> = next_at_least_body;
    /// Scores each draw by its weight into `scores` (smaller wins), and gives the smallest.
    fn score_all(draws: &[u32], inverse: &[f32], table: &[f32], scores: &mut [f32]) -> f32 = score_all_body;
    /// The first position from `from` on whose score is at most `most`.
    fn next_at_most(scores: &[f32], most: f32, from: usize) -> Option<usize> = next_at_most_body;
    /// The first position with the longest straw.
    fn longest(draws: &[u32], straws: &[f64]) -> usize = longest_body;
    /// The last position whose draw in a list bucket falls below its weight.
    fn last_in_list(x: u32, r: u32, id: u32, list: ListLanes<'_>) -> Option<usize> = last_in_list_body;
}

/// The items of a list bucket.
#[derive(Clone, Copy)]
pub(super) struct ListLanes<'a> {
    pub items: &'a [u32],
    pub sums: &'a [u32],
    pub weights: &'a [u32],
}

#[inline(always)]
fn draw_all_body(x: u32, ids: &[u32], r: u32, draws: &mut [u32]) -> u32 {
    let mut greatest = 0;
    for (draws, ids) in draws.chunks_exact_mut(WIDTH).zip(ids.chunks_exact(WIDTH)) {
        for (draw, &id) in draws.iter_mut().zip(ids) {
            *draw = hash3(x, id, r) & 0xffff;
        }
    }
    for &draw in draws.iter() {
        greatest = greatest.max(draw);
    }
    greatest
}

#[inline(always)]
fn next_at_least_body(draws: &[u32], least: u32, from: usize) -> Option<usize> {
    next(draws, from, |draw| draw >= least)
}

#[inline(always)]
fn next_at_most_body(scores: &[f32], most: f32, from: usize) -> Option<usize> {
    next(scores, from, |score| score <= most)
}

/// Looks at whole chunks before it looks at single values, since hits are rare.
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

/// A draw has 16 bits and a straw 32, so their product is exact in a double.
#[inline(always)]
fn longest_body(draws: &[u32], straws: &[f64]) -> usize {
    let mut greatest = [0.0f64; WIDTH];
    for (draws, straws) in draws.chunks_exact(WIDTH).zip(straws.chunks_exact(WIDTH)) {
        for ((greatest, &draw), &straw) in greatest.iter_mut().zip(draws).zip(straws) {
            let length = f64::from(draw as i32) * straw;
            *greatest = if length > *greatest { length } else { *greatest };
        }
    }
    let longest = greatest.into_iter().fold(0.0, f64::max);
    for (at, (draws, straws)) in draws.chunks_exact(WIDTH).zip(straws.chunks_exact(WIDTH)).enumerate() {
        let mut any = false;
        for (&draw, &straw) in draws.iter().zip(straws) {
            any |= f64::from(draw as i32) * straw == longest;
        }
        if any {
            let hit = draws.iter().zip(straws).position(|(&draw, &straw)| f64::from(draw) * straw == longest);
            return at * WIDTH + hit.expect("one of the chunk is the longest");
        }
    }
    0
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
            let draw = u64::from(hash4(x, item, r, id) & 0xffff);
            *below = (draw * u64::from(sum)) >> 16 < u64::from(weight);
        }
        if let Some(at) = below.iter().rposition(|&below| below) {
            return Some(end - WIDTH + at);
        }
        end -= WIDTH;
    }
    (0..end).rev().find(|&at| {
        let draw = u64::from(hash4(x, list.items[at], r, id) & 0xffff);
        (draw * u64::from(list.sums[at])) >> 16 < u64::from(list.weights[at])
    })
}
