//! The positions that a backfill need not look at: an ordered set of ranges.
//!
//! A backfill walks a group in the order of positions. For each batch it asks for the next position that must
//! be looked at; a write that reaches only the primary reopens the range of its leaf. Ranges are merged where
//! they touch, so that the set is as small as the differences allow.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::{Position, PositionRange, Shape};

/// Ranges of positions, in order, none touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SkipSet {
    /// From the first position of a range to the last, both included.
    ranges: BTreeMap<u32, u32>,
}

impl SkipSet {
    /// The empty set: nothing can be skipped.
    #[must_use]
    pub const fn new() -> SkipSet {
        SkipSet { ranges: BTreeMap::new() }
    }

    /// All of `within` except the ranges in `differing`, which must be in order.
    #[must_use]
    pub fn all_but(within: PositionRange, differing: &[PositionRange]) -> SkipSet {
        let mut skipped = SkipSet::new();
        let mut next = Some(within.first);
        let in_order = differing.is_sorted_by(|left, right| left.last < right.first);
        assert!(in_order, "differing ranges are in order: a position that differs would be skipped");
        for range in differing {
            if let (Some(first), Some(last)) = (next, before(range.first)) {
                skipped.insert_if_any(first, last.min(within.last));
            }
            next = next.and_then(|next| Some(next.max(after(range.last)?)));
        }
        if let Some(first) = next {
            skipped.insert_if_any(first, within.last);
        }
        skipped
    }

    /// Whether nothing can be skipped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The number of ranges in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = PositionRange> + '_ {
        self.ranges.iter().map(|(first, last)| PositionRange::new(*first, *last))
    }

    /// The range that contains `at`, if `at` can be skipped.
    #[must_use]
    pub fn range_of(&self, at: Position) -> Option<PositionRange> {
        let (first, last) = self.ranges.range(..=at.0).next_back()?;
        (at.0 <= *last).then(|| PositionRange::new(*first, *last))
    }

    /// Whether an object at this position need not be looked at.
    #[must_use]
    pub fn contains(&self, at: Position) -> bool {
        self.range_of(at).is_some()
    }

    /// The first position at or after `at` that must be looked at; none if everything from `at` on can be
    /// skipped.
    #[must_use]
    pub fn next_to_look_at(&self, at: Position) -> Option<Position> {
        match self.range_of(at) {
            Some(range) => after(range.last),
            None => Some(at),
        }
    }

    /// A cursor for queries in ascending order.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { set: self, known: None }
    }

    /// Adds a range and merges it with those that it overlaps or touches.
    pub fn insert(&mut self, range: PositionRange) {
        let (mut first, mut last) = (range.first.0, range.last.0);
        if let Some((before, before_last)) = self.ranges.range(..=first).next_back()
            && before_last.saturating_add(1) >= first
        {
            first = *before;
            last = last.max(*before_last);
        }
        // Ranges that begin within the new one or directly after it; each is removed at most once per
        // insertion.
        while let Some((next, next_last)) = self.ranges.range(first..=last.saturating_add(1)).next() {
            let next = *next;
            last = last.max(*next_last);
            self.ranges.remove(&next);
        }
        self.ranges.insert(first, last);
        self.law_of_neighbours(first, last);
    }

    /// A range that was put into the set touches neither the one before it nor the one after it.
    fn law_of_neighbours(&self, first: u32, last: u32) {
        let before = self.ranges.range(..first).next_back().map(|(_, last)| last.saturating_add(1));
        let after =
            self.ranges.range((Bound::Excluded(first), Bound::Unbounded)).next().map(|(first, _)| first - 1);
        assert!(
            first <= last && before.is_none_or(|end| end < first) && after.is_none_or(|end| last < end),
            "skipped ranges are in order and do not touch: {first:08x} to {last:08x} does"
        );
    }

    /// Removes a range: its positions must be looked at. The parts of other ranges outside it are kept.
    pub fn remove(&mut self, range: PositionRange) {
        if let Some(over) = self.range_of(range.first) {
            self.ranges.remove(&over.first.0);
            self.keep_around(over, range);
        }
        while let Some((first, last)) = self.ranges.range(range.first.0..=range.last.0).next() {
            let over = PositionRange::new(*first, *last);
            self.ranges.remove(&over.first.0);
            self.keep_around(over, range);
        }
    }

    /// Records a write at `at` that the other replica does not receive: the leaf must be looked at.
    pub fn open_leaf(&mut self, shape: Shape, at: Position) {
        if !self.ranges.is_empty() {
            let leaf = shape.leaf_of(at);
            self.remove(shape.positions_of(leaf, leaf));
        }
    }

    /// The positions that may be skipped for this set's replica and for another's: a batch that serves both
    /// looks at the rest.
    #[must_use]
    pub fn common_with(&self, other: &SkipSet) -> SkipSet {
        let mut common = SkipSet::new();
        let (mut ours, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
            common.insert_if_any(our.first.max(their.first), our.last.min(their.last));
            if our.last <= their.last {
                ours.next()
            } else {
                theirs.next()
            };
        }
        common
    }

    /// Restores the parts of `over` before and after `hole`.
    fn keep_around(&mut self, over: PositionRange, hole: PositionRange) {
        if let Some(last) = before(hole.first) {
            self.insert_if_any(over.first, last);
        }
        if let Some(first) = after(hole.last) {
            self.insert_if_any(first, over.last);
        }
    }

    fn insert_if_any(&mut self, first: Position, last: Position) {
        if first <= last {
            self.ranges.insert(first.0, last.0);
            self.law_of_neighbours(first.0, last.0);
        }
    }
}

fn before(at: Position) -> Option<Position> {
    at.0.checked_sub(1).map(Position)
}

fn after(at: Position) -> Option<Position> {
    at.0.checked_add(1).map(Position)
}

/// Answers queries about positions in ascending order, and searches the [`SkipSet`] only where a range ends.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    set: &'a SkipSet,
    /// A range of positions that are all skipped or all looked at.
    known: Option<(PositionRange, bool)>,
}

impl Cursor<'_> {
    /// Whether the object at this position need not be looked at.
    pub fn skips(&mut self, at: Position) -> bool {
        match self.known {
            Some((stretch, skipped)) if stretch.contains(at) => skipped,
            _ => {
                let (stretch, skipped) = self.stretch_around(at);
                self.known = Some((stretch, skipped));
                skipped
            }
        }
    }

    fn stretch_around(&self, at: Position) -> (PositionRange, bool) {
        if let Some(range) = self.set.range_of(at) {
            return (range, true);
        }
        let ranges = &self.set.ranges;
        let first = ranges.range(..=at.0).next_back().map_or(0, |(_, last)| last + 1);
        let last = ranges.range(at.0..).next().map_or(u32::MAX, |(next, _)| next - 1);
        (PositionRange::new(first, last), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u32, u32)]) -> SkipSet {
        SkipSet { ranges: ranges.iter().copied().collect() }
    }

    #[test]
    #[should_panic(expected = "skipped ranges are in order and do not touch: 00000032 to 00000046 does")]
    fn a_range_inserted_into_another_breaks_a_law() {
        set(&[(0, 200), (50, 60)]).insert(PositionRange::new(55, 70));
    }

    #[test]
    #[should_panic(expected = "skipped ranges are in order and do not touch: 00000032 to 00000045 does")]
    fn a_range_removed_from_two_breaks_a_law() {
        set(&[(0, 200), (50, 90)]).remove(PositionRange::new(70, 80));
    }

    #[test]
    #[should_panic(expected = "differing ranges are in order")]
    fn differences_out_of_order_break_a_law() {
        let differing = [PositionRange::new(50, 60), PositionRange::new(10, 20)];
        let _ = SkipSet::all_but(PositionRange::ALL, &differing);
    }
}
