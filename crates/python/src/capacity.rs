//! The model of capacity: fitted to measurements, asked for mixes.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use towtank_capacity::{Asked, Beyond, Mix, Model, Ranged, Run, Shares, estimate, fit};
use towtank_imports::{File, iops};
use towtank_scenario::{Place, Problem, Source};

use crate::errors;
use crate::inputs::imported;

/// A model of a system's capacity.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct CapacityModel(Model);

#[pymethods]
impl CapacityModel {
    /// Fits a model to the results of benchmarks: names and contents of files in any format that the command
    /// reads. Also returns notes on parts that were skipped.
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        files: Vec<(String, Vec<u8>)>,
        system: Option<&str>,
    ) -> PyResult<(CapacityModel, Vec<String>)> {
        let (mut runs, mut notes): (Vec<Run>, Vec<String>) = (Vec::new(), Vec::new());
        let mut given = iops::Given::default();
        for (name, bytes) in &files {
            let file = File { name, bytes };
            let (readings, more) = imported(py, given.take(file).and_then(|()| iops::read(file)))?;
            runs.extend(readings.into_iter().map(|reading| towtank::capacity_run(name, reading)));
            notes.extend(more);
        }
        runs.retain(|run| system.is_none_or(|system| run.system.as_deref() == Some(system)));
        let model = py.detach(|| fit(&runs)).map_err(|error| {
            let problem = Problem::new(error.reason).hint(error.hint);
            let at = error.at.map(|(file, _)| Place::whole(&Source::file(file, "")));
            errors::refuse(py, at.map_or(problem.clone(), |at| problem.at(at)))
        })?;
        Ok((CapacityModel(model), notes))
    }

    /// The model as the command writes it.
    fn json(&self) -> String {
        self.0.to_json()
    }

    /// The rates of a mix, each with the ends of its interval, and those of its parts.
    fn estimate<'py>(
        &self,
        py: Python<'py>,
        mix: &str,
        shares: &str,
        extrapolate: bool,
        curved: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mix = Mix::parse(mix).map_err(|error| {
            let source = Source::flag("mix", format!("mix={mix}"));
            let shift = "mix=".len();
            let at = Place::new(&source, error.span.start + shift..error.span.end + shift);
            errors::refuse(py, Problem::new(error.reason).hint(error.hint).at(at))
        })?;
        let shares = Shares::ALL.into_iter().find(|known| known.name() == shares).ok_or_else(|| {
            let names = Shares::ALL.map(Shares::name).join(", ");
            let problem = Problem::new(format!("`shares` is `{shares}`, but must be one of {names}"));
            errors::refuse(py, problem.hint("operations is usual"))
        })?;
        let beyond = if extrapolate { Beyond::Extrapolate } else { Beyond::Refuse };
        let found = estimate(&self.0, &Asked { mix: &mix, shares, beyond, curved })
            .map_err(|error| errors::refuse(py, Problem::new(error.to_string()).hint(error.hint())))?;
        let out = rates(
            py,
            &[
                ("total_per_s", found.total),
                ("reads_per_s", found.reads),
                ("writes_per_s", found.writes),
                ("bandwidth_bytes_per_s", found.bandwidth),
            ],
        )?;
        let mut parts = Vec::new();
        for part in &found.parts {
            let row = rates(
                py,
                &[
                    ("alone_per_s", part.alone),
                    ("reads_per_s", part.reads),
                    ("writes_per_s", part.writes),
                    ("bandwidth_bytes_per_s", part.bandwidth),
                ],
            )?;
            row.set_item("size_bytes", part.part.size_bytes)?;
            row.set_item("size_is", part.kind.name())?;
            parts.push(row);
        }
        out.set_item("parts", parts)?;
        Ok(out)
    }
}

/// Named rates: value, low and high, the latter two `None` where they are unknown.
fn rates<'py>(py: Python<'py>, named: &[(&str, Ranged)]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, Ranged { value, range }) in named {
        let (low, high) = range.unzip();
        out.set_item(name, (value, low, high))?;
    }
    Ok(out)
}
