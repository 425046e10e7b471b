//! Whoever runs models for others: a study's context, with its executor and whoever watches, or options by themselves.

use std::sync::atomic::Ordering;

use towtank_streams::Seed;
use towtank_units::SimTime;

use crate::{Outcome, Portable, RunError, RunOptions, run};

/// Runs models. A procedure that runs several models, one after the other, takes one, so that it does not have to know how they
/// are run.
pub trait Simulator {
    /// The seed of what is to be run.
    fn seed(&self) -> Seed;

    /// Whether to come back soon with what there is.
    fn stopped(&self) -> bool;

    /// Runs a model until `end`, or until no events are left.
    ///
    /// # Errors
    /// When the model fails or a limit is reached.
    fn run_model<M: Portable>(
        &self,
        model: &M,
        seed: Seed,
        end: Option<SimTime>,
    ) -> Result<Outcome<M>, RunError>;
}

impl Simulator for RunOptions<'_> {
    fn seed(&self) -> Seed {
        self.seed
    }

    fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn run_model<M: Portable>(
        &self,
        model: &M,
        seed: Seed,
        end: Option<SimTime>,
    ) -> Result<Outcome<M>, RunError> {
        run(model, RunOptions { seed, end, ..self.clone() })
    }
}
