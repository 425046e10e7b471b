//! Reservations in order of their start times: those of Replicast-H, and of Replicast-M without SURGE's list.
//! Cancelled reservations are removed at once, and a bid gets the first gap that is wide enough.

use towtank_units::SimTime;

use super::{Reservation, State, Wanted};
use crate::{PutId, Window};

/// The reservations of one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct OwnBids<Id = PutId> {
    list: Vec<Reservation<Id>>,
}

impl<Id> Default for OwnBids<Id> {
    fn default() -> OwnBids<Id> {
        OwnBids { list: Vec::new() }
    }
}

impl<Id: Copy + PartialEq> OwnBids<Id> {
    /// The reservations in order of their start times.
    #[must_use]
    pub fn list(&self) -> &[Reservation<Id>] {
        &self.list
    }

    /// Makes a bid: the first gap that is wide enough. An idle server makes a wider bid if `coin` is true.
    pub fn offer(&mut self, wanted: &Wanted<Id>, coin: bool) -> Window {
        debug_assert!(
            self.list.iter().all(|one| one.put != wanted.put),
            "an operation that has a reservation gets another offer"
        );
        let mut left = wanted.from.max(wanted.soonest).max(wanted.now.saturating_add(wanted.disk_wait));
        for one in &self.list {
            if left < one.window.left && left.saturating_add(wanted.bid) <= one.window.left {
                break;
            }
            left = left.max(one.window.right.saturating_add(wanted.trip));
        }
        let bonus = wanted.bonus(self.list.is_empty() && coin);
        let window = Window::of(left, wanted.bid.saturating_add(bonus));
        let at = self.list.partition_point(|one| one.window.left <= left);
        let free = |one: &Reservation<Id>| !one.window.overlaps(&window);
        debug_assert!(
            self.list[..at].last().is_none_or(free),
            "{window:?} overlaps the reservation before it"
        );
        debug_assert!(self.list.get(at).is_none_or(free), "{window:?} overlaps the reservation after it");
        self.list.insert(at, Reservation { put: wanted.put, window, state: State::Tentative });
        self.assert_in_order();
        window
    }

    /// Trims a bid before it is accepted.
    pub fn trim(&mut self, put: Id, window: Window) -> bool {
        let Some(at) = self.find(put, State::Tentative) else { return false };
        self.list.remove(at);
        self.insert(Reservation { put, window, state: State::Tentative });
        true
    }

    /// Accepts `window` as part of a bid. Fails if it was not offered, for example because a message was
    /// duplicated or late.
    pub fn accept(&mut self, put: Id, window: Window) -> bool {
        let Some(at) = self.find(put, State::Tentative) else { return false };
        if !window.lies_in(&self.list.remove(at).window) {
            return false;
        }
        self.insert(Reservation { put, window, state: State::Accepted });
        true
    }

    /// Cancels a bid.
    pub fn cancel(&mut self, put: Id) -> bool {
        self.find(put, State::Tentative).map(|at| self.list.remove(at)).is_some()
    }

    /// Removes a reservation because its data have arrived.
    pub fn remove(&mut self, put: Id) -> Option<Reservation<Id>> {
        let at = self.list.iter().position(|one| one.put == put)?;
        Some(self.list.remove(at))
    }

    /// Removes reservations that have ended by `now`.
    pub(crate) fn forget(&mut self, now: SimTime) {
        self.list.retain(|one| one.window.right > now);
        self.assert_in_order();
    }

    fn insert(&mut self, one: Reservation<Id>) {
        let at = self.list.partition_point(|other| other.window.left <= one.window.left);
        self.list.insert(at, one);
        self.assert_in_order();
    }

    fn assert_in_order(&self) {
        let begins = |one: &Reservation<Id>| one.window.left;
        debug_assert!(self.list.is_sorted_by_key(begins), "reservations are out of order");
        let kept = |one: &Reservation<Id>| one.state != State::Cancelled;
        debug_assert!(self.list.iter().all(kept), "a list without holes contains a hole");
    }

    fn find(&self, put: Id, state: State) -> Option<usize> {
        self.list.iter().position(|one| one.put == put && one.state == state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GatewayId;
    use towtank_units::SimSpan;

    fn wanted(number: u32, from: u64) -> Wanted {
        let ns = SimSpan::from_ns;
        Wanted {
            put: PutId { gateway: GatewayId(0), number },
            now: SimTime::ZERO,
            from: SimTime::from_ns(from),
            soonest: SimTime::from_ns(60),
            disk_wait: SimSpan::ZERO,
            bid: ns(110),
            net: ns(90),
            trip: ns(10),
        }
    }

    fn span(window: Window) -> (u64, u64) {
        (window.left.as_ns(), window.right.as_ns())
    }

    #[test]
    fn a_bid_takes_the_first_gap_that_is_wide_enough() {
        let mut bids = OwnBids::<PutId>::default();
        assert_eq!(span(bids.offer(&wanted(1, 400), false)), (400, 510));
        assert_eq!(
            span(bids.offer(&wanted(2, 0), true)),
            (60, 170),
            "a gap before, and no bonus for one who has work"
        );
        assert_eq!(span(bids.offer(&wanted(3, 0), false)), (180, 290));
        assert_eq!(span(bids.offer(&wanted(4, 0), false)), (520, 630));
        assert!(bids.cancel(wanted(3, 0).put) && bids.cancel(wanted(2, 0).put));
        assert!(bids.accept(wanted(1, 0).put, Window::of(SimTime::from_ns(400), SimSpan::from_ns(100))));
        assert_eq!(span(bids.offer(&wanted(5, 0), false)), (60, 170));
        assert!(bids.remove(wanted(1, 0).put).is_some() && !bids.cancel(wanted(1, 0).put));
        let lefts: Vec<u64> = bids.list().iter().map(|one| one.window.left.as_ns()).collect();
        assert_eq!(lefts, [60, 520]);
    }

    #[test]
    fn an_idle_server_may_bid_wide() {
        assert_eq!(span(OwnBids::<PutId>::default().offer(&wanted(1, 0), true)), (60, 350));
        assert_eq!(span(OwnBids::<PutId>::default().offer(&wanted(1, 0), false)), (60, 170));
    }

    #[test]
    #[should_panic(expected = "an operation that has a reservation gets another offer")]
    fn time_is_offered_once() {
        let mut bids = OwnBids::<PutId>::default();
        bids.offer(&wanted(1, 0), false);
        bids.offer(&wanted(1, 0), false);
    }

    #[test]
    #[should_panic(expected = "reservations are out of order")]
    fn reservations_out_of_order_are_noticed() {
        let mut bids = OwnBids::<PutId>::default();
        bids.offer(&wanted(1, 0), false);
        bids.offer(&wanted(2, 0), false);
        bids.list.swap(0, 1);
        bids.forget(SimTime::ZERO);
    }

    #[test]
    #[should_panic(expected = "a list without holes contains a hole")]
    fn a_hole_is_noticed() {
        let mut bids = OwnBids::<PutId>::default();
        bids.offer(&wanted(1, 0), false);
        bids.list[0].state = State::Cancelled;
        bids.offer(&wanted(2, 0), false);
    }
}
