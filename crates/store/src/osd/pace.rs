//! Schedules a device's work: that of clients against that of recovery.
//!
//! A replica requests work, and continues when it is done. In between the work waits here, in a scheduler of
//! `towtank-iosched`. Work that the scheduler dispatches is part of the daemon's next portion, and is in
//! progress until that portion is durable.

use towtank_iosched::{Discipline, FlowId, Request, Scheduler};
use towtank_replication::{Token, Work};
use towtank_units::SimTime;

use crate::settings::Pacing;

/// The cost of work increases by one for each of so many bytes.
const COST_BYTES: u64 = 64 << 10;

/// The cost in progress at once, if the scheduler names no depth.
const DEPTH: u32 = 32;

/// The work that waits.
#[derive(Debug)]
pub(super) struct Pace {
    scheduler: Option<Scheduler<(u32, Token)>>,
    waiting: usize,
    under_way: Vec<Request<(u32, Token)>>,
    /// Work that is done as it arrives, without a scheduler.
    free: Vec<(u32, Token)>,
}

impl Pace {
    /// # Panics
    /// For settings that have not been checked.
    pub(super) fn new(pacing: Option<&Pacing>) -> Pace {
        let scheduler = pacing.map(|pacing| {
            let mut description = pacing.scheduler.clone();
            description.depth = description.depth.or(Some(DEPTH));
            description.build(&pacing.flows()).expect("the settings have been checked")
        });
        Pace { scheduler, waiting: 0, under_way: Vec::new(), free: Vec::new() }
    }

    /// Adds work that a replica of a group requests.
    pub(super) fn arrive(&mut self, now: SimTime, group: u32, token: Token, work: Work) {
        let Some(scheduler) = &mut self.scheduler else {
            self.free.push((group, token));
            return;
        };
        let (flow, cost) = match work {
            Work::Look { objects } => (1, objects),
            Work::Read { bytes, is_recovery } | Work::Apply { bytes, is_recovery } => {
                (u32::from(is_recovery), 1 + bytes / COST_BYTES)
            }
        };
        self.waiting += 1;
        scheduler.arrive(now, Request::new(FlowId(flow), cost.max(1), (group, token)));
    }

    /// Completes the work in progress, and returns the work that may start now, which is part of the daemon's
    /// next portion.
    pub(super) fn next(&mut self, now: SimTime) -> Vec<(u32, Token)> {
        let Some(scheduler) = &mut self.scheduler else { return std::mem::take(&mut self.free) };
        for request in std::mem::take(&mut self.under_way) {
            scheduler.complete(now, &request);
        }
        if scheduler.wake_at().is_some_and(|at| at <= now) {
            scheduler.wake(now);
        }
        while let Some(request) = scheduler.next(now) {
            self.waiting -= 1;
            self.under_way.push(request);
        }
        self.under_way.iter().map(|request| request.item).collect()
    }

    /// Whether the next portion may start or complete some work. Work that waits while none is in progress
    /// may start, unless the scheduler names a later time.
    pub(super) fn is_ready(&self, now: SimTime) -> bool {
        let is_held = || self.wake_at().is_some_and(|at| at > now);
        !self.free.is_empty() || (self.waiting > 0 && (!self.under_way.is_empty() || !is_held()))
    }

    /// When waiting work may start that may not start yet.
    pub(super) fn wake_at(&self) -> Option<SimTime> {
        self.scheduler.as_ref().filter(|_| self.waiting > 0).and_then(Discipline::wake_at)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use towtank_iosched::FlowSpec;
    use towtank_units::SimSpan;

    use super::*;

    fn pacing(scheduler: &str, client: FlowSpec, recovery: FlowSpec) -> Pacing {
        Pacing { scheduler: scheduler.parse().expect("it is a scheduler"), client, recovery }
    }

    fn after(now: SimTime, span: SimSpan) -> SimTime {
        SimTime::from_ns(now.as_ns() + span.as_ns())
    }

    fn weighted(weight: u32) -> FlowSpec {
        FlowSpec { weight, ..FlowSpec::default() }
    }

    const CLIENT: Work = Work::Apply { bytes: 0, is_recovery: false };
    const RECOVERY: Work = Work::Apply { bytes: 0, is_recovery: true };

    fn fill(pace: &mut Pace, each: u64) {
        for number in 0..each {
            pace.arrive(SimTime::ZERO, 0, Token(number), CLIENT);
            pace.arrive(SimTime::ZERO, 1, Token(number), RECOVERY);
        }
    }

    /// The number of requests of each group dispatched in this many portions.
    fn shares(pace: &mut Pace, portions: usize) -> [usize; 2] {
        let mut went = [0; 2];
        for _ in 0..portions {
            for (group, _) in pace.next(SimTime::ZERO) {
                went[group as usize] += 1;
            }
        }
        went
    }

    #[test]
    fn without_a_scheduler_all_goes_as_it_comes() {
        let mut pace = Pace::new(None);
        fill(&mut pace, 100);
        assert!(pace.is_ready(SimTime::ZERO));
        assert_eq!(shares(&mut pace, 1), [100, 100]);
        assert!(!pace.is_ready(SimTime::ZERO) && pace.wake_at().is_none());
    }

    /// Otherwise the daemon would sleep until something else wakes it, with work to do.
    #[test]
    fn work_that_comes_to_an_idle_scheduler_may_start_at_once() {
        for scheduler in ["fifo:8", "sfq:8", "mclock:8"] {
            let mut pace = Pace::new(Some(&pacing(scheduler, weighted(1), weighted(1))));
            assert!(!pace.is_ready(SimTime::ZERO), "{scheduler}: nothing waits");
            pace.arrive(SimTime::ZERO, 1, Token(1), RECOVERY);
            assert!(pace.is_ready(SimTime::ZERO), "{scheduler}");
            assert_eq!(pace.next(SimTime::ZERO).len(), 1, "{scheduler}");
        }
    }

    #[test]
    fn work_above_a_limit_is_not_ready_before_its_time() {
        let limited = FlowSpec { limit: 10, ..FlowSpec::default() };
        let mut pace = Pace::new(Some(&pacing("mclock:8", weighted(1), limited)));
        fill(&mut pace, 3);
        while !pace.next(SimTime::ZERO).is_empty() {}
        let at = pace.wake_at().expect("recovery waits for its limit");
        assert!(at > SimTime::ZERO && !pace.is_ready(SimTime::ZERO) && pace.is_ready(at));
    }

    #[test]
    fn weights_share_what_goes() {
        let mut pace = Pace::new(Some(&pacing("sfq:8", weighted(3), weighted(1))));
        fill(&mut pace, 400);
        let [clients, recoveries] = shares(&mut pace, 50);
        assert_eq!(clients + recoveries, 400, "eight at once");
        assert!((295..=305).contains(&clients), "three of four: {clients}");
        // A planted fault: with equal weights the same check fails.
        let mut equal = Pace::new(Some(&pacing("sfq:8", weighted(1), weighted(1))));
        fill(&mut equal, 400);
        assert!(!(295..=305).contains(&shares(&mut equal, 50)[0]));
    }

    #[test]
    fn a_limit_holds_though_nothing_else_is_to_do() {
        let limited = FlowSpec { limit: 10, ..FlowSpec::default() };
        let mut pace = Pace::new(Some(&pacing("mclock:8", FlowSpec::default(), limited)));
        for number in 0..50 {
            pace.arrive(SimTime::ZERO, 1, Token(number), RECOVERY);
        }
        let (mut went, mut now) = (0, SimTime::ZERO);
        while now <= after(SimTime::ZERO, SimSpan::from_secs(2)) {
            went += pace.next(now).len();
            // A wake-up time is given for work that waits, so that the loop does not spin.
            now = match pace.wake_at() {
                Some(at) if !pace.is_ready(now) => at.max(after(now, SimSpan::from_ns(1))),
                _ => after(now, SimSpan::from_ms(1)),
            };
        }
        assert!((19..=22).contains(&went), "ten a second: {went}");
    }

    proptest! {
        /// All work that arrives is dispatched exactly once.
        #[test]
        fn nothing_is_lost(
            work in prop::collection::vec((any::<bool>(), 0_u64..300_000, any::<bool>()), 1..200),
            which in 0_usize..4,
        ) {
            let scheduler = ["fifo:4", "sfq:4", "mclock:4", "wfq"][which];
            let mut pace = Pace::new(Some(&pacing(scheduler, weighted(2), weighted(1))));
            let (mut went, mut now) = (BTreeSet::new(), SimTime::ZERO);
            for (number, (is_recovery, bytes, is_look)) in work.iter().enumerate() {
                let work = match is_look {
                    true => Work::Look { objects: bytes % 500 },
                    false => Work::Read { bytes: *bytes, is_recovery: *is_recovery },
                };
                pace.arrive(now, 3, Token(number as u64), work);
                now = after(now, SimSpan::from_us(*bytes % 7));
                for (_, token) in pace.next(now) {
                    prop_assert!(went.insert(token), "{token:?} goes twice");
                }
            }
            for _ in 0..2 * work.len() {
                now = after(now, SimSpan::from_ms(1));
                for (_, token) in pace.next(now) {
                    prop_assert!(went.insert(token), "{token:?} goes twice");
                }
            }
            prop_assert_eq!(went.len(), work.len());
            prop_assert_eq!(pace.waiting, 0);
        }
    }
}
