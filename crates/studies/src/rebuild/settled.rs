//! A scenario with the values of its preset filled in: everything that a run needs is set.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use towtank_units::{Bytes, Percent, Rate, SimSpan};

use towtank_rebuild::ledger::Backfill;
use towtank_rebuild::model::{Arrivals, Weights};

use super::queue::{ITEM, Mclock, Profile, Queue};
use super::scenario::{Preset, Scenario, Seeks};

/// A scenario, and beside it the values that it left open. Its other keys are read through the scenario,
/// which is also its serialised form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Scenario", into = "Scenario")]
pub struct Settled {
    /// The scenario with these values filled in: it is printed as the resolved scenario.
    pub(super) scenario: Scenario,
    /// The amount of data.
    pub amount: Amount,
    /// The load of clients while the cluster rebuilds.
    pub clients: Option<Clients>,
    /// Bytes that a disk reads per second.
    pub disk_read: Rate,
    /// Bytes that a disk writes per second.
    pub disk_write: Rate,
    /// The cost of seeks.
    pub seeks: Seeks,
    /// How much of an object one seek covers.
    pub seek_extent: Bytes,
    /// The rate of a server's NIC, in each direction.
    pub nic: Rate,
    /// The latency from one NIC to another.
    pub latency: SimSpan,
    /// The maximum number of objects that the rebuilds of a disk work on at once.
    pub recovery_max_active: u32,
    /// The maximum number of groups that a disk leads at once; 0: no reservations.
    pub max_backfills: u32,
    /// Recovery sleep of a disk after each object.
    pub recovery_sleep: SimSpan,
    /// Ceph's own work on each object.
    pub object_cost: SimSpan,
    /// From a failure until the cluster detects it.
    pub detection: SimSpan,
    /// From the detection until the failed devices are marked out.
    pub down_out: SimSpan,
    /// From a new map until the first object moves.
    pub peering: SimSpan,
    /// What a backfill of a group costs before its first object is copied.
    pub backfill: Backfill,
    /// Whether a whole rack is marked out too.
    pub rack_out: bool,
    /// The mClock queue of the daemons, where they have one.
    pub mclock: Option<Mclock>,
}

/// The amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of objects.
    Objects(u64),
    /// Bytes per server, all copies counted.
    PerServer(Bytes),
}

/// The load of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clients {
    /// When operations are requested, in the whole cluster.
    pub arrivals: Arrivals,
    /// The share of them that reads.
    pub read: Percent,
    /// Bytes per operation.
    pub size: Bytes,
    /// The shares of a busy device.
    pub weights: Weights,
}

impl From<Scenario> for Settled {
    fn from(scenario: Scenario) -> Settled {
        Settled::of(scenario)
    }
}

impl From<Settled> for Scenario {
    fn from(settled: Settled) -> Scenario {
        settled.scenario
    }
}

impl Deref for Settled {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        &self.scenario
    }
}

impl Settled {
    /// Takes each value from the scenario, or from its preset.
    #[must_use]
    pub fn of(mut scenario: Scenario) -> Settled {
        // The resolved scenario uses one name for the preset.
        if scenario.preset == Preset::Ceph {
            scenario.preset = Preset::CephWpq;
        }
        let ceph = scenario.preset == Preset::CephWpq;
        let mclock = mclock(&mut scenario);
        let [read, write, nic] = usual_speeds(scenario.preset);
        let usual_weight = if ceph { 21 } else { 1 };
        let open = scenario.client_load.filter(|rate| !rate.is_zero()).map(Arrivals::Open);
        let arrivals = scenario.client_depth.map(Arrivals::Closed).or(open);
        if arrivals.is_some() && mclock.is_none() {
            scenario.client_weight.get_or_insert(usual_weight);
        }
        let clients = arrivals.map(|arrivals| Clients {
            arrivals,
            read: *scenario.client_read.get_or_insert(Percent::from_percent(70).expect("less than all")),
            size: *scenario.client_size.get_or_insert(Bytes::from_kib(64)),
            weights: match (scenario.client_weight, &mclock) {
                (None, Some(mclock)) => mclock.weights(),
                (weight, _) => Weights::against_one(weight.unwrap_or(usual_weight)),
            },
        });
        let amount = match scenario.objects {
            Some(objects) => Amount::Objects(objects),
            None => Amount::PerServer(*scenario.per_server.get_or_insert(Bytes::new(60 << 40))),
        };
        let recovering = mclock.map(|mclock| mclock.recovering(true));
        let span = |shipped: SimSpan| if ceph { shipped } else { SimSpan::ZERO };
        let active = recovering.map_or(if ceph { 3 } else { 8 }, |of| of.active);
        let backfills = recovering.map_or(u32::from(ceph), |of| of.backfills);
        let sleep = recovering.map_or(span(SimSpan::from_ms(100)), |of| of.sleep);
        let trip = if ceph { SimSpan::from_us(50) } else { SimSpan::from_ns(6_780) };
        // Fitted with the backfill study to a cluster with 16.2.15: three devices on flash, objects of 1 KiB.
        let grouped = scenario.is_grouped();
        let cost = if ceph && grouped { SimSpan::from_us(1_090) } else { SimSpan::ZERO };
        let (peering, backfill) = starts(&mut scenario, ceph && grouped);
        let seeks = if ceph { Seeks::Hdd } else { Seeks::Jbod };
        // The paper does not give this value: it was chosen so that 1,024 servers rebuild the published 410
        // GiB/s.
        let extent = Bytes::from_mib(if ceph { 16 } else { 18 });
        Settled {
            amount,
            clients,
            max_backfills: *scenario.max_backfills.get_or_insert(backfills),
            disk_read: *scenario.disk_read.get_or_insert(read),
            disk_write: *scenario.disk_write.get_or_insert(write),
            nic: *scenario.nic.get_or_insert(nic),
            latency: *scenario.latency.get_or_insert(trip),
            seeks: *scenario.seeks.get_or_insert(seeks),
            seek_extent: *scenario.seek_extent.get_or_insert(extent),
            recovery_max_active: *scenario.recovery_max_active.get_or_insert(active),
            recovery_sleep: *scenario.recovery_sleep.get_or_insert(sleep),
            object_cost: *scenario.object_cost.get_or_insert(cost),
            detection: *scenario.detection.get_or_insert(span(SimSpan::from_secs(20))),
            down_out: *scenario.down_out.get_or_insert(span(SimSpan::from_secs(600))),
            peering,
            backfill,
            rack_out: *scenario.rack_out.get_or_insert(!ceph),
            mclock,
            scenario,
        }
    }

    /// Whether recovery goes group by group, with one object of each in progress, as in Ceph.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        self.preset == Preset::CephWpq && self.is_grouped()
    }

    /// The number of groups that a disk leads at once, where groups must reserve their servers.
    #[must_use]
    pub fn reservations(&self) -> Option<u32> {
        (self.is_grouped() && self.max_backfills > 0).then_some(self.max_backfills)
    }
}

/// What passes before a group moves: for groups of Ceph, what was measured if the scenario leaves it out.
fn starts(scenario: &mut Scenario, of_ceph: bool) -> (SimSpan, Backfill) {
    if of_ceph {
        scenario.peering.get_or_insert(PEERING);
        scenario.backfill_begin.get_or_insert(BACKFILL.begin);
        scenario.backfill_look.get_or_insert(BACKFILL.look);
    }
    let backfill = Backfill {
        begin: scenario.backfill_begin.unwrap_or_default(),
        look: scenario.backfill_look.unwrap_or_default(),
    };
    (scenario.peering.unwrap_or_default(), backfill)
}

/// The first object moved 2.9 to 3.7 s after the command, whatever the command was, in 20 runs on a cluster
/// of four devices with Ceph 16.2.15: 3.2 s in the median. Where the disks sleep, their first work item came
/// a sleep of 0.1 s earlier. Other measured starts, with peering of many groups, were 3 to 6 s.
pub(crate) const PEERING: SimSpan = SimSpan::from_ms(3_100);

/// Backfills of Ceph 16.2.15 without sleep took 0.32 s, and 22 us for each object of the group, besides the
/// work on objects that had been altered: fitted to 20 runs with 5,000 to 20,000 objects of 1 KiB. Runs with
/// eight groups began as soon as those with one.
const BACKFILL: Backfill = Backfill { begin: SimSpan::from_ms(320), look: SimSpan::from_us(22) };

/// The release that is assumed if exports name none.
const RELEASE_USUAL: u32 = 16;

/// The mClock queue of a scenario, whose queue and profile are then set. Its sleeps are 0 whatever they are
/// set to, and it moves an object in pushes of up to 8 MiB (`osd_recovery_max_chunk`), one after the other.
fn mclock(scenario: &mut Scenario) -> Option<Mclock> {
    // A generated cluster has no release, and only that of its preset by default.
    let asked = scenario.queue.is_some() || scenario.ceph_release.is_some();
    let grouped = scenario.is_real() || (scenario.has_groups() && asked);
    if !grouped || scenario.preset == Preset::Paper {
        return None;
    }
    let release = scenario.ceph_release.unwrap_or(RELEASE_USUAL);
    if *scenario.queue.get_or_insert(Queue::of_release(release)) == Queue::Wpq {
        return None;
    }
    let profile = *scenario.profile.get_or_insert(Profile::of_release(release));
    scenario.recovery_sleep = Some(SimSpan::ZERO);
    (scenario.unit, scenario.window) = (Bytes::from_mib(8), 1);
    let item = scenario.recovery_cost.unwrap_or(ITEM);
    Some(Mclock { release, profile, capacity: scenario.osd_capacity, item })
}

/// The rates of a preset at which a disk reads and writes, and that of a NIC. The published ones are those of
/// the study's JBOD table and its InfiniBand (LogGP) table; the others come from the data sheet of a nearline
/// disk, and 10 Gbit/s.
#[must_use]
pub fn usual_speeds(preset: Preset) -> [Rate; 3] {
    let counts = match preset {
        Preset::CephWpq | Preset::Ceph => [200_000_000, 190_000_000, 1_250_000_000],
        Preset::Paper => [1_617_009_050, 1_585_132_340, 2_012_072_435],
    };
    counts.map(|count| Rate::from_bytes_per_second(count).expect("above zero"))
}
