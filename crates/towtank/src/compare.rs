//! The comparison of two results.

use std::path::Path;

use towtank_campaign::{LoadError, Side, load_side};
use towtank_report::Report;

use crate::{Trouble, files};

/// Compares the result `b` with the result `a`, each the directory of a run or its `report.json`, and writes
/// the report of their differences to `out`, if given.
///
/// # Errors
/// When one cannot be read, they cannot be compared, or the report cannot be written.
pub fn compare(a: &Path, b: &Path, out: Option<&Path>) -> Result<Report, Trouble> {
    let report = towtank_campaign::compare(&load(a, "A")?, &load(b, "B")?).map_err(Trouble::input)?;
    if let Some(dir) = out {
        let inputs: Vec<_> =
            [a, b].into_iter().flat_map(|run| [run.to_owned(), run.join("report.json")]).collect();
        files::write_report(&report, dir, &inputs)?;
    }
    Ok(report)
}

fn load(path: &Path, name: &str) -> Result<Side, Trouble> {
    load_side(path, name).map_err(|error| match error {
        LoadError::Store(error) => error.into(),
        error => Trouble::input(error),
    })
}
