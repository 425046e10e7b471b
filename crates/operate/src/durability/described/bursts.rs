//! P(loss | so much fails at once) in a described system: exactly for arrays, pools and stacks, in closed
//! form for drawn groups and sets of servers, else over drawn sets.

use serde::{Deserialize, Serialize};
use towtank_durability::Group;
use towtank_durability::burst::copysets::{self, Sets};
use towtank_durability::burst::{Explicit, Layout, Method, Units};
use towtank_streams::Seed;

use super::placed;
use super::plan::Plan;
use crate::durability::bursts::{Burst, Counts};
use crate::durability::keys::{Apart, Lie};

/// Sets that are drawn, where there are too many to look at all of them.
const DRAWS: u64 = 200_000;

/// At most so many disks are listed.
const LISTED_MAX: usize = 200_000;

/// What a burst loses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    /// What fails, as it was asked.
    pub text: String,
    /// P(any loss | burst), and the ends of its interval of 95 %, equal to it where it is exact.
    pub loss: f64,
    /// The ends.
    pub range: [f64; 2],
    /// How that was found, in words.
    pub how: String,
}

/// What there is to fail.
pub(super) fn counts(plan: &Plan) -> Counts {
    Counts { disks: plan.disks(), hosts: plan.servers, racks: (plan.racks > 1).then_some(plan.racks) }
}

/// What a burst loses.
///
/// # Errors
/// If there is no such burst, or it is not modelled, in words.
pub(super) fn lost(plan: &Plan, burst: &Burst, seed: Seed) -> Result<Lost, String> {
    let (units, count, racks) = burst.asked();
    let closed = match plan.lie {
        Lie::Arrays | Lie::Pool => regular(plan, units, (count, racks))?,
        Lie::Groups => drawn_groups(plan, units, (count, racks)),
        Lie::Copysets | Lie::Scattered => Some(sets(plan, (count, racks))?),
    };
    match closed {
        Some((loss, how)) => {
            Ok(Lost { text: burst.text().to_owned(), loss, range: [loss; 2], how: how.to_owned() })
        }
        None => listed(plan, burst, seed),
    }
}

/// A probability in closed form, and how it was found; none where there is none.
type Closed = Option<(f64, &'static str)>;

/// Arrays, pools and stacks that fill racks evenly, by counting.
fn regular(plan: &Plan, units: Units, (count, racks): (usize, Option<usize>)) -> Result<Closed, String> {
    let Some(layout) = layout(plan, units, racks.is_some()) else {
        return match plan.top {
            Some(_) => Err(
                "a burst on two codes needs racks in sets as wide as the code of `top`, and disks as they \
                            fail: set `racks`"
                    .to_owned(),
            ),
            None => Ok(None),
        };
    };
    if count > 400 {
        return match plan.top {
            Some(_) => Err("at most 400 disks are counted on two codes".to_owned()),
            None => Ok(None),
        };
    }
    let found = match racks {
        Some(racks) => layout.loss(count, racks),
        None => layout.loss_anywhere(count),
    };
    found.map(|loss| Some((loss, "exact"))).map_err(|error| error.to_string())
}

fn layout(plan: &Plan, units: Units, in_racks: bool) -> Option<Layout> {
    let (n, m) = (plan.code.width, plan.code.tolerance());
    if plan.left_over() > 0 {
        return None;
    }
    let one = |places, local, local_tolerance| Layout {
        sets: 1,
        racks_per_set: 1,
        places,
        local,
        local_tolerance,
        top_tolerance: 0,
    };
    let over_racks = |places| Layout {
        sets: plan.racks / n,
        racks_per_set: n,
        places,
        local: 1,
        local_tolerance: 0,
        top_tolerance: m,
    };
    match (units, plan.apart, plan.top) {
        (Units::Devices, Apart::Disk, Some(top)) => plan.racks.is_multiple_of(top.width).then(|| Layout {
            sets: plan.racks / top.width,
            racks_per_set: top.width,
            places: plan.arrays() / plan.racks,
            local: n,
            local_tolerance: m,
            top_tolerance: top.tolerance(),
        }),
        (Units::Devices, Apart::Disk, None) => {
            let places = plan.arrays() / plan.racks;
            Some(Layout { sets: plan.racks, ..one(places, plan.members(), m) })
        }
        (Units::Devices, Apart::Server, None) => (!in_racks).then(|| one(plan.arrays(), n, m)),
        (Units::Hosts, Apart::Server, None) => (!in_racks).then(|| one(plan.servers / n, n, m)),
        (Units::Devices, Apart::Rack, None) => Some(over_racks(plan.servers_per_rack() * plan.per_server)),
        (Units::Hosts, Apart::Rack, None) => Some(over_racks(plan.servers_per_rack())),
        _ => None,
    }
}

/// Groups on drawn disks: each is lost or not independently of the others, if what fails is what a group has
/// one of.
fn drawn_groups(plan: &Plan, units: Units, (count, racks): (usize, Option<usize>)) -> Closed {
    let all = match (units, plan.apart) {
        (Units::Devices, Apart::Disk) => plan.disks(),
        (Units::Devices, Apart::Server) if plan.per_server == 1 => plan.disks(),
        (Units::Hosts, Apart::Server) => plan.servers,
        _ => return None,
    };
    if racks.is_some() {
        return None;
    }
    let one = hypergeometric(all, count, plan.code.width, plan.code.tolerance());
    if !one.is_finite() {
        return None;
    }
    let loss = -libm::expm1(plan.groups as f64 * libm::log1p(-one));
    Some((loss, "exact, over all ways to draw the groups"))
}

/// P(more than `most` of `taken` are among `marked` of `all`).
fn hypergeometric(all: usize, marked: usize, taken: usize, most: usize) -> f64 {
    let choose = |from: usize, count: usize| -> f64 {
        (0..count).map(|i| (from as f64 - i as f64) / (i + 1) as f64).product()
    };
    let ways = |count: usize| choose(marked, count) * choose(all - marked, taken - count);
    let sum: f64 = (most + 1..=taken.min(marked)).rev().map(ways).sum();
    (sum / choose(all, taken)).min(1.0)
}

fn sets(plan: &Plan, (count, racks): (usize, Option<usize>)) -> Result<(f64, &'static str), String> {
    if racks.is_some() {
        return Err("sets of servers are not placed in racks: leave out `in … racks`".to_owned());
    }
    let scatter_width = plan.scatter_width as u64;
    let sets = match plan.lie {
        Lie::Copysets => Sets::Copyset { scatter_width },
        _ => Sets::Random { scatter_width },
    };
    let loss = copysets::loss(plan.nodes(count), sets).map_err(|error| error.to_string())?;
    Ok((loss, "closed form, sets taken as independent"))
}

/// All groups as a list: exactly where the sets can be looked at, else over drawn ones.
fn listed(plan: &Plan, burst: &Burst, seed: Seed) -> Result<Lost, String> {
    if plan.disks() > LISTED_MAX {
        return Err(format!("{} disks are not listed, but {LISTED_MAX}: ask for other units", plan.disks()));
    }
    let tolerance = plan.code.tolerance();
    let groups = placed::lists(plan, seed)?.into_iter().map(|devices| Group { devices, tolerance }).collect();
    let host_of = (0..plan.disks()).map(|disk| disk / plan.per_server).collect();
    let rack_of = (0..plan.servers).map(|server| server / plan.servers_per_rack()).collect();
    let (units, count, racks) = burst.asked();
    let found = Explicit::new(host_of, rack_of, groups)
        .and_then(|groups| groups.loss(units, (count, racks), DRAWS, seed))
        .map_err(|error| error.to_string())?;
    let how = match found.method {
        Method::Counted | Method::Exhausted => "exact".to_owned(),
        Method::Drawn { sets, losses } => format!("{losses} of {sets} drawn sets"),
    };
    let range = [found.interval.low, found.interval.high];
    Ok(Lost { text: burst.text().to_owned(), loss: found.loss, range, how })
}
