//! The trait of code that runs models on behalf of others, and that of models which compile their own run.

use towtank_streams::Seed;
use towtank_units::SimTime;

use crate::{Outcome, Portable, RunError, RunOptions};

/// A model whose crate compiles its run.
///
/// The executors are generic, and a run of a model compiles all of them: some minutes of build time if
/// several models are run in one crate. If this trait is implemented beside the model, with
/// [`run`](crate::run) as its only line, the executors are compiled there, once, and every crate that runs
/// the model links them.
pub trait Runs: Portable {
    /// Like [`run`](crate::run).
    ///
    /// # Errors
    /// Like [`run`](crate::run).
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError>;
}

/// Runs models. A procedure that runs several models in sequence takes one of these, so that it does not
/// depend on how they are run.
pub trait Simulator {
    /// The seed of the run.
    fn seed(&self) -> Seed;

    /// Runs a model until `end`, or until no events are left.
    ///
    /// # Errors
    /// If the model fails or a limit is reached.
    fn run_model<M: Runs>(&self, model: &M, seed: Seed, end: Option<SimTime>)
    -> Result<Outcome<M>, RunError>;
}
