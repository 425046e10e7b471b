//! A crew of threads that take tasks from one list, in order, until it is empty or they are stopped.
//!
//! Tasks start in list order, and a task that has started always ends. So if one fails, every earlier one
//! also ends, and the first failure in list order is the same for any number of threads: an error message
//! must not depend on `--jobs`.
//!
//! Left out on purpose: results in order of completion, and any knowledge of what a task is.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::Stop;

/// Stack size of every thread that runs tasks: that of a main thread on Linux, so that a task that works
/// alone also works in a crew.
const STACK_BYTES: usize = 8 << 20;

/// How one task ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End<T> {
    /// Not started: the crew was stopped, or another task failed before.
    NotStarted,
    /// It returned a value.
    Back(T),
    /// It panicked, with this message.
    Panicked(String),
}

/// What the crew does after a task has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Start the next task.
    GoOn,
    /// Let started tasks end, and start no more.
    TakeNoMore,
}

/// Runs `task(0)` to `task(count - 1)` on `jobs` threads including this one, and returns how each ended.
///
/// A panic counts as [`Then::TakeNoMore`].
pub(crate) fn run<T: Send>(
    count: usize,
    jobs: NonZeroUsize,
    stop: &Stop,
    task: &(dyn Fn(usize) -> (T, Then) + Sync),
) -> Vec<End<T>> {
    let shared = Shared {
        next: AtomicUsize::new(0),
        ends: Mutex::new((0..count).map(|_| End::NotStarted).collect()),
        closed: Stop::new(),
    };
    let work = || shared.work(count, stop, task);
    thread::scope(|scope| {
        for number in 1..jobs.get().min(count) {
            let builder = thread::Builder::new().name(format!("job-{number}")).stack_size(STACK_BYTES);
            // The system may refuse more threads. The others then do the work; only time is lost.
            if builder.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    shared.ends.into_inner().expect("no code that can panic holds this lock")
}

struct Shared<T> {
    next: AtomicUsize,
    ends: Mutex<Vec<End<T>>>,
    closed: Stop,
}

impl<T: Send> Shared<T> {
    fn work(&self, count: usize, stop: &Stop, task: &(dyn Fn(usize) -> (T, Then) + Sync)) {
        while !stop.raised() && !self.closed.raised() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            // Partial state of a panicking task is dropped with it: tasks share only `Sync` state, which the
            // crew does not read.
            let end = match catch_unwind(AssertUnwindSafe(|| task(index))) {
                Ok((back, Then::GoOn)) => End::Back(back),
                Ok((back, Then::TakeNoMore)) => {
                    self.closed.raise();
                    End::Back(back)
                }
                Err(payload) => {
                    self.closed.raise();
                    End::Panicked(panic_message(payload.as_ref()))
                }
            };
            self.ends.lock().expect("no code that can panic holds this lock")[index] = end;
        }
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn every_task_runs_once_whatever_the_number_of_threads() {
        let want: Vec<_> = (0..40).map(|index| End::Back(index * index)).collect();
        for threads in [1, 2, 3, 8, 100] {
            let ends = run(40, jobs(threads), &Stop::new(), &|index| (index * index, Then::GoOn));
            assert_eq!(ends, want, "{threads} threads");
        }
        assert!(run(0, jobs(3), &Stop::new(), &|index| (index, Then::GoOn)).is_empty());
    }

    #[test]
    fn the_first_failure_by_order_is_always_found() {
        for threads in [1, 2, 5] {
            for _ in 0..50 {
                let task = |index: usize| {
                    // The earlier of the two failing tasks takes longer.
                    for _ in 0..(if index == 3 { 100 } else { 0 }) {
                        thread::yield_now();
                    }
                    (index, if index == 3 || index == 4 { Then::TakeNoMore } else { Then::GoOn })
                };
                let ends = run(30, jobs(threads), &Stop::new(), &task);
                assert!(ends[..=3].iter().enumerate().all(|(index, end)| *end == End::Back(index)));
                assert_eq!(ends[29], End::NotStarted);
            }
        }
    }

    #[test]
    fn a_panic_is_kept_with_its_words_and_ends_the_taking() {
        for threads in [1, 3] {
            let ends = run(100, jobs(threads), &Stop::new(), &|index| {
                assert!(index != 2, "task {index} broke");
                (index, Then::GoOn)
            });
            assert_eq!(ends[..2], [End::Back(0), End::Back(1)]);
            assert_eq!(ends[2], End::Panicked("task 2 broke".to_owned()));
        }
        let ends = run(3, jobs(1), &Stop::new(), &|_| -> ((), Then) { std::panic::panic_any(7) });
        assert_eq!(
            ends,
            [End::Panicked("a panic without a message".to_owned()), End::NotStarted, End::NotStarted]
        );
    }

    #[test]
    fn a_raised_stop_ends_the_taking() {
        let stop = Stop::new();
        let ends = run(10, jobs(1), &stop, &|index| {
            if index == 4 {
                stop.raise();
            }
            (index, Then::GoOn)
        });
        assert_eq!(ends[4], End::Back(4));
        assert!(ends[5..].iter().all(|end| *end == End::NotStarted));
        assert!(
            run(3, jobs(2), &stop, &|index| (index, Then::GoOn)).iter().all(|end| *end == End::NotStarted)
        );
    }
}
