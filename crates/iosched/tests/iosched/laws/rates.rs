//! Laws of rates per second: reservations are met, limits and rates are kept, and planted schedulers do
//! neither.

use std::collections::BTreeSet;

use proptest::prelude::*;
use towtank_iosched::{
    AtLimit, BucketTree, ClassBy, Discipline, FlowId, FlowSpec, Flows, Mclock, Parent, Rule, Tbf, TokenBucket,
};

use super::server::{Job, Step, run};

/// The throughput of the server in units of cost per second.
const RATE: u64 = 1_000_000;
const COST_MAX: u64 = 2_000;

fn backlog(flows: u32, costs: &[u64]) -> Vec<Job> {
    (0..flows).flat_map(|flow| costs.iter().map(move |&cost| Job::new(0, flow, cost))).collect()
}

fn units_in(rate: u64, ns: u64) -> u64 {
    (u128::from(rate) * u128::from(ns) / 1_000_000_000) as u64
}

/// While a flow waits, it has received its reservation times the time that passed, less what may be under
/// way: a request of its own, and what the server does while two of the costliest requests keep it busy.
fn meets(steps: &[Step], flow: u32, reservation: u64) -> Result<(), String> {
    let mut got = 0;
    let slack = COST_MAX + units_in(reservation, 3 * COST_MAX * 1_000_000_000 / RATE) + 1;
    for step in steps.iter().take_while(|step| step.waiting.contains(&flow)) {
        got += if step.flow == flow { step.cost } else { 0 };
        let due = units_in(reservation, step.at_ns);
        if got + slack < due {
            return Err(format!("flow {flow} got {got} of {due} by {} ns", step.at_ns));
        }
    }
    Ok(())
}

/// In any interval that begins with a request given, at most the rate times the interval plus a burst is
/// given.
fn keeps(steps: &[Step], rate: u64, burst: u64, amount: impl Fn(&Step) -> u64) -> Result<(), String> {
    for (index, first) in steps.iter().enumerate() {
        let mut got = 0;
        for step in &steps[index..] {
            got += amount(step);
            let may = burst + units_in(rate, step.at_ns - first.at_ns) + 1;
            if got > may {
                return Err(format!("{got} from {} to {} ns, at most {may}", first.at_ns, step.at_ns));
            }
        }
    }
    Ok(())
}

/// Since the start of its backlog, a flow has received at most its limit times the elapsed time, plus one
/// request each for its limit and its reservation. In a shorter interval it may catch up: the part of its
/// limit that it did not use while it waited is not lost.
fn keeps_from_start(steps: &[Step], flow: u32, limit: u64) -> Result<(), String> {
    let mut got = 0;
    for step in steps.iter().filter(|step| step.flow == flow) {
        got += step.cost;
        let may = units_in(limit, step.at_ns) + 2 * COST_MAX;
        if got > may {
            return Err(format!("flow {flow} was given {got} by {} ns, at most {may}", step.at_ns));
        }
    }
    Ok(())
}

fn of(steps: &[Step], flow: u32) -> Vec<Step> {
    steps.iter().filter(|step| step.flow == flow).cloned().collect()
}

fn specs(reservations: [u64; 3], weights: [u32; 3], limits: [u64; 3]) -> Flows {
    let spec = |flow: usize| FlowSpec {
        reservation: reservations[flow],
        weight: weights[flow],
        limit: limits[flow],
        ..FlowSpec::default()
    };
    Flows::new((0..3).map(spec).collect())
}

/// Checks the reservations of the flows, and their limits where there are any.
fn mclock_law(
    mclock: Mclock<u32>,
    costs: &[u64],
    reservations: [u64; 3],
    limits: [u64; 3],
) -> Result<(), String> {
    let trace = run(mclock, &backlog(3, costs), RATE, 1)?;
    for flow in 0..3 {
        let (reservation, limit) = (reservations[flow as usize], limits[flow as usize]);
        meets(&trace.done, flow, reservation)?;
        if limit > 0 {
            keeps_from_start(&trace.given, flow, limit)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn mclock_meets_reservations_and_keeps_limits(
        reservations in [0u64..300_000, 0u64..300_000, 0u64..300_000],
        weights in [1u32..1_000, 1u32..1_000, 1u32..1_000],
        above in [1u64..500_000, 1u64..500_000, 1u64..500_000],
        bound in [prop::bool::ANY, prop::bool::ANY, prop::bool::ANY],
        costs in prop::collection::vec(1u64..COST_MAX, 50..80),
    ) {
        let limit = |flow: usize| if bound[flow] { reservations[flow] + above[flow] } else { 0 };
        let limits = [limit(0), limit(1), limit(2)];
        let mclock = Mclock::new(Some(1), AtLimit::Wait, &specs(reservations, weights, limits));
        prop_assert_eq!(mclock_law(mclock, &costs, reservations, limits), Ok(()));
    }

    /// Requests of one class in any interval: its depth, and its rate times the interval.
    #[test]
    fn tbf_keeps_rates_within_the_depth(
        rates in [1u64..5_000, 1u64..5_000],
        depth in 1u64..8,
        gaps in prop::collection::vec(0u64..3_000_000, 50..120),
    ) {
        let mut now = 0;
        let jobs: Vec<Job> = (0u32..).zip(&gaps).map(|(number, gap)| {
            now += if number % 7 == 0 { gap * 20 } else { gap / 10 };
            Job::new(now, number % 2, 1)
        }).collect();
        let trace = run(tbf(rates, depth, false), &jobs, RATE, 8).unwrap();
        for flow in 0..2 {
            let kept = keeps(&of(&trace.given, flow), rates[flow as usize], depth, |_| 1);
            prop_assert_eq!(kept, Ok(()));
        }
    }

    #[test]
    fn token_buckets_keep_rates_within_the_burst(
        rate in 1_000u64..900_000, burst in 1u64..5_000,
        costs in prop::collection::vec(1u64..COST_MAX, 20..60),
    ) {
        let spec = FlowSpec { rate, burst, ..FlowSpec::default() };
        let flows = Flows::new(vec![spec.clone(), FlowSpec { rate: 0, ..spec }]);
        let trace = run(TokenBucket::new(None, &flows), &backlog(2, &costs), RATE, 64).unwrap();
        prop_assert_eq!(keeps(&of(&trace.given, 0), rate, burst.max(COST_MAX), |step| step.cost), Ok(()));
        for lends in [false, true] {
            let parent = Parent { rate, burst, lends };
            let tree = BucketTree::new(None, parent, &flows);
            let trace = run(tree, &backlog(2, &costs), RATE, 64).unwrap();
            prop_assert_eq!(keeps(&trace.given, rate, burst.max(COST_MAX), |step| step.cost), Ok(()));
        }
    }
}

fn tbf(rates: [u64; 2], depth: u64, realtime: bool) -> Tbf<u32> {
    let mut tbf = Tbf::new(None, ClassBy::FLOW, Rule { rate: rates[0], depth, realtime, ..Rule::default() });
    let flows = Some(BTreeSet::from([FlowId(1)]));
    let second =
        Rule { name: "second".to_owned(), flows, rate: rates[1], depth, realtime, ..Rule::default() };
    tbf.start(towtank_units::SimTime::ZERO, 0, second).expect("its name is new");
    tbf
}

#[test]
fn planted_promises_are_found_broken() {
    let costs = vec![1_000; 60];
    let (reservations, limits) = ([300_000, 0, 0], [0, 100_000, 0]);
    let with = |reservation, at_limit| {
        let flows = specs([reservation, 0, 0], [1, 100, 100], limits);
        mclock_law(Mclock::new(Some(1), at_limit, &flows), &costs, reservations, limits)
    };
    assert_eq!(with(300_000, AtLimit::Wait), Ok(()));
    let starved = with(0, AtLimit::Wait).expect_err("nothing is reserved");
    assert!(starved.starts_with("flow 0 got"), "{starved}");
    // Alone, a flow at its limit continues where limits do not bind.
    let alone: Vec<Job> = costs.iter().map(|&cost| Job::new(0, 1, cost)).collect();
    for (at_limit, kept) in [(AtLimit::Wait, true), (AtLimit::Allow, false)] {
        let mclock = Mclock::new(Some(1), at_limit, &specs([0; 3], [1; 3], limits));
        let trace = run(mclock, &alone, RATE, 1).expect("nobody waits for ever");
        assert_eq!(keeps_from_start(&trace.given, 1, 100_000).is_ok(), kept, "{at_limit:?}");
    }
}

/// A real-time rule saves more tokens than its depth, and thus breaks the law that the others keep.
#[test]
fn a_rule_in_real_time_is_not_capped() {
    let jobs: Vec<Job> =
        [0].into_iter().chain([1_000_000_000; 20]).map(|at_ns| Job::new(at_ns, 1, 1)).collect();
    for (realtime, kept) in [(false, true), (true, false)] {
        let trace = run(tbf([1, 100], 3, realtime), &jobs, RATE, 64).expect("nobody waits for ever");
        assert_eq!(keeps(&of(&trace.given, 1), 100, 3, |_| 1).is_ok(), kept, "realtime: {realtime}");
    }
}

/// A bucket whose rate is twice the promised one.
#[test]
fn a_planted_rate_is_found() {
    let flows = |rate| Flows::new(vec![FlowSpec { rate, burst: 1_000, ..FlowSpec::default() }]);
    let law = |bucket: TokenBucket<u32>| {
        let waits = bucket.waiting().count();
        let trace = run(bucket, &backlog(1, &[500; 40]), RATE, 64).expect("nobody waits for ever");
        assert_eq!(waits, 0);
        keeps(&trace.given, 10_000, 1_000, |step| step.cost)
    };
    assert_eq!(law(TokenBucket::new(None, &flows(10_000))), Ok(()));
    assert!(law(TokenBucket::new(None, &flows(20_000))).is_err());
}
