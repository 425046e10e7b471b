//! Which positions a backfill need not look at: an ordered set of ranges.
//!
//! A backfill walks a group in the order of positions. It asks for each batch where the next position is that
//! must be looked at, and a write that reaches only the primary opens the range of its leaf again. Ranges are
//! merged where they touch, so that the set holds as few as the differences make; an empty set holds nothing
//! and asks nothing.

use std::collections::BTreeMap;

use crate::{Position, PositionRange, Shape};

/// Ranges of positions, in order, none touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SkipSet {
    /// First position to last, both included.
    ranges: BTreeMap<u32, u32>,
}

impl SkipSet {
    /// Nothing can be skipped.
    #[must_use]
    pub const fn new() -> SkipSet {
        SkipSet { ranges: BTreeMap::new() }
    }

    /// All of `within` but what lies in `differing`, which is in order.
    #[must_use]
    pub fn all_but(within: PositionRange, differing: &[PositionRange]) -> SkipSet {
        let mut skipped = SkipSet::new();
        let mut next = Some(within.first);
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

    /// How many ranges it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = PositionRange> + '_ {
        self.ranges.iter().map(|(first, last)| PositionRange::new(*first, *last))
    }

    /// The range in which `at` lies, if it can be skipped.
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

    /// The first position at or after `at` that must be looked at; none where all to the end can be skipped.
    #[must_use]
    pub fn next_to_look_at(&self, at: Position) -> Option<Position> {
        match self.range_of(at) {
            Some(range) => after(range.last),
            None => Some(at),
        }
    }

    /// A cursor for positions that are asked in order.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { set: self, known: None }
    }

    /// Adds a range, merged with those that it overlaps or touches.
    pub fn insert(&mut self, range: PositionRange) {
        let (mut first, mut last) = (range.first.0, range.last.0);
        if let Some((before, before_last)) = self.ranges.range(..=first).next_back()
            && before_last.saturating_add(1) >= first
        {
            first = *before;
            last = last.max(*before_last);
        }
        // Those that begin within it or right behind it; each is taken out once, having been put in once.
        while let Some((next, next_last)) = self.ranges.range(first..=last.saturating_add(1)).next() {
            let next = *next;
            last = last.max(*next_last);
            self.ranges.remove(&next);
        }
        self.ranges.insert(first, last);
    }

    /// Takes a range out: what lies in it must be looked at. What the ranges around it hold besides is kept.
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

    /// A write changed an object at `at`, which the other replica does not get: its leaf must be looked at.
    pub fn open_leaf(&mut self, shape: Shape, at: Position) {
        if !self.ranges.is_empty() {
            let leaf = shape.leaf_of(at);
            self.remove(shape.positions_of(leaf, leaf));
        }
    }

    /// What may be skipped for this set's replica and for another's: a batch that serves both looks at the
    /// rest.
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

    /// Puts back what of `over` lies before and after `hole`.
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
        }
    }
}

fn before(at: Position) -> Option<Position> {
    at.0.checked_sub(1).map(Position)
}

fn after(at: Position) -> Option<Position> {
    at.0.checked_add(1).map(Position)
}

/// Asks a [`SkipSet`] about positions in order, and searches only where a range ends.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    set: &'a SkipSet,
    /// A stretch in which all is skipped, or all is looked at.
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
