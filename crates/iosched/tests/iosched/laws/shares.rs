//! Service of flows that always have work: the bounds of the fair queues, and planted schedulers that break
//! them.

use proptest::prelude::*;
use towtank_iosched::{Bfq, BfqSpec, Discipline, Drr, Flows, Sfq, Ssfq, Wf2q, Wfq, Wrr};
use towtank_units::SimSpan;

use super::server::{Job, Step, run};

/// Units of cost per second.
const RATE: u64 = 1_000_000;

/// All requests arrive at once; those of each flow in the order given.
fn backlog(costs: &[Vec<u64>]) -> Vec<Job> {
    let of = |(flow, costs): (u32, &Vec<u64>)| {
        costs.iter().map(move |&cost| Job::new(0, flow, cost)).collect::<Vec<_>>()
    };
    (0..).zip(costs).flat_map(of).collect()
}

/// The steps that were made while every flow had requests waiting.
fn contended(steps: &[Step], flows: usize) -> impl Iterator<Item = &Step> {
    steps.iter().take_while(move |step| step.waiting.len() == flows)
}

fn costliest(costs: &[u64]) -> f64 {
    costs.iter().copied().max().unwrap_or(0) as f64
}

/// In any interval in which both flows wait, their service, each over its weight, differs by at most the
/// bound.
fn shares_within(steps: &[Step], weights: [u32; 2], bound: f64) -> Result<(), String> {
    let (mut got, mut least, mut most) = (0.0_f64, 0.0_f64, 0.0_f64);
    for step in contended(steps, 2) {
        let part = step.cost as f64 / f64::from(weights[step.flow as usize]);
        got += if step.flow == 0 { part } else { -part };
        (least, most) = (least.min(got), most.max(got));
        if most - least > bound + 0.01 {
            return Err(format!("{} apart at {} ns, bound {bound}", most - least, step.at_ns));
        }
    }
    Ok(())
}

fn by_weight(costs: &[Vec<u64>], weights: [u32; 2]) -> f64 {
    costliest(&costs[0]) / f64::from(weights[0]) + costliest(&costs[1]) / f64::from(weights[1])
}

/// By the order of completion, with `depth` requests in service.
fn sfq_law(
    sfq: impl Discipline<Item = u32>,
    costs: &[Vec<u64>],
    weights: [u32; 2],
    depth: u32,
) -> Result<(), String> {
    let trace = run(sfq, &backlog(costs), RATE, depth as usize)?;
    shares_within(&trace.done, weights, f64::from(depth + 1) * by_weight(costs, weights))
}

/// By the order in which they are given, one at a time.
fn in_order(
    discipline: impl Discipline<Item = u32>,
    costs: &[Vec<u64>],
    weights: [u32; 2],
    bound: f64,
) -> Result<(), String> {
    let trace = run(discipline, &backlog(costs), RATE, 1)?;
    shares_within(&trace.given, weights, bound)
}

/// While all flows wait, a flow is neither behind its part of all work by more than its own costliest request
/// and its part of the costliest request of any flow, nor ahead by more than its own costliest request.
fn wf2q_law(
    discipline: impl Discipline<Item = u32>,
    costs: &[Vec<u64>],
    weights: &[u32],
) -> Result<(), String> {
    let trace = run(discipline, &backlog(costs), RATE, 1)?;
    let all: f64 = weights.iter().copied().map(f64::from).sum();
    let most = costs.iter().map(|costs| costliest(costs)).fold(0.0, f64::max);
    let (mut got, mut total) = (vec![0.0; weights.len()], 0.0);
    for step in contended(&trace.given, weights.len()) {
        got[step.flow as usize] += step.cost as f64;
        total += step.cost as f64;
        for (flow, &got) in got.iter().enumerate() {
            let part = f64::from(weights[flow]) / all;
            let (behind, own) = (part * total - got, costliest(&costs[flow]));
            if behind > own + part * most + 0.01 || -behind > own + 0.01 {
                return Err(format!("flow {flow} is {behind} behind at {} ns", step.at_ns));
            }
        }
    }
    Ok(())
}

/// When a fluid server that serves all flows at once, by weight, would complete each request of each flow.
fn fluid(costs: &[Vec<u64>], weights: &[u32]) -> Vec<Vec<f64>> {
    let mut left: Vec<Vec<f64>> =
        costs.iter().map(|costs| costs.iter().map(|&cost| cost as f64).collect()).collect();
    let mut at: Vec<usize> = vec![0; costs.len()];
    let mut ends: Vec<Vec<f64>> = vec![Vec::new(); costs.len()];
    let mut now = 0.0;
    loop {
        let busy: Vec<usize> = (0..costs.len()).filter(|&flow| at[flow] < costs[flow].len()).collect();
        let all: f64 = busy.iter().map(|&flow| f64::from(weights[flow])).sum();
        let part = |flow: usize| f64::from(weights[flow]) / all * RATE as f64;
        let next = busy.iter().copied().min_by(|&one, &other| {
            (left[one][at[one]] / part(one)).total_cmp(&(left[other][at[other]] / part(other)))
        });
        let Some(first) = next else { return ends };
        let span = left[first][at[first]] / part(first);
        now += span;
        for &flow in &busy {
            left[flow][at[flow]] -= part(flow) * span;
        }
        ends[first].push(now);
        at[first] += 1;
    }
}

/// No request completes later than in the fluid server by more than the time of the costliest request.
fn wfq_law(
    discipline: impl Discipline<Item = u32>,
    costs: &[Vec<u64>],
    weights: &[u32],
) -> Result<(), String> {
    let trace = run(discipline, &backlog(costs), RATE, 1)?;
    let most = costs.iter().map(|costs| costliest(costs)).fold(0.0, f64::max);
    let ends = fluid(costs, weights);
    let mut done = vec![0; costs.len()];
    for step in &trace.done {
        let flow = step.flow as usize;
        let (end, fluid) = (step.at_ns as f64 / 1e9, ends[flow][done[flow]]);
        done[flow] += 1;
        if end > fluid + most / RATE as f64 + 1e-6 {
            return Err(format!("flow {flow} was done at {end}, and in the fluid server at {fluid}"));
        }
    }
    Ok(())
}

fn two_costs() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(1u64..2_000, 40..80), 2..=2)
}

fn two_weights() -> impl Strategy<Value = [u32; 2]> {
    [1u32..32, 1u32..32]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Section 1.13: (D + 1)(c_f/w_f + c_g/w_g).
    #[test]
    fn sfq_keeps_its_bound(costs in two_costs(), weights in two_weights(), depth in 1u32..9) {
        let kept = sfq_law(Sfq::new(Some(depth), &Flows::weighted(&weights)), &costs, weights, depth);
        prop_assert_eq!(kept, Ok(()));
    }

    /// Pieces are jobs of their own: the bound is that of the largest piece.
    #[test]
    fn ssfq_keeps_the_bound_of_its_pieces(costs in two_costs(), weights in two_weights(), depth in 1u32..9) {
        let ssfq = Ssfq::with_pieces(Some(depth), &Flows::weighted(&weights), 100);
        let trace = run(ssfq, &backlog(&costs), RATE, depth as usize).unwrap();
        let bound = f64::from(depth + 1) * (100.0 / f64::from(weights[0]) + 100.0 / f64::from(weights[1]));
        prop_assert_eq!(shares_within(&trace.done, weights, bound), Ok(()));
    }

    #[test]
    fn wfq_is_never_far_behind_a_fluid_server(
        costs in prop::collection::vec(prop::collection::vec(1u64..2_000, 1..40), 3..=3),
        weights in [1u32..32, 1u32..32, 1u32..32],
    ) {
        prop_assert_eq!(wfq_law(Wfq::new(Some(1), &Flows::weighted(&weights)), &costs, &weights), Ok(()));
        prop_assert_eq!(wfq_law(Wf2q::new(Some(1), &Flows::weighted(&weights)), &costs, &weights), Ok(()));
    }

    #[test]
    fn drr_keeps_its_bound(costs in two_costs(), weights in two_weights(), quantum in 1u64..4_000) {
        let drr = Drr::new(Some(1), quantum, &Flows::weighted(&weights));
        let bound = quantum as f64 + by_weight(&costs, weights);
        prop_assert_eq!(in_order(drr, &costs, weights, bound), Ok(()));
    }

    #[test]
    fn wf2q_keeps_its_bound(
        costs in prop::collection::vec(prop::collection::vec(1u64..2_000, 40..60), 3..=3),
        weights in [1u32..32, 1u32..32, 1u32..32],
    ) {
        prop_assert_eq!(wf2q_law(Wf2q::new(Some(1), &Flows::weighted(&weights)), &costs, &weights), Ok(()));
    }

    /// A turn is as long as its budget, or as one request: then the same bound as of deficit round robin
    /// holds with budgets as quanta.
    #[test]
    fn bfq_keeps_the_bound_of_its_budgets(costs in two_costs(), weights in two_weights()) {
        let spec = BfqSpec { budget_min: 500, budget_max: 4_000, idle: SimSpan::ZERO, timeout: SimSpan::from_secs(9) };
        let bfq = Bfq::new(Some(1), spec, &Flows::weighted(&weights));
        let bound = 2.0 * 4_000.0 * (1.0 / f64::from(weights[0]) + 1.0 / f64::from(weights[1]));
        prop_assert_eq!(in_order(bfq, &costs, weights, bound), Ok(()));
    }
}

#[test]
fn planted_shares_are_found() {
    let (weights, swapped) = ([1, 4], Flows::weighted(&[4, 1]));
    let flows = Flows::weighted(&weights);
    let even = vec![vec![100; 80], vec![100; 80]];
    let uneven = vec![vec![10; 80], vec![1_000; 80]];
    let bound = by_weight(&even, weights);
    assert_eq!(sfq_law(Sfq::new(Some(2), &flows), &even, weights, 2), Ok(()));
    assert!(sfq_law(Sfq::new(Some(2), &swapped), &even, weights, 2).is_err(), "weights swapped");
    assert_eq!(wfq_law(Wfq::new(Some(1), &flows), &even, &weights), Ok(()));
    assert!(wfq_law(Wfq::new(Some(1), &swapped), &even, &weights).is_err(), "weights swapped");
    assert_eq!(in_order(Drr::new(Some(1), 100, &flows), &even, weights, 100.0 + bound), Ok(()));
    assert!(in_order(Drr::new(Some(1), 100, &swapped), &even, weights, 100.0 + bound).is_err());
    assert!(
        in_order(Drr::new(Some(1), 2_000, &flows), &even, weights, 100.0 + bound).is_err(),
        "a quantum of 2,000"
    );
    assert!(
        in_order(Wrr::new(Some(1), &flows), &uneven, weights, 100.0 + by_weight(&uneven, weights)).is_err()
    );
}

/// WF2Q+ fixes a defect of WFQ: a heavy flow runs ahead by many requests.
#[test]
fn wfq_breaks_the_bound_of_wf2q() {
    let weights: Vec<u32> = [10].into_iter().chain([1; 10]).collect();
    let costs = vec![vec![10; 30]; 11];
    assert_eq!(wf2q_law(Wf2q::new(Some(1), &Flows::weighted(&weights)), &costs, &weights), Ok(()));
    assert!(wf2q_law(Wfq::new(Some(1), &Flows::weighted(&weights)), &costs, &weights).is_err());
}
