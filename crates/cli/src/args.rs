//! The command line: fixed commands, one command per study, and the flags that running commands share.
//!
//! Flags of a study are derived from its scenario: [`towtank_study::Study::flags`] names them, the schema
//! describes them.

mod front;
mod search_flags;
mod study_flags;

use std::ffi::{OsStr, OsString};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use towtank::{Options, Registry};
use towtank_campaign::Shard;
use towtank_imports::past::Zone;
use towtank_kernel::Executor;
use towtank_units::SimSpan;

use crate::executor_flag::executors;
use crate::output_flags::{OutputFlags, RESULTS, ReportFlags};

pub use search_flags::SearchFlags;
pub(crate) use study_flags::named_flags;
pub(crate) use study_flags::{commands_file, watched};
pub use study_flags::{given, settings};
use study_flags::{study_command, study_name};

/// What-if answers for distributed storage, from simulation.
#[derive(Debug, Parser)]
#[command(
    name = "towtank",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Begin with `towtank list`; `towtank COMMAND -h` shows examples.\n\
                  Exit codes: 0 done, 1 failed, 2 bad input, 3 a gate not met, 130 interrupted."
)]
pub(crate) struct Towtank {
    #[command(subcommand)]
    pub command: Command,
}

/// The commands that are no studies.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario: a file, or a built-in one by its name
    Run(Run),
    /// List the studies and the built-in scenarios
    #[command(display_order = 100)]
    List(List),
    /// Print a built-in scenario, to read or to copy
    #[command(display_order = 101)]
    Show {
        /// A name from `towtank list`
        name: String,
    },
    /// Print the JSON Schema of a study's scenario files, for editors
    #[command(display_order = 102)]
    Schema {
        /// A study from `towtank list`; all of them if left out
        study: Option<String>,
    },
    /// Run published set-ups and compare the results with the published values
    #[command(display_order = 103)]
    Reproduce(Reproduce),
    /// Compare the reports of two or more runs
    #[command(display_order = 104)]
    Compare(Compare),
    /// Join the results of `--shard` runs from several directories
    #[command(display_order = 105)]
    Merge(Merge),
    /// Read, test, edit and write CRUSH maps, as Ceph's crushtool does
    #[command(display_order = 106)]
    Crush(Box<crate::crush::Flags>),
    /// Estimate operations per second of any mix of reads, writes and sizes, from two measurements
    #[command(display_order = 107)]
    Capacity(Box<crate::capacity::Flags>),
    /// Say what happened in a recovery, from logs, metrics and reports that were kept of it
    #[command(display_order = 107)]
    Learn(Learn),
    /// Print the shell lines that keep of the next recovery what can be learned from
    #[command(display_order = 107)]
    Record(Record),
    /// Run a replicated object store on this machine, with the same protocol as the simulator
    #[command(display_order = 108)]
    Store(Box<crate::store::Flags>),
    /// Measure the simulator itself
    #[command(display_order = 109)]
    Bench(crate::bench::Bench),
    /// Print a completion script for a shell
    #[command(display_order = 110)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or that of one command
    #[command(display_order = 111)]
    Man {
        /// A command, such as `run`; the main page if left out
        command: Option<String>,
    },
}

/// `towtank run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// A scenario file, the name of a built-in scenario (see `towtank list`), or `-` for stdin
    #[arg(value_name = "FILE|NAME")]
    pub scenario: String,
    #[command(flatten)]
    pub flags: RunFlags,
    /// Write the commands of the plan into this file, one per line; `-` is stdout, and the report is not
    /// printed
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = RESULTS)]
    pub commands: Option<PathBuf>,
}

const RUN_EXAMPLES: &str = "Examples:
  towtank run queue-mm1
  towtank run my.toml --set stations.counter.servers=2 --out results
  towtank run my.toml --fail-if 'sojourn_mean.high > 30min'
  towtank run queue-mm1 --compare stations.counter.servers=2";

/// What is changed of a scenario, whatever is done with it.
#[derive(Clone, Debug, Args)]
pub struct ScenarioFlags {
    /// Set a key of the scenario; may be repeated. Values are TOML; text needs no quotes
    #[arg(long, value_name = "KEY=VALUE", help_heading = SCENARIO)]
    pub set: Vec<String>,
    /// Seed of all random draws [default: the scenario's, or 1]
    #[arg(
        long,
        value_name = "N",
        env = "TOWTANK_SEED",
        hide_env = true,
        allow_negative_numbers = true,
        help_heading = SCENARIO
    )]
    pub seed: Option<String>,
    /// Replicates of each point; from 2 on, results have 95 % intervals [default: the scenario's, or 1]
    #[arg(
        long,
        value_name = "N",
        env = "TOWTANK_REPLICATES",
        hide_env = true,
        allow_negative_numbers = true,
        help_heading = SCENARIO
    )]
    pub replicates: Option<String>,
}

/// The flags of `run` and of every study.
#[derive(Clone, Debug, Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub changes: ScenarioFlags,
    /// Run the scenario as given and with these keys set, and compare both; may be repeated
    #[arg(
        long,
        value_name = "KEY=VALUE, …",
        conflicts_with_all = ["shard", "print_scenario"],
        help_heading = SCENARIO
    )]
    pub compare: Vec<String>,
    /// Print the scenario with all defaults filled in, and do not run it
    #[arg(long, hide_short_help = true, help_heading = SCENARIO)]
    pub print_scenario: bool,
    #[command(flatten)]
    pub machine: MachineFlags,
    /// Run only part I of N, counted from 1; `towtank merge` joins the parts
    #[arg(long, value_name = "I/N", env = "TOWTANK_SHARD", hide_env = true, requires = "out", allow_negative_numbers = true, hide_short_help = true, help_heading = RUNNING)]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub keep: KeepFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    /// Exit with code 3 if this condition on measures is true: 'NAME[.low|.high] < 2ms', joined by and/or;
    /// may be repeated
    #[arg(long, value_name = "EXPRESSION", help_heading = RESULTS)]
    pub fail_if: Vec<String>,
}

/// How much of the machine a run may use. Never changes a result.
#[derive(Clone, Debug, Args)]
pub struct MachineFlags {
    /// Number of runs in parallel [default: as many as the cores allow]
    #[arg(long, value_name = "N", env = "TOWTANK_JOBS", hide_env = true, value_parser = at_least_one::<NonZeroUsize>, allow_negative_numbers = true, help_heading = RUNNING)]
    pub jobs: Option<NonZeroUsize>,
    /// Executor of the kernel; it does not change the result
    #[arg(
        long,
        value_name = "NAME",
        env = "TOWTANK_EXECUTOR",
        hide_env = true,
        default_value_t = Executor::Sequential,
        value_parser = executors(),
        hide_short_help = true,
        help_heading = RUNNING
    )]
    pub executor: Executor,
    /// Threads per run, for the conservative and the optimistic executor [default: all cores]
    #[arg(long, value_name = "N", env = "TOWTANK_WORKERS", hide_env = true, value_parser = at_least_one::<NonZeroU32>, allow_negative_numbers = true, hide_short_help = true, help_heading = RUNNING)]
    pub workers: Option<NonZeroU32>,
    /// Use more threads than cores; write into a directory that has other results
    #[arg(long, hide_short_help = true, help_heading = RUNNING)]
    pub force: bool,
    /// Run even if the estimated memory exceeds that of the machine
    #[arg(long, hide_short_help = true, help_heading = RUNNING)]
    pub allow_memory: bool,
}

impl MachineFlags {
    /// The options of these flags, for runs that are kept in `out`.
    pub fn options(&self, out: Option<&Path>) -> Options {
        Options {
            executor: self.executor,
            workers: self.workers,
            jobs: self.jobs,
            shard: Shard::WHOLE,
            out: out.map(Path::to_owned),
            force: self.force,
            allow_memory: self.allow_memory,
        }
    }
}

/// Where runs are kept.
#[derive(Clone, Debug, Args)]
pub struct KeepFlags {
    /// Write the report, its tables and every finished run into this directory; the same command resumes from
    /// there
    #[arg(long, value_name = "DIR", env = "TOWTANK_OUT", hide_env = true, help_heading = RESULTS)]
    pub out: Option<PathBuf>,
}

/// The heading of flags that change the scenario.
const SCENARIO: &str = "Scenario";
/// The heading of flags that change how it is run.
const RUNNING: &str = "Running";
/// `towtank list`.
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub struct List {
    /// Only what has all these words in its name, title, study or paper; the name of a study means that study
    /// alone
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// What to print on stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ListFormat::Text)]
    pub format: ListFormat,
}

const LIST_EXAMPLES: &str = "Examples:
  towtank list put
  towtank list replicast table
  towtank list longhorn";

/// What lists are printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Text for people
    Text,
    /// JSON for programs
    Json,
}

/// `towtank reproduce`.
#[derive(Debug, Args)]
pub struct Reproduce {
    /// Names of published scenarios or studies [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Print every claim with its source, and the time that each scenario takes, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Only the cheapest scenarios, as many as take a minute in all on one core
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub machine: MachineFlags,
    #[command(flatten)]
    pub keep: KeepFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// `towtank compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Two or more directories that were given to `--out`, or report.json files; all are compared with the
    /// first
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    pub runs: Vec<PathBuf>,
    #[command(flatten)]
    pub report: ReportFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// `towtank merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// The directories of the parts
    #[arg(value_name = "DIR", required = true)]
    pub parts: Vec<PathBuf>,
    #[command(flatten)]
    pub keep: KeepFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    /// Exit with code 3 if this condition is true for the joined results, as in `run`; may be repeated
    #[arg(long, value_name = "EXPRESSION", help_heading = RESULTS)]
    pub fail_if: Vec<String>,
    /// Write into a directory that has other results
    #[arg(long, help_heading = RESULTS)]
    pub force: bool,
}

/// `towtank learn`.
#[derive(Debug, Args)]
#[command(after_help = LEARN_EXAMPLES)]
pub struct Learn {
    /// What was kept: ceph.log, answers of Prometheus to query_range, Grafana's CSV, `ceph -s` or `ceph pg
    /// stat` below the time at which it was asked, reports, dumps of groups, perf dump, and CSV with the
    /// columns time,degraded_objects,misplaced_objects,bytes_per_s; all files of a directory, or those of
    /// Ceph in one that `sos report` made
    #[arg(value_name = "FILE|DIR", required = true)]
    pub files: Vec<PathBuf>,
    /// The zone of times that files give without one, such as +01:00 or Z
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub zone: Option<Zone>,
    /// A report from before the event (`ceph report`), to fit the constants of the machines to it; left out:
    /// the last one from before it among the files
    #[arg(long, value_name = "FILE", help_heading = FITTING)]
    pub report: Option<PathBuf>,
    /// The CRUSH map from before the event, in place of that of the report
    #[arg(long, value_name = "FILE", help_heading = FITTING)]
    pub crush_map: Option<PathBuf>,
    /// The osd dump from before the event, in place of that of the report
    #[arg(long, value_name = "FILE", help_heading = FITTING)]
    pub osd_dump: Option<PathBuf>,
    /// The dump of groups from before the event; left out: the last one from before it among the files
    #[arg(long, value_name = "FILE", help_heading = FITTING)]
    pub pg_dump: Option<PathBuf>,
    /// `ceph osd df` from before the event
    #[arg(long, value_name = "FILE", help_heading = FITTING)]
    pub osd_df: Option<PathBuf>,
    /// What was done, as `towtank whatif --change` has it, where the files do not say it; may be repeated
    #[arg(long, value_name = "CHANGE", help_heading = FITTING)]
    pub change: Vec<String>,
    /// When it was done: 2026-11-28T09:54:07Z, or seconds of the clock of the files
    #[arg(long, value_name = "TIME", requires = "change", allow_hyphen_values = true, help_heading = FITTING)]
    pub at: Option<String>,
    /// Which event, from 1, where there are several
    #[arg(long, value_name = "NUMBER", help_heading = FITTING)]
    pub event: Option<usize>,
    /// A setting of the cluster that is known, as a key of `whatif`: max_backfills=1, recovery_sleep=100ms,
    /// queue=mclock; may be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = FITTING)]
    pub set: Vec<String>,
    /// Write the constants into this file, for `towtank whatif --machines`
    #[arg(short, long, value_name = "FILE", help_heading = FITTING)]
    pub out: Option<PathBuf>,
    /// What to print on stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ListFormat::Text)]
    pub format: ListFormat,
    /// No notes
    #[arg(short, long)]
    pub quiet: bool,
}

/// The heading of flags of fits.
const FITTING: &str = "Constants of the machines";

const LEARN_EXAMPLES: &str = "Examples:
  towtank learn kept/
  towtank learn kept/ -o machines.toml
  towtank learn ceph.log --report before.json --set max_backfills=1 -o machines.toml
  towtank learn ceph.log prometheus.json
  towtank learn grafana.csv before.json after.json --zone +01:00";

/// `towtank record`.
#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub struct Record {
    /// The directory that the lines write into
    #[arg(long, value_name = "DIR", default_value = "kept")]
    pub dir: String,
    /// How often they ask for the state
    #[arg(long, value_name = "SPAN", default_value = "15s")]
    pub every: SimSpan,
    /// The address of a Prometheus that asks the manager, such as http://HOST:9090
    #[arg(long, value_name = "URL")]
    pub prometheus: Option<String>,
    /// A report of the cluster (`ceph report`), for the sizes of the answers
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

const RECORD_EXAMPLES: &str = "Examples:
  towtank record > record.sh
  towtank record --every 5s --prometheus http://monitoring:9090 > record.sh
  towtank record --report report.json";

fn at_least_one<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "it must be a whole number from 1".to_owned())
}

/// How much the help says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// `-h`: usual flags and examples.
    Short,
    /// `--help`, and the manual: everything.
    Full,
}

impl Help {
    /// The help that a command line asks for.
    pub fn asked(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Help {
        let words: Vec<_> = words.into_iter().collect();
        let has = |flag: &str| words.iter().any(|word| word.as_ref() == flag);
        if has("-h") && !has("--help") { Help::Short } else { Help::Full }
    }
}

/// The words of a command line with negative values joined to their flags: `--client-writes=-1/s`. Otherwise
/// such a value would be taken for an unknown flag, and nothing said of what the flag takes. No flag begins
/// with a digit. Bare numbers are known as such, and some flags take several of them.
pub(crate) fn with_negative_values(words: Vec<OsString>) -> Vec<OsString> {
    let is_negative = |word: &OsStr| {
        let text = word.to_string_lossy();
        let rest = text.strip_prefix('-').map(|rest| rest.strip_prefix('.').unwrap_or(rest));
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            && text.parse::<f64>().is_err()
    };
    let is_flag = |word: &OsStr| {
        let text = word.to_string_lossy();
        text.len() > 2 && text.starts_with("--") && !text.contains('=')
    };
    let mut joined: Vec<OsString> = Vec::new();
    let mut ended = false;
    for word in words {
        ended |= word == "--";
        match joined.last_mut() {
            Some(flag) if !ended && is_negative(&word) && is_flag(flag) => {
                flag.push("=");
                flag.push(&word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// The whole command line.
pub fn command(registry: &Registry, help: Help) -> clap::Command {
    with_studies(registry, help, |_| true)
}

/// The command line as far as these words need it: a study that they do not name has no flags. Reading its
/// schema would take longer than all else at the start.
pub(crate) fn command_for(registry: &Registry, words: &[OsString]) -> clap::Command {
    with_studies(registry, Help::asked(words), |name| words.iter().any(|word| word == name))
}

fn with_studies(registry: &Registry, help: Help, is_named: impl Fn(&str) -> bool) -> clap::Command {
    let mut command = Towtank::command();
    for (position, study) in registry.studies().iter().enumerate() {
        let study = if is_named(study.name()) { study_command(*study) } else { study_name(*study) };
        command = command.subcommand(study.display_order(10 + position));
    }
    front::with_page(with_help(command, help))
}

/// The help in one layout for `-h` and `--help`: one or two lines per flag, not four. Environment variables
/// that stand for flags are named at the end of the full help.
fn with_help(command: clap::Command, help: Help) -> clap::Command {
    let flag = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let command = command.disable_help_flag(true);
    let hides = command.get_arguments().any(Arg::is_hide_short_help_set);
    let about = if hides { "Print help: `-h` the usual flags, `--help` all" } else { "Print help" };
    let command = command.arg(flag.help(about).display_order(1000));
    let command = match help {
        Help::Short => command,
        Help::Full => {
            let variables: Vec<&str> =
                command.get_arguments().filter_map(|flag| flag.get_env()?.to_str()).collect();
            let after = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
            let environment = (!variables.is_empty()).then(|| environment(&variables));
            let after: Vec<String> = after.into_iter().chain(environment).collect();
            command.mut_args(|arg| arg.hide_short_help(false)).after_help(after.join("\n\n"))
        }
    };
    // Flags with long values leave no room beside them in a narrow terminal.
    let is_narrow = crate::screen::stdout().width < NARROW && command.get_name() == "crush";
    command.next_line_help(is_narrow).mut_subcommands(|inner| with_help(inner, help))
}

/// Below so many columns the help of `crush` has a line for a flag, and the text below it.
const NARROW: usize = 90;

fn environment(variables: &[&str]) -> String {
    format!("Environment variables that stand for flags: {}", variables.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        for help in [Help::Short, Help::Full] {
            command(&Registry::builtin(), help).debug_assert();
        }
    }

    /// What a command line prints or is refused with does not depend on the flags of studies that it does not
    /// name.
    #[test]
    fn a_command_line_needs_the_studies_that_it_names_and_no_others() {
        let registry = Registry::builtin();
        let lines = [
            "--version",
            "",
            "-h",
            "--help",
            "list",
            "list -h",
            "run --help",
            "rebuild -h",
            "rebuild --help",
            "rebuild --serverz 3",
            "rebuld --servers 3",
            "--servers 3 rebuild",
            "capacity fit --help",
            "queue --load 0.5",
            "man rebuild",
            "bench place --servers 3",
        ];
        let mut shown = 0;
        for line in lines {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let all = || std::iter::once(OsString::from("towtank")).chain(words.clone());
            let parsed = |command: clap::Command| match command.try_get_matches_from(all()) {
                Ok(matches) => matches.subcommand_name().unwrap_or_default().to_owned(),
                Err(error) => error.to_string(),
            };
            let whole = parsed(command(&registry, Help::asked(&words)));
            assert_eq!(parsed(command_for(&registry, &words)), whole, "{line}");
            // The comparison sees flags: without those of the study it differs.
            let none = parsed(with_studies(&registry, Help::asked(&words), |_| false));
            shown += u32::from(none != whole);
        }
        assert!(shown >= 4, "{shown} of the lines show flags of a study");
    }

    /// The words of a command line, as a shell takes them; only single quotes are known.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let of = |(at, part): (usize, &str)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        };
        parts.flat_map(of).collect()
    }

    #[test]
    fn each_example_of_a_study_is_a_command_line_that_parses() {
        let registry = Registry::builtin();
        let parse = |line: &str| command(&registry, Help::Full).try_get_matches_from(words(line));
        for study in registry.studies() {
            assert_eq!(study.examples().len(), 3, "{}", study.name());
            for line in study.examples() {
                let found = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
                let run = found.subcommand_matches("run");
                let name = run.and_then(|run| run.get_one::<String>("scenario"));
                assert!(name.is_none_or(|name| registry.scenario(name).is_some()), "{line}");
            }
        }
        assert!(parse("towtank queue --no-such-flag 3").is_err());
    }

    #[test]
    fn a_negative_value_belongs_to_the_flag_before_it() {
        let of = |line: &str| {
            let words = line.split_whitespace().map(OsString::from).collect();
            let joined = with_negative_values(words).into_iter();
            joined.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("whatif --client-writes -1/s -q"), "whatif --client-writes=-1/s -q");
        assert_eq!(of("whatif --speed-spread -.5%"), "whatif --speed-spread=-.5%");
        // Planted: words that are no values, or follow no flag.
        for line in [
            "whatif --fail -q",
            "crush -i -1",
            "whatif --down-out=1s -1s",
            "run -- --nic -1B/s",
            "crush --weight -1 1.5",
        ] {
            assert_eq!(of(line), line);
        }
    }

    #[test]
    fn no_study_hides_a_command() {
        let fixed = Towtank::command();
        for study in Registry::builtin().studies() {
            assert!(fixed.find_subcommand(study.name()).is_none(), "`{}` is a command already", study.name());
        }
    }
}
