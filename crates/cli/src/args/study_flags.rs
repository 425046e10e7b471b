//! The command of a study: its flags are short names of scenario keys, with help from the scenario's schema.

use std::cell::LazyCell;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args as _};
use serde_json::Value as Json;
use towtank::heading;
use towtank_operate::eta::Eta;
use towtank_scenario::{FlagName, KeyPath, Problem, Segment, Setting, other_names};
use towtank_study::{Flag, Ordered, Question as _, Study, Subcommand, SubcommandFlag};

use super::{RESULTS, RunFlags, SCENARIO, SearchFlags};

/// The flags of a study that `-h` shows; `--help` shows all. A choice: with the flags that all studies share
/// they fill a screen.
const SHORT_FLAGS: usize = 10;

/// The command of a study without its flags.
pub(super) fn study_name(study: &'static dyn Study) -> clap::Command {
    clap::Command::new(study.name()).about(heading(study))
}

/// The command of a study.
pub(super) fn study_command(study: &'static dyn Study) -> clap::Command {
    let schema = study.schema().to_value();
    let mut command = clap::Command::new(study.name());
    for (at, flag) in study.flags().iter().enumerate() {
        command = command.arg(study_flag(study, flag, &schema).hide_short_help(at >= SHORT_FLAGS));
    }
    for subcommand in study.subcommands() {
        command = command.subcommand(command_of(subcommand));
    }
    if let Some(search) = study.search() {
        let mut inner = clap::Command::new(search.name).about(search.about).after_help(search.help);
        for flag in study.flags() {
            inner = inner.arg(study_flag(study, flag, &schema));
        }
        command = command.subcommand(SearchFlags::augment_args(inner).about(search.about));
    }
    if study.lists_commands() {
        command = command.arg(commands_flag());
    }
    if study.name() == Eta::NAME {
        command = command.arg(watch_flag()).arg(reports());
    }
    let has_own = !study.subcommands().is_empty() || study.search().is_some();
    let command = command.args_conflicts_with_subcommands(has_own);
    let (name, examples) = (study.name(), examples(study));
    let short =
        format!("{examples}\n\n`towtank {name} --help` lists all flags, what is modelled, and the measures.");
    let long = format!(
        "{}\n\n{examples}\n\nKeys without a flag are set with --set; `towtank schema {name}` lists them.\n{}",
        study.about(),
        measures(study)
    );
    RunFlags::augment_args(command).about(heading(study)).after_help(short).after_long_help(long)
}

/// The flag of studies that plan commands; `towtank run` has the same.
fn commands_flag() -> Arg {
    let about = "Write the commands of the plan into this file, one per line; `-` is stdout, and the report is not printed";
    Arg::new(COMMANDS)
        .long(COMMANDS)
        .value_name("FILE")
        .help(about)
        .help_heading(RESULTS)
        .value_parser(clap::value_parser!(PathBuf))
}

/// The flag of a study that goes on with each report that is written.
fn watch_flag() -> Arg {
    let about = "Answer anew for each report that appears in this directory, until the cluster is clean";
    Arg::new(WATCH)
        .long(WATCH)
        .value_name("DIR")
        .help(about)
        .help_heading(SCENARIO)
        .conflicts_with_all(["report", REPORTS, "out", "compare", "print_scenario", "shard"])
        .value_parser(clap::value_parser!(PathBuf))
}

const WATCH: &str = "watch";

/// Reports without a flag, as a shell lists them.
fn reports() -> Arg {
    Arg::new(REPORTS)
        .value_name("REPORT")
        .help("Reports of the recovery, like --report: the latest by its time is now")
        .help_heading(SCENARIO)
        .action(ArgAction::Append)
        .num_args(0..)
}

const REPORTS: &str = "reports";

/// The values of a flag, and of what stands for it without one.
fn values<'a>(study: &dyn Study, flag: &Flag, matches: &'a ArgMatches) -> Vec<&'a String> {
    let mut all: Vec<&String> = matches.get_many(flag.name).into_iter().flatten().collect();
    if study.name() == Eta::NAME && flag.name == "report" {
        all.extend(matches.get_many::<String>(REPORTS).into_iter().flatten());
    }
    all
}

/// The directory that is watched, if one is given.
pub(crate) fn watched<'a>(study: &dyn Study, matches: &'a ArgMatches) -> Option<&'a PathBuf> {
    if study.name() == Eta::NAME { matches.get_one::<PathBuf>(WATCH) } else { None }
}

/// The file for the commands of the plan, if the study has any and one is given.
pub(crate) fn commands_file(study: &dyn Study, matches: &ArgMatches) -> Option<PathBuf> {
    if study.lists_commands() { matches.get_one::<PathBuf>(COMMANDS).cloned() } else { None }
}

const COMMANDS: &str = "commands";

/// Command lines of the study, for its help.
fn examples(study: &dyn Study) -> String {
    let lines = study.examples().iter().map(|line| format!("\n  {line}"));
    format!("Examples:{}", lines.collect::<String>())
}

/// A subcommand of a study that runs no simulation.
fn command_of(subcommand: &Subcommand) -> clap::Command {
    let mut command = clap::Command::new(subcommand.name).about(subcommand.about).after_help(subcommand.help);
    for flag in subcommand.flags {
        let mut arg = Arg::new(flag.name).long(flag.name).value_name(flag.value).help(flag.about);
        if !flag.default.is_empty() {
            arg = arg.default_value(flag.default);
        }
        command = command.arg(arg);
    }
    let format = clap::builder::PossibleValuesParser::new(["text", "json"]);
    let about = "What to print on stdout";
    let format = Arg::new("format").long("format").value_name("FORMAT").value_parser(format).help(about);
    let about = "Write a report with figures and its tables into this directory";
    let out =
        Arg::new("out").long("out").value_name("DIR").help(about).value_parser(clap::value_parser!(PathBuf));
    command.arg(format.default_value("text")).arg(out)
}

/// The given flags of a study's subcommand, with their values.
pub fn given(subcommand: &Subcommand, matches: &ArgMatches) -> Vec<(&'static str, String)> {
    let value = |flag: &SubcommandFlag| {
        let value = matches.get_one::<String>(flag.name)?;
        Some((flag.name, value.clone()))
    };
    subcommand.flags.iter().filter_map(value).collect()
}

fn study_flag(study: &dyn Study, flag: &Flag, schema: &Json) -> Arg {
    let key = key_of(flag);
    let about = Description::of(schema, &key);
    let arg = Arg::new(flag.name)
        .long(flag.name)
        .aliases(about.aliases.clone())
        .value_name(about.value_name)
        .help(about.help(flag.key))
        .help_heading(SCENARIO)
        .hide(study.elsewhere().contains(&flag.key))
        .action(if about.is_list { ArgAction::Append } else { ArgAction::Set })
        .allow_negative_numbers(true);
    // A switch alone sets its key.
    if about.value_name == BOOL { arg.num_args(0..=1).default_missing_value("true") } else { arg }
}

fn key_of(flag: &Flag) -> KeyPath {
    flag.key.parse().unwrap_or_else(|error| panic!("flag --{} names no key: {error}", flag.name))
}

/// The measures that gates may name, for the end of the help.
fn measures(study: &dyn Study) -> String {
    let width = study.measures().iter().map(|measure| measure.name.len()).max().unwrap_or(0);
    let mut lines = vec!["\nMeasures, for --fail-if:".to_owned()];
    for measure in study.measures() {
        let unit = match measure.unit {
            "" => String::new(),
            unit => format!(" [{unit}]"),
        };
        lines.push(format!("  {:width$}  {}{unit}", measure.name, measure.about));
    }
    lines.join("\n")
}

/// A study's flags with their keys, for hints about missing keys.
pub(crate) fn named_flags(study: &dyn Study) -> Vec<FlagName> {
    study
        .flags()
        .iter()
        .map(|flag| FlagName { flag: format!("--{}", flag.name), key: key_of(flag) })
        .collect()
}

/// The settings made by the flags of a study's command, in the order of its flags. Flags whose order counts
/// become one list, if more than one of them is given.
pub fn settings(study: &dyn Study, matches: &ArgMatches) -> Result<Vec<Setting>, Problem> {
    let in_order = in_order(study, matches);
    let schema = LazyCell::new(|| study.schema().to_value());
    let given = study.flags().iter().filter_map(|flag| {
        if in_order.is_some() && study.ordered().is_some_and(|ordered| is_of(&ordered, flag)) {
            return None;
        }
        let values = values(study, flag, matches);
        let value = match values[..] {
            [] => return None,
            [one] => one.clone(),
            // A list key whose flag is given several times: equivalent to the list in a file. TOML reads a
            // JSON list of texts.
            _ => serde_json::json!(values).to_string(),
        };
        let name = format!("--{}", flag.name);
        // What fails or changes has a name, also where the name looks like a number.
        let looks_like_number = values.len() == 1 && value.trim().parse::<f64>().is_ok();
        if looks_like_number && Description::of(&schema, &key_of(flag)).takes_texts {
            return Some(Ok(Setting::of_text(&name, &key_of(flag), value.trim())));
        }
        Some(Setting::of_flag(&name, &key_of(flag), &value))
    });
    let mut settings = given.collect::<Result<Vec<_>, _>>()?;
    settings.extend(in_order);
    Ok(settings)
}

/// Whether a flag is one of those whose order counts.
fn is_of(ordered: &Ordered, flag: &Flag) -> bool {
    flag.key == ordered.list || ordered.keys.contains(&flag.key)
}

/// The flags whose order counts as one list, if more than one of them is given.
fn in_order(study: &dyn Study, matches: &ArgMatches) -> Option<Setting> {
    let ordered = study.ordered()?;
    let flags = study.flags().iter().filter(|flag| is_of(&ordered, flag));
    let mut given: Vec<(usize, &Flag, &String)> = Vec::new();
    let mut kinds = 0;
    for flag in flags {
        let Some(places) = matches.indices_of(flag.name) else { continue };
        let values = matches.get_many::<String>(flag.name).into_iter().flatten();
        given.extend(places.zip(values).map(|(place, value)| (place, flag, value)));
        kinds += 1;
    }
    if kinds < 2 {
        return None;
    }
    given.sort_by_key(|(place, ..)| *place);
    let item = |(_, flag, value): (usize, &Flag, &String)| {
        let text = if flag.key == ordered.list { value.clone() } else { format!("{} {value}", flag.name) };
        (format!("--{}", flag.name), value.clone(), text)
    };
    let items: Vec<_> = given.into_iter().map(item).collect();
    let key = ordered.list.parse().unwrap_or_else(|error| panic!("{} is no key: {error}", ordered.list));
    Some(Setting::of_flags(&key, &items))
}

/// The value's name where a key is true or false.
const BOOL: &str = "BOOL";

/// The schema's description of a key.
struct Description {
    summary: Option<String>,
    default: Option<String>,
    value_name: &'static str,
    /// Whether the key takes one text or several, so that its flag may be repeated.
    is_list: bool,
    /// Whether it takes a text or several, and no number.
    takes_texts: bool,
    /// Flags for the key's aliases.
    aliases: Vec<String>,
}

impl Description {
    fn of(schema: &Json, key: &KeyPath) -> Description {
        let mut place = schema;
        let mut property = schema;
        for segment in key.segments() {
            property = below(schema, place, segment).unwrap_or(&Json::Null);
            place = resolve(schema, property);
        }
        let summary = property.get("description").and_then(Json::as_str).map(|text| text.replace('\n', " "));
        let default = property.get("default").filter(|default| !default.is_null()).map(plain);
        let kinds: Vec<&str> =
            branches(place).filter_map(|branch| branch.get("type").and_then(Json::as_str)).collect();
        let is_list = kinds.contains(&"array");
        let takes_texts = is_list && kinds.contains(&"string") && kinds.len() == 2;
        let aliases = other_names(property).map(|name| name.replace('_', "-")).collect();
        Description {
            summary,
            default,
            value_name: value_name(place, property),
            is_list,
            takes_texts,
            aliases,
        }
    }

    fn help(&self, key: &str) -> String {
        let words = self.summary.clone().unwrap_or_else(|| format!("Set `{key}`"));
        let words = words.trim_end_matches('.');
        match &self.default {
            Some(default) => format!("{words} [default: {default}]"),
            None if self.is_list => format!("{words}; may be repeated"),
            None => words.to_owned(),
        }
    }
}

fn below<'a>(root: &'a Json, place: &'a Json, segment: &Segment) -> Option<&'a Json> {
    match segment {
        Segment::Key(key) => place
            .get("properties")
            .and_then(|properties| properties.get(key))
            .or_else(|| place.get("additionalProperties"))
            .or_else(|| branches(place).find_map(|branch| below(root, resolve(root, branch), segment))),
        Segment::Index(_) => place.get("items"),
    }
}

fn branches(place: &Json) -> impl Iterator<Item = &Json> {
    ["oneOf", "anyOf"].into_iter().filter_map(|word| place.get(word)?.as_array()).flatten()
}

fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let target = schema.get("$ref").and_then(Json::as_str).and_then(|target| target.strip_prefix("#/$defs/"));
    target.and_then(|name| root.get("$defs")?.get(name)).unwrap_or(schema)
}

fn value_name(place: &Json, property: &Json) -> &'static str {
    let referenced = |schema: &Json| {
        let target = schema.get("$ref").and_then(Json::as_str).unwrap_or_default();
        ["SimSpan", "Bytes", "Rate", "Frequency", "Percent"].iter().position(|name| target.ends_with(name))
    };
    let quantity = referenced(property).or_else(|| branches(property).find_map(referenced));
    if let Some(position) = quantity {
        return ["SPAN", "SIZE", "RATE", "FREQUENCY", "PERCENT"][position];
    }
    let kind = match place.get("type") {
        Some(Json::Array(kinds)) => kinds.first().and_then(Json::as_str),
        kind => kind.and_then(Json::as_str),
    };
    match kind {
        Some("integer") => "N",
        Some("number") => "X",
        Some("boolean") => BOOL,
        _ => "VALUE",
    }
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
