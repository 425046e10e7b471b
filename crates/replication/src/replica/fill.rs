//! Where the backfill of a target stands.

use std::collections::{BTreeMap, BTreeSet};

use super::exchanging::Exchanging;
use super::look::Look;
use crate::{Config, Cursor, Key, Tally, Version};

/// The backfill of one target.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Fill {
    pub(super) round: u64,
    /// Objects below were compared: they are as the primary's, or on their way.
    pub(super) started: Cursor,
    /// Objects that are on their way, and in which version; none to be removed.
    #[serde(with = "towtank_units::pairs")]
    pub(super) in_flight: BTreeMap<Key, Option<Version>>,
    pub(super) phase: Phase,
    pub(super) tally: Tally,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Phase {
    /// It waits for a slot at the target.
    Reserving,
    /// What differs is found out; meanwhile these objects were written to.
    Discovering { exchange: Option<Box<Exchanging>>, touched: BTreeSet<Key> },
    /// What may differ is looked at.
    Looking(Look),
    /// The target writes down that it is complete.
    Ending,
}

impl Fill {
    /// A write that the target's objects did not get.
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

    /// A batch is being looked at, here or at the target.
    pub(super) fn is_looking(&self) -> bool {
        matches!(&self.phase, Phase::Looking(Look::Ranges { batch: Some(batch), .. }) if batch.is_open())
    }

    pub(super) fn is_discovering(&self, round: u64) -> bool {
        self.round == round && matches!(self.phase, Phase::Discovering { .. })
    }
}
