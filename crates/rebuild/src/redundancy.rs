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
    pub fn min_size(self) -> u32 {
        let spare = self.width - self.data;
        if self.data == 1 { self.width - self.width / 2 } else { self.data + spare.saturating_sub(1).min(1) }
    }
}
