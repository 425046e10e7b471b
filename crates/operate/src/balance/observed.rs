//! The answer of one replicate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_ceph::balance::{
    Advice, Applied, Best, Cause, Limits, Loss, Mix, Room, Spread, Stage, advice, applied, causes, command,
    losses, plan, room, unmappable,
};
use towtank_ceph::{FillLimits, GroupStates, PoolState, rule_name, upmaps};
use towtank_placement::crush::pools::PgId;
use towtank_placement::crush::{ItemId, NONE};
use towtank_units::{Bytes, Rate, SimSpan};

use super::case::Ready;
use super::plan_time::{self, PlanTime};
use crate::release::GroupLimits;
use crate::targets::Split;
use towtank_study::{Progress, RunContext, StudyError};

/// The results of one replicate.
pub struct Seen {
    /// All of it is kept.
    pub kept: Kept,
}

/// What a replicate found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// All devices, by their ids.
    pub devices: Vec<Device>,
    /// Why the fullest device is as full as it is.
    pub causes: Vec<Cause>,
    /// What fits into each pool.
    pub pools: Vec<Pool>,
    /// What fits if all pools grow in proportion; nothing if nothing is stored.
    pub whole: Option<Fits>,
    /// The plan, stage by stage.
    pub stages: Vec<Staged>,
    /// Groups with moves, each counted once.
    pub moved_groups: u64,
    /// How long the plan takes if its commands are given at once.
    pub(super) time: PlanTime,
    /// Its commands, in their order.
    pub commands: Vec<Command>,
    /// Numbers of groups.
    pub advice: Vec<Advice>,
    /// What is unsafe or not known.
    pub safety: Safety,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its id.
    pub id: ItemId,
    /// Its name.
    pub name: String,
    /// The bucket that holds it.
    pub host: String,
    /// Copies and shards where the map puts them, as weight and rule would give them, and after the plan.
    pub shards: (u64, f64, u64),
    /// Their bytes.
    pub bytes: (u64, f64, u64),
    /// Copies and shards on it now.
    pub shards_now: u64,
    /// The fill that it reports.
    pub fill_now: Option<f64>,
    /// Its fill where the map puts groups, as weight and rule would give it, and after the plan.
    pub fill: Option<(f64, f64, f64)>,
    /// Whether the exports have its size.
    pub reported: bool,
    /// Whether it takes data: it is up, is in, and has weight under some rule of a pool.
    pub takes: bool,
}

/// Bytes that fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fits {
    /// Now.
    pub now: Room,
    /// With every group as well as its rule allows.
    pub balanced: f64,
    /// After the plan.
    pub planned: Room,
    /// After the loss of the worst host; nothing if there is no second one.
    pub after_loss: Option<AfterLoss>,
}

/// After the loss of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AfterLoss {
    /// The host.
    pub host: String,
    /// Bytes that fit.
    pub room: Room,
    /// Fill of the fullest device then, and the device.
    pub fill: Option<(f64, ItemId)>,
    /// Groups that are left with fewer devices than asked for.
    pub groups_short: u64,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Bytes of its objects.
    pub bytes: u64,
    /// Whether a dump gives the sizes of its groups.
    pub sized: bool,
    /// What fits into it.
    pub fits: Fits,
}

/// A stage of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staged {
    /// Copies and shards that move.
    pub shards: u64,
    /// Bytes that move.
    pub bytes: u64,
    /// The time that it takes at least.
    pub time_s: f64,
    /// The device that takes this long.
    pub slowest: String,
    /// Fill of the fullest device after it.
    pub fill: Option<f64>,
    /// Bytes that fit after it, and how many of them it wins.
    pub fits: (f64, f64),
}

/// A command of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Its stage, from 1.
    pub stage: u32,
    /// The command.
    pub text: String,
}

/// What is unsafe or not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Safety {
    /// What the exports say of the states of groups.
    pub states: GroupStates,
    /// Groups on fewer devices than their pool asks for.
    pub short: u64,
    /// Bytes that are on their way to where the map puts them.
    pub pending_bytes: u64,
    /// Groups for which dump and map disagree, and one of them.
    pub disagreeing: (u64, Option<String>),
    /// Devices that report less used space than their objects have bytes, and one of them.
    #[serde(default)]
    pub compressing: (u64, Option<String>),
    /// Explicit mappings, those that monitors would drop or cut, and those that move to a fuller device.
    pub upmaps: (u64, u64, u64),
    /// Groups of which the monitors would keep no explicit mapping, by pool.
    #[serde(default)]
    pub unmappable: Vec<Unmappable>,
    /// Groups that no plan moves because numbers of groups are changing, by pool.
    #[serde(default)]
    pub changing: Vec<Changing>,
    /// Pools whose groups are split further, in words.
    #[serde(default)]
    pub splits: Vec<String>,
    /// The limits of fill.
    pub limits: FillLimits,
    /// How many groups a device is to have.
    #[serde(default)]
    pub groups: GroupLimits,
}

/// Groups of a pool of which the monitors would keep no explicit mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmappable {
    /// The pool.
    pub pool: String,
    /// Its rule.
    pub rule: String,
    /// The groups, and all groups of the pool.
    pub groups: (u64, u64),
}

/// Groups of a pool that are merged, take others in, or get another place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changing {
    /// The pool.
    pub pool: String,
    /// The groups, and all groups of the pool now.
    pub groups: (u64, u64),
}

impl Kept {
    /// The largest of a number of each device that has one.
    pub(super) fn largest(&self, of: impl Fn(&Device) -> Option<f64>) -> Option<f64> {
        self.devices.iter().filter_map(of).max_by(f64::total_cmp)
    }
}

/// Finds the answer; nothing if the user stopped it.
///
/// # Errors
/// If the map is not valid, or the plan does not pass its audit.
pub fn seen(ready: &Ready, context: &RunContext<'_>) -> Result<Option<Kept>, StudyError> {
    let Some((kept, applied)) = planned(ready, context)? else { return Ok(None) };
    let time = context.within(0.5..1.0, |context| plan_time::of(ready, &applied, context))?;
    Ok(Some(Kept { time, ..kept }))
}

/// The answer but for how long the plan takes, and the plan.
pub(super) fn planned(
    ready: &Ready,
    context: &RunContext<'_>,
) -> Result<Option<(Kept, Applied)>, StudyError> {
    let cluster = ready.end();
    let fault = |message: String| StudyError::Model { message, hint: Some("correct the map".to_owned()) };
    let mut goes_on = |done: f64| {
        (context.progress)(Progress { fraction: done / 2.0, ..Progress::default() });
        !context.stopped()
    };
    let spread = Spread::reached((&ready.cluster, cluster), ready.limits, &mut goes_on);
    let Some(mut spread) = spread.map_err(|error| fault(error.to_string()))? else { return Ok(None) };
    ready.splits.iter().for_each(|split| spread.keep_pool(split.pool));
    let mut mixes: Vec<Mix> = (0..spread.pools.len()).map(|pool| spread.alone(pool)).collect();
    mixes.extend(spread.in_proportion());
    let losses = losses(cluster, &spread, &mixes).map_err(|error| fault(error.to_string()))?;
    if context.stopped() {
        return Ok(None);
    }
    let limits =
        Limits { moves: ready.scenario.max_moves as usize, destinations: ready.destinations.clone() };
    let plan = plan(&spread, cluster, &limits);
    let applied = applied(cluster, &spread, &plan, ready.scenario.stages as usize).map_err(|broken| {
        StudyError::Model { message: format!("the plan is wrong: {broken}"), hint: None }
    })?;
    if context.stopped() {
        return Ok(None);
    }
    let fits = fits(&spread, &applied, &mixes, &losses);
    let mut moved: Vec<PgId> = plan.iter().map(towtank_ceph::balance::Move::group).collect();
    moved.sort_unstable();
    moved.dedup();
    let kept = Kept {
        devices: devices(&spread, &applied),
        causes: causes(&spread),
        whole: fits.get(spread.pools.len()).cloned(),
        pools: pools(&spread, fits),
        stages: stages(ready, &spread, &applied),
        moved_groups: moved.len() as u64,
        commands: commands(&applied),
        time: PlanTime::None,
        advice: advice(&spread, ready.groups.target),
        safety: safety(ready, &spread),
    };
    Ok(Some((kept, applied)))
}

fn devices(spread: &Spread, applied: &Applied) -> Vec<Device> {
    let ideal = spread.ideal();
    let ideal_bytes = spread.bytes_of(&ideal);
    let of = |(id, load): (&ItemId, &towtank_ceph::balance::Load)| {
        let after = applied.after.devices.get(id).unwrap_or(load);
        let shards: f64 = ideal.iter().filter_map(|pool| pool.get(id)).sum();
        let bytes = ideal_bytes.get(id).copied().unwrap_or(0.0);
        let fills = [load.fill(), load.fill_with(bytes), after.fill()];
        let known = load.reported && fills.iter().all(Option::is_some);
        Device {
            id: *id,
            name: load.name.clone(),
            host: load.host.clone(),
            shards: (load.shards, shards, after.shards),
            bytes: (load.bytes, bytes, after.bytes),
            shards_now: load.shards_now,
            fill_now: load.fill_now(),
            fill: known.then(|| {
                let [now, ideal, after] = fills.map(Option::unwrap_or_default);
                (now, ideal, after)
            }),
            reported: load.reported,
            takes: load.effective > 0.0,
        }
    };
    spread.devices.iter().map(of).collect()
}

/// What fits, of each mix.
fn fits(spread: &Spread, applied: &Applied, mixes: &[Mix], losses: &[Loss]) -> Vec<Fits> {
    let mut best = Best::of(spread);
    let of = |(at, mix): (usize, &Mix)| {
        let now = room(spread, mix);
        let worst = losses.iter().min_by(|left, right| {
            // Of hosts without which nothing fits, the one without which a device would be fullest.
            let fill = |loss: &Loss| loss.fill.map_or(0.0, |fill| fill.0);
            let rooms = left.rooms[at].bytes.total_cmp(&right.rooms[at].bytes);
            rooms.then(fill(right).total_cmp(&fill(left)))
        });
        Fits {
            now,
            balanced: best.room(mix, now.bytes).bytes,
            planned: room(&applied.after, mix),
            after_loss: worst.map(|loss| AfterLoss {
                host: loss.host.clone(),
                room: loss.rooms[at],
                fill: loss.fill,
                groups_short: loss.groups_short,
            }),
        }
    };
    mixes.iter().enumerate().map(of).collect()
}

fn pools(spread: &Spread, fits: Vec<Fits>) -> Vec<Pool> {
    let of = |(pool, fits): (&towtank_ceph::balance::PoolSpread, Fits)| Pool {
        name: pool.name.clone(),
        bytes: pool.bytes,
        sized: pool.sized,
        fits,
    };
    spread.pools.iter().zip(fits).map(of).collect()
}

fn stages(ready: &Ready, spread: &Spread, applied: &Applied) -> Vec<Staged> {
    let mix = spread.in_proportion();
    let mut last = mix.map_or(0.0, |mix| room(spread, &mix).bytes);
    let of = |stage: &Stage| {
        // A moved copy is read from the primary of its group, so what a device gives does not bound the time.
        let time = |(id, (into, _)): (&ItemId, &(u64, u64))| {
            let load = spread.devices.get(id)?;
            let rate = Rate::from_bytes_per_second(ready.rate(load.class.as_deref()))?;
            Some((rate.span_for(Bytes::new(*into)), load.name.clone()))
        };
        let times = stage.devices.iter().filter_map(time);
        let slowest = times.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let (span, slowest) = slowest.unwrap_or((SimSpan::ZERO, String::new()));
        let won = stage.room.bytes - std::mem::replace(&mut last, stage.room.bytes);
        Staged {
            shards: stage.shards,
            bytes: stage.bytes,
            time_s: span.as_secs_f64(),
            slowest,
            fill: stage.fill.filter(|_| !spread.sizes_unknown()),
            fits: (stage.room.bytes, won),
        }
    };
    applied.stages.iter().map(of).collect()
}

fn commands(applied: &Applied) -> Vec<Command> {
    let of = |(number, stage): (u32, &Stage)| -> Vec<Command> {
        let text = |(group, items): (&PgId, &Vec<(ItemId, ItemId)>)| command(*group, items);
        stage.items.iter().map(text).map(|text| Command { stage: number, text }).collect()
    };
    (1..).zip(&applied.stages).flat_map(of).collect()
}

fn safety(ready: &Ready, spread: &Spread) -> Safety {
    let compressing = || spread.devices.values().filter(|load| load.overhead < 0.0).map(|load| &load.name);
    let mut safety = Safety {
        pending_bytes: spread.pending_bytes,
        disagreeing: spread.disagreeing.clone(),
        compressing: (compressing().count() as u64, compressing().next().cloned()),
        upmaps: upmaps_of(ready, spread),
        unmappable: unmappable_of(ready, spread),
        changing: changing(ready, spread),
        splits: ready.splits.iter().map(Split::change).collect(),
        limits: ready.limits,
        groups: ready.groups,
        states: ready.states.clone(),
        ..Safety::default()
    };
    for pool in &ready.cluster.pools {
        for group in &pool.groups {
            if group.stated.is_some_and(|stated| stated.unknown) {
                continue;
            }
            let held = group.acting.iter().flatten().filter(|id| **id != NONE).count();
            safety.short += u64::from(held < pool.placed.size as usize);
        }
    }
    safety
}

fn changing(ready: &Ready, spread: &Spread) -> Vec<Changing> {
    let pools = spread.pools.iter().zip(&ready.cluster.pools).filter(|(pool, _)| pool.changing > 0);
    let of = |(pool, now): (&towtank_ceph::balance::PoolSpread, &PoolState)| Changing {
        pool: pool.name.clone(),
        groups: (pool.changing, u64::from(now.placed.pg_num)),
    };
    pools.map(of).collect()
}

fn unmappable_of(ready: &Ready, spread: &Spread) -> Vec<Unmappable> {
    let counts = unmappable(spread, ready.end());
    let of = |((pool, state), count): ((&towtank_ceph::balance::PoolSpread, &PoolState), u64)| Unmappable {
        pool: pool.name.clone(),
        rule: rule_name(&ready.cluster.map, state.placed.rule),
        groups: (count, u64::from(pool.pg_num)),
    };
    let pools = spread.pools.iter().zip(&ready.cluster.pools).zip(counts);
    pools.filter(|(_, count)| *count > 0).map(of).collect()
}

/// Explicit mappings: all, those that the monitors would drop or cut, and those that move to a fuller device.
fn upmaps_of(ready: &Ready, spread: &Spread) -> (u64, u64, u64) {
    let overlay = &ready.cluster.overlay;
    let all = (overlay.upmap.len() + overlay.upmap_items.len()) as u64;
    if all == 0 {
        return (0, 0, 0);
    }
    let stale = upmaps::drop_broken(&mut ready.cluster.clone()) as u64;
    let fill = |id: ItemId| spread.devices.get(&id).and_then(towtank_ceph::balance::Load::fill);
    let ids: BTreeMap<PgId, usize> = spread
        .groups
        .iter()
        .enumerate()
        .map(|(at, group)| (PgId { pool: spread.pools[group.pool].id, seed: group.seed }, at))
        .collect();
    let hurts = |(group, pairs): &(&PgId, &Vec<(ItemId, ItemId)>)| {
        let Some(group) = ids.get(group).map(|at| &spread.groups[*at]) else { return false };
        let acts = |from: ItemId, to: ItemId| group.raw.contains(&from) && group.mapped.contains(&to);
        pairs.iter().any(|(from, to)| acts(*from, *to) && fill(*to) > fill(*from))
    };
    (all, stale, overlay.upmap_items.iter().filter(hurts).count() as u64)
}
