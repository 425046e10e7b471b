//! A scenario with the values of its preset filled in: everything that a run needs is set.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use towtank_recovery::settings::{PEERING, Settings, Usual};
use towtank_units::{Bytes, SimSpan};

use super::scenario::{Preset, Scenario};

/// Virtual nodes of a server on a ring, if none are given.
const VNODES: u32 = 64;

/// A scenario, and beside it the values that it left open. Its own keys are read through the scenario, which
/// is also its serialised form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Scenario", into = "Scenario")]
pub struct Settled {
    /// The scenario with these values filled in: it is printed as the resolved scenario.
    pub(super) scenario: Scenario,
    /// The amount of data.
    pub amount: Amount,
    /// Speeds, pacing, clients, delays.
    pub settings: Settings,
}

/// The amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of objects.
    Objects(u64),
    /// Bytes per server, all copies counted.
    PerServer(Bytes),
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
    /// Virtual nodes of a server, where the placement has some.
    #[must_use]
    pub(super) fn vnodes(&self) -> u32 {
        self.scenario.vnodes.unwrap_or(VNODES)
    }

    /// Takes each value from the scenario, or from its preset.
    #[must_use]
    pub fn of(mut scenario: Scenario) -> Settled {
        // The resolved scenario uses one name for the preset.
        if scenario.preset == Preset::Ceph {
            scenario.preset = Preset::CephWpq;
        }
        scenario.fill_arrays();
        if scenario.ring.is_none() && scenario.placement.has_virtual_nodes() {
            scenario.vnodes.get_or_insert(VNODES);
        }
        let of_ceph = scenario.preset == Preset::CephWpq;
        let grouped = scenario.is_grouped();
        let amount = match scenario.objects {
            Some(objects) => Amount::Objects(objects),
            None => Amount::PerServer(*scenario.per_server.get_or_insert(Bytes::new(60 << 40))),
        };
        if of_ceph && grouped {
            scenario.peering.get_or_insert(PEERING);
        }
        // A generated cluster has no release, and only that of its preset by default.
        let pacing = &scenario.keys.pacing;
        let asked = pacing.queue.is_some() || pacing.ceph_release.is_some();
        let usual = Usual {
            of_ceph,
            grouped,
            has_queue: scenario.has_groups() && asked,
            peering: scenario.peering.unwrap_or(SimSpan::ZERO),
        };
        let settings = Settings::of(&mut scenario.keys, usual);
        Settled { scenario, amount, settings }
    }
}
