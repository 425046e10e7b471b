//! Output of a report: data on stdout, messages on stderr.

use std::path::Path;

use towtank::{Trouble, Unmet};
use towtank_report::text::Style;
use towtank_report::{Report, csv, text};

use crate::exit::Exit;
use crate::output_flags::{Format, OutputFlags};
use crate::screen;

/// Prints a report on stdout: one screen with the answer last, or with `--verbose` the whole report and the
/// answer once more.
pub fn print(report: &Report, flags: &OutputFlags) -> Result<(), Trouble> {
    let text = match flags.format {
        Format::Text => {
            let screen = screen::stdout();
            let style = Style { colour: screen.colour, width: screen.width };
            if flags.verbose {
                text::render(report, style) + "\n" + &text::head(report, style)
            } else {
                text::brief(report, style)
            }
        }
        Format::Json => report.to_json(),
        Format::Csv => csv::results(report),
    };
    screen::print(&text).map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")))
}

/// Prints the path of the report, before the report itself, so that the answer comes last.
pub fn say_where(output: &OutputFlags, dir: &Path) {
    if !output.quiet {
        screen::say(&format!("report: {}\n", dir.join("report.html").display()));
    }
}

/// Prints the gates that are not met, and why.
pub fn gates(unmet: &[Unmet]) -> Exit {
    for Unmet { gate, reasons } in unmet {
        screen::say(&format!("gate not met: {gate}\n"));
        for reason in reasons {
            screen::say(&format!("  {reason}\n"));
        }
    }
    if unmet.is_empty() { Exit::Done } else { Exit::GateNotMet }
}
