//! `towtank run FILE|NAME` and the commands of studies.

use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use towtank_campaign::Shard;
use towtank_scenario::gate::Gate;
use towtank_scenario::{Document, KeyPath, Problem, Problems, Setting};
use towtank_studies::{CheckedScenario, Study};

use super::{gates, print};
use crate::args::{self, Format, Run, RunFlags};
use crate::exit::{Exit, Trouble};
use crate::load::{self, Loaded};
use crate::street::{self, Finished, Job};
use crate::{output, screen};

/// Runs a scenario file or a built-in scenario.
pub fn run(run: &Run, matches: &ArgMatches) -> Result<Exit, Trouble> {
    let loaded = load::load(&run.scenario)?;
    go(loaded, &run.flags, settings(&run.flags, matches)?)
}

/// Runs the command of a study.
pub fn study(study: &'static dyn Study, matches: &ArgMatches, flags: &RunFlags) -> Result<Exit, Trouble> {
    let document = Document::of_study(study.name(), args::named_flags(study));
    let mut all = args::settings(study, matches)?;
    all.extend(settings(flags, matches)?);
    go(load::of_study(document), flags, all)
}

/// What the common flags set. `--set` comes last: it is the most explicit.
fn settings(flags: &RunFlags, matches: &ArgMatches) -> Result<Vec<Setting>, Problem> {
    let mut settings = Vec::new();
    for (name, value) in [("seed", &flags.seed), ("replicates", &flags.replicates)] {
        let Some(value) = value else { continue };
        let key = KeyPath::root().key(name);
        settings.push(match matches.value_source(name) {
            Some(ValueSource::EnvVariable) => {
                Setting::of_variable(&format!("TOWTANK_{}", name.to_uppercase()), &key, value)?
            }
            _ => Setting::of_flag(&format!("--{name}"), &key, value)?,
        });
    }
    for text in &flags.set {
        settings.push(Setting::parse("--set", text)?);
    }
    Ok(settings)
}

fn go(loaded: Loaded, flags: &RunFlags, settings: Vec<Setting>) -> Result<Exit, Trouble> {
    let Loaded { mut document, file, folder } = loaded;
    let mut problems = Problems::new();
    for setting in settings {
        if let Err(problem) = document.set(setting) {
            problems.push(problem);
        }
    }
    problems.into_result(())?;
    refuse_gates_of_a_part(flags)?;
    let (scenario, gates) = check(document, flags)?;
    if flags.print_scenario {
        return print_scenario(&scenario, flags.output.format);
    }
    let job = Job {
        machine: &flags.machine,
        output: &flags.output,
        out: flags.keep.out.as_deref(),
        shard: flags.shard.unwrap_or(Shard::WHOLE),
        inputs: street::inputs(file.as_deref(), &folder, &scenario),
    };
    let finished = street::run(&scenario, job)?;
    match flags.shard.filter(|shard| !shard.is_whole()) {
        Some(shard) => Ok(part(&finished, shard, flags)),
        None => whole(&finished, &gates, flags),
    }
}

/// A part has some of the replicates of each point: its means are not those that a gate is about.
fn refuse_gates_of_a_part(flags: &RunFlags) -> Result<(), Problem> {
    match (flags.shard.filter(|shard| !shard.is_whole()), flags.fail_if.first()) {
        (Some(shard), Some(gate)) => {
            let message = format!("a gate cannot be judged on part {shard}: it is about the whole");
            let hint =
                format!("give it to the command that joins the parts: towtank merge DIR… --fail-if '{gate}'");
            Err(Problem::new(message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// Scenario and gates, with all problems of both.
fn check(document: Document, flags: &RunFlags) -> Result<(CheckedScenario, Vec<Gate>), Problems> {
    let (gates, problems) = match towtank_studies::study_of(&document) {
        Ok(study) => gates::read(study, &flags.fail_if),
        Err(_) => (Vec::new(), Problems::new()),
    };
    match towtank_studies::check(document) {
        Ok(scenario) => problems.into_result((scenario, gates)),
        Err(mut found) => {
            found.extend(problems);
            Err(found)
        }
    }
}

fn print_scenario(scenario: &CheckedScenario, format: Format) -> Result<Exit, Trouble> {
    match format {
        Format::Json => print(&format!("{:#}\n", scenario.resolved().scenario())),
        Format::Text | Format::Csv => print(&scenario.resolved().to_toml()),
    }
}

/// A part of a campaign has no report of its own.
fn part(finished: &Finished, shard: Shard, flags: &RunFlags) -> Exit {
    let (done, all) = finished.done;
    let end = if finished.interrupted { "was interrupted" } else { "is done" };
    if !flags.output.quiet {
        let dir = flags.keep.out.as_deref().unwrap_or(Path::new("DIR")).display();
        screen::say(&format!(
            "part {shard} {end}: {done} of its {all} runs are in `{dir}`; `towtank merge` joins the parts\n"
        ));
    }
    if finished.interrupted { Exit::Interrupted } else { Exit::Done }
}

fn whole(finished: &Finished, gates: &[Gate], flags: &RunFlags) -> Result<Exit, Trouble> {
    let Some(report) = &finished.report else {
        screen::say("interrupted before there was anything to report\n");
        return Ok(Exit::Interrupted);
    };
    if let Some(store) = &finished.store {
        output::write_into(report, store).map_err(street::trouble_of)?;
    }
    output::print(report, flags.output.format)?;
    if let Some(dir) = &flags.keep.out {
        output::say_where(&flags.output, dir);
    }
    if finished.interrupted {
        say_interrupted(finished, flags);
        return Ok(Exit::Interrupted);
    }
    Ok(gates::judge(gates, report))
}

fn say_interrupted(finished: &Finished, flags: &RunFlags) {
    let (done, all) = finished.done;
    let next = match &flags.keep.out {
        Some(_) => "the same command goes on from here",
        None => "with --out DIR, what is done would be kept",
    };
    screen::say(&format!("interrupted: {done} of {all} runs are done; {next}\n"));
}
