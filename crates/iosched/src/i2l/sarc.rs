//! SARC: each application has a token bucket of requests; a request that finds the bucket empty waits in that
//! application's queue.
//!
//! A bucket holds rate times interval requests, rounded down, and at least one. All buckets are refilled at
//! once: one interval after the last refill, or earlier when the server is idle, which lends what others
//! leave unused.

use std::collections::VecDeque;

use towtank_units::{SimSpan, SimTime};

use crate::{FlowSpec, Flows, Request};

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Sarc<T> {
    applications: Vec<Application<T>>,
    interval: SimSpan,
    refilled: SimTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Application<T> {
    capacity: u64,
    tokens: u64,
    /// With the instants of arrival.
    waiting: VecDeque<(SimTime, Request<T>)>,
}

impl<T> Sarc<T> {
    pub fn new(interval: SimSpan, flows: &Flows) -> Sarc<T> {
        let application = |spec: &FlowSpec| {
            let requests = u128::from(spec.rate) * u128::from(interval.as_ns()) / 1_000_000_000;
            let capacity = u64::try_from(requests).unwrap_or(u64::MAX).max(1);
            Application { capacity, tokens: capacity, waiting: VecDeque::new() }
        };
        let applications = flows.specs().iter().map(application).collect();
        Sarc { applications, interval, refilled: SimTime::ZERO }
    }

    /// Returns the request if there is a token for it; otherwise queues it.
    pub fn arrive(&mut self, now: SimTime, request: Request<T>) -> Option<Request<T>> {
        let application = &mut self.applications[request.flow.0 as usize];
        if application.tokens > 0 && application.waiting.is_empty() {
            application.tokens -= 1;
            debug_assert!(application.tokens < application.capacity, "more tokens are left than there were");
            return Some(request);
        }
        application.waiting.push_back((now, request));
        None
    }

    pub fn is_due(&self, now: SimTime) -> bool {
        self.refilled.saturating_add(self.interval) <= now
    }

    pub fn refill(&mut self, now: SimTime) {
        assert!(now >= self.refilled, "buckets are filled at {now}, and were at {}", self.refilled);
        self.refilled = now;
        self.applications.iter_mut().for_each(|application| application.tokens = application.capacity);
    }

    /// The next queued request that has a token now, in the order of applications.
    pub fn drain(&mut self) -> Option<(SimTime, Request<T>)> {
        let can_go =
            |application: &&mut Application<T>| application.tokens > 0 && !application.waiting.is_empty();
        let application = self.applications.iter_mut().find(can_go)?;
        application.tokens -= 1;
        application.waiting.pop_front()
    }

    pub fn wake_at(&self) -> Option<SimTime> {
        let waits = self.applications.iter().any(|application| !application.waiting.is_empty());
        waits.then(|| self.refilled.saturating_add(self.interval))
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Request<T>> {
        self.applications.iter().flat_map(|one| one.waiting.iter().map(|waiting| &waiting.1))
    }
}
