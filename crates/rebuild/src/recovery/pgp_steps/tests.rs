//! When the manager makes its steps: as measured, as the rules say, and in generated courses.

use proptest::prelude::*;

use super::*;

fn at(seconds: u64) -> SimTime {
    SimTime::ZERO.saturating_add(SimSpan::from_secs(seconds))
}

/// One pool of which `by` groups move, with statistics and ticks of so many seconds.
fn steps(groups: u32, by: u32, [tick, statistics]: [u64; 2]) -> Steps {
    Steps {
        pools: vec![Stepped { groups, by }],
        maps: by,
        from: SimTime::ZERO,
        lag: SimSpan::ZERO,
        earliest: SimSpan::ZERO,
        splits: false,
        copies: 1_000,
        manager: Manager {
            tick: SimSpan::from_secs(tick),
            statistics: SimSpan::from_secs(statistics),
            misplaced_most: 0.05,
            inactive: SimSpan::from_secs(3),
        },
    }
}

fn ahead(known: &[(u64, u64, bool)]) -> Ahead {
    let of =
        |&(seconds, misplaced, degraded): &(u64, u64, bool)| Known { at: at(seconds), misplaced, degraded };
    let known: Vec<Known> = known.iter().map(of).collect();
    Ahead { begin: known[0], copies: [0; 2], bytes: 0, lacks: false, degraded: false, known, until: None }
}

/// When the steps are made, in seconds, while all that is known stays as it is.
fn made(steps: &Steps, ahead: &Ahead, fixed: Option<u64>) -> Vec<u64> {
    let mut course = Course::of(steps);
    while course.is_left() && course.next(ahead, fixed.map(at)) != Next::Later {}
    course.made.iter().map(|(made, _)| made.as_ns() / 1_000_000_000).collect()
}

/// A real Ceph 16.2.15 with ticks and statistics of one second made the steps of 64 groups in pairs: 0, 2, 3,
/// 7, 8, 12, 13, 17, 18 s after the first one (the first pair was a second apart more).
#[test]
fn steps_come_in_pairs_as_they_were_measured() {
    let one = steps(64, 6, [1, 1]);
    let of = |steps: &Steps| made(steps, &ahead(&[(0, 0, false)]), None);
    assert_eq!(of(&one), [1, 2, 6, 7, 11, 12]);
    let split = Steps { splits: true, ..one.clone() };
    assert_eq!(of(&split)[..2], [4, 5], "groups that a split makes are inactive first");
    // The planted error: statistics that are known at once leave no pair.
    let quick = Steps { manager: Manager { statistics: SimSpan::from_ns(2), ..one.manager }, ..one };
    assert_ne!(of(&quick)[..4], [1, 2, 6, 7]);
}

/// At rest 2.5 % of the groups change at once, and one at least; less where there is less room.
#[test]
fn a_step_has_as_many_groups_as_there_is_room() {
    let groups = |misplaced: u64| {
        let large = steps(1_000, 1_000, [2, 5]);
        let mut course = Course::of(&large);
        let next = course.next(&ahead(&[(0, misplaced, false)]), Some(at(3)));
        (next != Next::Later).then(|| course.done[0])
    };
    let all = [0, 25, 40, 49, 50, 51].map(groups);
    // 0.05 - 0.04 is a little more than 0.01, and 0.05 - 0.049 a little more than 0.001.
    assert_eq!(all, [Some(25), Some(25), Some(10), Some(1), Some(1), None]);
    assert_eq!(made(&steps(20, 3, [2, 5]), &ahead(&[(0, 0, false)]), Some(5)), [2, 4], "one group each");
}

/// Nothing is changed while an object lacks a copy, or before the last change of another kind.
#[test]
fn steps_wait_for_what_is_degraded() {
    let one = steps(64, 1, [2, 5]);
    assert_eq!(made(&one, &ahead(&[(0, 0, true), (9, 0, true), (13, 0, false)]), None), [16]);
    assert_eq!(made(&one, &ahead(&[(0, 0, true)]), None), Vec::<u64>::new(), "never");
    assert_eq!(made(&one, &ahead(&[(0, 51, false), (13, 50, false)]), None), [16]);
    let late = Steps { earliest: SimSpan::from_secs(600), ..one.clone() };
    assert_eq!(made(&late, &ahead(&[(0, 0, false)]), None), [600]);
    assert_eq!(
        made(&one, &ahead(&[(0, 0, false)]), Some(2)),
        Vec::<u64>::new(),
        "what else happens comes first"
    );
    assert_eq!(made(&steps(64, 9, [2, 5]).at_once(), &ahead(&[(0, 900, false)]), None), [2]);
}

/// What is not known yet decides nothing, and what was decided before that stays so.
#[test]
fn the_next_step_waits_until_enough_is_known() {
    let one = steps(64, 64, [2, 5]);
    let mut course = Course::of(&one);
    let until = |end: u64| Ahead { until: Some(at(end)), ..ahead(&[(0, 51, false), (13, 0, false)]) };
    assert_eq!(course.next(&until(11), None), Next::Unknown);
    let quiet = Ahead { until: Some(at(11)), ..ahead(&[(0, 51, false)]) };
    assert_eq!(course.next(&quiet, None), Next::Unknown, "nothing changed so far, and something may");
    assert_eq!(course.next(&until(15), None), Next::Unknown, "of 15 s more is known than that");
    assert_eq!(course.next(&until(16), None), Next::Moves(at(16)));
    assert_eq!(course.next(&until(16), Some(at(18))), Next::Later);
}

/// What was known before a phase counts until the statistics have what is known in it.
#[test]
fn the_end_of_an_earlier_phase_is_remembered() {
    let one = steps(64, 64, [2, 5]);
    let mut course = Course::of(&one);
    course.pass(ahead(&[(0, 51, false), (30, 0, false)]), Some(at(20)));
    assert_eq!(course.next(&ahead(&[(20, 51, false), (22, 40, false)]), None), Next::Moves(at(26)));
    let mut forgetful = Course::of(&one);
    assert_eq!(forgetful.next(&ahead(&[(20, 51, false), (22, 40, false)]), None), Next::Moves(at(2)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever is known: steps go on to the target in order and by no more than their share, none is made
    /// while too much is misplaced or something is degraded, and a thinned course makes the same ones.
    #[test]
    fn every_course_keeps_to_the_rules(
        groups in 1u32..400,
        share in 1u32..=100,
        periods in [1u64..4, 1u64..8],
        known in prop::collection::vec((0u64..90, 0u64..90, prop::bool::weighted(0.2)), 1..12),
    ) {
        let mut known = known;
        known.sort_unstable();
        known.push((100, 0, false));
        let by = (groups * share).div_ceil(100);
        let steps = Steps { maps: by.min(64), ..steps(groups, by, periods) };
        let ahead = ahead(&known);
        let mut course = Course::of(&steps);
        let (mut last, mut done) = (SimTime::ZERO, 0);
        while course.is_left() {
            let Next::Moves(moves) = course.next(&ahead, None) else {
                panic!("all is well in the end")
            };
            prop_assert!(moves > last && course.done[0] > done);
            prop_assert!(course.maps_at(moves) > course.maps_at(last));
            let seconds = moves.as_ns() / 1_000_000_000;
            let seen = (seconds - 1) / periods[1] * periods[1];
            let then = known.iter().rfind(|one| one.0 <= seen);
            prop_assert!(then.is_none_or(|one| one.1 <= 50 && !one.2), "{then:?} was known at {seen}");
            (last, done) = (moves, course.done[0]);
        }
        prop_assert_eq!((course.done[0], course.maps_at(last)), (by, steps.maps as usize));
        let thin = steps.part(|span| SimSpan::from_ns(span.as_ns() / 1_000));
        let part = |one: &Known| Known { at: SimTime::from_ns(one.at.as_ns() / 1_000), ..*one };
        let thin_ahead = Ahead { known: ahead.known.iter().map(part).collect(), ..ahead };
        let mut other = Course::of(&thin);
        while other.is_left() && other.next(&thin_ahead, None) != Next::Later {}
        let times = |course: &Course<'_>, by: u64| -> Vec<(u64, u32)> {
            course.made.iter().map(|(made, maps)| (made.as_ns() * by / 1_000_000_000, *maps)).collect()
        };
        prop_assert_eq!(times(&course, 1), times(&other, 1_000));
    }
}
