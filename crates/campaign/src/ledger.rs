//! The outcomes so far: for every task of a plan its outcome, part of one, or nothing.

use towtank_report::Outcome;

use crate::{Plan, StoreError, Task, store};

/// The outcomes of a campaign, by task.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    replicates: u32,
    slots: Vec<Slot>,
}

#[derive(Clone, Debug, PartialEq)]
enum Slot {
    Missing,
    // Boxed, because most slots of a large campaign are empty most of the time.
    /// Stopped before its end. Shown if there is nothing better, never stored, never averaged with finished
    /// outcomes.
    Partial(Box<Outcome>),
    Finished(Box<Outcome>),
}

impl Ledger {
    /// A ledger without outcomes.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self { replicates: plan.replicates(), slots: vec![Slot::Missing; plan.task_count()] }
    }

    /// Enters an outcome. A finished one is never replaced.
    pub fn enter(&mut self, task: Task, outcome: Outcome) {
        let slot = self.slot(task);
        if !matches!(self.slots[slot], Slot::Finished(_)) {
            let partial = outcome.partial;
            let outcome = Box::new(outcome);
            self.slots[slot] = if partial { Slot::Partial(outcome) } else { Slot::Finished(outcome) };
        }
    }

    /// Enters the point file of a task that another process has run.
    ///
    /// # Errors
    /// If the bytes are not the finished file of that task.
    pub fn accept(&mut self, plan: &Plan, task: Task, bytes: &[u8]) -> Result<(), StoreError> {
        self.enter(task, store::received(plan, task, bytes)?.outcome);
        Ok(())
    }

    /// Whether this task is finished.
    #[must_use]
    pub fn is_finished(&self, task: Task) -> bool {
        matches!(self.slots[self.slot(task)], Slot::Finished(_))
    }

    /// Number of finished tasks.
    #[must_use]
    pub fn finished_count(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(slot, Slot::Finished(_))).count()
    }

    /// Whether all tasks are finished.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.finished_count() == self.slots.len()
    }

    /// The unfinished tasks, in plan order.
    #[must_use]
    pub fn missing(&self) -> Vec<Task> {
        let index = self.slots.iter().enumerate();
        index
            .filter(|(_, slot)| !matches!(slot, Slot::Finished(_)))
            .map(|(index, _)| self.task(index))
            .collect()
    }

    /// The outcomes of each point, in plan order.
    #[must_use]
    pub(crate) fn into_points(self) -> Vec<PointOutcomes> {
        let replicates = self.replicates as usize;
        let mut slots = self.slots.into_iter();
        let mut points = Vec::new();
        while slots.len() > 0 {
            points.push(PointOutcomes::of(slots.by_ref().take(replicates)));
        }
        points
    }

    fn slot(&self, task: Task) -> usize {
        assert!(task.replicate < self.replicates, "{task:?} is beyond {} replicates", self.replicates);
        task.point * self.replicates as usize + task.replicate as usize
    }

    fn task(&self, slot: usize) -> Task {
        let replicates = self.replicates as usize;
        let replicate = u32::try_from(slot % replicates).expect("less than `replicates`, which is a u32");
        Task { point: slot / replicates, replicate }
    }
}

/// The outcomes of one point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointOutcomes {
    /// The finished outcomes in replicate order; if there are none, those of stopped runs.
    pub outcomes: Vec<Outcome>,
    /// The replicate of each outcome.
    pub replicates: Vec<u32>,
    /// Whether a replicate of the point is missing or was stopped before its end.
    pub partial: bool,
}

impl PointOutcomes {
    fn of(slots: impl Iterator<Item = Slot>) -> Self {
        let (mut finished, mut stopped) = (Self::default(), Self::default());
        for (replicate, slot) in (0..).zip(slots) {
            let (outcome, into) = match slot {
                Slot::Finished(outcome) => (outcome, &mut finished),
                Slot::Partial(outcome) => (outcome, &mut stopped),
                Slot::Missing => {
                    finished.partial = true;
                    continue;
                }
            };
            into.outcomes.push(*outcome);
            into.replicates.push(replicate);
        }
        finished.partial |= !stopped.outcomes.is_empty();
        if finished.outcomes.is_empty() {
            return Self { partial: true, ..stopped };
        }
        finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    fn task(point: usize, replicate: u32) -> Task {
        Task { point, replicate }
    }

    fn stopped(outcome: &Outcome) -> Outcome {
        Outcome { partial: true, ..outcome.clone() }
    }

    #[test]
    fn finished_outcomes_displace_stopped_ones_and_never_the_other_way() {
        let plan = examples::plan(&[8, 16], 2);
        let outcome = examples::outcome(&plan.points()[0], 0);
        let mut ledger = Ledger::new(&plan);
        ledger.enter(task(0, 0), stopped(&outcome));
        assert!(!ledger.is_finished(task(0, 0)));
        ledger.enter(task(0, 0), outcome.clone());
        ledger.enter(task(0, 0), stopped(&outcome));
        assert!(ledger.is_finished(task(0, 0)));
        assert_eq!(ledger.finished_count(), 1);
        assert_eq!(ledger.missing(), [task(0, 1), task(1, 0), task(1, 1)]);
    }

    #[test]
    fn a_point_shows_stopped_outcomes_only_for_want_of_finished_ones() {
        let plan = examples::plan(&[8, 16, 32], 3);
        let outcome = examples::outcome(&plan.points()[0], 0);
        let mut ledger = Ledger::new(&plan);
        ledger.enter(task(0, 0), stopped(&outcome));
        ledger.enter(task(0, 2), outcome.clone());
        ledger.enter(task(1, 1), stopped(&outcome));
        for replicate in 0..3 {
            ledger.enter(task(2, replicate), outcome.clone());
        }
        assert!(!ledger.is_complete());
        let points = ledger.into_points();
        let shape: Vec<_> = points.iter().map(|p| (p.replicates.clone(), p.partial)).collect();
        assert_eq!(shape, [(vec![2], true), (vec![1], true), (vec![0, 1, 2], false)]);
        assert!(points[1].outcomes[0].partial);
    }
}
