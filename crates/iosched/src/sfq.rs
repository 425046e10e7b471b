//! SFQ(D): start-time fair queueing with up to D requests in service (Jin, Chase and Kaur, SIGMETRICS 2004),
//! by the rules of PFSsim's scheduler of that name. The service of two backlogged flows, each over its
//! weight, differs by at most (D + 1)(c_f/w_f + c_g/w_g), where c is a flow's costliest request.
//!
//! It differs from [`crate::Fair`] at equal tags (flows take turns, instead of the lower flow first) and when
//! all is served (the virtual time stays).

use towtank_units::SimTime;

use crate::room::Room;
use crate::start_tags::StartTags;
use crate::{Discipline, Flows, NoMessage, Request};

/// Flows share in proportion to their weights, with a bound on the number in service.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Sfq<T> {
    tags: StartTags<T>,
    room: Room,
}

impl<T> Sfq<T> {
    /// Without a depth, the number in service is not bounded.
    ///
    /// # Panics
    /// When the depth or a weight is zero: some flow would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Sfq<T> {
        Sfq { tags: StartTags::new(flows), room: Room::new(depth) }
    }
}

impl<T: Clone> Discipline for Sfq<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        self.tags.arrive(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let request = self.tags.next()?;
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.tags.waiting())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{at, done, given, push, served};

    /// Section 1.13: weights 1 and 2, all requests of 12 units. Starts of flow 0: 0, 12, 24; of flow 1: 0, 6,
    /// 12, 18.
    #[test]
    fn tags_by_hand() {
        let mut sfq = Sfq::new(None, &Flows::weighted(&[1, 2]));
        (0..3).for_each(|item| push(&mut sfq, 0, 12, item));
        (10..14).for_each(|item| push(&mut sfq, 1, 12, item));
        assert_eq!(sfq.tags.head_tags(0), Some((0, 12)));
        assert_eq!(sfq.tags.head_tags(1), Some((0, 6)));
        // Both start at 0: flow 0 is first. Then 6; at 12 both again, and it is flow 0's turn.
        assert_eq!(given(&mut sfq, at(0)), [0, 10, 11, 1, 12, 13, 2]);
        assert_eq!(sfq.tags.virtual_time(), 24);
    }

    /// Of equal starts, the flow after the one that was served last goes first, not the lowest.
    #[test]
    fn ties_go_round() {
        let mut sfq = Sfq::new(Some(1), &Flows::equal(3));
        (0..3).for_each(|flow| push(&mut sfq, flow, 10, flow));
        assert_eq!(given(&mut sfq, at(0)), [0]);
        push(&mut sfq, 0, 10, 3);
        done(&mut sfq, at(0), 0, 10, 0);
        assert_eq!(served(&mut sfq), [1, 2, 3]);
        // All start at 10 now, and flow 0 was the last to be served.
        (0..3).for_each(|flow| push(&mut sfq, flow, 10, 10 + flow));
        assert_eq!(served(&mut sfq), [11, 12, 10]);
    }

    #[test]
    fn no_more_than_the_depth_are_in_service() {
        let mut sfq = Sfq::new(Some(2), &Flows::equal(1));
        (0..5).for_each(|item| push(&mut sfq, 0, 1, item));
        assert_eq!(given(&mut sfq, at(0)), [0, 1]);
        done(&mut sfq, at(1), 0, 1, 1);
        assert_eq!(given(&mut sfq, at(1)), [2]);
        assert_eq!(sfq.waiting().count(), 2);
    }

    /// The virtual time is not reset when all is served: a later request starts where the last one started.
    #[test]
    fn idling_resets_nothing() {
        let mut sfq = Sfq::new(None, &Flows::equal(2));
        (0..4).for_each(|item| push(&mut sfq, 0, 10, item));
        assert_eq!(served(&mut sfq), [0, 1, 2, 3]);
        push(&mut sfq, 1, 10, 9);
        assert_eq!(sfq.tags.head_tags(1), Some((30, 40)));
        push(&mut sfq, 0, 10, 4);
        assert_eq!(sfq.tags.head_tags(0), Some((40, 50)));
    }
}
