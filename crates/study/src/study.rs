//! The interface of a study to the rest of the program: a name, a scenario type, a way to run one replicate,
//! and a way to present all of them.
//!
//! A study never prints, never opens a file and never sees a flag. [`Study::check`] turns a [`Draft`] (text
//! that knows its places) into a [`Prepared`] run; the campaign calls [`Prepared::run`] once per replicate,
//! on any thread, and passes the results of all points to [`Study::present`]. Results of one replicate go
//! into its [`Outcome`]; results that need all of them (tables over a sweep, figures, claims) go into the
//! study's [`Presentation`].

use std::collections::BTreeMap;

use towtank_report::{Answer, Claim, Figure, Interval, Measure, Outcome, Table, Warning};
use towtank_scenario::gate::Gate;
use towtank_scenario::{Draft, Problem, Problems};
use towtank_units::Bytes;

use crate::{RunContext, StudyError};

/// One question that can be asked of a model.
pub trait Study: Sync {
    /// The word in `study = "…"` and the name of its command: lower case, one word.
    fn name(&self) -> &'static str;

    /// One line for `towtank list`: the question, no full stop.
    fn title(&self) -> &'static str;

    /// A paragraph or two for `towtank NAME --help`: what is modelled, what is left out.
    fn about(&self) -> &'static str;

    /// Must increase whenever the same scenario and seed would give other numbers than before. Part of the
    /// scenario hash, so that stored points of an older model are not mixed with new ones.
    fn results_version(&self) -> u32;

    /// Three command lines that answer usual questions, for the help.
    fn examples(&self) -> &'static [&'static str] {
        &[]
    }

    /// Short flag names for scenario keys, the most used first. Keys without one are still reachable through
    /// `--set`.
    fn flags(&self) -> &'static [Flag];

    /// Keys that are known only so that a refusal can say which study has them: help leaves out their flags.
    fn elsewhere(&self) -> &'static [&'static str] {
        &[]
    }

    /// Flags whose order counts, if there are any.
    fn ordered(&self) -> Option<Ordered> {
        None
    }

    /// Whether its report has a table `commands` with the commands of a plan in a column `command`.
    fn lists_commands(&self) -> bool {
        false
    }

    /// The JSON Schema of the study's own keys: `schemars::schema_for!(MyScenario)`.
    fn schema(&self) -> schemars::Schema;

    /// Every measure that [`Prepared::run`] may yield, and that a gate may therefore name.
    fn measures(&self) -> &'static [MeasureSpec];

    /// Every measure of one point, by its resolved scenario, where the scenario determines which there are:
    /// one for each application.
    fn measures_of(&self, _scenario: &serde_json::Value) -> Vec<MeasureSpec> {
        self.measures().to_vec()
    }

    /// Why no run of this point, by its resolved scenario, can have a value of this measure: latencies of
    /// clients, where there are no clients. A gate on it is refused before the run. `None` where it may have
    /// one.
    fn lacks(&self, _scenario: &serde_json::Value, _measure: &str) -> Option<String> {
        None
    }

    /// Keys of the scenario that increase the memory of a run, the strongest first: what to lower where it
    /// does not fit.
    fn memory_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// Names of the built-in scenarios whose claims `towtank reproduce` checks.
    fn published(&self) -> &'static [&'static str] {
        &[]
    }

    /// Further commands of the study: `towtank NAME plan`.
    fn subcommands(&self) -> &'static [Subcommand] {
        &[]
    }

    /// Its command that searches for a scenario that meets given goals: `towtank NAME tune`.
    fn search(&self) -> Option<&'static Search> {
        None
    }

    /// Checks one point completely. A point that passes must not fail later for a reason that lies in the
    /// scenario.
    ///
    /// # Errors
    /// Every problem of the draft, each with its place.
    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems>;

    /// Tables, figures, claims and warnings over all points. Points are in sweep order; a single point
    /// without a sweep.
    fn present(&self, points: &[PointResult<'_>]) -> Presentation;

    /// What of these points cannot be read back, so that it would be missing in the presentation; nothing
    /// where all of it can.
    fn unreadable(&self, _points: &[PointResult<'_>]) -> Option<String> {
        None
    }
}

/// A short flag of a study's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name, without the dashes: `servers`.
    pub name: &'static str,
    /// The scenario key it sets: `cluster.servers`, `stations[0].servers`. Its help text is the key's
    /// description in the schema.
    pub key: &'static str,
}

/// A flag of this name for this key.
#[must_use]
pub const fn flag(name: &'static str, key: &'static str) -> Flag {
    Flag { name, key }
}

/// Keys whose flags are made in the order of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Ordered {
    /// The key of the list that keeps the order: each entry is the name of a flag and its value.
    pub list: &'static str,
    /// The keys.
    pub keys: &'static [&'static str],
}

/// A command of a study that runs no replicates: it computes an answer from its flags, and prints it.
#[derive(Clone, Copy, Debug)]
pub struct Subcommand {
    /// The word after the study's name.
    pub name: &'static str,
    /// One line, no full stop.
    pub about: &'static str,
    /// A paragraph for its `--help`.
    pub help: &'static str,
    /// Its flags. Each takes a value.
    pub flags: &'static [SubcommandFlag],
    /// Computes the answer from the given flags and their values.
    pub answer: fn(&Given<'_>) -> Result<Output, Problems>,
}

/// A flag of a [`Subcommand`].
#[derive(Clone, Copy, Debug)]
pub struct SubcommandFlag {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// The placeholder for its value in the help: `N`, `SPAN`.
    pub value: &'static str,
    /// The value where the flag is left out; empty where the flag is required, or has no value then.
    pub default: &'static str,
    /// A line of help, no full stop.
    pub about: &'static str,
}

/// The flags of a [`Subcommand`] with their values, given or default.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a>(pub &'a [(&'static str, String)]);

impl Given<'_> {
    /// The value of a flag, if it has one.
    #[must_use]
    pub fn text(&self, flag: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == flag).map(|(_, value)| value.as_str())
    }

    /// The value of a flag, parsed.
    ///
    /// # Errors
    /// When it is missing or does not parse: the problem names the flag and what was written, and has `hint`.
    pub fn read<T: std::str::FromStr>(&self, flag: &str, hint: &str) -> Result<T, Problem> {
        let Some(text) = self.text(flag) else {
            return Err(Problem::new(format!("--{flag} is missing")).hint(hint.to_owned()));
        };
        let wrong =
            |_| Problem::new(format!("--{flag} is `{text}`, which is not valid")).hint(hint.to_owned());
        text.trim().parse().map_err(wrong)
    }
}

/// The output of a [`Subcommand`]: for people, and for programs (`--format json`).
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The text for people.
    pub text: String,
    /// The same content as data.
    pub data: serde_json::Value,
    /// Tables of its report (`--out`).
    pub tables: Vec<Table>,
    /// Figures of its report.
    pub figures: Vec<Figure>,
}

/// A command of a study that tries changes of a scenario until given goals are met.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The word after the study's name.
    pub name: &'static str,
    /// One line, no full stop.
    pub about: &'static str,
    /// A paragraph for its `--help`.
    pub help: &'static str,
    /// Finds the change, by trials. `schedulers`, if any, are tried instead of the scenario's.
    pub find: fn(&mut dyn Trials, schedulers: &[String]) -> Result<Found, TrialError>,
}

/// A scenario that can be run with changes.
pub trait Trials {
    /// The resolved scenario, with nothing changed.
    fn scenario(&self) -> &serde_json::Value;
    /// The goals to meet.
    fn goals(&self) -> &[Gate];
    /// Runs all replicates with these keys set to these values, in TOML.
    ///
    /// # Errors
    /// When the changed scenario is not valid, a run fails, or the user stopped it.
    fn run(&mut self, changes: &[(String, String)]) -> Result<Summary, TrialError>;
}

/// The measures of a trial, as means over the replicates.
pub type Summary = BTreeMap<String, Measure>;

/// Why a search has no answer.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The scenario or the goals must be changed.
    #[error("{0}")]
    Input(Problems),
    /// A run failed.
    #[error("{0}")]
    Failed(Problem),
    /// The user stopped it.
    #[error("it was stopped")]
    Stopped,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The answer that is printed.
    pub answer: Output,
    /// Whether all goals are met.
    pub met: bool,
}

/// A measure that a study promises to yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasureSpec {
    /// Stable, snake_case: `wait_mean`.
    pub name: &'static str,
    /// The unit of its value, as reports have it: `s`, `bytes`, `bytes/s`, `requests/s`, `fraction` (a share,
    /// never above 1), `ratio` (which may be), a plain word (`jobs`), or nothing for a bare number.
    pub unit: &'static str,
    /// The meaning of the measure: one line, no full stop.
    pub about: &'static str,
    /// Its name in words, without the unit: `Mean wait`. [`towtank_report::title::of`] makes one of a name.
    pub title: &'static str,
    /// The interval that its mean over replicates has.
    pub interval: Interval,
    /// A name that it had in an earlier version, or in the study that had it: the refusal of a gate on it
    /// names the new one.
    pub formerly: Option<&'static str>,
}

/// A checked point, ready to run any number of replicates at once.
pub trait Prepared: Send + Sync {
    /// The study's own part of the resolved scenario: every default filled in, units in their canonical form.
    /// It reads back to an equal scenario. Usually `serde_json::to_value(&self.scenario)`.
    fn resolved(&self) -> serde_json::Value;

    /// An estimate of the memory of one replicate, where that can be a problem. The campaign then runs fewer
    /// replicates at once.
    fn memory_estimate(&self) -> Option<Bytes> {
        None
    }

    /// Runs one replicate. Equal contexts (but for `executor`, `workers` and `progress`) give equal outcomes.
    ///
    /// When [`RunContext::stopped`] or a run of the context says so, it soon returns what was committed so
    /// far. The point that [`check`](crate::check) hands out then flags it `partial`.
    ///
    /// # Errors
    /// [`StudyError`]: what went wrong in the model, and what to do about it.
    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError>;
}

/// One point of a sweep with all its outcomes.
pub struct PointResult<'a> {
    /// The swept keys with their values, in the order of the scenario: `("cluster.servers", 8)`. Empty
    /// without a sweep.
    pub settings: &'a [(String, serde_json::Value)],
    /// The point's resolved scenario, as [`Prepared::resolved`] gave it.
    pub scenario: &'a serde_json::Value,
    /// One per finished replicate, in replicate order. Never empty.
    pub outcomes: &'a [Outcome],
}

/// What a study reports about all its points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Presentation {
    /// The answer: what the report begins with.
    pub answer: Answer,
    /// The name of the main measure.
    pub headline: Option<String>,
    /// The `id` of the figure that shows the answer.
    pub main_figure: Option<String>,
    /// Typed tables, the most important first.
    pub tables: Vec<Table>,
    /// Figures, in the order of the report.
    pub figures: Vec<Figure>,
    /// What was published, what was computed here, and whether they agree.
    pub claims: Vec<Claim>,
    /// Warnings that a reader needs before trusting the numbers. The report sorts them by severity.
    pub warnings: Vec<Warning>,
}
