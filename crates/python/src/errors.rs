//! Errors of the library as exceptions of `towtank/_errors.py`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use towtank::Trouble;
use towtank_scenario::{Problem, SourceKind};

const MODULE: &str = "towtank._errors";

/// The exception of a trouble: `ScenarioError` where the input is at fault, else `RunError`.
pub fn raise(py: Python<'_>, trouble: &Trouble) -> PyErr {
    let (class, problems) = match trouble {
        Trouble::Input(problems) => ("ScenarioError", problems.iter().collect::<Vec<_>>()),
        Trouble::Failed(problem) => ("RunError", vec![problem]),
    };
    let made = problems
        .into_iter()
        .map(|problem| described(py, problem))
        .collect::<PyResult<Vec<_>>>()
        .and_then(|problems| py.import(MODULE)?.getattr(class)?.call1((problems,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The exception of a problem of the input.
pub fn refuse(py: Python<'_>, problem: Problem) -> PyErr {
    raise(py, &problem.into())
}

/// The exception of a stopped run.
pub fn interrupted(py: Python<'_>, report: Option<Py<PyAny>>, done: usize, of: usize) -> PyErr {
    let made = py.import(MODULE).and_then(|module| module.getattr("Interrupted")?.call1((report, done, of)));
    made.map_or_else(|error| error, PyErr::from_value)
}

fn described<'py>(py: Python<'py>, problem: &Problem) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("message", problem.message())?;
    out.set_item("key", problem.key().map(ToString::to_string))?;
    out.set_item("hint", problem.next_step())?;
    out.set_item("text", towtank_cli::plain(problem))?;
    let place = problem.place().filter(|place| place.source().kind() == SourceKind::File);
    out.set_item("file", place.map(|place| place.source().name()))?;
    let at = place.filter(|place| !place.is_whole()).map(towtank_scenario::Place::line_and_column);
    out.set_item("line", at.map(|(line, _)| line))?;
    out.set_item("column", at.map(|(_, column)| column))?;
    Ok(out)
}
