//! A request to stop, shared by those who may make it (a signal handler, a test) and those who must notice
//! it.

use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is raised once and never lowered. Threads check it between tasks, models within them.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// A flag that is not raised.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Asks all runs to return soon with what they have. Safe in a signal handler.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was raised.
    #[must_use]
    pub fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The underlying flag, for code that does not depend on campaigns.
    #[must_use]
    pub const fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
