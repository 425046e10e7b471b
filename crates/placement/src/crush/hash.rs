//! CRUSH's integer hash, Robert Jenkins' 96-bit mix from 1997 ("rjenkins1", hash id 0): one to five words in, one out.
//!
//! Source: the description in the project's reference notes on Ceph 16.2.15, checked against its golden mappings.
//! Any other hash id hashes everything to 0, as Ceph does.

use std::array::from_mut;

/// The hash id of rjenkins1, the only hash there is.
pub const RJENKINS1: u8 = 0;

const SEED: u32 = 1_315_423_911;
const X: u32 = 231_232;
const Y: u32 = 1_232;

/// One mix: nine steps, each of which subtracts the two other words and then xors a shifted third.
#[inline(always)]
pub(super) fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    mix_all(from_mut(a), from_mut(b), from_mut(c));
}

/// Several mixes side by side, step by step: within one, each step waits for the last.
#[inline(always)]
fn mix_all<const N: usize>(a: &mut [u32; N], b: &mut [u32; N], c: &mut [u32; N]) {
    step(a, b, c, |c| c >> 13);
    step(b, c, a, |a| a << 8);
    step(c, a, b, |b| b >> 13);
    step(a, b, c, |c| c >> 12);
    step(b, c, a, |a| a << 16);
    step(c, a, b, |b| b >> 5);
    step(a, b, c, |c| c >> 3);
    step(b, c, a, |a| a << 10);
    step(c, a, b, |b| b >> 15);
}

#[inline(always)]
fn step<const N: usize>(a: &mut [u32; N], b: &[u32; N], c: &[u32; N], shifted: impl Fn(u32) -> u32) {
    for ((a, &b), &c) in a.iter_mut().zip(b).zip(c) {
        *a = a.wrapping_sub(b).wrapping_sub(c) ^ shifted(c);
    }
}

/// The hash of two words.
#[inline]
#[must_use]
pub fn hash2(mut a: u32, mut b: u32) -> u32 {
    let (mut x, mut y) = (X, Y);
    let mut h = SEED ^ a ^ b;
    mix(&mut a, &mut b, &mut h);
    mix(&mut x, &mut a, &mut h);
    mix(&mut b, &mut y, &mut h);
    h
}

/// The hash of three words.
#[inline(always)]
#[must_use]
pub fn hash3(a: u32, b: u32, c: u32) -> u32 {
    let [h] = hash3_all(a, [b], c);
    h
}

/// The hashes of three words for several second words.
#[inline(always)]
pub(super) fn hash3_all<const N: usize>(a: u32, b: [u32; N], c: u32) -> [u32; N] {
    let (mut a, mut b, mut c, mut x, mut y) = ([a; N], b, [c; N], [X; N], [Y; N]);
    let mut h = b.map(|b| SEED ^ a[0] ^ b ^ c[0]);
    mix_all(&mut a, &mut b, &mut h);
    mix_all(&mut c, &mut x, &mut h);
    mix_all(&mut y, &mut a, &mut h);
    mix_all(&mut b, &mut x, &mut h);
    mix_all(&mut y, &mut c, &mut h);
    h
}

/// The hash of four words.
#[inline(always)]
#[must_use]
pub fn hash4(mut a: u32, mut b: u32, mut c: u32, mut d: u32) -> u32 {
    let (mut x, mut y) = (X, Y);
    let mut h = SEED ^ a ^ b ^ c ^ d;
    mix(&mut a, &mut b, &mut h);
    mix(&mut c, &mut d, &mut h);
    mix(&mut a, &mut x, &mut h);
    mix(&mut y, &mut b, &mut h);
    mix(&mut c, &mut x, &mut h);
    mix(&mut y, &mut d, &mut h);
    h
}

/// What the hash `id` makes of three words: only [`RJENKINS1`] exists.
#[inline]
#[must_use]
pub(super) fn hash3_by(id: u8, a: u32, b: u32, c: u32) -> u32 {
    if id == RJENKINS1 { hash3(a, b, c) } else { 0 }
}

/// What the hash `id` makes of four words: only [`RJENKINS1`] exists.
#[inline]
#[must_use]
pub(super) fn hash4_by(id: u8, a: u32, b: u32, c: u32, d: u32) -> u32 {
    if id == RJENKINS1 { hash4(a, b, c, d) } else { 0 }
}
