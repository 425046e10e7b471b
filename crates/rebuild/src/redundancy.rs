//! Copies, or shards of an erasure code: how many there are, and how many a read needs.

/// The redundancy of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundancy {
    /// Needed for a read: 1 copy, or k shards.
    pub data: u32,
    /// Copies or shards in total.
    pub width: u32,
}

impl Redundancy {
    /// The least number of copies or shards with which an object accepts writes, by Ceph's defaults. Of
    /// copies, all but half of them, rounded down (`osd_pool_default_min_size` = 0); of k+m shards, k +
    /// min(1, m - 1) (`OSDMonitor::prepare_pool_size`), so that k are enough where m is 1.
    #[must_use]
    ///
    /// # Panics
    /// When reading takes nothing, or more than there is.
    pub fn min_size(self) -> u32 {
        let Redundancy { data, width } = self;
        assert!(data > 0, "an object is read from no copy at all");
        assert!(data <= width, "an object of {width} shards is read from {data}");
        let spare = width - data;
        let least = if data == 1 { width - width / 2 } else { data + spare.saturating_sub(1).min(1) };
        assert!((data..=width).contains(&least), "{least} of {width} shards take writes, and {data} reads");
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(data: u32, width: u32, want: u32) {
        let redundancy = Redundancy { data, width };
        assert_eq!(redundancy.min_size(), want, "{data} of {width}");
    }

    /// The values of Ceph's monitors.
    #[test]
    fn defaults_are_those_of_ceph() {
        for (width, want) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            check(1, width, want);
        }
        for (data, width, want) in [(2, 3, 2), (4, 6, 5), (8, 11, 9), (8, 12, 9), (6, 6, 6)] {
            check(data, width, want);
        }
    }

    /// An object that accepts writes can be read, and one more copy or shard never lowers the minimum.
    #[test]
    fn what_takes_writes_can_be_read() {
        for data in 1..20 {
            let least = |width| Redundancy { data, width }.min_size();
            for width in data..40 {
                assert!((data..=width).contains(&least(width)), "{data} of {width}");
                assert!(least(width) <= least(width + 1), "{data} of {width}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "an object of 3 shards is read from 4")]
    fn fewer_shards_than_data_are_refused() {
        let _ = Redundancy { data: 4, width: 3 }.min_size();
    }
}
