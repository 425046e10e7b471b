//! The search for affected objects: by the placement's inverse where there is one (groups, rings), by
//! computing the placement of every object, or drawn from the exact distribution ([`Shares`]).

use std::cell::RefCell;
use std::sync::Arc;

use towtank_placement::algorithms::{
    Algorithm, Arrangement, Cluster, GROUPS_USUAL, KeyRun, KeySpace, Maglev, Placement, ServerId, SetupError,
    Territory, Touching, hashing,
};
use towtank_placement::crush::vring;
use towtank_population::Population;
use towtank_streams::{Purpose, Seed, mix};

use crate::affected::{Affected, Found, Held, Kind};
use crate::hardware::Hardware;
use crate::homes::Homes;
use crate::map_places::{self, MapPlaces, host_id};
use crate::placing::{Domain, LostSet, Placing};
use crate::plan::{DeviceId, NOWHERE};
use crate::server_places::{DrawnPlaces, LIST, Onward, ServerPlaces, disk_of, draws_of};
use crate::shares::Shares;

/// The most objects whose placement is computed one by one unless the user asks for it: CRUSH takes
/// microseconds per object.
const ASKED_MAX: u64 = 100_000;

const THIN: Purpose = Purpose(41);

/// The question: which records do failures of these devices touch?
pub struct Search<'a> {
    /// How objects are placed on disks.
    pub placing: &'a Placing,
    /// The machines.
    pub hardware: &'a Hardware,
    /// The data.
    pub population: &'a Population,
    /// For each device, whether it fails at any time in the run.
    pub failing: &'a [bool],
    /// The replicate's seed.
    pub seed: Seed,
    /// Whether the user has stopped the search, which then ends early without a result.
    pub stopped: &'a dyn Fn() -> bool,
}

/// Writes the devices of a key in order; places without a device hold [`NOWHERE`].
type Place<'a> = dyn Fn(u64, &mut [DeviceId]) + 'a;

impl Search<'_> {
    /// Runs the search; none if the user stopped it.
    ///
    /// # Errors
    /// If the placement does not support such a cluster.
    ///
    /// # Panics
    /// If there is not one entry per device, or a record was found that is not affected.
    pub fn run(&self) -> Result<Option<Affected>, SetupError> {
        assert_eq!(self.failing.len(), self.hardware.devices() as usize, "each device fails or does not");
        if self.placing.domain == Domain::Disk {
            // A placement over disks is one over servers of one disk each.
            let placing = &Placing { domain: Domain::Server, ..*self.placing };
            return Search { placing, hardware: &self.hardware.with_disks_apart(), ..*self }.run();
        }
        let found = self.find()?;
        if let Some(affected) = &found {
            affected.assert_whole();
            let missed =
                (0..affected.records()).find(|&record| !self.touches(affected.list(record), affected.width));
            assert_eq!(missed, None, "a record was found that lies on nothing that fails");
            assert!(
                affected.asked <= self.population.objects().max(self.placing.groups.map_or(0, u64::from)),
                "{} were asked, more than there are",
                affected.asked
            );
        }
        Ok(found)
    }

    fn find(&self) -> Result<Option<Affected>, SetupError> {
        let placing = self.placing;
        let by_draws = self.is_crush() || placing.algorithm == Algorithm::Rendezvous;
        let many = self.population.objects() > ASKED_MAX;
        let draw = placing.groups.is_none()
            && placing.domain == Domain::Server
            && by_draws
            && (placing.lost_set == LostSet::Draw || (many && placing.lost_set == LostSet::Auto));
        if draw {
            return Ok(self.drawn());
        }
        if self.has_levels() || placing.pool.is_some() {
            return Ok(self.by_map());
        }
        let arrangement = Arrangement {
            vnodes: placing.vnodes,
            groups: placing.groups.unwrap_or(GROUPS_USUAL),
            // Servers only fail here, and keep their slots.
            slots: Maglev::slots_for(self.hardware.servers()),
            replicas: self.placing.redundancy.width as usize,
            seed: mix(self.seed.0, 0x6a09_e667_f3bc_c909) as u32,
        };
        let placement = placing.algorithm.set_up(&Cluster::equal(self.hardware.servers()), &arrangement)?;
        let placement: Arc<dyn Placement> = Arc::from(placement);
        let scratch = RefCell::new(Vec::new());
        let place = |key: u64, list: &mut [DeviceId]| {
            self.on_servers(&*placement, key, &mut scratch.borrow_mut(), list)
        };
        let homes = (self.has_several_disks()).then(|| {
            let (hardware, spare) = (self.hardware.clone(), self.failing_servers() + 1);
            Arc::new(ServerPlaces { placement: Arc::clone(&placement), hardware, spare }) as Arc<dyn Homes>
        });
        if let Some(groups) = placing.groups {
            return Ok(self.by_groups(groups, &place, homes));
        }
        let none = Touching { server: ServerId(0), replicas: 0 };
        let rings = matches!(placing.algorithm, Algorithm::Ring | Algorithm::Multiring);
        let inverse = rings
            && placing.lost_set == LostSet::Auto
            && matches!(
                placement.territory(none, &mut |_| ()),
                Territory::Exact(KeySpace::AsGiven) | Territory::Superset(KeySpace::AsGiven)
            );
        if inverse {
            return Ok(self.by_inverse((&*placement, &place), homes));
        }
        Ok(self.by_asking(&place, homes))
    }

    fn is_crush(&self) -> bool {
        self.placing.algorithm.bucket().is_some()
    }

    fn has_several_disks(&self) -> bool {
        self.hardware.devices() > self.hardware.servers()
    }

    /// Whether objects are placed by a CRUSH map of more than one level.
    fn has_levels(&self) -> bool {
        self.placing.domain == Domain::Rack || (self.has_several_disks() && self.is_crush())
    }

    /// The key of a group.
    fn group_key(&self, group: u64, groups: u32) -> u64 {
        let Some(pool) = self.placing.pool else {
            return hashing::scatter(group ^ mix(self.seed.0, 77));
        };
        u64::from(map_places::input(pool, group as u32, groups))
    }

    fn empty(&self, found: Found, homes: Option<Arc<dyn Homes>>) -> Affected {
        let width = self.placing.redundancy.width as usize;
        let length = (width + self.failing_servers() + 1).min(self.hardware.servers() as usize);
        let first_object = if self.placing.groups.is_some() { vec![0] } else { Vec::new() };
        let redundancy = self.placing.redundancy;
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
            follows: false,
            held: None,
            all: Vec::new(),
            counted: None,
            copied: std::collections::BTreeMap::new(),
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
        debug_assert!(id < self.population.objects(), "object {id} is none of the data");
        self.population.object(id).size.get().div_ceil(u64::from(self.placing.redundancy.data))
    }

    /// The devices of a key, by an algorithm that places on servers.
    fn on_servers(
        &self,
        placement: &dyn Placement,
        key: u64,
        servers: &mut Vec<ServerId>,
        list: &mut [DeviceId],
    ) {
        servers.clear();
        servers.resize(list.len(), ServerId::NONE);
        let found = placement.lookup(key, servers);
        debug_assert!(found <= list.len(), "key {key} has {found} servers of {}", list.len());
        list.fill(NOWHERE);
        for (place, server) in list.iter_mut().zip(&servers[..found]) {
            *place = disk_of(self.hardware, server.0, key);
        }
    }

    fn touches(&self, devices: &[DeviceId], width: usize) -> bool {
        devices.iter().take(width).any(|device| *device != NOWHERE && self.failing[device.index()])
    }

    fn by_groups(&self, groups: u32, place: &Place<'_>, homes: Option<Arc<dyn Homes>>) -> Option<Affected> {
        let mut affected = self.empty(Found::ByInverse, homes);
        let mut list = vec![NOWHERE; affected.length];
        let mut held = Held::Groups(self.none_held());
        for group in 0..u64::from(groups) {
            if (self.stopped)() {
                return None;
            }
            let key = self.group_key(group, groups);
            place(key, &mut list);
            held.add(&list[..affected.width], || 0);
            if self.touches(&list, affected.width) {
                let ids = self.population.ids_in_residue(group, u64::from(groups));
                if affected.homes.is_some() {
                    affected.keys.push(key);
                }
                affected.push_group(group, &list, ids.map(|id| self.shard(id)));
            }
        }
        affected.asked = u64::from(groups);
        affected.held = Some(held);
        Some(affected)
    }

    fn by_asking(&self, place: &Place<'_>, homes: Option<Arc<dyn Homes>>) -> Option<Affected> {
        let mut affected = self.empty(Found::ByAsking, homes);
        let mut list = vec![NOWHERE; affected.length];
        let mut held = Held::Bytes(self.none_held());
        for id in 0..self.population.objects() {
            if id % 1_024 == 0 && (self.stopped)() {
                return None;
            }
            self.ask(id, place, &mut list, &mut affected);
            held.add(&list[..affected.width], || self.shard(id));
        }
        affected.asked = self.population.objects();
        affected.held = Some(held);
        Some(affected)
    }

    fn none_held(&self) -> Vec<u64> {
        vec![0; self.hardware.devices() as usize]
    }

    /// Adds an object if it is affected.
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
        (placement, place): (&dyn Placement, &Place<'_>),
        homes: Option<Arc<dyn Homes>>,
    ) -> Option<Affected> {
        let mut affected = self.empty(Found::ByInverse, homes);
        let (width, length) = (affected.width, affected.length);
        let mut ids = Vec::new();
        for server in (0..self.hardware.servers()).filter(|&server| self.fails(server)) {
            let mut visit = |run: KeyRun| {
                if (self.stopped)() {
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
        if (self.stopped)() {
            return None;
        }
        ids.sort_unstable();
        ids.dedup();
        let end = self.population.objects();
        assert!(ids.last().is_none_or(|&id| id < end), "an object was found beyond the {end} there are");
        affected.asked = ids.len() as u64;
        let mut list = vec![NOWHERE; length];
        for id in ids {
            self.ask(id, place, &mut list, &mut affected);
        }
        Some(affected)
    }

    fn by_map(&self) -> Option<Affected> {
        let map = MapPlaces::new(self.placing, self.hardware);
        let homes = Some(Arc::new(map.clone()) as Arc<dyn Homes>);
        let asked = map.asked(&[]);
        let place = |key: u64, list: &mut [DeviceId]| asked.devices(key, list);
        match self.placing.groups {
            Some(groups) => self.by_groups(groups, &place, homes),
            None => self.by_asking(&place, homes),
        }
    }

    /// The distribution of lists of servers.
    fn shares(&self) -> Shares {
        let servers = self.hardware.servers();
        let weights = match self.placing.algorithm {
            // The ring contains servers, or hosts where servers have several disks.
            Algorithm::CrushVring if self.has_levels() => {
                vring::shares_of(&(0..servers).map(|server| host_id(0, server)).collect::<Vec<_>>())
            }
            Algorithm::CrushVring => vring::equal_shares(servers),
            _ => vec![1.0; servers as usize],
        };
        let failing: Vec<bool> = (0..servers).map(|server| self.fails(server)).collect();
        assert_eq!(weights.len(), servers as usize, "servers with a share, and servers");
        Shares::new(&weights, &failing, self.placing.redundancy.width as usize)
    }

    fn drawn(&self) -> Option<Affected> {
        let shares = self.shares();
        let homes = (self.has_several_disks()).then(|| {
            let onward = if self.is_crush() { Onward::HostsAndDisks } else { Onward::Servers };
            let (shares, hardware, seed) = (shares.clone(), self.hardware.clone(), self.seed);
            let spare = self.failing_servers() + 1;
            Arc::new(DrawnPlaces { shares, hardware, seed, spare, onward }) as Arc<dyn Homes>
        });
        let mut affected = self.empty(Found::Drawn, homes);
        let (mut list, mut devices) = (vec![0u32; affected.length], vec![NOWHERE; affected.length]);
        for (at, id) in self.population.thin(shares.candidates(), THIN).enumerate() {
            if at % 1_024 == 0 && (self.stopped)() {
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

#[cfg(test)]
mod tests;
