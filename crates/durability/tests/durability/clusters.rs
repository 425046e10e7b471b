//! Groups on many devices: the simulation against the product of two exact parts, and the methods against
//! each other.

use towtank_durability::Group;
use towtank_durability::burst::{Explicit, Method as Found, Units};
use towtank_durability::exact::{RepairLaw, Windows, leading_order};
use towtank_durability::fleet::{Device, Domain, Fleet, LossRule, Span, System};
use towtank_durability::repair::{Scope, Simple};
use towtank_durability::simulate::{Estimate, Method, Question, agreement, simulate};
use towtank_streams::{Draws, Purpose, Seed, Uniform};

use crate::systems::{YEAR_H, checked, constant};

/// Hosts, devices of each, and groups on distinct hosts, drawn.
#[derive(Clone, Copy)]
struct Cluster {
    hosts: usize,
    per_host: usize,
    groups: usize,
    copies: usize,
}

impl Cluster {
    fn groups(self, tolerance: usize) -> Vec<Group> {
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut source = draws.of(Purpose(1));
        let mut devices = || {
            let mut hosts: Vec<usize> = (0..self.hosts).collect();
            let mut take = |_| hosts.swap_remove(source.below(hosts.len() as u64) as usize);
            let chosen: Vec<usize> = (0..self.copies).map(&mut take).collect();
            let device = |host: &usize| host * self.per_host + source.below(self.per_host as u64) as usize;
            chosen.iter().map(device).collect()
        };
        (0..self.groups).map(|_| Group { devices: devices(), tolerance }).collect()
    }

    /// Each host is ruined so often in a year.
    fn system(self, tolerance: usize, per_year: f64, ruins: f64) -> System {
        let ruin = (ruins > 0.0).then_some(1);
        checked(Fleet {
            lives: vec![constant(per_year / YEAR_H), constant(ruins.max(1e-9) / YEAR_H)],
            devices: (0..self.hosts * self.per_host)
                .map(|index| Device { life: 0, domain: index / self.per_host, age_h: 0.0 })
                .collect(),
            domains: vec![Domain { parent: None, outage: None, ruin }; self.hosts],
            groups: self.groups(tolerance),
            rule: LossRule::AnyGroup,
            unreadable: 0.0,
            serves_without: tolerance,
        })
    }
}

fn found(system: &System, hours: f64, method: Method, cycles: u32) -> Estimate {
    let work = Span::Constant(hours);
    let policy = Simple { delay: Span::Constant(0.0), work, shared_by: Scope::Nobody };
    let question = Question { system, repair: &policy, mission_h: YEAR_H, failed: &[], seed: Seed(7) };
    simulate(&question, method, cycles, 20).expect("it is a system")
}

/// 4,096 groups of 3 copies on 160 devices: P(three devices down together) times P(a group is there), with
/// groups as they are drawn and not all triples.
#[test]
fn losses_are_overlaps_times_the_share_of_triples_that_hold_a_group() {
    let cluster = Cluster { hosts: 10, per_host: 16, groups: 4096, copies: 3 };
    let host_of = (0..160).map(|device| device / 16).collect();
    let list = Explicit::new(host_of, (0..10).collect(), cluster.groups(2)).expect("it names what is there");
    let burst = list.loss(Units::Devices, (3, None), 0, Seed(0)).expect("a burst");
    assert_eq!(burst.method, Found::Exhausted);
    assert!((burst.loss - 0.0061).abs() < 0.0001, "{burst:?}");
    let law = RepairLaw::Independent;
    let windows = Windows { n: 160, tolerance: 2, failures_per_h: 0.02 / YEAR_H, repair_h: 2.26, law };
    let want = leading_order(windows, YEAR_H).expect("a group") * burst.loss;
    let biased = found(&cluster.system(2, 0.02, 0.0), 2.26, Method::Biased, 500);
    let error = 4.0 * biased.standard_error + 0.003 * want;
    assert!(
        (biased.loss - want).abs() < error,
        "{:e} ± {:e}, not {want:e}",
        biased.loss,
        biased.standard_error
    );
    assert!(biased.standard_error < 0.02 * want);
    assert!((biased.groups_lost * 4096.0 / biased.loss - 1.0).abs() < 0.02, "a loss takes one group");
}

#[test]
fn methods_agree_on_a_cluster_with_ruined_hosts() {
    let cluster = Cluster { hosts: 8, per_host: 4, groups: 100, copies: 4 };
    for (tolerance, per_year, ruins, hours) in
        [(2, 0.3, 0.0, 24.0), (2, 0.2, 0.1, 24.0), (1, 0.05, 0.02, 24.0)]
    {
        let system = cluster.system(tolerance, per_year, ruins);
        let biased = found(&system, hours, Method::Biased, 300);
        for (method, cycles) in [(Method::Splitting, 4000), (Method::Plain, 4000)] {
            let other = found(&system, hours, method, cycles);
            let both = agreement(&biased, &other).expect("both saw losses");
            assert!(both.agrees, "{both:?} {biased:?} {other:?}");
        }
        let hurried = found(&system, 0.7 * hours, Method::Biased, 300);
        assert!(!agreement(&biased, &hurried).expect("both saw losses").agrees, "shorter repairs are seen");
    }
}
