//! CRUSH's integer hash, Robert Jenkins' 96-bit mix from 1997 ("rjenkins1", hash id 0), which maps one to
//! five words to one.
//!
//! Source: the description in the project's reference notes on Ceph 16.2.15, checked against its golden
//! mappings. Any other hash id hashes everything to 0, as Ceph does.

use std::array::from_mut;

/// The hash id of rjenkins1, the only hash.
pub(super) const RJENKINS1: u8 = 0;

const SEED: u32 = 1_315_423_911;
const X: u32 = 231_232;
const Y: u32 = 1_232;

/// One mix: nine steps, each of which subtracts the two other words and then xors a shifted third.
#[inline(always)]
pub(super) fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    mix_all::<ALONE, 1>(from_mut(a), from_mut(b), from_mut(c));
}

/// A single hash, whose steps depend on each other, so that its latency matters.
const ALONE: bool = true;

/// A hash in a loop over many, which the compiler vectorises.
const AMONG_MANY: bool = false;

/// Several mixes side by side, step by step, because the steps of one mix depend on each other.
#[inline(always)]
fn mix_all<const IS_ALONE: bool, const N: usize>(a: &mut [u32; N], b: &mut [u32; N], c: &mut [u32; N]) {
    step::<IS_ALONE, N>(a, b, c, |c| c >> 13);
    step::<IS_ALONE, N>(b, c, a, |a| a << 8);
    step::<IS_ALONE, N>(c, a, b, |b| b >> 13);
    step::<IS_ALONE, N>(a, b, c, |c| c >> 12);
    step::<IS_ALONE, N>(b, c, a, |a| a << 16);
    step::<IS_ALONE, N>(c, a, b, |b| b >> 5);
    step::<IS_ALONE, N>(a, b, c, |c| c >> 3);
    step::<IS_ALONE, N>(b, c, a, |a| a << 10);
    step::<IS_ALONE, N>(c, a, b, |b| b >> 15);
}

/// One step. `c` is the result of the previous step, so it is subtracted last.
#[inline(always)]
fn step<const IS_ALONE: bool, const N: usize>(
    a: &mut [u32; N],
    b: &[u32; N],
    c: &[u32; N],
    shifted: impl Fn(u32) -> u32,
) {
    for ((a, &b), &c) in a.iter_mut().zip(b).zip(c) {
        let rest = if IS_ALONE { less(*a, b) } else { a.wrapping_sub(b) };
        *a = rest.wrapping_sub(c) ^ shifted(c);
    }
}

/// The difference `a - b`, computed before `c` is known. The compiler would otherwise subtract `b + c`, so
/// that two operations instead of one wait for `c`, which makes a hash half as long again.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn less(mut a: u32, b: u32) -> u32 {
    // SAFETY: one subtraction from register to register, without memory.
    unsafe {
        std::arch::asm!("sub {0:e}, {1:e}", inout(reg) a, in(reg) b, options(pure, nomem, nostack));
    }
    a
}

/// The difference `a - b`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn less(a: u32, b: u32) -> u32 {
    a.wrapping_sub(b)
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
#[inline]
#[must_use]
pub(super) fn hash3(a: u32, b: u32, c: u32) -> u32 {
    let [h] = hash3_each::<ALONE, 1>(a, [b], c);
    h
}

/// The hashes of three words for several values of the second word, for loops over many.
#[inline(always)]
pub(super) fn hash3_all<const N: usize>(a: u32, b: [u32; N], c: u32) -> [u32; N] {
    hash3_each::<AMONG_MANY, N>(a, b, c)
}

/// The hashes of several triples of words, for loops over many.
#[inline(always)]
pub(super) fn hash3_triples<const N: usize>(a: [u32; N], b: [u32; N], c: [u32; N]) -> [u32; N] {
    hash3_words::<AMONG_MANY, N>(a, b, c)
}

#[inline(always)]
fn hash3_each<const IS_ALONE: bool, const N: usize>(a: u32, b: [u32; N], c: u32) -> [u32; N] {
    hash3_words::<IS_ALONE, N>([a; N], b, [c; N])
}

#[inline(always)]
fn hash3_words<const IS_ALONE: bool, const N: usize>(
    mut a: [u32; N],
    mut b: [u32; N],
    mut c: [u32; N],
) -> [u32; N] {
    let (mut x, mut y, mut h) = ([X; N], [Y; N], [SEED; N]);
    for (((h, a), b), c) in h.iter_mut().zip(a).zip(b).zip(c) {
        *h ^= a ^ b ^ c;
    }
    mix_all::<IS_ALONE, N>(&mut a, &mut b, &mut h);
    mix_all::<IS_ALONE, N>(&mut c, &mut x, &mut h);
    mix_all::<IS_ALONE, N>(&mut y, &mut a, &mut h);
    mix_all::<IS_ALONE, N>(&mut b, &mut x, &mut h);
    mix_all::<IS_ALONE, N>(&mut y, &mut c, &mut h);
    h
}

/// The hash of four words.
#[inline]
#[must_use]
fn hash4(a: u32, b: u32, c: u32, d: u32) -> u32 {
    hash4_each::<ALONE>(a, b, c, d)
}

/// The hash of four words, for loops over many.
#[inline(always)]
pub(super) fn hash4_among_many(a: u32, b: u32, c: u32, d: u32) -> u32 {
    hash4_each::<AMONG_MANY>(a, b, c, d)
}

#[inline(always)]
fn hash4_each<const IS_ALONE: bool>(a: u32, b: u32, c: u32, d: u32) -> u32 {
    let [h] = hash4_all::<IS_ALONE, 1>([a], [b], [c], [d]);
    h
}

/// The hashes of several times four words, for loops over many.
#[inline(always)]
pub(super) fn hash4_words<const N: usize>(a: [u32; N], b: [u32; N], c: [u32; N], d: [u32; N]) -> [u32; N] {
    hash4_all::<AMONG_MANY, N>(a, b, c, d)
}

#[inline(always)]
fn hash4_all<const IS_ALONE: bool, const N: usize>(
    mut a: [u32; N],
    mut b: [u32; N],
    mut c: [u32; N],
    mut d: [u32; N],
) -> [u32; N] {
    let (mut x, mut y, mut h) = ([X; N], [Y; N], [SEED; N]);
    for ((((h, a), b), c), d) in h.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *h ^= a ^ b ^ c ^ d;
    }
    mix_all::<IS_ALONE, N>(&mut a, &mut b, &mut h);
    mix_all::<IS_ALONE, N>(&mut c, &mut d, &mut h);
    mix_all::<IS_ALONE, N>(&mut a, &mut x, &mut h);
    mix_all::<IS_ALONE, N>(&mut y, &mut b, &mut h);
    mix_all::<IS_ALONE, N>(&mut c, &mut x, &mut h);
    mix_all::<IS_ALONE, N>(&mut y, &mut d, &mut h);
    h
}

/// The hash of three words by hash id; only [`RJENKINS1`] exists, and any other gives 0.
#[inline]
#[must_use]
pub(super) fn hash3_by(id: u8, a: u32, b: u32, c: u32) -> u32 {
    if id == RJENKINS1 { hash3(a, b, c) } else { 0 }
}

/// The hash of four words by hash id; only [`RJENKINS1`] exists, and any other gives 0.
#[inline]
#[must_use]
pub(super) fn hash4_by(id: u8, a: u32, b: u32, c: u32, d: u32) -> u32 {
    if id == RJENKINS1 { hash4(a, b, c, d) } else { 0 }
}
