//! How soon the pending events of a partition can reach another partition.
//!
//! Look-ahead alone gives the time of the next event plus the least delay of a link. Often a model knows
//! more: a long transfer that has just begun affects no other entity before it ends ([`Model::slack`]). The
//! least `time + slack` over all pending events is a later bound that is equally safe. Most events have at
//! least the model's usual slack, and for those the time of the next event is enough; only the others are
//! kept in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use towtank_units::{SimSpan, SimTime};

use crate::key::{EntityId, EventKey};
use crate::model::Model;

/// The bounds of one worker's pending events.
pub(crate) struct Reach {
    /// The slack that links give to every event.
    look_ahead: SimSpan,
    /// The slack of all events that are not in `urgent`.
    usual: SimSpan,
    /// Pairs of the time at which an event can reach another entity, and the time of the event.
    urgent: BinaryHeap<Reverse<(SimTime, SimTime)>>,
}

impl Reach {
    /// `None` if the model's slack does not exceed the look-ahead.
    pub(crate) fn new<M: Model>(model: &M, look_ahead: SimSpan) -> Option<Reach> {
        let usual = model.usual_slack();
        (usual > look_ahead).then(|| Reach { look_ahead, usual, urgent: BinaryHeap::new() })
    }

    /// The earliest time at which an event for `to` can reach another entity.
    #[inline]
    pub(crate) fn of<M: Model>(&self, model: &M, at: SimTime, to: EntityId, event: &M::Event) -> SimTime {
        at.saturating_add(model.slack(to, event).max(self.look_ahead))
    }

    /// Records an event that has become pending.
    #[inline]
    pub(crate) fn note<M: Model>(&mut self, model: &M, at: SimTime, to: EntityId, event: &M::Event) {
        let reach = self.of(model, at, to, event);
        if reach < at.saturating_add(self.usual) {
            self.urgent.push(Reverse((reach, at)));
        }
    }

    /// The earliest time at which a pending event can reach another entity, if the next event is `floor`.
    /// Drops entries of events before it, which have happened.
    pub(crate) fn least(&mut self, floor: EventKey) -> SimTime {
        let calm = floor.at.saturating_add(self.usual);
        while let Some(&Reverse((reach, at))) = self.urgent.peek() {
            if at >= floor.at {
                assert!(
                    reach >= at,
                    "no event reaches another entity before it happens: {reach} is before {at}"
                );
                return calm.min(reach);
            }
            self.urgent.pop();
        }
        calm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no event reaches another entity before it happens")]
    fn an_event_felt_before_it_happens_breaks_a_law() {
        let mut reach = Reach { look_ahead: SimSpan::ZERO, usual: SimSpan::MAX, urgent: BinaryHeap::new() };
        reach.urgent.push(Reverse((SimTime::from_ns(3), SimTime::from_ns(9))));
        reach.least(EventKey::first_at(SimTime::from_ns(5)));
    }
}
