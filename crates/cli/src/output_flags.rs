//! Flags for the output of a command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The help heading of output flags.
pub(crate) const RESULTS: &str = "Results";

/// What is shown of the results.
#[derive(Clone, Debug, Args)]
pub struct OutputFlags {
    /// What to print on stdout
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        env = "TOWTANK_FORMAT",
        hide_env = true,
        default_value_t = Format::Text,
        help_heading = RESULTS
    )]
    pub format: Format,
    /// Print no progress and no messages on stderr
    #[arg(long, short, help_heading = RESULTS)]
    pub quiet: bool,
    /// Print all tables; by default one screen is printed, which begins with the answer
    #[arg(long, short, help_heading = RESULTS)]
    pub verbose: bool,
}

/// Where a report goes.
#[derive(Clone, Debug, Args)]
pub struct ReportFlags {
    /// Write the report and its tables into this directory
    #[arg(long, value_name = "DIR", env = "TOWTANK_OUT", hide_env = true, help_heading = RESULTS)]
    pub out: Option<PathBuf>,
}

/// What is printed on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    Text,
    /// The whole report, as in report.json
    Json,
    /// The measures as in summary.csv, one row each
    Csv,
}
