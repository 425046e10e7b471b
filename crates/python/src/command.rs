//! The `towtank` command, which the wheel has beside the module.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs the command with the arguments that follow its name, and returns the exit code. `program` is the
/// file that starts it. It installs signal handlers, so it is called once, at the start of a process.
#[pyfunction]
pub fn command(py: Python<'_>, program: PathBuf, arguments: Vec<OsString>) -> u8 {
    py.detach(|| towtank_cli::main(Some(program), arguments))
}
