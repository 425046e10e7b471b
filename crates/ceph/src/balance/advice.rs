//! How many groups each pool should have: a power of two, so that each device holds about as many copies and
//! shards as Ceph aims at, divided among pools by their bytes.
//!
//! The aim is that of Ceph's autoscaler: `mon_target_pg_per_osd` shards on each device. A pool gets the part
//! of them that its bytes are of all bytes there. The autoscaler (`pg_autoscaler` of Ceph 14 to 16) takes the
//! part of the capacity instead, so it advises fewer groups while a cluster is empty; it divides by the bytes
//! that a byte takes (2 for two data and two parity shards), where this divides by the number of shards of a
//! group; and it acts only from a factor of 3. What users say of pools (`target_size_ratio`,
//! `pg_autoscale_bias`) is left out.

use serde::{Deserialize, Serialize};

use super::spread::Spread;

/// Fewest groups that are advised for a pool: the default of `osd_pool_default_pg_num` since Ceph 15.
pub const GROUPS_MIN: u32 = 32;

/// The advice for one pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Its name.
    pub pool: String,
    /// Its groups now.
    pub pg_num: u32,
    /// Copies or shards of a group.
    pub size: u32,
    /// The part of the bytes on its devices that are its own.
    pub share: f64,
    /// The number of groups that gives it exactly its share of the aim; nothing for an empty pool.
    pub target: Option<f64>,
    /// The power of two nearest to it, at least [`GROUPS_MIN`] or what the pool has, if that is less.
    pub advised: Option<u32>,
}

/// The advice for each pool, where `per_device` shards on each device are the aim.
#[must_use]
pub fn advice(spread: &Spread, per_device: u32) -> Vec<Advice> {
    let ideal = spread.ideal();
    let bytes = spread.bytes_of(&ideal);
    let mut found = Vec::new();
    for (pool, shards) in spread.pools.iter().zip(&ideal) {
        let each = pool.mean_shard();
        let part = |(id, count): (&i32, &f64)| {
            let all = bytes.get(id).copied().unwrap_or(0.0);
            if all > 0.0 { count * each / all } else { 0.0 }
        };
        let parts: f64 = shards.iter().map(part).sum();
        let devices = shards.values().filter(|count| **count > 0.0).count().max(1) as f64;
        let target = parts * f64::from(per_device) / f64::from(pool.size.max(1));
        let target = (target > 0.0).then_some(target);
        let advised = target.map(|target| nearest_power(target).max(GROUPS_MIN.min(pool.pg_num)));
        found.push(Advice {
            pool: pool.name.clone(),
            pg_num: pool.pg_num,
            size: pool.size,
            share: (parts / devices).clamp(0.0, 1.0),
            target,
            advised,
        });
    }
    found
}

/// The power of two nearest to a number; of two that are equally near, the greater.
#[must_use]
fn nearest_power(wanted: f64) -> u32 {
    let mut power = 1u32;
    while power < 1 << 30 && f64::from(power) * 1.5 <= wanted {
        power *= 2;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_power_of_two() {
        let cases = [(0.3, 1), (1.0, 1), (1.5, 2), (3.0, 4), (2.9, 2), (48.0, 64), (47.9, 32), (100.0, 128)];
        for (wanted, power) in cases {
            assert_eq!(nearest_power(wanted), power, "{wanted}");
        }
    }
}
