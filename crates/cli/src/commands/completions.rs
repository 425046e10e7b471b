//! `towtank completions SHELL`: with the names of scenarios, studies and commands where an argument is one.
//!
//! `clap_complete` completes an argument from its possible values. So the command that it is given has the
//! names as such, which the command that is run has not: it takes files, too, and says what is near to a
//! wrong name. In bash a file is completed where no name fits. For zsh and fish the script is amended: the
//! first would complete names alone, and the second completes no arguments.

use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use towtank::{Builtin, Registry, Trouble};

use super::print;
use crate::args;
use crate::exit::Exit;

/// An argument that is a name.
struct Named {
    /// The words of its command.
    command: &'static [&'static str],
    /// Its name there.
    argument: &'static str,
    what: What,
}

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A scenario or a file.
    ScenarioOrFile,
    Scenario,
    Study,
    /// What `reproduce` takes.
    Published,
    Command,
}

const NAMED: &[Named] = &[
    Named { command: &["run"], argument: "scenario", what: What::ScenarioOrFile },
    Named { command: &["pfs", "tune"], argument: "scenario", what: What::ScenarioOrFile },
    Named { command: &["show"], argument: "name", what: What::Scenario },
    Named { command: &["list"], argument: "words", what: What::Study },
    Named { command: &["schema"], argument: "study", what: What::Study },
    Named { command: &["reproduce"], argument: "names", what: What::Published },
    Named { command: &["man"], argument: "command", what: What::Command },
];

/// Prints the script.
pub(super) fn completions(registry: &Registry, shell: Shell) -> Result<Exit, Trouble> {
    print(&script(registry, shell))
}

fn script(registry: &Registry, shell: Shell) -> String {
    let mut command = args::command(registry, args::Help::Full);
    let commands: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let names = Names { registry, commands };
    for named in NAMED {
        command = with_names(command, named.command, named.argument, &names.of(named.what));
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "towtank", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Zsh => with_files(&script, &names.of(What::ScenarioOrFile)),
        Shell::Fish => script + &arguments_of_fish(&names),
        _ => script,
    }
}

/// All names that may be completed.
struct Names<'a> {
    registry: &'a Registry,
    commands: Vec<String>,
}

impl Names<'_> {
    fn of(&self, what: What) -> Vec<String> {
        let studies = self.registry.studies().iter();
        let scenarios = self.registry.scenarios().iter().map(Builtin::name);
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        match what {
            What::Scenario | What::ScenarioOrFile => owned(scenarios.collect()),
            What::Study => owned(studies.map(|study| study.name()).collect()),
            What::Published => owned(towtank::reproducible(self.registry).collect()),
            What::Command => self.commands.clone(),
        }
    }
}

/// The command with names as the possible values of an argument.
fn with_names(command: clap::Command, words: &[&str], argument: &str, names: &[String]) -> clap::Command {
    let Some((first, rest)) = words.split_first() else {
        let values = PossibleValuesParser::new(names);
        return command.mut_arg(argument, |arg| arg.value_parser(values));
    };
    command.mut_subcommand(first, |inner| with_names(inner, rest, argument, names))
}

/// A script of zsh that completes files beside scenarios.
fn with_files(script: &str, scenarios: &[String]) -> String {
    let scenarios = scenarios.join(" ");
    let helper = format!(
        "_towtank_scenario_or_file() {{\n    _alternative 'scenarios:scenario:({scenarios})' 'files:file:_files'\n}}\n"
    );
    let mut out = String::new();
    for line in script.lines() {
        let is_either = line.contains(":scenario -- ");
        let listed = format!(":({scenarios})'");
        let line =
            if is_either { line.replace(&listed, ":_towtank_scenario_or_file'") } else { line.to_owned() };
        out.push_str(&line);
        out.push('\n');
        if line.starts_with("autoload ") {
            out.push_str(&format!("\n{helper}"));
        }
    }
    out
}

/// Lines for fish, which complete arguments that are no flags.
fn arguments_of_fish(names: &Names<'_>) -> String {
    let line = |named: &Named| {
        let seen: Vec<String> =
            named.command.iter().map(|word| format!("__fish_seen_subcommand_from {word}")).collect();
        let files = if named.what == What::ScenarioOrFile { "" } else { " -f" };
        let (seen, names) = (seen.join("; and "), names.of(named.what).join(" "));
        format!("complete -c towtank -n \"{seen}\"{files} -a \"{names}\"\n")
    };
    NAMED.iter().map(line).collect()
}
