//! How soon what a partition still has to do can be felt in another one.
//!
//! Look-ahead alone says: a link's least delay after the next event. Often a model knows more, since a long
//! transfer that has just begun disturbs nobody before it ends ([`Model::slack`]). The least of `time +
//! slack` over all pending events is a later bound that is as safe. Most events have the model's usual slack
//! or more, and for those the next event's time says enough; only the urgent rest is kept in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use towtank_units::{SimSpan, SimTime};

use crate::key::{EventKey, Scheduled};
use crate::model::Model;

/// The bounds of one worker's pending events.
pub(crate) struct Reach {
    /// What links grant to every event.
    look_ahead: SimSpan,
    /// What all events have that are not in `urgent`.
    usual: SimSpan,
    /// When it can be felt, and when it happens.
    urgent: BinaryHeap<Reverse<(SimTime, SimTime)>>,
}

impl Reach {
    /// None if the model knows no more than its links do.
    pub(crate) fn new<M: Model>(model: &M, look_ahead: SimSpan) -> Option<Reach> {
        let usual = model.usual_slack();
        (usual > look_ahead).then(|| Reach { look_ahead, usual, urgent: BinaryHeap::new() })
    }

    /// When an event can be felt elsewhere.
    #[inline]
    pub(crate) fn of<M: Model>(&self, model: &M, scheduled: &Scheduled<M::Event>) -> SimTime {
        let slack = model.slack(scheduled.to, &scheduled.event);
        scheduled.key.at.saturating_add(slack.max(self.look_ahead))
    }

    /// An event is pending from now on.
    #[inline]
    pub(crate) fn note<M: Model>(&mut self, model: &M, scheduled: &Scheduled<M::Event>) {
        let reach = self.of(model, scheduled);
        if reach < scheduled.key.at.saturating_add(self.usual) {
            self.urgent.push(Reverse((reach, scheduled.key.at)));
        }
    }

    /// When the first of the pending events can be felt elsewhere, if the next one is `floor`. What lies
    /// before it has happened.
    pub(crate) fn least(&mut self, floor: EventKey) -> SimTime {
        let calm = floor.at.saturating_add(self.usual);
        while let Some(&Reverse((reach, at))) = self.urgent.peek() {
            if at >= floor.at {
                return calm.min(reach);
            }
            self.urgent.pop();
        }
        calm
    }
}
