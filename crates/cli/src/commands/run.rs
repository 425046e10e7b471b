//! `towtank run FILE|NAME` and the commands of studies.

use std::io;
use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use towtank::{Alternative, Document, Done, Options, Registry, Scenario, Trouble, Unmet, gates};
use towtank_campaign::Shard;
use towtank_report::Report;
use towtank_scenario::{KeyPath, Problem, Problems, Setting};
use towtank_study::Study;

use super::print;
use crate::args::{self, Run, RunFlags, ScenarioFlags};
use crate::exit::Exit;
use crate::output_flags::Format;
use crate::plan::Commands;
use crate::watching::Watching;
use crate::{interrupt, output, screen};

/// Runs a scenario file or a built-in scenario.
pub fn run(registry: &Registry, run: &Run, matches: &ArgMatches) -> Result<Exit, Trouble> {
    let document = match run.scenario.as_str() {
        "-" => Document::named("<stdin>", &towtank::read_text("-", &mut io::stdin())?)?,
        what => Document::find(what, registry)?,
    };
    let commands = run.commands.as_deref().map(Commands);
    go(registry, document, (&run.flags, commands), settings(&run.flags.changes, matches)?)
}

/// Runs the command of a study.
pub fn study(
    registry: &Registry,
    study: &'static dyn Study,
    matches: &ArgMatches,
    flags: &RunFlags,
) -> Result<Exit, Trouble> {
    let mut all = args::settings(study, matches)?;
    all.extend(settings(&flags.changes, matches)?);
    let file = args::commands_file(study, matches);
    let document = Document::of_study(study, args::named_flags(study));
    go(registry, document, (flags, file.as_deref().map(Commands)), all)
}

/// The settings of the common flags. `--set` comes last, so that it may set a part of what a flag sets.
pub(super) fn settings(changes: &ScenarioFlags, matches: &ArgMatches) -> Result<Vec<Setting>, Problem> {
    let mut settings = Vec::new();
    for (name, value) in [("seed", &changes.seed), ("replicates", &changes.replicates)] {
        let Some(value) = value else { continue };
        let key = KeyPath::root().key(name);
        settings.push(match matches.value_source(name) {
            Some(ValueSource::EnvVariable) => {
                Setting::of_variable(&format!("TOWTANK_{}", name.to_uppercase()), &key, value)?
            }
            _ => Setting::of_flag(&format!("--{name}"), &key, value)?,
        });
    }
    for text in &changes.set {
        settings.push(Setting::parse("--set", text)?);
    }
    Ok(settings)
}

fn go(
    registry: &Registry,
    mut document: Document,
    (flags, commands): (&RunFlags, Option<Commands<'_>>),
    settings: Vec<Setting>,
) -> Result<Exit, Trouble> {
    lay(&mut document, settings)?;
    refuse_part_as_out(flags.keep.out.as_deref())?;
    if !flags.compare.is_empty() {
        refuse_commands_of_several(commands)?;
        return alternatives(registry, document, flags);
    }
    let shard = flags.shard.unwrap_or(Shard::WHOLE);
    gates::refuse_for_part(shard, flags.fail_if.first().map(String::as_str))?;
    flags.fail_if.iter().for_each(|gate| document.fail_if(gate));
    let scenario = document.check(registry)?;
    if flags.print_scenario {
        return print_scenario(&scenario, flags.output.format);
    }
    commands.map_or(Ok(()), |commands| commands.check(&scenario, flags))?;
    let options = Options { shard, ..flags.machine.options(flags.keep.out.as_deref()) };
    interrupt::keeps_in(flags.keep.out.as_deref());
    let ran = towtank::run(&scenario, &options, &Watching::new(flags.output.quiet))?;
    if !shard.is_whole() {
        return Ok(part(&ran, shard, flags));
    }
    let study = scenario.study();
    let kept_nowhere = flags.keep.out.is_none() && ran.done.runs == 0;
    if let (Some(sooner), true) = (sooner(study.name()), ran.interrupted && kept_nowhere) {
        // What a run stopped half-way knows is no answer about a cluster.
        screen::say(&format!("interrupted before there was an answer: nothing was written{sooner}\n"));
        return Ok(Exit::Interrupted);
    }
    let shown = Shown { flags, commands, lists_commands: study.lists_commands() };
    let exit = finish(ran.report.as_ref(), (ran.interrupted, ran.done), &ran.unmet, shown)?;
    if let (Some(commands), Some(report), false) = (commands, &ran.report, ran.interrupted) {
        commands.write(report, &scenario, flags.output.quiet)?;
    }
    Ok(exit)
}

/// How an answer about a real cluster comes sooner, where it may take long; none for other studies.
fn sooner(study: &str) -> Option<&'static str> {
    Some(match study {
        "whatif" => "; `towtank preview` says sooner what a change of the map moves, without times",
        "balance" => "; a plan with fewer moves, and its time, come sooner: --max-moves 10",
        "preview" => "",
        _ => return None,
    })
}

/// Refuses `--commands` for several versions of a scenario, each of which has a plan of its own.
fn refuse_commands_of_several(commands: Option<Commands<'_>>) -> Result<(), Problem> {
    let problem = Problem::new("--commands writes one plan, and --compare makes several");
    commands.map_or(Ok(()), |_| Err(problem.hint("leave one of them out")))
}

/// What is printed of a report.
#[derive(Clone, Copy)]
struct Shown<'a> {
    flags: &'a RunFlags,
    commands: Option<Commands<'a>>,
    /// Whether `--commands` could write a plan.
    lists_commands: bool,
}

/// Refuses the name of a device or bucket as the directory of results: `ceph osd out osd.6` takes a device
/// out.
fn refuse_part_as_out(out: Option<&Path>) -> Result<(), Problem> {
    let Some(name) = out.and_then(Path::to_str).filter(|name| names_part(name)) else { return Ok(()) };
    let message = format!("--out is the directory of the results, and `{name}` names a part of a cluster");
    let hint =
        format!("write --mark-out {name} to take it out; for a directory of this name, --out ./{name}");
    Err(Problem::new(message).hint(hint))
}

/// Whether a text names a device or a bucket, as in `osd.6` and `host=h1`.
fn names_part(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let kinds = [
        "osd",
        "host",
        "chassis",
        "rack",
        "row",
        "pdu",
        "pod",
        "room",
        "datacenter",
        "zone",
        "region",
        "root",
    ];
    let is_kind = |(kind, _): (&str, &str)| kinds.contains(&kind);
    text.strip_prefix("osd.").is_some_and(is_number) || text.split_once('=').is_some_and(is_kind)
}

/// Lays settings over a document.
pub(super) fn lay(document: &mut Document, settings: Vec<Setting>) -> Result<(), Problems> {
    Setting::agree(&settings)?;
    let mut problems = Problems::new();
    for setting in settings {
        if let Err(problem) = document.lay(setting) {
            problems.push(problem);
        }
    }
    problems.into_result(())
}

/// Runs the scenario as given and in the versions that `--compare` names, and compares them. All of them are
/// checked before any runs.
fn alternatives(registry: &Registry, document: Document, flags: &RunFlags) -> Result<Exit, Trouble> {
    let mut documents = vec![("as given".to_owned(), document.clone())];
    for text in &flags.compare {
        let mut changed = document.clone();
        lay(&mut changed, Setting::parse_several("--compare", text)?)?;
        documents.push((text.trim().to_owned(), changed));
    }
    let mut versions = Vec::new();
    let mut problems = Problems::new();
    for (name, mut document) in documents {
        flags.fail_if.iter().for_each(|gate| document.fail_if(gate));
        match document.check(registry) {
            Ok(scenario) => versions.push(Alternative { name, scenario }),
            // What is wrong with the scenario as given is so in each version.
            Err(found) if problems.is_empty() => problems = found,
            Err(_) => {}
        }
    }
    problems.into_result(())?;
    let out = flags.keep.out.as_deref();
    interrupt::keeps_in(out);
    let watching = Watching::new(flags.output.quiet);
    let ran = towtank::run_alternatives(&versions, registry, &flags.machine.options(out), &watching)?;
    if ran.report.is_none() && ran.done.runs > 0 {
        screen::say("interrupted before every version had a result, so there is no comparison\n");
        say_interrupted(ran.done, flags);
        return Ok(Exit::Interrupted);
    }
    let shown = Shown { flags, commands: None, lists_commands: false };
    finish(ran.report.as_ref(), (ran.interrupted, ran.done), &ran.unmet, shown)
}

fn print_scenario(scenario: &Scenario, format: Format) -> Result<Exit, Trouble> {
    match format {
        Format::Json => print(&format!("{:#}\n", scenario.resolved().scenario())),
        Format::Text | Format::Csv => print(&scenario.resolved().to_toml()),
    }
}

/// Ends a shard of a campaign, which has no report of its own.
fn part(ran: &towtank::Run, shard: Shard, flags: &RunFlags) -> Exit {
    let Done { runs: done, of: all } = ran.done;
    let end = if ran.interrupted { "was interrupted" } else { "is done" };
    if !flags.output.quiet {
        let dir = flags.keep.out.as_deref().unwrap_or(Path::new("DIR")).display();
        screen::say(&format!(
            "part {shard} {end}: {done} of its {all} runs are in `{dir}`; `towtank merge` joins the parts\n"
        ));
    }
    if ran.interrupted { Exit::Interrupted } else { Exit::Done }
}

/// Prints a report, and how the runs ended.
fn finish(
    report: Option<&Report>,
    (interrupted, done): (bool, Done),
    unmet: &[Unmet],
    Shown { flags, commands, lists_commands }: Shown<'_>,
) -> Result<Exit, Trouble> {
    let Some(report) = report else {
        screen::say("interrupted before there was anything to report\n");
        return Ok(Exit::Interrupted);
    };
    let dir = flags.keep.out.as_deref();
    if commands.is_some_and(Commands::are_printed) {
        output::say_where(&flags.output, dir);
    } else {
        let flag = lists_commands.then_some("--commands FILE");
        output::print_planned(report, &flags.output, dir, flag)?;
    }
    if interrupted {
        say_interrupted(done, flags);
        return Ok(Exit::Interrupted);
    }
    Ok(output::gates(unmet))
}

fn say_interrupted(Done { runs: done, of: all }: Done, flags: &RunFlags) {
    let next = match &flags.keep.out {
        Some(_) => "the same command goes on from here",
        None => "with --out DIR, what is done would be kept",
    };
    screen::say(&format!("interrupted: {done} of {all} runs are done; {next}\n"));
}
