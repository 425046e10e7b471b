//! A cluster from a ring of OpenStack Swift: its machines and partitions, in place of generated ones.
//!
//! Devices of one address are the disks of a server, and zones are racks. Partitions are groups, all of the
//! same share of the data. What a ring does not have comes from the scenario: the amount of data, the
//! objects, and the speeds. `failing` finds what the user names.
//!
//! Left out: weights, which the rows already follow; the account and container rings beside this one; EC
//! policies, whose ring does not say the code.

mod failing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towtank_imports::swift::read_ring;
use towtank_placement::swift::{Device, Ring};
use towtank_population::Population;
use towtank_rebuild::failures::{Failing, Failure, Struck};
use towtank_rebuild::hardware::{Layout, Names};
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_rebuild::recovery::{Later, Waiting};
use towtank_rebuild::redundancy::Redundancy;
use towtank_rebuild::ring_places::{Mapped, RingPlaces};
use towtank_report::Warning;
use towtank_scenario::{Draft, Problems};
use towtank_units::SimTime;

pub(super) use self::failing::named;
use super::scenario::Scenario;
use towtank_study::files::Reader;

/// Keys of a generated cluster; a ring has these properties.
pub(super) const GENERATED: [&str; 12] = [
    "servers",
    "racks",
    "disks_per_server",
    "placement",
    "vnodes",
    "groups",
    "groups_per_server",
    "failure_domain",
    "replicas",
    "ec",
    "pool",
    "lost_set",
];

/// The most copies of a partition, that of the key `replicas`.
const COPIES_MAX: usize = 16;
/// The most servers, that of the key `servers`.
const SERVERS_MAX: usize = 16_384;

/// A ring with its machines, and the ring that follows, if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rings {
    /// Where partitions are.
    pub places: RingPlaces,
    /// The machines of both rings.
    pub layout: Layout,
    /// Their names.
    pub names: Names,
    /// For each disk, how many partitions it has before the failures.
    pub held: Vec<u64>,
    /// The number of servers of the ring before the failures.
    pub servers: u32,
    /// What was noticed about the files.
    pub notes: Vec<Warning>,
    disks: Vec<Disk>,
}

/// A device of either ring, in the order of the machines: those of a server follow each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Disk {
    region: u32,
    zone: u32,
    ip: String,
    id: u32,
    name: String,
}

impl Disk {
    fn of(id: u32, device: &Device) -> Disk {
        let Device { region, zone, ip, name } = device.clone();
        Disk { region, zone, ip, id, name }
    }

    fn server(&self) -> (u32, u32, &str) {
        (self.region, self.zone, &self.ip)
    }
}

fn disks_of(ring: &Ring) -> impl Iterator<Item = Disk> + '_ {
    (0u32..).zip(ring.devices()).filter_map(|(id, device)| Some(Disk::of(id, device.as_ref()?)))
}

fn mapped(ring: Ring, disks: &[Disk]) -> Mapped {
    let find = |(id, device): (u32, &Option<Device>)| {
        let disk = Disk::of(id, device.as_ref()?);
        disks.binary_search(&disk).ok().map(|at| DeviceId(at as u32))
    };
    let found = (0u32..).zip(ring.devices()).map(|device| find(device).unwrap_or(NOWHERE)).collect();
    Mapped { ring: Arc::new(ring), disks: found }
}

/// Reads the rings that a scenario names; none if it names none.
///
/// # Errors
/// Each problem with its place in `draft`.
pub(super) fn read(scenario: &Scenario, draft: &Draft) -> Result<Option<Arc<Rings>>, Problems> {
    let mut problems = Problems::new();
    if scenario.ring.is_none() {
        if scenario.ring_after.is_some() {
            let message = "`ring_after` is set, but the ring before the failure is missing";
            problems.refuse(draft, "ring_after", message, "name that ring too: ring = \"FILE\"");
        }
        return problems.into_result(None);
    }
    if scenario.ring_after.is_some() && scenario.replace.is_some() {
        let message = "`replace` keeps what failed in the ring, but `ring_after` moves its data";
        problems.refuse(draft, "replace", message, "leave one of them out");
    }
    for key in GENERATED.into_iter().filter(|key| draft.says(key)) {
        let message = format!("`{key}` describes a generated cluster, but `ring` names a ring of Swift");
        let hint = "leave it out: servers, disks and partitions are those of the ring; or leave out `ring`";
        problems.refuse(draft, key, message, hint);
    }
    let mut notes = Vec::new();
    let mut read = |key: &str| {
        let mut reader = Reader { draft, warnings: &mut notes, problems: &mut problems };
        reader.read(key, read_ring).map(|ring| ring.value)
    };
    let before = read("ring");
    let named = scenario.ring_after.is_some();
    let after = if named { read("ring_after") } else { None };
    let read = before.filter(|_| !named || after.is_some());
    let rings = read.and_then(|before| Rings::new(before, after, notes, draft, &mut problems));
    problems.into_result(rings.map(Arc::new))
}

impl Rings {
    fn new(
        before: Ring,
        after: Option<Ring>,
        notes: Vec<Warning>,
        draft: &Draft,
        problems: &mut Problems,
    ) -> Option<Rings> {
        if before.rows() > COPIES_MAX {
            let message = format!("partitions have {} copies, but the limit is {COPIES_MAX}", before.rows());
            problems.refuse(draft, "ring", message, "use a ring with fewer replicas");
            return None;
        }
        if let Some(after) = &after
            && (after.partitions(), after.replicas()) != (before.partitions(), before.replicas())
        {
            let of = |ring: &Ring| format!("part power {}, {} replicas", ring.part_power(), ring.replicas());
            let message = format!(
                "`ring_after` has {}, but `ring` has {}, and such a change is not modelled",
                of(after),
                of(&before)
            );
            let hint = "use the ring that `swift-ring-builder` writes after `remove` and `rebalance`";
            problems.refuse(draft, "ring_after", message, hint);
            return None;
        }
        let servers =
            disks_of(&before).map(|disk| (disk.region, disk.zone, disk.ip)).collect::<BTreeSet<_>>();
        if !(2..=SERVERS_MAX).contains(&servers.len()) {
            let message =
                format!("the ring has {} servers, but 2 to {SERVERS_MAX} are supported", servers.len());
            let hint = "use a ring of more than one server: devices of one address are one server";
            problems.refuse(draft, "ring", message, hint);
            return None;
        }
        let all: BTreeSet<Disk> = disks_of(&before).chain(after.iter().flat_map(disks_of)).collect();
        let disks: Vec<Disk> = all.into_iter().collect();
        let after = after.map(|after| mapped(after, &disks));
        let places = RingPlaces::new(mapped(before, &disks), after);
        let held = places.held(disks.len());
        let (layout, names) = machines(&disks);
        Some(Rings { places, layout, names, held, servers: servers.len() as u32, notes, disks })
    }

    /// Copies of a partition, the most where their number is a fraction.
    pub(super) fn redundancy(&self) -> Redundancy {
        Redundancy { data: 1, width: self.places.before().ring.rows() as u32 }
    }

    /// Copies of all partitions together.
    #[must_use]
    pub(crate) fn copies(&self) -> u64 {
        self.held.iter().sum()
    }

    /// Bytes on each disk before the failures.
    #[must_use]
    pub(super) fn used(&self, population: &Population) -> Vec<u64> {
        let each = population.bytes_expected() / self.places.partitions() as f64;
        self.held.iter().map(|&held| (held as f64 * each) as u64).collect()
    }

    /// When the ring that follows is in place: once the last failure is given up.
    #[must_use]
    pub(super) fn later(&self, struck: &[Struck], waiting: Waiting) -> Later {
        let out = |struck: &Struck| {
            let at = SimTime::ZERO.saturating_add(struck.at);
            at.saturating_add(waiting.detection).saturating_add(waiting.down_out)
        };
        let last = struck.iter().map(out).max().filter(|_| !waiting.noout && self.places.after().is_some());
        Later { changes: last.into_iter().collect(), ..Later::NOTHING.clone() }
    }

    /// The expected share of partitions that failures touch or the ring that follows moves.
    pub(super) fn touched(&self, failures: &[Failure]) -> f64 {
        let (disks, servers) = (self.disks.len() as f64, f64::from(self.servers));
        let each = |failure: &Failure| match failure.what {
            Failing::Device(_) => 1.0 / disks,
            Failing::Server(_) => 1.0 / servers,
            Failing::Rack(_) => 1.0 / self.names.racks.len() as f64,
        };
        let rows = self.places.before().ring.rows() as f64;
        let failing = rows * failures.iter().map(each).sum::<f64>();
        let all = self.places.partitions();
        let moved = (0..all).filter(|&partition| self.places.moves(partition)).count();
        (failing + moved as f64 / all as f64).min(1.0)
    }

    /// The ring that follows was made for these failures: it must have no partition on what fails.
    pub(super) fn check(&self, failures: &[Failure], draft: &Draft, problems: &mut Problems) {
        let Some(after) = self.places.after() else { return };
        let mut names = BTreeSet::new();
        for failure in failures {
            let fails = |disk: &DeviceId| match failure.what {
                Failing::Device(Some(device)) => disk.0 == device,
                Failing::Server(Some(server)) => self.layout.server_of[disk.index()] == server,
                Failing::Rack(Some(rack)) => {
                    self.layout.rack_of[self.layout.server_of[disk.index()] as usize] == rack
                }
                _ => false,
            };
            if let Failing::Device(None) | Failing::Server(None) | Failing::Rack(None) = failure.what {
                let message = "`fail` draws what fails, but `ring_after` was made after a certain failure";
                let hint = "name the disks or the server that `ring_after` lacks: fail = \"d12\"";
                problems.refuse(draft, "fail", message, hint);
                return;
            }
            let all = (0..after.ring.partitions()).flat_map(|partition| after.primaries(partition));
            names.extend(all.filter(fails).map(|disk| self.names.disks[disk.index()].clone()));
        }
        if !names.is_empty() {
            let listed: Vec<&str> = names.iter().take(4).map(String::as_str).collect();
            let message = format!("`ring_after` has partitions on what fails: {}", listed.join(", "));
            let hint = "take it out with `swift-ring-builder FILE remove`, `rebalance` and `write_ring`";
            problems.refuse(draft, "ring_after", message, hint);
        }
    }
}

/// The machines, and their names as `swift-ring-builder` writes them: `d12`, `10.0.0.3`, `r1z2`.
fn machines(disks: &[Disk]) -> (Layout, Names) {
    let mut layout = Layout { server_of: Vec::new(), rack_of: Vec::new(), class_of: vec![0; disks.len()] };
    let mut names = Names { servers: Vec::new(), disks: Vec::new(), racks: Vec::new() };
    let mut zones: BTreeMap<&str, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for disk in disks {
        zones.entry(&disk.ip).or_default().insert((disk.region, disk.zone));
    }
    for server in disks.chunk_by(|one, next| one.server() == next.server()) {
        let Disk { region, zone, ip, .. } = &server[0];
        let rack = format!("r{region}z{zone}");
        let alone = zones.get(ip.as_str()).is_none_or(|zones| zones.len() == 1);
        names.servers.push(if alone { ip.clone() } else { format!("{rack}-{ip}") });
        if names.racks.last() != Some(&rack) {
            names.racks.push(rack);
        }
        layout.rack_of.push(names.racks.len() as u32 - 1);
        for disk in server {
            layout.server_of.push(names.servers.len() as u32 - 1);
            names.disks.push(format!("d{} ({ip}/{})", disk.id, disk.name));
        }
    }
    (layout, names)
}

#[cfg(test)]
mod tests;
