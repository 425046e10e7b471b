//! Output of a report: data on stdout, messages on stderr.

use std::path::Path;

use towtank::{Trouble, Unmet};
use towtank_report::text::{Rest, Style};
use towtank_report::{Report, csv, text};

use crate::exit::Exit;
use crate::output_flags::{Format, OutputFlags};
use crate::screen;

/// Prints a report on stdout: one screen that begins with the answer, or with `--verbose` the whole report.
/// `dir` is where its page was written.
pub fn print(report: &Report, flags: &OutputFlags, dir: Option<&Path>) -> Result<(), Trouble> {
    print_planned(report, flags, dir, None)
}

/// The same of a report whose plan a flag writes: `--commands FILE`.
pub(crate) fn print_planned(
    report: &Report,
    flags: &OutputFlags,
    dir: Option<&Path>,
    commands: Option<&str>,
) -> Result<(), Trouble> {
    let page = dir.map(|dir| dir.join("report.html").display().to_string());
    let text = match flags.format {
        Format::Text => {
            let screen = screen::stdout();
            let style = Style { colour: screen.colour, width: screen.width };
            let rest = Rest { page: page.as_deref(), commands, ..Rest::OF_COMMAND };
            if flags.verbose { text::render(report, style) } else { text::brief(report, style, rest) }
        }
        Format::Json => report.to_json(),
        Format::Csv => csv::results(report),
    };
    let named = flags.format == Format::Text && !flags.verbose;
    say_where(flags, dir.filter(|_| !named));
    screen::print(&text).map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")))
}

/// Says on stderr where a page is that stdout does not name.
pub(crate) fn say_where(flags: &OutputFlags, dir: Option<&Path>) {
    if let Some(dir) = dir.filter(|_| !flags.quiet) {
        screen::say(&format!("report: {}\n", dir.join("report.html").display()));
    }
}

/// Prints the gates that are not met, and why.
pub(crate) fn gates(unmet: &[Unmet]) -> Exit {
    for Unmet { gate, reasons } in unmet {
        screen::say(&format!("gate not met: {gate}\n"));
        for reason in reasons {
            screen::say(&format!("  {reason}\n"));
        }
    }
    if unmet.is_empty() { Exit::Done } else { Exit::GateNotMet }
}
