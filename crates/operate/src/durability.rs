//! How likely does a real cluster lose data? From its exports: its groups as they are placed, how long its
//! repairs take by the model of `whatif`, and how often devices fail.
//!
//! The probability is found by simulation of rare events (`towtank_durability`), by two methods that must
//! agree. What it leaves out: unreadable sectors, ages and batches of devices, hosts and racks that fail as a
//! whole, operators; groups keep their devices after a repair. Clusters that are not whole are refused.
//!
//! - `scenario`: the keys; `layout`: groups on devices, hosts and racks; `bursts`: what fails at once;
//! - `repairs`: recoveries that say how long repairs take;
//! - `case`: the checked scenario; `observed`, `measures`: one replicate and its measures;
//! - `answer`, `present`: the answer in words and tables.

mod answer;
mod bursts;
mod case;
mod layout;
mod measures;
mod observed;
mod present;
mod repairs;
mod scenario;
#[cfg(test)]
mod tests;

use towtank_scenario::{Draft, Problems};
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError, flag};
use towtank_units::Bytes;

use self::case::Ready;
use self::observed::{Observed, Seen};
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
];

impl Question for Durability {
    const NAME: &'static str = "durability";
    const TITLE: &'static str = "how likely a real cluster loses data, from its own repair times";
    const ABOUT: &'static str = "Reads exports of a Ceph cluster, and says how likely any loss in the cluster is in a year, or in another mission \
         time: with its groups as they are placed, and with the times that its repairs take by the model of `towtank whatif` \
         (one failure, and several at once in one host or in several). Two methods for rare events must agree. --burst says \
         how likely a loss is when so much fails at once, exactly where that can be counted. No cluster is contacted.\n\n\
         The failure rate is a rate: expected failures of each device in a year of 365.25 days; it is constant, and devices \
         fail independently, as single devices. Groups count as exposed until the last one is repaired, so the probability is an \
         upper bound for the repair times. A cluster that is not whole now, or whose groups survive different numbers of lost \
         devices, is refused. Not modelled: unreadable sectors, ages and batches of devices, hosts and racks that fail as a \
         whole (but for --burst), operators.";
    const RESULTS_VERSION: u32 = 2;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank durability --report report.json --failure-rate 3% --mission 5y",
        "towtank durability --report report.json --burst '3 disks' --burst '1 % of hosts'",
        "towtank durability --report report.json --fail-if 'loss_nines < 9'",
    ];
    const FLAGS: &'static [Flag] = FLAGS;

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Observed;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        Ready::check(scenario, draft)
    }

    fn settled(ready: &Ready) -> &Scenario {
        &ready.scenario
    }

    fn memory(ready: &Ready) -> Option<Bytes> {
        Some(ready.memory_estimate())
    }

    fn measures() -> Vec<Measure<Seen>> {
        measures::measures()
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        observed::run(ready, context)
    }

    fn keep(seen: Seen) -> Observed {
        seen.keep()
    }

    fn present(points: &Points<'_, Durability>) -> Presentation {
        present::present(points)
    }
}
