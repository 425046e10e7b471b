//! The binary as users run it: its output and its exit codes.

mod bad_input;
mod balance;
mod bench;
mod campaigns;
mod capacity;
mod completions;
mod crush;
mod eta;
mod examples;
mod help;
mod hostile;
mod interrupt;
mod large;
mod learn;
mod lists;
mod place;
mod preview;
mod put;
mod runs;
mod tool;
mod whatif;
