//! How a scenario is run: what of the machine it may take, and where finished runs are kept. Never changes a
//! result.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use towtank_campaign::{Shard, Takeover};
use towtank_kernel::Executor;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the kernel runs the model.
    pub executor: Executor,
    /// Threads of one run, for the conservative and the optimistic executor; if nobody says, all cores.
    pub workers: Option<NonZeroU32>,
    /// How many runs go on at once; if nobody says, as many as there are cores and memory for.
    pub jobs: Option<NonZeroUsize>,
    /// Which part of the runs is done here.
    pub shard: Shard,
    /// Where the report, its tables and every finished run are written; the same call goes on from there.
    pub out: Option<PathBuf>,
    /// Use more threads than there are cores; write into a directory that holds other results.
    pub force: bool,
    /// Run what is estimated to take more memory than there is.
    pub allow_memory: bool,
}

impl Default for Options {
    /// One run a core, on the sequential executor, all of them, kept nowhere.
    fn default() -> Options {
        Options {
            executor: Executor::Sequential,
            workers: None,
            jobs: None,
            shard: Shard::WHOLE,
            out: None,
            force: false,
            allow_memory: false,
        }
    }
}

impl Options {
    pub(crate) fn takeover(&self) -> Takeover {
        if self.force { Takeover::Force } else { Takeover::Refuse }
    }
}
