//! A report on its way out: files under `--out`, data on stdout, words on stderr.

use std::path::Path;

use campaign::{StoreError, WriteError, Writer};
use report::text::Style;
use report::{Report, csv, html, text};

use crate::args::{Format, OutputFlags};
use crate::exit::Trouble;
use crate::screen;

/// Writes `report.json`, the tables and `report.html`, each whole or not at all.
///
/// `write` puts one file in its place.
pub fn write_files<E>(report: &Report, write: impl Fn(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
    write("report.json", report.to_json().as_bytes())?;
    for file in csv::files(report) {
        write(&file.name, file.text.as_bytes())?;
    }
    write("report.html", html::render(report).as_bytes())
}

/// Writes the files of a report that no campaign keeps.
pub fn write_alone(report: &Report, dir: &Path, writer: &Writer) -> Result<(), WriteError> {
    writer.create_dir(dir)?;
    write_files(report, |name, bytes| writer.replace(&dir.join(name), bytes))
}

/// Writes the files of a report into the directory of its campaign.
pub fn write_into(report: &Report, store: &campaign::Store) -> Result<(), StoreError> {
    write_files(report, |name, bytes| store.write(name, bytes))
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
