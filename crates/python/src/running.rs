//! Runs scenarios on a thread of their own, so that the calling thread can show progress and notice a
//! request to stop.

use std::num::{NonZeroU32, NonZeroUsize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use towtank::{Observer, Options, Remark, Trouble, Wanted, Which};
use towtank_campaign::Stop;

use crate::document::{Scenario, registry};
use crate::errors;
use crate::report::Report;

/// How often the calling thread looks whether something is to be shown or stopped.
const TICK: Duration = Duration::from_millis(50);

/// How many ticks a stopped run may take to report what it has: with the time to notice the request and to
/// return they stay below a second.
const PATIENCE_TICKS: u32 = 17;

/// Stack size of the thread that runs: that of a main thread on Linux.
const STACK_BYTES: usize = 8 << 20;

/// The options of a run, by the names of the command's flags.
#[derive(Clone, Debug, FromPyObject)]
pub struct Given {
    #[pyo3(item)]
    executor: String,
    #[pyo3(item)]
    workers: Option<NonZeroU32>,
    #[pyo3(item)]
    jobs: Option<NonZeroUsize>,
    #[pyo3(item)]
    out: Option<PathBuf>,
    #[pyo3(item)]
    force: bool,
    #[pyo3(item)]
    allow_memory: bool,
}

impl Given {
    pub fn options(self) -> PyResult<Options> {
        Ok(Options {
            executor: self.executor.parse().map_err(PyValueError::new_err)?,
            workers: self.workers,
            jobs: self.jobs,
            out: self.out,
            force: self.force,
            allow_memory: self.allow_memory,
            ..Options::default()
        })
    }
}

/// What a run has reported so far.
#[derive(Default)]
struct State {
    done: usize,
    of: usize,
    /// Shares of the runs in flight.
    running: Vec<(Which, f64)>,
    events: u64,
    remarks: Vec<String>,
}

/// Receives progress on the threads of a run, for the thread that waits.
#[derive(Default)]
pub struct Watch {
    stop: Stop,
    state: Mutex<State>,
}

impl Watch {
    fn update<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the remarks that are not shown yet.
    pub fn take_remarks(&self) -> Vec<String> {
        self.update(|state| std::mem::take(&mut state.remarks))
    }

    /// Calls `progress(done, of, running, events, remarks)`.
    fn show(&self, py: Python<'_>, progress: &Py<PyAny>) -> PyResult<()> {
        let shown = self.update(|state| {
            let running: f64 = state.running.iter().map(|(_, share)| share).sum();
            (state.done, state.of, running, state.events, std::mem::take(&mut state.remarks))
        });
        progress.call1(py, shown).map(drop)
    }
}

impl Observer for Watch {
    fn stop(&self) -> &Stop {
        &self.stop
    }

    fn scenario(&self, name: &str) {
        self.update(|state| state.remarks.push(format!("running {name}")));
    }

    fn campaign(&self, progress: towtank_campaign::Progress) {
        self.update(|state| (state.done, state.of) = (progress.done, progress.total));
    }

    fn run(&self, which: Which, progress: towtank_study::Progress) {
        self.update(|state| match state.running.iter_mut().find(|(running, _)| *running == which) {
            Some((_, share)) => *share = progress.fraction,
            None => state.running.push((which, progress.fraction)),
        });
    }

    fn ended(&self, which: Which, events: u64) {
        self.update(|state| {
            state.running.retain(|(running, _)| *running != which);
            state.events += events;
        });
    }

    fn remark(&self, remark: &Remark<'_>) {
        self.update(|state| {
            state.remarks.push(remark.to_string());
            if let Remark::Missing(lines) | Remark::Double(lines) = remark {
                state.remarks.extend(lines.iter().cloned());
            }
        });
    }
}

/// The place where the thread of a run leaves its result.
struct Place<T> {
    result: Mutex<Option<T>>,
    ready: Condvar,
}

impl<T> Place<T> {
    fn put(&self, value: T) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        self.ready.notify_all();
    }

    /// Waits for one tick.
    fn take(&self) -> Option<T> {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ready.wait_timeout_while(result, TICK, |result| result.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// The value of `work` on a thread of its own; `None` where it was interrupted and did not stop in time: it
/// is then left to itself, and ends at its next look at the flag.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<Option<T>> {
    let watch = Arc::new(Watch::default());
    let place = Arc::new(Place { result: Mutex::new(None), ready: Condvar::new() });
    let (watching, leaving) = (Arc::clone(&watch), Arc::clone(&place));
    let body = move || leaving.put(catch_unwind(AssertUnwindSafe(|| work(&watching))));
    thread::Builder::new().name("towtank".to_owned()).stack_size(STACK_BYTES).spawn(body)?;
    let mut patience = None;
    loop {
        if let Some(result) = py.detach(|| place.take()) {
            if let Some(progress) = progress {
                watch.show(py, progress)?;
            }
            let panicked = |_| Trouble::failed("the run panicked; please report this with the scenario");
            return result.map(Some).map_err(|payload| errors::raise(py, &panicked(payload)));
        }
        match &mut patience {
            Some(0) => return Ok(None),
            Some(left) => *left -= 1,
            None => {
                let shown = progress.map_or(Ok(()), |progress| watch.show(py, progress));
                if let Err(error) = shown.and_then(|()| py.check_signals()) {
                    watch.stop.raise();
                    if !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
                        return Err(error);
                    }
                    patience = Some(PATIENCE_TICKS);
                }
            }
        }
    }
}

/// Gates that are not met: each with its reasons.
type Unmet = Vec<(String, Vec<String>)>;

/// Runs a scenario: its report, if there is one, and the gates that are not met.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    options: Given,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Report, Unmet)> {
    let (scenario, options) = (Arc::clone(&scenario.0), options.options()?);
    let ran = watched(py, progress.as_ref(), move |watch| towtank::run(&scenario, &options, watch))?;
    let Some(ran) = ran else { return Err(errors::interrupted(py, None, 0, 0)) };
    let ran = ran.map_err(|trouble| errors::raise(py, &trouble))?;
    let report = ran.report.map(|report| Report(Arc::new(report)));
    match report {
        Some(report) if !ran.interrupted => Ok((report, listed(ran.unmet))),
        report => {
            let report = report.map(|report| Py::new(py, report)).transpose()?.map(Py::into_any);
            Err(errors::interrupted(py, report, ran.done.runs, ran.done.of))
        }
    }
}

/// Gates as Python was given them: without the flag of the command.
pub fn listed(unmet: Vec<towtank::Unmet>) -> Unmet {
    let bare = |gate: &str| {
        let text = gate.strip_prefix("--fail-if ").unwrap_or(gate);
        text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text).to_owned()
    };
    unmet.into_iter().map(|unmet| (bare(&unmet.gate), unmet.reasons)).collect()
}

/// Runs published scenarios and compares the results with the published ones.
#[pyfunction]
pub fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    quick: bool,
    options: Given,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let options = options.options()?;
    let done = watched(py, progress.as_ref(), move |watch| {
        let wanted = Wanted { names: &names, quick, ..Wanted::default() };
        towtank::reproduce(registry(), wanted, &options, watch)
    })?;
    let Some(done) = done else { return Err(errors::interrupted(py, None, 0, 0)) };
    let report = Report(Arc::new(done.map_err(|trouble| errors::raise(py, &trouble))?));
    if report.0.partial {
        let report = Py::new(py, report)?.into_any();
        return Err(errors::interrupted(py, Some(report), 0, 0));
    }
    Ok(report)
}
