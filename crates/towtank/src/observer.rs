//! The observer of runs, which may request a stop. The library itself prints nothing.

use std::fmt;
use std::path::Path;

use towtank_campaign::{Damaged, Stop};

/// Receives progress and remarks while runs go on, from any thread. A front end shows them; a test records
/// them; `()` ignores them.
pub trait Observer: Sync {
    /// The flag that stops the runs once it is raised. It is requested just before the first run begins, so
    /// that before that an immediate exit is safe.
    fn stop(&self) -> &Stop {
        static NEVER: Stop = Stop::new();
        &NEVER
    }

    /// The next of several scenarios (`reproduce`) begins.
    fn scenario(&self, _name: &str) {}

    /// The runs of one scenario begin.
    fn begins(&self) {}

    /// Runs have ended, or were found finished.
    fn campaign(&self, _progress: towtank_campaign::Progress) {}

    /// A run has made progress.
    fn run(&self, _which: Which, _progress: towtank_study::Progress) {}

    /// A run has ended, with this many events.
    fn ended(&self, _which: Which, _events: u64) {}

    /// All runs of one scenario have ended, successfully or not.
    fn ends(&self) {}

    /// A remark for the user.
    fn remark(&self, _remark: &Remark<'_>) {}
}

impl Observer for () {}

/// One run of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Which {
    /// The point of the sweep, from 0.
    pub point: usize,
    /// The replicate of the point, from 0.
    pub replicate: u32,
}

/// Information for the user beside the report. Its `Display` is the sentence.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Remark<'a> {
    /// How a model was run. Reported once, however many runs it applies to.
    Notice(&'a str),
    /// A stored run is unusable and is repeated.
    Redone(&'a Damaged),
    /// This many runs were finished already.
    Kept {
        /// The number of runs.
        runs: usize,
        /// Their directory.
        out: &'a Path,
    },
    /// A stored run of a part is unusable.
    Unusable(&'a Damaged),
    /// Runs that several parts have, with equal results; one line per place.
    Double(&'a [String]),
    /// Runs that no part has; one line per point.
    Missing(&'a [String]),
}

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Notice(text) => f.write_str(text),
            Remark::Redone(damaged) => write!(f, "{damaged}; its run is repeated"),
            Remark::Kept { runs: 1, out } => {
                write!(f, "1 run was already finished and is kept from `{}`", out.display())
            }
            Remark::Kept { runs, out } => {
                write!(f, "{runs} runs were already finished and are kept from `{}`", out.display())
            }
            Remark::Unusable(damaged) => damaged.fmt(f),
            Remark::Double(_) => f.write_str("these runs are in more than one part, with equal results:"),
            Remark::Missing(_) => f.write_str("no part has these runs:"),
        }
    }
}
