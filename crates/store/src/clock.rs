//! The only place where the store reads a clock.

use std::time::{Duration, Instant};

use towtank_units::SimTime;

/// The current time.
#[must_use]
#[allow(clippy::disallowed_methods)]
pub fn now() -> Instant {
    Instant::now()
}

/// A clock that starts with its process and gives the protocol's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
}

impl Clock {
    /// Starts a clock now.
    #[must_use]
    pub fn start() -> Clock {
        Clock { began: now() }
    }

    /// The time since the clock started.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        now().duration_since(self.began)
    }

    /// The time since the clock started, in the protocol's type.
    #[must_use]
    pub(crate) fn sim(&self) -> SimTime {
        SimTime::from_ns(u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
