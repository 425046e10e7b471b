//! The part of a system that is independent of the rest: an array, a pool, a server, a set of servers, or all
//! of it. A system is so many of these, so P(no loss) is a power.

use towtank_durability::Group;
use towtank_durability::fleet::{Device, Domain, Fleet, LossRule, Outage, Span, System};
use towtank_durability::rates::{Afr, Life, exposure_h};
use towtank_durability::repair::{Amplification, Declustered, Scope, Simple};
use towtank_streams::Seed;

use super::placed;
use super::plan::{DISKS_MAX, Plan, windows};
use crate::durability::keys::{Apart, Law, Lie, Moved, SharedBy};

/// What is simulated, and how many of it there are.
#[derive(Debug)]
pub(super) struct Unit {
    pub system: System,
    pub policy: Policy,
    pub count: f64,
}

/// How repairs proceed.
#[derive(Debug)]
pub(super) enum Policy {
    Simple(Simple),
    Pool(Declustered),
}

/// Disks in servers in racks, and groups of disks.
struct Shape {
    /// Servers of each rack.
    racks: Vec<usize>,
    per_server: usize,
    groups: Vec<Group>,
    count: f64,
}

impl Unit {
    /// The unit of a system whose disks fail so often.
    ///
    /// # Errors
    /// If it is too large, in words.
    pub fn of(plan: &Plan, afr: Afr, seed: Seed) -> Result<Unit, String> {
        let shape = Shape::of(plan, seed)?;
        let count = shape.count;
        let system = shape.system(plan, plan.life(afr)?)?;
        Ok(Unit { system, policy: policy(plan), count })
    }
}

/// Where parts of a system are not independent of each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Coupled {
    /// Within an array.
    Array,
    /// Within a server, or the servers of a set.
    Server,
    /// Everywhere.
    All,
}

fn coupled(plan: &Plan) -> Coupled {
    let racks = plan.rack_ruin_h.is_some() || plan.rack_outage.is_some();
    let servers = plan.server_ruin_h.is_some() || plan.server_outage.is_some();
    match plan.lie {
        Lie::Groups | Lie::Copysets | Lie::Scattered => Coupled::All,
        _ if racks => Coupled::All,
        _ if servers || plan.shared_by == SharedBy::Server => Coupled::Server,
        _ => Coupled::Array,
    }
}

impl Shape {
    fn of(plan: &Plan, seed: Seed) -> Result<Shape, String> {
        let coupled = coupled(plan);
        let (n, members) = (plan.code.width, plan.members());
        let one_rack = |servers: usize| vec![servers];
        let in_turn = |groups: usize| (0..groups).map(|at| (at * members..(at + 1) * members).collect());
        let (racks, per_server, lists, count): (Vec<usize>, usize, Vec<Vec<usize>>, f64) =
            match (coupled, plan.top, plan.apart) {
                (Coupled::Array, Some(top), _) => {
                    let sets = plan.arrays() / top.width;
                    (one_rack(1), members * top.width, in_turn(top.width).collect(), sets as f64)
                }
                (Coupled::Array, None, _) => {
                    (one_rack(1), members, in_turn(1).collect(), plan.arrays() as f64)
                }
                (Coupled::Server, _, Apart::Disk) => {
                    let arrays = plan.per_server / members;
                    (one_rack(1), plan.per_server, in_turn(arrays).collect(), plan.servers as f64)
                }
                (Coupled::Server, _, Apart::Server | Apart::Rack) => {
                    let place = |at: usize| (0..n).map(|server| server * plan.per_server + at).collect();
                    let places = (0..plan.per_server).map(place).collect();
                    let sets = plan.arrays() / plan.per_server;
                    (one_rack(n), plan.per_server, places, sets as f64)
                }
                (Coupled::All, _, _) => {
                    let racks = vec![plan.servers_per_rack(); plan.racks];
                    (racks, plan.per_server, placed::lists(plan, seed)?, 1.0)
                }
            };
        let disks = racks.iter().sum::<usize>() * per_server;
        if disks > DISKS_MAX {
            return Err(format!(
                "{disks} disks depend on each other, and at most {DISKS_MAX} are simulated together"
            ));
        }
        let tolerance = plan.code.tolerance();
        let groups = lists.into_iter().map(|devices| Group { devices, tolerance }).collect();
        Ok(Shape { racks, per_server, groups, count })
    }

    fn system(self, plan: &Plan, life: Life) -> Result<System, String> {
        let constant = |per_h: f64| Life::Constant { per_h };
        let mut lives = vec![life];
        let mut law = |per_h: Option<f64>| {
            per_h.map(|per_h| {
                lives.push(constant(per_h));
                lives.len() - 1
            })
        };
        let (of_server, of_rack) = (law(plan.server_ruin_h), law(plan.rack_ruin_h));
        let mut outage = |away: Option<super::plan::Away>| {
            let life = law(away.map(|away| away.per_h))?;
            Some(Outage { life, span: Span::Constant(away?.span_h) })
        };
        let (server_out, rack_out) = (outage(plan.server_outage), outage(plan.rack_outage));
        let rack = Domain { parent: None, outage: rack_out, ruin: of_rack };
        let mut domains = vec![rack; self.racks.len()];
        let mut devices = Vec::new();
        for (index, servers) in self.racks.iter().enumerate() {
            for _ in 0..*servers {
                domains.push(Domain { parent: Some(index), outage: server_out.clone(), ruin: of_server });
                let device = Device { life: 0, domain: domains.len() - 1, age_h: plan.age_h };
                devices.extend(std::iter::repeat_n(device, self.per_server));
            }
        }
        let unreadable = unreadable(plan, self.groups.len());
        let rule = match plan.top {
            Some(top) => LossRule::MoreGroupsThan(top.tolerance()),
            None => LossRule::AnyGroup,
        };
        let serves_without = plan.code.width - plan.min_size;
        let fleet = Fleet { lives, devices, domains, groups: self.groups, rule, unreadable, serves_without };
        System::new(fleet).map_err(|error| error.to_string())
    }
}

/// P(something of the rest of a group cannot be read), when it has lost all that it survives.
pub(super) fn unreadable(plan: &Plan, groups: usize) -> f64 {
    let m = plan.code.tolerance();
    if m == 0 {
        return 0.0;
    }
    // Of each disk that is read, the share that the group has on it.
    let share = match plan.lie {
        Lie::Arrays => 1.0,
        Lie::Pool => {
            let (all, n) = (plan.pool_disks as f64, plan.code.width as f64);
            // Stripes that lie on all failed disks, as a share of those of one.
            (1..m).map(|j| (n - j as f64) / (all - j as f64)).product()
        }
        Lie::Groups | Lie::Copysets | Lie::Scattered => {
            (plan.disks() as f64 / (groups * plan.code.width) as f64).min(1.0)
        }
    };
    let disks = plan.code.data as f64 * share;
    let bad_bits = plan.unreadable.map_or(0.0, |one| disks * libm::log1p(-one));
    let latent = plan.latent.map_or(0.0, |latent| {
        let repair_h = windows(plan)[0].unwrap_or(0.0);
        let exposed = exposure_h(latent.scrub_h, repair_h).unwrap_or(0.0);
        disks * latent.per_h * exposed
    });
    -libm::expm1(bad_bits - latent)
}

fn policy(plan: &Plan) -> Policy {
    let delay = Span::Constant(plan.delay_h);
    if plan.lie == Lie::Pool {
        return Policy::Pool(Declustered {
            delay,
            device_h: plan.repair_h,
            data: plan.code.data,
            width: plan.code.width,
            amplification: match plan.moved {
                Moved::DataAndLost => Amplification::DataAndStage,
                Moved::DataAndOne => Amplification::DataAndOne,
            },
            lower_waits: plan.critical_first,
        });
    }
    let work = match plan.law {
        Law::Exponential => Span::Exponential(plan.repair_h),
        Law::Constant | Law::Never => Span::Constant(plan.repair_h),
    };
    let shared_by = match plan.shared_by {
        SharedBy::Nobody => Scope::Nobody,
        SharedBy::Array => Scope::Group,
        SharedBy::Server => Scope::Domain,
    };
    Policy::Simple(Simple { delay, work, shared_by })
}
