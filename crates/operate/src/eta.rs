//! When is it done? A recovery of a real cluster that is under way, from reports of it: when all groups are
//! clean, when nothing is degraded any more, when no group has fewer devices than `min_size`, what is last,
//! and what would help.
//!
//! What is left is what `whatif` answers without a change. How fast it goes is measured between two
//! reports, where there are two: the model runs from the earlier one, and the time that really passed, over
//! the time in the model until as much is left as the later one counts, is how many times as long as
//! assumed it takes. What it leaves out: what fails, changes or is written later, and all that `whatif`
//! leaves out.
//!
//! - `scenario`: the keys of a scenario; `moments`: the reports, and what changed between them;
//! - `stretch`: between which of them the speed is measured; `speed`: the speed; `pace`: that of the manager,
//!   where it makes steps; `scale`: what a time says of either;
//! - `share`: drawn orders, and what is left of them by a count;
//! - `case`: the checked scenario; `observed`, `measures`: one replicate and its measures;
//! - `ahead`: what is left over time;
//! - `answer`, `present`: the answer in words, tables and a figure.

mod ahead;
mod answer;
mod by_log;
mod case;
mod measures;
mod moments;
mod observed;
mod pace;
mod present;
mod scale;
mod scenario;
mod share;
mod speed;
mod stretch;
#[cfg(test)]
mod tests;

use towtank_imports::past::Clock;
use towtank_past::shown;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::case::Ready;
use self::observed::{Observed, Seen};
use self::scenario::Scenario;
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError, flag};

/// The study of a recovery that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Eta;

const FLAGS: &[Flag] = &[
    flag("report", "report"),
    flag("pg-dump", "pg_dump"),
    flag("osd-df", "osd_df"),
    flag("machines", "machines"),
    flag("disk", "disk"),
    flag("speed-spread", "speed_spread"),
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
    flag("down-out", "down_out"),
    flag("noout", "noout"),
];

impl Question for Eta {
    const NAME: &'static str = "eta";
    const TITLE: &'static str = "how long a recovery that is under way still takes, and what it waits for";
    const ABOUT: &'static str = "Reads reports of a cluster that recovers (`ceph report`), and says when all groups are clean, when nothing is \
         degraded any more, and when no group is below `min_size`, with a range. No cluster is contacted.\n\n\
         With two reports or more the speed is measured between them, and the latest one says what is left; with one it is \
         assumed, which is said first. Give reports a minute or more apart. --pg-dump of the same time as the latest report \
         says how far each group has come. Where a flag, a device that is down or a full one keeps groups from becoming \
         clean, it says which, and gives no time. With --watch DIR it goes on with each report that a cron job writes there, \
         until the cluster is clean. Not modelled: what fails, changes or is written later.";
    const RESULTS_VERSION: u32 = 3;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank eta --report now.json",
        "towtank eta --report earlier.json --report now.json",
        "towtank eta --report earlier.json --report now.json --fail-if 'time_to_clean_s > 2h'",
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

    fn present(points: &Points<'_, Eta>) -> Presentation {
        present::present(points)
    }
}

/// A time so many seconds after a moment.
fn shown_after(at_us: i64, seconds: f64) -> String {
    let text = shown(Clock::Zoned, at_us.saturating_add((seconds * 1e6) as i64));
    // Nobody knows it to a tenth of a second.
    match text.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => text,
    }
}
