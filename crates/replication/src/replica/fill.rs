//! The state of the backfill of one target.

use std::collections::{BTreeMap, BTreeSet};

use super::exchanging::Exchanging;
use super::look::Look;
use crate::{Config, Cursor, Key, Tally, Version};

/// The backfill of one target.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Fill {
    pub(super) round: u64,
    /// Objects below this cursor were compared: they equal the primary's, or are in flight.
    pub(super) started: Cursor,
    /// Objects in flight, with their versions; `None` for an object to be removed.
    #[serde(with = "towtank_units::pairs")]
    pub(super) in_flight: BTreeMap<Key, Option<Version>>,
    pub(super) phase: Phase,
    pub(super) tally: Tally,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Phase {
    /// Waits for a slot at the target.
    Reserving,
    /// Discovery is running; these objects were written to meanwhile.
    Discovering { exchange: Option<Box<Exchanging>>, touched: BTreeSet<Key> },
    /// Objects that may differ are being looked at.
    Looking(Look),
    /// The target is storing that it is complete.
    Ending,
}

impl Fill {
    /// Records a write that the target's objects did not receive.
    pub(super) fn touch(&mut self, config: &Config, key: Key) {
        assert!(!self.started.covers(key), "a write below the backfill was kept from its target");
        match &mut self.phase {
            Phase::Reserving => {}
            Phase::Discovering { touched, .. } => {
                touched.insert(key);
            }
            Phase::Looking(look) => look.touch(config, key),
            Phase::Ending => unreachable!("a backfill that ends covers all keys"),
        }
    }

    /// Whether a batch is being looked at, here or at the target.
    pub(super) fn is_looking(&self) -> bool {
        matches!(&self.phase, Phase::Looking(Look::Ranges { batch: Some(batch), .. }) if batch.is_open())
    }

    pub(super) fn is_discovering(&self, round: u64) -> bool {
        self.round == round && matches!(self.phase, Phase::Discovering { .. })
    }
}
