//! Larger units where a rebuild would take too many events (`units = "auto"`).
//!
//! A run takes some events for each unit. With units of twice the size there are up to half as many, and a
//! disk takes as long for each as for the two that it stands for
//! ([`Hardware::with_larger_units`](towtank_rebuild::hardware::Hardware::with_larger_units)). What changes is
//! how the parts of an object overlap: a disk, a NIC or a turn of another object is held longer at a time.
//!
//! So larger units are checked in the same run, and used only if both checks hold:
//!
//! * For the first tenth of the time, as many bytes are written as with the units of the scenario.
//! * With units of twice that size, the times of the whole recovery are nearly the same, so they do not
//!   depend on it at the end either, where few objects are left.
//!
//! Left out: recoveries with clients, whose latencies depend on the size of units, and devices that come
//! back with their data, where the time decides what is missing. With reservations of groups the order in
//! which they are granted decides the time, and small differences decide the order: of 25 drawn clusters that
//! passed both checks, two were 2.7 and 3.5 % off, both with reservations.

use serde::{Deserialize, Serialize};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_report::{Warning, human};
use towtank_units::{Bytes, SimSpan};

use towtank_recovery::estimate::ERROR_MAX;
use towtank_recovery::running;
use towtank_study::{RunContext, StudyError};

/// Which units are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// Those of `unit`.
    #[default]
    Exact,
    /// Larger ones, where a run would take longer than `within` and two checks hold.
    Auto,
}

impl Units {
    /// Whether these are the units of the scenario.
    #[must_use]
    pub(super) fn are_exact(&self) -> bool {
        *self == Units::Exact
    }
}

/// The time that a run may take where none is given: a choice.
const WITHIN: SimSpan = SimSpan::from_secs(2);

/// The events of a rebuild that a core simulates per second: less than the 5.6 to 8.6 million that three
/// processors do (`BENCHMARKS.md`, "Rebuild"). A constant, so that the result does not depend on the machine.
const EVENTS_PER_SECOND: f64 = 4e6;

/// The part of the time that is also simulated with the units of the scenario: one in so many. A choice.
const PART: u64 = 10;

/// How many more or fewer bytes may be written in that part. Chosen, with [`ERROR_MAX`] for the times with
/// units of twice the size and [`SHRINKS`], after the errors of some hundred drawn clusters were seen, and
/// measured on others ([`MEASURED`]).
const PART_ERROR_MAX: f64 = 0.01;

/// Units of twice the size must be at most this share as many, so that most objects keep several of them:
/// otherwise the second check compares nearly the same runs.
const SHRINKS: f64 = 0.65;

/// The largest unit, and the most times that units are doubled.
const UNIT_MAX: u64 = 1 << 30;
const DOUBLINGS: usize = 8;

/// Shorter recoveries always have the units of the scenario: a run of so many events takes half a
/// second, and where few objects move, the last of them decide the time. Chosen after a smaller one,
/// with reservations, had passed the checks and was 5.2 % off.
const EVENTS_LEAST: u64 = 2_000_000;

/// Larger units are not tried if the checks leave more than this share of the events: a choice.
const WORTH: f64 = 0.6;

/// How much a run may take where units are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The time that it may take.
    pub within: SimSpan,
    /// With fewer events it has the units of the scenario.
    pub least: u64,
}

impl Budget {
    /// That of a scenario, if it leaves the units open.
    #[must_use]
    pub fn of(units: Units, within: Option<SimSpan>) -> Option<Budget> {
        match units {
            Units::Exact => None,
            Units::Auto => Some(Budget { within: within.unwrap_or(WITHIN), least: EVENTS_LEAST }),
        }
    }
}

/// A recovery that has run.
pub struct Ran {
    /// The result.
    pub recovered: Recovered,
    /// The machines with larger units, if those were used.
    pub larger: Option<Hardware>,
    /// What is said of them.
    pub note: Option<Warning>,
}

/// Events of a recovery by the number of times that its units are doubled; an estimate.
fn events(recovery: &Recovery<'_>) -> [u64; DOUBLINGS + 2] {
    let mut events = [0; DOUBLINGS + 2];
    let affected = recovery.affected;
    for record in 0..affected.records() {
        // A copy is read, sent, received, written and acknowledged; of a code, k shards are read and sent.
        let each = 3 * u64::from(affected.kind(record).redundancy.data) + 2;
        for bytes in affected.sizes(record) {
            let units = bytes.div_ceil(recovery.hardware.unit());
            for (doubled, events) in events.iter_mut().enumerate() {
                *events += each * ((units + (1 << doubled) - 1) >> doubled);
            }
        }
    }
    events
}

/// Events of a run with units that are doubled so many times, and of its checks.
fn cost(events: &[u64], doubled: usize) -> f64 {
    let part = (events[0] + events[doubled]) as f64 / PART as f64;
    (events[doubled] + events[doubled + 1]) as f64 + part
}

/// How often units are to be doubled so that the run and its checks take `most` events; as few as possible,
/// if they take more. None if that saves little.
fn doublings(events: &[u64], unit: u64, most: f64) -> Option<usize> {
    let shrinks = |doubled: usize| events[doubled + 1] as f64 <= SHRINKS * events[doubled] as f64;
    let may =
        || (1..events.len() - 1).filter(|doubled| shrinks(*doubled) && unit << (doubled + 1) <= UNIT_MAX);
    let least = || may().min_by(|left, right| cost(events, *left).total_cmp(&cost(events, *right)));
    let doubled = may().find(|doubled| cost(events, *doubled) <= most).or_else(least)?;
    is_worth(events, doubled).then_some(doubled)
}

/// Whether units that are doubled so many times save events, with their checks.
fn is_worth(events: &[u64], doubled: usize) -> bool {
    cost(events, doubled) <= WORTH * events[0] as f64
}

/// Runs a recovery, with larger units where the scenario asks for them, they save much and pass the checks.
///
/// # Errors
/// When the model fails.
pub fn run(
    recovery: &Recovery<'_>,
    budget: Option<Budget>,
    context: &RunContext<'_>,
) -> Result<Ran, StudyError> {
    let exact = |context: &RunContext<'_>, note: Option<String>| {
        let recovered = running::run(recovery, context)?;
        Ok(Ran { recovered, larger: None, note: note.map(Warning::note) })
    };
    let Some(Budget { within, least }) = budget else { return exact(context, None) };
    let events = events(recovery);
    let most = within.as_secs_f64() * EVENTS_PER_SECOND;
    if events[0] < least || events[0] as f64 <= most {
        return exact(context, None);
    }
    let unit = recovery.hardware.unit();
    let refused = |why: &str| {
        Some(format!(
            "`units = auto`: all units were simulated, because {why}; so times are exact, and less data or a larger \
             `unit` of the cluster itself would take fewer events"
        ))
    };
    if recovery.clients.is_some() {
        return exact(context, refused("latencies of clients depend on the size of units"));
    }
    if recovery.later.returns.iter().any(|back| !back.empty) {
        return exact(context, refused("what is missing on devices that come back depends on the time"));
    }
    if recovery.limits.reservations.is_some() {
        return exact(context, refused("the order in which groups get their reservations decides the time"));
    }
    let Some(doubled) = doublings(&events, unit, most) else {
        return exact(context, refused("larger ones would hardly take fewer events"));
    };
    match checked(recovery, &events, doubled, context)? {
        Ok((recovered, larger)) => {
            let note = (!recovered.partial).then(|| Warning::note(used(unit, larger.unit())));
            Ok(Ran { recovered, larger: Some(larger), note })
        }
        Err(why) => context.within(0.5..1.0, |context| exact(context, refused(&why))),
    }
}

/// The recovery with units that are doubled so many times, or less often if that writes as much in the first
/// part of the time; or why larger units are not used.
fn checked(
    recovery: &Recovery<'_>,
    events: &[u64],
    doubled: usize,
    context: &RunContext<'_>,
) -> Result<Result<(Recovered, Hardware), String>, StudyError> {
    let larger = |doubled: usize| recovery.hardware.with_larger_units(1 << doubled);
    let rough = larger(doubled + 1);
    // Half of the progress: the other half follows if larger units are not used.
    let mut other =
        context.within(0.0..0.1, |context| running::run(&with_machines(recovery, &rough), context))?;
    let last = other.last_write.checked_since(other.first_transfer).unwrap_or_default();
    let end = other.first_transfer.saturating_add(SimSpan::from_ns(last.as_ns().div_ceil(PART)));
    let before =
        context.within(0.1..0.2, |context| recovery.run_until(end, context)).map_err(running::failed)?;
    let mut why = String::new();
    for less in (1..=doubled).rev().filter(|less| is_worth(events, *less)) {
        let fine = larger(less);
        let with = context
            .within(0.2..0.3, |context| with_machines(recovery, &fine).run_until(end, context))
            .map_err(running::failed)?;
        if [&other, &before, &with].iter().any(|found| found.partial) {
            // What was stopped before its check is no result.
            other.partial = true;
            return Ok(Ok((other, rough)));
        }
        if let Err(error) = writes_as_much(&before, &with) {
            why = format!("with units of {} {error}", Bytes::new(fine.unit()));
            continue;
        }
        let mut found =
            context.within(0.3..0.4, |context| running::run(&with_machines(recovery, &fine), context))?;
        if less < doubled && !found.partial {
            let rough = larger(less + 1);
            other = context
                .within(0.4..0.5, |context| running::run(&with_machines(recovery, &rough), context))?;
        }
        if found.partial || other.partial || found.difference(&other) <= ERROR_MAX {
            found.partial |= other.partial;
            return Ok(Ok((found, fine)));
        }
        return Ok(Err(format!(
            "with units of {} and of twice the size times differ by more than {}",
            Bytes::new(fine.unit()),
            human::quantity(ERROR_MAX, "fraction")
        )));
    }
    Ok(Err(why))
}

/// The recovery on other machines.
fn with_machines<'a>(recovery: &Recovery<'a>, hardware: &'a Hardware) -> Recovery<'a> {
    Recovery { hardware, ..recovery.clone() }
}

/// Compares the first part of the time with the units of the scenario and with larger ones.
fn writes_as_much(before: &Recovered, with: &Recovered) -> Result<(), String> {
    let written = |found: &Recovered| found.disks.iter().map(|disk| disk.2).sum::<u64>() as f64;
    let error = (written(with) / written(before) - 1.0).abs();
    // Nothing may have been written at all: then nothing is known.
    if error <= PART_ERROR_MAX {
        return Ok(());
    }
    let most = human::quantity(PART_ERROR_MAX, "fraction");
    Err(format!(
        "the bytes that are written in the first tenth of the time differ by more than {most} (as on disks with \
         seeks: how many a larger unit stands for depends on the other objects in progress)"
    ))
}

/// What is said of larger units that are used.
fn used(unit: u64, larger: u64) -> String {
    let [unit, larger, rough] = [unit, larger, 2 * larger].map(Bytes::new);
    format!(
        "`units = auto`: data moved in units of {larger} in place of {unit}, so times are estimates: with units of \
         {rough} they differ by at most {}, and in the first tenth of the time units of {unit} write as much within \
         {}; {MEASURED}; units = \"exact\" simulates all",
        human::quantity(ERROR_MAX, "fraction"),
        human::quantity(PART_ERROR_MAX, "fraction"),
    )
}

/// The error against the units of the scenario, over drawn clusters (`tests/coarse.rs`, docs/rebuild.md).
const MEASURED: &str = "of 160 random clusters 28 were simulated with larger units, and the time until all copies are \
                        back was 0.1 % off in the median and 1.3 % at most";
