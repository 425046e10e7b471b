//! A two-level tree of token buckets, as in Linux's `htb` and in quotas for tenants: each flow has a bucket
//! under a common parent, and a request takes its cost from both. So no flow exceeds its rate, and all flows
//! together do not exceed the parent's.
//!
//! If the parent lends, a flow without tokens of its own may go on the parent's tokens alone, as long as no
//! flow with tokens of its own waits: unused shares are used, and only the parent's rate binds. The request
//! that has waited longest goes first.

use std::collections::{BTreeSet, VecDeque};

use towtank_units::SimTime;

use crate::bucket::Bucket;
use crate::room::Room;
use crate::tag::Tag;
use crate::{Discipline, Flows, NoMessage, Request};

/// The bucket above all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Parent {
    /// Units of cost per second, of all flows together; 0 sets no limit.
    pub rate: u64,
    /// The most that it holds; 0 stands for one second's worth.
    pub burst: u64,
    /// Whether tokens that some flows leave unused are lent to others.
    pub lends: bool,
}

/// Token buckets of flows under a common parent bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct BucketTree<T> {
    parent: Bucket,
    lends: bool,
    flows: Vec<Flow<T>>,
    /// Head requests with tokens of their own: arrival number and flow.
    ready: BTreeSet<(u64, u32)>,
    /// Head requests without: the instant at which they have them, and the flow.
    blocked: BTreeSet<(Tag, u32)>,
    /// The same heads by arrival number: the order of borrowing.
    borrowers: BTreeSet<(u64, u32)>,
    came: u64,
    alarm: Option<SimTime>,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    bucket: Bucket,
    /// With arrival numbers.
    waiting: VecDeque<(u64, Request<T>)>,
    /// When its head has tokens of its own.
    ready_at: Tag,
}

impl<T> BucketTree<T> {
    /// Rates and bursts of flows are those of their specs. Without a depth, the number in service is not
    /// bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, parent: Parent, flows: &Flows) -> BucketTree<T> {
        let flow = |bucket| Flow { bucket, waiting: VecDeque::new(), ready_at: Tag::ZERO };
        let buckets = flows.specs().iter().map(|spec| Bucket::new(spec.rate, spec.burst));
        BucketTree {
            parent: Bucket::new(parent.rate, parent.burst),
            lends: parent.lends,
            flows: buckets.map(flow).collect(),
            ready: BTreeSet::new(),
            blocked: BTreeSet::new(),
            borrowers: BTreeSet::new(),
            came: 0,
            alarm: None,
            room: Room::new(depth),
        }
    }

    /// Adds a flow's head to those that wait for tokens.
    fn lay(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        if let Some((came, head)) = flow.waiting.front() {
            flow.ready_at = flow.bucket.ready_at(head.cost);
            self.blocked.insert((flow.ready_at, number));
            self.borrowers.insert((*came, number));
        }
    }

    /// Moves the heads that have tokens of their own by now to `ready`.
    fn pass(&mut self, now: Tag) {
        while let Some(&(_, number)) = self.blocked.first().filter(|blocked| blocked.0 <= now) {
            self.blocked.pop_first();
            if let Some(&(came, _)) = self.flows[number as usize].waiting.front() {
                self.borrowers.remove(&(came, number));
                self.ready.insert((came, number));
            }
        }
    }

    /// The request that would go next if the parent had tokens: arrival number, flow, and whether on its own
    /// tokens.
    fn choose(&self) -> Option<(u64, u32, bool)> {
        let own = self.ready.first().map(|&(came, flow)| (came, flow, true));
        own.or(self.borrowers.first().filter(|_| self.lends).map(|&(came, flow)| (came, flow, false)))
    }
}

impl<T: Clone> Discipline for BucketTree<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        let was_empty = flow.waiting.is_empty();
        flow.waiting.push_back((self.came, request));
        self.came += 1;
        if was_empty {
            self.lay(number);
        }
    }

    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        self.alarm = None;
        if self.room.is_full() {
            return None;
        }
        let now = Tag::at(now);
        self.pass(now);
        let Some((came, number, own)) = self.choose() else {
            self.alarm = self.blocked.first().map(|blocked| blocked.0.instant());
            return None;
        };
        let flow = &mut self.flows[number as usize];
        let cost = flow.waiting.front()?.1.cost;
        let ready_at = self.parent.ready_at(cost);
        if ready_at > now {
            self.alarm = Some(ready_at.instant());
            return None;
        }
        let (_, request) = flow.waiting.pop_front()?;
        self.parent.take(now, cost);
        if own {
            flow.bucket.take(now, cost);
            self.ready.remove(&(came, number));
        } else {
            self.blocked.remove(&(flow.ready_at, number));
            self.borrowers.remove(&(came, number));
        }
        self.lay(number);
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
    }

    fn wake_at(&self) -> Option<SimTime> {
        self.alarm
    }

    fn wake(&mut self, now: SimTime) {
        self.alarm = self.alarm.filter(|&alarm| alarm > now);
    }

    /// Flow by flow.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| flow.waiting.iter().map(|waiting| &waiting.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowSpec;
    use crate::trial::{given, ms, push};

    fn tree(lends: bool) -> BucketTree<u32> {
        let flow = |rate, burst| FlowSpec { rate, burst, ..FlowSpec::default() };
        let parent = Parent { rate: 200, burst: 4, lends };
        BucketTree::new(None, parent, &Flows::new(vec![flow(100, 1), flow(1_000, 10)]))
    }

    /// The parent holds 4 and gains one every 5 ms; flow 0 holds 1 and gains one every 10 ms.
    #[test]
    fn the_parent_caps_all() {
        let mut tree = tree(false);
        (0..3).for_each(|item| push(&mut tree, 0, 1, item));
        (10..16).for_each(|item| push(&mut tree, 1, 1, item));
        assert_eq!((given(&mut tree, ms(0)), tree.wake_at()), (vec![0, 10, 11, 12], Some(ms(5))));
        assert_eq!(given(&mut tree, ms(5)), [13]);
        assert_eq!(given(&mut tree, ms(10)), [1]);
    }

    #[test]
    fn what_others_leave_is_lent_or_not() {
        for (lends, want, wake) in [(false, vec![0], 10), (true, vec![0, 1, 2, 3], 5)] {
            let mut tree = tree(lends);
            (0..6).for_each(|item| push(&mut tree, 0, 1, item));
            assert_eq!((given(&mut tree, ms(0)), tree.wake_at()), (want, Some(ms(wake))), "lends: {lends}");
        }
    }

    /// No flow borrows before the flows that have tokens of their own.
    #[test]
    fn who_has_his_own_goes_before_who_borrows() {
        let mut tree = tree(true);
        (0..3).for_each(|item| push(&mut tree, 0, 1, item));
        push(&mut tree, 1, 1, 10);
        assert_eq!(given(&mut tree, ms(0)), [0, 10, 1, 2]);
    }
}
