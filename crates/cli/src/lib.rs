//! The `towtank` command: parses, calls, renders and times. It computes no results.
//!
//! It is a library, so that the Python package has the command too; the binary only calls [`main`].
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
mod executor_flag;
mod exit;
mod interrupt;
mod output;
mod output_flags;
mod plan;
mod progress;
mod replaced;
mod screen;
mod store;
mod watching;

use std::ffi::OsString;
use std::path::PathBuf;

use towtank::Registry;

pub use complain::plain;

/// Runs the command with the arguments that follow its name, and returns the exit code. It installs handlers
/// for signals and panics, so it is called once, at the start of a process.
///
/// `program` is the file that starts this command, if that is not the executable of the process.
#[must_use]
pub fn main(program: Option<PathBuf>, arguments: Vec<OsString>) -> u8 {
    store::set_program(program);
    interrupt::install();
    progress::keep_panics_off_the_bar();
    let registry = Registry::builtin();
    let command = args::command_for(&registry, &arguments);
    let words = std::iter::once(OsString::from("towtank")).chain(args::with_negative_values(arguments));
    let matches = match command.try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => return screen::usage(&error).code(),
    };
    let result = commands::dispatch(&registry, &matches);
    let exit = result.unwrap_or_else(|trouble| complain::report(&trouble));
    interrupt::marked(exit).code()
}
