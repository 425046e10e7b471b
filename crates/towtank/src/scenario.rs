//! A valid scenario: its study, points and gates.

use towtank_campaign::{Inputs, KeyParts, Plan, PointKey, PointSpec};
use towtank_report::SweepAxis;
use towtank_scenario::gate::Gate;
use towtank_scenario::{Header, Resolved};
use towtank_study::{CheckedPoint, CheckedScenario, Study};

use crate::Trouble;

/// A checked scenario, which can be run any number of times.
pub struct Scenario {
    pub(crate) checked: CheckedScenario,
    pub(crate) gates: Vec<Gate>,
    /// The gates' texts as given.
    pub(crate) fail_if: Vec<String>,
    /// The input files, which must not be overwritten.
    pub(crate) inputs: Inputs,
}

impl Scenario {
    /// The study.
    #[must_use]
    pub fn study(&self) -> &'static dyn Study {
        self.checked.study()
    }

    /// Seed, replicates and title.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.checked.header()
    }

    /// The resolved scenario, with every default filled in, and its hash.
    #[must_use]
    pub fn resolved(&self) -> &Resolved {
        self.checked.resolved()
    }

    /// The gates of its report.
    #[must_use]
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The files that it was read from, which nothing may overwrite.
    #[must_use]
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    pub(crate) fn points(&self) -> &[CheckedPoint] {
        self.checked.points()
    }

    /// The heading of the report: the user's title, or else the study's, with a capital letter.
    fn title(&self) -> String {
        self.header().title.clone().unwrap_or_else(|| heading(self.study()))
    }

    /// All its runs, and the names of their results.
    pub(crate) fn plan(&self) -> Result<Plan, Trouble> {
        let (study, header, resolved) = (self.study(), self.header(), self.resolved());
        let axes = resolved.axes().iter();
        let axes = axes.map(|axis| SweepAxis { key: axis.key.clone(), values: axis.values.clone() });
        let points = resolved.points().iter().zip(self.points()).map(|(resolved, checked)| PointSpec {
            settings: resolved.settings.clone(),
            scenario: resolved.scenario.clone(),
            key: PointKey::new(&KeyParts {
                study: study.name(),
                scenario_hash: &resolved.hash,
                input_hashes: &checked.inputs.iter().map(|input| input.hash.clone()).collect::<Vec<_>>(),
                seed: header.seed,
                results_version: study.results_version(),
            }),
        });
        let head = towtank_campaign::Header {
            study: study.name().to_owned(),
            title: self.title(),
            results_version: study.results_version(),
            seed: header.seed,
            scenario: resolved.scenario().clone(),
            scenario_hash: resolved.hash().to_owned(),
        };
        Plan::new(head, header.replicates, axes.collect(), points.collect()).map_err(Trouble::input)
    }
}

/// The title of a study as a heading, with a capital letter.
#[must_use]
pub fn heading(study: &dyn Study) -> String {
    let mut chars = study.title().chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
