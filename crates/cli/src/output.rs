//! A report on its way out: files under `--out`, data on stdout, words on stderr.

use std::path::Path;

use towtank_campaign::{ReportFile, StoreError, Writer};
use towtank_report::text::Style;
use towtank_report::{Report, csv, html, text};
use towtank_scenario::Problem;

use crate::args::{Format, OutputFlags};
use crate::exit::Trouble;
use crate::{screen, street};

/// `report.json`, the tables and `report.html`.
fn files(report: &Report) -> Vec<ReportFile> {
    let file = |name: String, text: String| ReportFile { name, bytes: text.into_bytes() };
    let json = file("report.json".to_owned(), report.to_json());
    let tables = csv::files(report).into_iter().map(|table| file(table.name, table.text));
    let html = file("report.html".to_owned(), html::render(report));
    std::iter::once(json).chain(tables).chain([html]).collect()
}

/// Writes the files of a report that no campaign keeps.
pub fn write_alone(report: &Report, dir: &Path, writer: &Writer) -> Result<(), Trouble> {
    refuse_campaign(dir)?;
    let written = writer.create_dir(dir).and_then(|()| writer.replace_report(dir, &files(report)));
    written.map_err(|error| street::trouble_of(error.into()))
}

/// The report in a campaign's directory is that of its runs, and of nothing else.
pub fn refuse_campaign(dir: &Path) -> Result<(), Problem> {
    if !dir.join("campaign.json").exists() {
        return Ok(());
    }
    let message =
        format!("`{}` holds the runs of a campaign, whose report this one would replace", dir.display());
    Err(Problem::new(message).hint("choose another directory"))
}

/// Writes the files of a report into the directory of its campaign.
pub fn write_into(report: &Report, store: &towtank_campaign::Store) -> Result<(), StoreError> {
    store.write_report(&files(report))
}

/// Prints a report on stdout.
pub fn print(report: &Report, format: Format) -> Result<(), Trouble> {
    let text = match format {
        Format::Text => {
            let screen = screen::stdout();
            text::render(report, Style { colour: screen.colour, width: screen.width })
        }
        Format::Json => report.to_json(),
        Format::Csv => csv::results(report),
    };
    screen::print(&text).map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")))
}

/// Says where the report is.
pub fn say_where(output: &OutputFlags, dir: &Path) {
    if !output.quiet {
        screen::say(&format!("report: {}\n", dir.join("report.html").display()));
    }
}
