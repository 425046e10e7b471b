//! A scenario with what its preset fills in: nothing is left open that a run must know.

use std::ops::Deref;

use towtank_units::{Bytes, Percent, Rate, SimSpan};

use super::scenario::{Preset, Scenario, Seeks};

/// A scenario, and beside it what was left open and is not any more. Its other keys are read as those of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// What is printed as the resolved scenario: it says the same.
    pub(super) scenario: Scenario,
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
    /// How long a disk's rebuilds rest after each object.
    pub recovery_sleep: SimSpan,
    /// From a failure until the cluster knows of it.
    pub detection: SimSpan,
    /// From then on until what failed is given up.
    pub down_out: SimSpan,
    /// Whether a whole rack is given up too.
    pub rack_out: bool,
}

impl Deref for Filled {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        &self.scenario
    }
}

impl Filled {
    /// Takes each value from the scenario, or from its preset.
    #[must_use]
    pub fn of(mut scenario: Scenario) -> Filled {
        // One name in what is resolved.
        if scenario.preset == Preset::Ceph {
            scenario.preset = Preset::CephWpq;
        }
        let ceph = scenario.preset == Preset::CephWpq;
        let rate = |paper: u64, shipped: u64| {
            let count = if ceph { shipped } else { paper };
            Rate::from_bytes_per_second(count).expect("above zero")
        };
        scenario.max_backfills.get_or_insert(u32::from(ceph));
        if scenario.client_load.is_some() {
            scenario.client_read.get_or_insert(Percent::from_percent(70).expect("less than all"));
            scenario.client_size.get_or_insert(Bytes::from_kib(64));
            scenario.client_weight.get_or_insert(if ceph { 21 } else { 1 });
        }
        if scenario.objects.is_none() {
            scenario.per_server.get_or_insert(Bytes::new(60 << 40));
        }
        let span = |shipped: SimSpan| if ceph { shipped } else { SimSpan::ZERO };
        let active = if ceph { 3 } else { 8 };
        let trip = if ceph { SimSpan::from_us(50) } else { SimSpan::from_ns(6_780) };
        let seeks = if ceph { Seeks::Hdd } else { Seeks::Jbod };
        // The study says nothing of it: chosen so that 1,024 servers rebuild the published 410 GiB/s.
        let extent = Bytes::from_mib(if ceph { 16 } else { 18 });
        Filled {
            // JBOD table and InfiniBand (LogGP) table of the study; a nearline disk's data sheet, and 10 Gbit/s.
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
}
