//! Copies, or shards of an erasure code: how many there are, and how many it takes.

/// How objects are kept safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundancy {
    /// What is needed to read: 1 copy, or k shards.
    pub data: u32,
    /// Copies or shards in all.
    pub width: u32,
}

impl Redundancy {
    /// Fewer than that, and the object takes no writes: Ceph's defaults. Of copies, all but half of them,
    /// rounded down (`osd_pool_default_min_size` = 0); of k+m shards, k + min(1, m - 1)
    /// (`OSDMonitor::prepare_pool_size`), so that k are enough where m is 1.
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
