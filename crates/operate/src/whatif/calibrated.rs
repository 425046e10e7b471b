//! Machines whose constants were learned from a recovery, in place of typical values.
//!
//! Each row of what was learned is a cluster of machines; each is run with another order of groups
//! ([`super::orders`]), so that the range of a time comes from both. What the constants were not learned of
//! is said: other disks, another release or queue.

use serde::{Deserialize, Serialize};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::model::Limits;
use towtank_rebuild::recovery::Recovery;
use towtank_recovery::keys::Keys;
use towtank_report::human;
use towtank_scenario::{Draft, Problems};
use towtank_study::files::Reader;
use towtank_units::SimSpan;

use super::scenario::Scenario;
use crate::learned::{self, Learned, name_of};
use crate::real::factors::{self, Factors};
use crate::real::{self, Staged};

/// The key that names the file.
const KEY: &str = "machines";

/// Machines with the constants of one row.
pub(crate) struct Machine {
    hardware: Hardware,
    limits: Limits,
    /// How much later than usual the first object moves.
    pub later_s: f64,
}

impl Machine {
    /// A recovery on them.
    pub fn in_place<'a>(&'a self, recovery: Recovery<'a>) -> Recovery<'a> {
        Recovery { hardware: &self.hardware, limits: &self.limits, ..recovery }
    }
}

/// From changes to the first objects that move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starts {
    set: Option<SimSpan>,
    times: f64,
}

impl Starts {
    /// As the scenario says it, or as it was learned.
    pub fn of(scenario: &Scenario, learned: Option<&Learned>) -> Starts {
        let start = learned.map(|learned| learned.constants.start);
        Starts { set: scenario.start, times: start.map_or(1.0, |start| start.value / start.assumed) }
    }

    /// After a change that usually takes so long.
    pub fn after(self, usual: SimSpan) -> SimSpan {
        self.set.unwrap_or_else(|| if self.times == 1.0 { usual } else { factors::times(usual, self.times) })
    }
}

/// What an answer is calibrated on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The recovery, and what was predicted of it.
    pub on: String,
    /// How this cluster differs from what was learned.
    pub differs: Vec<String>,
    /// Whether any machine of this cluster is of the class that was learned.
    pub applies: bool,
    /// What is still assumed, because the recovery does not tell it.
    pub assumed: Vec<String>,
}

/// Reads the file that the scenario names.
///
/// # Errors
/// What is wrong with it, or which other keys say the same.
pub(crate) fn load(scenario: &Scenario, draft: &Draft) -> Result<Option<Learned>, Problems> {
    if scenario.machines.is_none() {
        return Ok(None);
    }
    let mut problems = Problems::new();
    for key in said(&scenario.keys, draft) {
        let message = format!("`{key}` is set, and `{KEY}` has it too");
        problems.push(
            draft.problem(key, message).hint(format!("leave out one of them: `{KEY}` has what was learned")),
        );
    }
    let mut warnings = Vec::new();
    let read = Reader { draft, warnings: &mut warnings, problems: &mut problems }.read(KEY, learned::read);
    problems.into_result(read.map(|read| read.value))
}

/// Keys whose values are learned, and that are set all the same.
fn said<'a>(keys: &Keys, draft: &Draft) -> impl Iterator<Item = &'a str> {
    let Keys { machines, pacing, .. } = keys;
    let set = [
        ("disk_read", machines.disk_read.is_some()),
        ("disk_write", machines.disk_write.is_some()),
        ("seeks", machines.seeks.is_some()),
        ("io_cost", machines.io_cost.is_some()),
        ("recovery_sleep", pacing.recovery_sleep.is_some()),
        ("object_cost", pacing.object_cost.is_some()),
        ("osd_capacity", pacing.osd_capacity.is_some()),
        ("max_backfills", pacing.max_backfills.is_some()),
        ("start", draft.says("start")),
        ("speed_spread", draft.says("speed_spread")),
    ];
    set.into_iter().filter(|(_, set)| *set).map(|(key, _)| key)
}

/// The machines of each row, and what is said of them.
pub(crate) fn machines(
    learned: &Learned,
    real: &real::Ready,
    staged: &Staged,
) -> (Vec<Machine>, Calibration) {
    let classes = &real.groups.machines.classes;
    let class = classes.iter().position(|class| *class == learned.event.class);
    let calibration = Calibration {
        on: on(learned),
        differs: differs(learned, real),
        applies: class.is_some(),
        assumed: learned
            .constants
            .all()
            .iter()
            .filter(|(.., constant)| !constant.told)
            .map(|(name, ..)| (*name).to_owned())
            .collect(),
    };
    let known = class.and_then(|class| Some((class, factors::assumed(staged, class)?)));
    let Some((class, assumed)) = known else { return (Vec::new(), calibration) };
    let start = learned.constants.start;
    let slots =
        assumed.backfills.filter(|_| real.paced().queue.map(name_of) == learned.event.queue.as_deref());
    let machine = |(factors, start_s): (Factors, &f64)| {
        let backfills = factors.backfills.filter(|_| slots.is_some());
        let (hardware, limits) = factors::with(staged, class, &Factors { backfills, ..factors });
        Machine { hardware, limits, later_s: start_s - start.value }
    };
    let all = learned.factors(&assumed).into_iter().zip(&learned.draws.start).map(machine).collect();
    (all, calibration)
}

/// The recovery that it was learned from, and what was predicted of it.
fn on(learned: &Learned) -> String {
    let event = &learned.event;
    let [predicted, took] = human::alike([event.predicted_s, event.took_s], "s");
    let doubt = if event.unexplained.is_some() { ", which no constants explain" } else { "" };
    let what = match day(&event.began) {
        Some(day) => format!("the recovery of {day}"),
        None => format!("the recovery after {}", event.changes.join(", ")),
    };
    format!("calibrated on {what}{doubt}: predicted {predicted}, took {took}")
}

/// The day of a time, in words.
fn day(time: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut parts = time.split('T').next()?.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    let numbers = (year.parse::<u32>().ok()?, day.parse::<u32>().ok()?);
    Some(format!("{} {month} {}", numbers.1, numbers.0))
}

/// How this cluster differs from the one that was learned from.
fn differs(learned: &Learned, real: &real::Ready) -> Vec<String> {
    let event = &learned.event;
    let mut differs = Vec::new();
    if let (Some(theirs), Some(ours)) = (&event.cluster, &real.fsid)
        && theirs != ours
    {
        differs.push("it was another cluster".to_owned());
    }
    let paced = real.paced();
    let release = paced.release.map(|release| release.0.to_string());
    if let (Some(theirs), Some(ours)) = (&event.release, &release)
        && theirs != ours
    {
        differs.push(format!("it had Ceph {theirs}, and this one has {ours}"));
    }
    if let (Some(theirs), Some(ours)) = (event.queue.as_deref(), paced.queue.map(name_of))
        && theirs != ours
    {
        differs.push(format!("its queue was {theirs}, and this one is {ours}, whose pace is assumed"));
    }
    let others: Vec<&str> =
        real.groups.machines.classes.iter().copied().filter(|class| *class != event.class).collect();
    if !others.is_empty() {
        let what = others.join(", ");
        differs.push(format!("its disks were {}: typical values are assumed of {what}", event.class));
    }
    differs
}
