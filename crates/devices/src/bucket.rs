//! A token bucket that fills exactly, without truncation; it limits a flow to its share of a link.
//!
//! SURGE fills its buckets at each poll and drops fractions of bits, which costs up to 9 % of the rate when
//! it polls every nanosecond; the figures of its paper match the exact rule.

use towtank_units::{BitRate, SimSpan, SimTime};

/// Billionths of a bit per bit, so that bits/s times nanoseconds are counted without a division.
const PARTS: u128 = 1_000_000_000;

/// A bucket of bits; the owner passes the fill rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Bucket {
    capacity: u64,
    level: u128,
    at: SimTime,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn full(capacity_bits: u64, now: SimTime) -> Bucket {
        Bucket { capacity: capacity_bits, level: u128::from(capacity_bits) * PARTS, at: now }
    }

    /// Fills the bucket up to `now` at a rate; with `None`, only the instant is updated.
    pub fn fill(&mut self, now: SimTime, rate: impl Into<Option<BitRate>>) {
        let span = now.checked_since(self.at).unwrap_or(SimSpan::ZERO);
        let bits_per_second = rate.into().map_or(0, BitRate::bits_per_second);
        let gained = u128::from(bits_per_second) * u128::from(span.as_ns());
        self.level = (self.level + gained).min(u128::from(self.capacity) * PARTS);
        self.at = self.at.max(now);
    }

    /// Takes bits out; the level does not go below zero.
    pub fn take(&mut self, bits: u64) {
        self.level = self.level.saturating_sub(u128::from(bits) * PARTS);
    }

    /// When the bucket will hold `bits`, if it goes on filling at `rate` from the last fill. `None` if it
    /// never will, for example without a rate.
    #[must_use]
    pub fn ready(&self, bits: u64, rate: impl Into<Option<BitRate>>) -> Option<SimTime> {
        let wanted = u128::from(bits) * PARTS;
        if self.level >= wanted {
            return Some(self.at);
        }
        let ns = (wanted - self.level).div_ceil(u128::from(rate.into()?.bits_per_second()));
        self.at.checked_add(SimSpan::from_ns(u64::try_from(ns).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_flowed_in_and_never_more() {
        let (mut bucket, rate) = (Bucket::full(74_400, SimTime::ZERO), BitRate::at_least_one(9_900_000_000));
        bucket.take(72_000);
        assert_eq!(bucket.ready(2_400, None), Some(SimTime::ZERO));
        assert_eq!(bucket.ready(72_000, None), None);
        // 69,600 bits at 9.9 Gbit/s take 7030.3 ns.
        assert_eq!(bucket.ready(72_000, rate), Some(SimTime::from_ns(7_031)));
        bucket.fill(SimTime::from_ns(7_031), rate);
        assert_eq!(bucket.ready(72_000, None), Some(SimTime::from_ns(7_031)));
        bucket.fill(SimTime::from_ns(1_000_000), rate);
        assert_eq!(bucket.ready(74_401, None), None);
        assert_eq!(bucket.ready(74_400, None), Some(SimTime::from_ns(1_000_000)));
    }
}
