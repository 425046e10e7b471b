//! Visits the servers of many keys, in blocks on the stack: without a table of objects, and with a few
//! kilobytes whatever their number.

use super::hashing::scatter;
use super::{Placement, ServerId};

/// How an object's key is computed from its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKeys {
    /// The id is the key.
    AsGiven,
    /// The key is the scattered id; for ids that are counters.
    Scattered,
}

impl IdKeys {
    /// The key of an object.
    #[inline]
    #[must_use]
    pub fn key(self, id: u64) -> u64 {
        match self {
            IdKeys::AsGiven => id,
            IdKeys::Scattered => scatter(id),
        }
    }
}

/// Places per block: 2 KiB on the stack.
const PLACES: usize = 512;
const BLOCK_MAX: usize = 128;

/// Calls `see` with each key of `keys` and its servers, in order. Memory does not grow with the number of
/// keys.
///
/// # Panics
/// If `replicas` exceeds 512.
pub(super) fn for_each_list(
    placement: &dyn Placement,
    keys: impl Iterator<Item = u64>,
    replicas: usize,
    mut see: impl FnMut(u64, &[ServerId]),
) {
    assert!(replicas <= PLACES, "`replicas` is {replicas}, at most {PLACES}: no object has so many");
    let block = BLOCK_MAX.min(PLACES / replicas.max(1));
    let mut places = [ServerId::NONE; PLACES];
    let mut pending = [0u64; BLOCK_MAX];
    let mut keys = keys.fuse();
    loop {
        let mut count = 0;
        for (place, key) in pending[..block].iter_mut().zip(&mut keys) {
            *place = key;
            count += 1;
        }
        if count == 0 {
            return;
        }
        let (pending, places) = (&pending[..count], &mut places[..count * replicas]);
        placement.lookup_batch(pending, replicas, places);
        for (at, key) in pending.iter().enumerate() {
            let list = &places[at * replicas..(at + 1) * replicas];
            let found = list.iter().position(|server| *server == ServerId::NONE).unwrap_or(replicas);
            see(*key, &list[..found]);
        }
    }
}
