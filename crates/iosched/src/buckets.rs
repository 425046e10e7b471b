//! Token buckets of flows, alone or under a common parent: each flow gains tokens at a rate and holds at most
//! a burst of them; a request takes its cost. A flow with too few tokens waits; among the flows with enough,
//! requests go in order of arrival. A flow without a rate has no bucket.
//!
//! A bucket is stored as the instant at which it will be full, so that no fraction of a token is lost. A
//! request that costs more than the burst goes when the bucket is full, and leaves it in debt: the request is
//! served, and the rate holds over time.
//!
//! [`BucketTree`] has a parent above all flows, as in Linux's `htb` and in quotas for tenants, and a request
//! takes its cost from both. So no flow exceeds its rate, and all flows together do not exceed the parent's.
//! If the parent lends, a flow without tokens of its own may go on the parent's tokens alone, as long as no
//! flow with tokens of its own waits: unused shares are used, and only the parent's rate binds. The request
//! that has waited longest goes first.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

use towtank_units::SimTime;

use crate::room::Room;
use crate::tag::Tag;
use crate::{Discipline, Flows, NoMessage, Request};

/// A bucket that gains tokens at a rate, up to a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Bucket {
    /// Tokens per second; 0 for a bucket that is never empty.
    rate: u64,
    burst: u64,
    /// The instant at which the bucket is full.
    full_at: Tag,
}

impl Bucket {
    /// A full bucket. A burst of 0 stands for the tokens of one second.
    fn new(rate: u64, burst: u64) -> Bucket {
        let burst = if burst == 0 { rate } else { burst };
        Bucket { rate, burst, full_at: Tag::ZERO }
    }

    /// The first instant at which the cost can be taken.
    fn ready_at(&self, cost: u64) -> Tag {
        if self.rate == 0 {
            return Tag::ZERO;
        }
        let spare = Tag::span_of(self.burst - cost.min(self.burst), self.rate);
        self.full_at.minus(spare)
    }

    /// Takes the cost, whether the bucket holds enough or not.
    fn take(&mut self, now: Tag, cost: u64) {
        if self.rate > 0 {
            self.full_at = self.full_at.max(now).plus(Tag::span_of(cost, self.rate));
        }
    }
}

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

/// Token buckets, one per flow.
pub type TokenBucket<T> = Buckets<false, T>;

/// Token buckets of flows under a common parent bucket.
pub type BucketTree<T> = Buckets<true, T>;

/// Flows with a bucket each. Only a `TREE` has a parent; elsewhere that sets no limit and lends nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Buckets<const TREE: bool, T> {
    parent: Bucket,
    lends: bool,
    flows: Vec<Flow<T>>,
    /// Head requests with tokens of their own: arrival number and flow.
    ready: BTreeSet<(u64, u32)>,
    /// Head requests without: the instant at which they have them, and the flow.
    blocked: BTreeSet<(Tag, u32)>,
    /// The same heads by arrival number, in a tree: the order of borrowing.
    borrowers: BTreeSet<(u64, u32)>,
    came: u64,
    alarm: Option<SimTime>,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    bucket: Bucket,
    /// With arrival numbers.
    waiting: VecDeque<(u64, Request<T>)>,
    /// When its head has tokens of its own.
    ready_at: Tag,
}

/// Without what only a tree needs, where there is none: digests of runs do not depend on it.
impl<const TREE: bool, T: Hash> Hash for Buckets<TREE, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if TREE {
            (self.parent, self.lends).hash(state);
        }
        self.flows.len().hash(state);
        for flow in &self.flows {
            (flow.bucket, &flow.waiting).hash(state);
            if TREE {
                flow.ready_at.hash(state);
            }
        }
        (&self.ready, &self.blocked).hash(state);
        if TREE {
            self.borrowers.hash(state);
        }
        (self.came, self.alarm, self.room).hash(state);
    }
}

impl<T> TokenBucket<T> {
    /// Rates and bursts are those of the flows, in units of cost. Without a depth, the number of requests in
    /// service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> TokenBucket<T> {
        Buckets::under(Parent { rate: 0, burst: 0, lends: false }, depth, flows)
    }
}

impl<T> BucketTree<T> {
    /// Rates and bursts of flows are those of their specs. Without a depth, the number in service is not
    /// bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, parent: Parent, flows: &Flows) -> BucketTree<T> {
        Buckets::under(parent, depth, flows)
    }
}

impl<const TREE: bool, T> Buckets<TREE, T> {
    fn under(parent: Parent, depth: Option<u32>, flows: &Flows) -> Buckets<TREE, T> {
        let flow = |bucket| Flow { bucket, waiting: VecDeque::new(), ready_at: Tag::ZERO };
        let buckets = flows.specs().iter().map(|spec| Bucket::new(spec.rate, spec.burst));
        Buckets {
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
            if TREE {
                self.borrowers.insert((*came, number));
            }
        }
    }

    /// Moves the heads that have tokens of their own by now to `ready`.
    fn pass(&mut self, now: Tag) {
        while let Some(&(_, number)) = self.blocked.first().filter(|blocked| blocked.0 <= now) {
            self.blocked.pop_first();
            if let Some(&(came, _)) = self.flows[number as usize].waiting.front() {
                if TREE {
                    self.borrowers.remove(&(came, number));
                }
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

impl<const TREE: bool, T: Clone> Discipline for Buckets<TREE, T> {
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
            debug_assert!(flow.bucket.ready_at(cost) <= now, "flow {number} goes without tokens");
            flow.bucket.take(now, cost);
            self.ready.pop_first();
        } else {
            self.blocked.remove(&(flow.ready_at, number));
            self.borrowers.remove(&(came, number));
        }
        self.lay(number);
        let waiting = || self.flows.iter().filter(|flow| !flow.waiting.is_empty()).count();
        debug_assert_eq!(self.ready.len() + self.blocked.len(), waiting(), "heads, and flows that wait");
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
    use crate::trial::{at, given, ms, push, request};

    fn flow(rate: u64, burst: u64) -> FlowSpec {
        FlowSpec { rate, burst, ..FlowSpec::default() }
    }

    /// 1,000 tokens per second, at most 50: at time 0 five requests of 10 go, then one every 10 ms; after a
    /// pause, five again.
    #[test]
    fn tokens_by_hand() {
        let mut bucket = TokenBucket::new(None, &Flows::new(vec![flow(1_000, 50)]));
        (0..30).for_each(|item| push(&mut bucket, 0, 10, item));
        assert_eq!((given(&mut bucket, ms(0)), bucket.wake_at()), (vec![0, 1, 2, 3, 4], Some(ms(10))));
        assert_eq!((given(&mut bucket, ms(25)), bucket.wake_at()), (vec![5, 6], Some(ms(30))));
        assert_eq!(given(&mut bucket, ms(30)), [7]);
        assert_eq!((given(&mut bucket, ms(1_000)).len(), bucket.wake_at()), (5, Some(ms(1_010))));
    }

    /// A request of 120 with a burst of 50 goes when the bucket is full, and the next one waits until the
    /// debt is paid.
    #[test]
    fn a_large_request_leaves_a_debt() {
        let mut bucket = TokenBucket::new(None, &Flows::new(vec![flow(1_000, 50)]));
        [120, 10, 60].iter().zip(0..).for_each(|(&cost, item)| push(&mut bucket, 0, cost, item));
        assert_eq!((given(&mut bucket, ms(0)), bucket.wake_at()), (vec![0], Some(ms(80))));
        assert_eq!((given(&mut bucket, ms(80)), bucket.wake_at()), (vec![1], Some(ms(130))));
        assert_eq!(given(&mut bucket, ms(130)), [2]);
    }

    #[test]
    fn who_has_tokens_goes_in_order_of_coming() {
        let mut bucket = TokenBucket::new(Some(2), &Flows::new(vec![flow(100, 1), flow(0, 0)]));
        for (item, flow) in (0..).zip([0, 0, 1, 1]) {
            push(&mut bucket, flow, 1, item);
        }
        assert_eq!((given(&mut bucket, at(0)), bucket.wake_at()), (vec![0, 2], None));
        bucket.complete(ms(10), &request(0, 1, 0));
        bucket.complete(ms(10), &request(1, 1, 2));
        assert_eq!(given(&mut bucket, ms(10)), [1, 3]);
    }

    #[test]
    #[should_panic(expected = "heads, and flows that wait")]
    fn a_flow_that_lost_its_head_is_noticed() {
        let mut bucket = TokenBucket::new(None, &Flows::equal(2));
        (0..4).for_each(|item| crate::trial::push(&mut bucket, item % 2, 10, item));
        bucket.blocked.pop_last();
        let _ = crate::trial::served(&mut bucket);
    }

    fn tree(lends: bool) -> BucketTree<u32> {
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
