//! Every group before and after: what must be copied from where to where, and the minimum that could suffice.
//!
//! Copies of a replicated group compare as sets: a new order moves nothing. Shards of an erasure-coded group
//! compare position by position, since each holds other data. The start is where the dump says that the
//! groups are served (`acting`), so data that is already being moved counts, and is also given separately as
//! `pending_bytes`.
//!
//! Groups that are split keep their place: a child starts where its parent is, with its part of the parent's
//! bytes. Groups that are merged go to the target of the group that absorbs them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use towtank_ceph::{Cluster, Gains, Group, GroupStates, LaidOut, differs, parts};
use towtank_placement::crush::objects::stable_mod;
use towtank_placement::crush::pools::{GroupPlacement, PgId, Pool};
use towtank_placement::crush::{ItemId, NONE, RuleKind};

use super::case::Case;
use super::group_limits;
use super::safety::Safety;
use towtank_study::{RunContext, StudyError};

/// The data that a change moves.
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
    /// Groups whose primary changes.
    pub primaries_changed: u64,
    /// Groups that end with fewer devices than their pool asks for.
    pub groups_short: u64,
    /// Groups that end without a device.
    pub groups_homeless: u64,
    /// Counts of groups that are unsafe.
    pub safety: Safety,
    /// What a flag keeps from moving, in words, where only the places of data are answered.
    #[serde(default)]
    pub halts: Option<String>,
    /// Whether devices are down and never marked out, so that what is short of copies stays so.
    pub never_out: bool,
    /// What moves because of splits under way, which is not known, in words.
    pub splits: Option<String>,
    /// The hosts whose failure stops most groups, and loses most, after the change.
    #[serde(default)]
    pub worst_hosts: [String; 2],
    /// Pools whose new `pg_num` Ceph refuses, each in words.
    #[serde(default)]
    pub refused: Vec<String>,
    /// What the exports say of the states of groups.
    pub states: GroupStates,
    /// Groups for which the dump and the map disagree on the right devices.
    pub disagreeing: u64,
    /// An example of these.
    pub disagreeing_example: String,
    /// Groups that other devices serve by the dump than by the temporary mappings of the map.
    #[serde(default)]
    pub served_elsewhere: u64,
    /// The moves of each device.
    pub devices: BTreeMap<ItemId, DeviceMoves>,
    /// Bytes from device to device; a missing copy is rebuilt from the primary of the group.
    pub flows: Vec<(ItemId, ItemId, u64)>,
    /// The moves of each pool.
    pub pools: Vec<PoolMoves>,
}

/// The data that move to and from one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceMoves {
    /// Its name.
    pub name: String,
    /// The host of the device, before or after.
    pub host: String,
    /// Bytes of objects on it now.
    pub present_bytes: u64,
    /// Bytes of objects on it afterwards.
    pub target_bytes: u64,
    /// Bytes that move to it.
    pub in_bytes: u64,
    /// Bytes that move away from it.
    pub out_bytes: u64,
    /// Copies and shards on it now.
    pub present_shards: u64,
    /// Copies and shards on it afterwards.
    pub target_shards: u64,
    /// Its capacity, where it is known.
    pub size_bytes: Option<u64>,
    /// Bytes used on it, overheads included, where it is known.
    pub used_bytes: Option<u64>,
}

impl DeviceMoves {
    /// Fill now and afterwards, as fractions of its capacity.
    #[must_use]
    pub fn fill(&self) -> Option<(f64, f64)> {
        let size = self.size_bytes.filter(|size| *size > 0)? as f64;
        let used = self.used_bytes? as f64;
        let then = (used - self.present_bytes as f64 + self.target_bytes as f64).max(0.0);
        Some((used / size, then / size))
    }
}

/// The moves of one pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolMoves {
    /// Its name.
    pub name: String,
    /// Its groups.
    pub groups: u64,
    /// Groups with something to copy.
    pub moved_groups: u64,
    /// Bytes on all devices.
    pub stored_bytes: u64,
    /// Bytes to copy.
    pub moved_bytes: u64,
}

/// Groups between two checks of the stop flag.
const GROUPS_PER_LOOK: usize = 1_024;

impl Moves {
    /// Places every group before and after; nothing if the user stopped it.
    pub fn of(case: &Case, context: &RunContext<'_>) -> Result<Option<Moves>, StudyError> {
        let hosts = [case.before.hosts(), case.after.hosts()];
        let mut tally = Tally {
            moves: Moves::default(),
            flows: BTreeMap::new(),
            hosts,
            real_hosts: real_hosts(&case.after),
            stops: Default::default(),
            any_stops: Default::default(),
        };
        let mut before = laid_out(&case.before)?;
        let mut after = laid_out(&case.after)?;
        let mut left_alone = case.left_alone.as_ref().map(laid_out).transpose()?;
        let total: u64 = case.before.pools.iter().map(|pool| pool.groups.len() as u64).sum();
        for (pool, (old, new)) in case.before.pools.iter().zip(&case.after.pools).enumerate() {
            let alone = case.left_alone.as_ref().map_or(old.placed, |alone| alone.pools[pool].placed);
            tally.moves.pools.push(PoolMoves { name: old.name.clone(), ..PoolMoves::default() });
            let parts = parts(old, new.placed.pg_num);
            let units: Vec<(u32, u64)> = (0u32..).zip(parts).collect();
            for units in units.chunks(GROUPS_PER_LOOK) {
                if context.stopped() {
                    return Ok(None);
                }
                let fraction = tally.moves.groups as f64 / total.max(1) as f64;
                (context.progress)(towtank_study::Progress {
                    fraction: fraction.min(1.0),
                    events: tally.moves.groups,
                    ..towtank_study::Progress::default()
                });
                let seeds =
                    |groups| units.iter().map(|&(unit, _)| stable_mod(unit, groups)).collect::<Vec<_>>();
                let sources = seeds(old.placed.pg_num);
                let now = before.place_all(&old.placed, &sources);
                let anyway = left_alone.as_mut().map(|own| own.place_all(&alone, &seeds(alone.pg_num)));
                let then = after.place_all(&new.placed, &seeds(new.placed.pg_num));
                let units = (0..).zip(units).zip(sources).zip(now).zip(then);
                for ((((at, &(unit, bytes)), source), now), then) in units {
                    let anyway = anyway.as_ref().map_or(&now, |anyway: &Vec<GroupPlacement>| &anyway[at]);
                    let group = &old.groups[source as usize];
                    let held = group.acting.as_ref().unwrap_or(&now.acting.devices);
                    // What is taken out of the map while it is up serves on.
                    let stays = |id: ItemId| match case.after.device(id) {
                        Some(own) => own.up,
                        None => case.before.serves(id),
                    };
                    let stay_up = held.iter().map(|id| stays(*id)).collect();
                    tally.add(Unit {
                        stay_up,
                        anyway: anyway.up.devices.clone(),
                        id: PgId { pool: old.placed.id, seed: source },
                        pool: &old.placed,
                        min_size: old.min_size,
                        group,
                        now,
                        then,
                        shard: bytes.div_ceil(u64::from(old.data_shards)),
                        data: old.data_shards,
                        first: unit == source,
                        whole: bytes == old.groups[source as usize].bytes,
                        is_temporary: case
                            .before
                            .overlay
                            .pg_temp
                            .contains_key(&PgId { pool: old.placed.id, seed: source }),
                    });
                }
            }
        }
        Ok(Some(tally.finish(case)))
    }

    /// The minimum that must move: for each device, the bytes by which its target exceeds its present
    /// content.
    #[must_use]
    pub(crate) fn minimum_bytes(&self) -> u64 {
        self.devices.values().map(|device| device.target_bytes.saturating_sub(device.present_bytes)).sum()
    }

    /// The moved bytes as a fraction of all stored bytes.
    #[must_use]
    pub(crate) fn moved_fraction(&self) -> f64 {
        if self.stored_bytes == 0 { 0.0 } else { self.moved_bytes as f64 / self.stored_bytes as f64 }
    }
}

fn laid_out(cluster: &Cluster) -> Result<LaidOut<'_>, StudyError> {
    LaidOut::new(cluster).map_err(|fault| StudyError::Model {
        message: fault.to_string(),
        hint: Some("correct the map".to_owned()),
    })
}

/// A group in the finer of the two divisions, before or after.
struct Unit<'a> {
    id: PgId,
    pool: &'a Pool,
    min_size: Option<u32>,
    group: &'a Group,
    now: GroupPlacement,
    then: GroupPlacement,
    /// Where it would be in the end without the change.
    anyway: Vec<ItemId>,
    shard: u64,
    /// Copies or shards that are enough to read it.
    data: u32,
    /// Whether it keeps the id of the group that it comes from.
    first: bool,
    /// Whether it is the whole of that group.
    whole: bool,
    /// Whether the map has a temporary mapping for it.
    is_temporary: bool,
    /// Devices of it that are up in the end, by the place where they serve it now.
    stay_up: Vec<bool>,
}

/// Places of a group that the map leaves empty, and that the devices fill which serve it now and stay up.
fn kept_places((held, target): (&[ItemId], &[ItemId]), unit: &Unit<'_>) -> u64 {
    let is_empty = |at: usize| target.get(at).is_none_or(|id| *id == NONE);
    let stays = |at: usize| held[at] != NONE && unit.stay_up[at];
    let free =
        u64::from(unit.pool.size).saturating_sub(target.iter().filter(|id| **id != NONE).count() as u64);
    let all = 0..held.len();
    match unit.pool.kind {
        RuleKind::Erasure => all.filter(|at| is_empty(*at) && stays(*at)).count() as u64,
        _ => (all.filter(|at| stays(*at) && !target.contains(&held[*at])).count() as u64).min(free),
    }
}

struct Tally {
    moves: Moves,
    flows: BTreeMap<(ItemId, ItemId), u64>,
    /// The host of each device, before and after.
    hosts: [BTreeMap<ItemId, String>; 2],
    /// The buckets of type `host` after the change.
    real_hosts: BTreeSet<String>,
    /// What each host does that fails, before and after.
    stops: [BTreeMap<String, Stops>; 2],
    /// What some host does: of groups that several hosts stop, each counts once.
    any_stops: [Stops; 2],
}

/// What a host that fails does to groups.
#[derive(Clone, Copy, Debug, Default)]
struct Stops {
    /// So many take no writes while it is down.
    stops: u64,
    /// So many have too few copies or shards elsewhere.
    loses: u64,
}

impl Stops {
    /// Adds a group, with whether it stops and whether it is lost.
    fn add(&mut self, (stops, loses): (bool, bool)) {
        self.stops += u64::from(stops);
        self.loses += u64::from(loses);
    }
}

fn real_hosts(cluster: &Cluster) -> BTreeSet<String> {
    let buckets = cluster.map.each_bucket().filter(|bucket| cluster.type_of(bucket.id) == "host");
    buckets.filter_map(|bucket| cluster.map.item_names.get(&bucket.id).cloned()).collect()
}

/// The hosts of the devices of a group, each with how many of them it has.
fn hosts_of<'h>(devices: &[ItemId], hosts: &'h BTreeMap<ItemId, String>) -> BTreeMap<&'h str, u64> {
    let mut held = BTreeMap::new();
    for host in devices.iter().filter_map(|id| hosts.get(id)) {
        *held.entry(host.as_str()).or_default() += 1;
    }
    held
}

impl Tally {
    fn add(&mut self, unit: Unit<'_>) {
        let coded = unit.pool.kind == RuleKind::Erasure;
        let held = unit.group.acting.as_ref().unwrap_or(&unit.now.acting.devices);
        let target = &unit.then.up.devices;
        let count = |devices: &[ItemId]| devices.iter().filter(|id| **id != NONE).count() as u64;
        // Of what is left of too little, nothing can be copied.
        let is_read = count(held) >= u64::from(unit.data);
        let gains = |target| if is_read { Gains::between(held, target, coded) } else { Gains::none() };
        let (changes, anyway) = (gains(target), gains(&unit.anyway));
        // Of a group that is being copied, its new devices have a part.
        let had = |gains| if unit.whole { unit.group.had(gains, coded) } else { 0 };
        let had = |gains| unit.group.bytes_of(had(gains), unit.shard);
        let lacks = unit.shard - had(&changes);
        let moves = &mut self.moves;
        let held_before = count(held) + u64::from(unit.group.emptied);
        let stored = held_before * unit.shard;
        let moved = changes.gained.len() as u64 * lacks;
        moves.groups += 1;
        moves.moved_shards += changes.gained.len() as u64;
        moves.moved_groups += u64::from(!changes.gained.is_empty());
        moves.moved_bytes += moved;
        moves.stored_bytes += stored;
        moves.pending_bytes += anyway.gained.len() as u64 * (unit.shard - had(&anyway));
        let primary = unit.group.primary.or(unit.now.acting.primary);
        moves.primaries_changed +=
            u64::from(unit.then.up.primary.is_some() && unit.then.up.primary != primary);
        moves.groups_short += u64::from(count(target) < u64::from(unit.pool.size));
        // A device that is up goes on to serve what the map has no other place for.
        let served = count(target) + kept_places((held, target), &unit);
        moves.groups_homeless += u64::from(served == 0);
        let safety = &mut moves.safety;
        let below = |devices: u64| unit.min_size.is_some_and(|least| devices < u64::from(least));
        safety.below_min_size += u64::from(below(served));
        safety.on_old_devices += u64::from(below(count(target)) && !below(served));
        if unit.first {
            safety.min_size_unknown += u64::from(unit.min_size.is_none());
            // For a group whose state nobody knows, the location by the map is only an assumption, so it does
            // not count.
            if !unit.group.stated.is_some_and(|stated| stated.unknown) {
                safety.short_now += u64::from(held_before < u64::from(unit.pool.size));
                safety.below_min_size_now += u64::from(below(held_before));
            }
        }
        if let Some(pool) = moves.pools.last_mut() {
            pool.groups += 1;
            pool.moved_groups += u64::from(!changes.gained.is_empty());
            pool.stored_bytes += stored;
            pool.moved_bytes += moved;
        }
        if unit.first {
            self.note_doubts(&unit, held, coded);
        }
        if is_read {
            self.note_devices(held, target, unit.shard);
        }
        self.note_flows(&changes, primary, (lacks, unit.shard));
        self.note_hosts(0, held, &unit);
        if count(target) >= u64::from(unit.pool.size) {
            self.note_hosts(1, target, &unit);
            let hosts = hosts_of(target, &self.hosts[1]);
            let is_whole = hosts.iter().any(|(host, held)| *held == count(target) && self.is_host(host));
            self.moves.safety.on_one_host += u64::from(is_whole);
        }
    }

    /// Counts a group of which the dump says something else than the map.
    fn note_doubts(&mut self, unit: &Unit<'_>, held: &[ItemId], coded: bool) {
        let Some(up) = &unit.group.up else { return };
        if differs(up, &unit.now.up.devices, coded) {
            self.moves.disagreeing += 1;
            if self.moves.disagreeing_example.is_empty() {
                self.moves.disagreeing_example = unit.id.to_string();
            }
        }
        // What serves a group that cannot be read is not taken from the dump.
        let serves = !unit.group.stated.is_some_and(|stated| stated.inactive);
        if unit.is_temporary && serves {
            self.moves.served_elsewhere += u64::from(differs(held, &unit.now.acting.devices, coded));
        }
    }

    /// Whether a bucket that holds devices is a host: in a map without hosts it is the root.
    fn is_host(&self, name: &str) -> bool {
        self.real_hosts.contains(name)
    }

    /// Counts what the failure of each host of a group does to it, now (0) or after the change (1).
    fn note_hosts(&mut self, when: usize, devices: &[ItemId], unit: &Unit<'_>) {
        let all = devices.iter().filter(|id| **id != NONE).count() as u64;
        let mut some = (false, false);
        for (host, held) in hosts_of(devices, &self.hosts[when]) {
            let left = all - held;
            let stops = unit.min_size.is_some_and(|least| left < u64::from(least));
            let loses = all >= u64::from(unit.data) && left < u64::from(unit.data);
            if stops || loses {
                self.stops[when].entry(host.to_owned()).or_default().add((stops, loses));
            }
            some = (some.0 || stops, some.1 || loses);
        }
        self.any_stops[when].add(some);
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

    /// Counts what devices get that lack so much of each copy or shard, and what others lose.
    fn note_flows(&mut self, changes: &Gains, primary: Option<ItemId>, (lacks, shard): (u64, u64)) {
        for &(from, to) in &changes.gained {
            let device = self.moves.devices.entry(to).or_default();
            device.in_bytes += lacks;
            device.present_bytes += shard - lacks;
            if let Some(from) = from.or(primary) {
                *self.flows.entry((from, to)).or_default() += lacks;
            }
        }
        for &from in &changes.lost {
            let device = self.moves.devices.entry(from).or_default();
            device.out_bytes += shard;
        }
    }

    fn note_worst_host(&mut self) {
        let most = |when: usize, of: fn(&Stops) -> u64| {
            let all = self.stops[when].iter().map(|(host, stops)| (of(stops), host));
            all.max_by_key(|(count, _)| *count)
                .map_or((0, String::new()), |(count, host)| (count, host.clone()))
        };
        let [stops, loses]: [fn(&Stops) -> u64; 2] = [|stops| stops.stops, |stops| stops.loses];
        let (worst, host) = most(1, stops);
        let (losing, loser) = most(1, loses);
        let safety = &mut self.moves.safety;
        (safety.host_stops_now, safety.host_stops) = (most(0, stops).0, worst);
        (safety.host_loses_now, safety.host_loses) = (most(0, loses).0, losing);
        let [now, then] = self.any_stops;
        safety.more_stop = then.stops > now.stops;
        safety.more_are_lost = then.loses > now.loses;
        self.moves.worst_hosts = [host, loser];
    }

    fn finish(mut self, case: &Case) -> Moves {
        self.moves.safety.limits = case.limits;
        self.moves.safety.groups_max = case.groups_max;
        self.note_worst_host();
        self.moves.states = case.states.clone();
        self.moves.splits = case.splits.clone();
        self.moves.halts = case.halts.clone().filter(|_| self.moves.moved_shards > 0);
        let known = case.after.overlay.devices.len().max(case.before.overlay.devices.len()) as ItemId;
        for id in 0..known {
            if case.before.device(id).is_some() || case.after.device(id).is_some() {
                self.moves.devices.entry(id).or_default();
            }
        }
        self.moves.refused = {
            let devices = &self.moves.devices;
            group_limits::refused(case, &|id| devices.get(&id).map_or(0, |device| device.target_shards))
        };
        self.moves.refused.extend(case.locked.iter().cloned());
        self.moves.never_out = case.never_out;
        for (id, device) in &mut self.moves.devices {
            let names = [&case.before, &case.after].map(|cluster| cluster.map.item_names.get(id));
            device.name = names.into_iter().flatten().next().cloned().unwrap_or_else(|| format!("osd.{id}"));
            device.host = self.hosts.iter().find_map(|hosts| hosts.get(id)).cloned().unwrap_or_default();
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
