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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use towtank_scenario::Source;

    use super::*;
    use crate::all;
    use crate::exports::samples;

    /// The keys for exports have the same names in all studies, and their former names are still accepted.
    #[test]
    fn exports_have_one_name_and_keep_their_old_ones() {
        let hash = |text: &str| {
            let document = Document::parse(&Source::file("a.toml", text.to_owned())).unwrap();
            let document = document.with_files(Arc::new(samples::example()));
            check(all(), document)
                .unwrap_or_else(|problems| panic!("{problems:?}"))
                .resolved()
                .hash()
                .to_owned()
        };
        let text = |study: &str, change: &str, map: &str, dump: &str| {
            hash(&format!(
                "study = \"{study}\"\n{map} = \"crush.txt\"\n{dump} = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n{change}"
            ))
        };
        let (out, fail) = ("mark_out = \"osd.5\"", "fail = \"osd.5\"");
        assert_eq!(text("preview", out, "crush_map", "osd_dump"), text("preview", out, "map", "osd_dump"));
        assert_eq!(
            text("whatif", fail, "crush_map", "osd_dump"),
            text("whatif", fail, "ceph_map", "ceph_dump")
        );
    }

    /// Placement algorithms have the same names in all studies; their former names are still accepted.
    #[test]
    fn placements_are_understood_under_their_former_names() {
        let hash = |text: String| {
            let document = Document::parse(&Source::file("a.toml", text.clone())).unwrap();
            check(all(), document)
                .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
                .resolved()
                .hash()
                .to_owned()
        };
        for (old, new) in [
            ("crush", "crush-straw2"),
            ("crush_straw", "crush-straw"),
            ("crush_vring", "crush-vring"),
            ("crush_straw2", "crush-straw2"),
            ("static_modulo", "static-modulo"),
            ("ring", "ring"),
        ] {
            let place = |name: &str| hash(format!("study = \"place\"\nalgorithm = \"{name}\""));
            let rebuild = |name: &str| hash(format!("study = \"rebuild\"\nplacement = \"{name}\""));
            assert_eq!(place(old), place(new), "{old}");
            assert_eq!(rebuild(old), rebuild(new), "{old}");
        }
        let swept = |names: &str| hash(format!("study = \"place\"\n[sweep]\nalgorithm = {names}"));
        assert_eq!(swept("[\"ring\", \"crush-straw2\"]"), swept("[\"ring\", \"crush\"]"));
    }
}
