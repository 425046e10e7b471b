//! `towtank bench`: measures the simulator itself.

mod phold;

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
pub enum What {
    /// PHOLD, the benchmark of parallel simulators: processes that answer each event with one more
    Phold(phold::Flags),
}

/// Measures it.
pub fn run(bench: &Bench) -> Result<Exit, Trouble> {
    match &bench.what {
        What::Phold(flags) => phold::run(flags),
    }
}
