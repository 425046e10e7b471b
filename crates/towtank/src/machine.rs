//! The resources that a campaign takes of this machine: jobs, workers, and memory.

mod memory;

use std::num::{NonZeroU32, NonZeroUsize};

use towtank_kernel::Executor;
use towtank_scenario::Problem;
use towtank_units::Bytes;

use crate::Options;
use crate::need::{Need, together};

pub use memory::{Limit, Memory, refusal_of_file};

/// The threads of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads {
    /// Concurrent runs.
    pub jobs: NonZeroUsize,
    /// Threads of each run.
    pub workers: NonZeroU32,
}

/// The resources of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub cores: NonZeroUsize,
    /// The memory that a process may still take, if the operating system reports it.
    pub memory: Option<Memory>,
}

impl Machine {
    /// The resources of this machine.
    pub(crate) fn here() -> Machine {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Machine { cores, memory: Memory::here() }
    }

    /// The threads that the options ask for. `estimate` is the memory of one run.
    pub(crate) fn threads(&self, options: &Options, estimate: Option<Bytes>) -> Result<Threads, Problem> {
        let workers = self.workers(options)?;
        let spread = |workers: NonZeroU32| NonZeroUsize::new(self.cores.get() / workers.get() as usize);
        let jobs = options.jobs.unwrap_or_else(|| {
            let jobs = spread(workers).unwrap_or(NonZeroUsize::MIN);
            self.fitting(estimate).map_or(jobs, |fitting| jobs.min(fitting))
        });
        let threads = jobs.get().saturating_mul(workers.get() as usize);
        if threads > self.cores.get() && !options.force {
            return Err(self.too_many(jobs, workers, threads));
        }
        Ok(Threads { jobs, workers })
    }

    fn workers(&self, options: &Options) -> Result<NonZeroU32, Problem> {
        match (options.executor, options.workers) {
            (Executor::Conservative | Executor::Optimistic, Some(workers)) => Ok(workers),
            (Executor::Conservative | Executor::Optimistic, None) => {
                let share = self.cores.get() / options.jobs.map_or(1, NonZeroUsize::get);
                Ok(u32::try_from(share).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN))
            }
            (executor, Some(workers)) if workers.get() > 1 => {
                let message = format!("--workers is {workers}, but the {executor} executor uses one");
                let hint =
                    "use --executor conservative or optimistic, or run replicates in parallel with --jobs";
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

    /// The number of runs that fit into memory, if known.
    fn fitting(&self, estimate: Option<Bytes>) -> Option<NonZeroUsize> {
        let (memory, estimate) = (self.memory?, estimate.filter(|estimate| !estimate.is_zero())?);
        let count = usize::try_from(memory.left.get() / estimate.get()).unwrap_or(usize::MAX);
        Some(NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN))
    }

    /// Refuses runs that do not fit into memory, since failing in the middle of a run would lose its results.
    pub(crate) fn refuse_memory(
        &self,
        options: &Options,
        threads: Threads,
        most: Option<&Need<'_>>,
    ) -> Result<(), Problem> {
        let (Some(memory), Some(need)) = (self.memory, most) else { return Ok(()) };
        let jobs = threads.jobs.get();
        let needed = together(need.each, jobs);
        if needed <= memory.left || options.allow_memory {
            return Ok(());
        }
        let place = if need.place.is_empty() { String::new() } else { format!(" of {}", need.place) };
        let runs = match jobs {
            1 => format!("a run{place} takes"),
            jobs => format!("{jobs} runs at once{place} take"),
        };
        let message = format!("{runs} about {} of memory, but {memory}", rounded(needed));
        let lower = match self.fitting(Some(need.each)).map(NonZeroUsize::get) {
            Some(fitting) if jobs > 1 && need.each <= memory.left => format!("lower --jobs to {fitting}"),
            _ if need.keys.is_empty() => "make the run smaller".to_owned(),
            _ => format!("lower {}", listed(need.keys)),
        };
        Err(Problem::new(message).hint(format!("{lower}, or add --allow-memory to run it anyway")))
    }
}

/// A list of keys for a sentence: `` `a`, `b` or `c` ``.
fn listed(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match quoted.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => quoted.concat(),
    }
}

fn rounded(size: Bytes) -> String {
    towtank_report::human::quantity(size.get() as f64, "bytes")
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
        let machine = Machine { cores: NonZeroUsize::new(cores).unwrap(), memory: Some(free(1000)) };
        let options = Options {
            jobs: NonZeroUsize::new(jobs),
            executor,
            workers: NonZeroU32::new(workers),
            force,
            ..Options::default()
        };
        let threads =
            machine.threads(&options, Some(Bytes::new(300))).map_err(|problem| problem.to_string())?;
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
    fn more_than_the_memory_is_refused() {
        let machine = Machine { cores: NonZeroUsize::MIN, memory: Some(free(1 << 30)) };
        let options = Options::default();
        let refused = |options: &Options, jobs: usize, mib: u64, place: &str| {
            let threads = Threads { jobs: NonZeroUsize::new(jobs).unwrap(), workers: NonZeroU32::MIN };
            let keys = &["cluster.objects", "cluster.servers"];
            let need = Need { each: Bytes::from_mib(mib), place: place.to_owned(), keys };
            let problem = machine.refuse_memory(options, threads, Some(&need)).err()?;
            Some(format!("{problem}; {}", problem.next_step().unwrap_or_default()))
        };
        assert_eq!(refused(&options, 1, 1024, ""), None);
        insta::assert_snapshot!(refused(&options, 1, 3072, "").unwrap(), @"a run takes about 3 GiB of memory, but 1 GiB are free; lower `cluster.objects` or `cluster.servers`, or add --allow-memory to run it anyway");
        insta::assert_snapshot!(refused(&options, 1, 3072, "point 2 (servers = 9)").unwrap(), @"a run of point 2 (servers = 9) takes about 3 GiB of memory, but 1 GiB are free; lower `cluster.objects` or `cluster.servers`, or add --allow-memory to run it anyway");
        insta::assert_snapshot!(refused(&options, 3, 512, "").unwrap(), @"3 runs at once take about 1.5 GiB of memory, but 1 GiB are free; lower --jobs to 2, or add --allow-memory to run it anyway");
        assert_eq!(refused(&Options { allow_memory: true, ..options.clone() }, 1, 3072, ""), None);
        let unknown = Machine { memory: None, ..machine };
        let threads = Threads { jobs: NonZeroUsize::MIN, workers: NonZeroU32::MIN };
        let need = Need { each: Bytes::from_gib(900), place: String::new(), keys: &[] };
        assert!(unknown.refuse_memory(&options, threads, Some(&need)).is_ok());
    }

    fn free(bytes: u64) -> Memory {
        Memory { left: Bytes::new(bytes), limit: memory::Limit::Free }
    }
}
