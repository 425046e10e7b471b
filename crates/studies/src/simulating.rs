//! Runs the models of studies.

use towtank_kernel::{Outcome, RunError, Runs};
use towtank_study::RunContext;
use towtank_units::SimTime;

/// Runs a model until `end` (or until no events are left), with the settings of the context.
///
/// # Errors
/// When the model fails or a limit of the kernel is reached.
pub(crate) fn simulate<M: Runs>(
    model: &M,
    end: Option<SimTime>,
    context: &RunContext<'_>,
) -> Result<Outcome<M>, RunError> {
    let outcome = context.simulate(model, end)?;
    #[cfg(test)]
    crate::travel::compare(model, context.seed, end, &outcome);
    Ok(outcome)
}
