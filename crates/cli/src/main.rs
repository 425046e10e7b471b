//! The `towtank` command: parses, calls, renders and times. It computes nothing.
//!
//! Data goes to stdout, words and progress to stderr. Exit codes: 0 done, 1 failed, 2 bad input, 3 a gate not met, 130
//! interrupted.

mod args;
mod bench;
mod capacity;
mod catalogue;
mod commands;
mod complain;
mod crush;
mod excerpt;
mod exit;
mod interrupt;
mod laws;
mod load;
mod machine;
mod output;
mod overflow;
mod progress;
mod screen;
mod street;

use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::install();
    progress::keep_panics_off_the_bar();
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return screen::usage(&error),
    };
    let result = commands::dispatch(&matches);
    let exit = result.unwrap_or_else(|trouble| complain::report(&trouble));
    interrupt::marked(exit).into()
}
