//! The protocol under random schedules: devices crash and restart, are suspected wrongly, fill up and are
//! moved; maps and messages come late, repeated and out of order; clients write, delete, read and ask again.
//!
//! After each schedule all is healed, and then nothing may be lost, done twice, or left different. A schedule
//! that fails is shortened while it still fails, and printed as one line: `SCHEDULE='…' cargo test -p
//! towtank-replication --test schedules` runs it again. `SOAK_CASES=1000000` runs so many.

mod model;
mod steps;
mod world;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use steps::Schedule;
use towtank_replication::Planted;
use world::World;

/// How many schedules a test runs unless told otherwise.
const CASES: u64 = 3_000;

/// How many a planted fault may hide in: a few hundred on average for the most hidden.
const PLANTED_CASES: u64 = 20_000;

/// What went wrong in a schedule, if anything did.
fn fault(schedule: &Schedule) -> Option<String> {
    let ran = catch_unwind(AssertUnwindSafe(|| World::new(schedule).run(&schedule.steps)));
    match ran {
        Ok(Ok(())) => None,
        Ok(Err(fault)) => Some(fault),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(text.unwrap_or_else(|| "a panic".to_owned()))
        }
    }
}

/// Leaves steps out, many at a time and then few, while it still fails.
fn shortened(mut schedule: Schedule) -> Schedule {
    let mut chunk = schedule.steps.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        while at < schedule.steps.len() {
            let mut shorter = schedule.clone();
            shorter.steps.drain(at..(at + chunk).min(shorter.steps.len()));
            if fault(&shorter).is_some() {
                schedule = shorter;
            } else {
                at += chunk;
            }
        }
        chunk /= 2;
    }
    schedule
}

thread_local! {
    /// Whether panics of this thread are expected, and not to be told.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

fn quietly<T>(run: impl FnOnce() -> T) -> T {
    HOOK.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                tell(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = run();
    IS_QUIET.set(false);
    result
}

/// The first of so many schedules that fails, shortened, with what went wrong.
fn first_fault(cases: std::ops::Range<u64>, planted: Option<Planted>) -> Option<(Schedule, String)> {
    quietly(|| {
        cases.map(|seed| Schedule::of_seed(seed, planted)).find(|schedule| fault(schedule).is_some()).map(
            |schedule| {
                let schedule = shortened(schedule);
                let fault = fault(&schedule).expect("it fails");
                (schedule, fault)
            },
        )
    })
}

#[test]
fn schedules_lose_nothing_and_end_equal() {
    if let Ok(line) = std::env::var("SCHEDULE") {
        let schedule = Schedule::parse(&line).expect("a line that a failing run has printed");
        let mut world = World::new(&schedule);
        world.tell = true;
        assert_eq!(world.run(&schedule.steps), Ok(()));
        return;
    }
    let from = std::env::var("SOAK_FROM").map_or(0, |from| from.parse().expect("a number"));
    let cases = std::env::var("SOAK_CASES").map_or(CASES, |cases| cases.parse().expect("a number"));
    if let Some((schedule, fault)) = first_fault(from..from + cases, None) {
        panic!("{fault}\nSCHEDULE='{schedule}' cargo test -p towtank-replication --test schedules");
    }
}

fn is_caught(planted: Planted) {
    let caught = first_fault(0..PLANTED_CASES, Some(planted));
    let (schedule, fault) =
        caught.unwrap_or_else(|| panic!("{planted:?} is not noticed in {PLANTED_CASES} schedules"));
    println!("{planted:?}: {fault}\n  SCHEDULE='{schedule}'");
}

#[test]
fn a_range_that_stays_skipped_is_caught() {
    is_caught(Planted::RangeStaysSkipped);
}

#[test]
fn a_tree_that_misses_log_recovery_is_caught() {
    is_caught(Planted::TreeMissesRecovery);
}

#[test]
fn a_cursor_that_goes_too_far_is_caught() {
    is_caught(Planted::CursorTooFar);
}

#[test]
fn an_answer_before_all_have_committed_is_caught() {
    is_caught(Planted::AnswersEarly);
}

#[test]
fn divergent_entries_that_stay_are_caught() {
    is_caught(Planted::KeepsDivergent);
}

#[test]
fn requests_that_are_done_twice_are_caught() {
    is_caught(Planted::ForgetsRequests);
}

#[test]
fn a_cursor_that_is_not_reset_is_caught() {
    is_caught(Planted::KeepsCursor);
}

/// The primary is cut off, another takes a write, and clients that have not heard of it ask the first: in
/// random schedules that comes together once in tens of thousands.
fn cut_off(seed: u64, planted: Option<Planted>) -> Schedule {
    let line =
        "w0 w1 w2 n150 r0 n60 u0 n40 w0 w1 w2 n60 r0 r1 r2 n20 r0 r1 r2 n20 r0 r1 r2 n20 w0 n20 r0 n100";
    Schedule::parse(&format!("{seed} - {line}")).map(|it| Schedule { planted, ..it }).expect("a schedule")
}

#[test]
fn reads_of_a_former_primary_are_caught() {
    let fault_of = |planted| quietly(|| (0..2_000).find_map(|seed| fault(&cut_off(seed, planted))));
    assert_eq!(fault_of(None), None);
    let fault = fault_of(Some(Planted::ReadsWithoutLease)).expect("a read that is out of date");
    assert!(fault.contains("came before"), "{fault}");
}

#[test]
fn earlier_intervals_that_are_forgotten_are_caught() {
    is_caught(Planted::ForgetsIntervals);
}

#[test]
fn objects_that_are_sent_and_do_not_differ_are_caught() {
    is_caught(Planted::SendsWhatIsEqual);
}

#[test]
fn temporary_objects_that_stay_are_caught() {
    is_caught(Planted::KeepsTemporary);
}

#[test]
fn a_slot_that_is_kept_is_caught() {
    is_caught(Planted::KeepsSlot);
}

#[test]
fn a_schedule_is_its_line() {
    for seed in 0..50 {
        let schedule = Schedule::of_seed(seed, Some(Planted::CursorTooFar));
        assert_eq!(Schedule::parse(&schedule.to_string()).as_ref(), Some(&schedule));
    }
}
