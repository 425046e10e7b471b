//! Virtual time of the disciplines: whole numbers, so that the order never depends on rounding.

use towtank_units::SimTime;

/// A virtual instant or length, in 2^-32 of a unit of cost for each unit of weight, or of a nanosecond where
/// tags are instants. 128 bits hold 2^96 units, which is 2^32 requests of 2^64 units each.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub(crate) struct Tag(u128);

/// Fraction bits of a unit of cost divided by a weight.
const FRACTION_BITS: u32 = 32;

impl Tag {
    pub const ZERO: Tag = Tag(0);

    /// The virtual length of a cost at a weight, rounded down.
    pub fn of(cost: u64, weight: u64) -> Tag {
        // 2^64 units shifted by 32 bits fit in 96.
        Tag((u128::from(cost) << FRACTION_BITS) / u128::from(weight))
    }

    /// Later than all others: never reached.
    pub const NEVER: Tag = Tag(u128::MAX);

    /// An instant as a tag.
    pub fn at(now: SimTime) -> Tag {
        Tag(u128::from(now.as_ns()) << FRACTION_BITS)
    }

    /// The time that a cost takes at a rate in units per second, as a tag in nanoseconds, rounded down.
    pub(crate) fn span_of(cost: u64, per_second: u64) -> Tag {
        // 2^64 units times 10^9 < 2^30, shifted by 32 bits, fit in 126.
        Tag(((u128::from(cost) * 1_000_000_000) << FRACTION_BITS) / u128::from(per_second))
    }

    /// The first whole instant that is not before the tag; the last representable one for [`Tag::NEVER`].
    pub(crate) fn instant(self) -> SimTime {
        let up = (self.0 >> FRACTION_BITS) + u128::from(self.0 & ((1 << FRACTION_BITS) - 1) > 0);
        SimTime::from_ns(u64::try_from(up).unwrap_or(u64::MAX))
    }

    pub(crate) fn plus(self, other: Tag) -> Tag {
        Tag(self.0.saturating_add(other.0))
    }

    pub(crate) fn minus(self, other: Tag) -> Tag {
        Tag(self.0.saturating_sub(other.0))
    }

    /// The cost of a virtual length at this weight, with the same fraction bits.
    pub fn times(self, weight: u64) -> Tag {
        Tag(self.0.saturating_mul(u128::from(weight)))
    }

    /// The inverse of [`Tag::times`], rounded down.
    pub fn over(self, weight: u64) -> Tag {
        Tag(self.0 / u128::from(weight))
    }

    /// How many times another length fits into this one.
    pub fn parts_of(self, part: Tag) -> u64 {
        u64::try_from(self.0 / part.0.max(1)).unwrap_or(u64::MAX)
    }

    /// In whole units of cost, for tests.
    #[cfg(test)]
    pub fn whole(self) -> u64 {
        (self.0 >> FRACTION_BITS) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_divide_costs() {
        assert_eq!(Tag::of(10, 2).whole(), 5);
        assert_eq!(Tag::of(u64::MAX, 1).whole(), u64::MAX);
        assert!(Tag::of(10, 3) < Tag::of(11, 3) && Tag::of(10, 3) > Tag::of(10, 4));
        assert_eq!(Tag::of(12, 4).times(4), Tag::of(12, 1));
        assert_eq!(Tag::of(12, 1).over(4), Tag::of(12, 4));
        assert_eq!(Tag::of(3, 1).minus(Tag::of(4, 1)), Tag::ZERO);
    }

    #[test]
    fn instants_round_up() {
        assert_eq!(Tag::span_of(1, 3).instant().as_ns(), 333_333_334);
        assert_eq!(Tag::span_of(3, 3).instant().as_ns(), 1_000_000_000);
        assert_eq!(Tag::at(SimTime::MAX).instant(), SimTime::MAX);
        assert_eq!(Tag::NEVER.instant(), SimTime::MAX);
    }
}
