//! The machines of a real cluster: devices by their place in the CRUSH map, and disks by their device class.
//!
//! A host of the map is a server, a rack is a rack; a device outside any host is a server by itself. Before
//! and after a change a cluster has the machines of both, each where the first state that knows it has it.
//! The exports have no speeds: those of a class come from the data sheets of common disks, and values that
//! the user sets replace them for all classes.

use std::collections::{BTreeMap, BTreeSet};

use towtank_ceph::{Cluster, item_name, parents};
use towtank_placement::crush::{ItemId, Map};
use towtank_units::{Rate, SimSpan};

use towtank_rebuild::hardware::{Hardware, Layout, Names, Uplinks};
use towtank_rebuild::model::Pace;
use towtank_rebuild::plan::DeviceId;
use towtank_recovery::keys::{Keys, Seeks};
use towtank_recovery::queue::Queue;
use towtank_recovery::settings::Settings;
use towtank_report::{Warning, human};

use crate::release;

/// Machines, and the mapping between their devices and those of Ceph.
#[derive(Clone, Debug)]
pub struct Machines {
    /// The hardware of the model.
    pub hardware: Hardware,
    /// The Ceph id of each device.
    pub osds: Vec<ItemId>,
    /// The device of each Ceph id.
    pub devices: BTreeMap<ItemId, DeviceId>,
    /// For each class present, the pace at which its disks drive their jobs.
    pub paces: Vec<Pace>,
    /// For each class present, whether its disks rotate.
    pub rotates: Vec<bool>,
    /// For each class present, its name.
    pub classes: Vec<&'static str>,
    /// Whether the speed is assumed of disks that sleep after each object.
    pub guesses_pace: bool,
    /// Warnings for the reader.
    pub warnings: Vec<Warning>,
}

/// A device class with the properties of its disks.
struct Class {
    name: &'static str,
    read: u64,
    write: u64,
    seeks: Seeks,
    /// Ceph's `osd_recovery_sleep_*`.
    sleep: SimSpan,
}

impl Class {
    fn rotates(&self) -> bool {
        self.seeks == Seeks::Hdd
    }
}

/// A nearline disk of 7,200 rpm, a SATA and an NVMe drive for servers, with the values of their data sheets
/// for large sequential requests, and with the defaults of Ceph 16.2 for each; and such a disk with its
/// metadata on flash, which Ceph counts among `hdd` but for its sleep (`osd_recovery_sleep_hybrid`).
const CLASSES: [Class; 4] = [
    Class {
        name: "hdd",
        read: 200_000_000,
        write: 190_000_000,
        seeks: Seeks::Hdd,
        sleep: SimSpan::from_ms(100),
    },
    Class { name: "ssd", read: 550_000_000, write: 500_000_000, seeks: Seeks::None, sleep: SimSpan::ZERO },
    Class {
        name: "nvme",
        read: 3_000_000_000,
        write: 2_000_000_000,
        seeks: Seeks::None,
        sleep: SimSpan::ZERO,
    },
    Class {
        name: "hybrid",
        read: 200_000_000,
        write: 190_000_000,
        seeks: Seeks::Hdd,
        sleep: SimSpan::from_ms(25),
    },
];

/// Bytes per second that a disk of this class writes at most; nothing for a class without known speeds.
#[must_use]
pub(crate) fn write_rate(class: &str) -> Option<u64> {
    CLASSES.iter().find(|known| known.name == class).map(|known| known.write)
}

/// A server: a host of the map by its name, or a device outside any host.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Host(String),
    Alone(ItemId),
}

/// The bucket of type `kind` around a device and its name, in the first of these states that has the device.
fn above(states: &[(&Map, BTreeMap<ItemId, ItemId>)], osd: ItemId, kind: &str) -> Option<(ItemId, String)> {
    let (map, parents) = states.iter().find(|(_, parents)| parents.contains_key(&osd))?;
    let kind = map.type_id(kind)?;
    let mut chain = std::iter::successors(parents.get(&osd), |bucket| parents.get(bucket));
    let found = chain.find(|&&id| map.bucket(id).is_some_and(|bucket| i32::from(bucket.kind) == kind))?;
    Some((*found, item_name(map, *found)))
}

impl Machines {
    /// The machines of a cluster in one or several states. `asked` has the keys of the user,
    /// `settings` their values with defaults.
    /// Nothing is said of what is assumed of the class that was `learned`.
    pub fn of(states: &[&Cluster], (asked, learned): (&Keys, Option<&str>), settings: &Settings) -> Machines {
        let maps: Vec<(&Map, BTreeMap<ItemId, ItemId>)> =
            states.iter().map(|state| (&state.map, parents(&state.map))).collect();
        let above = |osd: ItemId, kind: &str| above(&maps, osd, kind);
        let mut places: BTreeMap<Place, Vec<ItemId>> = BTreeMap::new();
        for osd in states.iter().flat_map(|state| state.devices()).collect::<BTreeSet<_>>() {
            let place = above(osd, "host").map_or(Place::Alone(osd), |(_, name)| Place::Host(name));
            places.entry(place).or_default().push(osd);
        }
        // Servers are numbered in the order of their first devices.
        let mut servers: Vec<(Place, Vec<ItemId>)> = places.into_iter().collect();
        servers.sort_by_key(|(_, osds)| osds.first().copied());
        let rack = |osds: &[ItemId]| osds.first().and_then(|&osd| above(osd, "rack"));
        let racks: Vec<Option<(ItemId, String)>> =
            servers.iter().map(|(_, osds)| rack(osds)).collect::<BTreeSet<_>>().into_iter().rev().collect();
        let number =
            |rack: Option<(ItemId, String)>| racks.iter().position(|one| *one == rack).unwrap_or(0) as u32;
        let osds: Vec<ItemId> = servers.iter().flat_map(|(_, osds)| osds).copied().collect();
        let mut classes = Classes::default();
        let class = |osd: ItemId| states.iter().find_map(|state| class_name(&state.map, osd));
        let class_of = osds.iter().map(|&osd| classes.of(class(osd))).collect();
        let layout = Layout {
            server_of: (0u32..)
                .zip(&servers)
                .flat_map(|(at, (_, osds))| osds.iter().map(move |_| at))
                .collect(),
            rack_of: servers.iter().map(|(_, osds)| number(rack(osds))).collect(),
            class_of,
        };
        let names = Names {
            servers: servers
                .iter()
                .map(|(place, _)| match place {
                    Place::Host(name) => format!("host {name}"),
                    Place::Alone(osd) => format!("no host (osd.{osd})"),
                })
                .collect(),
            disks: osds.iter().map(|osd| format!("osd.{osd}")).collect(),
            racks: racks
                .iter()
                .map(|rack| rack.as_ref().map_or("no rack".to_owned(), |(_, name)| format!("rack {name}")))
                .collect(),
        };
        let uplinks = settings.uplink.filter(|_| racks.len() > 1).map(|rate| Uplinks { rate });
        let (disks, paces) = classes.disks(asked, settings);
        let hardware = Hardware::new(layout, disks, settings.card(), uplinks, settings.unit);
        Machines {
            hardware: hardware.with_names(names),
            guesses_pace: asked.machines.disk_read.is_none()
                && asked.machines.disk_write.is_none()
                && asked.machines.seeks.is_none()
                && asked.machines.io_cost.is_none()
                && paces.iter().any(|pace| !pace.sleep.is_zero()),
            devices: osds.iter().copied().zip((0..).map(DeviceId)).collect(),
            osds,
            paces,
            rotates: classes.met.iter().map(|class| CLASSES[*class].rotates()).collect(),
            classes: classes.met.iter().map(|class| CLASSES[*class].name).collect(),
            warnings: classes.warnings((asked, learned), settings),
        }
    }
}

/// The class of a device in a map, if it has one.
fn class_name(map: &Map, osd: ItemId) -> Option<&str> {
    map.item_classes.get(&osd).and_then(|class| map.class_names.get(class)).map(String::as_str)
}

/// The classes that are present, in the order in which they are found.
#[derive(Default)]
struct Classes {
    met: Vec<usize>,
    /// Class names without known speeds, and devices without a class.
    strange: BTreeSet<String>,
}

impl Classes {
    /// The index of a device's class among those present. One without known speeds is taken for a rotating
    /// disk.
    fn of(&mut self, name: Option<&str>) -> u8 {
        let known = name.and_then(|name| CLASSES.iter().position(|class| class.name == name));
        if known.is_none() {
            self.strange.insert(name.map_or("no class".to_owned(), |name| format!("class `{name}`")));
        }
        let class = known.unwrap_or(0);
        let at = self.met.iter().position(|met| *met == class).unwrap_or_else(|| {
            self.met.push(class);
            self.met.len() - 1
        });
        at as u8
    }

    fn disks(&self, asked: &Keys, settings: &Settings) -> (Vec<towtank_devices::DiskSpec>, Vec<Pace>) {
        let rate = |count| Rate::from_bytes_per_second(count).expect("above zero");
        let one = |class: &usize| {
            let class = &CLASSES[*class];
            let own = Settings {
                disk_read: asked.machines.disk_read.unwrap_or(rate(class.read)),
                disk_write: asked.machines.disk_write.unwrap_or(rate(class.write)),
                seeks: asked.machines.seeks.unwrap_or(class.seeks),
                ..settings.clone()
            };
            let active = asked.pacing.recovery_max_active;
            let release = release::assumed(asked.pacing.ceph_release);
            let pace = match settings.mclock.map(|mclock| mclock.recovering(class.rotates())) {
                Some(usual) => Pace { streams: active.unwrap_or(usual.active), sleep: SimSpan::ZERO },
                None => Pace {
                    streams: active.unwrap_or(release.active(Queue::Wpq, class.rotates())),
                    sleep: asked.pacing.recovery_sleep.unwrap_or(class.sleep),
                },
            };
            (own.disk(), pace)
        };
        self.met.iter().map(one).unzip()
    }

    fn warnings(&self, (asked, learned): (&Keys, Option<&str>), settings: &Settings) -> Vec<Warning> {
        let mut taken = Vec::new();
        let known = |class: &&Class| learned == Some(class.name);
        for class in self.met.iter().map(|class| &CLASSES[*class]).filter(|class| !known(class)) {
            let mut words = Vec::new();
            if asked.machines.disk_read.is_none() {
                words.push(format!("reads {} MB/s (`--disk-read`)", class.read / 1_000_000));
            }
            if asked.machines.disk_write.is_none() {
                words.push(format!("writes {} MB/s (`--disk-write`)", class.write / 1_000_000));
            }
            if asked.machines.seeks.is_none() && class.seeks == Seeks::Hdd {
                words.push("seeks 8 ms before a read and 4 ms before a write (`--seeks`)".to_owned());
            }
            if asked.pacing.recovery_sleep.is_none() && settings.mclock.is_none() && !class.sleep.is_zero() {
                words.push(format!(
                    "sleeps {} after each object (`--recovery-sleep`)",
                    human::quantity(class.sleep.as_secs_f64(), "s")
                ));
            }
            if !words.is_empty() {
                taken.push(format!("{} {}", class.name, words.join(", ")));
            }
        }
        if asked.machines.nic.is_none() {
            let bits = 8.0 * settings.nic.bytes_per_second() as f64;
            taken.push(format!("NICs {} (`--nic`)", human::quantity(bits, "bits/s")));
        }
        let mut warnings = Vec::new();
        if !taken.is_empty() {
            warnings.push(Warning::note(format!(
                "the exports do not have the speed of the machines, so typical values are assumed: {}",
                taken.join("; ")
            )));
        }
        if !self.strange.is_empty() {
            let names: Vec<&str> = self.strange.iter().map(String::as_str).collect();
            let names = names.join(", ");
            warnings.push(Warning::note(format!(
                "devices of {names} are assumed to be rotating disks; `--disk-read`, `--disk-write` and `--seeks` say what yours do"
            )));
        }
        warnings
    }
}
