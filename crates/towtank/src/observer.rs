//! Who is told how it goes, and may ask to stop. The library itself prints nothing.

use std::fmt;
use std::path::Path;

use towtank_campaign::{Damaged, Stop};

/// Hears of everything while it happens, from any thread. A face shows it; a test takes notes; `()` wants to
/// know nothing.
pub trait Observer: Sync {
    /// The flag that stops the runs once it is raised. It is asked for when the first run is about to begin,
    /// so that until then nothing needs to be stopped with care.
    fn stop(&self) -> &Stop {
        static NEVER: Stop = Stop::new();
        &NEVER
    }

    /// Of several scenarios (`reproduce`) this one begins.
    fn scenario(&self, _name: &str) {}

    /// The runs of one scenario begin.
    fn begins(&self) {}

    /// Runs have ended, or were found done.
    fn campaign(&self, _progress: towtank_campaign::Progress) {}

    /// A run is further than before.
    fn run(&self, _which: Which, _progress: towtank_studies::Progress) {}

    /// A run has ended, with so many events.
    fn ended(&self, _which: Which, _events: u64) {}

    /// All runs of one scenario have ended, well or not.
    fn ends(&self) {}

    /// Something that a user should know.
    fn remark(&self, _remark: &Remark<'_>) {}
}

impl Observer for () {}

/// One run of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Which {
    /// Which point of the sweep, from 0.
    pub point: usize,
    /// Which replicate of it, from 0.
    pub replicate: u32,
}

/// What a user should know beside the report. Its `Display` is the sentence.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Remark<'a> {
    /// How a model was run. Told once, however many runs it is true of.
    Notice(&'a str),
    /// A stored run cannot be used and is done again.
    Redone(&'a Damaged),
    /// So many runs were done already.
    Kept {
        /// How many.
        runs: usize,
        /// Where they are.
        out: &'a Path,
    },
    /// A stored run of a part cannot be used.
    Unusable(&'a Damaged),
    /// These runs, a line for each place, are in several parts, with equal results.
    Double(&'a [String]),
    /// No part has these runs, a line for each point.
    Missing(&'a [String]),
}

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Notice(text) => f.write_str(text),
            Remark::Redone(damaged) => write!(f, "{damaged}; its run is done again"),
            Remark::Kept { runs: 1, out } => {
                write!(f, "1 run was done already and kept from `{}`", out.display())
            }
            Remark::Kept { runs, out } => {
                write!(f, "{runs} runs were done already and kept from `{}`", out.display())
            }
            Remark::Unusable(damaged) => damaged.fmt(f),
            Remark::Double(_) => f.write_str("these runs are in more than one part, with equal results:"),
            Remark::Missing(_) => f.write_str("no part has these runs:"),
        }
    }
}
