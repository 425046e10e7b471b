//! Campaigns whose runs are done by other processes: the side that keeps them, and the side that runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use towtank_campaign::Task;

use crate::document::{Origin, check};
use crate::errors;
use crate::report::Report;
use crate::running::{Given, Watch, listed};

/// The side that keeps the plan, the directory and the outcomes.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct Delegated {
    campaign: Mutex<Option<towtank::Delegated>>,
    #[pyo3(get)]
    remarks: Vec<String>,
}

impl Delegated {
    fn campaign(&self) -> MutexGuard<'_, Option<towtank::Delegated>> {
        self.campaign.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut towtank::Delegated) -> Result<R, towtank::Trouble> + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| match &mut *self.campaign() {
            Some(campaign) => work(campaign),
            None => Err(towtank::Trouble::failed("the campaign is closed; open it again")),
        });
        done.map_err(|trouble| errors::raise(py, &trouble))
    }
}

#[pymethods]
impl Delegated {
    /// Opens the campaign of a scenario, with the runs that its directory has already.
    #[new]
    fn new(py: Python<'_>, source: Source, options: Given) -> PyResult<Delegated> {
        let options = options.options()?;
        let watch = Watch::default();
        let opened = py.detach(|| towtank::Delegated::open(source.check()?, &options, &watch));
        let campaign = opened.map_err(|trouble| errors::raise(py, &trouble))?;
        Ok(Delegated { campaign: Mutex::new(Some(campaign)), remarks: watch.take_remarks() })
    }

    /// The runs that are still to be done, in the order of the plan: points and replicates, both from 0.
    fn open_tasks(&self, py: Python<'_>) -> PyResult<Vec<(usize, u32)>> {
        self.with(py, |campaign| {
            Ok(campaign.open_tasks().into_iter().map(|task| (task.point, task.replicate)).collect())
        })
    }

    /// A run in words.
    fn describe(&self, py: Python<'_>, point: usize, replicate: u32) -> PyResult<String> {
        self.with(py, |campaign| Ok(campaign.describe(Task { point, replicate })))
    }

    /// How many runs are done, and of how many.
    fn done(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.with(py, |campaign| Ok((campaign.done().runs, campaign.done().of)))
    }

    /// Takes the result of a run, and stores it.
    fn accept(&self, py: Python<'_>, point: usize, replicate: u32, file: &[u8]) -> PyResult<()> {
        self.with(py, |campaign| campaign.accept(Task { point, replicate }, file))
    }

    /// The report of the finished runs; `None` if there are none.
    fn report(&self, py: Python<'_>) -> PyResult<Option<Report>> {
        let report = self.with(py, |campaign| campaign.report())?;
        Ok(report.map(|report| Report(Arc::new(report))))
    }

    /// Writes the report into the directory, if there is one, and returns the gates that are not met.
    fn finish(&self, py: Python<'_>, report: &Report) -> PyResult<Vec<(String, Vec<String>)>> {
        let report = Arc::clone(&report.0);
        self.with(py, move |campaign| campaign.finish(&report)).map(listed)
    }

    /// Gives up the directory, so that another process may write there.
    fn close(&self) {
        self.campaign().take();
    }
}

/// A scenario before it is checked, as processes pass it to each other.
#[derive(Clone, Debug, FromPyObject)]
pub struct Source {
    #[pyo3(item)]
    origin: Origin,
    #[pyo3(item)]
    given: Vec<(String, String, String)>,
    #[pyo3(item)]
    over: Vec<(String, String, String)>,
    #[pyo3(item)]
    fail_if: Vec<String>,
}

impl Source {
    fn check(self) -> Result<towtank::Scenario, towtank::Trouble> {
        check(&self.origin, self.given, self.over, &self.fail_if)
    }
}

/// The side that runs.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct Runner(towtank::Runner);

#[pymethods]
impl Runner {
    #[new]
    fn new(py: Python<'_>, source: Source) -> PyResult<Runner> {
        let made = py.detach(|| source.check().and_then(towtank::Runner::new));
        made.map(Runner).map_err(|trouble| errors::raise(py, &trouble))
    }

    /// Runs one replicate of one point, and returns the file of its result.
    fn run<'py>(&self, py: Python<'py>, point: usize, replicate: u32) -> PyResult<Bound<'py, PyBytes>> {
        let watch = Watch::default();
        let ran = py.detach(|| self.0.run(Task { point, replicate }, &watch));
        ran.map(|file| PyBytes::new(py, &file)).map_err(|trouble| errors::raise(py, &trouble))
    }
}
