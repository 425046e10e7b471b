//! The usage of devices where no export states it. A report has the size of each device and the usage of all
//! devices together.
//!
//! The data of objects are taken to lie where the map places the groups, in proportion to the groups' bytes.
//! What daemons use for themselves is divided equally, since their databases and journals have a size of
//! their own.

use std::collections::BTreeMap;

use towtank_imports::ceph::{DeviceUse, Report};
use towtank_placement::crush::NONE;

use crate::cluster::Cluster;
use crate::laid_out::LaidOut;

/// The usage of each device whose size the report has; none if the report lacks the sum, or the size of a
/// device that holds data, or the map is invalid.
pub(crate) fn estimated(cluster: &Cluster, report: &Report) -> Option<BTreeMap<i32, DeviceUse>> {
    let sum = report.used?;
    let sizes: BTreeMap<i32, u64> =
        report.sizes.iter().copied().filter(|(id, _)| cluster.device(*id).is_some()).collect();
    let held = held(cluster)?;
    let all: u64 = held.values().sum();
    if all == 0 || held.keys().any(|id| !sizes.contains_key(id)) {
        return None;
    }
    let meta = sum.meta_bytes / sizes.len() as u64;
    let used = |id: i32, size: u64| {
        let own = u128::from(held.get(&id).copied().unwrap_or(0));
        let data = own * u128::from(sum.data_bytes) / u128::from(all);
        let used = u64::try_from(data).unwrap_or(u64::MAX).saturating_add(meta);
        DeviceUse { id, size_bytes: size, used_bytes: used.min(size) }
    };
    Some(sizes.iter().map(|(&id, &size)| (id, used(id, size))).collect())
}

/// The bytes of the copies and shards that the map places on each device.
fn held(cluster: &Cluster) -> Option<BTreeMap<i32, u64>> {
    let mut laid_out = LaidOut::new(cluster).ok()?;
    let mut held = BTreeMap::new();
    for pool in &cluster.pools {
        for (seed, group) in (0..).zip(&pool.groups) {
            let each = group.bytes.div_ceil(u64::from(pool.data_shards));
            for id in laid_out.place(&pool.placed, seed).acting.devices {
                if id != NONE {
                    *held.entry(id).or_default() += each;
                }
            }
        }
    }
    Some(held)
}
