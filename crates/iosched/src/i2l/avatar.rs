//! AVATAR: earliest deadline first, with a limit L on the number of outstanding requests that is set anew at
//! the end of each window.
//!
//! At the end of a window with X completions: XL counts the outstanding requests, the queued requests that
//! are due inside the next window, and the requests that arrived and were due inside this one; XU counts all
//! that are outstanding, queued or arrived. The bounds are L XL/X and L XU/X. Each application that completed
//! something asks for a limit of its own, by E = (delay - mean wait) / (95th percentile of service); the
//! least of them holds, and 100 means no limit. Fractions are in units of 2^-16.

use std::collections::BTreeMap;

use towtank_units::{SimSpan, SimTime};

use crate::{Flows, Request};

/// The value 1 in the fixed-point units of limits.
const ONE: u64 = 1 << 16;
/// The value that means no limit.
const LIMITLESS: u64 = 100 * ONE;
/// The initial limit, as in PFSsim.
const START: u64 = 4 * ONE;

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Avatar<T> {
    delays: Vec<SimSpan>,
    /// By deadline and arrival number, with the instant of arrival.
    #[serde(with = "towtank_units::pairs", bound(serialize = "T: serde::Serialize"))]
    #[serde(bound(deserialize = "T: serde::Deserialize<'de>"))]
    queued: BTreeMap<(SimTime, u64), (SimTime, Request<T>)>,
    came: u64,
    /// Outstanding requests by ticket.
    outstanding: BTreeMap<u64, Given>,
    given: u64,
    limit: u64,
    idle: bool,
    window: SimSpan,
    window_end: SimTime,
    seen: Seen,
    /// When the deadline of a request passes that may not go before it.
    alarm: Option<SimTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Given {
    at: SimTime,
    waited: SimSpan,
}

/// Counts of one window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Seen {
    arrivals: u64,
    /// The number of these arrivals that were due inside the window.
    due: u64,
    outstanding_max: u64,
    /// Completions by application: the sum of waits, and each service time.
    done: BTreeMap<u32, (u128, Vec<u64>)>,
}

impl<T> Avatar<T> {
    pub fn new(window: SimSpan, flows: &Flows) -> Avatar<T> {
        Avatar {
            delays: flows.specs().iter().map(|spec| spec.delay).collect(),
            queued: BTreeMap::new(),
            came: 0,
            outstanding: BTreeMap::new(),
            given: 0,
            limit: START,
            idle: true,
            window,
            window_end: SimTime::ZERO.saturating_add(window),
            seen: Seen::default(),
            alarm: None,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// Queues a request that has a token and that arrived at the scheduler at `came`.
    pub fn arrive(&mut self, came: SimTime, request: Request<T>) {
        let delay = self.delays[request.flow.0 as usize];
        let due = request.due.unwrap_or(request.about.rose.saturating_add(delay));
        self.seen.arrivals += 1;
        self.seen.due += u64::from(due <= self.window_end);
        let other = self.queued.insert((due, self.came), (came, request));
        debug_assert!(other.is_none(), "two requests have number {}", self.came);
        self.came += 1;
    }

    fn is_full(&self) -> bool {
        self.limit < LIMITLESS && self.outstanding.len() as u64 * ONE >= self.limit
    }

    pub fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        self.alarm = None;
        let entry = self.queued.first_entry()?;
        let (due, _) = *entry.key();
        if self.limit < LIMITLESS && self.outstanding.len() as u64 * ONE >= self.limit && due >= now {
            self.alarm = Some(due.saturating_add(SimSpan::from_ns(1)));
            return None;
        }
        let (came, mut request) = entry.remove();
        request.about.ticket = self.given;
        assert!(came <= now, "a request came at {came} and is given at {now}");
        let other = self.outstanding.insert(self.given, Given { at: now, waited: now.since(came) });
        debug_assert!(other.is_none(), "two requests have ticket {}", self.given);
        self.given += 1;
        self.seen.outstanding_max = self.seen.outstanding_max.max(self.outstanding.len() as u64);
        if self.is_full() {
            self.idle = false;
        }
        Some(request)
    }

    /// Whether the server has become idle and was not idle before.
    ///
    /// # Panics
    /// When the request was completed before, or was never given.
    pub fn complete(&mut self, now: SimTime, served: &Request<T>) -> bool {
        let given = self.outstanding.remove(&served.about.ticket).expect("what completes was given");
        let (waits, services) = self.seen.done.entry(served.flow.0).or_default();
        *waits += u128::from(given.waited.as_ns());
        services.push(now.since(given.at).as_ns());
        let nothing_to_do =
            self.queued.is_empty() && self.outstanding.len() as u64 * ONE * 10 < self.limit * 9;
        let turns = nothing_to_do && !self.idle;
        self.idle |= turns;
        turns
    }

    pub(super) fn end_window_if_due(&mut self, now: SimTime) {
        if now < self.window_end {
            return;
        }
        self.set_limit();
        let windows = now.as_ns() / self.window.as_ns() + 1;
        self.window_end = SimTime::from_ns(windows.saturating_mul(self.window.as_ns()));
        debug_assert!(self.window_end > now, "a window ends at {}, and it is {now}", self.window_end);
        let outstanding_max = self.outstanding.len() as u64;
        self.seen = Seen { outstanding_max, ..Seen::default() };
    }

    fn set_limit(&mut self) {
        let completions: u64 = self.seen.done.values().map(|done| done.1.len() as u64).sum();
        if completions == 0 {
            return;
        }
        let next_end = self.window_end.saturating_add(self.window);
        let due_next = self.queued.range(..=(next_end, u64::MAX)).count() as u64;
        let outstanding = self.outstanding.len() as u64;
        let low = outstanding + due_next + self.seen.due;
        let high = outstanding + self.queued.len() as u64 + self.seen.arrivals;
        let bounds = Bounds {
            lower: product(self.limit, low) / completions,
            upper: product(self.limit, high) / completions,
            many_due: u128::from(low) * 10 > u128::from(completions) * 9,
        };
        let mut least = LIMITLESS;
        for (&application, (waits, services)) in &mut self.seen.done {
            services.sort_unstable();
            let rank = (services.len() * 95).div_ceil(100).max(1) - 1;
            let mean = waits.checked_div(services.len() as u128).unwrap_or(0);
            let spare = u128::from(self.delays[application as usize].as_ns()).saturating_sub(mean);
            let ease = spare * u128::from(ONE) / u128::from(services[rank].max(1));
            let ease = u64::try_from(ease).unwrap_or(u64::MAX);
            if ease <= ONE {
                self.idle = false;
            }
            least = least.min(asked_for(self.limit, ease, self.seen.outstanding_max, &bounds));
        }
        self.limit = least;
    }

    pub fn wake_at(&self) -> Option<SimTime> {
        let busy = !self.queued.is_empty() || !self.outstanding.is_empty();
        busy.then_some(self.window_end).into_iter().chain(self.alarm).min()
    }

    pub fn wake(&mut self, now: SimTime) {
        self.alarm = self.alarm.filter(|&alarm| alarm > now);
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Request<T>> {
        self.queued.values().map(|queued| &queued.1)
    }

    /// The limit in hundredths.
    #[cfg(test)]
    pub(super) fn limit_percent(&self) -> u64 {
        self.limit * 100 / ONE
    }
}

/// The bounds of a limit.
struct Bounds {
    lower: u64,
    upper: u64,
    /// Whether more is due than nine tenths of what can be done.
    many_due: bool,
}

/// The limit that one application asks for; `ease` is its E.
fn asked_for(limit: u64, ease: u64, outstanding_max: u64, bounds: &Bounds) -> u64 {
    if limit >= LIMITLESS {
        let asked = product(ease, outstanding_max);
        return if bounds.many_due { LIMITLESS } else { asked.max(bounds.lower) };
    }
    let asked = (u128::from(ease) * u128::from(limit) / u128::from(ONE)).min(u128::from(u64::MAX)) as u64;
    if asked < bounds.lower {
        LIMITLESS
    } else if asked > bounds.upper {
        bounds.upper
    } else if asked < limit || outstanding_max * ONE >= limit {
        asked
    } else {
        limit
    }
}

fn product(one: u64, other: u64) -> u64 {
    one.saturating_mul(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 1.13, the rules for a new limit, each computed by hand; limits, E and bounds in whole units.
    #[test]
    fn limits_by_hand() {
        let check = |limit: u64, ease: u64, most: u64, (lower, upper): (u64, u64), many_due, want: u64| {
            let bounds = Bounds { lower: lower * ONE, upper: upper * ONE, many_due };
            let asked = asked_for(limit * ONE, ease * ONE, most, &bounds);
            assert_eq!(asked / ONE, want, "L {limit}, E {ease}, {lower} to {upper}");
        };
        // Finite limit: below the lower bound no limit meets the deadlines; above the upper one nothing is
        // gained.
        check(4, 1, 4, (5, 9), true, 100);
        check(4, 3, 4, (5, 9), true, 9);
        check(4, 2, 4, (5, 9), true, 8);
        // Growth is only needed where the limit was reached.
        check(4, 2, 3, (5, 9), true, 4);
        check(10, 0, 3, (0, 20), true, 0);
        // No limit: it stays so while much is due.
        check(100, 2, 7, (3, 9), true, 100);
        check(100, 2, 7, (3, 9), false, 14);
        check(100, 2, 7, (30, 90), false, 30);
    }
}
