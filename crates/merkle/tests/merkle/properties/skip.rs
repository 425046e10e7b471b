//! Compares skip sets with an array of booleans over a small range of the positions.

use proptest::prelude::*;
use towtank_merkle::{Position, PositionRange, Shape, SkipSet, Subspace};

const POSITIONS: u32 = 300;

/// Whether the array lies at the low or the high end of all positions, where sums overflow.
#[derive(Clone, Copy, Debug)]
enum End {
    Low,
    High,
}

impl End {
    fn position(self, at: u32) -> Position {
        match self {
            End::Low => Position(at),
            End::High => Position(u32::MAX - (POSITIONS - 1) + at),
        }
    }

    fn range(self, first: u32, last: u32) -> PositionRange {
        PositionRange { first: self.position(first), last: self.position(last) }
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert(u32, u32),
    Remove(u32, u32),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let range =
        (0..POSITIONS, 0..40_u32).prop_map(|(first, more)| (first, (first + more).min(POSITIONS - 1)));
    let change = (any::<bool>(), range).prop_map(|(inserts, (first, last))| {
        if inserts { Change::Insert(first, last) } else { Change::Remove(first, last) }
    });
    prop::collection::vec(change, 0..60)
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Low), Just(End::High)]
}

fn apply(changes: &[Change], end: End) -> (SkipSet, [bool; POSITIONS as usize]) {
    let (mut set, mut array) = (SkipSet::new(), [false; POSITIONS as usize]);
    for change in changes {
        match *change {
            Change::Insert(first, last) => {
                set.insert(end.range(first, last));
                array[first as usize..=last as usize].fill(true);
            }
            Change::Remove(first, last) => {
                set.remove(end.range(first, last));
                array[first as usize..=last as usize].fill(false);
            }
        }
    }
    (set, array)
}

/// The next position to look at, found by stepping through the array.
fn next_by_steps(array: &[bool], at: u32) -> Option<u32> {
    (at..POSITIONS).find(|at| !array[*at as usize])
}

/// Whether a rule for the next position agrees with stepping; outside the array nothing is skipped.
fn next_is_right(
    set: &SkipSet,
    array: &[bool],
    end: End,
    next: impl Fn(&SkipSet, Position) -> Option<Position>,
) -> bool {
    (0..POSITIONS).all(|at| {
        let want = match (next_by_steps(array, at), end) {
            (Some(at), _) => Some(end.position(at)),
            (None, End::Low) => Some(Position(POSITIONS)),
            (None, End::High) => None,
        };
        next(set, end.position(at)) == want
    })
}

proptest! {
    #[test]
    fn it_is_an_array_of_booleans(changes in changes(), end in end()) {
        let (set, array) = apply(&changes, end);
        let mut cursor = set.cursor();
        for at in 0..POSITIONS {
            prop_assert_eq!(set.contains(end.position(at)), array[at as usize], "at {}", at);
            prop_assert_eq!(cursor.skips(end.position(at)), array[at as usize], "the cursor, at {}", at);
        }
        prop_assert!(next_is_right(&set, &array, end, SkipSet::next_to_look_at));
        let runs = array.chunk_by(|left, right| left == right).filter(|run| run[0]).count();
        prop_assert_eq!(set.len(), runs, "ranges that touch are one");
        let ranges: Vec<PositionRange> = set.iter().collect();
        prop_assert!(ranges.is_sorted());
        prop_assert_eq!(set.is_empty(), runs == 0);
    }

    #[test]
    fn a_cursor_may_be_asked_in_any_order(changes in changes(), asked in prop::collection::vec(0..POSITIONS, 50)) {
        let (set, array) = apply(&changes, End::Low);
        let mut cursor = set.cursor();
        for at in asked {
            prop_assert_eq!(cursor.skips(Position(at)), array[at as usize]);
        }
    }

    #[test]
    fn all_but_is_the_complement(changes in changes(), end in end()) {
        let (differing, array) = apply(&changes, end);
        let ranges: Vec<PositionRange> = differing.iter().collect();
        let within = end.range(0, POSITIONS - 1);
        let skipped = SkipSet::all_but(within, &ranges);
        for at in 0..POSITIONS {
            prop_assert_eq!(skipped.contains(end.position(at)), !array[at as usize]);
        }
        let outside = skipped.iter().any(|range| range.first < within.first || range.last > within.last);
        prop_assert!(!outside);
    }

    #[test]
    fn what_two_have_in_common(left in changes(), right in changes(), end in end()) {
        let ((ours, our_array), (theirs, their_array)) = (apply(&left, end), apply(&right, end));
        let common = ours.common_with(&theirs);
        for at in 0..POSITIONS {
            let both = our_array[at as usize] && their_array[at as usize];
            prop_assert_eq!(common.contains(end.position(at)), both);
        }
    }
}

#[test]
fn a_planted_cursor_that_is_off_by_one_is_noticed() {
    let (set, array) = apply(&[Change::Insert(10, 19)], End::Low);
    assert!(next_is_right(&set, &array, End::Low, SkipSet::next_to_look_at));
    let planted = |set: &SkipSet, at: Position| set.range_of(at).map_or(Some(at), |range| Some(range.last));
    assert!(!next_is_right(&set, &array, End::Low, planted));
}

#[test]
fn a_planted_removal_of_the_whole_range_is_noticed() {
    let (set, _) = apply(&[Change::Insert(0, 99), Change::Remove(40, 49)], End::Low);
    let mut planted = SkipSet::new();
    assert_eq!(set.iter().map(|range| range.positions()).sum::<u64>(), 90);
    planted.insert(End::Low.range(0, 99));
    let whole = planted.range_of(Position(40)).expect("it is in there");
    planted.remove(whole);
    assert_ne!(planted, set, "what lies around the opened leaf must stay");
}

#[test]
fn a_write_opens_its_leaf_alone() {
    let shape = Shape::new(Subspace::WHOLE, 8).expect("few leaves");
    let mut set = SkipSet::all_but(PositionRange::ALL, &[]);
    assert_eq!(set.next_to_look_at(Position(0)), None);
    set.open_leaf(shape, Position(0x4512_3456));
    let opened = shape.positions_of(0x45, 0x45);
    assert_eq!(set.iter().map(|range| range.positions()).sum::<u64>(), (1 << 32) - (1 << 24));
    assert_eq!((set.len(), set.next_to_look_at(Position(7))), (2, Some(opened.first)));
    set.open_leaf(shape, Position(0x4500_0000));
    set.open_leaf(shape, Position(0x4400_0000));
    assert_eq!(set.next_to_look_at(Position(7)), Some(Position(0x4400_0000)));
    let mut nothing = SkipSet::new();
    nothing.open_leaf(shape, Position(5));
    assert_eq!((nothing.len(), nothing.next_to_look_at(Position(5))), (0, Some(Position(5))));
}
