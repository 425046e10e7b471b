//! The data that a change of the cluster moves, and the minimum that any placement would move.

use super::super::visit::for_each_list;
use super::super::{Placement, ServerId};

/// The replicas that must be copied when one placement replaces another. Lists are compared as sets: a
/// different order moves nothing. A key may have more replicas in one placement than in the other, where an
/// algorithm gives some up: a replica that exists only afterwards is new, and does not move.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// The number of keys placed.
    pub keys: u64,
    /// The number of replicas that exist before and after the change.
    pub replicas: u64,
    /// The number of these on a server that had no replica of the key before.
    pub moved: u64,
    /// The number of replicas that exist only after the change.
    pub added: u64,
    /// The number of replicas that exist only before the change.
    pub dropped: u64,
    /// The number of keys with a moved replica.
    pub keys_moved: u64,
    /// The number of keys whose primary (first server) changes.
    pub primaries_changed: u64,
    /// The number of replicas that each server receives, by id, moved and new ones.
    pub received: Vec<u64>,
    /// The minimum movement between the observed loads: the sum of the increases of all servers, without what
    /// may be new; or of the decreases, without what may be dropped.
    pub minimum_of_loads: u64,
    /// The minimum movement between the loads that the weights ask for before and after, of the replicas that
    /// exist in both. A placement whose loads do not follow the weights may move less.
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
        let (mut kept, mut moved, mut added, mut dropped) = (0, 0, 0, 0);
        let mut new = vec![ServerId::NONE; replicas];
        for_each_list(before, keys, replicas, |key, old| {
            let found = after.lookup(key, &mut new);
            let new = &new[..found];
            old.iter().for_each(|server| loads_before[server.index()] += 1);
            let mut arrived = 0;
            for server in new {
                loads_after[server.index()] += 1;
                if !old.contains(server) {
                    received[server.index()] += 1;
                    arrived += 1;
                }
            }
            let [before, after] = [old.len() as u64, found as u64];
            let new_here = after.saturating_sub(before);
            assert!(arrived >= new_here, "a longer list has new servers: {new:?} after {old:?}");
            kept += before.min(after);
            moved += arrived - new_here;
            keys_moved += u64::from(arrived > new_here);
            added += new_here;
            dropped += before.saturating_sub(after);
            count += 1;
            primaries_changed += u64::from(old.first() != new.first());
        });
        let increase = |before: &[u64], after: &[u64]| -> u64 {
            before.iter().zip(after).map(|(before, after)| after.saturating_sub(*before)).sum()
        };
        let (up, down) = (increase(&loads_before, &loads_after), increase(&loads_after, &loads_before));
        let copies = if added + dropped == 0 { replicas as f64 } else { kept as f64 / count.max(1) as f64 };
        Movement {
            keys: count,
            replicas: kept,
            moved,
            added,
            dropped,
            keys_moved,
            primaries_changed,
            minimum_of_loads: up.saturating_sub(added).max(down.saturating_sub(dropped)),
            minimum_of_weights: least_of_weights(before, after, copies) * count as f64,
            received,
        }
    }

    /// The share of the replicas of both placements that moves; `None` without replicas.
    #[must_use]
    pub fn moved_fraction(&self) -> Option<f64> {
        (self.replicas > 0).then(|| self.moved as f64 / self.replicas as f64)
    }
}

/// The minimum movement, in replicas per key.
fn least_of_weights(before: &dyn Placement, after: &dyn Placement, replicas: f64) -> f64 {
    let (old, new) = (before.cluster().ideal_shares_of(replicas), after.cluster().ideal_shares_of(replicas));
    let held = |server: usize| old.get(server).copied().unwrap_or(0.0);
    new.iter().enumerate().map(|(server, share)| (share - held(server)).max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::tests::broken::Broken;

    #[test]
    #[should_panic(
        expected = "a longer list has new servers: [ServerId(0), ServerId(0)] after [ServerId(0)]"
    )]
    fn a_longer_list_of_the_same_servers_breaks_a_law() {
        let (before, after) = (Broken::listing(2, &[0]), Broken::listing(2, &[0, 0]));
        let _ = Movement::between(&before, &after, 0..1, 2);
    }
}
