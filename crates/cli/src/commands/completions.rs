//! `towtank completions SHELL`.

use super::print;
use crate::args;
use crate::exit::{Exit, Trouble};

/// Prints the script.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, Trouble> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "towtank", &mut script);
    print(&String::from_utf8_lossy(&script))
}
