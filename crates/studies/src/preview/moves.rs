//! Every group before and after: what must be copied from where to where, and the least that could do.
//!
//! Copies of a replicated group compare as sets: a new order moves nothing. Shards of an erasure-coded group compare
//! position by position, since each holds other data. The start is where the dump says that the groups are served
//! (`acting`), so what is on its way already counts, and is told apart as `pending_bytes`.
//!
//! Groups that are split keep their place: a child starts where its parent is, with its part of the parent's bytes. Groups
//! that are merged go to where the group that takes them in will be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_placement::crush::objects::stable_mod;
use towtank_placement::crush::pools::{GroupPlacement, PgId, Placer, Pool};
use towtank_placement::crush::{Ask, ItemId, Mapper, NONE, RuleKind, Workspace};

use super::cluster::{Cluster, Group, PoolState};
use super::safety::{Safety, fill_warnings};
use super::scenario::Case;
use crate::{RunContext, StudyError};

/// What a change moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moves {
    /// Bytes to copy.
    pub moved_bytes: u64,
    /// Copies and shards to copy.
    pub moved_shards: u64,
    /// Groups with something to copy.
    pub moved_groups: u64,
    /// All groups.
    pub groups: u64,
    /// Bytes on all devices now.
    pub stored_bytes: u64,
    /// Bytes that would move without the change.
    pub pending_bytes: u64,
    /// Groups that get another primary.
    pub primaries_changed: u64,
    /// Groups that end with fewer devices than their pool asks for.
    pub groups_short: u64,
    /// Groups that end without a device.
    pub groups_homeless: u64,
    /// What is unsafe or not known.
    pub safety: Safety,
    /// Groups of which the dump and the map disagree where they should be; and one of them.
    pub disagreeing: u64,
    /// One of these.
    pub disagreeing_example: String,
    /// Device by device.
    pub devices: BTreeMap<ItemId, DeviceMoves>,
    /// Bytes from device to device; where a missing copy is made anew, from the device that leads the group.
    pub flows: Vec<(ItemId, ItemId, u64)>,
    /// Pool by pool.
    pub pools: Vec<PoolMoves>,
}

/// What moves to and from one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceMoves {
    /// Its name.
    pub name: String,
    /// The host that holds it, before or after.
    pub host: String,
    /// Bytes of objects on it now.
    pub present_bytes: u64,
    /// Bytes of objects on it then.
    pub target_bytes: u64,
    /// Bytes that come.
    pub in_bytes: u64,
    /// Bytes that go.
    pub out_bytes: u64,
    /// Copies and shards on it now.
    pub present_shards: u64,
    /// Copies and shards on it then.
    pub target_shards: u64,
    /// Its size, where it is known.
    pub size_bytes: Option<u64>,
    /// What is on it, overheads included.
    pub used_bytes: Option<u64>,
}

impl DeviceMoves {
    /// Fill now and then, in parts of its size.
    #[must_use]
    pub fn fill(&self) -> Option<(f64, f64)> {
        let size = self.size_bytes.filter(|size| *size > 0)? as f64;
        let used = self.used_bytes? as f64;
        let then = (used - self.present_bytes as f64 + self.target_bytes as f64).max(0.0);
        Some((used / size, then / size))
    }
}

/// What moves of one pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolMoves {
    /// Its name.
    pub name: String,
    /// Its groups.
    pub groups: u64,
    /// Groups with something to copy.
    pub moved_groups: u64,
    /// Bytes on devices.
    pub stored_bytes: u64,
    /// Bytes to copy.
    pub moved_bytes: u64,
}

/// Groups between two looks at whether to stop.
const GROUPS_PER_LOOK: u64 = 1_024;

impl Moves {
    /// Places every group twice; nothing if it was stopped.
    pub fn of(case: &Case, context: &RunContext<'_>) -> Result<Option<Moves>, StudyError> {
        let mut tally = Tally { moves: Moves::default(), flows: BTreeMap::new() };
        let mut before = State::new(&case.before)?;
        let mut after = State::new(&case.after)?;
        let total: u64 = case.before.pools.iter().map(|pool| pool.groups.len() as u64).sum();
        for (old, new) in case.before.pools.iter().zip(&case.after.pools) {
            tally.moves.pools.push(PoolMoves { name: old.name.clone(), ..PoolMoves::default() });
            let parts = parts(old, new.placed.pg_num);
            for (unit, bytes) in (0u32..).zip(parts) {
                if tally.moves.groups.is_multiple_of(GROUPS_PER_LOOK) {
                    if context.stopped() {
                        return Ok(None);
                    }
                    let fraction = tally.moves.groups as f64 / total.max(1) as f64;
                    (context.progress)(crate::Progress {
                        fraction: fraction.min(1.0),
                        events: tally.moves.groups,
                    });
                }
                let source = stable_mod(unit, old.placed.pg_num);
                let target = stable_mod(unit, new.placed.pg_num);
                let now = before.place(&old.placed, source);
                let then = after.place(&new.placed, target);
                let shard = bytes.div_ceil(u64::from(old.data_shards));
                let first = unit == source;
                let id = PgId { pool: old.placed.id, seed: source };
                tally.add(Unit {
                    id,
                    pool: &old.placed,
                    min_size: old.min_size,
                    group: &old.groups[source as usize],
                    now,
                    then,
                    shard,
                    first,
                });
            }
        }
        Ok(Some(tally.finish(case)))
    }

    /// The least that must move: what each device's target exceeds its present.
    #[must_use]
    pub fn minimum_bytes(&self) -> u64 {
        self.devices.values().map(|device| device.target_bytes.saturating_sub(device.present_bytes)).sum()
    }

    /// Its part of all bytes stored.
    #[must_use]
    pub fn moved_fraction(&self) -> f64 {
        if self.stored_bytes == 0 { 0.0 } else { self.moved_bytes as f64 / self.stored_bytes as f64 }
    }

    /// What a reader must know.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.disagreeing > 0 {
            warnings.push(format!(
                "{} groups should be elsewhere by `crush_map` and `osd_dump` than `pg_dump` says, such as {}: were they exported \
                 at different times?",
                self.disagreeing, self.disagreeing_example
            ));
        }
        if self.groups_homeless > 0 {
            warnings.push(format!(
                "{} groups would have no device left: their data would not be served, and might be lost",
                self.groups_homeless
            ));
        }
        warnings.extend(fill_warnings(self));
        warnings
    }
}

/// Bytes of each unit that is compared: the groups of the finer division, of which the others are made.
fn parts(pool: &PoolState, pg_num_after: u32) -> Vec<u64> {
    let before = pool.placed.pg_num;
    let mut parts: Vec<u64> = pool.groups.iter().map(|group| group.bytes).collect();
    for child in before..pg_num_after {
        let parent = stable_mod(child, before) as usize;
        let part = part_of_hashes(child, pg_num_after);
        let whole = part_of_hashes(parent as u32, before);
        // Both are powers of two below 2^33, over 2^32.
        let bytes = (u128::from(pool.groups[parent].bytes) * u128::from(part) / u128::from(whole)) as u64;
        parts.push(bytes);
        parts[parent] -= bytes;
    }
    parts
}

/// How many of the 2^32 hashes fall to a group: of those between powers of two, the lower ones take what is not there yet.
fn part_of_hashes(group: u32, count: u32) -> u64 {
    let top = u64::from(count).next_power_of_two();
    let each = (1u64 << 32) / top;
    let upper = u64::from(group) + top / 2;
    let takes_upper = u64::from(group) < top / 2 && upper >= u64::from(count);
    if takes_upper { 2 * each } else { each }
}

/// A state of the cluster, laid out for mapping.
struct State<'a> {
    placer: Placer<'a>,
    mapper: Mapper,
    workspace: Workspace,
}

impl<'a> State<'a> {
    fn new(cluster: &'a Cluster) -> Result<Self, StudyError> {
        let mapper = cluster.map.compile().map_err(|fault| StudyError::Model {
            message: fault.to_string(),
            hint: Some("mend the map".to_owned()),
        })?;
        Ok(Self {
            placer: Placer::new(&cluster.map, &cluster.overlay),
            mapper,
            workspace: Workspace::default(),
        })
    }

    fn place(&mut self, pool: &Pool, seed: u32) -> GroupPlacement {
        let (mapper, workspace) = (&self.mapper, &mut self.workspace);
        self.placer.place_by(pool, seed, &mut |rule, x, result_max, weights, pool| {
            let mut found = Vec::with_capacity(result_max);
            mapper.do_rule(Ask { rule, x, result_max, weights, pool }, workspace, &mut found);
            found
        })
    }
}

/// One group of the finer division.
struct Unit<'a> {
    id: PgId,
    pool: &'a Pool,
    min_size: Option<u32>,
    group: &'a Group,
    now: GroupPlacement,
    then: GroupPlacement,
    shard: u64,
    /// Whether it keeps the name of the group that it comes from.
    first: bool,
}

struct Tally {
    moves: Moves,
    flows: BTreeMap<(ItemId, ItemId), u64>,
}

impl Tally {
    fn add(&mut self, unit: Unit<'_>) {
        let coded = unit.pool.kind == RuleKind::Erasure;
        let held = unit.group.acting.as_ref().unwrap_or(&unit.now.acting.devices);
        let target = &unit.then.up.devices;
        let changes = Changes::between(held, target, coded);
        let pending = Changes::between(held, &unit.now.up.devices, coded).gained.len() as u64;
        let moves = &mut self.moves;
        let count = |devices: &[ItemId]| devices.iter().filter(|id| **id != NONE).count() as u64;
        let stored = count(held) * unit.shard;
        let moved = changes.gained.len() as u64 * unit.shard;
        moves.groups += 1;
        moves.moved_shards += changes.gained.len() as u64;
        moves.moved_groups += u64::from(!changes.gained.is_empty());
        moves.moved_bytes += moved;
        moves.stored_bytes += stored;
        moves.pending_bytes += pending * unit.shard;
        let primary = unit.group.primary.or(unit.now.acting.primary);
        moves.primaries_changed +=
            u64::from(unit.then.up.primary.is_some() && unit.then.up.primary != primary);
        moves.groups_short += u64::from(count(target) < u64::from(unit.pool.size));
        moves.groups_homeless += u64::from(count(target) == 0);
        let safety = &mut moves.safety;
        let below = |devices: u64| unit.min_size.is_some_and(|least| devices < u64::from(least));
        safety.below_min_size += u64::from(below(count(target)));
        if unit.first {
            safety.note_state(unit.group.stated);
            safety.min_size_unknown += u64::from(unit.min_size.is_none());
            // Where nobody knows the state of a group, the map says where it is taken to be, and no more.
            if !unit.group.stated.is_some_and(|stated| stated.unknown) {
                safety.short_now += u64::from(count(held) < u64::from(unit.pool.size));
                safety.below_min_size_now += u64::from(below(count(held)));
            }
        }
        if let Some(pool) = moves.pools.last_mut() {
            pool.groups += 1;
            pool.moved_groups += u64::from(!changes.gained.is_empty());
            pool.stored_bytes += stored;
            pool.moved_bytes += moved;
        }
        if unit.first
            && let Some(up) = &unit.group.up
            && differs(up, &unit.now.up.devices, coded)
        {
            moves.disagreeing += 1;
            if moves.disagreeing_example.is_empty() {
                moves.disagreeing_example = unit.id.to_string();
            }
        }
        self.note_devices(held, target, unit.shard);
        self.note_flows(&changes, primary, unit.shard);
    }

    fn note_devices(&mut self, held: &[ItemId], target: &[ItemId], shard: u64) {
        for &id in held.iter().filter(|id| **id != NONE) {
            let device = self.moves.devices.entry(id).or_default();
            device.present_bytes += shard;
            device.present_shards += 1;
        }
        for &id in target.iter().filter(|id| **id != NONE) {
            let device = self.moves.devices.entry(id).or_default();
            device.target_bytes += shard;
            device.target_shards += 1;
        }
    }

    fn note_flows(&mut self, changes: &Changes, primary: Option<ItemId>, shard: u64) {
        for &(from, to) in &changes.gained {
            self.moves.devices.entry(to).or_default().in_bytes += shard;
            if let Some(from) = from.or(primary) {
                *self.flows.entry((from, to)).or_default() += shard;
            }
        }
        for &from in &changes.lost {
            self.moves.devices.entry(from).or_default().out_bytes += shard;
        }
    }

    fn finish(mut self, case: &Case) -> Moves {
        self.moves.safety.limits = case.limits;
        let known = case.after.overlay.devices.len().max(case.before.overlay.devices.len()) as ItemId;
        for id in 0..known {
            let exists = |cluster: &Cluster| {
                cluster.overlay.devices.get(id as usize).is_some_and(|device| device.exists)
            };
            if exists(&case.before) || exists(&case.after) {
                self.moves.devices.entry(id).or_default();
            }
        }
        let hosts = [hosts_of(&case.before), hosts_of(&case.after)];
        for (id, device) in &mut self.moves.devices {
            let names = [&case.before, &case.after].map(|cluster| cluster.map.item_names.get(id));
            device.name = names.into_iter().flatten().next().cloned().unwrap_or_else(|| format!("osd.{id}"));
            device.host = hosts.iter().find_map(|hosts| hosts.get(id)).cloned().unwrap_or_default();
            let fill = case.before.fill.get(id);
            device.size_bytes = fill.map(|fill| fill.size_bytes);
            device.used_bytes = fill.map(|fill| fill.used_bytes);
        }
        self.moves.flows = self
            .flows
            .into_iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(|((from, to), bytes)| (from, to, bytes))
            .collect();
        self.moves
    }
}

/// The bucket that holds each device itself, shadows left out.
fn hosts_of(cluster: &Cluster) -> BTreeMap<ItemId, String> {
    let mut hosts = BTreeMap::new();
    for bucket in cluster.map.each_bucket() {
        let Some(name) = cluster.map.item_names.get(&bucket.id).filter(|name| !name.contains('~')) else {
            continue;
        };
        for &item in bucket.items.iter().filter(|item| **item >= 0) {
            hosts.entry(item).or_insert_with(|| name.clone());
        }
    }
    hosts
}

/// Who gains a copy or shard, and who gives one up.
struct Changes {
    /// From which device, where one gives it up, to which.
    gained: Vec<(Option<ItemId>, ItemId)>,
    lost: Vec<ItemId>,
}

impl Changes {
    fn between(held: &[ItemId], target: &[ItemId], coded: bool) -> Self {
        if coded {
            let at = |position: usize| held.get(position).copied().filter(|id| *id != NONE);
            let changed = |&(position, &id): &(usize, &ItemId)| id != NONE && at(position) != Some(id);
            let gained: Vec<_> =
                target.iter().enumerate().filter(changed).map(|(position, &id)| (at(position), id)).collect();
            let lost = gained.iter().filter_map(|(from, _)| *from).collect();
            return Self { gained, lost };
        }
        let only = |own: &[ItemId], other: &[ItemId]| -> Vec<ItemId> {
            own.iter().copied().filter(|id| *id != NONE && !other.contains(id)).collect()
        };
        let (new, lost) = (only(target, held), only(held, target));
        let gained = new.iter().enumerate().map(|(at, &id)| (lost.get(at).copied(), id)).collect();
        Self { gained, lost }
    }
}

fn differs(left: &[ItemId], right: &[ItemId], coded: bool) -> bool {
    if coded {
        return left != right;
    }
    let sorted = |ids: &[ItemId]| {
        let mut ids: Vec<ItemId> = ids.iter().copied().filter(|id| *id != NONE).collect();
        ids.sort_unstable();
        ids
    };
    sorted(left) != sorted(right)
}
