//! Options of a run: the resources that it may take, and the directory of finished runs. They never change a
//! result.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use towtank_campaign::{Shard, Takeover};
use towtank_kernel::Executor;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The executor of the kernel.
    pub executor: Executor,
    /// Threads of one run, for the conservative and the optimistic executor; by default all cores.
    pub workers: Option<NonZeroU32>,
    /// The number of concurrent runs; by default limited by cores and memory.
    pub jobs: Option<NonZeroUsize>,
    /// The part of the runs that is done here.
    pub shard: Shard,
    /// The directory for the report, its tables and every finished run; the same call resumes from there.
    pub out: Option<PathBuf>,
    /// Allows more threads than cores, and writing into a directory that holds other results.
    pub force: bool,
    /// Allows runs whose estimated memory exceeds the available memory.
    pub allow_memory: bool,
}

impl Default for Options {
    /// One run per core, on the sequential executor, all runs, without a directory.
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
