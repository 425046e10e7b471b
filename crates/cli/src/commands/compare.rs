//! `towtank compare RUN RUN…`: the comparison of results.

use std::path::Path;

use towtank::{Registry, Trouble};

use crate::args::Compare;
use crate::exit::Exit;
use crate::output;

/// Compares them and reports the differences.
pub fn compare(registry: &Registry, compare: &Compare) -> Result<Exit, Trouble> {
    let out = compare.report.out.as_deref();
    let runs: Vec<&Path> = compare.runs.iter().map(AsRef::as_ref).collect();
    let report = towtank::compare(&runs, registry, out)?;
    output::print(&report, &compare.output, out)?;
    Ok(Exit::Done)
}
