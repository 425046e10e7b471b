//! Scenarios: a name, a file, a text or a study, with keywords that set their keys.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use towtank::{Document, Registry, Trouble};
use towtank_scenario::{KeyPath, Problem, Problems, Setting};
use towtank_study::Study;

use crate::errors;
use crate::keywords::{self, Keyword};

/// All built-in studies and scenarios.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::builtin)
}

/// Where the text of a scenario comes from.
#[derive(Clone, Debug, FromPyObject)]
pub struct Origin {
    /// `find` (a file or a name), `text` or `study`.
    #[pyo3(item)]
    kind: String,
    /// The word, text or study.
    #[pyo3(item)]
    what: String,
    /// What errors call the text.
    #[pyo3(item)]
    name: String,
    /// The folder of the files that it names; empty for the current one.
    #[pyo3(item)]
    folder: PathBuf,
}

/// A keyword with its value in TOML, and what that value is: `number`, `text` or `other`.
type Given = (String, String, String);

/// A checked scenario, which can be run any number of times.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct Scenario(pub Arc<towtank::Scenario>);

#[pymethods]
impl Scenario {
    /// Checks a scenario with its keywords, the lists that are swept over, and its gates.
    #[new]
    fn new(
        py: Python<'_>,
        origin: Origin,
        given: Vec<Given>,
        over: Vec<Given>,
        fail_if: Vec<String>,
    ) -> PyResult<Scenario> {
        let checked = py.detach(|| check(&origin, given, over, &fail_if));
        checked.map(|scenario| Scenario(Arc::new(scenario))).map_err(|trouble| errors::raise(py, &trouble))
    }

    /// The name of the study.
    #[getter]
    fn study(&self) -> &'static str {
        self.0.study().name()
    }

    /// The hash of the resolved scenario.
    #[getter]
    fn hash(&self) -> &str {
        self.0.resolved().hash()
    }

    /// The resolved scenario, with every default filled in.
    fn to_toml(&self) -> String {
        self.0.resolved().to_toml()
    }

    /// The number of points of the sweep; 1 without a sweep.
    #[getter]
    fn points(&self) -> usize {
        self.0.resolved().points().len()
    }

    /// Replicates of each point.
    #[getter]
    fn replicates(&self) -> u32 {
        self.0.header().replicates
    }
}

/// Checks a scenario.
pub fn check(
    origin: &Origin,
    given: Vec<Given>,
    over: Vec<Given>,
    fail_if: &[String],
) -> Result<towtank::Scenario, Trouble> {
    let registry = registry();
    let mut document = match origin.kind.as_str() {
        "find" => Document::find(&origin.what, registry)?,
        "text" => Document::named(&origin.name, &origin.what)?.beside(origin.folder.clone()),
        _ => {
            let study = study_named(&origin.what)?;
            Document::of_study(study, keywords::named(study)).beside(origin.folder.clone())
        }
    };
    let study = document.study(registry);
    let keyword = |(name, value, kind): Given| Keyword {
        name,
        value,
        is_number: kind == "number",
        is_text: kind == "text",
    };
    let given: Vec<Keyword> = given.into_iter().map(keyword).collect();
    let mut settings = keywords::settings(study, &given)?;
    for axis in over.into_iter().map(keyword) {
        let (key, _) = keywords::key_of(study, &axis)?;
        let swept = KeyPath::root().key("sweep").key(key.to_string());
        settings.push(Setting::of_variable(&axis.name, &swept, &axis.value)?);
    }
    let mut problems = Problems::new();
    for setting in settings {
        if let Err(problem) = document.lay(setting) {
            problems.push(problem);
        }
    }
    problems.into_result(())?;
    fail_if.iter().for_each(|gate| document.fail_if(gate));
    Ok(document.check(registry)?)
}

fn study_named(name: &str) -> Result<&'static dyn Study, Problem> {
    let registry = registry();
    registry.named(name).ok_or_else(|| {
        let names = || registry.studies().iter().map(|study| study.name());
        let hint = towtank_scenario::did_you_mean(name, names())
            .unwrap_or_else(|| format!("the studies are {}", names().collect::<Vec<_>>().join(", ")));
        Problem::new(format!("there is no study called `{name}`")).hint(hint)
    })
}

/// A study: its name, its question, and its flags with the keys that these set.
type About = (&'static str, &'static str, Vec<(String, &'static str)>);

/// The studies.
#[pyfunction]
pub fn studies() -> Vec<About> {
    let flags = |study: &dyn Study| {
        study.flags().iter().map(|flag| (flag.name.replace('-', "_"), flag.key)).collect()
    };
    registry().studies().iter().map(|study| (study.name(), study.title(), flags(*study))).collect()
}

/// The built-in scenarios: their names, studies and titles.
#[pyfunction]
pub fn scenarios() -> Vec<(&'static str, String, String)> {
    let line = |builtin: &towtank::Builtin| {
        let table: toml::Table = builtin.text.parse().unwrap_or_default();
        let word = |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        (builtin.name(), word("study"), word("title"))
    };
    registry().scenarios().iter().map(line).collect()
}

/// The text of a built-in scenario.
#[pyfunction]
pub fn scenario_text(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    let found = registry().find_scenario(name).map(|builtin| builtin.text);
    found.map_err(|problem| errors::refuse(py, problem))
}
