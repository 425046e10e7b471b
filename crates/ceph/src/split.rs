//! The groups of a pool when their number changes.
//!
//! Split groups stay in place: a child starts on its parent's devices, with its part of the parent's bytes.

use towtank_placement::crush::objects::stable_mod;

use crate::cluster::{Group, PoolState};

/// Bytes of each group of the finer division. Both divisions are compared in these units.
#[must_use]
pub fn parts(pool: &PoolState, pg_num_after: u32) -> Vec<u64> {
    parts_of(pool, pg_num_after, |group| group.bytes)
}

/// A quantity of each group of the finer division: bytes, or objects.
#[must_use]
pub fn parts_of(pool: &PoolState, pg_num_after: u32, amount: impl Fn(&Group) -> u64) -> Vec<u64> {
    let before = pool.placed.pg_num;
    let mut parts: Vec<u64> = pool.groups.iter().map(&amount).collect();
    for child in before..pg_num_after {
        let parent = stable_mod(child, before) as usize;
        let part = part_of_hashes(child, pg_num_after);
        let whole = part_of_hashes(parent as u32, before);
        // Both are powers of two below 2^33, over 2^32.
        let own = (u128::from(amount(&pool.groups[parent])) * u128::from(part) / u128::from(whole)) as u64;
        let whole = parts[parent];
        assert!(own <= whole, "group {child} takes no more than its parent {parent} has: {own} of {whole}");
        parts.push(own);
        parts[parent] -= own;
    }
    parts
}

/// How many of the 2^32 hashes belong to a group. Between powers of two, lower groups also take those of the
/// groups that do not exist yet.
pub(crate) fn part_of_hashes(group: u32, count: u32) -> u64 {
    assert!(group < count, "a group has hashes if its pool has the group: {group} of {count}");
    let top = u64::from(count).next_power_of_two();
    let each = (1u64 << 32) / top;
    let upper = u64::from(group) + top / 2;
    let takes_upper = u64::from(group) < top / 2 && upper >= u64::from(count);
    if takes_upper { 2 * each } else { each }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hashes_fall_to_some_group() {
        for count in [1, 2, 3, 5, 8, 12, 100, 1 << 20] {
            let sum: u64 = (0..count).map(|group| part_of_hashes(group, count)).sum();
            assert_eq!(sum, 1 << 32, "{count} groups");
        }
    }

    #[test]
    #[should_panic(expected = "a group has hashes if its pool has the group: 8 of 8")]
    fn a_group_that_no_pool_has_breaks_a_law() {
        part_of_hashes(8, 8);
    }

    /// An amount that is another one each time it is asked for.
    #[test]
    #[should_panic(expected = "group 8 takes no more than its parent 0 has: 50 of 8")]
    fn a_child_that_takes_too_much_breaks_a_law() {
        let asked = std::cell::Cell::new(0);
        let amount = |_: &Group| {
            asked.set(asked.get() + 1);
            if asked.get() > 8 { 100 } else { 8 }
        };
        let pool = &crate::balance::tests::cluster().pools[0];
        let _ = parts_of(pool, 16, amount);
    }
}
