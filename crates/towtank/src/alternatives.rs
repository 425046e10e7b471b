//! A scenario in several versions: all are run, and compared with the first.

use std::path::{Path, PathBuf};

use towtank_campaign::{Shard, Side};
use towtank_report::Report;
use towtank_scenario::Problem;

use crate::compare::{compare_sides, letter};
use crate::run::run_and_keep;
use crate::{Done, Observer, Options, Registry, Scenario, Trouble, Unmet, files};

/// A version of a scenario.
pub struct Alternative {
    /// What it is called in the report: `profile=balanced`.
    pub name: String,
    /// The scenario.
    pub scenario: Scenario,
}

/// The result of several versions.
#[derive(Clone, Debug)]
pub struct Alternatives {
    /// The comparison; `None` if it was stopped before each version had a result.
    pub report: Option<Report>,
    /// Whether it was stopped.
    pub interrupted: bool,
    /// How many runs of all versions are finished.
    pub done: Done,
    /// The gates that a version does not meet; each reason begins with the version's letter and name.
    pub unmet: Vec<Unmet>,
}

/// Runs versions of a scenario one after the other, and compares all with the first.
///
/// The options' `out` receives the comparison, and a folder with the runs and the report of each version:
/// `a`, `b` and so on. Where it was stopped before each version had a result, there are only the folders: a
/// comparison of some would look like that of all. Their `shard` is ignored.
///
/// # Errors
/// When there are fewer than two versions, one cannot be run, they cannot be compared, or a file cannot be
/// written.
pub fn run_alternatives(
    versions: &[Alternative],
    registry: &Registry,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Alternatives, Trouble> {
    if versions.len() < 2 {
        let hint = "name what else to set, or run the scenario alone";
        return Err(Problem::new("there is nothing to compare the scenario with").hint(hint).into());
    }
    options.out.as_deref().map(files::refuse_campaign).transpose()?;
    let mut all = Gathered::default();
    for (at, version) in versions.iter().enumerate() {
        let runs = version.scenario.plan()?.tasks().count();
        all.done.of += runs;
        if !all.interrupted {
            all.take(at, version, options, observer)?;
        }
    }
    let report = match &all.sides[..] {
        sides if sides.len() < versions.len() => None,
        // What is done so far may have nothing in common with the first yet.
        sides if all.interrupted => compare_sides(sides, registry).ok(),
        sides => Some(compare_sides(sides, registry)?),
    };
    if let (Some(report), Some(dir)) = (&report, &options.out) {
        let inputs = versions.iter().flat_map(|version| version.scenario.inputs.real_paths());
        let inputs: Vec<PathBuf> = inputs.map(Path::to_owned).collect();
        files::write_report(report, dir, &inputs)?;
    }
    Ok(Alternatives { report, interrupted: all.interrupted, done: all.done, unmet: all.unmet })
}

/// The results so far.
#[derive(Default)]
struct Gathered {
    sides: Vec<Side>,
    interrupted: bool,
    done: Done,
    unmet: Vec<Unmet>,
}

impl Gathered {
    /// Runs the next version.
    fn take(
        &mut self,
        at: usize,
        version: &Alternative,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<(), Trouble> {
        let (letter, name) = (letter(at), &version.name);
        observer.scenario(&format!("{letter}: {name}"));
        let out = options.out.as_ref().map(|dir| dir.join(letter.to_lowercase()));
        let own = Options { out, shard: Shard::WHOLE, ..options.clone() };
        let (ran, points) = run_and_keep(&version.scenario, &own, observer)?;
        self.interrupted = ran.interrupted;
        self.done.runs += ran.done.runs;
        self.unmet.extend(ran.unmet.into_iter().map(|unmet| Unmet {
            reasons: unmet.reasons.iter().map(|reason| format!("{letter} ({name}): {reason}")).collect(),
            ..unmet
        }));
        self.sides.extend(ran.report.map(|report| Side {
            called: name.clone(),
            points: Some(points),
            ..Side::new(&letter, report)
        }));
        Ok(())
    }
}
