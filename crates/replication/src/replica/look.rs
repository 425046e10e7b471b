//! What a backfill looks at: a batch at a time of the ranges that differ, or the objects that a sketch has named.

use std::collections::{BTreeMap, BTreeSet};

use towtank_merkle::{Position, Shape, SkipSet};

use crate::{Config, Cursor, Key, Planted, Run, Version};

/// What is still to be looked at.
#[derive(Clone, Debug)]
pub(super) enum Look {
    /// All but these ranges, and the batch that is being compared.
    Ranges { skipped: SkipSet, batch: Option<Batch> },
    /// These objects, and how many of them have been taken since the cursor was last moved.
    Objects { named: BTreeSet<Key>, taken: usize },
}

/// Objects of the primary and of the target in the same runs.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) runs: Vec<Run>,
    pub(super) end: Cursor,
    ours: BTreeMap<Key, Version>,
    /// The target's, up to a cursor; none while they are awaited.
    theirs: Option<(BTreeMap<Key, Version>, Cursor)>,
    /// Objects that were written to since the batch was begun, which the target did not get.
    touched: BTreeSet<Key>,
}

/// What a comparison says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Same(Key),
    /// The target has another version or none, or the object is not to be.
    Differs(Key),
    /// The target's list ends here.
    UpTo(Cursor),
}

impl Look {
    /// A write above the backfill reached the primary alone.
    pub(super) fn touch(&mut self, config: &Config, key: Key) {
        if config.planted == Some(Planted::RangeStaysSkipped) {
            return;
        }
        match self {
            Look::Ranges { batch: Some(batch), .. } if batch.end.covers(key) => {
                batch.touched.insert(key);
            }
            Look::Ranges { skipped, .. } => skipped.open_leaf(config.shape, key.at()),
            Look::Objects { named, .. } => {
                named.insert(key);
            }
        }
    }
}

/// The runs that are not skipped, from a cursor on.
pub(super) struct Runs<'a> {
    shape: Shape,
    skipped: &'a SkipSet,
    next: Option<Key>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(shape: Shape, skipped: &'a SkipSet, from: Cursor) -> Runs<'a> {
        let first = Key { position: shape.space().range().first.0, id: 0 };
        let next = match from {
            Cursor::At(key) => Some(key.max(first)),
            Cursor::End => None,
        };
        Runs { shape, skipped, next }
    }

    /// Where the run that holds this position ends: leaf by leaf, since ranges begin and end with leaves.
    fn end_of_run(&self, from: u32) -> Option<u32> {
        let last = self.shape.space().range().last.0;
        if self.skipped.is_empty() {
            return None;
        }
        let mut at = from;
        loop {
            let leaf = self.shape.leaf_of(Position(at));
            let leaf_end = self.shape.positions_of(leaf, leaf).last.0;
            if leaf_end == last {
                return None;
            }
            at = leaf_end + 1;
            if self.skipped.contains(Position(at)) {
                return Some(at);
            }
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let from = self.next.take()?;
        let last = self.shape.space().range().last;
        let open = self.skipped.next_to_look_at(from.at()).filter(|at| *at <= last)?;
        let from = if open == from.at() { from } else { Key { position: open.0, id: 0 } };
        let end = self.end_of_run(open.0);
        self.next = end.map(|position| Key { position, id: 0 });
        let to = Cursor::at_position(end);
        assert!(Cursor::At(from) < to, "a run from {from:?} to {to:?}");
        Some(Run { from, to })
    }
}

impl Batch {
    pub(super) fn new(runs: Vec<Run>, end: Cursor, ours: BTreeMap<Key, Version>) -> Batch {
        assert!(runs.windows(2).all(|pair| pair[0].to <= Cursor::At(pair[1].from)), "runs are out of order");
        let last = ours.last_key_value();
        assert!(last.is_none_or(|(key, _)| end.covers(*key)), "{last:?} lies behind its batch");
        assert!(runs.last().is_some_and(|run| run.to <= end), "a batch ends before its runs do");
        Batch { runs, end, ours, theirs: None, touched: BTreeSet::new() }
    }

    /// The target's objects in the runs, up to a cursor.
    pub(super) fn take_theirs(&mut self, objects: &[(Key, Version)], end: Cursor) {
        // Behind the last run nothing is looked at, up to the end of the batch.
        let end = if self.runs.last().is_some_and(|run| run.to <= end) { self.end } else { end };
        assert!(end <= self.end, "the target has looked beyond the batch");
        assert!(self.theirs.is_none(), "the target has answered twice");
        assert!(
            objects.is_sorted_by(|left, right| left.0 < right.0),
            "the target's objects are out of order"
        );
        assert!(objects.last().is_none_or(|(key, _)| end.covers(*key)), "the target's objects go on");
        self.theirs = Some((objects.iter().copied().collect(), end));
    }

    /// What comes next in the order of keys; none while the target's list is awaited. The same again until it is taken.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let (theirs, end) = self.theirs.as_ref()?;
        let firsts = [self.ours.keys().next(), theirs.keys().next(), self.touched.iter().next()];
        let first = firsts.into_iter().flatten().min().filter(|key| end.covers(**key));
        Some(match first {
            None => Verdict::UpTo(*end),
            Some(key) if self.touched.contains(key) || self.ours.get(key) != theirs.get(key) => {
                Verdict::Differs(*key)
            }
            Some(key) => Verdict::Same(*key),
        })
    }

    /// An object is done with.
    pub(super) fn take(&mut self, key: Key) {
        self.ours.remove(&key);
        self.touched.remove(&key);
        if let Some((theirs, _)) = &mut self.theirs {
            theirs.remove(&key);
        }
    }

    /// The runs after a cursor, for which the target's objects are asked next.
    pub(super) fn go_on_from(&mut self, from: Cursor) -> Vec<Run> {
        self.theirs = None;
        self.runs.retain(|run| run.to > from);
        if let (Some(run), Cursor::At(key)) = (self.runs.first_mut(), from) {
            run.from = run.from.max(key);
        }
        self.runs.clone()
    }
}
