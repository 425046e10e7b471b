//! Machines whose constants were learned from a recovery, in place of typical values.
//!
//! Each row of what was learned is a cluster of machines. `whatif` runs each with another order of groups, so
//! that the range of a time comes from both. What the constants were not learned of is said: other disks,
//! another release or queue.

use serde::{Deserialize, Serialize};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::model::Limits;
use towtank_rebuild::recovery::Recovery;
use towtank_report::human;

use super::Ready;
use super::factors::{self, Constants, Factors};
use crate::learned::{Learned, Rows, name_of};

/// Machines with the constants of one row.
pub(crate) struct Machine {
    hardware: Hardware,
    limits: Limits,
    /// How much later than usual the first object moves.
    pub later_s: f64,
}

impl Machine {
    /// A recovery on them.
    pub(crate) fn in_place<'a>(&'a self, recovery: Recovery<'a>) -> Recovery<'a> {
        Recovery { hardware: &self.hardware, limits: &self.limits, ..recovery }
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

/// The machines of each row, and what is said of them.
pub(crate) fn machines(
    learned: &Learned,
    real: &Ready,
    (base, limits): (&Hardware, &Limits),
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
            .filter(|(.., constant)| !constant.known)
            .map(|(name, ..)| (*name).to_owned())
            .collect(),
    };
    let known = class.and_then(|class| Some((class, factors::assumed((base, limits), class)?)));
    let Some((class, assumed)) = known else { return (Vec::new(), calibration) };
    let start = learned.constants.start;
    let slots =
        assumed.backfills.filter(|_| real.paced().queue.map(name_of) == learned.event.queue.as_deref());
    let machine = |(factors, start_s): (Factors, &f64)| {
        let backfills = factors.backfills.filter(|_| slots.is_some());
        let (hardware, limits) = factors::with((base, limits), class, &Factors { backfills, ..factors });
        Machine { hardware, limits, later_s: start_s - start.value }
    };
    let all = of_rows(learned, &assumed).into_iter().zip(&learned.draws.start).map(machine).collect();
    (all, calibration)
}

/// The constants of each row, as factors of what is assumed now.
fn of_rows(learned: &Learned, assumed: &Constants) -> Vec<Factors> {
    let Rows { disk_rate, object_cost, recovery_sleep, queue_limit, start, max_backfills } = &learned.draws;
    let over = |row: &[f64], at: usize, of: f64| match row.get(at) {
        Some(value) if of > 0.0 => value / of,
        _ => 1.0,
    };
    let one = |at: usize| Factors {
        rate: over(disk_rate, at, assumed.rate),
        object: over(object_cost, at, assumed.object),
        sleep: over(recovery_sleep, at, assumed.sleep),
        limit: over(queue_limit, at, 1.0),
        start: over(start, at, learned.constants.start.assumed),
        backfills: max_backfills.get(at).map(|count| *count as u32),
    };
    (0..disk_rate.len()).map(one).collect()
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
fn differs(learned: &Learned, real: &Ready) -> Vec<String> {
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
