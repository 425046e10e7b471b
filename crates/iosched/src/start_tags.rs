//! Requests in order of start tags, each flow's in order of arrival: the common part of start-time fair
//! queueing and its variants.
//!
//! Section 1.13 of the study's reference, after Jin, Chase and Kaur (SIGMETRICS 2004): a request starts at
//! the finish of its flow's previous request, or at the virtual time if that is later and the flow had
//! nothing queued; its finish is its start plus its cost over the flow's weight. The least start goes first;
//! of equal ones, the first flow after the one that was served last, cyclically. The virtual time is the
//! start of the last request given. It never goes back and is never reset.
//!
//! Only the head of a queue has a start; the others keep their length and get their start when the one before
//! them goes. So moving a tag moves all tags behind it. Flows lie in an ordered set by the starts of their
//! heads: the time per request grows with the logarithm of the number of flows.

use std::collections::{BTreeSet, VecDeque};

use crate::tag::Tag;
use crate::{FlowId, Flows, Request};

/// Requests of several flows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct StartTags<T> {
    flows: Vec<Flow<T>>,
    /// The start of each flow's head, and the flow.
    heads: BTreeSet<(Tag, u32)>,
    virtual_time: Tag,
    /// The flow after the one that was served last; it goes first among equal tags.
    turn: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    weight: u64,
    /// With the distance from start to finish.
    waiting: VecDeque<(Tag, Request<T>)>,
    /// The start of the head, if anything waits.
    start: Tag,
    /// The finish of the last request given.
    finish: Tag,
}

impl<T> StartTags<T> {
    /// # Panics
    /// When a weight is zero.
    pub fn new(flows: &Flows) -> StartTags<T> {
        let flow = |weight| Flow {
            weight: u64::from(weight),
            waiting: VecDeque::new(),
            start: Tag::ZERO,
            finish: Tag::ZERO,
        };
        StartTags {
            flows: flows.weights().map(flow).collect(),
            heads: BTreeSet::new(),
            virtual_time: Tag::ZERO,
            turn: 0,
        }
    }

    /// # Panics
    /// When the flow of the request is unknown.
    pub fn arrive(&mut self, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        let length = Tag::of(request.cost, flow.weight);
        if flow.waiting.is_empty() {
            flow.start = flow.finish.max(self.virtual_time);
            self.heads.insert((flow.start, number));
        }
        flow.waiting.push_back((length, request));
        self.assert_heads();
    }

    /// Checks that each flow that waits has one head, and no other flow has one.
    fn assert_heads(&self) {
        let waiting = || self.flows.iter().filter(|flow| !flow.waiting.is_empty()).count();
        debug_assert_eq!(self.heads.len(), waiting(), "heads, and flows that wait");
    }

    /// The flow that is next, without giving its request.
    pub fn first(&self) -> Option<FlowId> {
        let &(start, _) = self.heads.first()?;
        let after = self.heads.range((start, self.turn)..=(start, u32::MAX)).next();
        after.or(self.heads.first()).map(|&(_, flow)| FlowId(flow))
    }

    pub fn next(&mut self) -> Option<Request<T>> {
        let flow = self.first()?;
        self.take(flow)
    }

    /// Gives the head of a flow, even if another flow is first.
    pub fn take(&mut self, flow: FlowId) -> Option<Request<T>> {
        let number = flow.0;
        let flow = &mut self.flows[number as usize];
        let (length, request) = flow.waiting.pop_front()?;
        let was_head = self.heads.remove(&(flow.start, number));
        assert!(was_head, "flow {number} waits and is not among the heads");
        self.virtual_time = self.virtual_time.max(flow.start);
        self.turn = number.wrapping_add(1);
        flow.finish = flow.start.plus(length);
        if !flow.waiting.is_empty() {
            flow.start = flow.finish;
            self.heads.insert((flow.start, number));
        }
        self.assert_heads();
        Some(request)
    }

    /// Whether the flow has nothing queued.
    pub fn is_empty(&self, flow: FlowId) -> bool {
        self.flows[flow.0 as usize].waiting.is_empty()
    }

    /// Heads in the order in which they would go.
    pub fn heads(&self) -> impl Iterator<Item = &Request<T>> {
        self.heads
            .iter()
            .filter_map(|&(_, flow)| self.flows[flow as usize].waiting.front().map(|head| &head.1))
    }

    /// Service elsewhere delays the flow's next arrival: its last queued request, or its finish, ends later.
    pub(crate) fn delay_tail(&mut self, flow: FlowId, cost: u64) {
        let flow = &mut self.flows[flow.0 as usize];
        let delay = Tag::of(cost, flow.weight);
        match flow.waiting.back_mut() {
            Some((length, _)) => *length = length.plus(delay),
            None => flow.finish = flow.finish.plus(delay),
        }
    }

    /// Service elsewhere delays all that the flow has queued, or its finish.
    pub(crate) fn delay_head(&mut self, flow: FlowId, cost: u64) {
        self.move_head(flow, |start, length| start.plus(length), cost);
    }

    /// A credit of the flow advances all that it has queued.
    pub(crate) fn advance_head(&mut self, flow: FlowId, cost: u64) {
        self.move_head(flow, Tag::minus, cost);
    }

    fn move_head(&mut self, flow: FlowId, moved: impl Fn(Tag, Tag) -> Tag, cost: u64) {
        let number = flow.0;
        let flow = &mut self.flows[number as usize];
        let length = Tag::of(cost, flow.weight);
        if flow.waiting.is_empty() {
            flow.finish = moved(flow.finish, length);
            return;
        }
        let was_head = self.heads.remove(&(flow.start, number));
        assert!(was_head, "flow {number} is moved and is not among the heads");
        flow.start = moved(flow.start, length);
        self.heads.insert((flow.start, number));
    }

    /// Flow by flow, each in order of arrival.
    pub fn waiting(&self) -> impl Iterator<Item = &Request<T>> {
        self.flows.iter().flat_map(|flow| flow.waiting.iter().map(|waiting| &waiting.1))
    }

    /// The start and finish of a flow's head, in whole units.
    #[cfg(test)]
    pub(crate) fn head_tags(&self, flow: u32) -> Option<(u64, u64)> {
        let flow = &self.flows[flow as usize];
        let (length, _) = flow.waiting.front()?;
        Some((flow.start.whole(), flow.start.plus(*length).whole()))
    }

    /// In whole units.
    #[cfg(test)]
    pub(crate) fn virtual_time(&self) -> u64 {
        self.virtual_time.whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::request;

    fn tags(weights: &[u32], costs: &[(u32, u64)]) -> StartTags<u32> {
        let mut tags = StartTags::new(&Flows::weighted(weights));
        (0u32..).zip(costs).for_each(|(item, &(flow, cost))| tags.arrive(request(flow, cost, item)));
        tags
    }

    /// A flow of twice the weight goes twice as often, and virtual time follows the start tags.
    #[test]
    fn start_tags_decide() {
        let mut tags = tags(&[2, 1], &[(0, 10), (0, 10), (0, 10), (1, 10), (1, 10)]);
        assert_eq!((tags.head_tags(0), tags.head_tags(1)), (Some((0, 5)), Some((0, 10))));
        let mut seen = Vec::new();
        while let Some(request) = tags.next() {
            seen.push((request.item, tags.virtual_time()));
        }
        assert_eq!(seen, [(0, 0), (3, 0), (1, 5), (4, 10), (2, 10)]);
        assert!(tags.is_empty(FlowId(0)) && tags.first().is_none());
        // A request that arrives when all is served begins at that time.
        tags.arrive(request(1, 10, 9));
        assert_eq!(tags.head_tags(1), Some((20, 30)));
    }

    #[test]
    fn heads_are_moved_by_their_length() {
        let mut tags = tags(&[2, 1], &[(0, 10), (1, 10)]);
        tags.delay_head(FlowId(0), 20);
        assert_eq!(tags.head_tags(0), Some((10, 15)));
        assert_eq!(tags.first(), Some(FlowId(1)));
        tags.advance_head(FlowId(0), 20);
        assert_eq!(tags.head_tags(0), Some((0, 5)));
        tags.delay_tail(FlowId(0), 10);
        assert_eq!(tags.head_tags(0), Some((0, 10)));
        assert_eq!(tags.heads().count(), 2);
        assert_eq!(tags.waiting().map(|request| request.cost).sum::<u64>(), 20);
    }

    #[test]
    #[should_panic(expected = "heads, and flows that wait")]
    fn a_flow_that_lost_its_head_is_noticed() {
        let mut tags = tags(&[1, 1], &[(0, 10), (1, 10)]);
        tags.heads.pop_last();
        tags.arrive(request(0, 10, 2));
    }

    #[test]
    #[should_panic(expected = "flow 1 is moved and is not among the heads")]
    fn a_head_that_is_moved_is_there() {
        let mut tags = tags(&[1, 1], &[(0, 10), (1, 10)]);
        tags.heads.pop_last();
        tags.delay_head(FlowId(1), 5);
    }

    #[test]
    #[should_panic(expected = "flow 1 waits and is not among the heads")]
    fn a_flow_that_is_taken_without_its_head_breaks_a_law() {
        let mut tags = tags(&[1, 1], &[(0, 10), (1, 10)]);
        tags.heads.pop_last();
        let _ = tags.take(FlowId(1));
    }
}
