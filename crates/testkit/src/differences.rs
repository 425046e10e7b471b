//! The differences between two outcomes of one model.
//!
//! The digest alone does not show whether a state was transferred correctly: each worker computes the digest
//! words of its own entities before it sends them. So the transferred states are compared too.

use towtank_kernel::{Model, Outcome};

/// The names of the parts that differ; none for two runs of one scenario and seed, whatever the executors and
/// transports.
#[must_use]
pub fn differences<M: Model>(left: &Outcome<M>, right: &Outcome<M>) -> Vec<&'static str> {
    let same = [
        ("digest", left.digest == right.digest),
        ("entities", left.entities == right.entities),
        ("statistics", left.statistics == right.statistics),
        ("outputs", left.outputs == right.outputs),
        ("pending", left.pending == right.pending),
        ("in flight", left.in_flight == right.in_flight),
        ("committed", left.run.committed == right.run.committed),
        ("now", left.now == right.now),
        ("partial", left.partial == right.partial),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}
