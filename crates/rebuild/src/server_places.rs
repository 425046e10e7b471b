//! New homes where servers have several disks and placement names servers, or lists were drawn.
//!
//! An algorithm other than CRUSH knows only servers. A server with one disk out keeps its objects, and
//! another of its disks takes them; a server is passed over only if all its disks are out.
//!
//! CRUSH tries host after host, each time with one of its disks, until it has enough. The draws do not depend
//! on which devices are out, so only what was on these moves. Where the affected objects are drawn from the
//! distribution ([`Shares`]), these draws are imitated: each finds a host by its share and any of its disks,
//! and is rejected if the host is already in the list or the disk is out.

use std::sync::Arc;

use towtank_placement::algorithms::{Placement, ServerId};
use towtank_streams::{Draws, Purpose, Seed, Uniform, mix};

use crate::hardware::Hardware;
use crate::homes::{Homes, Wanted};
use crate::plan::{DeviceId, NOWHERE};
use crate::shares::Shares;

/// The disk of a server that holds an object when nothing is out.
#[inline]
#[must_use]
pub(crate) fn disk_of(hardware: &Hardware, server: u32, key: u64) -> DeviceId {
    let mut devices = hardware.devices_of(server);
    let count = devices.len() as u64;
    if count == 1 {
        return devices.next().unwrap_or(NOWHERE);
    }
    let word = mix(key ^ 0x3c6e_f372_fe94_f82b, u64::from(server) ^ 0xa54f_f53a_5f1d_36f1);
    let at = (u128::from(word) * u128::from(count)) >> 64;
    devices.nth(at as usize).unwrap_or(NOWHERE)
}

/// The disk of a server that holds an object with some disks out: the first choice, or else the best of the
/// disks that are in, by a hash of disk and object, so that the objects of a lost disk spread over all
/// others. [`NOWHERE`] if all are out.
#[must_use]
fn disk_in(hardware: &Hardware, server: u32, key: u64, out: &[bool]) -> DeviceId {
    let first = disk_of(hardware, server, key);
    if !out[first.index()] {
        return first;
    }
    // Mixed twice: products of one key with consecutive numbers are correlated, and the one with 0 is 0.
    let score = |device: &DeviceId| {
        let product = mix(key ^ 0x9b05_688c_2b3e_6c1f, u64::from(device.0) ^ 0xa54f_f53a_5f1d_36f1);
        mix(product, 0x6a09_e667_f3bc_c909)
    };
    let live = hardware.devices_of(server).filter(|device| !out[device.index()]);
    live.max_by_key(score).unwrap_or(NOWHERE)
}

/// Fills `devices` with one disk per server in turn, skipping servers without one.
fn fill(
    hardware: &Hardware,
    servers: impl Iterator<Item = u32>,
    key: u64,
    out: &[bool],
    devices: &mut [DeviceId],
) {
    devices.fill(NOWHERE);
    let found = servers.map(|server| disk_in(hardware, server, key, out)).filter(|disk| *disk != NOWHERE);
    for (place, disk) in devices.iter_mut().zip(found) {
        *place = disk;
    }
}

/// Homes by an algorithm that places on servers.
#[derive(Debug)]
pub(crate) struct ServerPlaces {
    /// The algorithm.
    pub placement: Arc<dyn Placement>,
    /// The machines.
    pub hardware: Hardware,
    /// How many servers may lose all their disks.
    pub spare: usize,
}

struct ServersAsked<'a> {
    places: &'a ServerPlaces,
    out: &'a [bool],
    servers: Vec<ServerId>,
}

impl Homes for ServerPlaces {
    fn with_out<'a>(&'a self, _: usize, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        Box::new(ServersAsked { places: self, out, servers: Vec::new() })
    }
}

impl Wanted for ServersAsked<'_> {
    fn find(&mut self, (_, key): (u64, u64), devices: &mut [DeviceId]) {
        let hardware = &self.places.hardware;
        let servers = &mut self.servers;
        let length = (devices.len() + self.places.spare).min(hardware.servers() as usize);
        servers.clear();
        servers.resize(length, ServerId::NONE);
        let found = self.places.placement.lookup(key, servers);
        debug_assert!(found <= length, "{found} servers were found of {length} asked for");
        let servers = servers[..found].iter().map(|server| server.0);
        fill(hardware, servers, key, self.out, devices);
    }
}

/// How a drawn list of servers is extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// By more servers of the list; a server is passed over if all its disks are out.
    Servers,
    /// By more draws of CRUSH, each for a host and one of its disks.
    HostsAndDisks,
}

/// Homes of objects whose lists were drawn: the same lists are drawn again, and extended.
#[derive(Debug)]
pub struct DrawnPlaces {
    /// The distribution of lists.
    pub shares: Shares,
    /// The machines.
    pub hardware: Hardware,
    /// The replicate's seed.
    pub seed: Seed,
    /// How many servers may lose all their disks.
    pub spare: usize,
    /// How the list is extended.
    pub onward: Onward,
}

/// Purpose of the draws of an object's list.
pub const LIST: Purpose = Purpose(42);
const RETRIES: Purpose = Purpose(46);

/// `choose_total_tries` of the jewel tunables; a place rejected this often stays empty.
const RETRIES_MAX: usize = 50;

/// The random draws of an object.
#[must_use]
pub(crate) fn draws_of(seed: Seed, id: u64) -> Draws {
    Draws::new(seed, u32::MAX - 1, id)
}

struct DrawnAsked<'a> {
    places: &'a DrawnPlaces,
    out: &'a [bool],
    list: Vec<u32>,
}

impl Homes for DrawnPlaces {
    fn with_out<'a>(&'a self, _: usize, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        Box::new(DrawnAsked { places: self, out, list: Vec::new() })
    }
}

impl Wanted for DrawnAsked<'_> {
    fn find(&mut self, (id, _): (u64, u64), devices: &mut [DeviceId]) {
        let places = self.places;
        let spare = if places.onward == Onward::Servers { places.spare } else { 0 };
        let length = (devices.len() + spare).min(places.hardware.servers() as usize);
        self.list.clear();
        self.list.resize(length, 0);
        // The first servers of a list do not depend on its length.
        if !places.shares.draw(&mut self.list, &mut draws_of(places.seed, id).of(LIST)) {
            devices.fill(NOWHERE);
            return;
        }
        match places.onward {
            Onward::Servers => fill(&places.hardware, self.list.iter().copied(), id, self.out, devices),
            Onward::HostsAndDisks => places.retry(id, &self.list, self.out, devices),
        }
    }
}

impl DrawnPlaces {
    /// Repeats CRUSH's draws in order: those of `list`, between them those that hit a host already in the
    /// list, and then any others. The first draws that are not rejected now are the homes.
    fn retry(&self, id: u64, list: &[u32], out: &[bool], devices: &mut [DeviceId]) {
        devices.fill(NOWHERE);
        let mut draws = draws_of(self.seed, id);
        let mut draws = draws.of(RETRIES);
        let (mut listed, mut taken) = (0, Vec::with_capacity(list.len()));
        let mut drawn = 0;
        while taken.len() < devices.len() && drawn <= taken.len() + RETRIES_MAX {
            let again = listed == list.len() || draws.unit_f64() < self.shares.sum(&list[..listed]);
            let (server, disk) = if again {
                let among = (listed < list.len()).then_some(&list[..listed]);
                let server = self.shares.one(among, &mut draws);
                let mut disks = self.hardware.devices_of(server);
                let at = draws.below(disks.len() as u64);
                (server, disks.nth(at as usize).unwrap_or(NOWHERE))
            } else {
                listed += 1;
                (list[listed - 1], disk_of(&self.hardware, list[listed - 1], id))
            };
            drawn += 1;
            debug_assert!(self.hardware.server_of(disk) == server, "a disk of server {server} is elsewhere");
            if !taken.contains(&server) && !out[disk.index()] {
                devices[taken.len()] = disk;
                taken.push(server);
            }
        }
        debug_assert!(drawn <= devices.len() + RETRIES_MAX, "{drawn} draws were made");
        debug_assert!(listed <= list.len(), "{listed} servers of a list of {}", list.len());
    }
}

#[cfg(test)]
mod tests;
