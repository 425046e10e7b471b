//! Estimates the memory of a scenario before anything runs.

use towtank_scenario::Problem;
use towtank_units::Bytes;

use crate::machine::{Machine, Memory};
use crate::need::{Need, together};
use crate::{Options, Scenario, Trouble};

/// The estimated memory of a campaign, and the available memory.
#[derive(Clone, Debug)]
pub struct MemoryPreview {
    /// The memory of one run of the most demanding point, if its study can estimate it.
    pub each: Option<Bytes>,
    /// The number of concurrent runs.
    pub jobs: usize,
    /// The memory of all concurrent runs.
    pub all: Option<Bytes>,
    /// The memory that this process may still take, if the system reports it.
    pub free: Option<Memory>,
    /// The reason why `run` would refuse it, if any.
    pub refusal: Option<Problem>,
}

/// The memory check of [`run`](crate::run) with the same options.
///
/// # Errors
/// When the scenario has too many runs, or the options ask for more threads than there are cores.
pub fn preview_of_memory(scenario: &Scenario, options: &Options) -> Result<MemoryPreview, Trouble> {
    on(Machine::here(), scenario, options)
}

fn on(machine: Machine, scenario: &Scenario, options: &Options) -> Result<MemoryPreview, Trouble> {
    let plan = scenario.plan()?;
    let need = Need::of(scenario, &plan);
    let each = need.as_ref().map(|need| need.each);
    let threads = machine.threads(options, each)?;
    let refusal = machine.refuse_memory(options, threads, need.as_ref()).err();
    let jobs = threads.jobs.get();
    Ok(MemoryPreview {
        each,
        jobs,
        all: each.map(|each| together(each, jobs)),
        free: machine.memory,
        refusal,
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::machine::Limit;
    use crate::{Document, Registry};

    #[test]
    fn what_would_not_fit_is_reported_as_a_run_would_report_it() {
        let registry = Registry::builtin();
        let scenario = Document::builtin("queue-mm1", &registry).unwrap().check(&registry).unwrap();
        let cores = NonZeroUsize::new(4).unwrap();
        let with = |left: u64| {
            let memory = Some(Memory { left: Bytes::new(left), limit: Limit::Free });
            on(Machine { cores, memory }, &scenario, &Options::default()).unwrap()
        };
        let ample = with(1 << 40);
        let each = ample.each.expect("the study estimates");
        assert_eq!((ample.jobs, ample.all), (4, Some(together(each, 4))));
        assert!(ample.refusal.is_none());
        // Fewer concurrent runs if that helps, and a refusal if a single one is too large.
        let tight = with(3 * each.get());
        assert_eq!((tight.jobs, tight.refusal), (3, None));
        let short = with(each.get() - 1);
        let refusal = short.refusal.expect("not even one fits");
        assert!(refusal.message().starts_with("a run takes about "), "{refusal}");
        assert_eq!(refusal.next_step(), Some("lower `span`, or add --allow-memory to run it anyway"));
    }
}
