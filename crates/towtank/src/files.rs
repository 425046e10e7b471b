//! Writes a report into a directory: `report.json`, the tables, and `report.html`.

use std::path::{Path, PathBuf};

use towtank_campaign::{Inputs, ReportFile, Store, StoreError, Writer};
use towtank_report::{Report, csv, html};
use towtank_scenario::Problem;

use crate::Trouble;

/// `report.json`, the tables and `report.html`.
fn files(report: &Report) -> Vec<ReportFile> {
    let file = |name: String, text: String| ReportFile { name, bytes: text.into_bytes() };
    let json = file("report.json".to_owned(), report.to_json());
    let tables = csv::files(report).into_iter().map(|table| file(table.name, table.text));
    let html = file("report.html".to_owned(), html::render(report));
    std::iter::once(json).chain(tables).chain([html]).collect()
}

/// Writes the files of a report that belongs to no campaign, without overwriting any of the `inputs`.
///
/// # Errors
/// When the directory belongs to a campaign, a path is an input's, or writing fails.
pub fn write_report(report: &Report, dir: &Path, inputs: &[PathBuf]) -> Result<(), Trouble> {
    refuse_campaign(dir)?;
    let writer = Writer::new(Inputs::new(inputs));
    let written = writer.create_dir(dir).and_then(|()| writer.replace_report(dir, &files(report)));
    written.map_err(|error| StoreError::from(error).into())
}

/// Refuses the directory of a campaign: its report must be that of its own runs.
pub(crate) fn refuse_campaign(dir: &Path) -> Result<(), Problem> {
    if !dir.join("campaign.json").exists() {
        return Ok(());
    }
    let message =
        format!("`{}` holds the runs of a campaign, whose report this one would replace", dir.display());
    Err(Problem::new(message).hint("choose another directory"))
}

/// Writes the files of a report into the directory of its campaign.
pub(crate) fn write_into(report: &Report, store: &Store) -> Result<(), Trouble> {
    Ok(store.write_report(&files(report))?)
}

/// Checks before the runs whether the report may be written, or would overwrite an input. The names
/// of the study's own tables are not known yet; they are checked when they are written.
pub(crate) fn may_report(store: &Store) -> Result<(), Trouble> {
    let names = ["report.json", "report.html", "summary.csv", "runs.csv", "claims.csv"];
    Ok(names.iter().try_for_each(|name| store.may_write(name))?)
}
