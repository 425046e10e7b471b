//! From a scenario's text to points that are ready to run.
//!
//! This is where the street turns from words to models: the study is found by its name among those that the caller has,
//! every point of the sweep goes through [`Study::check`], and what the study made of them becomes the resolved
//! scenario and its hash.

use towtank_scenario::{Document, HashedBeside, Header, Input, Problem, Problems, Resolved, did_you_mean};

use crate::{Prepared, Study, named};

/// A scenario without mistakes.
pub struct CheckedScenario {
    study: &'static dyn Study,
    header: Header,
    resolved: Resolved,
    points: Vec<CheckedPoint>,
}

/// One point of it.
pub struct CheckedPoint {
    /// Ready to run.
    pub prepared: Box<dyn Prepared>,
    /// The files that its study read.
    pub inputs: Vec<Input>,
}

/// Checks a whole scenario of one of these studies.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn check(studies: &[&'static dyn Study], document: Document) -> Result<CheckedScenario, Problems> {
    let study = study_of(studies, &document)?;
    let outline = document.with_schema(study.schema().to_value().into()).outline()?;
    let mut problems = Problems::new();
    let mut points = Vec::with_capacity(outline.points().len());
    for point in outline.points() {
        match study.check(point.draft()) {
            Ok(prepared) => points.push(CheckedPoint { prepared, inputs: point.draft().inputs() }),
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

/// The study, one of these, that a scenario names.
///
/// # Errors
/// When it names none, or one that is not among them.
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
    /// What is asked.
    #[must_use]
    pub fn study(&self) -> &'static dyn Study {
        self.study
    }

    /// Seed, replicates and title.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The heading of its report.
    #[must_use]
    pub fn title(&self) -> &str {
        self.header.title.as_deref().unwrap_or(self.study.title())
    }

    /// As it was understood, with its hash.
    #[must_use]
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// The points, in sweep order; one without a sweep.
    #[must_use]
    pub fn points(&self) -> &[CheckedPoint] {
        &self.points
    }
}
