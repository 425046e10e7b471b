//! Finds the objects with a replica on given servers, without a table of objects.
//!
//! [`visit_touching`] computes every object of a range, in blocks on the stack, and reports those that touch
//! the servers; it uses a few kilobytes whatever the range. [`visit_by_inverse`] asks the algorithm for the
//! keys and examines no others.

use std::ops::Range;

use super::hashing::scatter;
use super::territory::{KeyRun, KeySpace, Territory, Touching};
use super::{Placement, ServerId, ServerSet};

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

/// Calls `see` with each object of `ids` that has one of its first `replicas` servers in `servers`, and with
/// its servers, in ascending order of ids.
///
/// # Panics
/// If `replicas` exceeds 512.
pub fn visit_touching(
    placement: &dyn Placement,
    ids: Range<u64>,
    id_keys: IdKeys,
    touching: (&ServerSet, usize),
    see: &mut dyn FnMut(u64, &[ServerId]),
) {
    let (servers, replicas) = touching;
    let mut id = ids.start;
    for_each_list(placement, ids.map(|id| id_keys.key(id)), replicas, |_, list| {
        if list.iter().any(|server| servers.contains(*server)) {
            see(id, list);
        }
        id += 1;
    });
}

/// Like [`visit_touching`] for ids that are keys, but examines only objects in the servers' territories,
/// server by server. Returns false, without calling `see`, if the algorithm has no inverse over keys as
/// given.
///
/// # Panics
/// If `replicas` exceeds 512.
pub fn visit_by_inverse(
    placement: &dyn Placement,
    ids: Range<u64>,
    touching: (&ServerSet, usize),
    see: &mut dyn FnMut(u64, &[ServerId]),
) -> bool {
    let (servers, replicas) = touching;
    let has_inverse = placement.key_space() == KeySpace::AsGiven
        && placement.territory(Touching { server: ServerId(0), replicas: 0 }, &mut |_| ())
            != Territory::Unknown;
    let Some(last) = ids.end.checked_sub(1).filter(|last| ids.start <= *last && has_inverse) else {
        return has_inverse;
    };
    for server in servers.iter() {
        let mut visit = |run: KeyRun| {
            let keys = run.within(ids.start, last).positions();
            for_each_list(placement, keys, replicas, |key, list| {
                // An object on several of the servers is reported only for the one with the lowest id.
                let first = list.iter().filter(|server| servers.contains(**server)).min();
                if first == Some(&server) {
                    see(key, list);
                }
            });
        };
        placement.territory(Touching { server, replicas }, &mut visit);
    }
    true
}
