//! Where the objects of a group lie in its order: a sorted table, drawn once, that many groups share.
//!
//! The hash of an object is drawn from the seed and its number. Groups of one size have sixteen tables among
//! them, so that a device of hundreds of groups with a million objects each needs tables of a hundred
//! megabytes and not of gigabytes; which objects change is drawn for each group by itself.

use towtank_replication::{Cursor, Key, Version};
use towtank_streams::{Seed, mix};

/// Tables at most.
const TABLES_MAX: u32 = 16;

/// The tables.
#[derive(Clone, Debug)]
pub struct Layouts {
    /// In each, position and number of every object, packed and sorted.
    tables: Vec<Vec<u64>>,
    /// For each table, the key of its hashes.
    seeds: Vec<u64>,
    objects: u32,
}

impl Layouts {
    /// For so many groups of so many objects.
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

    /// How many tables there are: group `g` has that of `g` modulo as many.
    #[must_use]
    pub fn tables(&self) -> u32 {
        self.tables.len() as u32
    }

    fn table(&self, group: u32) -> &[u64] {
        &self.tables[group as usize % self.tables.len()]
    }

    /// The key of an object of a group; numbers past those of the table are of objects that were made later.
    #[must_use]
    pub fn key(&self, group: u32, id: u64) -> Key {
        Key { position: position(self.seeds[group as usize % self.seeds.len()], id), id }
    }

    /// The version that an object has had since before anything happened.
    #[must_use]
    pub fn version(&self, group: u32, key: Key) -> Option<Version> {
        let known = key.id < u64::from(self.objects) && self.key(group, key.id) == key;
        known.then(|| Layouts::first_version(key.id))
    }

    /// The version of an object when its group was filled.
    #[must_use]
    pub fn first_version(id: u64) -> Version {
        Version { epoch: 1, counter: id + 1 }
    }

    /// The last version when the group was filled.
    #[must_use]
    pub fn last_version(&self) -> Version {
        Version { epoch: 1, counter: u64::from(self.objects) }
    }

    /// The objects from a key to before a cursor, in order.
    pub fn range(&self, group: u32, from: Key, to: Cursor) -> impl Iterator<Item = Key> + '_ {
        let table = self.table(group);
        let first = table.partition_point(|packed| unpacked(*packed) < from);
        table[first..].iter().map(|packed| unpacked(*packed)).take_while(move |key| to.covers(*key))
    }

    /// Objects of a group when it was filled.
    #[must_use]
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// Bytes that tables for such groups take.
    #[must_use]
    pub fn memory(groups: u32, objects: u32) -> u64 {
        8 * u64::from(groups.clamp(1, TABLES_MAX)) * u64::from(objects)
    }
}

fn position(seed: u64, id: u64) -> u32 {
    // Numbers that follow each other are spread over all bits first: a product of a small number has none
    // above.
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

    /// As many leaves are filled as by independent draws: the sum of a thousand tables would notice 1 % more
    /// or less.
    #[test]
    fn positions_are_spread_as_hashes_are() {
        let layouts = Layouts::new(16, 5_000, Seed(1));
        let filled = |group: u32| {
            let leaves = layouts.range(group, Key::MIN, Cursor::End).map(|key| key.position >> (32 - 14));
            leaves.collect::<std::collections::BTreeSet<u32>>().len()
        };
        let mean = (0..16).map(filled).sum::<usize>() as f64 / 16.0;
        let expected = towtank_merkle::sizing::distinct(16_384.0, 5_000.0);
        // One table's count has a standard deviation of 23.
        assert!((mean - expected).abs() < 4.0 * 23.0 / 4.0, "{mean} leaves, {expected} expected");
    }
}
