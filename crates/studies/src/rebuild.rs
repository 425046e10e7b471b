//! How long until the lost data is safe again, and what holds it up?
//!
//! The study of the first paper, and the question that operators ask most. What is lost is found (`affected`, `shares`), a
//! plan is made of it (`ledger`, `plan`), and units of lost objects move over modelled disks and cards (`model`, on
//! `hardware`) from the moment the cluster gives up what failed (`recovery`), beside clients that read and write. What it
//! leaves out: processors and memory, and what monitors do.
//!
//! - `scenario`, `population`, `failures`: what a user may say;
//! - `generated`: one replicate, from the scenario to what came of it;
//! - `real`: the same from the exports of a cluster;
//! - `bound`: what no run beats, with this placement and if all were even;
//! - `observed`, `bottleneck`: the measures, and what held it up;
//! - `levers`: what would help, tried;
//! - `present`, `figures`, `published`: what the report shows.

pub mod affected;
pub mod benchmark;
pub mod bottleneck;
pub mod bound;
pub mod failures;
mod figures;
pub mod generated;
pub mod hardware;
pub mod ledger;
pub mod levers;
pub mod map_places;
pub mod model;
mod observed;
pub mod plan;
pub mod population;
mod present;
mod published;
pub mod real;
pub mod recovery;
pub mod scenario;
pub mod server_places;
pub mod shares;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::observed::MEASURES;
use self::scenario::{Complete, Scenario};
use crate::{Flag, MeasureSpec, PointResult, Prepared, Presentation, RunContext, Study, StudyError};

/// The rebuild study.
#[derive(Clone, Copy, Debug)]
pub struct Rebuild;

const fn flag(name: &'static str, key: &'static str) -> Flag {
    Flag { name, key }
}

const FLAGS: &[Flag] = &[
    flag("preset", "preset"),
    flag("ceph-map", "ceph_map"),
    flag("ceph-dump", "ceph_dump"),
    flag("pg-dump", "pg_dump"),
    flag("osd-df", "osd_df"),
    flag("report", "report"),
    flag("servers", "servers"),
    flag("racks", "racks"),
    flag("disks-per-server", "disks_per_server"),
    flag("per-server", "per_server"),
    flag("objects", "objects"),
    flag("population", "population.preset"),
    flag("placement", "placement"),
    flag("vnodes", "vnodes"),
    flag("groups", "groups"),
    flag("groups-per-server", "groups_per_server"),
    flag("failure-domain", "failure_domain"),
    flag("replicas", "replicas"),
    flag("ec", "ec"),
    flag("fail", "fail"),
    flag("disk-read", "disk_read"),
    flag("disk-write", "disk_write"),
    flag("disk-capacity", "disk_capacity"),
    flag("seeks", "seeks"),
    flag("nic", "nic"),
    flag("latency", "latency"),
    flag("uplink", "uplink"),
    flag("stream-limit", "stream_limit"),
    flag("rate-cap", "rate_cap"),
    flag("recovery-max-active", "recovery_max_active"),
    flag("max-backfills", "max_backfills"),
    flag("recovery-sleep", "recovery_sleep"),
    flag("client-load", "client_load"),
    flag("client-read", "client_read"),
    flag("client-size", "client_size"),
    flag("client-weight", "client_weight"),
    flag("source", "source"),
    flag("gather", "gather"),
    flag("detection", "detection"),
    flag("down-out", "down_out"),
    flag("noout", "noout"),
];

impl Study for Rebuild {
    fn name(&self) -> &'static str {
        "rebuild"
    }

    fn title(&self) -> &'static str {
        "how long until lost data is safe again, and what holds it up"
    }

    fn about(&self) -> &'static str {
        "Something fails: a disk, a server, a rack, or several one after the other. The study finds what lay on it, has the \
         survivors read, send and write it again unit by unit, and says how long that takes, how fast it could have been, \
         and which disks, cards, limits or rests held it up.\n\n\
         --preset paper is the published study: fast disks, nothing but them in the way. --preset ceph-wpq (or ceph) is Ceph up to \
         16 as it is shipped on rotating disks: one backfill a disk, a rest of 0.1 s after each object, ten minutes until what \
         failed is given up. --client-load lets clients read and write meanwhile. Not modelled: processors and memory, \
         Ceph's own work for each object (1 ms where it was measured, which sets the time of small objects without a rest), \
         mClock, which paces recovery from Ceph 17 on, recovery by log, and devices that come back."
    }

    fn results_version(&self) -> u32 {
        2
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Scenario)
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        MEASURES
    }

    fn memory_keys(&self) -> &'static [&'static str] {
        &["objects", "per_server"]
    }

    fn published(&self) -> &'static [&'static str] {
        &["rebuild-64", "rebuild-data-sets", "rebuild-peers", "rebuild-scaling"]
    }

    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        let scenario = draft.read::<Scenario>()?;
        if scenario.is_real() {
            return Ok(Box::new(real::Ready::check(scenario, draft)?));
        }
        let complete = scenario.complete(draft)?;
        Ok(Box::new(Ready { complete }))
    }

    fn present(&self, points: &[PointResult<'_>]) -> Presentation {
        present::present(points)
    }
}

/// A checked scenario.
struct Ready {
    complete: Complete,
}

impl Prepared for Ready {
    fn resolved(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.complete.scenario)
            .expect("a scenario came out of text and goes back into it");
        // With a code there are no copies, and saying both is refused.
        if let Some(table) = value.as_object_mut().filter(|_| self.complete.scenario.ec.is_some()) {
            table.remove("replicas");
        }
        value
    }

    fn memory_estimate(&self) -> Option<Bytes> {
        Some(generated::memory_estimate(&self.complete))
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        let Some((replicate, population)) = generated::replicate(&self.complete, context)? else {
            return Ok(observed::stopped());
        };
        let mut outcome = observed::outcome(&replicate, generated::waiting(&self.complete.scenario));
        outcome.warnings.extend(self.complete.data.warnings.iter().cloned());
        if context.replicate == 0 {
            let shown = population::Shown::of(&self.complete.data, &population);
            let json = serde_json::to_value(shown).expect("figures and tables go into JSON");
            outcome.series.insert("population".to_owned(), json);
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests;
