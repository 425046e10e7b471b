//! The `towtank` command: parses, calls, renders and times. It computes no results.
//!
//! Data goes to stdout, messages and progress to stderr. Exit codes: 0 done, 1 failed, 2 bad input, 3 a gate
//! not met, 130 interrupted.

mod args;
mod bench;
mod capacity;
mod commands;
mod complain;
mod crush;
mod excerpt;
mod exit;
mod interrupt;
mod output;
mod progress;
mod screen;
mod store;
mod watching;

use std::process::ExitCode;

use towtank::Registry;

fn main() -> ExitCode {
    interrupt::install();
    progress::keep_panics_off_the_bar();
    let registry = Registry::builtin();
    let matches = match args::command(&registry, args::Help::asked(std::env::args_os())).try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return screen::usage(&error),
    };
    let result = commands::dispatch(&registry, &matches);
    let exit = result.unwrap_or_else(|trouble| complain::report(&trouble));
    interrupt::marked(exit).into()
}
