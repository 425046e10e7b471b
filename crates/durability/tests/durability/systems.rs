//! Systems of the rows of the table: arrays, declustered pools and stacks of groups.

use towtank_durability::Group;
use towtank_durability::fleet::{Device, Domain, Fleet, LossRule, Span, System};
use towtank_durability::rates::{Afr, Life, Year};
use towtank_durability::repair::{Amplification, Declustered, Scope, Simple};

use crate::golden::Row;

pub const YEAR_H: f64 = 8766.0;

/// New devices in one domain, in groups of `n` one after the other.
pub fn arrays(devices: usize, n: usize, tolerance: usize, life: Life) -> Fleet {
    let member = |group: usize| (group * n..(group + 1) * n).collect();
    Fleet {
        lives: vec![life],
        devices: vec![Device { life: 0, domain: 0, age_h: 0.0 }; devices],
        domains: vec![Domain::default()],
        groups: (0..devices / n).map(|group| Group { devices: member(group), tolerance }).collect(),
        rule: LossRule::AnyGroup,
        unreadable: 0.0,
        serves_without: tolerance,
    }
}

pub fn checked(fleet: Fleet) -> System {
    System::new(fleet).expect("the fleet is consistent")
}

pub fn constant(per_h: f64) -> Life {
    Life::Constant { per_h }
}

/// The time in which a disk of a row is written: TB of 2^20 MB at so many MB/s.
fn disk_h(row: &Row) -> f64 {
    row.number("disk_tb") * 1_048_576.0 / row.number("repair_mb_s") / 3600.0
}

fn life(row: &Row) -> Life {
    let afr = row.number("afr_pct") / 100.0;
    match row.params["weibull_shape"].as_f64() {
        Some(shape) => Life::weibull_of_five_years(shape, afr, Year::Julian).expect("the row is a law"),
        None => Life::constant(Afr::Probability(afr), Year::Julian).expect("the row is a law"),
    }
}

/// The system of a row whose repairs are shared or not.
pub fn simple(row: &Row) -> (System, Simple) {
    let n = row.count("n");
    let disks = row.params["disks"].as_u64().map_or_else(|| row.count("groups") * n, |disks| disks as usize);
    let mut fleet = arrays(disks, n, row.count("m"), life(row));
    if let Some(top) = row.params["top_parity"].as_u64() {
        fleet.rule = LossRule::MoreGroupsThan(top as usize);
    }
    let shared_by = match row.text("policy") {
        "indep" => Scope::Nobody,
        "server" => Scope::Domain,
        "group" | "MLEC clustered in clustered" => Scope::Group,
        other => panic!("no policy is called {other}"),
    };
    let work = Span::Constant(disk_h(row));
    (checked(fleet), Simple { delay: Span::Constant(0.0), work, shared_by })
}

/// The system of a row with one declustered pool.
pub fn pool(row: &Row) -> (System, Declustered) {
    let disks = row.count("disks");
    let (n, tolerance) = (row.count("n"), row.count("m"));
    let is_adapted = row.text("policy") != "dp";
    let repair = Declustered {
        delay: Span::Constant(0.0),
        device_h: disk_h(row),
        data: n - tolerance,
        width: n,
        amplification: if is_adapted { Amplification::DataAndOne } else { Amplification::DataAndStage },
        lower_waits: is_adapted,
    };
    (checked(arrays(disks, disks, tolerance, life(row))), repair)
}
