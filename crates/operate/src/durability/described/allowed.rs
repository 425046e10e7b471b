//! Which keys mean something for a described system, and with which others. Each key that is given and means
//! nothing is refused.

use towtank_scenario::{Draft, Problems};
use towtank_study::keys_of;

use towtank_recovery::keys::Exports;

use crate::durability::failures::check_failures;
use crate::durability::keys::{Apart, Described, FailureKeys, Law, Lie, SharedBy};
use crate::durability::scenario::Scenario;

/// Keys that every description may have, beside its own.
const SHARED: [&str; 3] = ["failure_rate", "mission", "burst"];

/// Whether a scenario describes a system: it has a key that only descriptions have, or no exports. What fails
/// how often is asked of both.
pub(in crate::durability) fn is_described(draft: &Draft) -> bool {
    let of_failures = keys_of::<FailureKeys>();
    let mut own = keys_of::<Described>().into_iter().filter(|key| !of_failures.contains(key));
    let says = |key: &String| draft.says(key);
    own.any(|key| says(&key)) || (of_failures.iter().any(says) && !keys_of::<Exports>().iter().any(says))
}

/// Refuses keys that mean nothing here.
pub(super) fn check(scenario: &Scenario, draft: &Draft) -> Result<(), Problems> {
    let mut problems = Problems::new();
    let own = keys_of::<Described>();
    let first = own.iter().find(|key| draft.says(key)).map_or("servers", String::as_str);
    for key in keys_of::<Scenario>() {
        if !own.contains(&key) && !SHARED.contains(&key.as_str()) && draft.says(&key) {
            let message = format!(
                "`{key}` is of exports of a cluster, and `{first}` describes a system: this asks for two systems"
            );
            problems.refuse(draft, &key, message, "leave one of them out");
        }
    }
    problems.into_result(())?;
    let mut refusal = Refusal { draft, problems: Problems::new() };
    refusal.system(scenario);
    refusal.repair(scenario);
    refusal.failures(scenario);
    refusal.problems.into_result(())
}

struct Refusal<'a> {
    draft: &'a Draft,
    problems: Problems,
}

impl Refusal<'_> {
    fn refuse(&mut self, key: &str, why: &str, hint: &str) {
        self.problems.refuse(self.draft, key, format!("`{key}` {why}"), hint);
    }

    /// Refuses keys unless a condition holds.
    fn only_if(&mut self, holds: bool, keys: &[&str], why: &str, hint: &str) {
        for key in keys.iter().filter(|key| !holds && self.draft.says(key)) {
            self.refuse(key, why, hint);
        }
    }

    /// Refuses a key that is missing.
    fn needs(&mut self, holds: bool, key: &str, message: &str, hint: &str) {
        if !holds {
            self.problems.refuse(self.draft, key, message.to_owned(), hint);
        }
    }

    fn system(&mut self, scenario: &Scenario) {
        let keys = &scenario.described.system;
        let lie = keys.layout.unwrap_or_default();
        let says = |key: &str| self.draft.says(key);
        let has_disks = says("servers") || says("disks_per_server");
        let is_set_up = matches!(lie, Lie::Copysets | Lie::Scattered);
        self.needs(
            has_disks,
            "servers",
            "the number of disks is missing",
            "add `servers` and `disks_per_server`",
        );
        self.only_if(
            lie == Lie::Pool,
            &["pool_disks"],
            "is of pools",
            "set `layout` to pool, or leave it out",
        );
        self.only_if(
            lie == Lie::Groups,
            &["groups"],
            "is of groups",
            "set `layout` to groups, or leave it out",
        );
        self.only_if(lie == Lie::Arrays, &["top"], "is of arrays", "set `layout` to arrays, or leave it out");
        let hint = "set `layout` to copysets or scattered, or leave it out";
        self.only_if(is_set_up, &["scatter_width"], "is of sets of servers", hint);
        self.needs(
            lie != Lie::Groups || keys.groups.is_some(),
            "layout",
            "the number of groups is missing",
            "add `groups`",
        );
        self.needs(
            !is_set_up || keys.scatter_width.is_some(),
            "layout",
            "the number of servers that share data with a server is missing",
            "add `scatter_width`",
        );
        let is_apart = match lie {
            Lie::Arrays | Lie::Groups => true,
            Lie::Pool => keys.failure_domain.is_none_or(|apart| apart == Apart::Disk),
            Lie::Copysets | Lie::Scattered => keys.failure_domain.is_none_or(|apart| apart == Apart::Server),
        };
        self.needs(
            is_apart,
            "failure_domain",
            "this layout has another failure domain: pools lie within a server, sets of servers on distinct ones",
            "leave it out",
        );
        self.needs(
            !is_set_up || (keys.disks_per_server.is_none_or(|disks| disks == 1) && keys.ec.is_none()),
            "layout",
            "sets of servers are of copies, on servers with one disk",
            "leave out `ec` and `disks_per_server`",
        );
        let is_whole = keys.top.is_none() || keys.failure_domain.is_none_or(|apart| apart == Apart::Disk);
        let message = "arrays of a second code lie within a server";
        self.needs(is_whole, "failure_domain", message, "leave it out, or set it to disk");
        let is_sized = keys.disk_capacity.is_some();
        self.only_if(
            is_sized,
            &["used"],
            "is a share of `disk_capacity`, which is missing",
            "add `disk_capacity`",
        );
    }

    fn repair(&mut self, scenario: &Scenario) {
        let keys = &scenario.described.repair;
        let system = &scenario.described.system;
        let lie = system.layout.unwrap_or_default();
        let law = keys.repair_law.unwrap_or_default();
        let is_never = law == Law::Never;
        let times = ["repair_time", "repair_rate", "shared_by", "amplification", "critical_first", "delay"];
        self.only_if(
            !is_never,
            &times,
            "is of repairs, and nothing is repaired",
            "leave it out, or `repair_law`",
        );
        let both = keys.repair_time.is_some() && keys.repair_rate.is_some();
        self.needs(
            !both,
            "repair_rate",
            "`repair_time` and `repair_rate` both say how long a repair takes",
            "leave one out",
        );
        let is_known =
            is_never || keys.repair_time.is_some() || keys.repair_rate.is_some() || self.is_burst(scenario);
        let hint = "add `repair_time`, or `repair_rate` and `disk_capacity`";
        self.needs(is_known, "repair_time", "how long a repair takes is missing", hint);
        let is_sized = keys.repair_rate.is_none() || system.disk_capacity.is_some();
        self.needs(is_sized, "repair_rate", "`repair_rate` needs the bytes of a disk", "add `disk_capacity`");
        let is_pool = lie == Lie::Pool;
        let hint = "set `layout` to pool, or leave it out";
        self.only_if(is_pool, &["amplification", "critical_first"], "is of pools", hint);
        let why = "means nothing for a pool: all of its disks work at each repair";
        self.only_if(!is_pool, &["shared_by"], why, "leave it out");
        let is_pooled = !is_pool || law == Law::Constant;
        self.needs(is_pooled, "repair_law", "repairs of a pool are as long as their work", "leave it out");
        let shares = keys.shared_by.unwrap_or_default();
        let is_array = shares != SharedBy::Array || lie == Lie::Arrays;
        self.needs(is_array, "shared_by", "there are no arrays in this layout", "write `nobody` or `server`");
        let is_top = system.top.is_none() || shares != SharedBy::Server;
        let message = "with `top`, a server does not share the rate of repairs";
        self.needs(is_top, "shared_by", message, "write `nobody` or `array`");
    }

    /// Whether only bursts are asked for, which need no repairs.
    fn is_burst(&self, scenario: &Scenario) -> bool {
        !scenario.burst.is_empty()
    }

    fn failures(&mut self, scenario: &Scenario) {
        let keys = &scenario.described.failures;
        let system = &scenario.described.system;
        check_failures(keys, self.draft, &mut self.problems);
        let is_sized = system.disk_capacity.is_some();
        let why = "needs the bytes of a disk";
        self.only_if(is_sized, &["errors_per_bit"], why, "add `disk_capacity`");
        let has_racks = system.racks.is_some();
        let why = "is of racks, and all servers are in one";
        self.only_if(has_racks, &["rack_ruin_rate", "rack_outage_rate"], why, "add `racks`");
        let reads = keys.errors_per_bit.is_some() || keys.latent_error_rate.is_some();
        let fails = keys.server_ruin_rate.is_some() || keys.rack_ruin_rate.is_some();
        let with_top = system.top.is_none() || !(reads || fails);
        let message = "unreadable places and ruins are not modelled beside `top`";
        self.needs(with_top, "top", message, "leave one of them out");
    }
}
