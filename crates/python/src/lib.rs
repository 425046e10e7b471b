//! Towtank for Python: the extension module `towtank._towtank`, under the package in `python/towtank`.
//!
//! It binds and computes nothing: values go in, reports and arrays come out. While Rust code runs, the
//! interpreter is free for other threads. Arrays cross the border as bytes in the machine's order, because
//! numpy reads and writes those without a copy of its own; errors are the exceptions of
//! `towtank/_errors.py`, in the words of the command.
//!
//! Left out on purpose: frames, plots, progress bars and clusters, which the Python part makes.

mod arrays;
mod capacity;
mod ceph;
mod command;
mod crush;
mod delegated;
mod document;
mod errors;
mod inputs;
mod keywords;
mod merkle;
mod model;
mod placement;
mod plain;
mod report;
mod running;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _towtank {
    #[pymodule_export]
    use super::capacity::CapacityModel;
    #[pymodule_export]
    use super::ceph::ceph_report;
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::crush::{CrushMap, name_hashes};
    #[pymodule_export]
    use super::delegated::{Delegated, Runner};
    #[pymodule_export]
    use super::document::{Scenario, scenario_text, scenarios, studies};
    #[pymodule_export]
    use super::merkle::{MerkleTree, positions};
    #[pymodule_export]
    use super::model::{Hand, simulate, span_ns};
    #[pymodule_export]
    use super::placement::Placement;
    #[pymodule_export]
    use super::report::Report;
    #[pymodule_export]
    use super::running::{reproduce, run};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
