//! The flags of `towtank capacity`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use towtank_capacity::{Plan, Shares};
use towtank_units::{Bytes, Percent, SimSpan};

use crate::output_flags::{OutputFlags, ReportFlags};

/// `towtank capacity`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "Examples:
  towtank capacity measure --target rbd:bench/image --set-up paper > measure.sh
  towtank capacity fit reads.json writes.json -o model.json
  towtank capacity estimate model.json --mix '16KiB:90%:r70,1MiB:10%:r100' --plan 20000iops
  towtank capacity check model.json --against mixes.csv";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the fio or warp commands that measure what a model needs, or run them on a new file
    Measure(Measure),
    /// Fit a model to measured pure reads and pure writes of each size
    Fit(Fit),
    /// Estimate operations per second of a mix
    Estimate(Estimate),
    /// Compare the model with measured mixes
    Check(Check),
}

const QUESTION: &str = "Question";
const MEASUREMENTS: &str = "Measurements";
const RESULTS: &str = "Results";

/// `towtank capacity measure`.
#[derive(Debug, Args)]
#[command(after_help = MEASURE_EXAMPLES)]
pub struct Measure {
    /// What to measure: a new file, a directory for it, rbd:POOL/IMAGE, or s3:https://HOST:PORT/BUCKET.
    /// An image or a bucket is overwritten
    #[arg(long, value_name = "TARGET", required = true, help_heading = MEASUREMENTS)]
    pub target: String,
    /// Runs: `quick` (pure loads twice and half writes once, a minute each), or `paper` (all mixes in steps
    /// of 10 %, 5 minutes each)
    #[arg(long, value_enum, value_name = "NAME", default_value = "quick", help_heading = MEASUREMENTS)]
    pub set_up: SetUpName,
    /// Sizes of operations, separated by commas [default: those of the set-up]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', help_heading = MEASUREMENTS)]
    pub sizes: Vec<Bytes>,
    /// Shares of reads to measure beside pure reads and writes, such as 30%,70%
    #[arg(long, value_name = "SHARES", value_delimiter = ',', help_heading = MEASUREMENTS)]
    pub reads: Vec<Percent>,
    /// Number of runs of each pure load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = MEASUREMENTS)]
    pub repeat: Option<u32>,
    /// Duration of a run
    #[arg(long, value_name = "SPAN", help_heading = MEASUREMENTS)]
    pub runtime: Option<SimSpan>,
    /// Operations of a job in flight; concurrent operations of warp
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), help_heading = MEASUREMENTS)]
    pub depth: Option<u32>,
    /// Jobs of fio
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024), help_heading = MEASUREMENTS)]
    pub jobs: Option<u32>,
    /// Bytes of the file or image that are used
    #[arg(long, value_name = "SIZE", help_heading = MEASUREMENTS)]
    pub span: Option<Bytes>,
    /// Directory for the results of fio or warp
    #[arg(long, value_name = "DIR", default_value = "measured", help_heading = RESULTS)]
    pub results: String,
    /// Run fio on a new file, which is removed at the end, and fit a model; results that exist are kept
    #[arg(long, help_heading = RESULTS)]
    pub run: bool,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// A set-up by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SetUpName {
    /// Two runs of a minute for each pure load
    Quick,
    /// The runs of the paper
    Paper,
}

const MEASURE_EXAMPLES: &str = "Examples:
  towtank capacity measure --target /mnt/ssd --run
  towtank capacity measure --target rbd:bench/image --set-up paper > measure.sh
  towtank capacity measure --target s3:https://gateway:9000/bench --sizes 64KiB,1MiB > measure.sh";

/// `towtank capacity fit`.
#[derive(Debug, Args)]
#[command(after_help = FIT_EXAMPLES)]
pub struct Fit {
    /// Results of benchmarks: fio JSON, the CSV of COSBench, elbencho or warp, rados bench, or CSV with the
    /// columns system,size,read_percent,iops,run; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write the model; the file is replaced whole or not at all, and `-` is stdout
    #[arg(short = 'o', long = "model", value_name = "MODEL", help_heading = RESULTS)]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    pub chosen: Chosen,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

const FIT_EXAMPLES: &str = "Examples:
  towtank capacity fit results/*.json -o model.json
  towtank capacity fit runs.csv --system ceph -o model.json --out report";

/// Which runs of the files count.
#[derive(Clone, Debug, Default, Args)]
pub struct Chosen {
    /// Use only the runs of this system, if files name several
    #[arg(long, value_name = "NAME", help_heading = MEASUREMENTS)]
    pub system: Option<String>,
}

/// What counts as holding.
#[derive(Clone, Debug, Args)]
pub struct Judged {
    /// Largest error that counts as agreement
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = within, help_heading = MEASUREMENTS)]
    pub within: f64,
}

/// `towtank capacity estimate`.
#[derive(Debug, Args)]
#[command(after_help = ESTIMATE_EXAMPLES)]
pub struct Estimate {
    /// A model from `towtank capacity fit`; `-` is stdin
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The mix: parts SIZE:SHARE%:rREADPERCENT, whose shares add up to 100 %
    #[arg(long, value_name = "MIX", required = true, help_heading = QUESTION)]
    pub mix: String,
    /// Meaning of the shares: operations (one stream that chooses sizes), concurrency (one stream per size),
    /// or capacity
    #[arg(long, value_name = "WHAT", default_value = "operations", value_parser = shares(), help_heading = QUESTION)]
    pub shares: Shares,
    /// Planned load: operations such as 200000iops, or bytes such as 4GiB/s
    #[arg(long, value_name = "RATE", value_parser = Plan::parse, help_heading = QUESTION)]
    pub plan: Option<Plan>,
    /// Draw a curve over all read shares, and a map over two sizes
    #[arg(long, help_heading = QUESTION)]
    pub curve: bool,
    /// Use the curvature that was fitted to measured mixes
    #[arg(long, help_heading = QUESTION)]
    pub curved: bool,
    /// Extrapolate to sizes smaller or larger than those measured
    #[arg(long, help_heading = QUESTION)]
    pub extrapolate: bool,
    /// Exit with code 3 if this condition is true: 'iops_total.low < 20000' or 'plan_used > 80%'; may be
    /// repeated
    #[arg(long, value_name = "EXPRESSION", help_heading = RESULTS)]
    pub fail_if: Vec<String>,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

const ESTIMATE_EXAMPLES: &str = "Examples:
  towtank capacity estimate model.json --mix 4KiB:100%:r70
  towtank capacity estimate model.json --mix '16KiB:90%:r70,1MiB:10%:r100' --shares concurrency
  towtank capacity estimate model.json --mix 4KiB:100%:r0 --plan 900iops --fail-if 'plan_used > 80%'

Measures that gates may name: iops_total, iops_read, iops_write, bandwidth, iops_total_sharing,
planned, plan_used, headroom, growth_needed";

/// `towtank capacity check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct Check {
    /// A model from `towtank capacity fit`; `-` is stdin
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Results of benchmarks to compare with, as for `fit` [default: the mixes in the model]
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = MEASUREMENTS)]
    pub against: Vec<PathBuf>,
    #[command(flatten)]
    pub chosen: Chosen,
    #[command(flatten)]
    pub judged: Judged,
    /// Extrapolate to sizes smaller or larger than those measured
    #[arg(long, help_heading = MEASUREMENTS)]
    pub extrapolate: bool,
    /// Exit with code 3 if this condition is true: 'error_max > 25%'; may be repeated
    #[arg(long, value_name = "EXPRESSION", help_heading = RESULTS)]
    pub fail_if: Vec<String>,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

const CHECK_EXAMPLES: &str = "Examples:
  towtank capacity check model.json --against mixes.json other.csv
  towtank capacity check model.json --against mixes.csv --within 5% --fail-if 'error_mean > 15%'

Measures that gates may name: points, error_mean, error_max, bias, run_spread";

fn shares() -> impl clap::builder::TypedValueParser<Value = Shares> {
    use clap::builder::TypedValueParser as _;
    let named = |name: String| Shares::ALL.into_iter().find(|shares| shares.name() == name);
    clap::builder::PossibleValuesParser::new(Shares::ALL.map(Shares::name))
        .map(move |name| named(name).expect("only these names are possible"))
}

fn within(text: &str) -> Result<f64, String> {
    let percent: Percent =
        text.parse().map_err(|error: towtank_units::UnitError| format!("{error}; {}", error.hint()))?;
    Ok(100.0 * percent.fraction_f64())
}
