//! A plan is checked by applying it: its explicit mappings go into a copy of the cluster, stage by stage,
//! every group is placed again, and what was planned is compared with what comes out. The check shares no
//! bookkeeping with the planner.

use std::collections::{BTreeMap, BTreeSet};

use towtank_placement::crush::pools::PgId;
use towtank_placement::crush::{Fault, ItemId, Map, Step};

use super::plan::Move;
use super::room::{Mix, Room, room};
use super::shape::Shape;
use super::spread::{Placed, Spread, real};
use crate::cluster::Cluster;
use crate::gains::Gains;
use crate::laid_out::LaidOut;
use crate::upmaps;

/// A plan that was applied.
pub struct Applied {
    /// The cluster after each stage, in short.
    pub stages: Vec<Stage>,
    /// The cluster after the last stage.
    pub after: Spread,
}

/// A stage of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The explicit mappings that it sets, in the order of groups; an empty one is removed.
    pub items: BTreeMap<PgId, Vec<(ItemId, ItemId)>>,
    /// Copies and shards that move.
    pub shards: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that each device gains, and bytes that it loses.
    pub devices: BTreeMap<ItemId, (u64, u64)>,
    /// The fullest device after it.
    pub fill: Option<f64>,
    /// What fits after it, if all pools grow in proportion.
    pub room: Room,
}

/// Why a plan does not do what it says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// The map itself.
    #[error("{0}")]
    Map(String),
    /// The monitors would drop a mapping.
    #[error("the monitors would drop the mapping of group {0}")]
    Dropped(PgId),
    /// A group that no command names is elsewhere.
    #[error("group {0} moves without a command")]
    Unasked(PgId),
    /// A group is not where the plan says.
    #[error("group {0} is not on the devices that the plan gives it")]
    Elsewhere(PgId),
    /// Two shards share a failure domain.
    #[error("group {0} has two shards in one failure domain")]
    Shared(PgId),
    /// A shard moved to a device of another class.
    #[error("group {0} moves to a device of another class")]
    Class(PgId),
    /// A group has more or fewer devices than before.
    #[error("group {0} has another number of devices")]
    Number(PgId),
    /// The fullest device became fuller.
    #[error("the fullest device would become fuller: {0}")]
    Fuller(String),
    /// Bytes do not add up.
    #[error("{0} bytes are planned to move, and {1} do")]
    Bytes(u64, u64),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Map(fault.to_string())
    }
}

/// Applies a plan in stages and checks it.
///
/// # Errors
/// The first thing that is not as it should be.
pub fn applied(cluster: &Cluster, spread: &Spread, plan: &[Move], stages: usize) -> Result<Applied, Broken> {
    let mut cluster = cluster.clone();
    let mut after = spread.clone();
    let mix = spread.in_proportion().unwrap_or_else(|| vec![0.0; spread.pools.len()]);
    let mut found = Vec::new();
    // Stages differ by at most one move.
    let ends = (0..=stages).map(|stage| stage * plan.len() / stages.max(1));
    let ends: Vec<usize> = ends.collect();
    for moves in ends.windows(2).map(|ends| &plan[ends[0]..ends[1]]).filter(|moves| !moves.is_empty()) {
        let stage = apply(&mut cluster, &mut after, moves, &mix)?;
        let was = found.last().map_or_else(|| fullest(spread), |last: &Stage| last.fill);
        if let (Some(was), Some(is)) = (was, stage.fill)
            && is > was + 1e-9
        {
            return Err(Broken::Fuller(format!("{was} before a stage, {is} after it")));
        }
        found.push(stage);
    }
    check_whole(&cluster, spread, &after, plan)?;
    Ok(Applied { stages: found, after })
}

fn fullest(spread: &Spread) -> Option<f64> {
    spread.devices.values().filter_map(super::spread::Load::fill).reduce(f64::max)
}

/// One stage: sets the mappings, and places the groups of the stage again.
fn apply(cluster: &mut Cluster, after: &mut Spread, moves: &[Move], mix: &Mix) -> Result<Stage, Broken> {
    let mut items = BTreeMap::new();
    for one in moves {
        items.insert(one.group(), one.items.clone());
    }
    for (group, pairs) in &items {
        if pairs.is_empty() {
            cluster.overlay.upmap_items.remove(group);
        } else {
            cluster.overlay.upmap_items.insert(*group, pairs.clone());
        }
    }
    let (mut shards, mut bytes) = (0, 0);
    let mut devices: BTreeMap<ItemId, (u64, u64)> = BTreeMap::new();
    let mut laid_out = LaidOut::new(cluster)?;
    for group in &mut after.groups {
        let pool = &after.pools[group.pool];
        let id = PgId { pool: pool.id, seed: group.seed };
        if !items.contains_key(&id) {
            continue;
        }
        let up = laid_out.place(&cluster.pools[group.pool].placed, group.seed).up.devices;
        let gains = Gains::between(&group.up, &up, pool.coded);
        shards += gains.gained.len() as u64;
        bytes += gains.gained.len() as u64 * group.shard;
        gains.gained.iter().for_each(|(_, to)| devices.entry(*to).or_default().0 += group.shard);
        gains.lost.iter().for_each(|from| devices.entry(*from).or_default().1 += group.shard);
        group.up = up;
    }
    let planned: u64 = moves.iter().map(|one| one.bytes).sum();
    if planned != bytes {
        return Err(Broken::Bytes(planned, bytes));
    }
    after.count();
    let fill = fullest(after);
    Ok(Stage { items, shards, bytes, devices, fill, room: room(after, mix) })
}

/// The whole cluster after the last stage.
fn check_whole(cluster: &Cluster, before: &Spread, after: &Spread, plan: &[Move]) -> Result<(), Broken> {
    let touched: BTreeSet<PgId> = plan.iter().map(Move::group).collect();
    let mut kept = cluster.clone();
    kept.overlay.upmap_items.retain(|group, _| touched.contains(group));
    kept.overlay.upmap.clear();
    let want = kept.overlay.upmap_items.clone();
    upmaps::drop_broken(&mut kept);
    if let Some(group) = want.iter().find(|(group, items)| kept.overlay.upmap_items.get(group) != Some(items))
    {
        return Err(Broken::Dropped(*group.0));
    }
    let mut laid_out = LaidOut::new(cluster)?;
    let domains: Vec<BTreeMap<i32, BTreeMap<ItemId, ItemId>>> = cluster
        .pools
        .iter()
        .map(|pool| domains_of(&cluster.map, &Shape::of(&cluster.map, &pool.placed), pool.placed.rule))
        .collect();
    for (old, new) in before.groups.iter().zip(&after.groups) {
        let id = PgId { pool: before.pools[old.pool].id, seed: old.seed };
        let found = laid_out.place(&cluster.pools[old.pool].placed, old.seed).up.devices;
        if found != new.up {
            return Err(Broken::Elsewhere(id));
        }
        if !touched.contains(&id) {
            if old.up != new.up {
                return Err(Broken::Unasked(id));
            }
            continue;
        }
        check_group(before, (old, new), &domains[old.pool], id)?;
        check_planned(plan, (old, new), id)?;
    }
    Ok(())
}

/// The devices of a group are those that its moves give it.
fn check_planned(plan: &[Move], (old, new): (&Placed, &Placed), id: PgId) -> Result<(), Broken> {
    let mut want: Vec<ItemId> = old.held().collect();
    for one in plan.iter().filter(|one| one.group() == id) {
        want.iter_mut().filter(|device| **device == one.from).for_each(|device| *device = one.to);
    }
    let mut found: Vec<ItemId> = new.held().collect();
    want.sort_unstable();
    found.sort_unstable();
    if want == found { Ok(()) } else { Err(Broken::Elsewhere(id)) }
}

fn check_group(
    before: &Spread,
    (old, new): (&Placed, &Placed),
    domains: &BTreeMap<i32, BTreeMap<ItemId, ItemId>>,
    id: PgId,
) -> Result<(), Broken> {
    if old.held().count() != new.held().count() {
        return Err(Broken::Number(id));
    }
    // Of each type that the rule names, a group uses as many buckets as before, and each as often.
    for around in domains.values() {
        let uses = |group: &Placed| {
            let mut counts: BTreeMap<Option<&ItemId>, u32> = BTreeMap::new();
            group.held().for_each(|device| *counts.entry(around.get(&device)).or_default() += 1);
            let mut counts: Vec<u32> = counts.into_values().collect();
            counts.sort_unstable();
            counts
        };
        if uses(old) != uses(new) {
            return Err(Broken::Shared(id));
        }
    }
    let mut devices: Vec<ItemId> = real(&new.up).collect();
    devices.sort_unstable();
    if devices.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Broken::Shared(id));
    }
    let classes = |group: &Placed| {
        let of = |id| before.devices.get(&id).and_then(|load| load.class.clone());
        let mut classes: Vec<Option<String>> = group.held().map(of).collect();
        classes.sort();
        classes
    };
    if classes(old) == classes(new) { Ok(()) } else { Err(Broken::Class(id)) }
}

/// For each type that a rule names, the bucket of this type around each device that the rule reaches. Where
/// buckets of the type are inside each other it is the outermost: there CRUSH stops its descent.
fn domains_of(map: &Map, shape: &Shape, rule: u32) -> BTreeMap<i32, BTreeMap<ItemId, ItemId>> {
    let steps = map.rule(rule as usize).map(|rule| rule.steps.as_slice()).unwrap_or_default();
    let kinds = steps.iter().filter_map(|step| match step {
        Step::Choose { kind, .. } | Step::ChooseMsr { kind, .. } if *kind > 0 => Some(*kind),
        _ => None,
    });
    let around = |kind: i32| {
        let mut found = BTreeMap::new();
        for branch in &shape.branches {
            let mut open = vec![(branch.top.item, None)];
            while let Some((item, inside)) = open.pop() {
                let Some(bucket) = map.bucket(item) else {
                    if let Some(inside) = inside {
                        found.entry(item).or_insert(inside);
                    }
                    continue;
                };
                let own = inside.or((i32::from(bucket.kind) == kind).then_some(item));
                open.extend(bucket.items.iter().map(|inner| (*inner, own)));
            }
        }
        (kind, found)
    };
    kinds.map(around).collect()
}
