//! The groups of a real cluster as records of a rebuild, and where they belong when devices are out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use towtank_ceph::{Cluster, Group, PoolState, Stated, parts_of, upmaps};
use towtank_placement::crush::objects::stable_mod;
use towtank_placement::crush::pools::{Placer, Pool};
use towtank_placement::crush::{ItemId, Mapper, NONE, RuleKind, Workspace};

use super::machines::Machines;
use towtank_rebuild::affected::{Affected, Copied, Kind};
use towtank_rebuild::homes::{Homes, Wanted};
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_rebuild::redundancy::Redundancy;
use towtank_study::RunContext;

/// A cluster and its machines, ready for lookups.
#[derive(Debug)]
pub struct Groups {
    /// The cluster as the exports describe it.
    pub cluster: Cluster,
    /// Its machines.
    pub machines: Machines,
    mapper: Mapper,
    /// The same cluster after each change of its map, in order, where there are any: then groups belong where
    /// they put them, and what is left of them moves there too.
    changed: Vec<(Cluster, Mapper)>,
    /// How many of them come before those that the manager makes, and the pools that these change.
    stepped: (usize, Vec<usize>),
    /// Devices that are down and are replaced later: they count as failing at the beginning.
    replaced: BTreeSet<DeviceId>,
}

/// Maps that the manager makes one after another.
#[derive(Debug, Default)]
pub(crate) struct OnTheWay {
    /// The maps, without their groups.
    pub maps: Vec<Cluster>,
    /// The places of the pools that they change.
    pub pools: Vec<usize>,
}

/// Finds where the records of one run belong.
#[derive(Debug)]
struct Homeward {
    groups: Arc<Groups>,
    /// The numbers of the records, in ascending order.
    numbers: Vec<u64>,
    width: usize,
    /// Where they belong, which each of many recoveries of them asks for: by the number of changes and the
    /// devices that are out.
    found: Mutex<BTreeMap<Asked, Arc<Vec<DeviceId>>>>,
}

/// How many changes of the map there were, and which devices are out.
type Asked = (usize, Vec<bool>);

/// A group in the finest of the divisions before and after all changes, and where it is.
#[derive(Clone, Copy, Debug)]
struct Unit {
    number: u32,
    source: u32,
    bytes: u64,
    objects: u64,
}

/// A group as it is when nothing is left to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    /// The place of its pool among all, and its number there.
    pub pool: usize,
    pub number: usize,
    /// Its devices, each at its position: those that serve it, and where it lacks some those that it is to
    /// have; [`NOWHERE`] where there is none.
    pub devices: Vec<DeviceId>,
    /// The devices among them that it lacks now.
    pub lacking: Vec<DeviceId>,
    /// How many of its devices a read takes.
    pub data: u32,
    /// Whether it has objects.
    pub has_data: bool,
}

/// The assumed object size for a dump that counts bytes but no objects: the size into which RBD divides
/// images.
const OBJECT_USUAL: u64 = 4 << 20;

impl Groups {
    /// Prepares a cluster whose map has been read.
    ///
    /// # Errors
    /// The fault of a map that cannot be compiled.
    pub fn new(cluster: Cluster, machines: Machines) -> Result<Groups, String> {
        let mapper = cluster.map.compile().map_err(|fault| fault.to_string())?;
        Ok(Groups {
            cluster,
            machines,
            mapper,
            changed: Vec::new(),
            stepped: (0, Vec::new()),
            replaced: BTreeSet::new(),
        })
    }

    /// The same, of which these devices are down and are replaced later.
    #[must_use]
    pub(super) fn with_replaced(self, osds: &BTreeSet<ItemId>) -> Groups {
        let replaced = osds.iter().filter_map(|osd| self.machines.devices.get(osd)).copied().collect();
        Groups { replaced, ..self }
    }

    /// The same groups, to be moved to where each of `changed` puts them, one after another.
    ///
    /// # Errors
    /// The fault of a map that cannot be compiled.
    pub(super) fn followed_to(self, changed: Vec<Cluster>, then: OnTheWay) -> Result<Groups, String> {
        let OnTheWay { maps, pools } = then;
        let stepped = (changed.len(), pools);
        let compiled = changed.into_iter().chain(maps).map(|cluster| {
            let mapper = cluster.map.compile().map_err(|fault| fault.to_string())?;
            Ok((cluster, mapper))
        });
        Ok(Groups { changed: compiled.collect::<Result<_, String>>()?, stepped, ..self })
    }

    /// The state that says where groups belong after so many later changes.
    fn wanted(&self, changes: usize) -> (&Cluster, &Mapper) {
        match self.changed.get(changes) {
            Some((cluster, mapper)) => (cluster, mapper),
            None => (&self.cluster, &self.mapper),
        }
    }

    /// The state that says where groups belong when these devices are out, without its groups. All devices
    /// are taken as up: one that is down but not out still counts, since its groups wait for it.
    fn wanted_with_out(&self, changes: usize, out: &[bool]) -> Cluster {
        let (wanted, _) = self.wanted(changes);
        let mut state = wanted.without_groups();
        state.overlay.devices.iter_mut().for_each(|device| device.up = device.exists);
        for (osd, _) in self.machines.osds.iter().zip(out).filter(|(_, out)| **out) {
            if let Some(device) = state.overlay.devices.get_mut(*osd as usize) {
                device.weight = 0;
            }
        }
        if out.contains(&true) {
            // Explicit mappings to devices that are out are removed, as the monitors do.
            upmaps::drop_broken(&mut state);
        }
        state
    }

    /// Where several groups of a pool should be.
    fn placed(
        mapper: &Mapper,
        placer: &Placer<'_>,
        workspace: &mut Workspace,
        (pool, seeds): (&Pool, &[u32]),
    ) -> Vec<Vec<ItemId>> {
        let placed = placer.place_all(pool, seeds, mapper, workspace);
        placed.into_iter().map(|placed| placed.up.devices).collect()
    }

    /// Devices that are not serving, neither now nor after the change, without those that are replaced later.
    pub fn down(&self) -> Vec<DeviceId> {
        let serves = |osd: ItemId| {
            self.cluster.serves(osd) || self.changed.iter().any(|(cluster, _)| cluster.serves(osd))
        };
        let devices = self.machines.devices.iter();
        let down = devices.filter(|(osd, device)| !serves(**osd) && !self.replaced.contains(device));
        down.map(|(_, device)| *device).collect()
    }

    fn kind(pool: &PoolState) -> Kind {
        let redundancy = Redundancy { data: pool.data_shards, width: pool.placed.size };
        let min_size = pool.min_size.map_or_else(|| redundancy.min_size(), |size| size.min(redundancy.width));
        Kind { redundancy, min_size, by_place: pool.placed.kind == RuleKind::Erasure }
    }

    /// The groups on failing devices, those that lacked copies before, and those that follow a changed map:
    /// their numbers, and how many lacked copies. Nothing if the user stopped it.
    pub fn affected(self: &Arc<Self>, failing: &[bool], context: &RunContext<'_>) -> Option<(Affected, u64)> {
        // Groups may move when the map changes, and others when what fails is given up.
        let mut homes: Vec<(usize, &Mapper, Cluster)> = Vec::new();
        for (changes, (_, mapper)) in self.changed.iter().enumerate() {
            homes.push((changes, mapper, self.wanted_with_out(changes, &[])));
            let fails = failing.contains(&true);
            homes.extend(fails.then(|| (changes, mapper, self.wanted_with_out(changes, failing))));
        }
        let mut workspace = Workspace::default();
        let mut kinds: Vec<Kind> = Vec::new();
        let mut records = Vec::new();
        let (mut number, mut asked, mut lacking) = (0u64, 0, 0);
        for (at, pool) in self.cluster.pools.iter().enumerate() {
            let own = Self::kind(pool);
            let kind = kinds.iter().position(|kind| *kind == own).unwrap_or_else(|| {
                kinds.push(own);
                kinds.len() - 1
            });
            let width = own.redundancy.width as usize;
            let units: Vec<Unit> = self.units(at).collect();
            let differ = |changes: usize| changes < self.stepped.0 || self.stepped.1.contains(&at);
            let wanted: Vec<Vec<Vec<ItemId>>> = homes
                .iter()
                .filter(|(changes, ..)| differ(*changes))
                .map(|(_, mapper, state)| {
                    let placer = Placer::new(&state.map, &state.overlay);
                    let placed = &state.pools[at].placed;
                    let seeds: Vec<u32> =
                        units.iter().map(|unit| stable_mod(unit.number, placed.pg_num)).collect();
                    Self::placed(mapper, &placer, &mut workspace, (placed, &seeds))
                })
                .collect();
            for (unit_at, unit) in units.into_iter().enumerate() {
                if context.stopped() {
                    return None;
                }
                let group = &pool.groups[unit.source as usize];
                let acting = group.acting.as_deref().unwrap_or_default();
                let list = self.list(acting, group.primary, own, width);
                let lacks = list.contains(&NOWHERE);
                let touches = list.iter().any(|device| *device != NOWHERE && failing[device.index()]);
                let moves = wanted.iter().any(|wanted| self.differs(&list, &wanted[unit_at], own));
                lacking += u64::from(lacks && !group.stated.is_some_and(|stated| stated.unknown));
                if lacks || touches || moves {
                    let copied = self.copied(group, &unit, own);
                    records.push((kind as u16, number, list, unit, own.redundancy.data, copied));
                }
                asked += 1;
                number += 1;
            }
        }
        let numbers: Vec<u64> = records.iter().map(|record| record.1).collect();
        let width = kinds.iter().map(|kind| kind.redundancy.width as usize).max().unwrap_or(0);
        let homes = Homeward { groups: Arc::clone(self), numbers, width, found: Mutex::default() };
        let mut affected = Affected::of_groups(kinds, Arc::new(homes));
        affected.asked = asked;
        affected.follows = !self.changed.is_empty();
        for (kind, number, list, unit, data, copied) in records {
            let Unit { objects, bytes, .. } = unit;
            affected.push_counted(kind, number, &list, (objects, bytes_of_shards(objects, bytes, data)));
            copied.into_iter().for_each(|copied| affected.was_begun(copied));
        }
        Some((affected, lacking))
    }

    /// The devices of each group with data that lacks nothing, and how many of them a read takes.
    pub(crate) fn whole(&self) -> impl Iterator<Item = (Vec<DeviceId>, u32)> {
        let whole = self.serving().filter(|group| group.has_data && !group.devices.contains(&NOWHERE));
        whole.map(|group| (group.devices, group.data))
    }

    /// Each group with the devices that serve it. Those that have entries alone (omap) may have no bytes, but
    /// they have objects.
    fn serving(&self) -> impl Iterator<Item = Settled> {
        self.cluster.pools.iter().enumerate().flat_map(move |(at, pool)| {
            let own = Self::kind(pool);
            pool.groups.iter().enumerate().map(move |(number, group)| {
                let acting = group.acting.as_deref().unwrap_or_default();
                Settled {
                    pool: at,
                    number,
                    devices: self.list(acting, group.primary, own, own.redundancy.width as usize),
                    lacking: Vec::new(),
                    data: own.redundancy.data,
                    has_data: group.bytes > 0 || group.objects > 0,
                }
            })
        })
    }

    /// Each group as it is when nothing is left to do, and what is down is out.
    pub(crate) fn settled(&self) -> Vec<Settled> {
        let mut out = vec![false; self.machines.osds.len()];
        self.down().into_iter().for_each(|device| out[device.index()] = true);
        let state = self.wanted_with_out(0, &out);
        let placer = Placer::new(&state.map, &state.overlay);
        let mut workspace = Workspace::default();
        let mut wanted = |(pool, number): (usize, usize)| -> Vec<DeviceId> {
            let placed = &state.pools[pool].placed;
            let seeds = [stable_mod(number as u32, placed.pg_num)];
            let up = Self::placed(&self.mapper, &placer, &mut workspace, (placed, &seeds)).remove(0);
            up.iter().map(|osd| self.machines.devices.get(osd).copied().unwrap_or(NOWHERE)).collect()
        };
        let settled = |mut group: Settled| {
            if group.devices.contains(&NOWHERE) {
                let by_place = Self::kind(&self.cluster.pools[group.pool]).by_place;
                let homes = wanted((group.pool, group.number));
                let has = group.devices.clone();
                let mut others = homes.iter().filter(|device| !has.contains(device));
                for (place, device) in
                    group.devices.iter_mut().enumerate().filter(|(_, device)| **device == NOWHERE)
                {
                    let home = if by_place { homes.get(place) } else { others.next() };
                    *device = home.copied().filter(|home| !has.contains(home)).unwrap_or(NOWHERE);
                    group.lacking.extend(Some(*device).filter(|device| *device != NOWHERE));
                }
            }
            group
        };
        self.serving().map(settled).collect()
    }

    /// The serving devices of a group, each at its position; copies follow their primary.
    fn list(&self, acting: &[ItemId], primary: Option<ItemId>, kind: Kind, width: usize) -> Vec<DeviceId> {
        let device = |osd: &ItemId| match self.machines.devices.get(osd) {
            Some(device) if self.cluster.serves(*osd) => *device,
            _ => NOWHERE,
        };
        let mut list: Vec<DeviceId> = acting.iter().take(width).map(device).collect();
        if !kind.by_place {
            list.retain(|device| *device != NOWHERE);
            let lead = primary.and_then(|osd| self.machines.devices.get(&osd));
            if let Some(at) = lead.and_then(|lead| list.iter().position(|device| device == lead)) {
                list[..=at].rotate_right(1);
            }
        }
        list.resize(width, NOWHERE);
        list
    }

    /// How far the copy of a group has come, where that is known. Of one that is split it is not.
    fn copied(&self, group: &Group, unit: &Unit, kind: Kind) -> Option<Copied> {
        let (objects, homes) = group.begun(kind.by_place).filter(|_| unit.objects == group.objects)?;
        let homes: Option<Vec<DeviceId>> =
            homes.iter().map(|osd| self.machines.devices.get(osd).copied()).collect();
        Some(Copied { objects, homes: homes? })
    }

    /// Whether a group of these devices is to have others.
    fn differs(&self, list: &[DeviceId], up: &[ItemId], kind: Kind) -> bool {
        let device = |osd: &ItemId| self.machines.devices.get(osd).copied().unwrap_or(NOWHERE);
        let mut places = (0..).zip(up).filter(|(_, osd)| **osd != NONE);
        if kind.by_place {
            places.any(|(place, osd): (usize, &ItemId)| list.get(place) != Some(&device(osd)))
        } else {
            places.any(|(_, osd)| !list.contains(&device(osd)))
        }
    }

    /// The groups of a pool in the finest of its divisions, in order.
    fn units(&self, at: usize) -> impl Iterator<Item = Unit> {
        let pool = &self.cluster.pools[at];
        let finest = self.changed.iter().map(|(cluster, _)| cluster.pools[at].placed.pg_num).max();
        let then = finest.unwrap_or(pool.placed.pg_num);
        let bytes = parts_of(pool, then, |group| group.bytes);
        let objects = parts_of(pool, then, Self::objects);
        let before = pool.placed.pg_num;
        let unit = move |(unit, (bytes, objects)): (u32, (u64, u64))| Unit {
            number: unit,
            source: stable_mod(unit, before),
            bytes,
            // A group that is split into more parts than it has objects: each part with bytes has one.
            objects: if bytes > 0 { objects.max(1) } else { objects },
        };
        (0u32..).zip(bytes.into_iter().zip(objects)).map(unit)
    }

    /// The numbers of groups whose state fits.
    pub(crate) fn stated(&self, fits: fn(Stated) -> bool) -> BTreeSet<u64> {
        let of_pool = |(at, pool): (usize, &PoolState)| {
            let fits = |unit: Unit| pool.groups[unit.source as usize].stated.is_some_and(fits);
            self.units(at).map(fits).collect::<Vec<bool>>()
        };
        let all = self.cluster.pools.iter().enumerate().flat_map(of_pool);
        (0..).zip(all).filter(|(_, fits)| *fits).map(|(number, _)| number).collect()
    }

    /// Whether a device is in none of the maps any more in the end.
    pub(crate) fn is_removed(&self, device: DeviceId) -> bool {
        let osd = self.machines.osds[device.index()];
        self.changed
            .last()
            .is_some_and(|(end, _)| end.device(osd).is_none() && self.cluster.device(osd).is_some())
    }

    /// The number of the first group of each pool.
    pub(super) fn first_of_pools(&self) -> Vec<u32> {
        let pools = (0..self.cluster.pools.len()).scan(0u32, |next, at| {
            let first = *next;
            *next += self.units(at).count() as u32;
            Some(first)
        });
        std::iter::once(0).chain(pools.skip(1)).collect()
    }

    /// The number of objects of a group, estimated from its bytes where the dump has no count.
    pub fn objects(group: &Group) -> u64 {
        if group.objects > 0 { group.objects } else { group.bytes.div_ceil(OBJECT_USUAL) }
    }
}

/// The bytes per copy or shard of all objects of a group, which are all of the mean size; the remainder is in
/// the first ones. An object without bytes still takes an operation, so it counts as one byte.
fn bytes_of_shards(objects: u64, bytes: u64, data: u32) -> u64 {
    let (each, more) = bytes.checked_div(objects).map_or((0, 0), |each| (each, bytes % objects));
    let shard = |size: u64| size.div_ceil(u64::from(data)).max(1);
    more * shard(each + 1) + (objects - more) * shard(each)
}

impl Homes for Homeward {
    fn with_out<'a>(&'a self, changes: usize, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let table =
            found.entry((changes, out.to_vec())).or_insert_with(|| Arc::new(self.table(changes, out)));
        Box::new(Table { numbers: &self.numbers, width: self.width, table: Arc::clone(table) })
    }
}

impl Homeward {
    /// Where the records belong, one row each.
    fn table(&self, changes: usize, out: &[bool]) -> Vec<DeviceId> {
        let groups = &self.groups;
        let (_, mapper) = groups.wanted(changes);
        let state = groups.wanted_with_out(changes, out);
        let placer = Placer::new(&state.map, &state.overlay);
        let mut workspace = Workspace::default();
        let mut table = vec![NOWHERE; self.numbers.len() * self.width];
        let mut numbers = self.numbers.iter().copied().zip(table.chunks_mut(self.width.max(1))).peekable();
        let mut first = 0;
        for (at, pool) in state.pools.iter().enumerate() {
            let units: Vec<Unit> = groups.units(at).collect();
            let end = first + units.len() as u64;
            let (mut seeds, mut rows) = (Vec::new(), Vec::new());
            while let Some((number, row)) = numbers.next_if(|(number, _)| *number < end) {
                seeds.push(stable_mod(units[(number - first) as usize].number, pool.placed.pg_num));
                rows.push(row);
            }
            let placed = Groups::placed(mapper, &placer, &mut workspace, (&pool.placed, &seeds));
            for (row, up) in rows.into_iter().zip(placed) {
                for (place, osd) in row.iter_mut().zip(up).filter(|(_, osd)| *osd != NONE) {
                    *place = groups.machines.devices.get(&osd).copied().unwrap_or(NOWHERE);
                }
            }
            first = end;
        }
        table
    }
}

/// Where all records belong at one instant.
struct Table<'a> {
    numbers: &'a [u64],
    width: usize,
    table: Arc<Vec<DeviceId>>,
}

impl Wanted for Table<'_> {
    fn find(&mut self, (number, _): (u64, u64), devices: &mut [DeviceId]) {
        devices.fill(NOWHERE);
        if let Ok(at) = self.numbers.binary_search(&number) {
            devices.iter_mut().zip(&self.table[at * self.width..]).for_each(|(to, from)| *to = *from);
        }
    }
}
