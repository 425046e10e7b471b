//! Placement algorithms over servers, for many keys at once.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use towtank::Trouble;
use towtank_placement::algorithms::{
    Algorithm, Arrangement, Cluster, GROUPS_USUAL, Placement as Rule, ServerId, Weight,
};
use towtank_scenario::{Problem, did_you_mean};

use crate::arrays::{bytes_of_i32s, u32s, u64s};
use crate::errors;

/// An algorithm that is set up for servers.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct Placement(Box<dyn Rule>);

#[pymethods]
impl Placement {
    /// Sets up an algorithm. `weights` are in 16.16 fixed point, one for each server.
    #[new]
    fn new(
        py: Python<'_>,
        algorithm: &str,
        weights: &[u8],
        vnodes: u32,
        slots: u32,
        replicas: usize,
        seed: u32,
    ) -> PyResult<Placement> {
        let kind = Algorithm::named(algorithm).ok_or_else(|| {
            let names = || Algorithm::ALL.into_iter().map(Algorithm::name);
            let hint = did_you_mean(algorithm, names())
                .unwrap_or_else(|| format!("there are {}", names().collect::<Vec<_>>().join(", ")));
            let problem = Problem::new(format!("there is no placement algorithm `{algorithm}`"));
            errors::refuse(py, problem.hint(hint))
        })?;
        let cluster = Cluster::weighted(u32s(weights)?.into_iter().map(Weight).collect());
        let with = Arrangement { vnodes, groups: GROUPS_USUAL, slots, replicas, seed };
        let made = py.detach(|| kind.set_up(&cluster, &with));
        made.map(Placement).map_err(|error| errors::raise(py, &Trouble::input(error)))
    }

    /// The first servers of each key, -1 where there are fewer.
    fn lookup<'py>(&self, py: Python<'py>, keys: &[u8], replicas: usize) -> PyResult<Bound<'py, PyBytes>> {
        let keys = u64s(keys)?;
        let servers = py.detach(|| {
            let mut servers = vec![ServerId::NONE; keys.len() * replicas];
            self.0.lookup_batch(&keys, replicas, &mut servers);
            servers.into_iter().map(|server| server.0.cast_signed()).collect::<Vec<i32>>()
        });
        bytes_of_i32s(py, &servers)
    }
}
