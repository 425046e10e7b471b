//! The runs of a device that its directory knows, by which an older copy of the directory is noticed.
//!
//! Each run of a daemon has a number that is drawn. It is noted in the directory before the monitor hears of
//! it, and the monitor's map has the number of the last run that it let in. So a directory that does not know
//! that number is a copy from before that run. A count of starts would not do: a copy that is started while
//! the monitor is away reaches any count.
//!
//! - A run that ends before the monitor has heard of it leaves one number more, which the map does not have.
//! - A run that was let in and did not hear so is known to its directory, and the next one is let in.
//! - A run that does not reach the monitor at all notes nothing, however often it is tried.
//! - Of two copies of a directory the one that is let in first gets a number that the other does not know.
//!
//! A copy that was taken during the last run knows its number, and is not noticed.

use serde::{Deserialize, Serialize};

/// How many are kept. More are needed only if so many in a row end between the first word to the monitor and
/// its answer; then the directory is refused, as an older copy.
const KEPT: usize = 64;

/// The numbers of the last runs, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs(Vec<u64>);

impl Runs {
    /// Notes a run that begins.
    pub fn begin(&mut self, run: u64) {
        self.0.push(run);
        let old = self.0.len().saturating_sub(KEPT);
        self.0.drain(..old);
    }

    /// Whether a run took place in this directory.
    #[must_use]
    pub fn has(&self, run: u64) -> bool {
        self.0.contains(&run)
    }

    /// The newest of them; none if the directory has never reached the monitor.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.0.last().copied()
    }

    /// Whether a directory that knows these runs is no older than the last run that the monitor let in.
    #[must_use]
    pub(crate) fn reach(&self, last_run: Option<u64>) -> bool {
        last_run.is_none_or(|run| self.has(run))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A copy of a directory, and the runs of which it has what they wrote.
    #[derive(Clone, Default)]
    struct Copy {
        runs: Runs,
        starts: u64,
        holds: BTreeSet<u64>,
    }

    /// What the monitor knows of the last run that it let in: its number, and how many starts it had.
    type Last = (Option<u64>, u64);

    type Rule = fn(&Copy, Last) -> bool;

    fn by_runs(copy: &Copy, (run, _): Last) -> bool {
        copy.runs.reach(run)
    }

    /// The former rule: each directory counts its starts.
    fn by_count(copy: &Copy, (_, starts): Last) -> bool {
        copy.starts + 1 > starts
    }

    /// Starts copies of a directory, and makes more of them; tells the first that is let in and lacks what an
    /// earlier run wrote, or that is not let in and lacks nothing.
    fn course(steps: &[(u8, u8)], rule: Rule) -> Result<(), String> {
        let (mut copies, mut last, mut holds) = (vec![Copy::default()], (None, 0), BTreeSet::new());
        let mut newest = 0;
        for (at, (what, which)) in steps.iter().enumerate() {
            let (run, which) = (at as u64 + 1, usize::from(*which) % copies.len());
            let copy = &mut copies[which];
            if *what % 5 == 0 {
                let copy = copy.clone();
                copies.push(copy);
                continue;
            }
            let is_let_in = rule(copy, last);
            copy.starts += 1;
            // The monitor is not reached.
            if *what % 5 == 1 {
                continue;
            }
            copy.runs.begin(run);
            // It ends before the monitor hears of it.
            if *what % 5 == 2 {
                continue;
            }
            if is_let_in && !copy.holds.is_superset(&holds) {
                return Err(format!("step {at}: copy {which} is let in, and is older"));
            }
            if !is_let_in {
                if which == newest {
                    return Err(format!("step {at}: the newest copy is not let in"));
                }
                continue;
            }
            (last, newest) = ((Some(run), copy.starts), which);
            // If the answer does not arrive, it writes nothing.
            if *what % 5 == 4 {
                copy.holds.insert(run);
                holds.insert(run);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn only_the_newest_copy_is_let_in(steps in proptest::collection::vec(any::<(u8, u8)>(), 1..60)) {
            prop_assert_eq!(course(&steps, by_runs), Ok(()));
        }
    }

    /// An older copy that was started while the monitor was away had as many starts as the map.
    #[test]
    fn a_count_of_starts_lets_an_older_copy_in() {
        // The original runs and is copied; it runs again, and the copy is started twice: once for nothing.
        let steps = [(4, 0), (0, 0), (4, 0), (1, 1), (1, 1), (4, 1)];
        assert_eq!(course(&steps, by_count), Err("step 5: copy 1 is let in, and is older".to_owned()));
        assert_eq!(course(&steps, by_runs), Ok(()));
        let forgets: Rule = |copy, (run, _)| run.is_none() || run == copy.runs.last();
        let unheard = [(4, 0), (2, 0), (4, 0)];
        assert_eq!(course(&unheard, forgets), Err("step 2: the newest copy is not let in".to_owned()));
        assert_eq!(course(&unheard, by_runs), Ok(()));
    }

    #[test]
    fn the_oldest_runs_are_forgotten() {
        let mut runs = Runs::default();
        assert_eq!((runs.last(), runs.reach(None), runs.reach(Some(1))), (None, true, false));
        (1..=KEPT as u64 + 1).for_each(|run| runs.begin(run));
        assert!(!runs.has(1) && runs.has(2) && runs.last() == Some(KEPT as u64 + 1));
    }
}
