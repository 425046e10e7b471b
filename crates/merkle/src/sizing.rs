//! How many leaves to use, and how much will have changed: equations (1), (4), (5) and (6) of the thesis.
//!
//! Objects fall on leaves as in the coupon collector's problem. Equation (4) gives the number of objects
//! needed to fill all of m leaves, (5) is its inverse, and (6) gives how many of N leaves i objects fill. The
//! thesis's (1) divides writes by the replicas, although a write changes one group; it stays here as the
//! thesis has it, and [`distinct`] gives the correct count.

mod lambert;

use lambert::lambert_w;

use crate::Shape;

/// Euler's constant, the γ of equations (4) and (5).
const EULER: f64 = 0.577_215_664_901_532_9;

/// Clients' writes to a pool while a replica is away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// How long the replica is away, in seconds.
    pub span_s: f64,
    /// Writes of clients to the whole pool, per second of the outage.
    pub writes_per_second: f64,
    /// The number of placement groups of the pool.
    pub groups: f64,
}

impl Outage {
    /// The number of writes that each group receives. A write goes to one group, however many replicas it
    /// has.
    #[must_use]
    pub fn writes_per_group(&self) -> f64 {
        self.span_s * self.writes_per_second / self.groups
    }

    /// Equation (1) as the thesis has it: the upper bound on stale objects in a group, limited by the objects
    /// that exist at the end (`objects`, including the ones added). It divides by the replicas as well.
    #[must_use]
    pub(crate) fn stale_in_thesis(&self, replicas: f64, objects: f64) -> f64 {
        (self.writes_per_group() / replicas).min(objects)
    }

    /// The number of stale objects in a group at the end, if each write is equally likely to fall on any of
    /// its `objects`.
    #[must_use]
    pub fn stale_objects(&self, objects: f64) -> f64 {
        distinct(objects, self.writes_per_group())
    }
}

/// The average number of distinct items, out of `of` equally likely ones, in so many draws:
/// of(1 - (1 - 1/of)^draws). Equation (6), for leaves that objects fall on, and for objects that writes fall
/// on.
#[must_use]
pub fn distinct(of: f64, draws: f64) -> f64 {
    if of <= 1.0 {
        return if draws > 0.0 { of.max(0.0) } else { 0.0 };
    }
    // (1 - 1/of)^draws without the loss of precision of 1 - 1/of for large `of`.
    -of * libm::expm1(draws * libm::log1p(-1.0 / of))
}

/// Equation (5): the average number of leaves that so many objects fill entirely; the inverse of the
/// asymptotic form of (4).
#[must_use]
pub fn ranges_filled(objects: f64) -> f64 {
    let beyond = objects - 0.5;
    // With at most one object there is at most one leaf to fill.
    if beyond <= 0.5 {
        return objects.clamp(0.0, 1.0);
    }
    beyond / lambert_w(libm::exp(EULER) * beyond)
}

/// The base-2 logarithm of the number of leaves to use for so many objects: the largest tree of which all
/// leaves are
/// filled.
#[must_use]
pub(crate) fn leaf_bits_for(objects: f64) -> u8 {
    let ranges = ranges_filled(objects);
    (0..=Shape::LEAF_BITS_MAX).rev().find(|bits| f64::from(1_u32 << bits) <= ranges).unwrap_or(0)
}

/// The average number of objects in a leaf that has any (figure 16): the thesis's number of objects to check
/// per write.
#[must_use]
pub fn objects_per_filled_range(objects: f64, leaves: f64) -> f64 {
    if objects <= 0.0 { 0.0 } else { objects / distinct(leaves, objects) }
}

/// The average number of objects to check per written object: itself and the others in its leaf. Leaves with
/// many objects are written to more often, so this exceeds the mean over filled leaves.
#[must_use]
pub fn objects_to_check_per_write(objects: f64, leaves: f64) -> f64 {
    if objects <= 0.0 { 0.0 } else { 1.0 + (objects - 1.0) / leaves }
}

/// The average number of objects in the leaves that differ, if `stale` of all objects differ: the stale ones
/// and the others in their leaves.
#[must_use]
pub fn objects_to_look_at(objects: f64, leaves: f64, stale: f64) -> f64 {
    let share_hit = distinct(leaves, stale) / leaves;
    stale + (objects - stale).max(0.0) * share_hit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equation (4): the average number of objects needed to fill all leaves, summed exactly.
    fn objects_to_fill(leaves: u64) -> f64 {
        // From the small terms to the large ones, to limit rounding errors.
        let harmonic: f64 = (1..=leaves).rev().map(|term| 1.0 / term as f64).sum();
        leaves as f64 * harmonic
    }

    /// Equation (4) by its asymptotic form, m ln m + γm + 1/2.
    fn objects_to_fill_about(leaves: f64) -> f64 {
        leaves * libm::log(leaves) + EULER * leaves + 0.5
    }

    fn check(found: f64, want: f64, within: f64) {
        assert!((found - want).abs() <= within, "{found}, not {want}");
    }

    #[test]
    fn the_thesis_own_numbers_come_out() {
        let outage = Outage { span_s: 3600.0, writes_per_second: 1000.0, groups: 128.0 };
        check(outage.stale_in_thesis(3.0, 50_000.0), 9_375.0, 1e-9);
        check(outage.stale_in_thesis(3.0, 5_000.0), 5_000.0, 0.0);
        // A group of 250,000 objects fills about 23 thousand ranges, so 16,384 are used, with about 16
        // objects each.
        check(ranges_filled(250_000.0), 23_500.0, 50.0);
        assert_eq!(leaf_bits_for(250_000.0), 14);
        check(objects_per_filled_range(250_000.0, 16_384.0), 15.26, 0.01);
        // 5,000 objects in 16,384 ranges: 4,309 by equation (6), about 4,096 in figure 15.
        check(distinct(16_384.0, 5_000.0), 4_309.0, 0.5);
    }

    #[test]
    fn writes_are_counted_once_a_group() {
        let outage = Outage { span_s: 3600.0, writes_per_second: 1000.0, groups: 128.0 };
        check(outage.writes_per_group(), 28_125.0, 1e-9);
        check(outage.stale_objects(50_000.0), 21_510.0, 10.0);
    }

    /// Throws one dart at a time, without any formula.
    fn distinct_by_throwing(of: u64, draws: u64) -> f64 {
        let mut state = 1_u64;
        let mut sum = 0;
        const ROUNDS: u64 = 200;
        for _ in 0..ROUNDS {
            let mut hit = vec![false; of as usize];
            for _ in 0..draws {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                hit[((u128::from(state) * u128::from(of)) >> 64) as usize] = true;
            }
            sum += hit.iter().filter(|hit| **hit).count();
        }
        sum as f64 / ROUNDS as f64
    }

    #[test]
    fn equation_6_is_what_throwing_gives() {
        for (of, draws) in [(1, 0), (1, 5), (2, 1), (100, 30), (100, 500), (1024, 1000)] {
            let want = distinct_by_throwing(of, draws);
            check(distinct(of as f64, draws as f64), want, 0.01 * want);
        }
    }

    #[test]
    fn equation_5_undoes_equation_4() {
        for leaves in [2.0, 10.0, 1024.0, 16_384.0, 1e7] {
            check(ranges_filled(objects_to_fill_about(leaves)), leaves, 1e-9 * leaves);
        }
        for leaves in [16, 1024, 65_536] {
            let exact = objects_to_fill(leaves);
            // The asymptotic form omits less than 1/(12 m).
            check(objects_to_fill_about(leaves as f64), exact, 1.0 / (12.0 * leaves as f64) + 1e-9 * exact);
        }
        assert_eq!([0.0, 1.0, 2.0, 100.0].map(leaf_bits_for), [0, 0, 0, 4]);
    }

    #[test]
    fn a_planted_division_by_the_replicas_is_noticed() {
        let outage = Outage { span_s: 3600.0, writes_per_second: 1000.0, groups: 128.0 };
        let planted = distinct(50_000.0, outage.writes_per_group() / 3.0);
        assert!((planted - outage.stale_objects(50_000.0)).abs() > 10_000.0);
    }

    #[test]
    fn looking_at_a_range_looks_at_its_neighbours() {
        check(objects_to_look_at(50_000.0, 16_384.0, 0.0), 0.0, 0.0);
        check(objects_to_look_at(50_000.0, 1.0, 1.0), 50_000.0, 1e-6);
        check(objects_to_look_at(50_000.0, 16_384.0, 50_000.0), 50_000.0, 1e-6);
        check(
            objects_to_look_at(50_000.0, 16_384.0, 1.0),
            objects_to_check_per_write(50_000.0, 16_384.0),
            1e-6,
        );
        assert!(
            objects_to_check_per_write(5_000.0, 16_384.0) < objects_per_filled_range(5_000.0, 16_384.0) + 1.0
        );
    }
}
