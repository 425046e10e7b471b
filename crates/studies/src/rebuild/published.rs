//! What the first paper says of rebuilds, held against the same set-ups here.

use report::Claim;

use super::present::View;

/// The claims that these points can judge.
#[must_use]
pub fn claims(views: &[View<'_>]) -> Vec<Claim> {
    let _ = views;
    Vec::new()
}
