//! `towtank man [COMMAND]`: manual pages in the format of `man`.

use towtank::{Registry, Trouble};
use towtank_scenario::{Problem, did_you_mean};

use super::print;
use crate::args;
use crate::exit::Exit;

/// Prints the main page, or that of one command.
pub(crate) fn man(registry: &Registry, name: Option<&str>) -> Result<Exit, Trouble> {
    let mut command = args::command(registry, args::Help::Full);
    command.build();
    let page = match name {
        None => command,
        Some(name) => command.find_subcommand(name).cloned().ok_or_else(|| unknown(&command, name))?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(Trouble::failed)?;
    print(&String::from_utf8_lossy(&text))
}

fn unknown(command: &clap::Command, name: &str) -> Problem {
    let names = command.get_subcommands().map(clap::Command::get_name);
    let hint = did_you_mean(name, names).unwrap_or_else(|| "`towtank --help` lists the commands".to_owned());
    Problem::new(format!("there is no command called `{name}`")).hint(hint)
}
