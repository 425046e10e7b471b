//! Checks that the trait of queue disciplines fits its purpose: one small discipline of each kind, in a line.

use std::collections::VecDeque;

use towtank_devices::{Broken, Line, Place};
use towtank_iosched::{Audience, Discipline, FlowId, NoMessage, Request, SchedulerId};
use towtank_units::{SimSpan, SimTime};

type Waiting = VecDeque<Request<u32>>;

fn at(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

fn request(flow: u32, cost: u64, item: u32) -> Request<u32> {
    Request::new(FlowId(flow), cost, item)
}

fn begun<D: Discipline<Item = u32>>(line: &mut Line<D>, now: SimTime) -> Vec<u32> {
    std::iter::from_fn(|| line.begin(now).map(|(_, request)| request.item)).collect()
}

/// At most `depth` requests in service, however many places there are: the depth of SFQ(D).
#[derive(Clone)]
struct Depth {
    depth: u32,
    in_service: u32,
    waiting: Waiting,
}

impl Discipline for Depth {
    type Item = u32;
    type Message = NoMessage;

    fn arrive(&mut self, _: SimTime, request: Request<u32>) {
        self.waiting.push_back(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<u32>> {
        let request = (self.in_service < self.depth).then(|| self.waiting.pop_front()).flatten()?;
        self.in_service += 1;
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<u32>) {
        self.in_service -= 1;
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<u32>> + '_> {
        Box::new(self.waiting.iter())
    }
}

#[test]
fn a_discipline_may_want_fewer_in_service_than_there_are_places() {
    let mut line = Line::new(Depth { depth: 2, in_service: 0, waiting: Waiting::new() }, 8);
    (0..4).for_each(|item| line.arrive(at(0), request(0, 1, item)));
    assert_eq!(begun(&mut line, at(0)), [0, 1]);
    assert_eq!(line.complete(at(5), Place(0)).map(|done| done.item), Some(0));
    assert_eq!(begun(&mut line, at(5)), [2]);
    assert_eq!(line.audit(), Ok::<(), Broken>(()));
}

/// The earliest deadline first; of equals, or without a deadline, the lower flow: deadlines over priority
/// classes.
#[derive(Clone, Default)]
struct Urgent(Waiting);

impl Discipline for Urgent {
    type Item = u32;
    type Message = NoMessage;

    fn arrive(&mut self, _: SimTime, request: Request<u32>) {
        self.0.push_back(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<u32>> {
        let urgency = |request: &Request<u32>| (request.due.unwrap_or(SimTime::MAX), request.flow);
        let first = (0..self.0.len()).min_by_key(|&place| urgency(&self.0[place]))?;
        self.0.remove(first)
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<u32>> + '_> {
        Box::new(self.0.iter())
    }
}

#[test]
fn deadlines_and_classes_decide() {
    let mut line = Line::new(Urgent::default(), 4);
    line.arrive(at(0), request(3, 1, 0));
    line.arrive(at(0), request(1, 1, 1));
    line.arrive(at(0), Request { due: Some(at(90)), ..request(7, 1, 2) });
    line.arrive(at(0), Request { due: Some(at(50)), ..request(9, 1, 3) });
    assert_eq!(begun(&mut line, at(0)), [3, 2, 1, 0]);
}

/// One token per nanosecond, up to ten; a request takes its cost in tokens.
#[derive(Clone)]
struct Tokens {
    held: u64,
    since: SimTime,
    waiting: Waiting,
}

impl Discipline for Tokens {
    type Item = u32;
    type Message = NoMessage;

    fn arrive(&mut self, _: SimTime, request: Request<u32>) {
        self.waiting.push_back(request);
    }

    fn next(&mut self, now: SimTime) -> Option<Request<u32>> {
        self.held = (self.held + now.since(self.since).as_ns()).min(10);
        self.since = now;
        let request = self.waiting.pop_front_if(|request| request.cost <= self.held)?;
        self.held -= request.cost;
        Some(request)
    }

    fn wake_at(&self) -> Option<SimTime> {
        let missing = self.waiting.front()?.cost.saturating_sub(self.held);
        Some(self.since.saturating_add(SimSpan::from_ns(missing)))
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<u32>> + '_> {
        Box::new(self.waiting.iter())
    }
}

#[test]
fn who_lacks_tokens_asks_to_be_woken_once() {
    let mut line = Line::new(Tokens { held: 10, since: at(0), waiting: Waiting::new() }, 4);
    line.arrive(at(0), request(0, 8, 0));
    line.arrive(at(0), request(0, 7, 1));
    assert_eq!(begun(&mut line, at(0)), [0]);
    assert_eq!(line.wake_at(at(0)), Some(at(5)));
    // Another request arrives meanwhile: no other wake-up is needed.
    line.arrive(at(2), request(0, 1, 2));
    assert!(begun(&mut line, at(2)).is_empty());
    assert_eq!(line.wake_at(at(2)), None);
    line.wake(at(5));
    assert_eq!(begun(&mut line, at(5)), [1]);
    assert_eq!(line.wake_at(at(5)), Some(at(6)));
    line.wake(at(6));
    assert_eq!(begun(&mut line, at(6)), [2]);
    assert_eq!(line.wake_at(at(6)), None);
}

/// Fair between two flows of unit weight over all schedulers: each tells the others what its flows received,
/// as DSFQ does.
#[derive(Clone, Default)]
struct Gossip {
    /// What each flow received, here and elsewhere.
    got: [u64; 2],
    unsent: VecDeque<(FlowId, u64)>,
    waiting: Waiting,
}

impl Discipline for Gossip {
    type Item = u32;
    type Message = (FlowId, u64);

    fn arrive(&mut self, _: SimTime, request: Request<u32>) {
        self.waiting.push_back(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<u32>> {
        let got = |request: &Request<u32>| self.got[request.flow.0 as usize];
        let first = (0..self.waiting.len()).min_by_key(|&place| got(&self.waiting[place]))?;
        let request = self.waiting.remove(first)?;
        self.got[request.flow.0 as usize] += request.cost;
        self.unsent.push_back((request.flow, request.cost));
        Some(request)
    }

    fn hear(&mut self, _: SimTime, _: SchedulerId, (flow, cost): (FlowId, u64)) {
        self.got[flow.0 as usize] += cost;
    }

    fn tell(&mut self) -> Option<(Audience, (FlowId, u64))> {
        self.unsent.pop_front().map(|message| (Audience::Others, message))
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<u32>> + '_> {
        Box::new(self.waiting.iter())
    }
}

#[test]
fn what_others_tell_decides_too() {
    let (mut here, mut there) = (Line::new(Gossip::default(), 2), Line::new(Gossip::default(), 2));
    // Flow 0 received all of one scheduler, where it was alone.
    (0..2).for_each(|item| there.arrive(at(0), request(0, 10, item)));
    assert_eq!(begun(&mut there, at(0)), [0, 1]);
    [(0, 2), (0, 3), (1, 4), (1, 5)]
        .into_iter()
        .for_each(|(flow, item)| here.arrive(at(0), request(flow, 10, item)));
    let mut uninformed = here.clone();
    while let Some((audience, message)) = there.tell() {
        assert_eq!(audience, Audience::Others);
        here.hear(at(1), SchedulerId(1), message);
    }
    // So at the other scheduler it waits for flow 1, which without the message would only have had its turn.
    assert_eq!(begun(&mut here, at(1)), [4, 5]);
    assert_eq!(begun(&mut uninformed, at(1)), [2, 4]);
}

#[test]
fn undo_by_clone_takes_a_line_back() {
    let mut line = Line::new(Tokens { held: 10, since: at(0), waiting: Waiting::new() }, 1);
    line.arrive(at(0), request(0, 4, 0));
    let before = line.clone();
    let first = (begun(&mut line, at(3)), line.wake_at(at(3)));
    let mut again = before;
    assert_eq!((begun(&mut again, at(3)), again.wake_at(at(3))), first);
}
