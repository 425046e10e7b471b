//! What the runs of a scenario take of the memory.

use towtank_campaign::Plan;
use towtank_units::Bytes;

use crate::Scenario;

/// What so many runs take at once.
pub(crate) fn together(each: Bytes, jobs: usize) -> Bytes {
    Bytes::new(each.get().saturating_mul(jobs as u64))
}

/// What a run takes.
#[derive(Clone, Debug)]
pub(crate) struct Need<'a> {
    /// The memory of one run.
    pub(crate) each: Bytes,
    /// Which point of a sweep takes that much; empty without a sweep.
    pub(crate) place: String,
    /// The keys of the scenario that it grows with.
    pub(crate) keys: &'a [&'a str],
}

impl<'a> Need<'a> {
    /// What the hungriest point takes.
    pub(crate) fn of(scenario: &Scenario, plan: &Plan) -> Option<Need<'a>> {
        let estimates = scenario.points().iter().zip(plan.points());
        let estimates = estimates.enumerate().filter_map(|(index, (point, spec))| {
            Some((point.prepared.memory_estimate()?, std::cmp::Reverse(index), spec.label()))
        });
        let (each, std::cmp::Reverse(index), label) = estimates.max()?;
        let place = if label.is_empty() { label } else { format!("point {} ({label})", index + 1) };
        Some(Need { each, place, keys: scenario.study().memory_keys() })
    }
}
