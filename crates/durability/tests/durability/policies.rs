//! Policies of repair, and how work is divided: against closed forms, and against each other.

use proptest::prelude::*;
use towtank_durability::exact::{Chain, KOfN, RepairLaw};
use towtank_durability::fleet::{Device, Domain, Fleet, LossRule, Span, System};
use towtank_durability::rates::{Life, Year};
use towtank_durability::repair::{
    Amplification, Declustered, Job, Repair, Restored, Row, Scope, Simple, Table,
};
use towtank_durability::simulate::{
    Batch, Estimate, Method, Question, agreement, batch, estimate, mean_time, simulate,
};
use towtank_durability::{DurabilityError, Group};
use towtank_streams::{Seed, Uniform};

use crate::systems::{YEAR_H, arrays, checked, constant};

fn question<'a, R>(system: &'a System, repair: &'a R) -> Question<'a, R> {
    Question { system, repair, mission_h: YEAR_H, failed: &[], seed: Seed(9) }
}

fn found<R: Repair>(system: &System, repair: &R, method: Method, cycles: u32) -> Estimate {
    simulate(&question(system, repair), method, cycles, 10).expect("it is a system")
}

fn simple(shared_by: Scope, hours: f64) -> Simple {
    Simple { delay: Span::Constant(0.0), work: Span::Constant(hours), shared_by }
}

fn agree(left: &Estimate, right: &Estimate) -> bool {
    agreement(left, right).expect("both saw losses").agrees
}

/// Deviations between two estimates, or an estimate and a value.
fn apart(left: &Estimate, right: f64, error: f64) -> f64 {
    (left.loss - right) / (left.standard_error * left.standard_error + error * error).sqrt()
}

/// A policy from outside: one device at a time, the first that failed first.
struct OneByOne {
    mean_h: f64,
}

impl Repair for OneByOne {
    fn check(&self, _: &System) -> Result<(), DurabilityError> {
        Ok(())
    }

    fn begin(&self, _: &System, _: &[Job], job: &mut Job, source: &mut impl Uniform) {
        job.left_h[0] = self.mean_h * source.unit_exponential();
    }

    fn pace(&self, _: &System, jobs: &mut [Job]) {
        for (index, job) in jobs.iter_mut().enumerate() {
            job.pace = if index == 0 && job.is_active() { 1.0 } else { 0.0 };
        }
    }

    fn mean_h(&self, _: &System) -> f64 {
        self.mean_h
    }
}

#[test]
fn a_policy_from_outside_is_one_repairman() {
    let group = KOfN { n: 8, tolerance: 2, failures_per_h: 2e-5, repair_h: 50.0, law: RepairLaw::Shared };
    let chain = |law| {
        Chain::k_of_n(KOfN { law, ..group }).expect("a group").loss_within(0, YEAR_H).expect("a mission")
    };
    let system = checked(arrays(8, 8, 2, constant(2e-5)));
    for method in [Method::Biased, Method::Splitting] {
        let found = found(&system, &OneByOne { mean_h: 50.0 }, method, 2000);
        assert!(apart(&found, chain(RepairLaw::Shared), 0.0).abs() < 4.0, "{method:?} {found:?}");
        let differs = apart(&found, chain(RepairLaw::Independent), 0.0).abs() > 4.0;
        assert!(differs || method == Method::Splitting, "independent repairs lose half as much");
    }
}

#[test]
fn batches_are_the_same_in_any_order_and_thread() {
    let system = checked(arrays(20, 10, 2, constant(1e-4)));
    let policy = simple(Scope::Group, 40.0);
    let question = question(&system, &policy);
    for method in [Method::Plain, Method::Biased, Method::Splitting] {
        let one = |number: u32| batch(&question, method, 200, number).expect("it is a system");
        let want: Vec<Batch> = (0..4).map(one).collect();
        let threads: Vec<Batch> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).rev().map(|number| scope.spawn(move || one(number))).collect();
            all.into_iter().rev().map(|thread| thread.join().expect("it ends")).collect()
        });
        assert_eq!(want, threads, "{method:?}");
        assert_ne!(want[0], want[1], "{method:?}: batches differ");
        let whole = simulate(&question, method, 200, 4).expect("it is a system");
        assert_eq!(estimate(&want), Ok(whole), "{method:?}");
    }
    let other = batch(&question, Method::Plain, 100, 0).expect("it is a system");
    let one = batch(&question, Method::Plain, 200, 0).expect("it is a system");
    assert!(estimate(&[one.clone(), other]).is_err(), "batches of different sizes are refused");
    assert!(estimate(&[one]).is_err(), "one batch has no spread");
}

#[test]
fn the_mean_time_says_whether_it_implies_the_nines() {
    let policy = simple(Scope::Nobody, 24.0);
    let system = checked(arrays(10, 10, 2, constant(5e-6)));
    let asked = question(&system, &policy);
    let loss = simulate(&asked, Method::Biased, 1000, 10).expect("it is a system");
    let mean = mean_time(&asked, &loss).expect("something was lost");
    assert!(mean.implies_loss && (mean.hours * loss.loss / YEAR_H - 1.0).abs() < 1e-3, "{mean:?}");
    // Weibull shape 2, AFR 2 %: the first year has far more nines than the mean over the ages that follow.
    let aged = Life::weibull_of_five_years(2.0, 0.02, Year::Julian).expect("a law");
    let aging = checked(arrays(10, 10, 2, aged));
    assert!(!mean_time(&question(&aging, &policy), &loss).expect("a loss").implies_loss);
    let slow = simple(Scope::Nobody, 400.0);
    assert!(!mean_time(&question(&system, &slow), &loss).expect("a loss").implies_loss);
}

#[test]
fn a_delay_counts_as_work_that_is_not_shared() {
    let system = checked(arrays(10, 10, 2, constant(1e-5)));
    let with = |delay, work, shared_by| {
        let policy = Simple { delay: Span::Constant(delay), work: Span::Constant(work), shared_by };
        found(&system, &policy, Method::Biased, 2000)
    };
    let whole = with(0.0, 40.0, Scope::Nobody);
    for (delay, work) in [(0.5, 39.5), (20.0, 20.0), (39.0, 1.0)] {
        assert!(agree(&with(delay, work, Scope::Nobody), &whole), "{delay} and {work}");
    }
    assert!(!agree(&with(0.0, 20.0, Scope::Nobody), &whole), "a delay that is forgotten is found");
    // Work that is shared takes longer, a delay does not.
    let (waiting, working) = (with(39.0, 1.0, Scope::Group), with(1.0, 39.0, Scope::Group));
    assert!(apart(&working, waiting.loss, waiting.standard_error) > 4.0, "{waiting:?} {working:?}");
}

/// With one failure tolerated, a pool loses as the same devices with windows of its first stage.
#[test]
fn a_pool_that_tolerates_one_failure_has_the_window_of_its_rate() {
    let system = checked(arrays(20, 20, 1, constant(2e-6)));
    let amplification = Amplification::DataAndStage;
    let delay = Span::Constant(5.0);
    let pool = Declustered {
        delay: delay.clone(),
        device_h: 50.0,
        data: 4,
        width: 5,
        amplification,
        lower_waits: false,
    };
    let window = 50.0 * 5.0 / 19.0;
    let plain = Simple { delay, work: Span::Constant(window), shared_by: Scope::Nobody };
    let (left, right) =
        (found(&system, &pool, Method::Biased, 2000), found(&system, &plain, Method::Biased, 2000));
    assert!(agree(&left, &right), "{left:?} {right:?}");
    let without = Simple { delay: Span::Constant(0.0), ..plain };
    let fast = found(&system, &without, Method::Biased, 2000);
    assert!(!agree(&left, &fast), "the delay is seen");
}

/// What declustering gains, to leading order: with one failure tolerated nothing, but the parity's own share
/// of the work; with two, the share of stripes that are exposed twice, (n - 1) / (N - 1).
#[test]
fn a_pool_gains_only_by_what_is_exposed_twice() {
    let (devices, data, device_h, per_h) = (40, 4, 20.0, 1e-6);
    let k = data as f64;
    let ratio = |tolerance: usize| {
        let width = data + tolerance;
        let pool = Declustered {
            delay: Span::Constant(0.0),
            device_h,
            data,
            width,
            amplification: Amplification::DataAndStage,
            lower_waits: false,
        };
        let declustered = checked(arrays(devices, devices, tolerance, constant(per_h)));
        let grouped = checked(arrays(devices - devices % width, width, tolerance, constant(per_h)));
        let each = (devices - devices % width) as f64 / devices as f64;
        let one = found(&declustered, &pool, Method::Biased, 4000);
        let other = found(&grouped, &simple(Scope::Group, device_h), Method::Biased, 4000);
        let error = one.standard_error / one.loss + other.standard_error / other.loss;
        (one.loss / other.loss * each, 3.0 * error + 0.004)
    };
    let (found, error) = ratio(1);
    assert!((found / ((k + 1.0) / k) - 1.0).abs() < error, "{found} {error}");
    let (found, error) = ratio(2);
    let want = (k + 1.0) * (k + 2.0) / k / (devices as f64 - 1.0);
    assert!((found / want - 1.0).abs() < error, "{found}, not {want}: {error}");
    assert!((found / want - 2.0).abs() > error && error < 0.1, "a factor of two is seen");
}

/// Groups of three on six hosts, each device in several groups.
fn spread(tolerance: usize, per_h: f64) -> System {
    let hosts = 6;
    let groups = (0..24).map(|index| {
        let host = |copy: usize| (index + copy * (1 + index / 12)) % hosts;
        let devices = (0..3).map(|copy| 2 * host(copy) + (index / (copy + 2)) % 2).collect();
        Group { devices, tolerance }
    });
    checked(Fleet {
        lives: vec![constant(per_h)],
        devices: (0..2 * hosts).map(|index| Device { life: 0, domain: index / 2, age_h: 0.0 }).collect(),
        domains: vec![Domain::default(); hosts],
        groups: groups.collect(),
        rule: LossRule::AnyGroup,
        unreadable: 0.0,
        serves_without: 1,
    })
}

#[test]
fn a_table_of_equal_times_is_a_constant_repair() {
    let system = spread(2, 1e-5);
    let row = |devices, hosts, until: &[f64]| Row {
        devices,
        hosts,
        restored: until.iter().map(|at| vec![Restored::at_once(*at)]).collect(),
    };
    let table = |rows| Table { delay: Span::Constant(1.0), rows, start: None };
    let same = table(vec![row(1, 1, &[30.0, 30.0, 30.0])]);
    let constant =
        Simple { delay: Span::Constant(1.0), work: Span::Constant(30.0), shared_by: Scope::Nobody };
    let want = found(&system, &constant, Method::Biased, 2000);
    let left = found(&system, &same, Method::Biased, 2000);
    assert!(agree(&left, &want), "{left:?} {want:?}");
    // Twice exposed groups first: far fewer are lost. Slower when two are failed in two hosts: more are.
    let first = table(vec![row(1, 1, &[30.0, 30.0, 30.0]), row(2, 1, &[30.0, 3.0, 3.0])]);
    let urgent = found(&system, &first, Method::Biased, 2000);
    assert!(apart(&want, urgent.loss, urgent.standard_error) > 4.0, "{} {}", want.loss, urgent.loss);
    let slow = table(vec![row(1, 1, &[30.0, 30.0, 30.0]), row(2, 2, &[90.0, 90.0, 90.0])]);
    let slower = found(&system, &slow, Method::Biased, 2000);
    assert!(apart(&slower, want.loss, want.standard_error) > 4.0, "{} {}", want.loss, slower.loss);
    for (policy, want) in [(&first, &urgent), (&slow, &slower)] {
        let split = found(&system, policy, Method::Splitting, 4000);
        assert!(agree(&split, want), "{split:?} {want:?}");
    }
    let empty = table(vec![row(2, 1, &[30.0])]);
    let refused =
        simulate(&question(&system, &empty), Method::Plain, 10, 2).expect_err("no row for one device");
    assert!(refused.to_string().contains("the first row of a table of repairs is 2"), "{refused}");
}

#[test]
fn what_has_no_rule_is_refused() {
    let mut fleet = arrays(20, 10, 1, constant(1e-6));
    fleet.rule = LossRule::MoreGroupsThan(1);
    fleet.groups[0].devices[0] = 11;
    assert!(matches!(System::new(fleet.clone()), Err(DurabilityError::NotModelled { .. })));
    fleet.rule = LossRule::AnyGroup;
    fleet.groups[0].devices[0] = 99;
    let refused = System::new(fleet).expect_err("there is no device 99");
    assert_eq!(refused.to_string(), "group 0 names 99, but there are 20: name one of these");
    let overlapping = spread(1, 1e-6);
    let pool = Declustered {
        delay: Span::Constant(0.0),
        device_h: 10.0,
        data: 2,
        width: 3,
        amplification: Amplification::DataAndOne,
        lower_waits: true,
    };
    assert!(matches!(
        simulate(&question(&overlapping, &pool), Method::Plain, 10, 2),
        Err(DurabilityError::NotModelled { .. })
    ));
    let system = spread(1, 1e-6);
    let asked = Question { failed: &[99], ..question(&system, &OneByOne { mean_h: 1.0 }) };
    assert!(simulate(&asked, Method::Plain, 10, 2).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// More copies, faster repairs and fewer failures never lose more, beyond what chance explains.
    #[test]
    fn better_systems_lose_less(per_h in 1e-6f64..2e-5, hours in 5.0f64..60.0, better in 1.3f64..3.0) {
        let base = found(&spread(1, per_h), &simple(Scope::Nobody, hours), Method::Biased, 300);
        let others = [
            found(&spread(2, per_h), &simple(Scope::Nobody, hours), Method::Biased, 300),
            found(&spread(1, per_h), &simple(Scope::Nobody, hours / better), Method::Biased, 300),
            found(&spread(1, per_h / better), &simple(Scope::Nobody, hours), Method::Biased, 300),
        ];
        for other in &others {
            prop_assert!(apart(other, base.loss, base.standard_error) < 4.0, "{} {}", other.loss, base.loss);
        }
        // The other way round, the difference is seen: the check can fail.
        prop_assert!(apart(&base, others[0].loss, others[0].standard_error) > 4.0);
    }
}
