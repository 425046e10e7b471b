//! What a backfill looks at: the ranges that differ, batch by batch, or the objects that a sketch named.

use std::collections::{BTreeSet, VecDeque};

use towtank_merkle::{Position, Shape, SkipSet};

use crate::{Config, Cursor, Key, Planted, Run, Version};

/// What remains to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Look {
    /// Everything except the skipped ranges, and the batch that is being compared.
    Ranges { skipped: SkipSet, batch: Option<Batch> },
    /// These objects, and the number taken since the cursor was last moved.
    Objects { named: BTreeSet<Key>, taken: usize },
}

/// Objects of the primary and of the target in the same runs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Batch {
    pub(super) runs: Vec<Run>,
    pub(super) end: Cursor,
    /// In order; entries that are done are removed from the front.
    ours: VecDeque<(Key, Version)>,
    /// The target's objects, up to a cursor; none until they arrive.
    theirs: Option<(VecDeque<(Key, Version)>, Cursor)>,
    /// Objects written to since the batch began that the target did not receive.
    touched: BTreeSet<Key>,
}

/// The result of comparing one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Verdict {
    Same(Key),
    /// The target has another version or no object, or the object is to be removed.
    Differs(Key),
    /// The target's list ends here.
    UpTo(Cursor),
}

impl Look {
    /// Records a write above the backfill's cursor, which reached only the primary.
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

/// The runs from a cursor on that are not skipped.
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

    /// The end of the run that holds this position, found leaf by leaf, since ranges begin and end with
    /// leaves.
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
    pub(super) fn new(runs: Vec<Run>, end: Cursor, ours: Vec<(Key, Version)>) -> Batch {
        assert!(runs.windows(2).all(|pair| pair[0].to <= Cursor::At(pair[1].from)), "runs are out of order");
        assert!(ours.is_sorted_by(|left, right| left.0 < right.0), "objects are out of order");
        let last = ours.last();
        assert!(last.is_none_or(|(key, _)| end.covers(*key)), "{last:?} lies behind its batch");
        assert!(runs.last().is_some_and(|run| run.to <= end), "a batch ends before its runs do");
        Batch { runs, end, ours: ours.into(), theirs: None, touched: BTreeSet::new() }
    }

    /// Whether the target's answer is still missing.
    pub(super) fn is_open(&self) -> bool {
        self.theirs.is_none()
    }

    /// Takes the target's objects in the runs, up to a cursor.
    pub(super) fn take_theirs(&mut self, objects: &[(Key, Version)], end: Cursor) {
        // After the last run nothing is looked at up to the end of the batch.
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

    /// The next object in the order of keys; none while the target's list is missing. Returns the same until
    /// `take`.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let (theirs, end) = self.theirs.as_ref()?;
        let (ours, theirs) = (self.ours.front(), theirs.front());
        let touched = self.touched.first().copied();
        let firsts = [ours.map(|(key, _)| *key), theirs.map(|(key, _)| *key), touched];
        let first = firsts.into_iter().flatten().min().filter(|key| end.covers(*key));
        Some(match first {
            None => Verdict::UpTo(*end),
            // If one side lacks the object, the first object of that side is a later one.
            Some(key) if touched == Some(key) || ours != theirs => Verdict::Differs(key),
            Some(key) => Verdict::Same(key),
        })
    }

    /// Marks the next object as done.
    pub(super) fn take(&mut self, key: Key) {
        let take = |objects: &mut VecDeque<(Key, Version)>| {
            objects.pop_front_if(|(first, _)| *first == key);
        };
        take(&mut self.ours);
        self.touched.remove(&key);
        if let Some((theirs, _)) = &mut self.theirs {
            take(theirs);
        }
    }

    /// The runs after a cursor, for which the target's objects are requested next.
    pub(super) fn go_on_from(&mut self, from: Cursor) -> Vec<Run> {
        self.theirs = None;
        self.runs.retain(|run| run.to > from);
        if let (Some(run), Cursor::At(key)) = (self.runs.first_mut(), from) {
            run.from = run.from.max(key);
        }
        self.runs.clone()
    }
}

#[cfg(test)]
mod tests {
    use towtank_merkle::{PositionRange, Subspace};

    use super::*;

    fn key(position: u32, id: u64) -> Key {
        Key { position, id }
    }

    fn version(counter: u64) -> Version {
        Version { epoch: 1, counter }
    }

    fn range(first: u32, last: u32) -> PositionRange {
        PositionRange { first: Position(first), last: Position(last) }
    }

    #[test]
    fn runs_are_what_is_not_skipped() {
        let space = Subspace::of_prefix(1 << 31, 1).expect("the upper half");
        let shape = Shape::new(space, 4).expect("few leaves");
        let leaf = |at: usize| shape.positions_of(at, at);
        // Each bit says whether one of the 16 leaves is skipped.
        for skips in (0..1 << 16).step_by(37) {
            let mut skipped = SkipSet::new();
            (0..16).filter(|at| skips >> at & 1 == 1).for_each(|at| skipped.insert(leaf(at)));
            for from in [Cursor::START, Cursor::At(key(leaf(5).first.0 + 9, 3)), Cursor::End] {
                let runs: Vec<Run> = Runs::new(shape, &skipped, from).collect();
                assert!(runs.windows(2).all(|pair| pair[0].to < Cursor::At(pair[1].from)), "{runs:?}");
                for at in 0..16 {
                    let inner = key(leaf(at).last.0, 7);
                    let in_run = runs.iter().any(|run| run.from <= inner && run.to.covers(inner));
                    let want = skips >> at & 1 == 0 && !from.covers(inner);
                    assert_eq!(in_run, want, "leaf {at} of {skips:b} from {from:?}");
                }
            }
        }
    }

    fn batch(ours: &[(Key, Version)]) -> Batch {
        let runs = vec![Run { from: key(0, 0), to: Cursor::At(key(50, 0)) }];
        Batch::new(runs, Cursor::At(key(50, 0)), ours.to_vec())
    }

    #[test]
    fn a_batch_tells_what_differs_in_order() {
        let mut batch = batch(&[(key(1, 0), version(1)), (key(2, 0), version(2)), (key(4, 0), version(4))]);
        assert_eq!(batch.verdict(), None, "the target has not answered");
        batch.touched.insert(key(4, 0));
        let theirs = [(key(1, 0), version(1)), (key(3, 0), version(3)), (key(4, 0), version(4))];
        batch.take_theirs(&theirs, Cursor::At(key(50, 0)));
        let mut verdicts = Vec::new();
        while let Some(verdict) = batch.verdict() {
            verdicts.push(verdict);
            match verdict {
                Verdict::Same(key) | Verdict::Differs(key) => batch.take(key),
                Verdict::UpTo(_) => break,
            }
        }
        let differs = |position| Verdict::Differs(key(position, 0));
        let want = [Verdict::Same(key(1, 0)), differs(2), differs(3), differs(4), Verdict::UpTo(batch.end)];
        assert_eq!(verdicts, want, "2 is ours, 3 is theirs, 4 was written to meanwhile");
    }

    #[test]
    fn a_target_with_more_objects_is_asked_again() {
        let mut batch = batch(&[(key(9, 0), version(1))]);
        batch.take_theirs(&[(key(3, 0), version(1))], Cursor::At(key(3, 1)));
        batch.take(key(3, 0));
        assert_eq!(
            batch.verdict(),
            Some(Verdict::UpTo(Cursor::At(key(3, 1)))),
            "9 is behind what they listed"
        );
        let rest = batch.go_on_from(Cursor::At(key(3, 1)));
        assert_eq!(rest, [Run { from: key(3, 1), to: Cursor::At(key(50, 0)) }]);
        assert_eq!(batch.verdict(), None);
    }

    #[test]
    fn a_write_opens_the_leaf_that_it_touches() {
        let mut config = Config::new(3, Subspace::WHOLE, 4).expect("few leaves");
        let mut look = Look::Ranges { skipped: SkipSet::all_but(PositionRange::ALL, &[]), batch: None };
        look.touch(&config, key(0x1234_5678, 1));
        let Look::Ranges { skipped, .. } = &look else { panic!("it looks at ranges") };
        let kept: Vec<PositionRange> = skipped.iter().collect();
        assert_eq!(kept, [range(0, 0x0fff_ffff), range(0x2000_0000, u32::MAX)]);
        config.planted = Some(Planted::RangeStaysSkipped);
        let mut look = Look::Objects { named: BTreeSet::new(), taken: 0 };
        look.touch(&config, key(1, 1));
        assert!(
            matches!(look, Look::Objects { named, .. } if named.is_empty()),
            "the planted fault forgets it"
        );
    }

    #[test]
    #[should_panic(expected = "answered twice")]
    fn a_second_answer_is_noticed() {
        let mut batch = batch(&[]);
        batch.take_theirs(&[], Cursor::At(key(50, 0)));
        batch.take_theirs(&[], Cursor::At(key(50, 0)));
    }
}
