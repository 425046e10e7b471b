//! How many bytes of objects can still be written before the first device is full.
//!
//! As with Ceph's MAX AVAIL, the first full device ends it. Unlike MAX AVAIL, which takes weights for the
//! shares of devices, this takes the groups where they are: a pool grows evenly over its groups, so a device
//! grows with its part of them. Overheads beyond the bytes of objects are taken not to grow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_placement::crush::ItemId;

use super::spread::{Load, Placed, Spread};

/// How pools grow: the part of each in a byte that is written.
pub type Mix = Vec<f64>;

/// What ends the growth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// Bytes of objects that fit; 0 if a device is full already.
    pub bytes: f64,
    /// The device that is full then; none if nothing grows.
    pub device: Option<ItemId>,
}

impl Spread {
    /// Growth of one pool alone.
    #[must_use]
    pub fn alone(&self, pool: usize) -> Mix {
        (0..self.pools.len()).map(|at| f64::from(u8::from(at == pool))).collect()
    }

    /// Growth of all pools in proportion to their bytes; nothing if nothing is stored.
    #[must_use]
    pub fn in_proportion(&self) -> Option<Mix> {
        let sum: u64 = self.pools.iter().map(|pool| pool.bytes).sum();
        (sum > 0).then(|| self.pools.iter().map(|pool| pool.bytes as f64 / sum as f64).collect())
    }
}

/// What each device grows by if one byte is written.
#[must_use]
pub(super) fn growths<'a>(groups: impl IntoIterator<Item = &'a Placed>, mix: &Mix) -> BTreeMap<ItemId, f64> {
    let mut growths = BTreeMap::new();
    for group in groups {
        let growth = group.growth * mix[group.pool];
        if growth > 0.0 {
            group.held().for_each(|id| *growths.entry(id).or_default() += growth);
        }
    }
    growths
}

/// Bytes that fit until this device is full; negative if it is over the limit.
#[must_use]
pub(super) fn until_full(load: &Load, bytes: f64, growth: f64, full: f64) -> f64 {
    (full * load.capacity - load.overhead - bytes) / growth
}

/// Bytes that fit, with groups where the map puts them.
#[must_use]
pub fn room(spread: &Spread, mix: &Mix) -> Room {
    let growths = growths(&spread.groups, mix);
    let full = spread.limits.full;
    let of = |(id, growth): (&ItemId, &f64)| {
        let load = spread.devices.get(id)?;
        Some((*id, until_full(load, load.bytes as f64, *growth, full)))
    };
    let least = growths.iter().filter_map(of).reduce(|best, next| if next.1 < best.1 { next } else { best });
    match least {
        Some((id, bytes)) => Room { bytes: bytes.max(0.0), device: Some(id) },
        None => Room { bytes: 0.0, device: None },
    }
}
