//! The binary as its users meet it: what it says, where, and how it ends.

mod bad_input;
mod bench;
mod campaigns;
mod capacity;
mod help;
mod hostile;
mod interrupt;
mod lists;
mod place;
mod preview;
mod put;
mod runs;
mod tool;
