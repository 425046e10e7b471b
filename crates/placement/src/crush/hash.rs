//! CRUSH's integer hash, Robert Jenkins' 96-bit mix from 1997 ("rjenkins1", hash id 0): one to five words in, one out.
//!
//! Source: the description in the project's reference notes on Ceph 16.2.15, checked against its golden mappings.
//! Any other hash id hashes everything to 0, as Ceph does.

/// The hash id of rjenkins1, the only hash there is.
pub const RJENKINS1: u8 = 0;

const SEED: u32 = 1_315_423_911;
const X: u32 = 231_232;
const Y: u32 = 1_232;

/// One mix: nine steps, each of which subtracts the two other words and then xors a shifted third.
#[inline(always)]
pub(super) fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> 13);
    *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << 8);
    *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> 13);
    *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> 12);
    *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << 16);
    *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> 5);
    *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> 3);
    *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << 10);
    *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> 15);
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
pub fn hash3(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    let (mut x, mut y) = (X, Y);
    let mut h = SEED ^ a ^ b ^ c;
    mix(&mut a, &mut b, &mut h);
    mix(&mut c, &mut x, &mut h);
    mix(&mut y, &mut a, &mut h);
    mix(&mut b, &mut x, &mut h);
    mix(&mut y, &mut c, &mut h);
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
