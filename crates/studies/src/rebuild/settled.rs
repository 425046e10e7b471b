//! A scenario with what its preset fills in: nothing is left open that a run must know.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::scenario::{Preset, Scenario, Seeks};

/// A scenario, and beside it what was left open and is not any more. Its other keys are read as those of the
/// scenario, which is also its form in text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Scenario", into = "Scenario")]
pub struct Settled {
    /// What is printed as the resolved scenario: it says the same.
    pub(super) scenario: Scenario,
    /// How much there is.
    pub amount: Amount,
    /// What clients ask for while the cluster rebuilds.
    pub clients: Option<Clients>,
    /// Bytes a disk reads in a second.
    pub disk_read: Rate,
    /// Bytes a disk writes in a second.
    pub disk_write: Rate,
    /// What moving a disk's head costs.
    pub seeks: Seeks,
    /// How much of an object one seek is good for.
    pub seek_extent: Bytes,
    /// A server's card, each way.
    pub nic: Rate,
    /// From one card to another.
    pub latency: SimSpan,
    /// Objects that a disk's rebuilds work on at once.
    pub recovery_max_active: u32,
    /// Groups that a disk leads at once; 0: no reservations.
    pub max_backfills: u32,
    /// How long a disk's rebuilds rest after each object.
    pub recovery_sleep: SimSpan,
    /// From a failure until the cluster knows of it.
    pub detection: SimSpan,
    /// From then on until what failed is given up.
    pub down_out: SimSpan,
    /// Whether a whole rack is given up too.
    pub rack_out: bool,
}

/// How much data there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many objects.
    Objects(u64),
    /// What a server holds, all copies counted.
    PerServer(Bytes),
}

/// What clients ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clients {
    /// Operations in a second, in the whole cluster.
    pub rate: Frequency,
    /// The share of them that reads.
    pub read: Percent,
    /// Bytes of each.
    pub size: Bytes,
    /// Their part of a busy device, against one for the rebuild.
    pub weight: u32,
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
        // One name in what is resolved.
        if scenario.preset == Preset::Ceph {
            scenario.preset = Preset::CephWpq;
        }
        let ceph = scenario.preset == Preset::CephWpq;
        let rate = |paper: u64, shipped: u64| {
            let count = if ceph { shipped } else { paper };
            Rate::from_bytes_per_second(count).expect("above zero")
        };
        let clients = scenario.client_load.map(|rate| Clients {
            rate,
            read: *scenario.client_read.get_or_insert(Percent::from_percent(70).expect("less than all")),
            size: *scenario.client_size.get_or_insert(Bytes::from_kib(64)),
            weight: *scenario.client_weight.get_or_insert(if ceph { 21 } else { 1 }),
        });
        let amount = match scenario.objects {
            Some(objects) => Amount::Objects(objects),
            None => Amount::PerServer(*scenario.per_server.get_or_insert(Bytes::new(60 << 40))),
        };
        let span = |shipped: SimSpan| if ceph { shipped } else { SimSpan::ZERO };
        let active = if ceph { 3 } else { 8 };
        let trip = if ceph { SimSpan::from_us(50) } else { SimSpan::from_ns(6_780) };
        let seeks = if ceph { Seeks::Hdd } else { Seeks::Jbod };
        // The study says nothing of it: chosen so that 1,024 servers rebuild the published 410 GiB/s.
        let extent = Bytes::from_mib(if ceph { 16 } else { 18 });
        Settled {
            amount,
            clients,
            max_backfills: *scenario.max_backfills.get_or_insert(u32::from(ceph)),
            // JBOD table and InfiniBand (LogGP) table of the study; a nearline disk's data sheet, and 10
            // Gbit/s.
            disk_read: *scenario.disk_read.get_or_insert(rate(1_617_009_050, 200_000_000)),
            disk_write: *scenario.disk_write.get_or_insert(rate(1_585_132_340, 190_000_000)),
            nic: *scenario.nic.get_or_insert(rate(2_012_072_435, 1_250_000_000)),
            latency: *scenario.latency.get_or_insert(trip),
            seeks: *scenario.seeks.get_or_insert(seeks),
            seek_extent: *scenario.seek_extent.get_or_insert(extent),
            recovery_max_active: *scenario.recovery_max_active.get_or_insert(active),
            recovery_sleep: *scenario.recovery_sleep.get_or_insert(span(SimSpan::from_ms(100))),
            detection: *scenario.detection.get_or_insert(span(SimSpan::from_secs(20))),
            down_out: *scenario.down_out.get_or_insert(span(SimSpan::from_secs(600))),
            rack_out: *scenario.rack_out.get_or_insert(!ceph),
            scenario,
        }
    }
    /// How many groups a disk leads at once, where groups must reserve their servers.
    #[must_use]
    pub fn reservations(&self) -> Option<u32> {
        let grouped = self.is_real() || self.groups.is_some();
        (grouped && self.max_backfills > 0).then_some(self.max_backfills)
    }
}
