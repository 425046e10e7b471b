//! Whoever runs models for others, and models that bring their own run.

use towtank_streams::Seed;
use towtank_units::SimTime;

use crate::{Outcome, Portable, RunError, RunOptions};

/// A model whose crate compiles its run.
///
/// The executors are generic, and a run of a model compiles all of them: some minutes of a build where
/// several models run in one crate. Implemented beside the model, with [`run`](crate::run) as its only line,
/// they are compiled there, once, and whoever runs the model links them.
pub trait Runs: Portable {
    /// As [`run`](crate::run).
    ///
    /// # Errors
    /// As [`run`](crate::run).
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError>;
}

/// Runs models. A procedure that runs several models, one after the other, takes one, so that it does not
/// have to know how they are run.
pub trait Simulator {
    /// The seed of what is to be run.
    fn seed(&self) -> Seed;

    /// Runs a model until `end`, or until no events are left.
    ///
    /// # Errors
    /// When the model fails or a limit is reached.
    fn run_model<M: Runs>(&self, model: &M, seed: Seed, end: Option<SimTime>)
    -> Result<Outcome<M>, RunError>;
}
