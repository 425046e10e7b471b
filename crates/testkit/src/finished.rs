//! The final state of a run with its audit: to be damaged, and audited again.
//!
//! An audit that has never failed proves nothing. A test takes the state at the end of a run (or where it was
//! cut short), damages it behind the model's back in each way that its conservation laws should notice, and
//! asks for the fault. Damage that changes nothing is refused, so that a test cannot pass because it missed
//! its target.

use towtank_kernel::{Committed, Model, Outcome, Scheduled};
use towtank_units::SimTime;

/// The state of a model at the end of a run.
#[derive(Debug)]
pub struct Finished<M: Model> {
    /// The time up to which all events have happened.
    pub now: SimTime,
    /// The entities, in order.
    pub entities: Vec<M::Entity>,
    /// Their statistics, in order.
    pub statistics: Vec<M::Statistics>,
    /// The number of events in flight.
    pub pending_count: u64,
    /// These events, in the order of their keys. Empty for models that do not audit them.
    pub pending: Vec<Scheduled<M::Event>>,
}

// Not derived: that would ask for `M: Clone`.
impl<M: Model> Clone for Finished<M> {
    fn clone(&self) -> Finished<M> {
        Finished {
            now: self.now,
            entities: self.entities.clone(),
            statistics: self.statistics.clone(),
            pending_count: self.pending_count,
            pending: self.pending.clone(),
        }
    }
}

impl<M: Model> Finished<M> {
    /// The final state of a run.
    #[must_use]
    pub fn of(outcome: Outcome<M>) -> Finished<M> {
        let Outcome { now, entities, statistics, pending: pending_count, in_flight: pending, .. } = outcome;
        Finished { now, entities, statistics, pending_count, pending }
    }

    /// The result of the model's audit: `None`, or the broken law.
    #[must_use]
    pub fn audit(&self, model: &M) -> Option<String> {
        let Finished { now, entities, statistics, pending_count, pending } = self;
        let committed = Committed { now: *now, entities, statistics, pending_count: *pending_count, pending };
        model.audit(&committed).err().map(|fault| fault.to_string())
    }

    /// The audit's error for a copy of this state that `damage` has changed.
    ///
    /// # Panics
    /// When the audit fails on the sound state, `damage` changes nothing, or the audit does not notice it;
    /// `what` names the damage.
    #[must_use]
    pub fn complaint(&self, model: &M, what: &str, damage: impl FnOnce(&mut Finished<M>)) -> String {
        if let Some(complaint) = self.audit(model) {
            panic!("the audit complains about a sound state: {complaint}");
        }
        let mut broken = self.clone();
        damage(&mut broken);
        assert!(
            (&broken.entities, &broken.statistics, &broken.pending)
                != (&self.entities, &self.statistics, &self.pending)
                || (broken.now, broken.pending_count) != (self.now, self.pending_count),
            "{what}: the damage changes nothing"
        );
        broken.audit(model).unwrap_or_else(|| panic!("{what}: the audit does not notice"))
    }
}

#[cfg(test)]
mod tests {
    use towtank_kernel::{RunOptions, run};

    use super::*;
    use crate::{RandomEvent, RandomModel};

    fn finished() -> (RandomModel, Finished<RandomModel>) {
        let model = RandomModel::new(7);
        let options = RunOptions { end: Some(SimTime::from_ns(2_000)), ..RunOptions::default() };
        let finished = Finished::of(run(&model, options).expect("a model without faults runs"));
        (model, finished)
    }

    #[test]
    fn a_lost_and_a_doubled_event_are_noticed() {
        let (model, finished) = finished();
        let numbered = |one: &Scheduled<RandomEvent>| matches!(one.event, RandomEvent::Numbered(_));
        let at = finished.pending.iter().position(numbered).expect("a channel is in use");
        let lost = finished.complaint(&model, "lost", |state| {
            state.pending.remove(at);
        });
        let doubled = finished.complaint(&model, "doubled", |state| {
            let again = state.pending[at].clone();
            state.pending.insert(at, again);
        });
        assert!(lost.contains("channel messages sent") && doubled.contains("channel messages sent"));
    }

    #[test]
    #[should_panic(expected = "nothing at all: the damage changes nothing")]
    fn damage_that_changes_nothing_is_refused() {
        let (model, finished) = finished();
        let _ = finished.complaint(&model, "nothing at all", |_| {});
    }

    #[test]
    #[should_panic(expected = "a sample more: the audit does not notice")]
    fn damage_that_the_audit_misses_is_reported() {
        let (model, finished) = finished();
        let _ = finished.complaint(&model, "a sample more", |state| state.statistics[0].count += 1);
    }
}
