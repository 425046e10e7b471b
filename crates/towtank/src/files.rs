//! A report on its way into a directory: `report.json`, the tables, and `report.html`.

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

/// Writes the files of a report that no campaign keeps, over none of the `inputs`.
///
/// # Errors
/// When the directory is a campaign's, a place is an input's, or the system refuses.
pub fn write_report(report: &Report, dir: &Path, inputs: &[PathBuf]) -> Result<(), Trouble> {
    refuse_campaign(dir)?;
    let writer = Writer::new(Inputs::new(inputs));
    let written = writer.create_dir(dir).and_then(|()| writer.replace_report(dir, &files(report)));
    written.map_err(|error| StoreError::from(error).into())
}

/// The report in a campaign's directory is that of its runs, and of nothing else.
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

/// Told before the runs and not after them: a report that may not be written because an input lies in its
/// place. The names of a study's own tables are known when they are; writing them checks again.
pub(crate) fn may_report(store: &Store) -> Result<(), Trouble> {
    let names = ["report.json", "report.html", "summary.csv", "points.csv", "claims.csv"];
    Ok(names.iter().try_for_each(|name| store.may_write(name))?)
}
