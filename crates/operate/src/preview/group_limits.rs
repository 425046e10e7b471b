//! How many groups Ceph allows on devices (`mon_max_pg_per_osd`): what it refuses.

use towtank_ceph::PoolState;
use towtank_placement::crush::ItemId;

use super::case::Case;

/// What comes before the finding where Ceph refuses a change.
pub(crate) const REFUSED: &str = "Ceph refuses this change: see `because`. If it did not: ";

/// Pools whose new `pg_num` the monitors refuse, in words: the devices that are in, among which the rule of
/// the pool chooses, would have more groups on average than is allowed. `shards` are the copies and shards on
/// a device then.
pub(super) fn refused(case: &Case, shards: &dyn Fn(ItemId) -> u64) -> Vec<String> {
    let pools = case.before.pools.iter().zip(&case.after.pools);
    let raised = pools.filter(|(before, after)| after.placed.pg_num > before.placed.pg_num);
    raised.filter_map(|(_, pool)| too_many(case, pool, shards)).collect()
}

fn too_many(case: &Case, pool: &PoolState, shards: &dyn Fn(ItemId) -> u64) -> Option<String> {
    let cluster = &case.after;
    let is_in = |id: &ItemId| cluster.device(*id).is_some_and(|device| device.weight > 0);
    let chosen: Vec<ItemId> = cluster.devices_of_rule(pool.placed.rule).into_iter().filter(is_in).collect();
    let all: u64 = chosen.iter().map(|id| shards(*id)).sum();
    let max = case.groups_max;
    // Ceph compares whole numbers: 250.9 is not above 250.
    let mean = all.checked_div(chosen.len() as u64)?;
    (mean > u64::from(max)).then(|| {
        let (groups, name) = (pool.placed.pg_num, &pool.name);
        format!(
            "Ceph refuses `pg_num` {groups} of pool `{name}`: devices would have {mean} groups on average, above \
             `mon_max_pg_per_osd` ({max}, unless it was raised)"
        )
    })
}
