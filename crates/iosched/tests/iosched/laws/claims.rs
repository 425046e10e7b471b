//! Claims of flows in mClock: a flow that has requests waiting or in service keeps its claim, one that was
//! idle has none, and weights are relative. Planted counterparts break each: a scheduler that calls a flow
//! idle when none of its requests waits, and one that remembers claims for five minutes.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use towtank_iosched::{AtLimit, Discipline, FlowId, FlowSpec, Flows, Mclock, NoMessage, Request};
use towtank_units::{SimSpan, SimTime};

use super::server::{Job, Step, run};

/// Units of cost per second and slot.
const RATE: u64 = 1_000_000;

/// A flow of clients that each send their next request when the last one is done, after a pause.
#[derive(Clone, Debug)]
struct Clients {
    weight: u32,
    count: usize,
    costs: Vec<u64>,
    pause_ns: u64,
}

/// A request that was given, and the cost of the head of each flow at that instant, if it had one.
struct Given {
    flow: usize,
    heads: Vec<Option<u64>>,
}

/// Serves the clients in this many slots, and returns what was given, in order.
fn serve(mut discipline: impl Discipline<Item = u32>, flows: &[Clients], slots: usize) -> Vec<Given> {
    let mut waits: Vec<VecDeque<u64>> = vec![VecDeque::new(); flows.len()];
    let mut sent = vec![0; flows.len()];
    let mut comes: BTreeMap<(u64, usize), usize> = BTreeMap::new();
    let starts = flows.iter().enumerate().flat_map(|(flow, one)| std::iter::repeat_n(flow, one.count));
    comes.extend(starts.enumerate().map(|(number, flow)| ((0, number), flow)));
    let mut serving: BTreeMap<(u64, usize), Request<u32>> = BTreeMap::new();
    let (mut number, mut given) = (comes.len(), Vec::new());
    while given.len() < 400 {
        let first = comes.keys().next().into_iter().chain(serving.keys().next()).min();
        let now_ns = first.expect("clients never end").0;
        let now = SimTime::from_ns(now_ns);
        while let Some(done) = serving.first_entry().filter(|done| done.key().0 == now_ns) {
            let request = done.remove();
            discipline.complete(now, &request);
            let flow = request.flow.0 as usize;
            number += 1;
            comes.insert((now_ns + flows[flow].pause_ns, number), flow);
        }
        while let Some(one) = comes.first_entry().filter(|one| one.key().0 == now_ns) {
            let flow = one.remove();
            let cost = flows[flow].costs[sent[flow] % flows[flow].costs.len()];
            sent[flow] += 1;
            waits[flow].push_back(cost);
            discipline.arrive(now, Request::new(FlowId(flow as u32), cost, 0));
        }
        while serving.len() < slots {
            let heads = waits.iter().map(|costs| costs.front().copied()).collect();
            let Some(request) = discipline.next(now) else { break };
            let flow = request.flow.0 as usize;
            waits[flow].pop_front();
            number += 1;
            serving.insert((now_ns + request.cost * 1_000_000_000 / RATE, number), request);
            given.push(Given { flow, heads });
        }
    }
    given
}

fn weighted(flows: &[Clients]) -> Flows {
    Flows::weighted(&flows.iter().map(|flow| flow.weight).collect::<Vec<_>>())
}

/// Of flows that have always had requests waiting or in service, the next is the one with the least service,
/// its head included, over its weight: no claim was changed.
fn keeps_claims(given: &[Given], flows: &[Clients]) -> Result<(), String> {
    let mut got = vec![0_u64; flows.len()];
    for (index, one) in given.iter().enumerate() {
        let after = |flow: usize| {
            one.heads[flow].map(|cost| (got[flow] + cost) as f64 / f64::from(flows[flow].weight))
        };
        let own = after(one.flow).expect("a flow that is served has a head");
        let least = (0..flows.len()).filter_map(after).fold(f64::INFINITY, f64::min);
        if own > least * (1.0 + 1e-9) {
            return Err(format!(
                "request {index} is of flow {} at {own}, and another is at {least}",
                one.flow
            ));
        }
        got[one.flow] += one.heads[one.flow].unwrap_or(0);
    }
    Ok(())
}

fn clients(pause_ns: impl Strategy<Value = u64> + Clone) -> impl Strategy<Value = Vec<Clients>> {
    let costs = prop::collection::vec(1_u64..2_000, 1..9);
    let one = (1_u32..64, 1_usize..9, costs, pause_ns).prop_map(|(weight, count, costs, pause_ns)| Clients {
        weight,
        count,
        costs,
        pause_ns,
    });
    prop::collection::vec(one, 2..=4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever the idle age: zero is the default.
    #[test]
    fn a_flow_with_requests_in_service_keeps_its_claim(
        flows in clients(Just(0)), slots in 1_usize..9, idle_after in prop::sample::select(vec![0_u64, 1, 300]),
    ) {
        let mclock = Mclock::new(Some(slots as u32), AtLimit::Wait, &weighted(&flows));
        let given = serve(mclock.idle_after(SimSpan::from_secs(idle_after)), &flows, slots);
        prop_assert_eq!(keeps_claims(&given, &flows), Ok(()));
    }

    /// All weights a million times as high: the same service, although their sum is far above the throughput.
    #[test]
    fn weights_are_relative(flows in clients(0_u64..3_000_000), slots in 1_usize..5) {
        let higher: Vec<Clients> =
            flows.iter().map(|flow| Clients { weight: flow.weight * 1_000_000, ..flow.clone() }).collect();
        let counts = |flows: &[Clients]| {
            let given = serve(Mclock::new(Some(slots as u32), AtLimit::Wait, &weighted(flows)), flows, slots);
            let of = |flow: usize| given.iter().filter(|one| one.flow == flow).count();
            (0..flows.len()).map(of).collect::<Vec<_>>()
        };
        // Tags are rounded down, which may decide between equal ones.
        for (one, other) in counts(&flows).into_iter().zip(counts(&higher)) {
            prop_assert!(one.abs_diff(other) <= 20, "{one} and {other} of 400");
        }
    }

    /// In any interval in which two flows wait, each after pauses of its own, the service of one slot follows
    /// their weights within two requests of each.
    #[test]
    fn who_returns_gets_its_share_and_no_more(
        raw in prop::collection::vec((0_u32..2, 1_u64..2_000, 0_u64..1_500_000, prop::bool::weighted(0.1)), 60..200),
        weights in [1_u32..32, 1_u32..32],
    ) {
        let flows = Flows::weighted(&weights);
        prop_assert_eq!(shares_after_pauses(Mclock::new(Some(1), AtLimit::Wait, &flows), &raw, weights), Ok(()));
    }
}

/// Requests by flow, cost, gap, and whether the flow then pauses for long.
fn shares_after_pauses(
    mclock: Mclock<u32>,
    raw: &[(u32, u64, u64, bool)],
    weights: [u32; 2],
) -> Result<(), String> {
    let mut clocks = [0_u64; 2];
    let mut jobs: Vec<Job> = raw
        .iter()
        .map(|&(flow, cost, gap_ns, pauses)| {
            let clock = &mut clocks[flow as usize];
            *clock += gap_ns + if pauses { 30_000_000 } else { 0 };
            Job::new(*clock, flow, cost)
        })
        .collect();
    jobs.sort_by_key(|job| job.at_ns);
    let trace = run(mclock, &jobs, RATE, 1)?;
    let costliest = |flow: u32| jobs.iter().filter(|job| job.flow == flow).map(|job| job.cost).max();
    let by_weight = |flow: u32| costliest(flow).unwrap_or(0) as f64 / f64::from(weights[flow as usize]);
    within(&trace.given, weights, 2.0 * (by_weight(0) + by_weight(1)))
}

/// In each interval in which both flows wait, their service over their weights differs by at most the bound.
fn within(given: &[Step], weights: [u32; 2], bound: f64) -> Result<(), String> {
    let (mut got, mut least, mut most) = (0.0_f64, 0.0_f64, 0.0_f64);
    for step in given {
        let part = step.cost as f64 / f64::from(weights[step.flow as usize]);
        got += if step.flow == 0 { part } else { -part };
        (least, most) = (least.min(got), most.max(got));
        if step.waiting.len() < 2 {
            (got, least, most) = (0.0, 0.0, 0.0);
        } else if most - least > bound + 0.01 {
            return Err(format!("{} apart at {} ns, bound {bound}", most - least, step.at_ns));
        }
    }
    Ok(())
}

/// A planted scheduler by weight: a flow of which nothing waits has no claim, and starts at the least P of
/// those that wait.
#[derive(Clone)]
struct Forgetful {
    weights: Vec<f64>,
    waiting: Vec<VecDeque<Request<u32>>>,
    tags: Vec<f64>,
    serving: usize,
    depth: usize,
}

impl Forgetful {
    fn new(flows: &[Clients], depth: usize) -> Forgetful {
        let weights = flows.iter().map(|flow| f64::from(flow.weight)).collect();
        let waiting = vec![VecDeque::new(); flows.len()];
        Forgetful { weights, waiting, tags: vec![0.0; flows.len()], serving: 0, depth }
    }

    fn first(&self) -> Option<usize> {
        let waits = (0..self.tags.len()).filter(|&flow| !self.waiting[flow].is_empty());
        waits.min_by(|&one, &other| self.tags[one].total_cmp(&self.tags[other]))
    }
}

impl Discipline for Forgetful {
    type Item = u32;
    type Message = NoMessage;

    fn arrive(&mut self, _: SimTime, request: Request<u32>) {
        let flow = request.flow.0 as usize;
        if self.waiting[flow].is_empty() {
            let least = self.first().map_or(0.0, |first| self.tags[first]);
            self.tags[flow] = (self.tags[flow] + request.cost as f64 / self.weights[flow]).max(least);
        }
        self.waiting[flow].push_back(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<u32>> {
        let flow = self.first().filter(|_| self.serving < self.depth)?;
        let request = self.waiting[flow].pop_front()?;
        self.serving += 1;
        if let Some(head) = self.waiting[flow].front() {
            self.tags[flow] += head.cost as f64 / self.weights[flow];
        }
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<u32>) {
        self.serving -= 1;
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<u32>> + '_> {
        Box::new(self.waiting.iter().flatten())
    }
}

/// Weights 1 and 4, with as many clients each as there are slots.
fn one_to_four() -> Vec<Clients> {
    let of = |weight| Clients { weight, count: 2, costs: vec![1_000, 990, 1_010], pause_ns: 0 };
    vec![of(1), of(4)]
}

fn share_of_second(given: &[Given]) -> f64 {
    given.iter().filter(|one| one.flow == 1).count() as f64 / given.len() as f64
}

#[test]
fn a_planted_scheduler_that_takes_claims_is_found() {
    let flows = one_to_four();
    let given = serve(Forgetful::new(&flows, 2), &flows, 2);
    assert!(keeps_claims(&given, &flows).is_err(), "the heavy flow has {}", share_of_second(&given));
    assert!((0.6..0.72).contains(&share_of_second(&given)), "{}", share_of_second(&given));
    let given = serve(Mclock::new(Some(2), AtLimit::Wait, &weighted(&flows)), &flows, 2);
    assert!((0.79..0.81).contains(&share_of_second(&given)), "{}", share_of_second(&given));
}

/// With the ages of Ceph, a flow that returns takes what it did not use: the law of returning flows fails.
#[test]
fn a_planted_age_that_keeps_claims_is_found() {
    let away = (0..60).map(|_| (0, 1_000, 900_000, false));
    let raw: Vec<_> = [(1, 1_000, 0, false)]
        .into_iter()
        .chain(away)
        .chain([(1, 1_000, 0, true)])
        .chain((0..20).map(|_| (1, 1_000, 0, false)))
        .collect();
    let with = |idle_after| {
        let mclock = Mclock::new(Some(1), AtLimit::Wait, &Flows::equal(2));
        shares_after_pauses(mclock.idle_after(SimSpan::from_secs(idle_after)), &raw, [1, 1])
    };
    assert_eq!(with(0), Ok(()));
    assert!(with(300).is_err());
}

/// One heavy flow with one request at a time that is away for a moment after each, beside a light one: it
/// gets every second place. If it had to wait for the step of the light one, it would get every third.
#[test]
fn a_short_absence_costs_no_step_of_another_flow() {
    let of = |weight, count| Clients { weight, count, costs: vec![1_000], pause_ns: 200_000 };
    let flows = vec![of(1, 16), of(4, 1)];
    let given = serve(Mclock::new(Some(1), AtLimit::Wait, &weighted(&flows)), &flows, 1);
    assert!((0.48..0.52).contains(&share_of_second(&given)), "{}", share_of_second(&given));
    let specs = vec![FlowSpec::default(), FlowSpec { weight: 4, reservation: 1, ..FlowSpec::default() }];
    let given = serve(Mclock::new(Some(1), AtLimit::Wait, &Flows::new(specs)), &flows, 1);
    assert!((0.48..0.52).contains(&share_of_second(&given)), "{}", share_of_second(&given));
}
