//! Placement by a CRUSH map with more than one level: the map, with the failed devices out, gives the new
//! homes.
//!
//! A cluster of racks has a level of racks, and one with several disks per server has hosts with disks, as in
//! Ceph. A rule takes each copy from another failure domain and descends to a disk (`chooseleaf`), with the
//! jewel tunables. So when a disk is out, CRUSH tries again from the top and may reach the same host and
//! choose another disk of it.
//!
//! The groups of a numbered pool are placed on servers of one disk as Ceph places them on devices of equal
//! weight: CRUSH's input is the pool's, and straw2 draws by the numbers of the devices alone.

use std::cell::RefCell;

use towtank_placement::algorithms::hashing;
use towtank_placement::crush::pools::Pool;
use towtank_placement::crush::{
    Alg, Ask, Bucket, BucketSpec, Map, Mapper, Mode, NONE, Rule, RuleKind, Step, Tunables, Workspace,
};

use crate::hardware::Hardware;
use crate::homes::{Homes, Wanted};
use crate::placing::{Domain, Placing};
use crate::plan::{DeviceId, NOWHERE};

/// A map whose devices are disks.
#[derive(Clone, Debug)]
pub struct MapPlaces {
    mapper: Mapper,
    devices: usize,
    /// Whether keys are CRUSH's inputs.
    inputs: bool,
}

/// The map with some devices out, ready for lookups.
pub struct Asked<'a> {
    mapper: &'a Mapper,
    inputs: bool,
    weights: Vec<u32>,
    /// Scratch space of a mapping; lookups take turns.
    workspace: RefCell<(Workspace, Vec<i32>)>,
}

impl Homes for MapPlaces {
    fn with_out<'a>(&'a self, _: usize, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        Box::new(self.asked(out))
    }
}

impl Wanted for Asked<'_> {
    fn find(&mut self, (_, key): (u64, u64), devices: &mut [DeviceId]) {
        self.devices(key, devices);
    }
}

/// The weight of a device that is in, in 16.16 fixed point.
const IN: u32 = 0x1_0000;

/// The largest total weight of all devices of a map, so that sums fit in 32 bits.
const WEIGHT_MAX: u32 = 1 << 31;

/// CRUSH's input for a group of a replicated pool of Ceph.
#[must_use]
pub fn input(pool: u32, group: u32, groups: u32) -> u32 {
    let (pg_num, pgp_num) = (groups, groups);
    let id = i64::from(pool);
    Pool { id, kind: RuleKind::Replicated, size: 0, rule: 0, pg_num, pgp_num, hashpspool: true }.input(group)
}

/// Whether the root holds disks.
fn is_flat(placing: &Placing, hardware: &Hardware) -> bool {
    placing.domain == Domain::Server && hardware.devices() == hardware.servers()
}

/// The bucket id of a rack.
fn rack_id(rack: u32) -> i32 {
    -2 - rack.cast_signed()
}

/// The bucket id of a server, where servers have several disks.
#[must_use]
pub(crate) fn host_id(racks: u32, server: u32) -> i32 {
    -2 - (racks + server).cast_signed()
}

/// The items of a bucket and their weights.
type Members = (Vec<i32>, Vec<u32>);

impl MapPlaces {
    /// The map for one of CRUSH's algorithms.
    ///
    /// # Panics
    /// Never: such a map is legal.
    #[must_use]
    pub fn new(placing: &Placing, hardware: &Hardware) -> MapPlaces {
        let mut map = tree(placing, hardware);
        let by_place = placing.redundancy.data > 1;
        let (mode, kind) =
            if by_place { (Mode::Indep, RuleKind::Erasure) } else { (Mode::Firstn, RuleKind::Replicated) };
        let kind_of_domain = if is_flat(placing, hardware) { 0 } else { i32::from(DOMAIN) };
        let choose = Step::Choose { mode, leaf: true, count: 0, kind: kind_of_domain };
        let steps = vec![Step::Take(-1), choose, Step::Emit];
        map.rules.push(Some(Rule { ruleset: 0, kind, min_size: 1, max_size: u8::MAX, steps }));
        map.finalize();
        let mapper = map.compile().expect("racks of servers of disks are a legal map");
        MapPlaces { mapper, devices: hardware.devices() as usize, inputs: placing.pool.is_some() }
    }

    /// The map with some devices out; devices beyond the end of `out` are in.
    #[must_use]
    pub fn asked(&self, out: &[bool]) -> Asked<'_> {
        assert!(out.len() <= self.devices, "{} devices are out or in, of {}", out.len(), self.devices);
        let of = |device: usize| if out.get(device).copied().unwrap_or(false) { 0 } else { IN };
        let weights = (0..self.devices).map(of).collect();
        Asked { mapper: &self.mapper, inputs: self.inputs, weights, workspace: RefCell::default() }
    }
}

impl Asked<'_> {
    /// Writes the devices of a key. Places without a device hold [`NOWHERE`].
    pub fn devices(&self, key: u64, devices: &mut [DeviceId]) {
        devices.fill(NOWHERE);
        let mut guard = self.workspace.borrow_mut();
        let (workspace, found) = &mut *guard;
        let x = if self.inputs { key } else { hashing::scatter(key) } as u32;
        let weights = &self.weights[..];
        let ask = Ask { rule: 0, x, result_max: devices.len(), weights, pool: 0 };
        self.mapper.do_rule(ask, workspace, found);
        debug_assert!(found.len() <= devices.len(), "{} places of {}", found.len(), devices.len());
        for (place, &item) in devices.iter_mut().zip(found.iter()).filter(|(_, item)| **item != NONE) {
            debug_assert!(
                (0..weights.len() as i32).contains(&item),
                "key {key} lies on item {item}, no disk"
            );
            *place = DeviceId(item.cast_unsigned());
        }
    }
}

/// Bucket types: the failure domain (the lowest level that copies must not share) and the level between it
/// and the disks.
const DOMAIN: u16 = 2;
const BELOW: u16 = 1;
const ROOT: u16 = 3;

/// Builds the map: servers as hosts where they have several disks, racks where copies lie in different racks,
/// and the root.
fn tree(placing: &Placing, hardware: &Hardware) -> Map {
    let top = placing.algorithm.bucket().unwrap_or(Alg::Straw2);
    let alg = if top == Alg::Vring { Alg::Straw2 } else { top };
    let by_rack = placing.domain == Domain::Rack;
    let racks = if by_rack { hardware.racks() } else { 0 };
    let one = IN.min(WEIGHT_MAX / hardware.devices().max(1));
    let several = hardware.devices() > hardware.servers();
    let mut map = Map { tunables: Tunables::JEWEL, ..Map::default() };
    let mut add = |id: i32, kind: u16, alg: Alg, (items, weights): Members| {
        let weight = weights.iter().sum();
        let bucket = Bucket::new(BucketSpec::new(id, kind, alg), items, weights).expect("sums are bounded");
        map.add_bucket(bucket).expect("each bucket has its own id");
        (id, weight)
    };
    let mut server_of = |server: u32| {
        let disks: Members = hardware.devices_of(server).map(|device| (device.0.cast_signed(), one)).unzip();
        if several {
            add(host_id(racks, server), if by_rack { BELOW } else { DOMAIN }, alg, disks)
        } else {
            (disks.0[0], one)
        }
    };
    let servers: Vec<(i32, u32)> = (0..hardware.servers()).map(&mut server_of).collect();
    let domains: Members = if by_rack {
        let of = |rack: u32| (0..hardware.servers()).filter(move |&server| hardware.rack_of(server) == rack);
        let members = |rack: u32| of(rack).map(|server| servers[server as usize]).unzip();
        (0..racks).map(|rack| add(rack_id(rack), DOMAIN, alg, members(rack))).unzip()
    } else {
        servers.into_iter().unzip()
    };
    add(-1, ROOT, top, domains);
    map
}
