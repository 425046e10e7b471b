//! The fixed-point logarithm of straw2: about 2^44 · log2(u + 1) for a 16-bit `u`.

use super::ln_tables::{HIGH, LOW, RECIPROCAL};

/// The upper limit of the logarithm, 2^48: subtracting it makes every draw negative.
const LN_MAX: i64 = 1 << 48;

/// The logarithm as Ceph 16.2.15 computes it, including the irregularities of its tables.
#[must_use]
pub fn ln(u: u16) -> u64 {
    let mut v = u32::from(u) + 1;
    let mut exponent = 15u64;
    if v & 0x1_8000 == 0 {
        let shift = v.leading_zeros() - 16;
        v <<= shift;
        exponent = u64::from(15 - shift);
    }
    let index = (v >> 8) as usize - 128;
    let low = ((u64::from(v) * RECIPROCAL[index]) >> 48) & 0xff;
    (exponent << 44) + ((HIGH[index] + LOW[low as usize]) >> 4)
}

/// The length of the straw for draw `u` and `weight`: never positive, and the greatest wins.
#[inline]
#[must_use]
pub(super) fn draw(u: u16, weight: u32) -> i64 {
    if weight == 0 { i64::MIN } else { below_max(u) / i64::from(weight) }
}

/// The logarithm minus 2^48: the dividend of a draw.
#[must_use]
pub(super) fn below_max(u: u16) -> i64 {
    ln(u) as i64 - LN_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_where_ceph_has_them() {
        assert_eq!(ln(0), 0);
        assert_eq!(below_max(u16::MAX), -0x1000_0000);
    }

    #[test]
    fn every_draw_is_negative_or_zero_at_most() {
        for u in 0..=u16::MAX {
            assert!(below_max(u) < 0, "u = {u}");
        }
    }
}
