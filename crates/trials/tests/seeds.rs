//! Runs of the whole store by seed: nothing is lost, the same seed gives the same run, and broken rules are
//! noticed.

use std::ops::RangeInclusive;
use std::sync::Mutex;

use towtank_replication::Planted as Protocol;
use towtank_store::monitor::state::Planted as Monitor;
use towtank_store::osd::line::Planted as Line;
use towtank_trials::planted::{Gateway, Planted, Shell};
use towtank_trials::seeds::{Plan, Summary, run, run_all, shrunk};

/// The runs of the test without a number in the environment.
const SEEDS: u64 = 100;

/// The runs of the test with a gateway.
const SEEDS_WITH_GATEWAY: u64 = 20;

fn plan(seed: u64, planted: Option<Planted>) -> Plan {
    let gateway = matches!(planted, Some(Planted::Gateway(_)));
    Plan { seed, only: None, planted, traces: false, gateway }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Runs so many seeds, none of which may fail.
fn sum_of(count: u64, gateway: bool) -> Summary {
    let first = number("SEEDS_FROM").unwrap_or(1);
    let plan = |seed| Plan { gateway, ..plan(seed, None) };
    let found = Mutex::new((Summary::new(), Vec::new()));
    run_all(first..=first + count - 1, &plan, &|| false, &|seed, outcome| {
        let (summary, faults) = &mut *found.lock().expect("no thread panics");
        summary.add(&outcome);
        faults.extend(outcome.fault.map(|fault| (seed, fault)));
    });
    let (summary, mut faults) = found.into_inner().expect("no thread panics");
    println!("{:.1} hours: {summary:?}", summary.hours());
    faults.sort();
    faults.iter().for_each(|(seed, fault)| println!("seed {seed}: {fault}"));
    if let Some((seed, fault)) = faults.first() {
        let left: Vec<String> = shrunk(&plan(*seed)).iter().map(ToString::to_string).collect();
        let flag = if gateway { " --gateway" } else { "" };
        panic!("{fault}\ntowtank store simulate --seed {seed}{flag} --faults {} --trace", left.join(","));
    }
    summary
}

#[test]
fn seeds_lose_nothing_and_end_clean() {
    let count = number("SEEDS").unwrap_or(SEEDS);
    let summary = sum_of(count, false);
    assert!(count < 20 || summary.operations > 200 * count, "clients are answered: {summary:?}");
    // Losses must stay the rare exception: otherwise they would hide that groups wait for ever.
    assert!(summary.with_loss <= 2 + count / 200, "{} runs ended with a loss", summary.with_loss);
    assert!(count < 100 || summary.beyond > 0, "no run is beyond what leaves a copy");
    assert!(summary.waiting <= summary.beyond, "groups wait where a copy is left");
}

#[test]
fn objects_of_a_gateway_are_what_its_user_wrote() {
    let count = number("SEEDS").unwrap_or(SEEDS_WITH_GATEWAY);
    let summary = sum_of(count, true);
    assert!(summary.acts > 40 * count, "users are answered: {summary:?}");
}

/// A former primary, which the monitor does not reach, said that an upload that had begun did not exist.
#[test]
fn what_needs_no_data_is_shown_with_a_lease_alone() {
    let plan = |seed, planted| Plan { gateway: true, ..plan(seed, planted) };
    assert_eq!([92, 112].map(|seed| run(&plan(seed, None)).fault), [None, None]);
    let fault = run(&plan(92, Some(Planted::Protocol(Protocol::ReadsWithoutLease)))).fault;
    assert!(fault.as_ref().is_some_and(|why| why.contains("NoSuchUpload")), "{fault:?}");
}

#[test]
fn a_seed_gives_the_same_run() {
    for (seed, gateway) in (1..6).map(|seed| (seed, seed > 3)) {
        let plan = |seed, planted| Plan { gateway, ..plan(seed, planted) };
        let [first, second] = [(), ()].map(|()| run(&plan(seed, None)));
        assert_eq!(first.digest, second.digest, "seed {seed}");
        assert_eq!((first.messages, first.span), (second.messages, second.span), "seed {seed}");
        assert_ne!(first.digest, run(&plan(seed + 1, None)).digest);
    }
}

/// Each rule with the first seed that notices it. With `PLANTED_SEEDS=n` those up to n are tried anew
/// (from `SEEDS_FROM` on), of the rules that `PLANTED` names if it is set.
const NOTICED: &[(Planted, u64)] = &[
    (Planted::Shell(Shell::DeliversGaps), 9),
    (Planted::Shell(Shell::TakenUnseen), 4),
    (Planted::Shell(Shell::HalfApplied), 25),
    (Planted::Shell(Shell::NotesRunLate), 110),
    (Planted::Shell(Shell::CutsSilently), 158),
    (Planted::Shell(Shell::SpeaksBeforeSync), 44),
    (Planted::Shell(Shell::AcceptsLoss), 14),
    (Planted::Shell(Shell::RebuildsFromOne), 128),
    (Planted::Monitor(Monitor::TellsNoLoss), 14),
    (Planted::Monitor(Monitor::LetsAnyoneIn), 31),
    (Planted::Monitor(Monitor::LetsOlderIn), 150),
    (Planted::Monitor(Monitor::HearsNobody), 104),
    (Planted::Monitor(Monitor::CleanUnseen), 23),
    (Planted::Line(Line::SpeaksAfterLeaving), 2),
    (Planted::Protocol(Protocol::ForgetsIntervals), 2),
    (Planted::Protocol(Protocol::AnswersEarly), 8),
    (Planted::Protocol(Protocol::ForgetsRequests), 2),
    (Planted::Protocol(Protocol::KeepsDivergent), 8),
    (Planted::Protocol(Protocol::KeepsCursor), 1),
    (Planted::Protocol(Protocol::TreeMissesRecovery), 3),
    (Planted::Protocol(Protocol::KeepsSlot), 1),
    (Planted::Protocol(Protocol::RangeStaysSkipped), 59),
    (Planted::Protocol(Protocol::CursorTooFar), 1),
    (Planted::Protocol(Protocol::ReadsWithoutLease), 11),
    (Planted::Protocol(Protocol::LeaseWithoutMargin), 60),
    (Planted::Protocol(Protocol::ServesDuringPromises), 11),
    (Planted::Protocol(Protocol::EmptyIsComplete), 10),
    (Planted::Protocol(Protocol::EmptyIsBehind), 10),
    (Planted::Protocol(Protocol::OneGoneIsAll), 10),
    (Planted::Protocol(Protocol::UndecidedTestifies), 158),
    (Planted::Protocol(Protocol::RevertsAnything), 35),
    (Planted::Protocol(Protocol::ConfirmsEarly), 456),
    (Planted::Protocol(Protocol::SendsWhatIsEqual), 20),
    (Planted::Gateway(Gateway::LosesPieces), 1),
    (Planted::Gateway(Gateway::LosesObjects), 1),
    (Planted::Gateway(Gateway::KeepsRemoved), 2),
    (Planted::Gateway(Gateway::ListsTooFew), 1),
];

/// The first of these seeds that notices a rule, and how.
fn first_noticed(planted: Planted, seeds: RangeInclusive<u64>) -> Option<(u64, String)> {
    let found = Mutex::new(None::<(u64, String)>);
    let is_found = || found.lock().expect("no thread panics").is_some();
    run_all(seeds, &|seed| plan(seed, Some(planted)), &is_found, &|seed, outcome| {
        let mut found = found.lock().expect("no thread panics");
        if let Some(fault) = outcome.fault
            && found.as_ref().is_none_or(|(other, _)| seed < *other)
        {
            *found = Some((seed, fault));
        }
    });
    found.into_inner().expect("no thread panics")
}

#[test]
fn broken_rules_are_noticed() {
    if let Some(most) = number("PLANTED_SEEDS") {
        let named = std::env::var("PLANTED").ok();
        let rules: Vec<Planted> = match &named {
            Some(names) => names.split(',').map(|it| Planted::named(it).expect("a rule")).collect(),
            None => NOTICED.iter().map(|(planted, _)| *planted).collect(),
        };
        let seeds = number("SEEDS_FROM").unwrap_or(1)..=most;
        rules.iter().for_each(|it| println!("{it:?}: {:?}", first_noticed(*it, seeds.clone())));
        return;
    }
    for (planted, seed) in NOTICED {
        let outcome = run(&plan(*seed, Some(*planted)));
        assert!(outcome.fault.is_some(), "{planted:?} is not noticed with seed {seed}");
        let sound = Plan { planted: None, ..plan(*seed, Some(*planted)) };
        assert_eq!(run(&sound).fault, None, "seed {seed} without {planted:?}");
    }
}
