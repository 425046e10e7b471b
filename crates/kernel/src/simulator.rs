//! Whoever runs models for others.

use towtank_streams::Seed;
use towtank_units::SimTime;

use crate::{Outcome, Portable, RunError};

/// Runs models. A procedure that runs several models, one after the other, takes one, so that it does not have to know
/// how they are run.
pub trait Simulator {
    /// The seed of what is to be run.
    fn seed(&self) -> Seed;

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
