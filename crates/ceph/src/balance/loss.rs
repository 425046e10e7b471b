//! The bytes that fit after the loss of a host: its devices are out, and CRUSH has placed again the groups
//! that were on them. The others stay: a device that CRUSH did not take for a group does not change its
//! result by being out. Explicit mappings that the monitors would drop then are dropped.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use towtank_placement::crush::{Fault, ItemId};

use super::room::{Mix, Room, until_full};
use super::spread::{Placed, Spread, real};
use crate::cluster::Cluster;
use crate::laid_out::LaidOut;
use crate::upmaps::Domains;

/// The cluster without one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The host.
    pub host: String,
    /// What fits, per mix that was asked for.
    pub rooms: Vec<Room>,
    /// Fill of the fullest device then, and the device.
    pub fill: Option<(f64, ItemId)>,
    /// Groups that are left with fewer devices than their pool asks for.
    pub groups_short: u64,
}

/// The loss of each host whose devices take data.
///
/// # Errors
/// The fault of an invalid map.
pub fn losses(cluster: &Cluster, spread: &Spread, mixes: &[Mix]) -> Result<Vec<Loss>, Fault> {
    let mut hosts: BTreeMap<&str, BTreeSet<ItemId>> = BTreeMap::new();
    for (id, load) in &spread.devices {
        if !load.host.is_empty() {
            hosts.entry(&load.host).or_default().insert(*id);
        }
    }
    hosts.retain(|_, devices| devices.iter().any(|id| spread.devices[id].effective > 0.0));
    if hosts.len() < 2 {
        return Ok(Vec::new());
    }
    let growths: Vec<BTreeMap<ItemId, f64>> =
        mixes.iter().map(|mix| super::room::growths(&spread.groups, mix)).collect();
    let base = cluster.without_groups();
    let mut domains = Domains::of(&cluster.map);
    let mut found = Vec::new();
    for (host, devices) in hosts {
        let mut after = base.clone();
        for &id in &devices {
            if let Some(device) = after.device_mut(id) {
                device.weight = 0;
            }
        }
        after.overlay.pg_temp.clear();
        let mut left = Left { spread, growths: growths.clone(), bytes: BTreeMap::new(), groups_short: 0 };
        let mut laid_out = LaidOut::new(&after)?;
        let touches = |group: &Placed| real(&group.raw).chain(group.held()).any(|id| devices.contains(&id));
        for group in &spread.groups {
            let short =
                |held: &[ItemId]| (real(held).count() as u64) < u64::from(spread.pools[group.pool].size);
            if !touches(group) {
                left.groups_short += u64::from(short(&group.up));
                continue;
            }
            let pool = &after.pools[group.pool].placed;
            let place = laid_out.place(pool, group.seed);
            let mapped = place.up.devices;
            // Mappings that break the rule are dropped, and CRUSH's own result is used.
            let target = if domains.allow(pool, &mapped) {
                mapped
            } else {
                real(&place.raw.devices).filter(|id| after.serves(*id)).collect()
            };
            left.groups_short += u64::from(short(&target));
            left.moves(group, &target, mixes);
        }
        devices.iter().for_each(|id| left.forget(*id));
        found.push(left.into_loss(host.to_owned()));
    }
    Ok(found)
}

struct Left<'a> {
    spread: &'a Spread,
    growths: Vec<BTreeMap<ItemId, f64>>,
    /// Bytes that devices gain and lose.
    bytes: BTreeMap<ItemId, i64>,
    groups_short: u64,
}

impl Left<'_> {
    fn moves(&mut self, group: &Placed, target: &[ItemId], mixes: &[Mix]) {
        for id in group.held() {
            *self.bytes.entry(id).or_default() -= group.shard as i64;
        }
        for id in real(target) {
            *self.bytes.entry(id).or_default() += group.shard as i64;
        }
        for (growths, mix) in self.growths.iter_mut().zip(mixes) {
            let growth = group.growth * mix[group.pool];
            group.held().for_each(|id| *growths.entry(id).or_default() -= growth);
            real(target).for_each(|id| *growths.entry(id).or_default() += growth);
        }
    }

    fn forget(&mut self, device: ItemId) {
        self.growths.iter_mut().for_each(|growths| {
            growths.remove(&device);
        });
        self.bytes.insert(device, i64::MIN);
    }

    fn into_loss(self, host: String) -> Loss {
        let spread = self.spread;
        let bytes = |id: &ItemId| match self.bytes.get(id) {
            Some(&i64::MIN) => None,
            more => {
                let held = spread.devices.get(id)?.bytes as f64;
                let left = held + more.copied().unwrap_or(0) as f64;
                // Of more than 2^53 bytes, floats tell a few less.
                assert!(
                    left >= -1e-9 * held,
                    "a device loses no more than it holds: {left} of {held} are left"
                );
                Some(left)
            }
        };
        let fill = |id: &ItemId| spread.devices.get(id)?.fill_with(bytes(id)?);
        let fills = spread.devices.keys().filter_map(|id| Some((fill(id)?, *id)));
        let fullest = fills.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let room = |growths: &BTreeMap<ItemId, f64>| {
            let grows = growths.iter().filter(|(_, growth)| **growth > 1e-15);
            let rooms = grows.filter_map(|(id, growth)| {
                let load = spread.devices.get(id)?;
                Some((until_full(load, bytes(id)?, *growth, spread.limits.full), *id))
            });
            match rooms.reduce(|best, next| if next.0 < best.0 { next } else { best }) {
                Some((room, id)) => Room { bytes: room.max(0.0), device: Some(id) },
                None => Room { bytes: 0.0, device: None },
            }
        };
        let rooms = self.growths.iter().map(room).collect();
        Loss { host, rooms, fill: fullest, groups_short: self.groups_short }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cluster, spread};
    use super::*;

    #[test]
    #[should_panic(expected = "a device loses no more than it holds")]
    fn a_device_that_loses_what_it_never_held_breaks_a_law() {
        let spread = spread(&cluster());
        let bytes = BTreeMap::from([(0, -1_000_000)]);
        let left = Left { spread: &spread, growths: Vec::new(), bytes, groups_short: 0 };
        left.into_loss("h0".to_owned());
    }
}
