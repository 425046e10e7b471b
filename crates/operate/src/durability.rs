//! How likely does a cluster lose data? Of a real one, from its exports: its groups as they are placed, how
//! long its repairs take by the model of `whatif`, and how often devices fail.
//!
//! The probability is found by simulation of rare events (`towtank_durability`), by two methods that must
//! agree. What it leaves out: batches of devices, outages, operators; groups keep their devices after a
//! repair. Clusters that lack something begin there; states that are not modelled are refused.
//!
//! - `scenario`: the keys; `layout`: groups on devices, hosts and racks; `bursts`: what fails at once;
//! - `failures`: what fails how often; `repairs`: recoveries that say how long repairs take;
//! - `case`: the checked scenario; `observed`, `measures`: one replicate and its measures;
//! - `answer`, `present`: the answer in words and tables;
//! - `keys`, `described`: the same of a system that is described by keys, with all of these parts of its own.

mod answer;
mod bursts;
mod case;
mod described;
mod failures;
mod keys;
mod layout;
mod measures;
mod observed;
mod present;
mod repairs;
mod scenario;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use towtank_recovery::keys::Exports;
use towtank_scenario::{Draft, Problems};
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError, flag};
use towtank_units::Bytes;

use self::observed::Observed;
use self::scenario::Scenario;

/// The study of the probability that a cluster loses data.
#[derive(Clone, Copy, Debug)]
pub struct Durability;

const FLAGS: &[Flag] = &[
    flag("report", "report"),
    flag("crush-map", "crush_map"),
    flag("osd-dump", "osd_dump"),
    flag("pg-dump", "pg_dump"),
    flag("osd-df", "osd_df"),
    flag("failure-rate", "failure_rate"),
    flag("mission", "mission"),
    flag("burst", "burst"),
    flag("replace-after", "replace_after"),
    flag("machines", "machines"),
    flag("disk", "disk"),
    flag("max-backfills", "max_backfills"),
    flag("recovery-sleep", "recovery_sleep"),
    flag("recovery-max-active", "recovery_max_active"),
    flag("nic", "nic"),
    flag("ceph", "ceph_release"),
    flag("queue", "queue"),
    flag("profile", "profile"),
    flag("osd-capacity", "osd_capacity"),
    flag("disk-read", "disk_read"),
    flag("disk-write", "disk_write"),
    flag("client-load", "client_load"),
    flag("detection", "detection"),
    flag("down-out", "down_out"),
    flag("servers", "servers"),
    flag("racks", "racks"),
    flag("disks-per-server", "disks_per_server"),
    flag("replicas", "replicas"),
    flag("ec", "ec"),
    flag("top", "top"),
    flag("layout", "layout"),
    flag("failure-domain", "failure_domain"),
    flag("pool-disks", "pool_disks"),
    flag("groups", "groups"),
    flag("scatter-width", "scatter_width"),
    flag("min-size", "min_size"),
    flag("disk-capacity", "disk_capacity"),
    flag("used", "used"),
    flag("repair-time", "repair_time"),
    flag("repair-rate", "repair_rate"),
    flag("repair-law", "repair_law"),
    flag("shared-by", "shared_by"),
    flag("amplification", "amplification"),
    flag("critical-first", "critical_first"),
    flag("delay", "delay"),
    flag("failure-probability", "failure_probability"),
    flag("failures", "failures"),
    flag("disk-years", "disk_years"),
    flag("confidence", "confidence"),
    flag("weibull-shape", "weibull_shape"),
    flag("age", "age"),
    flag("year", "year"),
    flag("errors-per-bit", "errors_per_bit"),
    flag("latent-error-rate", "latent_error_rate"),
    flag("scrub-interval", "scrub_interval"),
    flag("server-ruin-rate", "server_ruin_rate"),
    flag("rack-ruin-rate", "rack_ruin_rate"),
    flag("server-outage-rate", "server_outage_rate"),
    flag("server-outage-time", "server_outage_time"),
    flag("rack-outage-rate", "rack_outage_rate"),
    flag("rack-outage-time", "rack_outage_time"),
];

impl Question for Durability {
    const NAME: &'static str = "durability";
    const TITLE: &'static str = "how likely a cluster loses data, real or described by keys";
    const ABOUT: &'static str = "Reads exports of a Ceph cluster, and says how likely any loss in the cluster is in a year, or in another mission \
         time: with its groups as they are placed, and with the times that its repairs take by the model of `towtank whatif` \
         (one failure, and several at once in one host or in several). Two methods for rare events must agree. --burst says \
         how likely a loss is when so much fails at once, exactly where that can be counted. No cluster is contacted.\n\n\
         Without exports: a system that is described, by --servers, --disks-per-server, --replicas or --ec, --layout (arrays, \
         declustered pools, drawn groups, copysets), --repair-time and how often disks fail. Exact where a chain has it, which a \
         simulation confirms; else by two methods. A key that means nothing for the description is refused.\n\n\
         The failure rate is a rate: expected failures of each device in a year of 365.25 days; it is constant, and devices \
         fail independently. Groups are restored one after the other, as the recoveries had them. A cluster that lacks something \
         begins there; a state that is not modelled is refused. Not modelled with exports: batches of devices, outages, operators.";
    const RESULTS_VERSION: u32 = 3;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank durability --report report.json --failure-rate 3% --mission 5y",
        "towtank durability --report report.json --burst '3 disks' --burst '1 % of hosts'",
        "towtank durability --disks-per-server 50 --ec 8+2 --repair-time 58h --shared-by server",
    ];
    const FLAGS: &'static [Flag] = FLAGS;

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        match described::is_described(draft) {
            true => described::Ready::check(scenario, draft).map(Ready::Described),
            false if scenario.exports == Exports::default() => {
                let message =
                    "what to ask about is missing: exports of a cluster, or a system that is described";
                let hint = "name exports, such as `report`, or describe a system by `servers`, `disks_per_server`, `replicas` or \
                            `ec`, and `repair_time`";
                Err(draft.problem("report", message).hint(hint).into())
            }
            false => case::Ready::check(scenario, draft).map(Ready::Exported),
        }
    }

    fn settled(ready: &Ready) -> &Scenario {
        match ready {
            Ready::Exported(ready) => &ready.scenario,
            Ready::Described(ready) => &ready.scenario,
        }
    }

    fn resolved(ready: &Ready) -> serde_json::Value {
        match ready {
            Ready::Exported(ready) => serde_json::to_value(&ready.scenario)
                .expect("a scenario came out of text and goes back into it"),
            Ready::Described(ready) => ready.resolved(),
        }
    }

    fn memory(ready: &Ready) -> Option<Bytes> {
        Some(match ready {
            Ready::Exported(ready) => ready.memory_estimate(),
            Ready::Described(ready) => ready.memory_estimate(),
        })
    }

    fn measures() -> Vec<Measure<Seen>> {
        let mut all: Vec<Measure<Seen>> = measures::measures().into_iter().map(both).collect();
        all.extend(described::measures().into_iter().map(of_described));
        all
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        Ok(match ready {
            Ready::Exported(ready) => replicate(observed::run(ready, context)?, Seen::Exported),
            Ready::Described(ready) => replicate(described::run(ready, context)?, Seen::Described),
        })
    }

    fn keep(seen: Seen) -> Kept {
        match seen {
            Seen::Exported(seen) => Kept::Exported(seen.keep()),
            Seen::Described(seen) => Kept::Described(seen.keep()),
        }
    }

    fn present(points: &Points<'_, Durability>) -> Presentation {
        let views: Vec<described::View<'_>> = points
            .iter()
            .filter_map(|point| Some(described::View { point, kept: point.kept[0].described()? }))
            .collect();
        match views.is_empty() {
            true => present::present(points),
            false => described::present(points, &views),
        }
    }
}

fn replicate<S>(found: Replicate<S>, of: fn(S) -> Seen) -> Replicate<Seen> {
    Replicate { seen: found.seen.map(of), beside: found.beside }
}

/// A measure that both kinds of systems have.
fn both(row: Measure<observed::Seen>) -> Measure<Seen> {
    let (name, title) = (row.name.clone(), row.title.clone());
    Measure::new(row.name.clone(), row.unit, row.about, move |seen: &Seen| match seen {
        Seen::Exported(seen) => row.value(seen),
        Seen::Described(seen) => seen.value(&name),
    })
    .titled(title)
}

/// A measure that only described systems have.
fn of_described(row: Measure<described::Seen>) -> Measure<Seen> {
    let title = row.title.clone();
    Measure::new(row.name.clone(), row.unit, row.about, move |seen: &Seen| match seen {
        Seen::Exported(_) => Err("it is asked of described systems alone".to_owned()),
        Seen::Described(seen) => row.value(seen),
    })
    .titled(title)
    .only_where(|seen| matches!(seen, Seen::Described(_)))
}

/// A checked scenario: exports of a cluster, or a description.
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
pub enum Ready {
    /// Exports.
    Exported(case::Ready),
    /// A description.
    Described(described::Ready),
}

/// What a replicate found.
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
pub enum Seen {
    /// Of exports.
    Exported(observed::Seen),
    /// Of a description.
    Described(described::Seen),
}

/// What is presented besides the measures.
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Kept {
    /// Of exports.
    Exported(Observed),
    /// Of a description.
    Described(described::Kept),
}

impl Kept {
    /// What is kept of exports; nothing of a description.
    fn exported(&self) -> &Observed {
        static NOTHING: std::sync::OnceLock<Observed> = std::sync::OnceLock::new();
        match self {
            Kept::Exported(observed) => observed,
            Kept::Described(_) => NOTHING.get_or_init(Observed::default),
        }
    }

    fn described(&self) -> Option<&described::Kept> {
        match self {
            Kept::Exported(_) => None,
            Kept::Described(kept) => Some(kept),
        }
    }
}
