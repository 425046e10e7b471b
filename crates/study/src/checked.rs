//! From the text of a scenario to points that are ready to run.
//!
//! The study is found by its name among those of the caller, every point of the sweep goes through
//! [`Study::check`], and the results form the resolved scenario and its hash.

use towtank_report::Outcome;
use towtank_scenario::{Document, HashedBeside, Header, Input, Problem, Problems, Resolved, did_you_mean};
use towtank_units::Bytes;

use crate::{Prepared, RunContext, Study, StudyError, named};

/// A scenario that passed all checks.
pub struct CheckedScenario {
    study: &'static dyn Study,
    header: Header,
    resolved: Resolved,
    points: Vec<CheckedPoint>,
}

/// One point of the scenario.
pub struct CheckedPoint {
    /// The checked point, ready to run.
    pub prepared: Box<dyn Prepared>,
    /// The files that its study read.
    pub inputs: Vec<Input>,
}

/// Checks a whole scenario of one of these studies.
///
/// # Errors
/// Every problem of the scenario, each with its place in the text.
pub fn check(studies: &[&'static dyn Study], document: Document) -> Result<CheckedScenario, Problems> {
    let study = study_of(studies, &document)?;
    let outline = document.with_schema(study.schema().to_value().into()).outline()?;
    let mut problems = Problems::new();
    let mut points = Vec::with_capacity(outline.points().len());
    for point in outline.points() {
        match study.check(point.draft()) {
            Ok(prepared) => points
                .push(CheckedPoint { prepared: Box::new(Whole(prepared)), inputs: point.draft().inputs() }),
            Err(found) => problems.extend(found),
        }
    }
    let points = problems.into_result(points)?;
    let mut input_hashes: Vec<String> = Vec::new();
    for input in points.iter().flat_map(|point| &point.inputs) {
        if !input_hashes.contains(&input.hash) {
            input_hashes.push(input.hash.clone());
        }
    }
    let beside = HashedBeside { results_version: study.results_version(), input_hashes: &input_hashes };
    let studies = points.iter().map(|point| point.prepared.resolved()).collect();
    let resolved = outline.resolve(studies, beside)?;
    Ok(CheckedScenario { study, header: outline.header().clone(), resolved, points })
}

/// A point of any study, whose outcome is partial if anything of the replicate was cut short. A study that
/// tries changes after its main run need not remember to say so.
struct Whole(Box<dyn Prepared>);

impl Prepared for Whole {
    fn resolved(&self) -> serde_json::Value {
        self.0.resolved()
    }

    fn memory_estimate(&self) -> Option<Bytes> {
        self.0.memory_estimate()
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        let (outcome, cut_short) = context.whole(|context| self.0.run(context));
        outcome.map(|outcome| Outcome { partial: outcome.partial || cut_short, ..outcome })
    }
}

/// The study among these that the scenario names.
///
/// # Errors
/// When the scenario names no study, or one that is not in the list.
pub fn study_of(studies: &[&'static dyn Study], document: &Document) -> Result<&'static dyn Study, Problem> {
    let (name, place) = document.study()?;
    named(studies, name).ok_or_else(|| {
        let names = || studies.iter().map(|study| study.name());
        let hint = did_you_mean(name, names())
            .unwrap_or_else(|| format!("the studies are {}", names().collect::<Vec<_>>().join(", ")));
        Problem::new(format!("there is no study called `{name}`")).hint(hint).at(place.clone())
    })
}

impl CheckedScenario {
    /// The study that the scenario names.
    #[must_use]
    pub fn study(&self) -> &'static dyn Study {
        self.study
    }

    /// Seed, replicates and title.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The title of its report: that of the header, or else that of the study.
    #[must_use]
    pub fn title(&self) -> &str {
        self.header.title.as_deref().unwrap_or(self.study.title())
    }

    /// The resolved scenario, with its hash.
    #[must_use]
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// The points, in sweep order; a single point without a sweep.
    #[must_use]
    pub fn points(&self) -> &[CheckedPoint] {
        &self.points
    }
}
