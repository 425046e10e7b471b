//! Preparing a run and running it.

use crate::check::Check;
use crate::crew::Crew;
use crate::error::RunError;
use crate::model::{Model, UndoBy};
use crate::options::{Executor, RunOptions};
use crate::outcome::{Again, Ended, Notice, Outcome, assemble};
use crate::partition::Whole;
use crate::plain::Plain;
use crate::{sequential, threads};

/// A run with its entities created and started, ready to go.
pub struct Prepared<'m, 'o, M: Model> {
    model: &'m M,
    options: RunOptions<'o>,
    ready: Ready<'m, 'o, M>,
}

enum Ready<'m, 'o, M: Model> {
    Sequential(Box<Plain<'m, M, Whole>>),
    Check(Box<Check<'m, M>>),
    Crew(Crew<'m, 'o, M>),
}

/// Creates and starts the entities.
///
/// # Errors
/// If an option is invalid, or an entity cannot start.
pub fn prepare<'m, 'o, M: Model>(
    model: &'m M,
    options: RunOptions<'o>,
) -> Result<Prepared<'m, 'o, M>, RunError> {
    options.examine()?;
    let ready = if options.executor.is_parallel() {
        Ready::Crew(Crew::new(model, options.clone())?)
    } else {
        let mut plain = Plain::new(options.rules(model), Whole(model.entities()));
        plain.start()?;
        match options.executor {
            Executor::Check => Ready::Check(Box::new(Check::new(plain, options.undo.unwrap_or(M::UNDO)))),
            _ => Ready::Sequential(Box::new(plain)),
        }
    };
    Ok(Prepared { model, options, ready })
}

/// Prepares and runs a model.
///
/// # Errors
/// If the model fails, breaks its own declarations, or a limit is reached.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome<M>, RunError> {
    prepare(model, options)?.run()
}

impl<M: Model> Prepared<'_, '_, M> {
    /// Runs to the end.
    ///
    /// # Errors
    /// If the model fails, breaks its own declarations, or a limit is reached.
    pub fn run(self) -> Result<Outcome<M>, RunError> {
        let share = match self.ready {
            Ready::Sequential(plain) => sequential::run(*plain, &self.options)?,
            Ready::Check(check) => check.run(&self.options)?,
            Ready::Crew(mut crew) => {
                threads::drive(&mut crew)?;
                return match crew.finish()? {
                    Ended::Outcome(outcome) => Ok(*outcome),
                    Ended::Restart(again) => run_again(self.model, self.options, again),
                };
            }
        };
        assemble(self.model, vec![share], Vec::new())
    }
}

fn run_again<M: Model>(model: &M, options: RunOptions<'_>, again: Again) -> Result<Outcome<M>, RunError> {
    let (options, notice) = match again {
        Again::WithClones => {
            (RunOptions { undo: Some(UndoBy::Clone), ..options }, Notice::RestartedWithClones)
        }
        Again::InSequence(waste) => (
            RunOptions { executor: Executor::Sequential, workers: 1, ..options },
            Notice::RestartedInSequence(waste),
        ),
    };
    let mut outcome = run(model, options)?;
    outcome.notices.push(notice);
    Ok(outcome)
}

impl<M: Model> std::fmt::Debug for Prepared<'_, '_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("options", &self.options).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use towtank_units::{SimSpan, SimTime};

    use super::*;
    use crate::outcome::Waste;
    use crate::phold::Phold;

    #[test]
    fn a_run_that_is_done_again_in_sequence_says_so_and_has_the_same_result() {
        let model = Phold {
            processes: 8,
            start_events: 4,
            remote: 1.0,
            look_ahead: SimSpan::ZERO,
            mean: SimSpan::from_ns(1_000),
            work: 0,
        };
        let end = Some(SimTime::from_ns(20_000));
        let want = run(&model, RunOptions { end, ..RunOptions::default() }).expect("it runs");
        let wasteful =
            RunOptions { end, executor: Executor::Optimistic, workers: 3, ..RunOptions::default() };
        let waste = Waste::Undone { committed: 1, rolled_back: 9 };
        let again = Again::InSequence(waste);
        let got = run_again(&model, wasteful, again).expect("it runs");
        assert_eq!(got.digest, want.digest);
        assert_eq!(got.notices, [Notice::RestartedInSequence(waste)]);
        assert_eq!(got.run.gvt_rounds, 0, "no worker speculated");
    }
}
