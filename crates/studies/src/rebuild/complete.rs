//! The checks of a scenario, and everything that is known of it before it runs.

use std::sync::Arc;

use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::arrays::Form;
use towtank_rebuild::failures::Failure;
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::ledger::Order;
use towtank_rebuild::placing::{Domain, LostSet, Placing};
use towtank_rebuild::redundancy::Redundancy;
use towtank_recovery::checks::{Fleet, QUEUE};
use towtank_recovery::keys::Seeks;
use towtank_report::Warning;
use towtank_scenario::{Draft, Problems};
use towtank_units::SimSpan;

use super::cluster::machines;
use super::failures::resolve;
use super::population::DataSet;
use super::ring::{self, Rings};
use super::scenario::Scenario;
use super::settled::{Amount, Settled};

/// The longest rebuild that is simulated: a choice. Simulated time ends after 584 years.
const YEARS_MAX: f64 = 100.0;

/// A scenario with everything that is known of it before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Complete {
    /// The scenario with all defaults filled in.
    pub scenario: Settled,
    /// How objects are protected: copies or shards.
    pub redundancy: Redundancy,
    /// What fails, in order of time.
    pub failures: Vec<Failure>,
    /// The data set.
    pub data: DataSet,
    /// Settings that the queue of the daemons overrides.
    pub warnings: Vec<Warning>,
    /// The ring that the machines and partitions come from; none if they are generated.
    pub rings: Option<Arc<Rings>>,
}

impl Complete {
    /// The machines.
    #[must_use]
    pub(super) fn hardware(&self) -> Hardware {
        machines(&self.scenario, self.rings.as_deref(), 0)
    }

    /// The machines, with the disks that replace failed ones after a rebuild to spares.
    #[must_use]
    pub(super) fn hardware_in_the_end(&self) -> Hardware {
        let new = if self.scenario.rebalances() { self.failures.len() as u32 } else { 0 };
        machines(&self.scenario, self.rings.as_deref(), new)
    }

    /// How objects are placed on disks.
    #[must_use]
    pub(super) fn placing(&self) -> Placing {
        Placing {
            algorithm: self.scenario.placement,
            vnodes: self.scenario.vnodes(),
            domain: self.scenario.failure_domain,
            groups: self.scenario.groups,
            pool: self.scenario.pool,
            redundancy: self.redundancy,
            lost_set: self.scenario.lost_set,
        }
    }
}

impl Settled {
    /// Refuses rates at which simulated time would end before the rebuild does, even if all servers had an
    /// equal part of the data of one disk to read and to write.
    fn check_years(&self, draft: &Draft, problems: &mut Problems) {
        let Amount::PerServer(bytes) = self.amount else { return };
        let disks = f64::from(self.disks_per_server.max(1));
        let lost = bytes.get() as f64 / disks;
        let servers = f64::from(self.servers.max(1));
        // A spare of a RAID takes all of a disk by itself.
        let all = if self.array == Some(Form::Raid) { 1.0 } else { servers * disks };
        let parts = [all, all, servers];
        let rates = [
            ("disk_read", self.settings.disk_read),
            ("disk_write", self.settings.disk_write),
            ("nic", self.settings.nic),
        ];
        for ((key, rate), parts) in rates.into_iter().zip(parts) {
            let years = lost / parts / rate.bytes_per_second() as f64 / (365.25 * 86_400.0);
            if years > YEARS_MAX {
                let message = format!(
                    "`{key}` is {rate}, at which the rebuild of one disk takes at least {} years, but at most \
                     {YEARS_MAX} are simulated",
                    years.ceil()
                );
                problems.refuse(draft, key, message, "set a higher rate, or a smaller `per_server`");
            }
        }
    }
}

/// The code that a text names: `8+3`.
pub(super) fn code(text: &str) -> Option<Redundancy> {
    let (k, m) = text.split_once('+')?;
    let (k, m): (u32, u32) = (k.trim().parse().ok()?, m.trim().parse().ok()?);
    let width = k.checked_add(m)?;
    (k > 0 && m > 0 && width <= 64).then_some(Redundancy { data: k, width })
}

impl Scenario {
    /// Fills in what was left out and checks the scenario.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn complete(mut self, draft: &Draft) -> Result<Complete, Problems> {
        self.fill_failure(draft);
        let rings = ring::read(&self, draft)?;
        let mut problems = Problems::new();
        let redundancy = match &rings {
            Some(rings) => rings.redundancy(),
            None => self.redundancy(draft, &mut problems),
        };
        if draft.says("ec") && draft.says("replicas") {
            let message = "`replicas` and `ec` both set the redundancy";
            problems.refuse(draft, "replicas", message, "leave one of them out");
        }
        self.check_vnodes(draft, &mut problems);
        if rings.is_none() {
            self.check_lost_set(draft, &mut problems);
            self.check_chassis(draft, &mut problems);
        }
        let asked = self;
        let mut settled = Settled::of(asked.clone());
        let warnings = if settled.settings.is_serial() {
            settled.settings.check_queue(&asked.keys.pacing, draft, &mut problems)
        } else {
            for key in QUEUE.into_iter().filter(|key| draft.says(key)) {
                let message = format!(
                    "`{key}` describes the daemons of Ceph, but the cluster is none of Ceph with groups"
                );
                let hint =
                    "set preset = \"ceph-wpq\" and `groups`; or set `recovery_sleep` and `max_backfills`";
                problems.refuse(draft, key, message, hint);
            }
            Vec::new()
        };
        settled.check_returns(draft, &mut problems);
        if rings.is_none() {
            settled.check_sizes(draft, redundancy, &mut problems);
        }
        settled.check_data(draft, &mut problems);
        settled.settings.check_amounts(draft, &mut problems);
        settled.check_years(draft, &mut problems);
        settled.scenario.check_groups(draft, redundancy, &mut problems);
        settled.check_pool(draft, redundancy, &mut problems);
        settled.check_order(settled.is_grouped(), draft, &mut problems);
        let failures = resolve(&settled, rings.as_deref(), draft, &mut problems);
        settled.check_failures(&failures, draft, &mut problems);
        if let Some(rings) = &rings {
            rings.check(&failures, draft, &mut problems);
        }
        problems.into_result(())?;
        let mut problems = Problems::new();
        let hardware = machines(&settled, rings.as_deref(), 0);
        let rotates = [settled.settings.seeks != Seeks::None];
        let fleet = Fleet { hardware: &hardware, rotates: &rotates };
        settled.settings.check_clients(&asked.keys.clients, redundancy, fleet, draft, &mut problems);
        problems.into_result(())?;
        let servers = rings.as_ref().map_or(settled.servers, |rings| rings.servers);
        let width_usual = (servers / redundancy.width).max(1);
        let population = settled.population.clone().complete(draft, "population", width_usual)?;
        let data = population.data_set(draft, "population")?;
        settled.scenario.population = population;
        Ok(Complete { scenario: settled, redundancy, failures, data, warnings, rings })
    }

    fn redundancy(&self, draft: &Draft, problems: &mut Problems) -> Redundancy {
        let Some(text) = &self.ec else { return Redundancy { data: 1, width: self.replicas } };
        code(text).unwrap_or_else(|| {
            let message = format!("`ec` is `{text}`, which is not an erasure code");
            let hint = "write data and parity shards, such as \"8+3\": at most 64 together";
            problems.refuse(draft, "ec", message, hint);
            Redundancy { data: 1, width: 1 }
        })
    }

    fn check_sizes(&self, draft: &Draft, redundancy: Redundancy, problems: &mut Problems) {
        if self.racks > self.servers {
            let message = format!("`racks` is {}, but there are {} servers", self.racks, self.servers);
            problems.refuse(draft, "racks", message, "set it to at most `servers`");
        }
        let (domains, names) = match self.failure_domain {
            Domain::Server => (self.servers, "servers"),
            Domain::Rack => (self.racks, "racks"),
            Domain::Disk => (self.disks_per_server, "disks"),
        };
        if redundancy.width > domains && (self.servers > 1 || self.is_chassis()) {
            let (key, what) = if self.ec.is_some() { ("ec", "shards") } else { ("replicas", "copies") };
            let message =
                format!("{} {what} are required, but there are {domains} {names}", redundancy.width);
            problems.refuse(draft, key, message, format!("set more {names}, or fewer {what}"));
        }
        if matches!(
            self.placement,
            Algorithm::TwoChoice | Algorithm::Xor | Algorithm::TwoD | Algorithm::Negotiating
        ) {
            let message = format!("`placement` is `{}`, which rebuilds do not model", self.placement.name());
            let hint = "use CRUSH (crush-straw2, crush-straw, crush-vring), ring, multiring, rendezvous, jump, maglev or static-modulo; \
                        the place study has all algorithms";
            problems.refuse(draft, "placement", message, hint);
        }
        if self.failure_domain == Domain::Rack && self.placement != Algorithm::CrushStraw2 {
            let message = "`failure_domain` is `rack`, but only `crush-straw2` supports racks";
            problems.refuse(draft, "failure_domain", message, "set placement = \"crush-straw2\"");
        }
    }

    /// Refuses virtual nodes of a placement that has none, or a number of its own.
    fn check_vnodes(&self, draft: &Draft, problems: &mut Problems) {
        if draft.says("vnodes") && self.ring.is_none() && !self.placement.has_virtual_nodes() {
            let message =
                format!("`vnodes` are those of a ring, but `placement` is `{}`", self.placement.name());
            let hint =
                "leave it out, or set placement = \"ring\" or \"multiring\"; crush-vring always has 1,024";
            problems.refuse(draft, "vnodes", message, hint);
        }
    }

    /// Refuses a draw of lost objects where there is no distribution to draw from.
    fn check_lost_set(&self, draft: &Draft, problems: &mut Problems) {
        let has_shares = self.placement.bucket().is_some() || self.placement == Algorithm::Rendezvous;
        let why = if self.lost_set != LostSet::Draw {
            return;
        } else if self.has_groups() {
            "all groups are looked up".to_owned()
        } else if self.failure_domain == Domain::Rack {
            "objects on racks are looked up one by one".to_owned()
        } else if !has_shares {
            format!("`placement` is `{}`, whose lost objects are looked up", self.placement.name())
        } else {
            return;
        };
        let message = format!("`lost_set` is `draw`, but {why}");
        let hint = "leave it out; only objects by crush or rendezvous, placed one by one, can be drawn";
        problems.refuse(draft, "lost_set", message, hint);
    }

    fn check_data(&self, draft: &Draft, problems: &mut Problems) {
        if self.objects.is_some() && self.per_server.is_some() {
            let message = "`objects` and `per_server` both set the amount of data";
            problems.refuse(draft, "objects", message, "leave one of them out");
        }
        self.check_units(draft, problems);
    }

    /// Checks how long a run may take.
    fn check_units(&self, draft: &Draft, problems: &mut Problems) {
        if self.within.is_some_and(SimSpan::is_zero) {
            let message = "`within` is 0s, but a run takes some time";
            problems.refuse(draft, "within", message, "the default is 2s");
        } else if self.within.is_some() && self.units.are_exact() {
            let message = "`within` is set, but all units are simulated, however long that takes";
            problems.refuse(draft, "within", message, "set units = \"auto\", or leave it out");
        }
    }

    fn check_groups(&mut self, draft: &Draft, redundancy: Redundancy, problems: &mut Problems) {
        match (self.groups, self.groups_per_server) {
            (Some(_), Some(_)) => {
                let message = "`groups` and `groups_per_server` both set the number of groups";
                problems.refuse(draft, "groups_per_server", message, "leave one of them out");
            }
            (None, Some(each)) => {
                let all = u64::from(each) * u64::from(self.servers) / u64::from(redundancy.width.max(1));
                self.groups = Some(u32::try_from(all).unwrap_or(u32::MAX).clamp(1, 1 << 22));
                self.groups_per_server = None;
            }
            _ => {}
        }
        self.groups = self.groups.filter(|&groups| groups > 0);
    }
}

impl Settled {
    /// Checks that the groups of a numbered pool can be placed as Ceph places them.
    fn check_pool(&self, draft: &Draft, redundancy: Redundancy, problems: &mut Problems) {
        if self.pool.is_none() {
            return;
        }
        let flat = self.disks_per_server == 1 && self.failure_domain == Domain::Server;
        let message = if self.groups.is_none() {
            "`pool` is the number of a pool of groups, but objects are placed one by one"
        } else if self.placement != Algorithm::CrushStraw2 || !flat || redundancy.data > 1 {
            "`pool` has the groups of a pool of copies placed as Ceph does, by crush-straw2 on servers of one disk"
        } else {
            return;
        };
        let hint = "set `groups`, placement = \"crush-straw2\" and disks_per_server = 1; for the pools of a real cluster, give \
                    its exports";
        problems.refuse(draft, "pool", message, hint);
    }

    /// Checks that the order is one of what is placed: groups, or single objects.
    pub(super) fn check_order(&self, grouped: bool, draft: &Draft, problems: &mut Problems) {
        let (message, hint) = match (self.settings.order, grouped) {
            (Order::Object, true) => (
                "`order` is `object`, but the objects of a group are rebuilt together",
                "set order = \"group\", or place objects one by one (groups = 0)",
            ),
            (Order::Group, false) => (
                "`order` is `group`, but objects are placed one by one",
                "set order = \"object\", or set `groups`",
            ),
            _ => return,
        };
        problems.refuse(draft, "order", message, hint);
    }
}

impl Settled {
    /// Checks that what comes back finds a log.
    fn check_returns(&self, draft: &Draft, problems: &mut Problems) {
        if self.returns.is_none() {
            let key = "async_recovery_min_cost";
            if draft.says(key) {
                let message = format!("`{key}` is about devices that come back, but nothing does");
                problems.refuse(draft, key, message, "set returns = \"40min\", or leave it out");
            }
            return;
        }
        if self.replace.is_some() {
            let message = "`returns` and `replace` both say what takes the place of what failed";
            problems.refuse(draft, "returns", message, "leave one of them out");
        }
        if self.ring.is_some() || !self.settings.is_serial() {
            let message =
                "`returns` needs the logs of Ceph's groups, but the cluster is none of Ceph with groups";
            let hint = "set preset = \"ceph-wpq\" and `groups`, or `replace` in its place";
            problems.refuse(draft, "returns", message, hint);
        }
    }
}

#[cfg(test)]
mod tests;
