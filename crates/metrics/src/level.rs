//! Quantities that hold for a time: a queue's length, busy servers, bytes in flight.
//!
//! The mean of such a level is the area under its curve divided by the time. The area is an exact integer
//! (level × nanoseconds), so it does not depend on how the curve was divided into pieces.

use crate::wide::Sum;
use serde::{Deserialize, Serialize};
use towtank_units::{SimSpan, SimTime};

/// A level that changes at instants, and the area under it since the last restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Level {
    level: u64,
    changed: SimTime,
    started: SimTime,
    area: Sum,
}

impl Level {
    /// A level that is observed from `now` on.
    #[must_use]
    pub fn new(now: SimTime, level: u64) -> Self {
        Self { level, changed: now, started: now, area: Sum(0) }
    }

    /// The current level.
    #[inline]
    #[must_use]
    pub fn get(&self) -> u64 {
        self.level
    }

    /// Sets the level from `now` on.
    ///
    /// # Panics
    /// If `now` is before the last change.
    #[inline]
    pub fn set(&mut self, now: SimTime, level: u64) {
        self.area.0 += area(self.level, now.since(self.changed));
        self.changed = now;
        self.level = level;
    }

    /// Discards the area so far, for example at the end of a warm-up; the level stays.
    pub fn restart(&mut self, now: SimTime) {
        *self = Self::new(now, self.level);
    }

    /// Level × nanoseconds from the last restart to `now`.
    ///
    /// # Panics
    /// If `now` is before the last change.
    #[must_use]
    pub fn area_at(&self, now: SimTime) -> u128 {
        self.area.0 + area(self.level, now.since(self.changed))
    }
}

#[inline]
fn area(level: u64, span: SimSpan) -> u128 {
    u128::from(level) * u128::from(span.as_ns())
}

/// How long each level was held. Merging is commutative.
///
/// **Invariant:** the last entry is not zero, so equal contents are equal structs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LevelTimes {
    spans: Vec<Sum>,
}

impl LevelTimes {
    /// No recorded time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `span` to the time at `level`. Memory grows with the highest level.
    pub fn record(&mut self, level: u32, span: SimSpan) {
        if span.is_zero() {
            return;
        }
        let at = level as usize;
        if at >= self.spans.len() {
            self.spans.resize(at + 1, Sum(0));
        }
        self.spans[at].add(span.as_ns());
    }

    /// Adds all times that another instance has recorded.
    pub fn merge(&mut self, other: &Self) {
        if self.spans.len() < other.spans.len() {
            self.spans.resize(other.spans.len(), Sum(0));
        }
        for (mine, theirs) in self.spans.iter_mut().zip(&other.spans) {
            mine.0 += theirs.0;
        }
    }

    /// Nanoseconds at each level, from level 0 up to the highest that was held.
    pub fn ns_by_level(&self) -> impl ExactSizeIterator<Item = u128> + '_ {
        self.spans.iter().map(|span| span.0)
    }

    /// The share of time at each level; empty if no time has passed.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let total: u128 = self.ns_by_level().sum();
        self.ns_by_level().map(|ns| ns as f64 / total as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    #[test]
    fn the_area_is_the_level_times_the_time() {
        let mut level = Level::new(at(10), 2);
        assert_eq!(level.area_at(at(10)), 0);
        assert_eq!(level.area_at(at(20)), 20);
        level.set(at(20), 6);
        assert_eq!(level.area_at(at(30)), 80);
        level.restart(at(30));
        assert_eq!((level.get(), level.area_at(at(31))), (6, 6));
    }

    #[test]
    fn areas_do_not_overflow() {
        let level = Level::new(SimTime::ZERO, u64::MAX);
        assert_eq!(level.area_at(SimTime::MAX), u128::from(u64::MAX) * u128::from(u64::MAX));
    }

    #[test]
    fn shares_of_time() {
        let mut times = LevelTimes::new();
        assert_eq!(times.shares(), Vec::<f64>::new());
        times.record(0, SimSpan::from_ns(3));
        times.record(2, SimSpan::from_ns(1));
        assert_eq!(times.shares(), [0.75, 0.0, 0.25]);
        times.record(9, SimSpan::ZERO);
        assert_eq!(times.ns_by_level().len(), 3);
    }

    fn pieces() -> impl Strategy<Value = Vec<(u32, u64)>> {
        prop::collection::vec((0..20_u32, 0..1_000_u64), 0..30)
    }

    fn times(pieces: &[(u32, u64)]) -> LevelTimes {
        let mut times = LevelTimes::new();
        pieces.iter().for_each(|(level, ns)| times.record(*level, SimSpan::from_ns(*ns)));
        times
    }

    proptest! {
        #[test]
        fn cutting_the_curve_does_not_change_its_area(pieces in pieces()) {
            let (mut coarse, mut fine) = (Level::new(SimTime::ZERO, 0), Level::new(SimTime::ZERO, 0));
            let (mut now, mut want) = (0, 0_u128);
            for (level, ns) in pieces {
                coarse.set(at(now), level.into());
                fine.set(at(now), level.into());
                fine.set(at(now + ns / 2), level.into());
                now += ns;
                want += u128::from(level) * u128::from(ns);
            }
            prop_assert_eq!(coarse.area_at(at(now)), want);
            prop_assert_eq!(fine.area_at(at(now)), want);
        }

        #[test]
        fn times_merge_in_any_order_and_come_back(a in pieces(), b in pieces()) {
            let (mut ab, mut ba) = (times(&a), times(&b));
            ab.merge(&times(&b));
            ba.merge(&times(&a));
            prop_assert_eq!(&ab, &ba);
            prop_assert_eq!(&ab, &times(&[a, b].concat()));
        }
    }
}
