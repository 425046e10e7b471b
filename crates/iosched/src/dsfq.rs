//! Distributed start-time fair queueing: several schedulers, each in front of its own server, tell each other
//! how much service flows got, and delay a flow's tags by the service that it got elsewhere. So a flow's
//! share of all servers together follows its weight.
//!
//! The idea is from Wang and Merchant (FAST 2007); the rules are those of PFSsim's DSFQA, DSFQD, DSFQF,
//! DSFQATB and DSFQALB (section 1.13 of the study's reference), which differ in what is reported and when
//! ([`Report`]). A report adds to the last tag of a flow or, where completions are reported, to its first.
//! Every scheduler receives every report: totals of flows, whichever servers their data lies on. Order and
//! depth are those of [`crate::Sfq`].

use std::collections::{BTreeMap, VecDeque};

use towtank_units::{SimSpan, SimTime};

use crate::room::Room;
use crate::start_tags::StartTags;
use crate::{Audience, Discipline, FlowId, Flows, Request, SchedulerId};

/// The message between schedulers: the service that each named flow got, in units of cost.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Lengths(pub Vec<(FlowId, u64)>);

/// What a scheduler reports to the others, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Report {
    /// DSFQA: each arrival, at once.
    Arrivals,
    /// DSFQD: each dispatch, before the request is sent on.
    Dispatches,
    /// DSFQF: each completion. A receiver moves the flow's first tag, not its last.
    Completions,
    /// DSFQATB: the sums of arrivals, at whole multiples of a period; no message when nothing arrived.
    ArrivalsEvery(SimSpan),
    /// DSFQALB: the sums of arrivals, as soon as the sum of one flow reaches this many units of cost.
    ArrivalsOf(u64),
}

/// SFQ(D) that receives reports of the service that flows get elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Dsfq<T> {
    tags: StartTags<T>,
    room: Room,
    report: Report,
    /// The cost that has arrived since sums were last sent.
    sums: BTreeMap<FlowId, u64>,
    /// When the sums are to be sent.
    send_at: Option<SimTime>,
    unsent: VecDeque<Lengths>,
}

impl<T> Dsfq<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth, a weight, or the period or load of the report is zero.
    #[must_use]
    pub fn new(depth: Option<u32>, report: Report, flows: &Flows) -> Dsfq<T> {
        let empty = matches!(report, Report::ArrivalsEvery(SimSpan::ZERO) | Report::ArrivalsOf(0));
        assert!(!empty, "sums that are sent for every nothing never end");
        Dsfq {
            tags: StartTags::new(flows),
            room: Room::new(depth),
            report,
            sums: BTreeMap::new(),
            send_at: None,
            unsent: VecDeque::new(),
        }
    }

    fn send(&mut self, request: &Request<T>) {
        self.unsent.push_back(Lengths(vec![(request.flow, request.cost)]));
    }

    fn send_sums(&mut self) {
        self.send_at = None;
        let sums = std::mem::take(&mut self.sums);
        if !sums.is_empty() {
            self.unsent.push_back(Lengths(sums.into_iter().collect()));
        }
    }

    fn send_sums_if_due(&mut self, now: SimTime) {
        if self.send_at.is_some_and(|at| at <= now) {
            self.send_sums();
        }
    }

    /// Adds an arrival to the sums, and returns the sum of its flow.
    fn add(&mut self, request: &Request<T>) -> u64 {
        let sum = self.sums.entry(request.flow).or_default();
        *sum = sum.saturating_add(request.cost);
        *sum
    }
}

/// The first multiple of a period after an instant.
fn tick_after(now: SimTime, period: SimSpan) -> SimTime {
    let ticks = now.as_ns() / period.as_ns() + 1;
    SimTime::from_ns(ticks.saturating_mul(period.as_ns()))
}

impl<T: Clone> Discipline for Dsfq<T> {
    type Item = T;
    type Message = Lengths;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        match self.report {
            Report::Arrivals => self.send(&request),
            Report::Dispatches | Report::Completions => (),
            Report::ArrivalsEvery(period) => {
                self.send_sums_if_due(now);
                self.add(&request);
                self.send_at.get_or_insert(tick_after(now, period));
            }
            Report::ArrivalsOf(load) => {
                if self.add(&request) >= load {
                    self.send_sums();
                }
            }
        }
        self.tags.arrive(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let request = self.tags.next()?;
        self.room.take();
        if self.report == Report::Dispatches {
            self.send(&request);
        }
        Some(request)
    }

    fn complete(&mut self, _: SimTime, served: &Request<T>) {
        self.room.release();
        if self.report == Report::Completions {
            self.send(served);
        }
    }

    fn wake_at(&self) -> Option<SimTime> {
        self.send_at
    }

    fn wake(&mut self, now: SimTime) {
        self.send_sums_if_due(now);
    }

    /// # Panics
    /// When the message names an unknown flow.
    fn hear(&mut self, _: SimTime, _: SchedulerId, message: Lengths) {
        for (flow, cost) in message.0 {
            match self.report {
                Report::Completions => self.tags.delay_head(flow, cost),
                _ => self.tags.delay_tail(flow, cost),
            }
        }
    }

    fn tell(&mut self) -> Option<(Audience, Lengths)> {
        self.unsent.pop_front().map(|lengths| (Audience::Others, lengths))
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.tags.waiting())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{at, done, given, ms, push, request, served};

    fn dsfq(report: Report) -> Dsfq<u32> {
        Dsfq::new(Some(2), report, &Flows::weighted(&[1, 2]))
    }

    fn messages(dsfq: &mut Dsfq<u32>) -> Vec<Vec<(u32, u64)>> {
        let lengths = |(audience, message): (Audience, Lengths)| {
            assert_eq!(audience, Audience::Others);
            message.0.into_iter().map(|(flow, cost)| (flow.0, cost)).collect()
        };
        std::iter::from_fn(|| dsfq.tell().map(lengths)).collect()
    }

    fn hear(dsfq: &mut Dsfq<u32>, flow: u32, cost: u64) {
        dsfq.hear(at(0), SchedulerId(7), Lengths(vec![(FlowId(flow), cost)]));
    }

    #[test]
    fn arrivals_dispatches_and_completions_are_sent_when_they_happen() {
        for (report, want) in [
            (Report::Arrivals, [vec![vec![(1, 10)]], vec![], vec![]]),
            (Report::Dispatches, [vec![], vec![vec![(1, 10)]], vec![]]),
            (Report::Completions, [vec![], vec![], vec![vec![(1, 10)]]]),
        ] {
            let mut dsfq = dsfq(report);
            push(&mut dsfq, 1, 10, 0);
            let on_arrival = messages(&mut dsfq);
            assert_eq!(given(&mut dsfq, at(1)), [0]);
            let on_dispatch = messages(&mut dsfq);
            done(&mut dsfq, at(2), 1, 10, 0);
            assert_eq!([on_arrival, on_dispatch, messages(&mut dsfq)], want, "{report:?}");
        }
    }

    /// Receiver of A and D: a report adds L/w to the finish of an empty flow, and to the last finish of a
    /// queued flow. Flow 1 has weight 2.
    #[test]
    fn reports_of_arrivals_move_the_last_tag() {
        for report in [Report::Arrivals, Report::Dispatches] {
            let mut dsfq = dsfq(report);
            hear(&mut dsfq, 1, 40);
            push(&mut dsfq, 1, 10, 0);
            assert_eq!(dsfq.tags.head_tags(1), Some((20, 25)), "{report:?}");
            hear(&mut dsfq, 1, 40);
            // The head keeps its start, so it is not delayed; the requests behind it are.
            assert_eq!(dsfq.tags.head_tags(1), Some((20, 45)));
            push(&mut dsfq, 1, 10, 1);
            push(&mut dsfq, 0, 30, 2);
            push(&mut dsfq, 0, 30, 3);
            assert_eq!(served(&mut dsfq), [2, 0, 3, 1]);
        }
    }

    /// Receiver of F: an empty flow's finish grows; a queued flow's head starts and finishes later, and so do
    /// all requests behind it.
    #[test]
    fn reports_of_completions_move_the_first_tag() {
        let mut dsfq = dsfq(Report::Completions);
        push(&mut dsfq, 1, 10, 0);
        push(&mut dsfq, 1, 10, 1);
        hear(&mut dsfq, 1, 40);
        assert_eq!(dsfq.tags.head_tags(1), Some((20, 25)));
        hear(&mut dsfq, 0, 22);
        push(&mut dsfq, 0, 10, 2);
        assert_eq!(dsfq.tags.head_tags(0), Some((22, 32)));
        // Starts: 20, then 25 by re-basing, against 22.
        assert_eq!(served(&mut dsfq), [0, 2, 1]);
    }

    #[test]
    fn sums_by_time_are_sent_at_multiples_of_the_period() {
        let mut dsfq = dsfq(Report::ArrivalsEvery(SimSpan::from_ms(100)));
        assert_eq!(dsfq.wake_at(), None);
        dsfq.arrive(ms(130), request(0, 10, 0));
        dsfq.arrive(ms(150), request(1, 5, 1));
        dsfq.arrive(ms(199), request(0, 7, 2));
        assert_eq!((dsfq.wake_at(), messages(&mut dsfq)), (Some(ms(200)), vec![]));
        dsfq.wake(ms(180));
        assert_eq!(messages(&mut dsfq), Vec::<Vec<_>>::new());
        dsfq.wake(ms(200));
        assert_eq!(messages(&mut dsfq), [[(0, 17), (1, 5)]]);
        assert_eq!(dsfq.wake_at(), None);
        // A scheduler that was not woken in time sends the sums that were due before it adds to them.
        dsfq.arrive(ms(201), request(0, 1, 3));
        dsfq.arrive(ms(400), request(0, 2, 4));
        assert_eq!((messages(&mut dsfq), dsfq.wake_at()), (vec![vec![(0, 1)]], Some(ms(500))));
    }

    #[test]
    fn sums_by_load_are_sent_when_one_flow_reaches_it() {
        let mut dsfq = dsfq(Report::ArrivalsOf(100));
        push(&mut dsfq, 0, 99, 0);
        push(&mut dsfq, 1, 60, 1);
        assert_eq!(messages(&mut dsfq), Vec::<Vec<_>>::new());
        push(&mut dsfq, 0, 1, 2);
        assert_eq!(messages(&mut dsfq), [[(0, 100), (1, 60)]]);
        push(&mut dsfq, 1, 60, 3);
        assert_eq!(messages(&mut dsfq), Vec::<Vec<_>>::new());
    }
}
