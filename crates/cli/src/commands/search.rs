//! A study's command that searches for settings: `towtank pfs tune`.

use clap::{ArgMatches, FromArgMatches as _};
use towtank::{Document, Registry, Trouble};
use towtank_scenario::{Problem, Problems, Setting};
use towtank_study::Study;

use super::{print, run};
use crate::args::{self, SearchFlags};
use crate::exit::Exit;
use crate::screen;
use crate::watching::Watching;

/// Searches for settings, and prints the result.
pub(crate) fn search(
    registry: &Registry,
    study: &'static dyn Study,
    matches: &ArgMatches,
) -> Result<Exit, Trouble> {
    let flags = SearchFlags::from_arg_matches(matches).map_err(Trouble::input)?;
    let document = document(registry, study, matches, &flags)?;
    let options = flags.machine.options(None);
    let asked = (&*flags.goal, &*flags.schedulers);
    let searched = towtank::search(document, registry, asked, &options, &Watching::new(flags.quiet))?;
    let Some(searched) = searched else {
        screen::say("interrupted before there was an answer\n");
        return Ok(Exit::Interrupted);
    };
    if let Some(dir) = &flags.report.out {
        towtank::write_report(&searched.report, dir, &[])?;
        if !flags.quiet {
            screen::say(&format!("report: {}\n", dir.join("report.html").display()));
        }
    }
    match flags.format.as_str() {
        "json" => print(&format!("{:#}\n", searched.found.answer.data))?,
        _ => print(&searched.found.answer.text)?,
    };
    Ok(if searched.found.met { Exit::Done } else { Exit::GateNotMet })
}

/// The named scenario, or one made from the flags alone, with the settings of the flags.
fn document(
    registry: &Registry,
    study: &'static dyn Study,
    matches: &ArgMatches,
    flags: &SearchFlags,
) -> Result<Document, Trouble> {
    let mut document = match &flags.scenario {
        Some(what) => Document::find(what, registry)?,
        None => Document::of_study(study, args::named_flags(study)),
    };
    let mut settings = args::settings(study, matches)?;
    settings.extend(run::settings(&flags.changes, matches)?);
    Setting::agree(&settings)?;
    let mut problems = Problems::new();
    for setting in settings {
        if let Err(problem) = document.lay(setting) {
            problems.push(problem);
        }
    }
    problems.into_result(())?;
    match document.study(registry) {
        Some(found) if found.name() != study.name() => {
            let message = format!("the scenario is of the study `{}`, not `{}`", found.name(), study.name());
            Err(Problem::new(message).hint(format!("name one of `{}`", study.name())).into())
        }
        _ => Ok(document),
    }
}
