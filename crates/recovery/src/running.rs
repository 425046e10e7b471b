//! Runs a recovery with the context of a replicate.

use towtank_rebuild::recovery::{Recovered, Recovery, RecoveryError};
use towtank_study::{RunContext, StudyError};

/// Runs it to its end.
///
/// # Errors
/// When the model fails.
pub fn run(recovery: &Recovery<'_>, context: &RunContext<'_>) -> Result<Recovered, StudyError> {
    recovery.run(context).map_err(failed)
}

/// The error of a study whose recovery failed.
#[must_use]
pub fn failed(error: RecoveryError) -> StudyError {
    match error {
        RecoveryError::Run(error) => StudyError::Run(error),
        error => StudyError::Model { message: error.to_string(), hint: None },
    }
}
