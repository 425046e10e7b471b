//! What the failures touch: every object, or group of objects, with a copy on something that fails.
//!
//! It is found by the placement's inverse where there is one (groups, rings), by asking every object, or drawn from the exact
//! distribution (`shares`). All failures of a run are known beforehand, so it is found once; `recovery` follows what
//! becomes of it.

use std::cell::RefCell;
use std::sync::Arc;

use towtank_placement::algorithms::{Cluster, KeyRun, KeySpace, ServerId, SetupError, Territory, Touching};
use towtank_placement::crush::vring;
use towtank_population::Population;
use towtank_streams::{Purpose, Seed, mix};

use super::hardware::Hardware;
use super::map_places::{Homes, MapPlaces, host_id};
use super::plan::DeviceId;
use super::scenario::{Complete, Domain, LostSet, Placement, Redundancy};
use super::server_places::{DrawnPlaces, LIST, Onward, ServerPlaces, disk_of, draws_of};
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
    /// Where new homes come from something else than the lists: a CRUSH map, or servers with several disks.
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

    fn push_object(&mut self, id: u64, list: &[DeviceId], size: u64) {
        self.numbers.push(id);
        self.lists.extend_from_slice(list);
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

/// The devices of a key, in order; places without one hold [`NOWHERE`].
type Place<'a> = dyn Fn(u64, &mut [DeviceId]) + 'a;

impl Search<'_> {
    /// Finds it; none if the user stopped it.
    ///
    /// # Errors
    /// When the placement cannot serve such a cluster.
    pub fn run(&self, context: &RunContext<'_>) -> Result<Option<Affected>, SetupError> {
        let scenario = &self.complete.scenario;
        let by_draws = self.is_crush() || scenario.placement == Placement::Rendezvous;
        let many = self.population.objects() > ASKED_MAX;
        let draw = scenario.groups.is_none()
            && scenario.failure_domain == Domain::Server
            && by_draws
            && (scenario.lost_set == LostSet::Draw || (many && scenario.lost_set == LostSet::Auto));
        if draw {
            return Ok(self.drawn(context));
        }
        if self.has_levels() {
            return Ok(self.by_map(context));
        }
        let arrangement = Arrangement {
            vnodes: scenario.vnodes,
            groups: scenario.groups.unwrap_or(65_536),
            replicas: self.complete.redundancy.width as usize,
            seed: mix(self.seed.0, 0x6a09_e667_f3bc_c909) as u32,
        };
        let placement =
            scenario.placement.algorithm().set_up(&Cluster::equal(scenario.servers), &arrangement)?;
        let placement: Arc<dyn towtank_placement::algorithms::Placement> = Arc::from(placement);
        let scratch = RefCell::new(Vec::new());
        let place = |key: u64, list: &mut [DeviceId]| {
            self.on_servers(&*placement, key, &mut scratch.borrow_mut(), list)
        };
        let homes = (scenario.disks_per_server > 1).then(|| {
            let (hardware, spare) = (self.hardware.clone(), self.failing_servers() + 1);
            Box::new(ServerPlaces { placement: Arc::clone(&placement), hardware, spare }) as Box<dyn Homes>
        });
        if let Some(groups) = scenario.groups {
            return Ok(self.by_groups(groups, &place, homes, context));
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
            return Ok(self.by_inverse((&*placement, &place), homes, context));
        }
        Ok(self.by_asking(&place, homes, context))
    }

    fn is_crush(&self) -> bool {
        matches!(
            self.complete.scenario.placement,
            Placement::CrushStraw2 | Placement::CrushStraw | Placement::CrushVring
        )
    }

    /// Whether a CRUSH map of more than one level says where objects lie.
    fn has_levels(&self) -> bool {
        let scenario = &self.complete.scenario;
        scenario.failure_domain == Domain::Rack || (scenario.disks_per_server > 1 && self.is_crush())
    }

    fn empty(&self, found: Found, homes: Option<Box<dyn Homes>>) -> Affected {
        let width = self.complete.redundancy.width as usize;
        let length = (width + self.failing_servers() + 1).min(self.hardware.servers() as usize);
        let first_object = if self.complete.scenario.groups.is_some() { vec![0] } else { Vec::new() };
        let redundancy = self.complete.redundancy;
        let by_place = found != Found::Drawn && self.has_levels() && redundancy.data > 1;
        Affected {
            width,
            kinds: vec![Kind { redundancy, min_size: redundancy.min_size(), by_place }],
            kind_of: Vec::new(),
            lists: Vec::new(),
            length: if homes.is_some() { width } else { length },
            homes,
            keys: Vec::new(),
            grouped: !first_object.is_empty(),
            first_object,
            sizes: Vec::new(),
            numbers: Vec::new(),
            found,
            asked: 0,
        }
    }

    fn failing_servers(&self) -> usize {
        (0..self.hardware.servers()).filter(|&server| self.fails(server)).count()
    }

    fn fails(&self, server: u32) -> bool {
        self.hardware.devices_of(server).any(|device| self.failing[device.index()])
    }

    fn shard(&self, id: u64) -> u64 {
        self.population.object(id).size.get().div_ceil(u64::from(self.complete.redundancy.data))
    }

    /// The devices of a key, by an algorithm that names servers.
    fn on_servers(
        &self,
        placement: &dyn towtank_placement::algorithms::Placement,
        key: u64,
        servers: &mut Vec<ServerId>,
        list: &mut [DeviceId],
    ) {
        servers.clear();
        servers.resize(list.len(), ServerId::NONE);
        let found = placement.lookup(key, servers);
        list.fill(NOWHERE);
        for (place, server) in list.iter_mut().zip(&servers[..found]) {
            *place = disk_of(self.hardware, server.0, key);
        }
    }

    fn touches(&self, devices: &[DeviceId], width: usize) -> bool {
        devices.iter().take(width).any(|device| *device != NOWHERE && self.failing[device.index()])
    }

    fn by_groups(
        &self,
        groups: u32,
        place: &Place<'_>,
        homes: Option<Box<dyn Homes>>,
        context: &RunContext<'_>,
    ) -> Option<Affected> {
        let mut affected = self.empty(Found::ByInverse, homes);
        let mut list = vec![NOWHERE; affected.length];
        for group in 0..u64::from(groups) {
            if context.stopped() {
                return None;
            }
            let key = towtank_placement::algorithms::hashing::scatter(group ^ mix(self.seed.0, 77));
            place(key, &mut list);
            if self.touches(&list, affected.width) {
                let ids = self.population.ids_in_residue(group, u64::from(groups));
                if affected.homes.is_some() {
                    affected.keys.push(key);
                }
                affected.push_group(group, &list, ids.map(|id| self.shard(id)));
            }
        }
        affected.asked = u64::from(groups);
        Some(affected)
    }

    fn by_asking(
        &self,
        place: &Place<'_>,
        homes: Option<Box<dyn Homes>>,
        context: &RunContext<'_>,
    ) -> Option<Affected> {
        let mut affected = self.empty(Found::ByAsking, homes);
        let mut list = vec![NOWHERE; affected.length];
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
    fn ask(&self, id: u64, place: &Place<'_>, list: &mut [DeviceId], affected: &mut Affected) {
        let key = self.population.key(id);
        place(key, list);
        if self.touches(list, affected.width) {
            if affected.homes.is_some() {
                affected.keys.push(key);
            }
            affected.push_object(id, list, self.shard(id));
        }
    }

    fn by_inverse(
        &self,
        (placement, place): (&dyn towtank_placement::algorithms::Placement, &Place<'_>),
        homes: Option<Box<dyn Homes>>,
        context: &RunContext<'_>,
    ) -> Option<Affected> {
        let mut affected = self.empty(Found::ByInverse, homes);
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
        let mut list = vec![NOWHERE; length];
        for id in ids {
            self.ask(id, place, &mut list, &mut affected);
        }
        Some(affected)
    }

    fn by_map(&self, context: &RunContext<'_>) -> Option<Affected> {
        let map = MapPlaces::new(self.complete, self.hardware);
        let homes = Some(Box::new(map.clone()) as Box<dyn Homes>);
        let asked = map.asked(&[]);
        let place = |key: u64, list: &mut [DeviceId]| asked.devices(key, list);
        match self.complete.scenario.groups {
            Some(groups) => self.by_groups(groups, &place, homes, context),
            None => self.by_asking(&place, homes, context),
        }
    }

    /// The distribution of the lists of servers.
    fn shares(&self) -> Shares {
        let servers = self.hardware.servers();
        let weights = match self.complete.scenario.placement {
            // The ring is of servers, or of hosts where these hold several disks.
            Placement::CrushVring if self.has_levels() => {
                vring::shares_of(&(0..servers).map(|server| host_id(0, server)).collect::<Vec<_>>())
            }
            Placement::CrushVring => vring::equal_shares(servers),
            _ => vec![1.0; servers as usize],
        };
        let failing: Vec<bool> = (0..servers).map(|server| self.fails(server)).collect();
        Shares::new(&weights, &failing, self.complete.redundancy.width as usize)
    }

    fn drawn(&self, context: &RunContext<'_>) -> Option<Affected> {
        let shares = self.shares();
        let homes = (self.complete.scenario.disks_per_server > 1).then(|| {
            let onward = if self.is_crush() { Onward::HostsAndDisks } else { Onward::Servers };
            let (shares, hardware, seed) = (shares.clone(), self.hardware.clone(), self.seed);
            let spare = self.failing_servers() + 1;
            Box::new(DrawnPlaces { shares, hardware, seed, spare, onward }) as Box<dyn Homes>
        });
        let mut affected = self.empty(Found::Drawn, homes);
        let (mut list, mut devices) = (vec![0u32; affected.length], vec![NOWHERE; affected.length]);
        for (at, id) in self.population.thin(shares.candidates(), THIN).enumerate() {
            if at % 1_024 == 0 && context.stopped() {
                return None;
            }
            affected.asked += 1;
            if !shares.draw(&mut list, &mut draws_of(self.seed, id).of(LIST)) {
                continue;
            }
            for (device, &server) in devices.iter_mut().zip(&list) {
                *device = disk_of(self.hardware, server, id);
            }
            if self.touches(&devices, affected.width) {
                affected.push_object(id, &devices, self.shard(id));
            }
        }
        Some(affected)
    }
}
