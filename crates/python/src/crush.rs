//! CRUSH maps, and mappings of many inputs at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use towtank::Trouble;
use towtank_imports::File;
use towtank_imports::ceph::read_map;
use towtank_placement::crush::objects::name_hash;
use towtank_placement::crush::tester::present_weights;
use towtank_placement::crush::{Ask, Map, Mapper, Mappings, NONE, Workspace};
use towtank_scenario::{Problem, did_you_mean};

use crate::arrays::{bytes_of_i32s, bytes_of_u32s, u32s};
use crate::errors;
use crate::inputs::imported;

/// A CRUSH map, laid out for mapping.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct CrushMap {
    map: Map,
    mapper: Arc<Mapper>,
}

impl CrushMap {
    /// Lays out a map.
    pub fn of(py: Python<'_>, map: Map) -> PyResult<CrushMap> {
        let mapper = py.detach(|| map.compile());
        let mapper = mapper.map_err(|fault| errors::raise(py, &Trouble::input(fault)))?;
        Ok(CrushMap { map, mapper: Arc::new(mapper) })
    }

    fn rule_of(&self, asked: &str) -> Result<usize, Problem> {
        let named = self.map.rule_names.iter().find(|(_, name)| *name == asked);
        let id = asked.parse().ok().or_else(|| usize::try_from(*named?.0).ok());
        id.filter(|&id| self.map.rule(id).is_some()).ok_or_else(|| {
            let known: Vec<String> = self.rules().into_iter().map(|(_, name)| name).collect();
            let hint = did_you_mean(asked, known.iter().map(String::as_str))
                .unwrap_or_else(|| format!("its rules are {}", known.join(", ")));
            Problem::new(format!("the map has no rule `{asked}`")).hint(hint)
        })
    }
}

#[pymethods]
impl CrushMap {
    /// Reads a map: binary, text or JSON, each possibly compressed. `name` is what errors call it.
    #[staticmethod]
    fn read(py: Python<'_>, name: &str, content: &[u8]) -> PyResult<CrushMap> {
        let read = py.detach(|| read_map(File { name, bytes: content }));
        CrushMap::of(py, imported(py, read)?.0)
    }

    /// The rules: their ids and names.
    fn rules(&self) -> Vec<(usize, String)> {
        let there = self.map.rules.iter().enumerate().filter(|(_, rule)| rule.is_some());
        let name = |id: usize| {
            let named = i32::try_from(id).ok().and_then(|id| self.map.rule_names.get(&id));
            named.cloned().unwrap_or_else(|| id.to_string())
        };
        there.map(|(id, _)| (id, name(id))).collect()
    }

    /// One more than the greatest device id.
    #[getter]
    fn max_devices(&self) -> i32 {
        self.map.max_devices
    }

    /// The weights at which devices are in, in 16.16 fixed point: fully for those that a bucket contains.
    fn present_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let weights =
            present_weights(&self.map).map_err(|error| errors::raise(py, &Trouble::input(error)))?;
        bytes_of_u32s(py, &weights)
    }

    /// Maps inputs by a rule: `num_rep` devices for each, -1 where there is none.
    #[pyo3(signature = (rule, inputs, num_rep, weights, pool, threads))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the Python function")]
    fn map<'py>(
        &self,
        py: Python<'py>,
        rule: &str,
        inputs: &[u8],
        num_rep: usize,
        weights: &[u8],
        pool: i64,
        threads: NonZeroUsize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let rule = self.rule_of(rule).map_err(|problem| errors::refuse(py, problem))?;
        let (inputs, weights) = (u32s(inputs)?, u32s(weights)?);
        let whole = Whole { mapper: &self.mapper, rule, num_rep, weights: &weights, pool };
        let devices = py.detach(|| whole.map(&inputs, threads));
        bytes_of_i32s(py, &devices)
    }
}

/// The hashes of names, as Ceph places objects by.
#[pyfunction]
pub fn name_hashes<'py>(py: Python<'py>, names: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let hashes: Vec<u32> = py.detach(|| names.iter().map(|name| name_hash(name)).collect());
    bytes_of_u32s(py, &hashes)
}

/// The number of inputs that are mapped together: a choice, few enough that their results stay in the cache.
const BATCH: usize = 4096;

/// What all inputs of a mapping share.
#[derive(Clone, Copy)]
struct Whole<'a> {
    mapper: &'a Mapper,
    rule: usize,
    num_rep: usize,
    weights: &'a [u32],
    pool: i64,
}

impl Whole<'_> {
    fn map(&self, inputs: &[u32], threads: NonZeroUsize) -> Vec<i32> {
        let mut devices = vec![-1; inputs.len() * self.num_rep];
        if devices.is_empty() {
            return devices;
        }
        let share = inputs.len().div_ceil(threads.get());
        let parts = inputs.chunks(share).zip(devices.chunks_mut(share * self.num_rep));
        thread::scope(|scope| {
            let mut parts = parts.peekable();
            while let Some((inputs, places)) = parts.next() {
                // The last part is done by this thread.
                if parts.peek().is_none() {
                    self.fill(inputs, places);
                } else {
                    scope.spawn(move || self.fill(inputs, places));
                }
            }
        });
        devices
    }

    fn fill(&self, inputs: &[u32], places: &mut [i32]) {
        let (mut workspace, mut found) = (Workspace::default(), Mappings::default());
        let Whole { mapper, rule, num_rep, weights, pool } = *self;
        let ask = Ask { rule, x: 0, result_max: num_rep, weights, pool };
        for (inputs, places) in inputs.chunks(BATCH).zip(places.chunks_mut(BATCH * num_rep)) {
            mapper.map_all(ask, inputs, &mut workspace, &mut found);
            for (devices, places) in found.iter().zip(places.chunks_exact_mut(num_rep)) {
                for (place, &device) in places.iter_mut().zip(devices) {
                    *place = if device == NONE { -1 } else { device };
                }
            }
        }
    }
}
