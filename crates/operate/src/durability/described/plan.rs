//! A described system in numbers: times in hours, rates per hour, bytes.

use towtank_durability::burst::copysets::{Nodes, Sets};
use towtank_durability::rates::{Afr, AfrOfCounts, Life, Year};
use towtank_durability::repair::STAGES_MAX;
use towtank_report::human;
use towtank_scenario::{Draft, Problems};
use towtank_units::SimSpan;

use super::allowed;
use super::code::Code;
use crate::durability::failures::{hours, rate, year};
use crate::durability::keys::{Apart, FailureKeys, Law, Lie, Moved, SharedBy};
use crate::durability::scenario::Scenario;

/// At most so many disks are simulated together.
pub(super) const DISKS_MAX: usize = 20_000;

/// A described system.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub servers: usize,
    pub racks: usize,
    pub per_server: usize,
    pub code: Code,
    pub top: Option<Code>,
    pub lie: Lie,
    pub apart: Apart,
    pub pool_disks: usize,
    pub groups: usize,
    pub scatter_width: usize,
    pub min_size: usize,
    /// Bytes of a disk that are repaired.
    pub bytes: Option<f64>,
    pub repair_h: f64,
    pub delay_h: f64,
    pub law: Law,
    pub shared_by: SharedBy,
    pub moved: Moved,
    pub critical_first: bool,
    pub year: Year,
    pub mission_h: f64,
    pub afr: Afr,
    pub shape: Option<f64>,
    pub age_h: f64,
    pub counts: Option<AfrOfCounts>,
    /// P(at least one unreadable place) in the data of one disk.
    pub unreadable: Option<f64>,
    /// Latent errors per hour of a disk, and the interval of the scrub in hours.
    pub latent: Option<Latent>,
    pub server_ruin_h: Option<f64>,
    pub rack_ruin_h: Option<f64>,
    pub server_outage: Option<Away>,
    pub rack_outage: Option<Away>,
}

/// Latent errors, and how they are found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latent {
    pub per_h: f64,
    pub scrub_h: f64,
}

/// Outages: how often while it is up, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    pub per_h: f64,
    pub span_h: f64,
}

impl Away {
    /// The share of time in which it is away.
    pub fn share(self) -> f64 {
        self.span_h / (1.0 / self.per_h + self.span_h)
    }
}

impl Plan {
    /// Reads a description.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn of(scenario: &Scenario, draft: &Draft) -> Result<Plan, Problems> {
        allowed::check(scenario, draft)?;
        let described = &scenario.described;
        let (system, repair, failures) = (&described.system, &described.repair, &described.failures);
        let code = Code::of(system, draft)?;
        let top = match &system.top {
            Some(text) => Some(Code::parse(text).map_err(|why| draft.problem("top", why))?),
            None => None,
        };
        let year = year(failures, draft)?;
        let (servers, racks) = (system.servers.unwrap_or(1) as usize, system.racks.unwrap_or(1) as usize);
        let usual = if servers > 1 { Apart::Server } else { Apart::Disk };
        let lie = system.layout.unwrap_or_default();
        let usual = if lie == Lie::Pool { Apart::Disk } else { usual };
        let per_server = system.disks_per_server.unwrap_or(1) as usize;
        let bytes = system
            .disk_capacity
            .map(|capacity| capacity.get() as f64 * system.used.map_or(1.0, |share| share.fraction_f64()));
        let repair_h = match (repair.repair_time, repair.repair_rate, bytes) {
            (Some(time), _, _) => hours(time),
            (None, Some(rate), Some(bytes)) => bytes / rate.bytes_per_second() as f64 / 3_600.0,
            _ => NEVER_H,
        };
        let per_h = |rate: towtank_units::Percent| rate.fraction_f64() / year.hours();
        let away = |rate: Option<towtank_units::Percent>, span: Option<SimSpan>| {
            rate.zip(span).map(|(rate, span)| Away { per_h: per_h(rate), span_h: hours(span) })
        };
        let latent = failures.latent_error_rate.zip(failures.scrub_interval);
        let (afr, counts) = rate(scenario, year, draft)?;
        let plan = Plan {
            servers,
            racks,
            per_server,
            code,
            top,
            lie,
            apart: system.failure_domain.unwrap_or(usual),
            pool_disks: system.pool_disks.map_or(per_server, |disks| disks as usize),
            groups: system.groups.unwrap_or(0) as usize,
            scatter_width: system.scatter_width.unwrap_or(0) as usize,
            min_size: system.min_size.map_or(code.data, |least| least as usize),
            bytes,
            repair_h,
            delay_h: repair.delay.map_or(0.0, hours),
            law: repair.repair_law.unwrap_or_default(),
            shared_by: repair.shared_by.unwrap_or_default(),
            moved: repair.amplification.unwrap_or_default(),
            critical_first: repair.critical_first.unwrap_or(false),
            year,
            mission_h: hours(scenario.mission),
            afr,
            shape: failures.weibull_shape,
            age_h: failures.age.map_or(0.0, hours),
            counts,
            unreadable: read_error(failures, bytes, draft)?,
            latent: latent.map(|(rate, scrub)| Latent { per_h: per_h(rate), scrub_h: hours(scrub) }),
            server_ruin_h: failures.server_ruin_rate.map(per_h),
            rack_ruin_h: failures.rack_ruin_rate.map(per_h),
            server_outage: away(failures.server_outage_rate, failures.server_outage_time),
            rack_outage: away(failures.rack_outage_rate, failures.rack_outage_time),
        };
        plan.check(draft)?;
        Ok(plan)
    }

    /// Refuses what does not fit together.
    fn check(&self, draft: &Draft) -> Result<(), Problems> {
        let mut problems = Problems::new();
        let n = self.code.width;
        if self.repair_h <= 0.0 {
            problems.refuse(draft, "repair_time", "a repair takes no time", "give a time above 0");
        }
        if !self.servers.is_multiple_of(self.racks) {
            let message = format!("{} servers do not fill {} racks evenly", self.servers, self.racks);
            problems.refuse(draft, "racks", message, "give each rack as many servers");
        }
        if !(self.code.data..=n).contains(&self.min_size) {
            let message =
                format!("`min_size` is {}, but data are read from {} of {n}", self.min_size, self.code.data);
            problems.refuse(draft, "min_size", message, format!("give {} to {n}", self.code.data));
        }
        let (there, unit) = match self.apart {
            Apart::Disk if self.lie == Lie::Pool => (self.pool_disks, "disks in a pool"),
            Apart::Disk => {
                (self.per_server * if self.lie == Lie::Arrays { 1 } else { self.servers }, "disks")
            }
            Apart::Server => (self.servers, "servers"),
            Apart::Rack => (self.racks, "racks"),
        };
        if there < n {
            let message =
                format!("{n} copies or shards need as many {unit} (`failure_domain`), and there are {there}");
            let hint = "give more of them, or another `failure_domain`: disk, server or rack";
            problems.refuse(draft, "failure_domain", message, hint);
        }
        if self.pool_disks > self.per_server {
            let message = format!("a pool of {} disks is larger than a server", self.pool_disks);
            let hint = "describe a pool over several servers as one server with all disks";
            problems.refuse(draft, "pool_disks", message, hint);
        }
        if self.top.is_some_and(|top| self.arrays() < top.width) {
            let message = format!("`top` needs more arrays than the {} that there are", self.arrays());
            problems.refuse(draft, "top", message, "give more disks or servers");
        }
        if self.lie == Lie::Pool && !(1..=STAGES_MAX).contains(&self.code.tolerance()) {
            let message = format!("pools that survive {} failures are not modelled", self.code.tolerance());
            problems.refuse(
                draft,
                "layout",
                message,
                format!("give a code with 1 to {STAGES_MAX} parity shards"),
            );
        }
        let is_set_up = matches!(self.lie, Lie::Copysets | Lie::Scattered);
        if is_set_up && !(n.max(2) - 1..self.servers).contains(&self.scatter_width) {
            let message = format!(
                "`scatter_width` is {}, for {n} copies on {} servers",
                self.scatter_width, self.servers
            );
            problems.refuse(
                draft,
                "scatter_width",
                message,
                "give at least one less than the copies, and less than the servers",
            );
        }
        if is_set_up && n < 2 {
            problems.refuse(draft, "replicas", "sets of one server are no sets", "give two copies or more");
        }
        problems.into_result(())
    }

    /// All disks.
    pub fn disks(&self) -> usize {
        self.servers * self.per_server
    }

    pub(super) fn servers_per_rack(&self) -> usize {
        self.servers / self.racks
    }

    /// Disjoint arrays or pools.
    pub fn arrays(&self) -> usize {
        let n = self.code.width;
        match (self.lie, self.apart) {
            (Lie::Pool, _) => self.per_server / self.pool_disks * self.servers,
            (_, Apart::Disk) => self.per_server / n * self.servers,
            (_, Apart::Server) => self.servers / n * self.per_server,
            (_, Apart::Rack) => self.racks / n * self.servers_per_rack() * self.per_server,
        }
    }

    /// Disks of an array or pool.
    pub fn members(&self) -> usize {
        if self.lie == Lie::Pool { self.pool_disks } else { self.code.width }
    }

    /// Disks in no array.
    pub(super) fn left_over(&self) -> usize {
        match self.lie {
            Lie::Arrays | Lie::Pool => {
                let arrays = self.top.map_or(self.arrays(), |top| self.arrays() / top.width * top.width);
                self.disks() - arrays * self.members()
            }
            Lie::Groups | Lie::Copysets | Lie::Scattered => 0,
        }
    }

    /// The law of life for a rate; that of the plan is `afr`.
    pub fn life(&self, afr: Afr) -> Result<Life, String> {
        let life = match (self.shape, afr) {
            (Some(shape), Afr::Probability(p)) => Life::weibull_of_five_years(shape, p, self.year),
            _ => Life::constant(afr, self.year),
        };
        life.map_err(|error| error.to_string())
    }

    /// Hazard of a disk per hour, where it does not depend on age.
    pub(super) fn per_h(&self, afr: Afr) -> Option<f64> {
        if self.shape.is_some() { None } else { afr.per_hour(self.year).ok() }
    }

    /// Whether repairs end, at a time that is known.
    pub(super) fn is_repaired(&self) -> bool {
        self.law != Law::Never && self.repair_h < NEVER_H
    }

    /// Whether servers or racks fail as a whole.
    pub(super) fn has_ruins(&self) -> bool {
        self.server_ruin_h.is_some() || self.rack_ruin_h.is_some()
    }

    /// Whether servers or racks are out.
    pub(super) fn has_outages(&self) -> bool {
        self.server_outage.is_some() || self.rack_outage.is_some()
    }

    /// Servers as nodes of sets, of which so many are lost.
    pub(super) fn nodes(&self, lost: usize) -> Nodes {
        Nodes { nodes: self.servers as u64, lost: lost as u64, copies: self.code.width as u64 }
    }

    /// Sets of servers that hold something, where all among those that follow a server do.
    pub(super) fn scattered_sets(&self) -> f64 {
        Sets::Random { scatter_width: self.scatter_width as u64 }.count(self.nodes(0))
    }

    /// The years of a number of hours.
    pub fn years(&self, hours: f64) -> f64 {
        hours / self.year.hours()
    }
}

/// The time of a repair where nothing is repaired or its time is not given, in hours: beyond each mission.
const NEVER_H: f64 = 1e9;

fn read_error(failures: &FailureKeys, bytes: Option<f64>, draft: &Draft) -> Result<Option<f64>, Problems> {
    let Some(errors) = failures.errors_per_bit else { return Ok(None) };
    let found = towtank_durability::rates::unreadable(bytes.unwrap_or(0.0), errors);
    found.map(Some).map_err(|error| draft.problem("errors_per_bit", error.to_string()).into())
}

/// A time in words, from hours.
pub(super) fn time(hours: f64) -> String {
    human::quantity(hours * 3_600.0, "s")
}

/// The time of a repair of one disk with its delay, and of a pool the time in which stripes lack two.
pub(super) fn windows(plan: &Plan) -> [Option<f64>; 2] {
    if !plan.is_repaired() {
        return [None, None];
    }
    if plan.lie != Lie::Pool {
        return [Some(plan.delay_h + plan.repair_h), None];
    }
    let (all, n, k) = (plan.pool_disks as f64, plan.code.width as f64, plan.code.data as f64);
    let one = plan.repair_h * (k + 1.0) / (all - 1.0);
    let moved = if plan.moved == Moved::DataAndLost { k + 2.0 } else { k + 1.0 };
    let two = (n - 1.0) / (all - 1.0) * plan.repair_h * moved / (all - 2.0).max(1.0);
    [Some(plan.delay_h + one), (plan.code.tolerance() > 1).then_some(plan.delay_h + two)]
}
