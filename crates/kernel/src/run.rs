//! Preparing a run and running it.

use crate::check::Check;
use crate::context::Rules;
use crate::error::RunError;
use crate::model::Model;
use crate::options::{Executor, RunOptions};
use crate::outcome::{Notice, Outcome, assemble};
use crate::sequential::Sequential;

/// A run with its entities created and started, ready to go.
pub struct Prepared<'m, 'o, M: Model> {
    model: &'m M,
    options: RunOptions<'o>,
    notices: Vec<Notice>,
    state: Ready<'m, M>,
}

enum Ready<'m, M: Model> {
    Sequential(Box<Sequential<'m, M>>),
    Check(Box<Check<'m, M>>),
}

/// Creates and starts the entities.
///
/// # Errors
/// When an option cannot be used, or an entity cannot start.
pub fn prepare<'m, 'o, M: Model>(
    model: &'m M,
    options: RunOptions<'o>,
) -> Result<Prepared<'m, 'o, M>, RunError> {
    examine(&options)?;
    let rules = || Rules {
        model,
        links: model.links(),
        entities: model.entities(),
        seed: options.seed,
        step_limit: options.step_limit,
    };
    let undo_by = options.undo.unwrap_or(M::UNDO);
    let notices = Vec::new();
    let state = match options.executor {
        Executor::Sequential => Ready::Sequential(Box::new(Sequential::new(rules())?)),
        Executor::Check => Ready::Check(Box::new(Check::new(rules(), undo_by)?)),
        other => return Err(RunError::Options(format!("the {other} executor has not landed"))),
    };
    Ok(Prepared { model, options, notices, state })
}

/// Prepares and runs a model.
///
/// # Errors
/// When the model fails, breaks its own declarations, or a limit is reached.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome<M>, RunError> {
    prepare(model, options)?.run()
}

impl<M: Model> Prepared<'_, '_, M> {
    /// Runs to the end.
    ///
    /// # Errors
    /// When the model fails, breaks its own declarations, or a limit is reached.
    pub fn run(self) -> Result<Outcome<M>, RunError> {
        let shares = match self.state {
            Ready::Sequential(all) => vec![all.run(&self.options)?],
            Ready::Check(all) => vec![all.run(&self.options)?],
        };
        assemble(self.model, shares, self.notices)
    }
}

fn examine(options: &RunOptions<'_>) -> Result<(), RunError> {
    let positive = [
        ("workers", options.workers),
        ("batch", options.batch),
        ("gvt_interval", options.gvt_interval),
        ("history_max", options.history_max),
    ];
    for (name, value) in positive {
        if value == 0 {
            return Err(RunError::Options(format!("`{name}` is 0; it must be at least 1")));
        }
    }
    if options.workers > 1 && !options.executor.is_parallel() {
        return Err(RunError::Options(format!(
            "`workers` is {}, but the {} executor uses one; choose conservative or optimistic",
            options.workers, options.executor
        )));
    }
    Ok(())
}
