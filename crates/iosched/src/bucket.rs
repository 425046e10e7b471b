//! Token buckets: each flow gains tokens at a rate and holds at most a burst of them; a request takes its
//! cost. A flow with too few tokens waits; among the flows with enough, requests go in order of arrival. A
//! flow without a rate has no bucket.
//!
//! A bucket is stored as the instant at which it will be full, so that no fraction of a token is lost. A
//! request that costs more than the burst goes when the bucket is full, and leaves it in debt: the request is
//! served, and the rate holds over time.

use std::collections::{BTreeSet, VecDeque};

use towtank_units::SimTime;

use crate::room::Room;
use crate::tag::Tag;
use crate::{Discipline, Flows, NoMessage, Request};

/// A bucket that gains tokens at a rate, up to a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Bucket {
    /// Tokens per second; 0 for a bucket that is never empty.
    rate: u64,
    burst: u64,
    /// The instant at which the bucket is full.
    full_at: Tag,
}

impl Bucket {
    /// A full bucket. A burst of 0 stands for the tokens of one second.
    pub fn new(rate: u64, burst: u64) -> Bucket {
        let burst = if burst == 0 { rate } else { burst };
        Bucket { rate, burst, full_at: Tag::ZERO }
    }

    /// The first instant at which the cost can be taken.
    pub fn ready_at(&self, cost: u64) -> Tag {
        if self.rate == 0 {
            return Tag::ZERO;
        }
        let spare = Tag::span_of(self.burst - cost.min(self.burst), self.rate);
        self.full_at.minus(spare)
    }

    /// Takes the cost, whether the bucket holds enough or not.
    pub fn take(&mut self, now: Tag, cost: u64) {
        if self.rate > 0 {
            self.full_at = self.full_at.max(now).plus(Tag::span_of(cost, self.rate));
        }
    }
}

/// Token buckets, one per flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TokenBucket<T> {
    flows: Vec<Flow<T>>,
    /// Head requests that may go: arrival number and flow.
    ready: BTreeSet<(u64, u32)>,
    /// Head requests that lack tokens: the instant at which they have enough, and the flow.
    blocked: BTreeSet<(Tag, u32)>,
    came: u64,
    alarm: Option<SimTime>,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    bucket: Bucket,
    /// With arrival numbers.
    waiting: VecDeque<(u64, Request<T>)>,
}

impl<T> TokenBucket<T> {
    /// Rates and bursts are those of the flows, in units of cost. Without a depth, the number of requests in
    /// service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> TokenBucket<T> {
        let flow = |bucket| Flow { bucket, waiting: VecDeque::new() };
        let buckets = flows.specs().iter().map(|spec| Bucket::new(spec.rate, spec.burst));
        TokenBucket {
            flows: buckets.map(flow).collect(),
            ready: BTreeSet::new(),
            blocked: BTreeSet::new(),
            came: 0,
            alarm: None,
            room: Room::new(depth),
        }
    }

    /// Adds a flow's head to those that wait for tokens.
    fn lay(&mut self, number: u32) {
        let flow = &self.flows[number as usize];
        if let Some((_, head)) = flow.waiting.front() {
            self.blocked.insert((flow.bucket.ready_at(head.cost), number));
        }
    }
}

impl<T: Clone> Discipline for TokenBucket<T> {
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
        while let Some(&(_, number)) = self.blocked.first().filter(|blocked| blocked.0 <= now) {
            self.blocked.pop_first();
            self.ready.extend(self.flows[number as usize].waiting.front().map(|head| (head.0, number)));
        }
        let Some((_, number)) = self.ready.pop_first() else {
            self.alarm = self.blocked.first().map(|blocked| blocked.0.instant());
            return None;
        };
        let flow = &mut self.flows[number as usize];
        let (_, request) = flow.waiting.pop_front()?;
        debug_assert!(flow.bucket.ready_at(request.cost) <= now, "flow {number} goes without tokens");
        flow.bucket.take(now, request.cost);
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
}
