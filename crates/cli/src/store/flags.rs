//! The command line of `towtank store`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use towtank_replication::Discovery;
use towtank_store::torture::Kind;
use towtank_units::{Bytes, Percent, SimSpan};

use crate::output_flags::{OutputFlags, ReportFlags};

/// `towtank store`.
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  towtank store up --dir demo --osds 3
  echo hello | towtank store put greeting - --dir demo
  towtank store osd kill 1 --dir demo; towtank store status --watch --dir demo
  towtank store down --dir demo

TOWTANK_STORE stands for --dir."
)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with a cluster.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a cluster on this machine and wait until it is clean; create one if the directory has none
    Up(Up),
    /// Stop all processes of a cluster; its data remain
    Down(Where),
    /// Show the state of a cluster
    Status(Status),
    /// Start, stop, kill, add, replace or remove a device daemon, or mark it in, out or lost
    Osd(Osd),
    /// Make the directory of a lost monitor anew, from what the devices know
    RebuildMonitor(RebuildMonitor),
    /// Write an object
    Put(Put),
    /// Read an object
    Get(Get),
    /// Remove objects
    Rm(Names),
    /// List objects in the order of their names
    Ls(Ls),
    /// Show version, size and attributes of an object
    Stat(Stat),
    /// Read all replicas of all objects and compare them
    Verify(Verify),
    /// Read all replicas of all objects and repair damaged ones
    Scrub(Where),
    /// Serve S3 clients until Ctrl-C
    Gateway(Gateway),
    /// Damage an object on a stopped daemon, to test its repair
    #[command(hide = true)]
    Damage(Damage),
    /// Send malformed frames to a running daemon
    #[command(hide = true)]
    Malformed(Malformed),
    /// Measure throughput and latency of reads and writes with many clients
    Bench(Bench),
    /// Kill, stop and start the daemons of a new cluster under load, and check that no write is lost
    Torture(Torture),
    /// Run the whole store in one thread on a network, disks and clocks drawn from a seed, with faults
    Simulate(Simulate),
    /// Measure backfills of real replicas and compare the simulation with them
    Experiment(Experiment),
    /// Run one process of a cluster
    #[command(hide = true)]
    Daemon(Daemon),
}

/// Which cluster.
#[derive(Clone, Debug, Args)]
pub struct Where {
    /// The directory of the cluster
    #[arg(long, value_name = "DIR", env = "TOWTANK_STORE", hide_env = true, default_value = "towtank-store")]
    pub dir: PathBuf,
}

/// How to print data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
}

/// Parses a backfill's discovery method by its name in scenarios.
fn discovery() -> impl TypedValueParser<Value = Discovery> {
    let names = PossibleValuesParser::new(Discovery::ALL.map(Discovery::name));
    names.map(|name| Discovery::named(&name).expect("it is one of their names"))
}

/// Parses a kind of fault by its name.
fn fault() -> impl TypedValueParser<Value = Kind> {
    let names = PossibleValuesParser::new(Kind::ALL.map(Kind::name));
    names.map(|name| Kind::named(&name).expect("it is one of their names"))
}

/// When a write counts as durable.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Sync {
    /// After fsync: it survives a power failure
    Always,
    /// After the write call: it survives the end of the process
    Never,
}

const PACING: &str = "Clients and recovery";

/// `towtank store up`.
#[derive(Debug, Args)]
pub struct Up {
    #[command(flatten)]
    pub place: Where,
    /// Device daemons of a new cluster [default: 3]
    #[arg(long, value_name = "N")]
    pub osds: Option<u32>,
    /// Placement groups of a new cluster [default: 16]
    #[arg(long, value_name = "N")]
    pub groups: Option<u32>,
    /// Copies of each object in a new cluster [default: 3, or as many as there are daemons]
    #[arg(long, value_name = "N")]
    pub replicas: Option<u32>,
    /// How a backfill finds differences [default: merkle]
    #[arg(long, value_parser = discovery(), value_name = "METHOD")]
    pub discovery: Option<Discovery>,
    /// Leaves of a group's tree and ranges of its bitmap: a power of two [default: 16384]
    #[arg(long, value_name = "N")]
    pub ranges: Option<u32>,
    /// Maximum entries of a group's log; a replica that misses more is backfilled [default: 10000]
    #[arg(long, value_name = "N")]
    pub log_entries: Option<u32>,
    /// Concurrent backfills that a device leads, and as many that it receives [default: 1]
    #[arg(long, value_name = "N")]
    pub backfills: Option<u32>,
    /// Sleep after each recovery operation [default: 0s]
    #[arg(long, value_name = "TIME")]
    pub recovery_sleep: Option<SimSpan>,
    /// When a write counts as durable [default: always]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub sync: Option<Sync>,
    /// Time without heartbeat after which a daemon is down [default: 5s]
    #[arg(long, value_name = "TIME")]
    pub grace: Option<SimSpan>,
    /// Time after which a down daemon is out: its objects move to others [default: 600s]
    #[arg(long, value_name = "TIME")]
    pub out_after: Option<SimSpan>,
    /// Scheduler of clients and recovery on a device: `fifo`, `sfq:8`, `mclock:8`, or another of `towtank
    /// pfs`; its depth is the cost in progress at once [default: none, in order of arrival]
    #[arg(long, value_name = "SCHEDULER", help_heading = PACING)]
    pub scheduler: Option<String>,
    /// Weight of clients, for schedulers with weights [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "scheduler", help_heading = PACING)]
    pub client_weight: Option<u32>,
    /// Weight of recovery [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "scheduler", help_heading = PACING)]
    pub recovery_weight: Option<u32>,
    /// Operations per second per device reserved for clients, for schedulers with reservations
    #[arg(long, value_name = "N", requires = "scheduler", help_heading = PACING)]
    pub client_reservation: Option<u64>,
    /// Operations per second per device reserved for recovery
    #[arg(long, value_name = "N", requires = "scheduler", help_heading = PACING)]
    pub recovery_reservation: Option<u64>,
    /// Limit of recovery in operations per second per device, for schedulers with limits
    #[arg(long, value_name = "N", requires = "scheduler", help_heading = PACING)]
    pub recovery_limit: Option<u64>,
    /// Maximum time to wait until all groups are clean
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub wait: SimSpan,
}

/// `towtank store status`.
#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    pub place: Where,
    /// Print the state repeatedly until all groups are clean, or Ctrl-C
    #[arg(long)]
    pub watch: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    /// Exit with code 3 unless all groups are clean
    #[arg(long)]
    pub fail_unless_clean: bool,
}

/// `towtank store osd`.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Osd {
    #[command(subcommand)]
    pub command: OsdCommand,
}

/// What to do with a device daemon.
#[derive(Debug, Subcommand)]
pub enum OsdCommand {
    /// Start it
    Start(One),
    /// Stop it
    Stop(One),
    /// Kill it, like a crash
    Kill(One),
    /// Mark it in: objects may be placed on it
    In(One),
    /// Mark it out: its objects move to other daemons
    Out(One),
    /// Add one, and start it
    Add(Where),
    /// Begin again with a new directory; the old one is moved aside
    Replace(GiveUp),
    /// Remove it from the cluster; its directory is moved aside
    Rm(GiveUp),
    /// Give up its directory, so that groups stop waiting for it
    Lost(GiveUp),
}

/// Which device daemon is to be given up.
#[derive(Debug, Args)]
#[command(after_help = "It must not run. What the cluster may lose is told first; --yes-i-know accepts it.")]
pub struct GiveUp {
    /// Its number
    pub osd: u32,
    /// Accept the loss that the command tells of without this flag
    #[arg(long)]
    pub yes_i_know: bool,
    #[command(flatten)]
    pub place: Where,
}

/// `towtank store rebuild-monitor`.
#[derive(Debug, Args)]
#[command(after_help = "All daemons must be stopped. A monitor/ that is there is moved aside.")]
pub struct RebuildMonitor {
    /// Give up a device that cannot be read; what the cluster may lose is said first; may be repeated
    #[arg(long, value_name = "N")]
    pub without: Vec<u32>,
    /// Accept the loss that the command tells of without this flag
    #[arg(long)]
    pub yes_i_know: bool,
    #[command(flatten)]
    pub place: Where,
}

/// Which device daemon.
#[derive(Debug, Args)]
pub struct One {
    /// Its number
    pub osd: u32,
    #[command(flatten)]
    pub place: Where,
}

/// Maximum time to wait for an answer.
#[derive(Clone, Copy, Debug, Args)]
pub struct Patience {
    /// Maximum time to wait for an answer
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub timeout: SimSpan,
}

/// `towtank store put`.
#[derive(Debug, Args)]
pub struct Put {
    /// The name of the object
    pub name: String,
    /// The file to write, or `-` for stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// An attribute; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub attribute: Vec<String>,
    #[command(flatten)]
    pub place: Where,
    #[command(flatten)]
    pub patience: Patience,
}

/// `towtank store get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The name of the object
    pub name: String,
    /// The file to write to [default: stdout]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub place: Where,
    #[command(flatten)]
    pub patience: Patience,
}

/// `towtank store rm`.
#[derive(Debug, Args)]
pub struct Names {
    /// The names of the objects
    #[arg(required = true)]
    pub names: Vec<String>,
    #[command(flatten)]
    pub place: Where,
    #[command(flatten)]
    pub patience: Patience,
}

/// `towtank store ls`.
#[derive(Debug, Args)]
pub struct Ls {
    /// Only names with this prefix
    #[arg(default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    #[command(flatten)]
    pub place: Where,
    #[command(flatten)]
    pub patience: Patience,
}

/// `towtank store stat`.
#[derive(Debug, Args)]
pub struct Stat {
    /// The name of the object
    pub name: String,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    #[command(flatten)]
    pub place: Where,
    #[command(flatten)]
    pub patience: Patience,
}

/// `towtank store verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    #[command(flatten)]
    pub place: Where,
}

/// `towtank store gateway`.
#[derive(Debug, Args)]
pub struct Gateway {
    #[command(flatten)]
    pub place: Where,
    /// Address to listen on; port 0 is any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Accept addresses other than loopback: traffic is signed but not encrypted
    #[arg(long)]
    pub allow_other_addresses: bool,
    /// Remove remains of a crash, as each start does, and exit
    #[arg(long)]
    pub clean: bool,
}

/// `towtank store damage`.
#[derive(Debug, Args)]
pub struct Damage {
    /// The number of the daemon
    pub osd: u32,
    /// The name of the object
    pub name: String,
    #[command(flatten)]
    pub place: Where,
}

/// `towtank store malformed`.
#[derive(Debug, Args)]
pub struct Malformed {
    /// `monitor`, or `osd.N`
    pub name: String,
    /// Number of frames
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub frames: u64,
    /// Seed of the frames
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub place: Where,
}

/// `towtank store bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Clients, each with one request at a time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub clients: u32,
    /// Bytes of an object
    #[arg(long, value_name = "BYTES", default_value = "1KiB")]
    pub size: Bytes,
    /// Duration of the writes, and then of the reads
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub time: SimSpan,
    /// Leave the objects in the store
    #[arg(long)]
    pub keep: bool,
    /// Then also write to the embedded tree alone, on the same disk, with as many threads
    #[arg(long)]
    pub bare: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    #[command(flatten)]
    pub place: Where,
}

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Planted {
    /// A write is acknowledged before all replicas have it
    AnswersEarly,
    /// Log recovery does not update the tree
    TreeMissesRecovery,
    /// A write leaves its range skipped
    RangeStaysSkipped,
    /// A repeated request is executed again
    ForgetsRequests,
    /// A primary answers reads without checking that it still is the primary
    ReadsWithoutLease,
    /// A version is shown to clients although only some of the replicas may ever have had it
    ConfirmsEarly,
    /// An object without a valid copy is reverted although its version may have been acknowledged
    RevertsAnything,
}

impl From<Planted> for towtank_replication::Planted {
    fn from(planted: Planted) -> towtank_replication::Planted {
        match planted {
            Planted::AnswersEarly => towtank_replication::Planted::AnswersEarly,
            Planted::TreeMissesRecovery => towtank_replication::Planted::TreeMissesRecovery,
            Planted::RangeStaysSkipped => towtank_replication::Planted::RangeStaysSkipped,
            Planted::ForgetsRequests => towtank_replication::Planted::ForgetsRequests,
            Planted::ReadsWithoutLease => towtank_replication::Planted::ReadsWithoutLease,
            Planted::ConfirmsEarly => towtank_replication::Planted::ConfirmsEarly,
            Planted::RevertsAnything => towtank_replication::Planted::RevertsAnything,
        }
    }
}

/// `towtank store torture`.
#[derive(Debug, Args)]
pub struct Torture {
    /// Duration
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub minutes: f64,
    /// Seed of faults and requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Device daemons
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub osds: u32,
    /// Placement groups
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub groups: u32,
    /// How a backfill finds differences
    #[arg(long, value_parser = discovery(), value_name = "METHOD", default_value = "merkle")]
    pub discovery: Discovery,
    /// Maximum entries of a group's log; with few entries most replicas are backfilled
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub log_entries: u32,
    /// Clients
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub clients: u32,
    /// Objects
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub objects: u32,
    /// Kinds of faults, separated by commas [default: all]
    #[arg(long, value_parser = fault(), value_name = "LIST", value_delimiter = ',')]
    pub faults: Vec<Kind>,
    /// Write each operation to this file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    /// Protocol rule to break on purpose, to test the checker
    #[arg(long, value_enum, hide = true)]
    pub planted: Option<Planted>,
    /// An empty or new directory; the remains of the cluster stay there
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
}

/// `towtank store simulate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  towtank store simulate --seeds 1..1000
  towtank store simulate --seed 17 --trace
  towtank store simulate --seed 17 --faults 3,8 --trace")]
pub struct Simulate {
    /// The first and the last seed
    #[arg(long, value_name = "A..B", value_parser = seeds, default_value = "1..100", conflicts_with = "seed")]
    pub seeds: (u64, u64),
    /// One seed
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Only these of its faults, by their numbers, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub faults: Vec<usize>,
    /// Add a gateway of S3, with one user: the same seed is another run
    #[arg(long)]
    pub gateway: bool,
    /// Print what happens
    #[arg(long)]
    pub trace: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: Form,
    /// Rule to break on purpose, to test the checker
    #[arg(long, value_name = "RULE", hide = true)]
    pub planted: Option<String>,
}

/// Parses the first and the last seed.
fn seeds(text: &str) -> Result<(u64, u64), String> {
    let parsed =
        text.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match parsed {
        Some((first, last)) if first <= last => Ok((first, last)),
        _ => Err("write the first and the last seed, as in 1..1000".to_owned()),
    }
}

/// `towtank store experiment`.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Experiment {
    #[command(subcommand)]
    pub command: ExperimentCommand,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum ExperimentCommand {
    /// Stop a replica, overwrite some objects, start it and measure its backfill, for all combinations
    Backfill(BackfillExperiment),
}

/// `towtank store experiment backfill`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  towtank store experiment backfill --dir measured
  towtank store experiment backfill --objects 5000,10000,20000,50000 --stale 1%,5%,10%,20% \\
    --ranges 1024,4096,16384,32768 --repeat 3 --dir thesis --out thesis-report

The same command goes on where it was interrupted. What was measured lies in DIR/measured.jsonl.")]
pub struct BackfillExperiment {
    /// Numbers of objects in the group
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "5000,20000")]
    pub objects: Vec<u32>,
    /// Shares of the objects that are overwritten while a replica is down
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', default_value = "1%,10%")]
    pub stale: Vec<Percent>,
    /// Leaves of a tree, and ranges of a bitmap: powers of two
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "16384")]
    pub ranges: Vec<u32>,
    /// How differences are found
    #[arg(
        long,
        value_name = "METHOD,...",
        value_delimiter = ',',
        value_parser = discovery(),
        default_value = "scan,bitmap,merkle,sketch"
    )]
    pub discovery: Vec<Discovery>,
    /// Runs of each combination
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: u32,
    /// Bytes of an object
    #[arg(long, value_name = "BYTES", default_value = "1KiB")]
    pub size: Bytes,
    /// Seed that selects the overwritten objects
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Objects and share of the point on which the simulation's costs are measured, with the smallest share
    /// of the same size [default: the largest of both]
    #[arg(long, value_name = "N:SHARE")]
    pub fit_on: Option<String>,
    /// Directory for the clusters and the measurements
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Exit with code 3 if this condition is true: `median_error > 15%`
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// `towtank store daemon`.
#[derive(Debug, Args)]
pub struct Daemon {
    /// `monitor`, or `osd.N`
    pub name: String,
    #[command(flatten)]
    pub place: Where,
}
