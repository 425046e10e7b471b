//! From a rebuild to its results: one replicate, and what is kept of it for the presentation.

use serde::{Deserialize, Serialize};
use towtank_rebuild::affected::{Affected, Held};
use towtank_rebuild::failures::Struck;
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::recovery::{Recovered, Waiting};
use towtank_recovery::levers::Tried;
use towtank_recovery::observed::{Observed, Parts, digest};
use towtank_recovery::resources::Resource;
use towtank_report::Outcome;
use towtank_units::SimSpan;

use super::population::Shown;

/// The cluster beside its machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The number of servers on which nothing fails.
    pub survivors: u32,
    /// The capacity of each device; none where the source does not give it.
    pub capacity: Option<Vec<u64>>,
    /// The number of reservations that a device grants.
    pub reservations: Option<u32>,
    /// Whether what failed was replaced in place, so that all servers count.
    pub in_place: bool,
    /// Whether disks replaced the failed ones after a rebuild to spares.
    pub rebalances: bool,
    /// Whether disks form arrays.
    pub of_arrays: bool,
    /// Whether the disks of a single server are listed.
    pub by_disk: bool,
    /// What each device held before any failure, where it is known.
    pub held: Option<Held>,
}

/// A replicate: its inputs and its results.
pub struct Replicate {
    /// The machines.
    pub hardware: Hardware,
    /// The objects or groups that were affected.
    pub affected: Affected,
    /// What failed.
    pub struck: Vec<Struck>,
    /// The results of the rebuild.
    pub recovered: Recovered,
    /// The cluster beside its machines, for the report.
    pub setting: Setting,
    /// How busy each resource was.
    pub resources: Vec<Resource>,
    /// Changes that were tried.
    pub tried: Vec<Tried>,
}

/// The results of one replicate.
pub struct Seen {
    /// The part that is presented.
    pub observed: Observed,
    /// What the report shows of the data; only in the first replicate.
    pub population: Option<Shown>,
    /// The inputs and results of the replicate.
    pub(super) replicate: Replicate,
    /// The delays before the rebuild began.
    pub(super) waiting: Waiting,
    /// From detection until what failed is replaced or comes back, if it does.
    pub(super) in_place: Option<SimSpan>,
}

/// The kept results of one replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The part that is presented.
    pub observed: Observed,
    /// What the report shows of the data; only in the first replicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<Shown>,
}

impl Replicate {
    /// What is presented of it.
    fn observed(&self) -> Observed {
        let Replicate { hardware, affected, struck, recovered, setting, resources, tried } = self;
        let failed = |device| struck.iter().any(|struck| struck.devices.contains(&device));
        let is_gone = |server: u32| !setting.in_place && hardware.devices_of(server).all(failed);
        let works = |disk| setting.in_place || !failed(disk);
        let parts = Parts {
            hardware,
            affected,
            struck,
            recovered,
            held: setting.held.as_ref(),
            reservations: setting.reservations,
            resources,
            tried,
            is_gone: &is_gone,
        };
        let observed = Observed::of(&parts);
        if setting.by_disk { observed.with_disks(&parts, &works) } else { observed }
    }
}

/// The outcome of a replicate that was stopped too soon.
#[must_use]
pub fn stopped() -> towtank_study::Replicate<Seen> {
    towtank_study::Replicate {
        seen: Err("the run was stopped before it was known what is lost"),
        beside: Outcome { partial: true, ..Outcome::default() },
    }
}

/// The outcome of a replicate with its number.
#[must_use]
pub fn replicate(
    number: u32,
    replicate: Replicate,
    (waiting, in_place): (Waiting, Option<SimSpan>),
) -> towtank_study::Replicate<Seen> {
    let recovered = &replicate.recovered;
    let beside = Outcome {
        digest: Some(digest(recovered)),
        events: recovered.events,
        partial: recovered.partial,
        ..Outcome::default()
    };
    let observed = Observed { replicate: number, ..replicate.observed() };
    towtank_study::Replicate {
        seen: Ok(Seen { observed, population: None, replicate, waiting, in_place }),
        beside,
    }
}
