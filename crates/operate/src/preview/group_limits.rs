//! How many groups Ceph allows on a device (`mon_max_pg_per_osd`): what it refuses, and which devices come
//! above it.

use std::collections::BTreeMap;

use towtank_ceph::PoolState;
use towtank_placement::crush::ItemId;

use super::case::Case;
use super::moves::{DeviceMoves, Moves};

/// What comes before the finding where Ceph refuses a change.
pub(crate) const REFUSED: &str = "Ceph refuses this change: see `because`. If it did not: ";

/// Pools whose new `pg_num` the monitors refuse, in words: the devices that are in, among which the rule of
/// the pool chooses, would have more groups on average than is allowed.
pub(super) fn refused(case: &Case, devices: &BTreeMap<ItemId, DeviceMoves>) -> Vec<String> {
    let pools = case.before.pools.iter().zip(&case.after.pools);
    let raised = pools.filter(|(before, after)| after.placed.pg_num > before.placed.pg_num);
    raised.filter_map(|(_, pool)| too_many(case, pool, devices)).collect()
}

fn too_many(case: &Case, pool: &PoolState, devices: &BTreeMap<ItemId, DeviceMoves>) -> Option<String> {
    let cluster = &case.after;
    let is_in = |id: &ItemId| cluster.device(*id).is_some_and(|device| device.weight > 0);
    let chosen: Vec<ItemId> = cluster.devices_of_rule(pool.placed.rule).into_iter().filter(is_in).collect();
    let shards: u64 = chosen.iter().filter_map(|id| devices.get(id)).map(|device| device.target_shards).sum();
    let max = case.groups_max;
    // Ceph compares whole numbers: 250.9 is not above 250.
    let mean = shards.checked_div(chosen.len() as u64)?;
    (mean > u64::from(max)).then(|| {
        let (groups, name) = (pool.placed.pg_num, &pool.name);
        format!(
            "Ceph refuses `pg_num` {groups} of pool `{name}`: devices would have {mean} groups on average, above \
             `mon_max_pg_per_osd` ({max}, unless it was raised)"
        )
    })
}

/// Devices that come above the limit, or get further above it, in words.
pub(super) fn crowded(moves: &Moves) -> Option<String> {
    let max = u64::from(moves.safety.groups_max);
    let is_crowded =
        |device: &&DeviceMoves| device.target_shards > max && device.target_shards > device.present_shards;
    let crowded = || moves.devices.values().filter(is_crowded).filter(|_| max > 0);
    let worst = crowded().max_by_key(|device| device.target_shards)?;
    let more = match crowded().count() - 1 {
        0 => String::new(),
        more => format!(", and {more} more above it"),
    };
    Some(format!(
        "{} would have {} groups, above `mon_max_pg_per_osd` ({max} by default){more}",
        worst.name, worst.target_shards
    ))
}
