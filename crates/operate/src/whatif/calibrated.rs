//! What `towtank learn` found of the machines: the file that a scenario names, and the starts that it has.

use towtank_recovery::keys::Keys;
use towtank_scenario::{Draft, Problems};
use towtank_study::files::Reader;
use towtank_units::SimSpan;

use super::scenario::Scenario;
use crate::learned::{self, Learned};
use crate::real::factors;

/// The key that names the file.
const KEY: &str = "machines";

/// From changes to the first objects that move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starts {
    set: Option<SimSpan>,
    times: f64,
    /// Whether anything is asked for: what is under way waits for nothing.
    pub(super) asks: bool,
}

impl Starts {
    /// As the scenario says it, or as it was learned.
    fn of(scenario: &Scenario, learned: Option<&Learned>) -> Starts {
        let start = learned.map(|learned| learned.constants.start);
        Starts {
            set: scenario.start,
            times: start.map_or(1.0, |start| start.value / start.assumed),
            asks: true,
        }
    }

    /// The same where something is asked for, or nothing is.
    pub(super) fn when(self, asks: bool) -> Starts {
        Starts { asks, ..self }
    }

    /// After a change that usually takes so long.
    pub(super) fn after(self, usual: SimSpan) -> SimSpan {
        self.set.unwrap_or_else(|| if self.times == 1.0 { usual } else { factors::times(usual, self.times) })
    }
}

/// Reads the file that the scenario names.
///
/// # Errors
/// What is wrong with it, or which other keys say the same.
pub(crate) fn load(scenario: &Scenario, draft: &Draft) -> Result<(Option<Learned>, Starts), Problems> {
    if scenario.machines.is_none() {
        return Ok((None, Starts::of(scenario, None)));
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
    let learned = problems.into_result(read.map(|read| read.value))?;
    let starts = Starts::of(scenario, learned.as_ref());
    Ok((learned, starts))
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
