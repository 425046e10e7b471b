//! The flags of `towtank crush`: those of crushtool, except the unsupported ones, which are refused. As
//! there, `-` and `_` are equivalent in a flag.

use std::path::PathBuf;

use clap::Args;
use towtank_scenario::Problem;

/// The most replicas that may be requested; Ceph's pools have at most ten, or a few tens of shards.
const REPLICAS_MAX: i64 = 65_535;
/// The greatest number that crushtool accepts.
const NUMBER_MAX: i64 = i32::MAX as i64;

/// `towtank crush`.
#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = EXAMPLES)]
pub struct Flags {
    /// Read a binary map; `-` is stdin
    #[arg(short = 'i', long, value_name = "MAP", help_heading = FILES)]
    pub infn: Option<PathBuf>,
    /// Write the map, or the text of -d; the file is replaced whole or not at all
    #[arg(short = 'o', long, value_name = "FILE", help_heading = FILES)]
    pub outfn: Option<PathBuf>,
    /// Compile a text map; `-` is stdin
    #[arg(short = 'c', long, value_name = "TEXT", conflicts_with_all = ["decompile", "build", "infn"], help_heading = FILES)]
    pub compile: Option<PathBuf>,
    /// Print a binary map as text
    #[arg(short = 'd', long, value_name = "MAP", conflicts_with_all = ["build", "infn"], help_heading = FILES)]
    pub decompile: Option<PathBuf>,
    /// Build a map of --num_osds devices under the layers given
    #[arg(long, conflicts_with = "infn", help_heading = FILES)]
    pub build: bool,
    /// Devices of the map to build
    #[arg(long = "num_osds", alias = "num-osds", value_name = "N", help_heading = FILES)]
    pub num_osds: Option<i32>,
    /// Layers of the map to build, lowest first: a name, an algorithm, and how many items a bucket holds (0:
    /// all)
    #[arg(value_name = "NAME ALGORITHM SIZE", help_heading = FILES)]
    pub layers: Vec<String>,

    #[command(flatten)]
    pub tunables: Tunables,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub display: Display,
    #[command(flatten)]
    pub plan: Plan,
    #[command(flatten)]
    refused: Refused,
}

/// Known flags of crushtool that are refused by name.
#[derive(Debug)]
struct Refused(Vec<String>);

/// Their names; any values they take are refused with them.
const REFUSED: [&str; 20] = [
    "batches",
    "bucket-name",
    "bucket-tree",
    "device-class",
    "enable-unsafe-tunables",
    "format",
    "help-output",
    "mark-down-bucket-ratio",
    "mark-down-ratio",
    "max-rule",
    "min-rule",
    "rebuild-class-roots",
    "reclassify",
    "reclassify-bucket",
    "reclassify-root",
    "ruleset",
    "set-subtree-class",
    "simulate",
    "verbose",
    "clobber",
];

impl Refused {
    fn first(&self) -> Option<&String> {
        self.0.first()
    }
}

impl clap::FromArgMatches for Refused {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let given = REFUSED.iter().filter(|name| matches.contains_id(name));
        Ok(Self(given.map(|name| format!("--{name}")).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Refused {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(REFUSED.map(|name| clap::Arg::new(name).long(name).hide(true).num_args(0..)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

const FILES: &str = "Files";
const TUNABLES: &str = "Tunables";
const CHANGES: &str = "Changes";
const DISPLAY: &str = "Display";
const TEST: &str = "Test";

const EXAMPLES: &str = "Examples:
  towtank crush -d map.bin -o map.txt
  towtank crush -c map.txt -o map.bin
  towtank crush -i map.bin --test --rule 0 --num-rep 3 --show-utilization
  towtank crush -i map.bin --add-item 24 1.8 osd.24 --loc host host6 --loc root default -o map.bin";

/// Tunables to set.
#[derive(Debug, Args)]
pub struct Tunables {
    /// Retries in the same bucket
    #[arg(long, alias = "set_choose_local_tries", value_name = "N", value_parser = number(NUMBER_MAX), help_heading = TUNABLES)]
    pub set_choose_local_tries: Option<i64>,
    /// Retries by permutation in the same bucket
    #[arg(long, alias = "set_choose_local_fallback_tries", value_name = "N", value_parser = number(NUMBER_MAX), help_heading = TUNABLES)]
    pub set_choose_local_fallback_tries: Option<i64>,
    /// Retries from the top
    #[arg(long, alias = "set_choose_total_tries", value_name = "N", value_parser = number(NUMBER_MAX), help_heading = TUNABLES)]
    pub set_choose_total_tries: Option<i64>,
    /// Whether the descent to a leaf is tried once
    #[arg(long, alias = "set_chooseleaf_descend_once", value_name = "0|1", value_parser = number(NUMBER_MAX), help_heading = TUNABLES)]
    pub set_chooseleaf_descend_once: Option<i64>,
    /// Whether the descent to a leaf starts at its parent's attempt
    #[arg(long, alias = "set_chooseleaf_vary_r", value_name = "N", value_parser = number(255), help_heading = TUNABLES)]
    pub set_chooseleaf_vary_r: Option<i64>,
    /// Whether leaves depend on the replicas before them (0) or not (1)
    #[arg(long, alias = "set_chooseleaf_stable", value_name = "0|1", value_parser = number(255), help_heading = TUNABLES)]
    pub set_chooseleaf_stable: Option<i64>,
    /// Version of the formula for straw lengths
    #[arg(long, alias = "set_straw_calc_version", value_name = "0|1", value_parser = number(255), help_heading = TUNABLES)]
    pub set_straw_calc_version: Option<i64>,
    /// Bit mask of algorithms for new buckets
    #[arg(long, alias = "set_allowed_bucket_algs", value_name = "MASK", value_parser = number(NUMBER_MAX), help_heading = TUNABLES)]
    pub set_allowed_bucket_algs: Option<i64>,
}

/// Changes to make, in this order whatever the order of the flags.
#[derive(Debug, Args)]
pub struct Changes {
    /// Change the weight of an item
    #[arg(long, alias = "reweight_item", num_args = 2, value_names = ["NAME", "WEIGHT"], allow_negative_numbers = true, help_heading = CHANGES)]
    pub reweight_item: Option<Vec<String>>,
    /// Remove an item
    #[arg(long, alias = "remove_item", value_name = "NAME", action = clap::ArgAction::Append, help_heading = CHANGES)]
    pub remove_item: Vec<String>,
    /// Add an item at --loc
    #[arg(long, alias = "add_item", num_args = 3, value_names = ["ID", "WEIGHT", "NAME"], allow_negative_numbers = true, conflicts_with = "update_item", help_heading = CHANGES)]
    pub add_item: Option<Vec<String>>,
    /// Add an item at --loc, or change its weight, name or location
    #[arg(long, alias = "update_item", num_args = 3, value_names = ["ID", "WEIGHT", "NAME"], allow_negative_numbers = true, help_heading = CHANGES)]
    pub update_item: Option<Vec<String>>,
    /// Add an empty bucket, at --loc if given
    #[arg(long, alias = "add_bucket", num_args = 2, value_names = ["NAME", "TYPE"], conflicts_with_all = ["add_item", "update_item"], help_heading = CHANGES)]
    pub add_bucket: Option<Vec<String>>,
    /// Move an item to --loc
    #[arg(long = "move", value_name = "NAME", action = clap::ArgAction::Append, help_heading = CHANGES)]
    pub move_item: Vec<String>,
    /// Location of items: TYPE NAME of a bucket; may be repeated
    #[arg(long, num_args = 2, value_names = ["TYPE", "NAME"], action = clap::ArgAction::Append, help_heading = CHANGES)]
    pub loc: Vec<String>,
    /// Add a rule for replicated pools, with one replica below each bucket of TYPE
    #[arg(long, alias = "create_replicated_rule", num_args = 3, value_names = ["NAME", "ROOT", "TYPE"], conflicts_with_all = ["create_simple_rule", "remove_rule"], help_heading = CHANGES)]
    pub create_replicated_rule: Option<Vec<String>>,
    /// The same in either MODE: firstn or indep
    #[arg(long, alias = "create_simple_rule", num_args = 4, value_names = ["NAME", "ROOT", "TYPE", "MODE"], conflicts_with = "remove_rule", help_heading = CHANGES)]
    pub create_simple_rule: Option<Vec<String>>,
    /// Remove a rule
    #[arg(long, alias = "remove_rule", value_name = "NAME", action = clap::ArgAction::Append, help_heading = CHANGES)]
    pub remove_rule: Vec<String>,
    /// Recompute all weights from the devices up
    #[arg(long, help_heading = CHANGES)]
    pub reweight: bool,
}

/// What to print.
#[derive(Debug, Args)]
pub struct Display {
    /// Print the buckets around a device
    #[arg(long, alias = "show_location", value_name = "ID", value_parser = number(NUMBER_MAX), help_heading = DISPLAY)]
    pub show_location: Option<i64>,
    /// Print the hierarchy
    #[arg(long, help_heading = DISPLAY)]
    pub tree: bool,
    /// Print the map as JSON
    #[arg(long, help_heading = DISPLAY)]
    pub dump: bool,
    /// Check that every item and type has a name, and that device ids are below MAX_ID
    #[arg(long, num_args = 0..=1, value_name = "MAX_ID", value_parser = number(NUMBER_MAX), help_heading = DISPLAY)]
    pub check: Option<Option<i64>>,
    /// Test the map: map a range of inputs
    #[arg(short = 't', long, help_heading = TEST)]
    pub test: bool,
    /// Print each mapping
    #[arg(long, alias = "show_mappings", help_heading = TEST)]
    pub show_mappings: bool,
    /// Print mappings with fewer devices than requested
    #[arg(long, alias = "show_bad_mappings", help_heading = TEST)]
    pub show_bad_mappings: bool,
    /// Print the number of mappings by their number of devices
    #[arg(long, alias = "show_statistics", help_heading = TEST)]
    pub show_statistics: bool,
    /// Print the number of inputs per device, and the expected number
    #[arg(long, alias = "show_utilization", help_heading = TEST)]
    pub show_utilization: bool,
    /// The same, including devices without inputs
    #[arg(long, alias = "show_utilization_all", help_heading = TEST)]
    pub show_utilization_all: bool,
    /// Print the number of choices by their number of retries
    #[arg(long, alias = "show_choose_tries", help_heading = TEST)]
    pub show_choose_tries: bool,
    /// Write tables into the current directory, RULE-….csv
    #[arg(long, alias = "output_csv", help_heading = TEST)]
    pub output_csv: bool,
    /// Put NAME- before the names of the tables
    #[arg(long, alias = "output_name", value_name = "NAME", help_heading = TEST)]
    pub output_name: Option<String>,
    /// Compare with the mappings of another map, with the flags of a test; exit code 1 if any differs
    #[arg(long, value_name = "MAP", help_heading = TEST)]
    pub compare: Option<PathBuf>,
}

/// What to test.
#[derive(Debug, Args)]
pub struct Plan {
    /// The only rule to test
    #[arg(long, value_name = "ID", value_parser = number(NUMBER_MAX), help_heading = TEST)]
    pub rule: Option<i64>,
    /// Number of replicas [default: the range of the rule]
    #[arg(long, alias = "num_rep", value_name = "N", value_parser = number(REPLICAS_MAX), help_heading = TEST)]
    pub num_rep: Option<i64>,
    /// Lowest number of replicas; needs --max-rep
    #[arg(long, alias = "min_rep", value_name = "N", value_parser = number(REPLICAS_MAX), help_heading = TEST)]
    pub min_rep: Option<i64>,
    /// Highest number of replicas; needs --min-rep
    #[arg(long, alias = "max_rep", value_name = "N", value_parser = number(REPLICAS_MAX), help_heading = TEST)]
    pub max_rep: Option<i64>,
    /// The only input
    #[arg(long, value_name = "X", value_parser = number(NUMBER_MAX), help_heading = TEST)]
    pub x: Option<i64>,
    /// The first input; without --max-x, inputs are 0 to 1023
    #[arg(long, alias = "min_x", value_name = "X", value_parser = number(NUMBER_MAX), help_heading = TEST)]
    pub min_x: Option<i64>,
    /// The last input
    #[arg(long, alias = "max_x", value_name = "X", value_parser = number(NUMBER_MAX), help_heading = TEST)]
    pub max_x: Option<i64>,
    /// Hash inputs with a pool's id, as Ceph does
    #[arg(long, alias = "pool_id", value_name = "ID", value_parser = number(NUMBER_MAX), help_heading = TEST)]
    pub pool_id: Option<i64>,
    /// Override of a device, from 0 (out) to 1 (in); may be repeated
    #[arg(long, num_args = 2, value_names = ["DEVICE", "WEIGHT"], action = clap::ArgAction::Append, allow_negative_numbers = true, help_heading = TEST)]
    pub weight: Vec<String>,
}

fn number(most: i64) -> clap::builder::RangedI64ValueParser<i64> {
    clap::value_parser!(i64).range(0..=most)
}

impl Flags {
    /// Checks that there is something to do, and no unsupported flag.
    pub fn check(&self) -> Result<(), Problem> {
        if let Some(flag) = self.refused.first() {
            return Err(Problem::new(format!("towtank crush has no `{flag}`"))
                .hint("crushtool has such a flag, and this stand-in does not; use crushtool for it"));
        }
        if let Some(word) = self.layers.first().filter(|_| !self.build) {
            return Err(Problem::new(format!("`{word}` belongs to no flag"))
                .hint("only --build takes words without a flag, its layers"));
        }
        let files = self.compile.is_some() || self.decompile.is_some() || self.build;
        if files || self.tunables.any() || self.changes.any() || self.display.any() {
            return Ok(());
        }
        Err(Problem::new("nothing to do is given").hint(
            "say what to do with the map, such as --test or --tree; `towtank crush --help` lists it all",
        ))
    }
}

impl Tunables {
    /// Every tunable, as given.
    fn all(&self) -> [Option<i64>; 8] {
        [
            self.set_choose_local_tries,
            self.set_choose_local_fallback_tries,
            self.set_choose_total_tries,
            self.set_chooseleaf_descend_once,
            self.set_chooseleaf_vary_r,
            self.set_chooseleaf_stable,
            self.set_straw_calc_version,
            self.set_allowed_bucket_algs,
        ]
    }

    /// Whether any tunable is to be set.
    pub fn any(&self) -> bool {
        self.all().iter().any(Option::is_some)
    }
}

impl Changes {
    /// Whether any change is to be made.
    pub fn any(&self) -> bool {
        let lists = [
            &self.reweight_item,
            &self.add_item,
            &self.update_item,
            &self.add_bucket,
            &self.create_replicated_rule,
            &self.create_simple_rule,
        ];
        let names = [&self.remove_item, &self.move_item, &self.remove_rule];
        self.reweight || lists.iter().any(|list| list.is_some()) || names.iter().any(|name| !name.is_empty())
    }
}

impl Display {
    fn any(&self) -> bool {
        let flags = [self.show_location.is_some(), self.tree, self.dump, self.check.is_some(), self.test];
        self.compare.is_some() || flags.contains(&true)
    }
}
