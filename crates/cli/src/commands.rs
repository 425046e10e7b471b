//! Dispatches a parsed command line to the module of the command.

mod compare;
mod completions;
mod learn;
mod list;
mod man;
mod merge;
mod record;
mod reproduce;
mod run;
mod schema;
mod search;
mod show;
mod watch;

use std::path::PathBuf;

use clap::{ArgMatches, FromArgMatches as _};

use towtank::{Registry, Trouble};

use towtank_study::{Given, Study};

use crate::args::{self, Command, RunFlags, Towtank};
use crate::exit::Exit;
use crate::screen;

/// Runs the command.
pub(crate) fn dispatch(registry: &Registry, matches: &ArgMatches) -> Result<Exit, Trouble> {
    if let Some((name, inner)) = matches.subcommand()
        && let Some(study) = registry.named(name)
    {
        if let Some((name, inner)) = inner.subcommand() {
            if study.search().is_some_and(|search| search.name == name) {
                return search::search(registry, study, inner);
            }
            return answer(study, name, inner);
        }
        let flags = RunFlags::from_arg_matches(inner).map_err(Trouble::input)?;
        if let Some(directory) = args::watched(study, inner) {
            let asked = watch::Asked { study, matches: inner, flags: &flags };
            return watch::watch(registry, &asked, directory);
        }
        return run::study(registry, study, inner, &flags);
    }
    let towtank = Towtank::from_arg_matches(matches).map_err(Trouble::input)?;
    match towtank.command {
        Command::Run(run) => {
            run::run(registry, &run, matches.subcommand().map_or(matches, |(_, inner)| inner))
        }
        Command::List(list) => list::list(registry, &list),
        Command::Show { name } => show::show(registry, &name),
        Command::Schema { study } => schema::schema(registry, study.as_deref()),
        Command::Reproduce(reproduce) => reproduce::reproduce(registry, &reproduce),
        Command::Compare(compare) => compare::compare(registry, &compare),
        Command::Merge(merge) => merge::merge(registry, &merge),
        Command::Capacity(flags) => crate::capacity::run(&flags),
        Command::Crush(flags) => crate::crush::run(&flags),
        Command::Learn(flags) => learn::learn(&flags),
        Command::Record(flags) => record::record(&flags),
        Command::Store(flags) => crate::store::run(&flags),
        Command::Bench(bench) => crate::bench::run(&bench),
        Command::Completions { shell } => completions::completions(registry, shell),
        Command::Man { command } => man::man(registry, command.as_deref()),
    }
}

/// Prints the answer of a study's own subcommand.
fn answer(study: &dyn Study, name: &str, matches: &ArgMatches) -> Result<Exit, Trouble> {
    let subcommand = study.subcommands().iter().find(|subcommand| subcommand.name == name);
    let subcommand = subcommand.expect("the command line knows the study's subcommands alone");
    let given = args::given(subcommand, matches);
    let given = Given(&given);
    let answer = (subcommand.answer)(&given)?;
    if let Some(dir) = matches.get_one::<PathBuf>("out") {
        let report = towtank::report_of(study, subcommand, &given, &answer)?;
        towtank::write_report(&report, dir, &[])?;
        screen::say(&format!("report: {}\n", dir.join("report.html").display()));
    }
    match matches.get_one::<String>("format").map(String::as_str) {
        Some("json") => print(&format!("{:#}\n", answer.data)),
        _ => print(&answer.text),
    }
}

/// Prints data; a full disk behind stdout is an ordinary failure.
fn print(text: &str) -> Result<Exit, Trouble> {
    screen::print(text).map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")))?;
    Ok(Exit::Done)
}
