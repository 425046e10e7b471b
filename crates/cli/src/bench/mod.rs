//! `towtank bench`: measures the simulator itself.

mod crush;
mod phold;
mod place;
mod put;
mod rebuild;

use clap::{Args, Subcommand};

use towtank::Trouble;

use crate::exit::Exit;

/// `towtank bench`.
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    pub what: What,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub enum What {
    /// PHOLD, the benchmark of parallel simulators: each event schedules one more
    Phold(phold::Flags),
    /// CRUSH: inputs mapped by a rule of a map
    Crush(crush::Flags),
    /// Placements: lookups of random keys on one core
    Place(place::Flags),
    /// Puts: gateways store chunks with each protocol in turn
    Put(put::Flags),
    /// The published study's largest rebuild: two of 1,024 servers, 3.9 billion replicas
    Rebuild(rebuild::Flags),
}

/// Runs a benchmark.
pub fn run(bench: &Bench) -> Result<Exit, Trouble> {
    match &bench.what {
        What::Phold(flags) => phold::run(flags),
        What::Crush(flags) => crush::run(flags),
        What::Place(flags) => place::run(flags),
        What::Put(flags) => put::run(flags),
        What::Rebuild(flags) => rebuild::run(flags),
    }
}
