//! What a reader sees.

use crate::{PointResult, Presentation};

/// What the study says about all its points.
#[must_use]
pub fn present(_points: &[PointResult<'_>]) -> Presentation {
    Presentation::default()
}
