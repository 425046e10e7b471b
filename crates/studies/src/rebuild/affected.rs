//! What the failures touch: every object, or group of objects, with a copy on something that fails.
//!
//! It is found by the placement's inverse where there is one (groups, rings), by asking every object, or drawn from the exact
//! distribution (`shares`). All failures of a run are known beforehand, so it is found once; `recovery` follows what
//! becomes of it.

use placement::algorithms::{Cluster, KeyRun, KeySpace, ServerId, SetupError, Territory, Touching};
use placement::crush::vring;
use population::Population;
use streams::{Draws, Purpose, Seed, mix};

use super::hardware::Hardware;
use super::map_places::{Homes, MapPlaces};
use super::plan::DeviceId;
use super::scenario::{Complete, Domain, LostSet, Placement, Redundancy};
use super::shares::Shares;
use crate::RunContext;
use crate::place::Arrangement;

/// More objects than this are not asked one by one unless the user says so: CRUSH takes microseconds for each.
const ASKED_MAX: u64 = 100_000;

/// How the affected were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// By the placement's inverse.
    ByInverse,
    /// Every object, or group, was asked.
    ByAsking,
    /// Drawn from the exact distribution.
    Drawn,
}

/// How the objects of a record are kept safe, and what its places mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Copies or shards.
    pub redundancy: Redundancy,
    /// With fewer left, it takes no writes.
    pub min_size: u32,
    /// Each shard has its own place; else any order of the devices means the same.
    pub by_place: bool,
}

/// What is affected. A record is an object placed by itself, or a group.
#[derive(Debug)]
pub struct Affected {
    /// Copies or shards of a record, of the kind that has most.
    pub width: usize,
    /// The kinds of records that there are.
    kinds: Vec<Kind>,
    /// For each record its kind; empty where there is but one.
    kind_of: Vec<u16>,
    /// For each record its devices in order, more than `width` of them, so that the next ones can take over.
    lists: Vec<DeviceId>,
    length: usize,
    /// For each record, its first object; one more at the end. Empty where each record is one object.
    first_object: Vec<u32>,
    /// For each object, the bytes of a copy or shard.
    sizes: Vec<u64>,
    /// For each record its number: the group, or the object's.
    pub numbers: Vec<u64>,
    /// Where new homes come from a CRUSH map with domains instead of from the lists.
    pub homes: Option<Box<dyn Homes>>,
    /// For each record its key, where `homes` needs it.
    keys: Vec<u64>,
    /// How they were found.
    pub found: Found,
    /// How many objects, or groups, were looked at.
    pub asked: u64,
    /// Whether records are groups.
    pub grouped: bool,
}

/// No device.
pub const NOWHERE: DeviceId = DeviceId(u32::MAX);

const THIN: Purpose = Purpose(41);
const LIST: Purpose = Purpose(42);

impl Affected {
    /// How many records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.numbers.len()
    }

    /// A record's devices before anything fails, and who comes next.
    #[inline]
    #[must_use]
    pub fn list(&self, record: usize) -> &[DeviceId] {
        &self.lists[record * self.length..(record + 1) * self.length]
    }

    /// The bytes of the copies or shards of a record's objects.
    #[inline]
    #[must_use]
    pub fn sizes(&self, record: usize) -> &[u64] {
        if self.first_object.is_empty() {
            return std::slice::from_ref(&self.sizes[record]);
        }
        &self.sizes[self.first_object[record] as usize..self.first_object[record + 1] as usize]
    }

    /// The place of a record's first object among all.
    #[inline]
    #[must_use]
    pub fn first_object(&self, record: usize) -> usize {
        if self.first_object.is_empty() { record } else { self.first_object[record] as usize }
    }

    /// How many objects.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.sizes.len()
    }

    /// A record's number and key.
    #[must_use]
    pub fn name(&self, record: usize) -> (u64, u64) {
        (self.numbers[record], self.keys.get(record).copied().unwrap_or(0))
    }

    /// How a record is kept safe.
    #[inline]
    #[must_use]
    pub fn kind(&self, record: usize) -> Kind {
        self.kinds[self.kind_of.get(record).copied().map_or(0, usize::from)]
    }

    /// Records given one by one, as real clusters list their groups.
    #[must_use]
    pub fn of_groups(kinds: Vec<Kind>, homes: Box<dyn Homes>) -> Affected {
        let width = kinds.iter().map(|kind| kind.redundancy.width as usize).max().unwrap_or(0);
        Affected {
            width,
            kinds,
            kind_of: Vec::new(),
            lists: Vec::new(),
            length: width,
            first_object: vec![0],
            sizes: Vec::new(),
            numbers: Vec::new(),
            homes: Some(homes),
            keys: Vec::new(),
            found: Found::ByAsking,
            asked: 0,
            grouped: true,
        }
    }

    /// Adds a group of a kind with its devices, padded with [`NOWHERE`], and its objects.
    pub fn push_group_of(
        &mut self,
        kind: u16,
        number: u64,
        list: &[DeviceId],
        sizes: impl Iterator<Item = u64>,
    ) {
        self.kind_of.push(kind);
        self.push_group(number, list, sizes);
    }

    /// Adds a group of the only kind.
    fn push_group(&mut self, number: u64, list: &[DeviceId], sizes: impl Iterator<Item = u64>) {
        self.numbers.push(number);
        self.lists.extend_from_slice(list);
        self.lists.resize(self.numbers.len() * self.length, NOWHERE);
        self.sizes.extend(sizes);
        self.first_object.push(self.sizes.len() as u32);
    }

    fn push_object(&mut self, id: u64, list: impl Iterator<Item = DeviceId>, size: u64) {
        self.numbers.push(id);
        self.lists.extend(list.take(self.length));
        self.lists.resize(self.numbers.len() * self.length, NOWHERE);
        self.sizes.push(size);
    }
}

/// The question: what touches these devices?
pub struct Search<'a> {
    /// The scenario.
    pub complete: &'a Complete,
    /// The machines.
    pub hardware: &'a Hardware,
    /// The data.
    pub population: &'a Population,
    /// For each device, whether it fails sooner or later.
    pub failing: &'a [bool],
    /// The replicate's seed.
    pub seed: Seed,
}

/// The disk of a server on which an object lies.
#[inline]
#[must_use]
pub fn disk_of(hardware: &Hardware, server: u32, key: u64) -> DeviceId {
    let mut devices = hardware.devices_of(server);
    let count = devices.len() as u64;
    if count == 1 {
        return devices.next().unwrap_or(NOWHERE);
    }
    let word = mix(key ^ 0x3c6e_f372_fe94_f82b, u64::from(server) ^ 0xa54f_f53a_5f1d_36f1);
    let at = (u128::from(word) * u128::from(count)) >> 64;
    devices.nth(at as usize).unwrap_or(NOWHERE)
}

impl Search<'_> {
    /// Finds it; none if the user stopped it.
    ///
    /// # Errors
    /// When the placement cannot serve such a cluster.
    pub fn run(&self, context: &RunContext<'_>) -> Result<Option<Affected>, SetupError> {
        let scenario = &self.complete.scenario;
        let servers = scenario.servers;
        if scenario.failure_domain == Domain::Rack {
            return Ok(self.by_map(context));
        }
        let arrangement = Arrangement {
            vnodes: scenario.vnodes,
            groups: scenario.groups.unwrap_or(65_536),
            replicas: self.complete.redundancy.width as usize,
            seed: mix(self.seed.0, 0x6a09_e667_f3bc_c909) as u32,
        };
        let cluster = Cluster::equal(servers);
        let by_draws = matches!(
            scenario.placement,
            Placement::CrushStraw2 | Placement::CrushStraw | Placement::CrushVring | Placement::Rendezvous
        );
        let many = self.population.objects() > ASKED_MAX;
        let draw = scenario.groups.is_none()
            && by_draws
            && (scenario.lost_set == LostSet::Draw || (many && scenario.lost_set == LostSet::Auto));
        if draw {
            return Ok(self.drawn(context));
        }
        let placement = scenario.placement.algorithm().set_up(&cluster, &arrangement)?;
        let place = |key: u64, list: &mut [ServerId]| placement.lookup(key, list);
        if let Some(groups) = scenario.groups {
            return Ok(self.by_groups(groups, &place, None, context));
        }
        let none = Touching { server: ServerId(0), replicas: 0 };
        let rings = matches!(scenario.placement, Placement::Ring | Placement::Multiring);
        let inverse = rings
            && scenario.lost_set == LostSet::Auto
            && matches!(
                placement.territory(none, &mut |_| ()),
                Territory::Exact(KeySpace::AsGiven) | Territory::Superset(KeySpace::AsGiven)
            );
        if inverse {
            return Ok(self.by_inverse(placement.as_ref(), context));
        }
        Ok(self.by_asking(&place, None, context))
    }

    fn empty(&self, found: Found, map: Option<&MapPlaces>) -> Affected {
        let width = self.complete.redundancy.width as usize;
        let failing = (0..self.hardware.servers()).filter(|&server| self.fails(server)).count();
        let length = (width + failing + 1).min(self.hardware.servers() as usize);
        let first_object = if self.complete.scenario.groups.is_some() { vec![0] } else { Vec::new() };
        let redundancy = self.complete.redundancy;
        let by_place = map.is_some() && redundancy.data > 1;
        Affected {
            width,
            kinds: vec![Kind { redundancy, min_size: redundancy.min_size(), by_place }],
            kind_of: Vec::new(),
            lists: Vec::new(),
            length: if map.is_some() { width } else { length },
            homes: map.map(|map| Box::new(map.clone()) as Box<dyn Homes>),
            keys: Vec::new(),
            grouped: !first_object.is_empty(),
            first_object,
            sizes: Vec::new(),
            numbers: Vec::new(),
            found,
            asked: 0,
        }
    }

    fn fails(&self, server: u32) -> bool {
        self.hardware.devices_of(server).any(|device| self.failing[device.index()])
    }

    fn shard(&self, id: u64) -> u64 {
        self.population.object(id).size.get().div_ceil(u64::from(self.complete.redundancy.data))
    }

    /// The devices of a list of servers, and whether one of the first fails.
    fn devices<'b>(&'b self, list: &'b [ServerId], key: u64) -> impl Iterator<Item = DeviceId> + 'b {
        list.iter().map(move |server| {
            if *server == ServerId::NONE { NOWHERE } else { disk_of(self.hardware, server.0, key) }
        })
    }

    fn touches(&self, mut devices: impl Iterator<Item = DeviceId>, width: usize) -> bool {
        devices.by_ref().take(width).any(|device| device != NOWHERE && self.failing[device.index()])
    }

    fn by_groups(
        &self,
        groups: u32,
        place: &dyn Fn(u64, &mut [ServerId]) -> usize,
        map: Option<&MapPlaces>,
        context: &RunContext<'_>,
    ) -> Option<Affected> {
        let mut affected = self.empty(Found::ByInverse, map);
        let mut list = vec![ServerId::NONE; affected.length];
        for group in 0..u64::from(groups) {
            if context.stopped() {
                return None;
            }
            let key = placement::algorithms::hashing::scatter(group ^ mix(self.seed.0, 77));
            list.fill(ServerId::NONE);
            let found = place(key, &mut list);
            list[found..].fill(ServerId::NONE);
            if self.touches(self.devices(&list, key), affected.width) {
                let devices: Vec<DeviceId> = self.devices(&list, key).collect();
                let ids = self.population.ids_in_residue(group, u64::from(groups));
                if affected.homes.is_some() {
                    affected.keys.push(key);
                }
                affected.push_group(group, &devices, ids.map(|id| self.shard(id)));
            }
        }
        affected.asked = u64::from(groups);
        Some(affected)
    }

    fn by_asking(
        &self,
        place: &dyn Fn(u64, &mut [ServerId]) -> usize,
        map: Option<&MapPlaces>,
        context: &RunContext<'_>,
    ) -> Option<Affected> {
        let mut affected = self.empty(Found::ByAsking, map);
        let mut list = vec![ServerId::NONE; affected.length];
        for id in 0..self.population.objects() {
            if id % 1_024 == 0 && context.stopped() {
                return None;
            }
            self.ask(id, place, &mut list, &mut affected);
        }
        affected.asked = self.population.objects();
        Some(affected)
    }

    /// Adds an object if it touches.
    fn ask(
        &self,
        id: u64,
        place: &dyn Fn(u64, &mut [ServerId]) -> usize,
        list: &mut [ServerId],
        affected: &mut Affected,
    ) {
        let key = self.population.key(id);
        let found = place(key, list);
        list[found..].fill(ServerId::NONE);
        if self.touches(self.devices(list, key), affected.width) {
            if affected.homes.is_some() {
                affected.keys.push(key);
            }
            affected.push_object(id, self.devices(list, key), self.shard(id));
        }
    }

    fn by_inverse(
        &self,
        placement: &dyn placement::algorithms::Placement,
        context: &RunContext<'_>,
    ) -> Option<Affected> {
        let mut affected = self.empty(Found::ByInverse, None);
        let (width, length) = (affected.width, affected.length);
        let mut ids = Vec::new();
        for server in (0..self.hardware.servers()).filter(|&server| self.fails(server)) {
            let mut visit = |run: KeyRun| {
                if context.stopped() {
                    return;
                }
                let keys = run.first..=run.last;
                if run.modulus == 1 {
                    ids.extend(self.population.ids_with_keys(keys));
                } else {
                    ids.extend(self.population.ids_in_run(keys, run.residue, run.modulus));
                }
            };
            placement.territory(Touching { server: ServerId(server), replicas: width }, &mut visit);
        }
        if context.stopped() {
            return None;
        }
        ids.sort_unstable();
        ids.dedup();
        affected.asked = ids.len() as u64;
        let mut list = vec![ServerId::NONE; length];
        for id in ids {
            self.ask(id, &|key, list| placement.lookup(key, list), &mut list, &mut affected);
        }
        Some(affected)
    }

    fn by_map(&self, context: &RunContext<'_>) -> Option<Affected> {
        let map = MapPlaces::racks(self.complete, self.hardware);
        let place = |key: u64, list: &mut [ServerId]| map.servers(key, &[], list);
        match self.complete.scenario.groups {
            Some(groups) => self.by_groups(groups, &place, Some(&map), context),
            None => self.by_asking(&place, Some(&map), context),
        }
    }

    fn drawn(&self, context: &RunContext<'_>) -> Option<Affected> {
        let mut affected = self.empty(Found::Drawn, None);
        let servers = self.hardware.servers();
        let weights = match self.complete.scenario.placement {
            Placement::CrushVring => vring::equal_shares(servers),
            _ => vec![1.0; servers as usize],
        };
        let failing: Vec<bool> = (0..servers).map(|server| self.fails(server)).collect();
        let shares = Shares::new(&weights, &failing, affected.width);
        let mut list = vec![0u32; affected.length];
        for (at, id) in self.population.thin(shares.candidates(), THIN).enumerate() {
            if at % 1_024 == 0 && context.stopped() {
                return None;
            }
            affected.asked += 1;
            let mut draws = Draws::new(self.seed, u32::MAX - 1, id);
            if !shares.draw(&mut list, &mut draws.of(LIST)) {
                continue;
            }
            let devices = || list.iter().map(|&server| disk_of(self.hardware, server, id));
            if self.touches(devices(), affected.width) {
                affected.push_object(id, devices(), self.shard(id));
            }
        }
        Some(affected)
    }
}
