//! The data that a change of the cluster moves, and the minimum that any placement would move.

use super::super::visit::for_each_list;
use super::super::{Placement, ServerId};

/// The replicas that must be copied when one placement replaces another. Lists are compared as sets: a
/// different order moves nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// The number of keys placed.
    pub keys: u64,
    /// The number of replicas after the change.
    pub replicas: u64,
    /// The number of replicas on a server that had no replica of the key before.
    pub moved: u64,
    /// The number of keys with a moved replica.
    pub keys_moved: u64,
    /// The number of keys whose primary (first server) changes.
    pub primaries_changed: u64,
    /// The number of replicas that each server receives, by id.
    pub received: Vec<u64>,
    /// The minimum movement between the observed loads: the sum of the increases of all servers.
    pub minimum_of_loads: u64,
    /// The minimum movement between the ideal loads by the weights before and after.
    pub minimum_of_weights: f64,
}

impl Movement {
    /// Places all keys with both placements.
    ///
    /// # Panics
    /// If `replicas` exceeds 512.
    pub fn between(
        before: &dyn Placement,
        after: &dyn Placement,
        keys: impl Iterator<Item = u64>,
        replicas: usize,
    ) -> Movement {
        let ids = before.cluster().ids().max(after.cluster().ids());
        let (mut loads_before, mut loads_after) = (vec![0u64; ids], vec![0u64; ids]);
        let mut received = vec![0u64; ids];
        let (mut count, mut keys_moved, mut primaries_changed) = (0, 0, 0);
        let mut new = vec![ServerId::NONE; replicas];
        for_each_list(before, keys, replicas, |key, old| {
            let found = after.lookup(key, &mut new);
            let new = &new[..found];
            let moved_before: u64 = keys_moved;
            old.iter().for_each(|server| loads_before[server.index()] += 1);
            for server in new {
                loads_after[server.index()] += 1;
                if !old.contains(server) {
                    received[server.index()] += 1;
                    keys_moved = moved_before + 1;
                }
            }
            count += 1;
            primaries_changed += u64::from(old.first() != new.first());
        });
        let minimum = |before: &u64, after: &u64| after.saturating_sub(*before);
        Movement {
            keys: count,
            replicas: loads_after.iter().sum(),
            moved: received.iter().sum(),
            keys_moved,
            primaries_changed,
            minimum_of_loads: loads_before.iter().zip(&loads_after).map(|(b, a)| minimum(b, a)).sum(),
            minimum_of_weights: least_of_weights(before, after, replicas) * count as f64,
            received,
        }
    }

    /// The share of all replicas that moves; `None` without replicas.
    #[must_use]
    pub fn moved_fraction(&self) -> Option<f64> {
        (self.replicas > 0).then(|| self.moved as f64 / self.replicas as f64)
    }
}

/// The minimum movement, in replicas per key.
fn least_of_weights(before: &dyn Placement, after: &dyn Placement, replicas: usize) -> f64 {
    let (old, new) = (before.cluster().ideal_shares(replicas), after.cluster().ideal_shares(replicas));
    let held = |server: usize| old.get(server).copied().unwrap_or(0.0);
    new.iter().enumerate().map(|(server, share)| (share - held(server)).max(0.0)).sum()
}
