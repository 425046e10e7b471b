//! Verdicts on invented numbers.

use towtank_metrics::{Contrast, Pairing, ratio_95};

use super::*;

fn check(tolerance: Tolerance, published: Reading, ours: Reading, want: Verdict) {
    assert_eq!(tolerance.verdict(published, ours), want, "{tolerance:?} {published:?} {ours:?}");
}

fn draft(ours: Reading) -> ClaimDraft {
    ClaimDraft {
        name: "mean_wait".to_owned(),
        source: "closed form".to_owned(),
        statement: "the mean wait is 1 s".to_owned(),
        unit: "s".to_owned(),
        published: Reading::of(1.0),
        ours,
        tolerance: Tolerance::Relative { fraction: 0.1 },
        fitted: false,
        note: None,
    }
}

use Verdict::{CannotTell, Holds, Misses};

#[test]
fn tolerances_judge_as_they_read() {
    let of = Reading::of;
    check(Tolerance::Relative { fraction: 0.05 }, of(100.0), of(105.0), Holds);
    check(Tolerance::Relative { fraction: 0.05 }, of(-100.0), of(-105.5), Misses);
    check(Tolerance::Absolute { amount: 0.5 }, of(0.0), of(-0.5), Holds);
    check(Tolerance::Range { low: 1.0, high: 2.0 }, of(9.0), of(2.0), Holds);
    check(Tolerance::Range { low: 1.0, high: 2.0 }, of(9.0), of(2.1), Misses);
    check(Tolerance::AtLeast, of(3.0), of(3.0), Holds);
    check(Tolerance::AtMost, of(3.0), of(3.1), Misses);
    check(Tolerance::Interval, of(3.0), Reading::with_range(3.5, 2.9, 4.1), Holds);
    check(Tolerance::Interval, of(3.0), Reading::with_range(3.5, 3.1, 4.1), Misses);
    check(Tolerance::Above, of(1.0), Reading::with_range(1.5, 1.1, 1.9), Holds);
    check(Tolerance::Above, of(1.0), Reading::with_range(1.0, 1.0, 1.0), Misses);
}

#[test]
fn a_range_on_both_sides_of_the_tolerance_decides_nothing() {
    let with = Reading::with_range;
    let near = Tolerance::Relative { fraction: 0.05 };
    check(near, Reading::of(100.0), with(102.0, 99.0, 104.9), Holds);
    check(near, Reading::of(100.0), with(104.0, 99.0, 109.0), CannotTell);
    check(near, Reading::of(100.0), with(106.0, 104.0, 108.0), CannotTell);
    check(near, Reading::of(100.0), with(107.0, 106.0, 108.0), Misses);
    // From below the tolerance to above it: the value lies inside, and still the verdict is open.
    check(near, Reading::of(100.0), with(100.0, 80.0, 120.0), CannotTell);
    check(Tolerance::AtMost, Reading::of(9.0), with(8.0, 7.0, 9.5), CannotTell);
    check(Tolerance::AtLeast, Reading::of(9.0), with(9.5, 8.5, 10.5), CannotTell);
    check(Tolerance::Range { low: 3.0, high: 9.0 }, Reading::default(), with(9.0, 8.0, 10.0), CannotTell);
}

#[test]
fn a_missing_number_never_holds_and_never_misses() {
    let all = [
        Tolerance::Relative { fraction: 0.5 },
        Tolerance::Absolute { amount: 0.5 },
        Tolerance::Range { low: 0.0, high: 1.0 },
        Tolerance::Interval,
        Tolerance::AtLeast,
        Tolerance::AtMost,
        Tolerance::Above,
    ];
    for tolerance in all {
        check(tolerance, Reading::of(1.0), Reading::default(), CannotTell);
        check(tolerance, Reading::of(1.0), Reading::of(f64::NAN), CannotTell);
        if !matches!(tolerance, Tolerance::Range { .. }) {
            check(tolerance, Reading::default(), Reading::with_range(1.0, 1.0, 1.0), CannotTell);
        }
    }
    check(Tolerance::Relative { fraction: f64::NAN }, Reading::of(1.0), Reading::of(1.0), CannotTell);
    check(Tolerance::Interval, Reading::of(3.0), Reading::of(3.0), CannotTell);
    check(Tolerance::Above, Reading::of(1.0), Reading::of(3.0), CannotTell);
}

#[test]
fn a_fitted_value_never_counts_as_holding_and_says_what_it_would_be() {
    let fitted = |ours| {
        let claim = ClaimDraft { fitted: true, ..draft(ours) }.judge();
        (claim.verdict, claim.would_be)
    };
    assert_eq!(fitted(Reading::of(1.0)), (Verdict::Fitted, Some(Holds)));
    assert_eq!(fitted(Reading::of(0.8)), (Verdict::Fitted, Some(Misses)));
    assert_eq!(fitted(Reading::with_range(1.1, 0.9, 1.3)), (Verdict::Fitted, Some(CannotTell)));
    let plain = draft(Reading::of(1.0)).judge();
    assert_eq!((plain.verdict, plain.would_be, plain.loosened.as_deref()), (Holds, None, None));
    assert_eq!(plain.loosened("the source gives none").loosened.as_deref(), Some("the source gives none"));
}

#[test]
fn two_samples_that_overlap_cannot_be_distinguished() {
    let judged = |left: &[f64], right: &[f64]| {
        let ratio = ratio_95(left, right, Pairing::Independent);
        ClaimDraft::greater("left_faster", "a paper", "the left is faster", ratio).judge().verdict
    };
    assert_eq!(judged(&[5.0, 5.1, 4.9], &[4.0, 4.1, 3.9]), Holds);
    assert_eq!(judged(&[4.0, 4.1, 3.9], &[5.0, 5.1, 4.9]), Misses);
    assert_eq!(judged(&[5.0, 3.0, 4.9], &[4.0, 4.1, 3.9]), CannotTell);
    assert_eq!(judged(&[5.0], &[4.0]), CannotTell, "one seed each");
    assert_eq!(judged(&[], &[4.0, 4.1]), CannotTell, "nothing on one side");
    let none = Contrast { value: 2.0, range: None };
    assert_eq!(Reading::from(none), Reading::of(2.0));
}
