//! Settings in the syntax of the product that has such a scheduler.
//!
//! - Lustre's NRS TBF by job: `nrs_policies` and `nrs_tbf_rule` of the OSS (Lustre manual, "Token bucket
//!   filter policy"); rates are RPCs per second of each OST.
//! - Ceph's mClock, from Reef on: options `osd_mclock_scheduler_CLASS_{res,wgt,lim}` of a custom profile;
//!   reservations and limits are fractions of an OSD's capacity (Ceph documentation, "mClock config
//!   reference"). There are three classes; applications with other names take the remaining classes in order
//!   of weight.
//! - Linux: `io.max` and `io.bfq.weight` of control groups (kernel documentation, "Control Group v2").
//!
//! Other schedulers exist in no product with a syntax of its own: for them there are only the keys of the
//! scenario.

use towtank_iosched::{Description, Kind};
use towtank_units::{Frequency, Rate};

use super::{Key, Settings};
use crate::pfs::scenario::Settled;

/// Ceph's classes, the one of clients first.
const CLASSES: [&str; 3] = ["client", "background_recovery", "background_best_effort"];
/// The minimum and maximum weight in Linux.
const CGROUP_WEIGHTS: (u64, u64) = (1, 1_000);

/// Commands, one per line; none where no product has such a scheduler.
pub(super) fn lines(base: &Settled, settings: &Settings) -> Vec<String> {
    let Ok(description) = settings.scheduler.parse::<Description>() else { return Vec::new() };
    let set = Set { base, settings };
    match description.kind {
        Kind::Tbf { .. } => set.lustre(),
        Kind::Mclock { .. } => set.ceph(),
        Kind::TokenBucket => set.io_max(),
        Kind::Bfq(_) => set.bfq(),
        _ => Vec::new(),
    }
}

struct Set<'a> {
    base: &'a Settled,
    settings: &'a Settings,
}

impl Set<'_> {
    /// The value of an application's key, as the search set it or as in the scenario.
    fn value(&self, name: &str, key: Key) -> Option<u64> {
        if let Some(value) = self.settings.values.get(&(name.to_owned(), key)) {
            return Some(*value);
        }
        let own = self.base.applications.get(name)?;
        match key {
            Key::Weight => Some(u64::from(own.weight)),
            Key::Reservation => own.reservation.map(Rate::bytes_per_second),
            Key::Limit => own.limit.map(Rate::bytes_per_second),
            Key::Rate => own.rate.map(Rate::bytes_per_second),
            Key::RequestRate => own.request_rate.map(|rate: Frequency| rate.per_second_f64().round() as u64),
        }
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.base.applications.keys()
    }

    fn lustre(&self) -> Vec<String> {
        let mut lines = vec!["lctl set_param ost.OSS.ost_io.nrs_policies=\"tbf jobid\"".to_owned()];
        lines.extend(self.names().filter_map(|name| {
            let rate = self.value(name, Key::RequestRate)?;
            Some(format!(
                "lctl set_param ost.OSS.ost_io.nrs_tbf_rule=\"start {name} jobid={{{name}}} rate={rate}\""
            ))
        }));
        lines
    }

    fn ceph(&self) -> Vec<String> {
        let disk = &self.base.disk;
        let capacity = disk.read.bytes_per_second().max(disk.write.bytes_per_second());
        let part = |bytes: u64| format!("{:.3}", bytes as f64 / capacity as f64);
        let mut lines = vec![
            "ceph config set osd osd_mclock_profile custom".to_owned(),
            format!("ceph config set osd osd_mclock_max_sequential_bandwidth_hdd {capacity}"),
        ];
        for (class, name) in self.classes() {
            let option = |what: &str, value: String| {
                format!("ceph config set osd osd_mclock_scheduler_{class}_{what} {value}  # {name}")
            };
            let reservation = self.value(name, Key::Reservation).map_or_else(|| "0".to_owned(), part);
            let limit = self.value(name, Key::Limit).map_or_else(|| "0".to_owned(), part);
            lines.push(option("res", reservation));
            lines.push(option("wgt", self.value(name, Key::Weight).unwrap_or(1).to_string()));
            lines.push(option("lim", limit));
        }
        lines
    }

    /// Ceph's class of each application: by its name, or by its weight.
    fn classes(&self) -> Vec<(&'static str, &str)> {
        let mut left: Vec<&str> = self.names().map(String::as_str).collect();
        left.sort_by_key(|name| std::cmp::Reverse(self.value(name, Key::Weight)));
        let mut named: Vec<(&'static str, &str)> = Vec::new();
        for class in CLASSES {
            if let Some(at) = left.iter().position(|name| *name == class) {
                named.push((class, left.remove(at)));
            }
        }
        let free = CLASSES.into_iter().filter(|class| named.iter().all(|(taken, _)| taken != class));
        let rest: Vec<_> = free.zip(left).collect();
        named.extend(rest);
        named
    }

    fn io_max(&self) -> Vec<String> {
        let of = |name: &String| {
            let rate = self.value(name, Key::Rate)?;
            Some(format!("echo \"MAJOR:MINOR rbps={rate} wbps={rate}\" > /sys/fs/cgroup/{name}/io.max"))
        };
        self.names().filter_map(of).collect()
    }

    fn bfq(&self) -> Vec<String> {
        let (least, most) = CGROUP_WEIGHTS;
        let mut lines = vec!["echo bfq > /sys/block/DEVICE/queue/scheduler".to_owned()];
        lines.extend(self.names().map(|name| {
            let weight = self.value(name, Key::Weight).unwrap_or(1).clamp(least, most);
            format!("echo {weight} > /sys/fs/cgroup/{name}/io.bfq.weight")
        }));
        lines
    }
}
