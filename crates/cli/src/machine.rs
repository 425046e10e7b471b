//! How much of this machine a campaign takes: jobs, workers, and memory.

use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};

use kernel::Executor;
use scenario::Problem;
use units::Bytes;

use crate::args::MachineFlags;

/// Threads of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Runs at once.
    pub jobs: NonZeroUsize,
    /// Threads of each run.
    pub workers: NonZeroU32,
}

/// What there is to share out.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub cores: NonZeroUsize,
    /// What can be used without swapping, where the system says.
    pub memory: Option<Bytes>,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Machine { cores, memory: memory_available() }
    }

    /// Threads for what the flags ask for. `estimate` is the memory of one run.
    pub fn threads(&self, flags: &MachineFlags, estimate: Option<Bytes>) -> Result<Threads, Problem> {
        let workers = self.workers(flags)?;
        let spread = |workers: NonZeroU32| NonZeroUsize::new(self.cores.get() / workers.get() as usize);
        let jobs = flags.jobs.unwrap_or_else(|| {
            let jobs = spread(workers).unwrap_or(NonZeroUsize::MIN);
            self.fitting(estimate).map_or(jobs, |fitting| jobs.min(fitting))
        });
        let threads = jobs.get().saturating_mul(workers.get() as usize);
        if threads > self.cores.get() && !flags.force {
            return Err(self.too_many(jobs, workers, threads));
        }
        Ok(Threads { jobs, workers })
    }

    fn workers(&self, flags: &MachineFlags) -> Result<NonZeroU32, Problem> {
        match (flags.executor, flags.workers) {
            (Executor::Conservative | Executor::Optimistic, Some(workers)) => Ok(workers),
            (Executor::Conservative | Executor::Optimistic, None) => {
                let share = self.cores.get() / flags.jobs.map_or(1, NonZeroUsize::get);
                Ok(u32::try_from(share).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN))
            }
            (executor, Some(workers)) if workers.get() > 1 => {
                let message = format!("--workers is {workers}, but the {executor} executor uses one");
                let hint =
                    "add --executor conservative (or optimistic), or take --jobs to run replicates at once";
                Err(Problem::new(message).hint(hint))
            }
            (_, _) => Ok(NonZeroU32::MIN),
        }
    }

    fn too_many(&self, jobs: NonZeroUsize, workers: NonZeroU32, threads: usize) -> Problem {
        let cores = self.cores;
        let plural = |count: usize, word: &str| match count {
            1 => format!("1 {word}"),
            count => format!("{count} {word}s"),
        };
        let there = if cores.get() == 1 { "there is" } else { "there are" };
        let message = format!(
            "{} of {} are {threads} threads, but {there} only {}",
            plural(jobs.get(), "job"),
            plural(workers.get() as usize, "worker"),
            plural(cores.get(), "core")
        );
        Problem::new(message)
            .hint(format!("lower --jobs or --workers until their product is at most {cores}, or add --force"))
    }

    /// How many runs fit into memory, if somebody knows.
    fn fitting(&self, estimate: Option<Bytes>) -> Option<NonZeroUsize> {
        let (memory, estimate) = (self.memory?, estimate.filter(|estimate| !estimate.is_zero())?);
        let count = usize::try_from(memory.get() / estimate.get()).unwrap_or(usize::MAX);
        Some(NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN))
    }

    /// What to say before a run that may not fit.
    pub fn memory_remark(&self, threads: Threads, estimate: Option<Bytes>) -> Option<String> {
        let (memory, estimate) = (self.memory?, estimate?);
        let needed = estimate.get().checked_mul(threads.jobs.get() as u64).map(Bytes::new)?;
        (needed > memory).then(|| {
            let runs = match threads.jobs.get() {
                1 => "a run takes".to_owned(),
                jobs => format!("{jobs} runs at once take"),
            };
            format!("{runs} about {}, and {} are free", rounded(needed), rounded(memory))
        })
    }
}

fn rounded(size: Bytes) -> String {
    report::human::quantity(size.get() as f64, "bytes")
}

/// `MemAvailable` of Linux; nothing elsewhere.
fn memory_available() -> Option<Bytes> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024).map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(
        cores: usize,
        executor: Executor,
        jobs: usize,
        workers: u32,
        force: bool,
    ) -> Result<(usize, u32), String> {
        let machine = Machine { cores: NonZeroUsize::new(cores).unwrap(), memory: Some(Bytes::new(1000)) };
        let flags = MachineFlags {
            jobs: NonZeroUsize::new(jobs),
            executor,
            workers: NonZeroU32::new(workers),
            force,
        };
        let threads =
            machine.threads(&flags, Some(Bytes::new(300))).map_err(|problem| problem.to_string())?;
        Ok((threads.jobs.get(), threads.workers.get()))
    }

    #[test]
    fn jobs_times_workers_stays_within_the_cores() {
        use Executor::{Conservative, Sequential};
        for (executor, jobs, workers, want) in [
            // Three runs fit into memory.
            (Sequential, 0, 0, (3, 1)),
            (Sequential, 8, 0, (8, 1)),
            (Conservative, 0, 0, (1, 8)),
            (Conservative, 0, 4, (2, 4)),
            (Conservative, 2, 0, (2, 4)),
            (Conservative, 4, 2, (4, 2)),
        ] {
            assert_eq!(threads(8, executor, jobs, workers, false), Ok(want), "{executor} {jobs} {workers}");
        }
        insta::assert_snapshot!(threads(8, Conservative, 3, 4, false).unwrap_err(), @"3 jobs of 4 workers are 12 threads, but there are only 8 cores");
        insta::assert_snapshot!(threads(1, Sequential, 2, 0, false).unwrap_err(), @"2 jobs of 1 worker are 2 threads, but there is only 1 core");
        insta::assert_snapshot!(threads(8, Sequential, 0, 2, false).unwrap_err(), @"--workers is 2, but the sequential executor uses one");
        assert_eq!(threads(2, Conservative, 4, 8, true), Ok((4, 8)));
    }

    #[test]
    fn more_than_the_memory_is_remarked() {
        let machine = Machine { cores: NonZeroUsize::MIN, memory: Some(Bytes::from_gib(1)) };
        let threads = Threads { jobs: NonZeroUsize::MIN, workers: NonZeroU32::MIN };
        assert_eq!(machine.memory_remark(threads, Some(Bytes::from_mib(512))), None);
        insta::assert_snapshot!(machine.memory_remark(threads, Some(Bytes::from_gib(3))).unwrap(), @"a run takes about 3 GiB, and 1 GiB are free");
    }
}
