//! In which order a device rebuilds the objects or groups that it drives.
//!
//! The order decides which data are at risk for longest: after two failures, some objects have one copy left
//! and most have two. A group is the unit of reservation, so the objects of a group stay together in any
//! order; objects that are placed one by one can be sorted one by one, which the slides of the first paper
//! name as a possible benefit ("fine-grained prioritization or scheduling of object reconstruction").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_streams::{Draws, Purpose, Seed, Uniform};

use crate::plan::{DeviceId, Plan};

/// Which objects or groups a device rebuilds first, of those that it drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Those with the fewest copies or shards left. Groups with equally many take turns.
    #[default]
    FewestCopies,
    /// Group by group in the order of their numbers, whatever is left of them. Only with groups.
    Group,
    /// Object by object in the order of their numbers, whatever is left of them. Only without groups.
    Object,
    /// In random order, drawn for each object or group.
    Random,
}

/// The place of one record among those that its driver rebuilds: sorted by the fields in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// The driver.
    pub driver: DeviceId,
    /// What the order sorts by.
    pub rank: u64,
    /// What decides among equal ranks.
    pub tie: u64,
    /// The priority by what the record has to spare.
    pub priority: u8,
    /// The record.
    pub record: u32,
    /// The device that is read first: the driver, unless it pulls.
    pub source: DeviceId,
}

const ORDER: Purpose = Purpose(48);
const TIES: Purpose = Purpose(49);

/// What decides among records of equal rank. As with a drawn order, a record keeps its place in later phases.
pub(super) fn tie(seed: Option<Seed>, number: u64) -> u64 {
    seed.map_or(0, |seed| Draws::new(seed, u32::MAX - 3, number).of(TIES).next_u64())
}

impl Order {
    /// Whether this is the default.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Order::default()
    }

    /// What a record is sorted by. Records with equal ranks keep the order of their numbers.
    pub(super) fn rank(self, priority: u8, number: u64, seed: Seed) -> u64 {
        match self {
            Order::FewestCopies => u64::from(priority),
            Order::Group | Order::Object => number,
            // The draw does not depend on the phase, so an object keeps its place when a later failure is
            // planned for.
            Order::Random => Draws::new(seed, u32::MAX - 3, number).of(ORDER).next_u64(),
        }
    }

    /// Sets the priority of the current task, the one of this `turn` of its driver. Tasks that wait for a
    /// reservation are served as they come in any order but that of the fewest copies; without reservations,
    /// tasks of one priority would take turns, so each gets its own.
    pub(super) fn place(self, plan: &mut Plan, turn: &mut u32, reserves: bool) {
        if self != Order::FewestCopies {
            plan.wait_as(if reserves { 0 } else { *turn });
            *turn += 1;
        }
    }
}

#[cfg(test)]
mod tests;
