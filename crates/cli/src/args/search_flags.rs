//! Flags of a search for settings: the scenario, the goals, and how it is run.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{MachineFlags, RESULTS, ReportFlags, SCENARIO, ScenarioFlags};

/// The flags of a search, beside those of its study.
#[derive(Clone, Debug, Args)]
pub struct SearchFlags {
    /// A scenario file, or the name of a built-in scenario [default: what the flags say]
    #[arg(value_name = "FILE|NAME")]
    pub scenario: Option<String>,
    /// What is to hold, as in --fail-if: 'latency_p99_s[interactive] < 20ms'; may be repeated, and then all
    /// are to hold
    #[arg(long, value_name = "EXPRESSION", required = true, help_heading = RESULTS)]
    pub goal: Vec<String>,
    /// Tune this scheduler in place of the scenario's; may be repeated, and the first that meets the goals is
    /// taken
    #[arg(long = "try", value_name = "SCHEDULER", help_heading = SCENARIO)]
    pub schedulers: Vec<String>,
    #[command(flatten)]
    pub changes: ScenarioFlags,
    #[command(flatten)]
    pub machine: MachineFlags,
    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(["text", "json"]), default_value = "text", help_heading = RESULTS)]
    pub format: String,
    /// No progress and no remarks on stderr
    #[arg(long, short, help_heading = RESULTS)]
    pub quiet: bool,
    #[command(flatten)]
    pub report: ReportFlags,
}
