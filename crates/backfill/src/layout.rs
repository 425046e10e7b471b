//! The places of a group's objects in its order: a sorted table, drawn once, that many groups share.
//!
//! The hash of an object is drawn from the seed and its number. Groups share sixteen tables, so that a device
//! with hundreds of groups of a million objects each needs a hundred megabytes for tables and not gigabytes.
//! Which objects change is drawn separately for each group.

use towtank_replication::{Cursor, Key, Version};
use towtank_streams::{Seed, mix};

/// The most tables.
const TABLES_MAX: u32 = 16;

/// The tables of object positions.
#[derive(Clone, Debug)]
pub struct Layouts {
    /// Each table holds position and number of every object, packed and sorted.
    tables: Vec<Vec<u64>>,
    /// For each table, the seed of its hashes.
    seeds: Vec<u64>,
    objects: u32,
}

impl Layouts {
    /// Tables for `groups` groups of `objects` objects each.
    #[must_use]
    pub fn new(groups: u32, objects: u32, seed: Seed) -> Layouts {
        let seeds: Vec<u64> = (0..groups.clamp(1, TABLES_MAX))
            .map(|table| mix(seed.0 ^ 0x5bd1_e995_9d1b_58d5, u64::from(table) << 1 ^ 0xa54f_f53a_5f1d_36f1))
            .collect();
        let table = |seed: &u64| {
            let mut table: Vec<u64> =
                (0..objects).map(|id| u64::from(position(*seed, id.into())) << 32 | u64::from(id)).collect();
            table.sort_unstable();
            table
        };
        Layouts { tables: seeds.iter().map(table).collect(), seeds, objects }
    }

    /// The number of tables: group `g` uses table `g` modulo this number.
    #[must_use]
    pub fn tables(&self) -> u32 {
        self.tables.len() as u32
    }

    fn table(&self, group: u32) -> &[u64] {
        &self.tables[group as usize % self.tables.len()]
    }

    /// The key of an object of a group; ids beyond the table belong to objects created later.
    #[must_use]
    pub fn key(&self, group: u32, id: u64) -> Key {
        Key { position: position(self.seeds[group as usize % self.seeds.len()], id), id }
    }

    /// The version that an object had when its group was filled; none if it was not there.
    #[must_use]
    pub fn version(&self, group: u32, key: Key) -> Option<Version> {
        let known = key.id < u64::from(self.objects) && self.key(group, key.id) == key;
        known.then(|| Layouts::first_version(key.id))
    }

    /// The version of an object when its group was filled.
    #[must_use]
    pub(crate) fn first_version(id: u64) -> Version {
        Version { epoch: 1, counter: id + 1 }
    }

    /// The last version when a group was filled.
    #[must_use]
    pub fn last_version(&self) -> Version {
        Version { epoch: 1, counter: u64::from(self.objects) }
    }

    /// The objects from a key up to but not including a cursor, in order.
    pub fn range(&self, group: u32, from: Key, to: Cursor) -> impl Iterator<Item = Key> + '_ {
        let table = self.table(group);
        let first = table.partition_point(|packed| unpacked(*packed) < from);
        table[first..].iter().map(|packed| unpacked(*packed)).take_while(move |key| to.covers(*key))
    }

    /// The number of objects of a group when it was filled.
    #[must_use]
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// Bytes of the tables for this many groups and objects.
    #[must_use]
    pub fn memory(groups: u32, objects: u32) -> u64 {
        8 * u64::from(groups.clamp(1, TABLES_MAX)) * u64::from(objects)
    }
}

fn position(seed: u64, id: u64) -> u32 {
    // Consecutive numbers are spread over all bits first: the product of a small number has no high bits.
    (mix(id.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed, seed ^ 0x2545_f491_4f6c_dd1d) >> 32) as u32
}

fn unpacked(packed: u64) -> Key {
    Key { position: (packed >> 32) as u32, id: packed & u64::from(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_found_where_its_key_says() {
        let layouts = Layouts::new(40, 500, Seed(3));
        for group in [0, 7, 39] {
            let all: Vec<Key> = layouts.range(group, Key::MIN, Cursor::End).collect();
            assert_eq!(all.len(), 500);
            assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "in order");
            for key in &all {
                assert_eq!(layouts.key(group, key.id), *key);
                assert_eq!(layouts.version(group, *key), Some(Layouts::first_version(key.id)));
            }
            let part: Vec<Key> = layouts.range(group, all[100], Cursor::At(all[120])).collect();
            assert_eq!(part, all[100..120]);
            let made_later = layouts.key(group, 500);
            assert_eq!(layouts.version(group, made_later), None);
            let elsewhere = Key { position: all[3].position ^ 1, ..all[3] };
            assert_eq!(layouts.version(group, elsewhere), None);
        }
    }

    /// As many leaves are filled as by independent draws: a sum over a thousand tables would detect a
    /// deviation of 1 %.
    #[test]
    fn positions_are_spread_as_hashes_are() {
        let layouts = Layouts::new(16, 5_000, Seed(1));
        let filled = |group: u32| {
            let leaves = layouts.range(group, Key::MIN, Cursor::End).map(|key| key.position >> (32 - 14));
            leaves.collect::<std::collections::BTreeSet<u32>>().len()
        };
        let mean = (0..16).map(filled).sum::<usize>() as f64 / 16.0;
        let expected = towtank_merkle::sizing::distinct(16_384.0, 5_000.0);
        // The count of one table has a standard deviation of 23.
        assert!((mean - expected).abs() < 4.0 * 23.0 / 4.0, "{mean} leaves, {expected} expected");
    }
}
