//! Flags of a search for settings: the scenario, the goals, and how it is run.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{MachineFlags, SCENARIO, ScenarioFlags};
use crate::output_flags::{RESULTS, ReportFlags};

/// The flags of a search, beside those of its study.
#[derive(Clone, Debug, Args)]
pub struct SearchFlags {
    /// A scenario file, or the name of a built-in scenario [default: from the flags]
    #[arg(value_name = "FILE|NAME")]
    pub scenario: Option<String>,
    /// Condition to meet, as in --fail-if: 'latency_p99_s[interactive] < 20ms'; may be repeated: all must be
    /// met
    #[arg(long, value_name = "EXPRESSION", required = true, help_heading = RESULTS)]
    pub goal: Vec<String>,
    /// Tune this scheduler instead of the scenario's; may be repeated: the first that meets the goals is
    /// chosen
    #[arg(long = "try", value_name = "SCHEDULER", help_heading = SCENARIO)]
    pub schedulers: Vec<String>,
    #[command(flatten)]
    pub changes: ScenarioFlags,
    #[command(flatten)]
    pub machine: MachineFlags,
    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(["text", "json"]), default_value = "text", help_heading = RESULTS)]
    pub format: String,
    /// Print no progress and no messages on stderr
    #[arg(long, short, help_heading = RESULTS)]
    pub quiet: bool,
    #[command(flatten)]
    pub report: ReportFlags,
}
