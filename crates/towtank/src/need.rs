//! The memory that the runs of a scenario need.

use towtank_campaign::Plan;
use towtank_units::Bytes;

use crate::Scenario;

/// The memory of this many concurrent runs.
pub(crate) fn together(each: Bytes, jobs: usize) -> Bytes {
    Bytes::new(each.get().saturating_mul(jobs as u64))
}

/// The memory needed by a run.
#[derive(Clone, Debug)]
pub(crate) struct Need<'a> {
    /// The memory of one run.
    pub(crate) each: Bytes,
    /// The point of the sweep that needs the most; empty without a sweep.
    pub(crate) place: String,
    /// The scenario keys that the memory depends on.
    pub(crate) keys: &'a [&'a str],
}

impl<'a> Need<'a> {
    /// The need of the point that needs the most memory.
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
