//! Groups that are restored one after the other, groups of different tolerance side by side, and systems in
//! which something is lacking at the start: against formulas of the leading order.

use towtank_durability::Group;
use towtank_durability::fleet::{Device, Domain, Fleet, LossRule, Span, System};
use towtank_durability::repair::{Amplification, Declustered, Repair, Restored, Row, Table};
use towtank_durability::simulate::{Estimate, Method, Question, simulate};
use towtank_streams::Seed;

use crate::systems::{YEAR_H, checked, constant};

const PER_H: f64 = 1e-5;

/// Groups of so many devices each, no device in two, that survive so many lost.
fn groups(each: &[(usize, usize)]) -> System {
    let mut next = 0;
    let groups: Vec<Group> = each
        .iter()
        .map(|(devices, tolerance)| {
            next += devices;
            Group { devices: (next - devices..next).collect(), tolerance: *tolerance }
        })
        .collect();
    checked(Fleet {
        lives: vec![constant(PER_H)],
        devices: (0..next).map(|domain| Device { life: 0, domain, age_h: 0.0 }).collect(),
        domains: vec![Domain::default(); next],
        groups,
        rule: LossRule::AnyGroup,
        unreadable: 0.0,
        serves_without: 1,
    })
}

fn row(restored: &[Restored]) -> Row {
    Row { devices: 1, hosts: 1, restored: restored.iter().map(|one| vec![*one]).collect() }
}

fn table(first: Row, start: Option<Row>) -> Table {
    Table { delay: Span::Constant(0.0), rows: vec![first], start }
}

/// One fifth of the groups at each of these hours.
fn fifths(hours: [u32; 5]) -> Restored {
    let each: Vec<(f64, u64)> = hours.iter().map(|hours| (f64::from(*hours), 1)).collect();
    Restored::of(&each).expect("there are groups")
}

fn found<R: Repair>(system: &System, repair: &R, method: Method) -> Estimate {
    let question = Question { system, repair, mission_h: YEAR_H, failed: &[], seed: Seed(5) };
    let cycles = if method == Method::Plain { 40_000 } else { 2_000 };
    simulate(&question, method, cycles, 10).expect("it is a system")
}

/// Both methods for rare events have a value, within four of their errors and a part of it that the
/// leading order leaves out; and they do not have another one.
fn assert_near(system: &System, repair: &Table, want: f64, planted: f64) {
    for method in [Method::Biased, Method::Splitting] {
        let found = found(system, repair, method);
        let off = |value: f64| (found.loss - value).abs() / (4.0 * found.standard_error + 0.02 * value);
        assert!(off(want) < 1.0, "{method:?}: {want:e} is expected, and {found:?}");
        assert!(off(planted) > 1.0, "{method:?}: {planted:e} is as near as {want:e}: {found:?}");
    }
}

/// A group is exposed until its own part is restored, not until the last one is.
#[test]
fn groups_of_a_device_are_restored_one_after_the_other() {
    let restored = fifths([10, 20, 30, 40, 100]);
    assert_eq!((restored.mean_h(), restored.end_h()), (40.0, 100.0));
    let system = groups(&[(2, 1), (2, 1), (2, 1), (2, 1)]);
    let loss = |hours: f64| 4.0 * 2.0 * PER_H * YEAR_H * PER_H * hours;
    assert_near(&system, &table(row(&[restored]), None), loss(40.0), loss(100.0));
    // Three copies: both failures meet groups that are exposed on average for so long. A device that fails
    // while another is restored has its own repair, and of two devices the first is back first.
    let three = groups(&[(3, 2), (3, 2), (3, 2), (3, 2)]);
    let row_of_two = Row { devices: 2, hosts: 2, ..row(&[restored, fifths([10, 10, 10, 10, 10])]) };
    let rows = Table { rows: vec![row(&[restored, restored]), row_of_two], ..table(row(&[restored]), None) };
    let loss = |hours: f64| 4.0 * 6.0 * PER_H * YEAR_H * (PER_H * hours) * (PER_H * 10.0);
    let found = found(&three, &rows, Method::Biased);
    // The first may be back before the ten hours are over, so it is less than that.
    assert!(found.loss < loss(40.0) && found.loss > 0.8 * loss(40.0), "{} of {}", found.loss, loss(40.0));
}

/// Groups that survive less are as exposed as others that lack more, and restored with these.
#[test]
fn groups_of_different_tolerance_have_their_own_windows() {
    let system = groups(&[(2, 1), (3, 2)]).of_kinds(vec![7, 2]);
    let urgent = Restored::at_once(10.0);
    let table = table(row(&[Restored::at_once(30.0), urgent]), None);
    let two = 2.0 * PER_H * YEAR_H * PER_H;
    assert_near(&system, &table, two * 10.0, two * 30.0);
    let found = found(&system, &table, Method::Biased);
    assert_eq!(found.by_kind.len(), 8);
    assert!((found.by_kind.iter().sum::<f64>() / found.loss - 1.0).abs() < 1e-9);
    assert!(found.by_kind[7] > 0.99 * found.loss && found.by_kind[2] > 0.0, "{:?}", found.by_kind);
}

/// What is lacking at the start is lost if the rest fails before it is restored, and not if the device fails
/// to which it goes.
#[test]
fn what_is_lacking_at_the_start_is_exposed_until_it_is_restored() {
    let start = fifths([100, 200, 300, 400, 1_000]);
    let system = groups(&[(2, 1); 10]);
    let pairs: Vec<(usize, usize)> = (0..10).map(|group| (2 * group + 1, group)).collect();
    let system = system.lacking(&pairs).expect("the pairs are in the system");
    let table = |start| table(row(&[Restored::at_once(1.0)]), start);
    let steady = 10.0 * 2.0 * PER_H * YEAR_H * PER_H;
    let loss = |hours: f64, devices: f64| -(-(steady + 10.0 * devices * PER_H * hours)).exp_m1();
    assert_near(&system, &table(Some(row(&[start]))), loss(400.0, 1.0), loss(1_000.0, 1.0));
    assert_near(&system, &table(Some(row(&[start]))), loss(400.0, 1.0), loss(400.0, 2.0));
    let plain = found(&system, &table(Some(row(&[start]))), Method::Plain);
    let deviations = (plain.loss - loss(400.0, 1.0)) / plain.standard_error;
    assert!(deviations.abs() < 4.5, "{plain:?}");
    // A group that lacks two, of which one is restored by the repair of a device that fails.
    let three = groups(&[(3, 2); 10]);
    let pairs: Vec<(usize, usize)> =
        (0..10).flat_map(|group| [(3 * group + 1, group), (3 * group + 2, group)]).collect();
    let three = three.lacking(&pairs).expect("the pairs are in the system");
    let both = row(&[Restored::at_once(400.0), Restored::at_once(400.0)]);
    let times =
        Table { rows: vec![row(&[Restored::at_once(1.0), Restored::at_once(1.0)])], ..table(Some(both)) };
    assert_near(&three, &times, 10.0 * PER_H * 400.0, 10.0 * 3.0 * PER_H * 400.0);
}

#[test]
fn a_start_that_cannot_be_is_refused() {
    let system = || groups(&[(2, 1), (2, 1)]);
    for pair in [(9, 0), (0, 9), (0, 1)] {
        assert!(system().lacking(&[pair]).is_err(), "{pair:?}");
    }
    let lacking = system().lacking(&[(0, 0)]).expect("it is in the system");
    let asked = |repair: &Table| {
        let question = Question { system: &lacking, repair, mission_h: YEAR_H, failed: &[], seed: Seed(1) };
        simulate(&question, Method::Plain, 10, 2).map(|_| ()).map_err(|error| error.to_string())
    };
    let one = row(&[Restored::at_once(1.0)]);
    let refused = asked(&table(one.clone(), None)).expect_err("no time is given for what is lacking");
    assert!(refused.contains("lacking at the start"), "{refused}");
    assert_eq!(asked(&table(one.clone(), Some(one))), Ok(()));
    let pool = Declustered {
        delay: Span::Constant(0.0),
        device_h: 10.0,
        data: 1,
        width: 2,
        amplification: Amplification::DataAndOne,
        lower_waits: true,
    };
    let question =
        Question { system: &lacking, repair: &pool, mission_h: YEAR_H, failed: &[], seed: Seed(1) };
    let refused = simulate(&question, Method::Plain, 10, 2).expect_err("a pool has no start");
    assert!(refused.to_string().contains("lacking at the start"), "{refused}");
}
