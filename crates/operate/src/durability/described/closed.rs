//! What is known of a described system in closed form: the chain of an array, the leading order of constant
//! repairs, shares of time, and numbers of other tools beside them.

use towtank_durability::exact::peers::{Calculator, OldCeph, backblaze, old_ceph};
use towtank_durability::exact::{Chain, RepairLaw, Windows, leading_order};
use towtank_durability::rates::{Afr, Year};

use super::plan::Plan;
use super::unit::unreadable;
use crate::durability::keys::{Apart, Law, Lie, SharedBy};

/// Whether the parts of a system are arrays that are independent of each other, with disks that do not age.
fn is_plain(plan: &Plan) -> bool {
    let is_own = plan.shared_by != SharedBy::Server || (plan.servers == 1 && plan.arrays() == 1);
    plan.lie == Lie::Arrays && plan.top.is_none() && !plan.has_ruins() && plan.shape.is_none() && is_own
}

fn law(plan: &Plan) -> RepairLaw {
    match (plan.law, plan.shared_by) {
        (Law::Never, _) => RepairLaw::Never,
        (_, SharedBy::Nobody) => RepairLaw::Independent,
        (_, SharedBy::Array | SharedBy::Server) => RepairLaw::Shared,
    }
}

/// The chain of one array: failures and repairs without memory, its state the number of failed disks.
pub(super) fn chain(plan: &Plan, afr: Afr) -> Option<Chain> {
    // Where no failure is survived, no repair counts.
    let m = plan.code.tolerance();
    let has_no_memory = m == 0 || (plan.law != Law::Constant && plan.delay_h == 0.0);
    let per_h = plan.per_h(afr)?;
    if !is_plain(plan) || !has_no_memory {
        return None;
    }
    let unread = unreadable(plan, 1);
    let mut rates = vec![vec![0.0; m + 1]; m + 1];
    let mut loss = vec![0.0; m + 1];
    for failed in 0..=m {
        let next = (plan.code.width - failed) as f64 * per_h;
        if failed == m {
            loss[failed] = next;
        } else {
            let read = if failed + 1 == m { 1.0 - unread } else { 1.0 };
            rates[failed][failed + 1] = next * read;
            loss[failed] = next * (1.0 - read);
        }
        if failed > 0 {
            rates[failed][failed - 1] = match law(plan) {
                RepairLaw::Independent => failed as f64 / plan.repair_h,
                RepairLaw::Shared | RepairLaw::Restarted => 1.0 / plan.repair_h,
                RepairLaw::Never => 0.0,
            };
        }
    }
    Chain::new(rates, loss).ok()
}

/// P(loss of an array in the mission), to leading order, with the share by which it may be off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leading {
    pub loss: f64,
    pub off: f64,
}

/// The leading order of repairs of a constant time.
pub(super) fn leading(plan: &Plan, afr: Afr) -> Option<Leading> {
    let is_window = plan.delay_h == 0.0 || plan.shared_by == SharedBy::Nobody;
    let is_constant = plan.law == Law::Constant && plan.is_repaired() && plan.code.tolerance() > 0;
    if !is_plain(plan) || !is_constant || !is_window || unreadable(plan, 1) > 0.0 {
        return None;
    }
    let (n, m) = (plan.code.width as f64, plan.code.tolerance() as f64);
    let (failures_per_h, repair_h) = (plan.per_h(afr)?, plan.delay_h + plan.repair_h);
    let group = Windows {
        n: plan.code.width as u32,
        tolerance: plan.code.tolerance() as u32,
        failures_per_h,
        repair_h,
        law: law(plan),
    };
    let loss = leading_order(group, plan.mission_h).ok()?;
    // More failures within the windows, and windows that would begin before the mission.
    let off = (m + 1.0) * n * failures_per_h * repair_h + m * repair_h / plan.mission_h;
    Some(Leading { loss, off })
}

/// The share of time in which an array has fewer members than it serves with, in the long run: each member is
/// failed or away independently of the others. None where that does not hold.
pub(super) fn below(plan: &Plan, afr: Afr) -> Option<f64> {
    let is_own = plan.shared_by == SharedBy::Nobody && plan.lie != Lie::Pool;
    if !is_own || plan.has_ruins() || !plan.is_repaired() {
        return None;
    }
    let (per_h, down_h) = (plan.per_h(afr)?, plan.delay_h + plan.repair_h);
    let failed = down_h / (1.0 / per_h + down_h);
    let share = |away: Option<super::plan::Away>| away.map_or(0.0, |away| away.share());
    let (server, rack) = (share(plan.server_outage), share(plan.rack_outage));
    let most = plan.code.width - plan.min_size;
    let tail = |own: f64| above(plan.code.width, most, own);
    let either = |one: f64, other: f64| one + other - one * other;
    match plan.apart {
        Apart::Disk if plan.lie == Lie::Arrays => {
            let away = either(server, rack);
            Some(either(away, tail(failed)))
        }
        Apart::Disk => (!plan.has_outages()).then(|| tail(failed)),
        Apart::Server if plan.rack_outage.is_some() => None,
        Apart::Server => Some(tail(either(failed, server))),
        Apart::Rack => Some(tail(either(either(failed, server), rack))),
    }
}

/// P(more than `most` of `all`), each with this probability.
fn above(all: usize, most: usize, each: f64) -> f64 {
    let mut sum = 0.0;
    for count in (most + 1..=all).rev() {
        let ways: f64 = (0..count).map(|i| (all - i) as f64 / (i + 1) as f64).product();
        sum += ways * libm::pow(each, count as f64) * libm::pow(1.0 - each, (all - count) as f64);
    }
    sum
}

/// The share of time in which a disk cannot be reached, because its server or its rack is out.
pub(super) fn unreachable(plan: &Plan) -> Option<f64> {
    let share = |away: Option<super::plan::Away>| away.map_or(0.0, |away| away.share());
    let (server, rack) = (share(plan.server_outage), share(plan.rack_outage));
    plan.has_outages().then_some(server + rack - server * rack)
}

/// P(loss of one array) by periods as long as a repair, in a period and in a year of 365 days.
pub(super) fn periods(plan: &Plan) -> Option<(f64, f64)> {
    let is_constant = plan.law == Law::Constant && plan.is_repaired();
    let is_it = is_plain(plan) && is_constant && plan.year == Year::Common;
    let Afr::Rate(afr) = plan.afr else { return None };
    let shards = plan.code.width as u32;
    let replace_days = (plan.delay_h + plan.repair_h) / 24.0;
    let asked = Calculator { shards, parity: plan.code.tolerance() as u32, afr, replace_days };
    let found = is_it.then(|| backblaze(asked))?.ok()?;
    Some((found.in_period, found.in_year))
}

/// `PL(copies)` of the reliability model of ceph-tools, and the same for an object.
pub(super) fn old_model(plan: &Plan) -> Option<(f64, f64)> {
    let is_it = plan.lie == Lie::Groups && plan.code.data == 1 && plan.is_repaired();
    let groups_per_drive = (plan.groups * plan.code.width) as f64 / plan.disks() as f64;
    let asked = OldCeph {
        copies: plan.code.width as u32,
        fits: plan.per_h(plan.afr)? * 1e9,
        groups_per_drive,
        window_h: plan.delay_h + plan.repair_h,
    };
    let all = is_it.then(|| old_ceph(asked))?.ok()?;
    Some((all, all / (2.0 * groups_per_drive)))
}
