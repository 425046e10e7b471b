//! Earliest deadline first: the deadline of a request is its flow's delay after it was issued at its client
//! ([`crate::About::rose`]), or the request's own deadline ([`Request::due`]). The depth counts as in
//! FIFO(D).

use std::collections::BTreeMap;

use towtank_units::{SimSpan, SimTime};

use crate::room::Room;
use crate::{Discipline, Flows, NoMessage, Request};

/// Requests in order of their deadlines.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Edf<T> {
    /// By flow.
    delays: Vec<SimSpan>,
    /// By deadline and arrival number.
    #[serde(with = "towtank_units::pairs", bound(serialize = "T: serde::Serialize"))]
    #[serde(bound(deserialize = "T: serde::Deserialize<'de>"))]
    waiting: BTreeMap<(SimTime, u64), Request<T>>,
    came: u64,
    room: Room,
}

impl<T> Edf<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Edf<T> {
        let delays = flows.specs().iter().map(|spec| spec.delay).collect();
        Edf { delays, waiting: BTreeMap::new(), came: 0, room: Room::new(depth) }
    }
}

impl<T: Clone> Discipline for Edf<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let delay = self.delays[request.flow.0 as usize];
        let due = request.due.unwrap_or(request.about.rose.saturating_add(delay));
        let other = self.waiting.insert((due, self.came), request);
        debug_assert!(other.is_none(), "two requests have number {}", self.came);
        self.came += 1;
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let ((due, _), request) = self.waiting.pop_first()?;
        debug_assert!(
            request.due.is_none_or(|own| own == due),
            "a request is due at {due}, and says another time"
        );
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.waiting.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{at, given, ms, request, served};
    use crate::{About, FlowSpec};

    fn rose(at: SimTime) -> About {
        About { rose: at, ..About::default() }
    }

    /// Section 1.13, EDF: time of issue at the client plus the flow's delay; ties go in order of arrival.
    #[test]
    fn deadlines_count_from_the_client() {
        let delay = |delay| FlowSpec { delay: SimSpan::from_ms(delay), ..FlowSpec::default() };
        let mut edf = Edf::new(None, &Flows::new(vec![delay(100), delay(10)]));
        // Due at 100, 60, 105, 60 and, by its own deadline, 1.
        edf.arrive(ms(7), request(0, 1, 0).about(rose(ms(0))));
        edf.arrive(ms(70), request(1, 1, 1).about(rose(ms(50))));
        edf.arrive(ms(70), request(0, 1, 2).about(rose(ms(5))));
        edf.arrive(ms(71), request(1, 1, 3).about(rose(ms(50))));
        edf.arrive(ms(72), Request { due: Some(ms(1)), ..request(0, 1, 4) });
        assert_eq!(served(&mut edf), [4, 1, 3, 0, 2]);
    }

    #[test]
    fn a_depth_bounds_what_is_in_service() {
        let mut edf = Edf::new(Some(1), &Flows::equal(1));
        (0..2).for_each(|item| edf.arrive(at(0), request(0, 1, item)));
        assert_eq!(given(&mut edf, at(0)), [0]);
    }

    #[test]
    #[should_panic(expected = "two requests have number 0")]
    fn a_number_that_is_used_twice_is_noticed() {
        let mut edf = Edf::new(None, &Flows::equal(1));
        crate::trial::push(&mut edf, 0, 10, 0);
        edf.came = 0;
        crate::trial::push(&mut edf, 0, 10, 1);
    }
}
