//! A claim for tests of what surrounds claims: its numbers do not matter.

use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

/// A claim of this name and source that holds.
pub(super) fn claim(name: &str, source: &str) -> Claim {
    ClaimDraft {
        name: name.to_owned(),
        source: source.to_owned(),
        statement: "it is one".to_owned(),
        unit: String::new(),
        published: Reading::of(1.0),
        ours: Reading::of(1.0),
        tolerance: Tolerance::AtLeast,
        fitted: false,
        note: None,
    }
    .judge()
}
