//! A checked scenario: the recovery that is left by the latest report, and the one that was left by an
//! earlier one.

use std::sync::Arc;

use towtank_report::Warning;
use towtank_scenario::{Draft, Files, Problems};
use towtank_units::Bytes;

use super::moments::{self, Moment};
use super::scenario::Scenario;
use super::stretch::{self, Stretches};
use crate::learning::without_places;
use crate::whatif::replay::Replay;
use crate::whatif::time_alone::Loaded;

/// A checked scenario.
pub struct Ready {
    pub(super) scenario: Scenario,
    /// The reports, in the order of time.
    pub(super) moments: Vec<Moment>,
    /// What is left by the latest one.
    pub(super) now: Replay,
    /// Between which reports the speed is measured, or why it is not.
    pub(super) stretches: Stretches,
    /// What is left by those at which stretches begin, by their number among the reports.
    pub(super) earlier: Vec<(usize, Replay)>,
    pub(super) warnings: Vec<Warning>,
}

impl Ready {
    /// Reads the reports.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub(super) fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        let mut warnings = Vec::new();
        let moments = moments::read_all(&scenario.report, draft, &mut warnings)?;
        for (key, named) in [
            ("pg_dump", scenario.pg_dump.is_some()),
            ("osd_df", scenario.osd_df.is_some()),
            ("machines", scenario.machines.is_some()),
        ] {
            if named {
                draft.input(key)?;
            }
        }
        let files: Arc<dyn Files> = Arc::new(Loaded(draft.inputs()));
        let replay = |moment: &Moment, beside: bool| {
            let text = scenario.about(&moment.file, beside);
            Replay::of(text, Arc::clone(&files)).map_err(|problems| without_places(&problems))
        };
        let latest = moments.last().expect("there is a report, or it was refused");
        let now = replay(latest, true)?;
        let stretches = stretch::choose(&moments);
        let mut earlier = Vec::new();
        for &number in &stretches.begins {
            let mut from = replay(&moments[number], false)?;
            from.follow(&now);
            earlier.push((number, from));
        }
        warnings.extend(stretches.warnings());
        Ok(Ready { scenario, moments, now, stretches, earlier, warnings })
    }

    /// The latest report.
    pub(super) fn latest(&self) -> &Moment {
        self.moments.last().expect("there is a report")
    }

    /// By how much what is assumed of the machines is off, as a share: a standard deviation.
    pub(super) fn spread(&self) -> f64 {
        self.now.ready.scenario.speed_spread.fraction_f64()
    }

    /// An estimate of the memory of a replicate.
    pub(super) fn memory_estimate(&self) -> Bytes {
        self.now.ready.memory_estimate()
    }
}
