//! Models in Python on the kernel: slow, for teaching and prototypes.
//!
//! An entity is an instance of a subclass of `towtank.Model`. Its attributes are its state, which the kernel
//! keeps as [`Plain`] data; for each event they are given to a new instance and taken back afterwards. So a
//! handler cannot keep anything that the kernel does not know, and equal runs have equal digests. Handlers
//! run only when their event is certain: nothing of them is ever undone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use towtank_kernel::{Context, EntityId, Executor, Fault, Links, Model, Outcome, RunOptions};
use towtank_streams::distributions::Exponential;
use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::{SimSpan, SimTime};

use crate::plain::Plain;
use crate::running::watched;

/// The purpose of the one word that a handler's own draws start from.
const WORD: Purpose = Purpose(1);

/// A model: an instance for each entity, whose class has the handlers.
struct PythonModel {
    names: Vec<String>,
    classes: Vec<Py<PyAny>>,
    states: Vec<Plain>,
    links: SimSpan,
    by_name: Arc<BTreeMap<String, u32>>,
    /// The first exception of a handler.
    raised: Mutex<Option<PyErr>>,
}

impl PythonModel {
    /// Calls a method of an entity, and takes its state and what it sent.
    fn call(
        &self,
        method: &str,
        state: &mut Plain,
        event: Option<&Plain>,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let me = context.me();
        let word = context.draws(WORD).next_u64();
        let done = Python::attach(|py| {
            let hand = Bound::new(py, Hand::new(self, me, context.now(), word))?;
            let entity = self.classes[me.0 as usize]
                .bind(py)
                .call_method1("__new__", (&self.classes[me.0 as usize],))?;
            let attributes = entity.getattr("__dict__")?.cast_into::<PyDict>()?;
            attributes.update(state.to_python(py)?.cast::<PyDict>()?.as_mapping())?;
            match event {
                Some(event) => entity.call_method1(method, (&hand, event.to_python(py)?))?,
                None => entity.call_method1(method, (&hand,))?,
            };
            let place = format!("the state of `{}`", self.names[me.0 as usize]);
            *state = Plain::of(attributes.as_any(), &place)?;
            Ok(std::mem::take(&mut *locked(&hand.get().effects)))
        });
        let effects = done.map_err(|error: PyErr| self.fault(error))?;
        for (to, after, event) in effects.sends {
            context.send(to, after, event);
        }
        effects.outputs.into_iter().for_each(|output| context.emit(output));
        Ok(())
    }

    fn fault(&self, error: PyErr) -> Fault {
        let words = error.to_string();
        locked(&self.raised).get_or_insert(error);
        Fault(words)
    }
}

impl Model for PythonModel {
    type Entity = Plain;
    type Event = Plain;
    type Undo = ();
    type Statistics = ();
    type Output = Plain;

    fn entities(&self) -> u32 {
        u32::try_from(self.names.len()).expect("the entities were counted when the model was made")
    }

    fn links(&self) -> Links {
        Links::all(self.links)
    }

    fn create(&self, id: EntityId) -> Plain {
        self.states[id.0 as usize].clone()
    }

    fn start(&self, state: &mut Plain, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        self.call("_start", state, None, context)
    }

    fn handle(&self, state: &mut Plain, event: &Plain, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        self.call("_handle", state, Some(event), context)
    }

    fn speculative(&self, _id: EntityId) -> bool {
        false
    }

    fn describe(&self, id: EntityId) -> String {
        format!("`{}`", self.names[id.0 as usize])
    }
}

/// What a handler did.
#[derive(Default)]
struct Effects {
    sends: Vec<(EntityId, SimSpan, Plain)>,
    outputs: Vec<Plain>,
}

/// What a handler gets: the time, draws, and ways to affect others.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct Hand {
    now: SimTime,
    me: String,
    by_name: Arc<BTreeMap<String, u32>>,
    draws: Mutex<Draws>,
    effects: Mutex<Effects>,
}

impl Hand {
    fn new(model: &PythonModel, me: EntityId, now: SimTime, word: u64) -> Hand {
        Hand {
            now,
            me: model.names[me.0 as usize].clone(),
            by_name: Arc::clone(&model.by_name),
            draws: Mutex::new(Draws::new(Seed(word), me.0, 0)),
            effects: Mutex::default(),
        }
    }
}

/// Code that holds these locks changes one value at a time, so a panic leaves nothing half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Hand {
    /// The time in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now.as_ns()
    }

    /// The name of the entity.
    #[getter]
    fn me(&self) -> &str {
        &self.me
    }

    /// Sends an event to an entity.
    fn send(&self, to: &str, after_ns: u64, event: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.by_name.get(to).ok_or_else(|| {
            let known: Vec<&str> = self.by_name.keys().map(String::as_str).take(20).collect();
            PyValueError::new_err(format!("there is no entity `{to}`; there are {}", known.join(", ")))
        })?;
        let event = Plain::of(event, &format!("an event for `{to}`"))?;
        locked(&self.effects).sends.push((EntityId(*id), SimSpan::from_ns(after_ns), event));
        Ok(())
    }

    /// Adds an output to the result.
    fn emit(&self, output: &Bound<'_, PyAny>) -> PyResult<()> {
        let output = Plain::of(output, "an output")?;
        locked(&self.effects).outputs.push(output);
        Ok(())
    }

    /// A number in [0, 1).
    fn random(&self) -> f64 {
        locked(&self.draws).of(WORD).unit_f64()
    }

    /// A whole number below a bound.
    fn below(&self, bound: u64) -> PyResult<u64> {
        if bound == 0 {
            return Err(PyValueError::new_err("`bound` is 0, but must be at least 1"));
        }
        Ok(locked(&self.draws).of(WORD).below(bound))
    }

    /// A number of an exponential distribution.
    fn exponential(&self, mean: f64) -> PyResult<f64> {
        let exponential =
            Exponential::with_mean(mean).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(exponential.sample(&mut locked(&self.draws).of(WORD)))
    }
}

/// The nanoseconds of a span in words: `1ms`.
#[pyfunction]
pub fn span_ns(text: &str) -> PyResult<u64> {
    let span: SimSpan = text.parse().map_err(|error| PyValueError::new_err(format!("`{text}`: {error}")))?;
    Ok(span.as_ns())
}

/// How to run a model.
#[derive(Clone, Debug, FromPyObject)]
pub struct Terms {
    #[pyo3(item)]
    seed: u64,
    #[pyo3(item)]
    end_ns: Option<u64>,
    #[pyo3(item)]
    least_ns: u64,
    #[pyo3(item)]
    executor: String,
    #[pyo3(item)]
    workers: u32,
}

/// The result of a run: digest, time, events, whether it was stopped, pending events, the states, and the
/// outputs with their times and entities.
type Found = (String, u64, u64, bool, u64, Vec<Py<PyAny>>, Vec<(u64, String, Py<PyAny>)>);

/// Runs entities, each with its name and instance.
#[pyfunction]
pub fn simulate(py: Python<'_>, entities: Vec<(String, Bound<'_, PyAny>)>, terms: Terms) -> PyResult<Found> {
    let model = Arc::new(model_of(entities, terms.least_ns)?);
    let executor: Executor = terms.executor.parse().map_err(PyValueError::new_err)?;
    let running = Arc::clone(&model);
    let ran = watched(py, None, move |watch| {
        let options = RunOptions {
            seed: Seed(terms.seed),
            end: terms.end_ns.map(SimTime::from_ns),
            executor,
            workers: terms.workers,
            stop: Some(towtank::Observer::stop(watch).flag()),
            ..RunOptions::default()
        };
        towtank_kernel::run(&*running, options)
    })?;
    let Some(ran) = ran else { return Err(crate::errors::interrupted(py, None, 0, 0)) };
    let outcome = ran.map_err(|error| raise(py, &model, &error.to_string()))?;
    if outcome.partial {
        return Err(crate::errors::interrupted(py, None, 0, 0));
    }
    found(py, &model, outcome)
}

fn model_of(entities: Vec<(String, Bound<'_, PyAny>)>, least_ns: u64) -> PyResult<PythonModel> {
    let count = u32::try_from(entities.len());
    let count =
        count.map_err(|_| PyValueError::new_err("there are more entities than 32 bits can number"))?;
    let (mut names, mut classes, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for (name, instance) in entities {
        let attributes = instance.getattr("__dict__")?;
        states.push(Plain::of(&attributes, &format!("the state of `{name}`"))?);
        classes.push(instance.get_type().into_any().unbind());
        names.push(name);
    }
    let by_name = names.iter().cloned().zip(0..count).collect();
    Ok(PythonModel {
        names,
        classes,
        states,
        links: SimSpan::from_ns(least_ns),
        by_name: Arc::new(by_name),
        raised: Mutex::default(),
    })
}

fn raise(py: Python<'_>, model: &PythonModel, words: &str) -> PyErr {
    let made = py
        .import("towtank._errors")
        .and_then(|module| module.getattr("ModelError")?.call1((words,)))
        .map_or_else(|error| error, PyErr::from_value);
    let cause = locked(&model.raised).take();
    made.set_cause(py, cause);
    made
}

fn found(py: Python<'_>, model: &PythonModel, outcome: Outcome<PythonModel>) -> PyResult<Found> {
    let states = outcome.entities.iter().map(|state| Ok(state.to_python(py)?.unbind()));
    let outputs = outcome.outputs.iter().map(|written| {
        let name = model.names[written.by.0 as usize].clone();
        Ok((written.key.at.as_ns(), name, written.output.to_python(py)?.unbind()))
    });
    Ok((
        outcome.digest.to_string(),
        outcome.now.as_ns(),
        outcome.run.committed,
        outcome.partial,
        outcome.pending,
        states.collect::<PyResult<Vec<_>>>()?,
        outputs.collect::<PyResult<Vec<_>>>()?,
    ))
}
