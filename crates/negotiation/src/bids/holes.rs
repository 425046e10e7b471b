//! SURGE's list of reservations for Replicast-M, in the order of their creation.
//!
//! A cancelled reservation stays in the list as a hole that a later request may get, until it can no longer
//! be reached in time. A list of more than three entries does not offer its holes. So if there are enough
//! control messages for negotiations to fail, bids move further and further into the future, with the effect
//! that `docs/put.md` shows. The model's servers keep [`OwnBids`] instead.
//!
//! [`OwnBids`]: super::OwnBids

use towtank_units::{SimSpan, SimTime};

use super::{Reservation, State, Wanted};
use crate::{PutId, Window};

/// The reservations of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct CommonBids {
    list: Vec<Reservation>,
}

/// Only lists up to this length offer their holes again.
const REUSED_UP_TO: usize = 3;

impl CommonBids {
    /// The reservations, in the order in which they were made.
    #[must_use]
    pub fn list(&self) -> &[Reservation] {
        &self.list
    }

    /// Removes useless holes: those at the end of the list, and those too short for a bid from `reach` on.
    pub fn expire(&mut self, reach: SimTime, bid: SimSpan) {
        while self.list.last().is_some_and(|last| last.state == State::Cancelled) {
            self.list.pop();
        }
        self.list.retain(|one| one.state != State::Cancelled || !too_short(one.window, reach, bid));
    }

    /// Makes a bid: a hole, or the time after all others. A hole is offered in full, regardless of its width.
    pub fn offer(&mut self, wanted: &Wanted) -> Window {
        if let Some(window) = self.reuse(wanted) {
            return window;
        }
        let idle = self.list.is_empty();
        let mut left = wanted.soonest;
        if let Some(last) = self.list.last() {
            left = left.max(last.window.right.saturating_add(wanted.trip));
        }
        left = left.max(wanted.from);
        if !wanted.disk_wait.is_zero() {
            left = left.max(wanted.now.saturating_add(wanted.disk_wait));
        }
        let window = Window::of(left, wanted.bid.saturating_add(wanted.bonus(idle)));
        self.list.push(Reservation { put: wanted.put, window, state: State::Tentative });
        self.assert_in_order();
        window
    }

    fn reuse(&mut self, wanted: &Wanted) -> Option<Window> {
        if !wanted.disk_wait.is_zero() || self.list.len() > REUSED_UP_TO {
            return None;
        }
        let hole = self.list.iter_mut().rev().find(|one| one.state == State::Cancelled)?;
        if too_short(hole.window, wanted.soonest, wanted.bid) {
            return None;
        }
        hole.put = wanted.put;
        hole.state = State::Tentative;
        Some(hole.window)
    }

    /// Accepts `window` as part of a bid. Adjacent holes grow by what is left over, if that is more than
    /// `least`.
    pub fn accept(&mut self, put: PutId, window: Window, least: SimSpan) -> bool {
        let Some(at) = self.find(put, State::Tentative) else { return false };
        self.list[at].state = State::Accepted;
        self.list[at].window = window;
        if let Some(next) = self.list.get_mut(at + 1)
            && next.state == State::Cancelled
            && next.window.left > window.right.saturating_add(least)
        {
            next.window.left = window.right;
        }
        if let Some(before) = at.checked_sub(1).map(|before| &mut self.list[before])
            && before.state == State::Cancelled
            && before.window.right.saturating_add(least) < window.left
        {
            before.window.right = window.left;
        }
        true
    }

    /// Cancels a bid: it becomes a hole, merged with adjacent holes.
    pub fn cancel(&mut self, put: PutId) -> bool {
        let Some(mut at) = self.find(put, State::Tentative) else { return false };
        self.list[at].state = State::Cancelled;
        if self.list.get(at + 1).is_some_and(|next| next.state == State::Cancelled) {
            self.list[at].window.right = self.list.remove(at + 1).window.right;
        }
        if at > 0 && self.list[at - 1].state == State::Cancelled {
            at -= 1;
            self.list[at].window.right = self.list.remove(at + 1).window.right;
        }
        self.assert_in_order();
        true
    }

    /// Removes a reservation because its data have arrived, or will never arrive.
    pub fn remove(&mut self, put: PutId) -> Option<Reservation> {
        let at = self.list.iter().position(|one| one.put == put && one.state != State::Cancelled)?;
        Some(self.list.remove(at))
    }

    /// Reservations are in the order in which they were made, and each begins no earlier than the one before.
    fn assert_in_order(&self) {
        let begins = |one: &Reservation| one.window.left;
        debug_assert!(self.list.is_sorted_by_key(begins), "reservations are out of order: {:?}", self.list);
        let lasts = |one: &Reservation| one.window.left <= one.window.right;
        debug_assert!(self.list.iter().all(lasts), "a reservation ends before it begins: {:?}", self.list);
    }

    fn find(&self, put: PutId, state: State) -> Option<usize> {
        self.list.iter().position(|one| one.put == put && one.state == state)
    }
}

/// Whether a hole begins before `reach` and has less than a bid left then.
fn too_short(hole: Window, reach: SimTime, bid: SimSpan) -> bool {
    hole.left < reach && hole.right < reach.saturating_add(bid)
}

#[cfg(test)]
mod tests {
    use super::super::overlapping;
    use super::*;
    use crate::GatewayId;

    fn wanted(number: u32, now: u64) -> Wanted {
        let (now, ns) = (SimTime::from_ns(now), SimSpan::from_ns);
        Wanted {
            put: PutId { gateway: GatewayId(0), number },
            now,
            from: now,
            soonest: now.saturating_add(ns(60)),
            disk_wait: SimSpan::ZERO,
            bid: ns(140),
            net: ns(100),
            trip: ns(10),
        }
    }

    fn span(window: Window) -> (u64, u64) {
        (window.left.as_ns(), window.right.as_ns())
    }

    #[test]
    fn an_idle_server_bids_wide_and_others_queue_behind() {
        let mut bids = CommonBids::default();
        assert_eq!(span(bids.offer(&wanted(1, 0))), (60, 400));
        assert_eq!(span(bids.offer(&wanted(2, 0))), (410, 550));
        let busy = Wanted { disk_wait: SimSpan::from_ns(900), ..wanted(3, 0) };
        assert_eq!(span(bids.offer(&busy)), (900, 1_040));
    }

    #[test]
    fn what_is_cancelled_is_offered_again() {
        let mut bids = CommonBids::default();
        let first = wanted(1, 0);
        bids.offer(&first);
        bids.offer(&wanted(2, 0));
        assert!(bids.cancel(first.put) && !bids.cancel(first.put));
        bids.expire(SimTime::from_ns(35), SimSpan::from_ns(140));
        assert_eq!(span(bids.offer(&wanted(3, 1))), (60, 400), "the hole, bonus and all");
        // Only its first part is accepted; the entry after it was no hole, so nothing grows.
        let taken = Window { left: SimTime::from_ns(60), right: SimTime::from_ns(170) };
        assert!(bids.accept(wanted(3, 1).put, taken, SimSpan::from_ns(24)));
        assert_eq!(bids.list().len(), 2);
        assert!(bids.cancel(wanted(2, 0).put));
        bids.expire(SimTime::from_ns(35), SimSpan::from_ns(140));
        assert_eq!(bids.list().len(), 1, "a hole at the end is forgotten");
        assert_eq!(span(bids.offer(&wanted(4, 2))), (180, 320));
        assert_eq!(bids.remove(wanted(3, 1).put).unwrap().window, taken);
        assert!(overlapping(bids.list()).is_none());
    }

    #[test]
    fn holes_beside_each_other_become_one() {
        let mut bids = CommonBids::default();
        for number in 1..=4 {
            bids.offer(&wanted(number, 0));
        }
        for number in [1, 3, 2] {
            assert!(bids.cancel(wanted(number, 0).put));
        }
        assert_eq!(bids.list().len(), 2);
        assert_eq!(span(bids.list()[0].window), (60, 700));
    }

    #[test]
    #[should_panic(expected = "reservations are out of order")]
    fn reservations_out_of_order_are_noticed() {
        let mut bids = CommonBids::default();
        (1..=3).for_each(|number| _ = bids.offer(&wanted(number, 0)));
        bids.list.swap(0, 1);
        bids.cancel(wanted(3, 0).put);
    }

    #[test]
    #[should_panic(expected = "a reservation ends before it begins")]
    fn a_reservation_that_ends_before_it_begins_is_noticed() {
        let mut bids = CommonBids::default();
        bids.offer(&wanted(1, 0));
        bids.list[0].window.right = SimTime::ZERO;
        bids.cancel(wanted(1, 0).put);
    }
}
