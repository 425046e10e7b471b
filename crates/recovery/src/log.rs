//! The log of a group of Ceph: how many writes it remembers.

/// The entries of a group's log, by the groups on a device: the defaults of
/// `osd_target_pg_log_entries_per_osd`, `osd_min_pg_log_entries` and `osd_max_pg_log_entries` of Ceph
/// 16.2.15, and the same since Ceph 14.
#[must_use]
pub fn entries(groups: u64) -> u64 {
    (300_000 / groups.max(1)).clamp(250, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300,000 entries for all groups of a device, and 250 to 10,000 for each.
    #[test]
    fn a_device_shares_its_entries_among_its_groups() {
        assert_eq!([0, 1, 30, 48, 1_200, 5_000].map(entries), [10_000, 10_000, 10_000, 6_250, 250, 250]);
    }
}
