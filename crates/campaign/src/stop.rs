//! The wish to stop, shared by whoever may utter it (a signal handler, a test) and everybody who must hear
//! it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Raised once, never lowered. Workers look at it between tasks, the models inside them.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Not raised yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Asks everybody to come back soon with what there is. Safe in a signal handler.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The bare flag, for code that knows nothing of campaigns.
    #[must_use]
    pub const fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
