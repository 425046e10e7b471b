//! On which disks the arrays, pools and groups of a whole system lie. Disks are numbered server by server,
//! and servers rack by rack.

use std::collections::BTreeSet;

use towtank_streams::{Draws, Purpose, Seed, Uniform as _};

use super::plan::Plan;
use crate::durability::keys::{Apart, Lie};

const PLACES: Purpose = Purpose(0x706c_6163);

/// At most so many groups are listed.
const LISTED_MAX: usize = 400_000;

/// The disks of each array, pool or group.
///
/// # Errors
/// If there are too many, in words.
pub(super) fn lists(plan: &Plan, seed: Seed) -> Result<Vec<Vec<usize>>, String> {
    let count = match plan.lie {
        Lie::Groups => plan.groups as f64,
        Lie::Scattered => plan.scattered_sets(),
        _ => plan.disks() as f64,
    };
    if count > LISTED_MAX as f64 {
        return Err(format!("{count:.0} groups, and at most {LISTED_MAX} are simulated together"));
    }
    Ok(match plan.lie {
        Lie::Arrays | Lie::Pool => disjoint(plan),
        Lie::Groups => drawn(plan, seed),
        Lie::Copysets => permutations(plan, seed),
        Lie::Scattered => scattered(plan),
    })
}

fn disjoint(plan: &Plan) -> Vec<Vec<usize>> {
    let (n, members, per_server) = (plan.code.width, plan.members(), plan.per_server);
    let per_rack = plan.servers_per_rack();
    match plan.apart {
        Apart::Disk => {
            let of_server = |server: usize| {
                (0..per_server / members).map(move |at| {
                    (0..members).map(|disk| server * per_server + at * members + disk).collect()
                })
            };
            (0..plan.servers).flat_map(of_server).collect()
        }
        Apart::Server => {
            let of_set = |set: usize| {
                (0..per_server)
                    .map(move |at| (0..n).map(|server| (set * n + server) * per_server + at).collect())
            };
            (0..plan.servers / n).flat_map(of_set).collect()
        }
        Apart::Rack => {
            let of_set = |set: usize| {
                let in_rack = per_rack * per_server;
                (0..in_rack).map(move |at| (0..n).map(|rack| (set * n + rack) * in_rack + at).collect())
            };
            (0..plan.racks / n).flat_map(of_set).collect()
        }
    }
}

/// Groups, each on distinct disks, servers or racks that are drawn, and within these on drawn disks.
fn drawn(plan: &Plan, seed: Seed) -> Vec<Vec<usize>> {
    let domains = match plan.apart {
        Apart::Disk => plan.disks(),
        Apart::Server => plan.servers,
        Apart::Rack => plan.racks,
    };
    let each = plan.disks() / domains;
    (0..plan.groups)
        .map(|group| {
            let mut draws = Draws::new(seed, 0, group as u64);
            let mut source = draws.of(PLACES);
            // Floyd's method: so many distinct ones among all.
            let mut chosen = BTreeSet::new();
            for last in domains - plan.code.width..domains {
                let one = source.below(last as u64 + 1) as usize;
                let is_new = chosen.insert(one);
                if !is_new {
                    chosen.insert(last);
                }
            }
            chosen.into_iter().map(|domain| domain * each + source.below(each as u64) as usize).collect()
        })
        .collect()
}

/// Permutations of all servers, cut into sets.
fn permutations(plan: &Plan, seed: Seed) -> Vec<Vec<usize>> {
    let n = plan.code.width;
    let permutations = plan.scatter_width.div_ceil(n - 1);
    let mut sets = Vec::new();
    for number in 0..permutations {
        let mut draws = Draws::new(seed, 1, number as u64);
        let mut source = draws.of(PLACES);
        let mut servers: Vec<usize> = (0..plan.servers).collect();
        for last in (1..servers.len()).rev() {
            servers.swap(last, source.below(last as u64 + 1) as usize);
        }
        sets.extend(servers.chunks_exact(n).map(<[usize]>::to_vec));
    }
    sets
}

/// Each server with every choice of others among those that follow it.
fn scattered(plan: &Plan) -> Vec<Vec<usize>> {
    let mut sets = Vec::new();
    for first in 0..plan.servers {
        let mut chosen: Vec<usize> = (1..plan.code.width).collect();
        loop {
            let others = chosen.iter().map(|step| (first + step) % plan.servers);
            sets.push(std::iter::once(first).chain(others).collect());
            if !advance(&mut chosen, plan.scatter_width) {
                break;
            }
        }
    }
    sets
}

/// The next choice of ascending numbers from 1 to `most`; false after the last.
fn advance(chosen: &mut [usize], most: usize) -> bool {
    let count = chosen.len();
    for at in (0..count).rev() {
        if chosen[at] < most - (count - 1 - at) {
            chosen[at] += 1;
            for next in at + 1..count {
                chosen[next] = chosen[next - 1] + 1;
            }
            return true;
        }
    }
    false
}
