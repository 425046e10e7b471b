//! The devices that gain and lose a copy or shard when a group moves.
//!
//! Copies of a replicated group compare as sets: a new order moves nothing. Shards of an erasure-coded group
//! compare position by position, because each holds different data.

use towtank_placement::crush::{ItemId, NONE};

/// The devices that gain and lose a copy or shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gains {
    /// The device that loses it, if any, and the device that gains it.
    pub gained: Vec<(Option<ItemId>, ItemId)>,
    /// The devices that lose one.
    pub lost: Vec<ItemId>,
}

impl Gains {
    /// Nothing moves.
    #[must_use]
    pub fn none() -> Self {
        Self { gained: Vec::new(), lost: Vec::new() }
    }

    /// Between the devices that hold a group now and those that are to hold it; `coded` for shards.
    #[must_use]
    pub fn between(held: &[ItemId], target: &[ItemId], coded: bool) -> Self {
        if coded { Self::of_shards(held, target) } else { Self::of_copies(held, target) }
    }

    fn of_shards(held: &[ItemId], target: &[ItemId]) -> Self {
        let at = |position: usize| held.get(position).copied().filter(|id| *id != NONE);
        let changed = |&(position, &id): &(usize, &ItemId)| id != NONE && at(position) != Some(id);
        let gained: Vec<_> =
            target.iter().enumerate().filter(changed).map(|(position, &id)| (at(position), id)).collect();
        let lost = gained.iter().filter_map(|(from, _)| *from).collect();
        Self { gained, lost }
    }

    fn of_copies(held: &[ItemId], target: &[ItemId]) -> Self {
        let only = |own: &[ItemId], other: &[ItemId]| -> Vec<ItemId> {
            own.iter().copied().filter(|id| *id != NONE && !other.contains(id)).collect()
        };
        let (new, lost) = (only(target, held), only(held, target));
        let gained = new.iter().enumerate().map(|(at, &id)| (lost.get(at).copied(), id)).collect();
        Self { gained, lost }
    }
}

/// Whether a group lies elsewhere on one list of devices than on the other.
#[must_use]
pub fn differs(left: &[ItemId], right: &[ItemId], coded: bool) -> bool {
    if coded {
        return left != right;
    }
    let sorted = |ids: &[ItemId]| {
        let mut ids: Vec<ItemId> = ids.iter().copied().filter(|id| *id != NONE).collect();
        ids.sort_unstable();
        ids
    };
    sorted(left) != sorted(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_compare_as_sets_and_shards_by_position() {
        let copies = Gains::between(&[1, 2, 3], &[3, 4, 1], false);
        assert_eq!(copies, Gains { gained: vec![(Some(2), 4)], lost: vec![2] });
        let shards = Gains::between(&[1, 2, NONE], &[2, 2, 5], true);
        assert_eq!(shards, Gains { gained: vec![(Some(1), 2), (None, 5)], lost: vec![1] });
        assert!(!differs(&[1, 2, NONE], &[2, 1], false));
        assert!(differs(&[1, 2], &[2, 1], true));
    }
}
