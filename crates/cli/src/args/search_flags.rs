//! Flags of a command that looks for settings: the scenario, the goals, and how it is run.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{MachineFlags, RESULTS, ReportFlags, SCENARIO};

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
    /// Set a key of the scenario; may be repeated. Values are TOML, and text needs no quotes
    #[arg(long, value_name = "KEY=VALUE", help_heading = SCENARIO)]
    pub set: Vec<String>,
    /// Where all random draws come from [default: the scenario's, or 1]
    #[arg(
        long,
        value_name = "N",
        env = "TOWTANK_SEED",
        hide_env = true,
        allow_negative_numbers = true,
        help_heading = SCENARIO
    )]
    pub seed: Option<String>,
    /// How many times each setting is run [default: the scenario's, or 1]
    #[arg(long, value_name = "N", env = "TOWTANK_REPLICATES", hide_env = true, help_heading = SCENARIO)]
    pub replicates: Option<String>,
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
