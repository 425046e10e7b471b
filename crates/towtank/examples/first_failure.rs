//! How long until the first of many disks fails? A study of your own, from its question to its report, in one
//! file.
//!
//! `cargo run -p towtank --example first_failure` prints the report. Lifetimes are exponential, so the answer
//! is known: the mean lifetime, shared by the disks. `tests/library/first_failure.rs` holds the two against
//! each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank::{Builtin, Document, Options, Registry, Trouble, run};
use towtank_report::{Cell, Column, Interval, Outcome, Report, Table, text};
use towtank_scenario::{Draft, Problems};
use towtank_streams::{Draws, Purpose, distributions::Exponential};
use towtank_study::{Flag, MeasureSpec, PointResult, Prepared, Presentation, RunContext, Study, StudyError};
use towtank_units::SimSpan;

/// Disks of one kind, all new at the start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disks {
    /// Number of disks.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub disks: u32,
    /// Mean lifetime of a disk.
    pub lifetime: SimSpan,
}

/// The study: its scenario, and how its results are presented.
pub struct FirstFailure;

impl Study for FirstFailure {
    fn name(&self) -> &'static str {
        "first-failure"
    }

    fn title(&self) -> &'static str {
        "how long until the first of many disks fails"
    }

    fn about(&self) -> &'static str {
        "All disks are new at the start, and their lifetimes are exponential. Not modelled: replacement, and disks that age."
    }

    fn results_version(&self) -> u32 {
        1
    }

    fn flags(&self) -> &'static [Flag] {
        &[Flag { name: "disks", key: "disks" }]
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Disks)
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &[MeasureSpec {
            name: "first_failure",
            unit: "s",
            about: "time until the first disk fails",
            title: "First failure",
            interval: Interval::OfUnit,
            formerly: None,
        }]
    }

    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        let disks: Disks = draft.read()?;
        if disks.lifetime.is_zero() {
            let problem = draft.problem("lifetime", "`lifetime` is 0, but it must be longer");
            return Err(problem.hint("take it from the data sheet, as in \"200y\"").into());
        }
        Ok(Box::new(disks))
    }

    fn present(&self, points: &[PointResult<'_>]) -> Presentation {
        let columns = vec![Column::number("disks", ""), Column::number("expected", "s")];
        let mut table = Table::new("expected", "Expected by theory", columns);
        for point in points {
            let disks: Disks = serde_json::from_value(point.scenario.clone()).expect("it was checked");
            let expected = disks.lifetime.as_secs_f64() / f64::from(disks.disks);
            table.push(vec![Cell::from(disks.disks), Cell::from(expected)]);
        }
        Presentation { tables: vec![table], ..Presentation::default() }
    }
}

impl Prepared for Disks {
    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a scenario came out of text and goes back into it")
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        let lifetime = Exponential::with_mean_span(self.lifetime).expect("it was checked");
        let life = |disk| lifetime.sample_span(&mut Draws::new(context.seed, disk, 0).of(Purpose(0)));
        let first = (0..self.disks).map(life).min().expect("there is at least one disk");
        let mut outcome = Outcome { events: 1, ..Outcome::default() };
        outcome.measure("first_failure", first.as_secs_f64(), "s");
        Ok(outcome)
    }
}

/// The same question for small and large clusters, to be run by its name.
const SWEPT: Builtin = Builtin {
    path: "first-failure-by-size.toml",
    text: "study = \"first-failure\"\nlifetime = \"200y\"\nreplicates = 100\n[sweep]\ndisks = [10, 100, 1000]\n",
};

/// Registers the study and its scenario, runs it, and returns the report.
pub fn answer() -> Result<Report, Trouble> {
    let registry = Registry::builtin().with(&FirstFailure).map_err(Trouble::input)?;
    let registry = registry.with_scenario(SWEPT).map_err(Trouble::input)?;
    let scenario = Document::builtin("first-failure-by-size", &registry)?.check(&registry)?;
    Ok(run(&scenario, &Options::default(), &())?.report.expect("nobody asks to stop"))
}

#[allow(dead_code)] // The test that includes this file looks at the report instead.
fn main() -> Result<(), Trouble> {
    print!("{}", text::render(&answer()?, text::Style { colour: false, width: 100 }));
    Ok(())
}
