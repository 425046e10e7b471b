//! The one place where the store looks at a clock.

use std::time::{Duration, Instant};

use towtank_units::SimTime;

/// Now.
#[must_use]
#[allow(clippy::disallowed_methods)]
pub fn now() -> Instant {
    Instant::now()
}

/// A clock that begins with its process, in the time that the protocol counts.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
}

impl Clock {
    /// Begins now.
    #[must_use]
    pub fn start() -> Clock {
        Clock { began: now() }
    }

    /// How long ago it began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        now().duration_since(self.began)
    }

    /// The same, for the protocol.
    #[must_use]
    pub fn sim(&self) -> SimTime {
        SimTime::from_ns(u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
