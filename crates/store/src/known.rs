//! The maps that the directory of a device keeps, so that a monitor that is lost can be built anew.
//!
//! They are rows of the table of groups, under the number of a group that no cluster has, and are written in
//! the transaction in which the device's replicas hear of them: a device that acts in an interval has the map
//! with which it began on disk. A device hears of all maps in order, from the oldest that is still needed, so
//! what it keeps has no gap.

use std::collections::BTreeSet;

use towtank_replication::Epoch;

use crate::engine::{EngineError, Table, Transaction, read, written};
use crate::map::{ClusterMap, MapId};

/// What the keys of the rows begin with.
const PREFIX: [u8; 5] = [0xff, 0xff, 0xff, 0xff, b'a'];

/// The epochs of the maps that a directory keeps, and the newest of them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    epochs: BTreeSet<Epoch>,
    newest: Option<MapId>,
}

impl Known {
    /// Reads which maps there are.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(crate) fn load(transaction: &mut Transaction<'_>) -> Result<Known, EngineError> {
        let maps = maps(transaction)?;
        let epochs = maps.iter().map(|map| map.epoch).collect();
        Ok(Known { epochs, newest: maps.last().map(ClusterMap::id) })
    }

    /// The newest of them.
    pub(crate) fn newest(&self) -> Option<MapId> {
        self.newest
    }

    /// Keeps maps, given in order, and forgets those that are no longer needed.
    pub(crate) fn keep(&mut self, maps: &[ClusterMap], transaction: &mut Transaction<'_>) {
        for map in maps {
            if self.epochs.insert(map.epoch) {
                if self.newest.is_none_or(|newest| newest.epoch < map.epoch) {
                    self.newest = Some(map.id());
                }
                transaction.set(Table::Groups, row(map.epoch), written(map));
            }
        }
        let Some(oldest) = maps.last().map(|map| map.oldest) else { return };
        while let Some(epoch) = self.epochs.first().copied().filter(|epoch| *epoch < oldest) {
            self.epochs.remove(&epoch);
            transaction.remove(Table::Groups, row(epoch));
        }
    }
}

/// The maps that a directory keeps, in order.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn maps(transaction: &mut Transaction<'_>) -> Result<Vec<ClusterMap>, EngineError> {
    let rows = transaction.scan(Table::Groups, &PREFIX, &PREFIX, usize::MAX);
    rows.iter().map(|(_, value)| read("a map of the cluster", value)).collect()
}

fn row(epoch: Epoch) -> Vec<u8> {
    [&PREFIX[..], &epoch.to_be_bytes()].concat()
}
