//! Errors of other tools' files as exceptions.

use pyo3::prelude::*;
use towtank_imports::{ImportError, Imported};
use towtank_scenario::{Place, Problem, Source};

use crate::errors;

/// The value of a file with its notes, or the exception of its error.
pub fn imported<T>(py: Python<'_>, read: Result<Imported<T>, ImportError>) -> PyResult<(T, Vec<String>)> {
    read.map(|read| (read.value, read.notes)).map_err(|error| refuse(py, &error))
}

fn refuse(py: Python<'_>, error: &ImportError) -> PyErr {
    let key = error.key.as_ref().map(|key| format!("`{key}`: ")).unwrap_or_default();
    let problem = Problem::new(format!("{key}{}", error.reason));
    let problem = match &error.hint {
        Some(hint) => problem.hint(hint.as_str()),
        None => problem,
    };
    errors::refuse(py, problem.at(Place::whole(&Source::file(error.file.as_str(), ""))))
}
