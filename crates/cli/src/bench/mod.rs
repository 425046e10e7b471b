//! `towtank bench`: measures the simulator itself.

use clap::{Args, Subcommand};

use crate::exit::{Exit, Trouble};

/// `towtank bench`.
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    pub what: What,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub enum What {}

/// Measures it.
pub fn run(bench: &Bench) -> Result<Exit, Trouble> {
    match bench.what {}
}
