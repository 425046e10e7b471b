//! Builds a list of distinct servers from a sequence of random draws, skipping servers that are already in
//! the list.
//!
//! Skipping keeps the list minimal under change: the replicas of a removed server move to the next draw, and
//! nothing else moves.

use super::cluster::{ServerId, ServerSet};
use super::hashing::{SPREAD, mix};

/// The number of draws before the rest is filled in index order, if one draw in `per_hit` hits a server.
/// Sixteen rounds over all servers omit a server of equal weight once in nine million; a server of very small
/// weight may have to be filled in, where it would come last anyway.
pub(super) fn attempts_max(servers: usize, per_hit: usize) -> u32 {
    let attempts = servers.saturating_mul(16).saturating_mul(per_hit).saturating_add(64);
    // Half the range, so that callers can use the other half for another purpose.
    u32::try_from(attempts).unwrap_or(u32::MAX).min(1 << 31)
}

/// Fills `places` from `attempts` calls of `draw`, which may refuse an attempt; then from `rest`, which lists
/// every candidate.
#[inline]
pub(super) fn fill_distinct(
    places: &mut [ServerId],
    down: &ServerSet,
    (attempts, draw): (u32, impl FnMut(u32) -> Option<ServerId>),
    rest: &[ServerId],
) -> usize {
    fill_from(places, down, (0..attempts).filter_map(draw).chain(rest.iter().copied()))
}

/// Fills `places` with the first distinct servers of `candidates` that are not down, and returns their
/// number.
#[inline]
pub(super) fn fill_from(
    places: &mut [ServerId],
    down: &ServerSet,
    candidates: impl Iterator<Item = ServerId>,
) -> usize {
    let mut filled = 0;
    if places.is_empty() {
        return 0;
    }
    for server in candidates {
        if !places[..filled].contains(&server) && !down.contains(server) {
            places[filled] = server;
            filled += 1;
            if filled == places.len() {
                break;
            }
        }
    }
    filled
}

/// The random word for attempt `attempt` at `key`; both are mixed in by products.
#[inline]
pub(super) fn draw_word(key: u64, salt: u64, attempt: u32) -> u64 {
    mix(mix(key ^ salt, SPREAD[0]) ^ u64::from(attempt).wrapping_mul(SPREAD[1]), SPREAD[1])
}

/// Maps a word to one of `bound` ranges of equal size.
#[inline]
pub(super) fn place_of(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}
