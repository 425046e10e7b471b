//! I2L: SARC in front of AVATAR (Zhang, Sivasubramaniam, Wang, Riska and Riedel, 2005 and 2006), by the rules
//! of PFSsim's scheduler of that name (section 1.13 of the study's reference).
//!
//! SARC ([`sarc`]) lets each application send as many requests per interval as its rate allows, and lends
//! what is left over: it refills all buckets early when the server is idle. AVATAR ([`avatar`]) gives
//! requests by deadline and limits how many are outstanding; it adjusts the limit window by window, between
//! throughput and deadlines.
//!
//! Departures from PFSsim, each a defect there: an application without completions does not affect the limit,
//! where PFSsim divides by zero; a window without completions leaves the limit unchanged; everything is
//! initialised from the start.

use towtank_units::{SimSpan, SimTime};

use crate::{Discipline, Flows, NoMessage, Request};

mod avatar;
mod sarc;

use avatar::Avatar;
use sarc::Sarc;

/// The lengths of SARC's interval and AVATAR's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct I2lSpec {
    /// The interval after which SARC refills its buckets.
    pub sarc: SimSpan,
    /// The window after which AVATAR sets its limit anew.
    pub avatar: SimSpan,
}

impl Default for I2lSpec {
    /// Chosen freely: PFSsim has no default.
    fn default() -> I2lSpec {
        I2lSpec { sarc: SimSpan::from_ms(100), avatar: SimSpan::from_secs(1) }
    }
}

/// Buckets of requests, followed by deadlines with an adaptive limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct I2l<T> {
    sarc: Sarc<T>,
    avatar: Avatar<T>,
}

impl<T> I2l<T> {
    /// Rates and delays are those of the flows.
    ///
    /// # Panics
    /// When the interval or the window is zero.
    #[must_use]
    pub fn new(spec: I2lSpec, flows: &Flows) -> I2l<T> {
        let I2lSpec { sarc, avatar } = spec;
        assert!(!sarc.is_zero() && !avatar.is_zero(), "an interval and a window last some time");
        I2l { sarc: Sarc::new(sarc, flows), avatar: Avatar::new(avatar, flows) }
    }

    /// Ends the window and refills the buckets if it is time.
    fn pass(&mut self, now: SimTime) {
        self.avatar.end_window_if_due(now);
        if self.sarc.is_due(now) {
            self.refill(now);
        }
    }

    fn refill(&mut self, now: SimTime) {
        self.sarc.refill(now);
        while let Some((came, request)) = self.sarc.drain() {
            self.avatar.arrive(came, request);
        }
    }
}

impl<T: Clone> Discipline for I2l<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        self.pass(now);
        match self.sarc.arrive(now, request) {
            Some(request) => self.avatar.arrive(now, request),
            None if self.avatar.is_idle() => self.refill(now),
            None => (),
        }
    }

    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        self.avatar.next(now)
    }

    fn complete(&mut self, now: SimTime, served: &Request<T>) {
        self.pass(now);
        if self.avatar.complete(now, served) {
            self.refill(now);
        }
    }

    fn wake_at(&self) -> Option<SimTime> {
        self.sarc.wake_at().into_iter().chain(self.avatar.wake_at()).min()
    }

    fn wake(&mut self, now: SimTime) {
        self.pass(now);
        self.avatar.wake(now);
    }

    /// By deadline, then those without a token.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.avatar.waiting().chain(self.sarc.waiting()))
    }
}

#[cfg(test)]
mod tests;
