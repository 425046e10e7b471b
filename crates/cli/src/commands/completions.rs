//! `towtank completions SHELL`.

use towtank::{Registry, Trouble};

use super::print;
use crate::args;
use crate::exit::Exit;

/// Prints the script.
pub(super) fn completions(registry: &Registry, shell: clap_complete::Shell) -> Result<Exit, Trouble> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(registry, args::Help::Full), "towtank", &mut script);
    print(&String::from_utf8_lossy(&script))
}
