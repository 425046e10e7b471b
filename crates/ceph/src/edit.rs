//! Operators' changes to a cluster: devices out, weights, new hosts and removed items.

use std::collections::{BTreeMap, BTreeSet};

use towtank_placement::crush::ItemId;
use towtank_placement::crush::edit::EditError;
use towtank_placement::crush::pools::Device;

use crate::cluster::{Cluster, PoolState};
use crate::tree::{buckets_around, buckets_below, devices_below, takes};

/// A host to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewHost<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of its devices.
    pub count: u32,
    /// The weight of each device in the map.
    pub weight: f32,
    /// The class of the devices, if they have one.
    pub class: Option<&'a str>,
    /// The type and the name of the bucket that the host is added to.
    pub place: (String, String),
}

impl Cluster {
    /// The item with this name, or the device with this number: `h2`, `osd.3`, `3`.
    #[must_use]
    pub fn item(&self, name: &str) -> Option<ItemId> {
        let as_device = || {
            let digits = name.strip_prefix("osd.").unwrap_or(name);
            let id = digits.parse::<ItemId>().ok().filter(|id| *id >= 0)?;
            let held = || self.map.each_bucket().any(|bucket| bucket.items.contains(&id));
            (held() || self.device(id).is_some()).then_some(id)
        };
        self.map.item_id(name).or_else(as_device)
    }

    /// The name of an item's type in the map.
    #[must_use]
    pub fn type_of(&self, item: ItemId) -> &str {
        let own = self.map.bucket(item).map_or(0, |bucket| i32::from(bucket.kind));
        self.map.type_names.get(&own).map_or("", String::as_str)
    }

    /// The devices below an item, or the device itself.
    #[must_use]
    pub fn devices_below(&self, item: ItemId) -> Vec<ItemId> {
        devices_below(&self.map, item)
    }

    /// The devices among which a rule chooses.
    #[must_use]
    pub fn devices_of_rule(&self, rule: u32) -> BTreeSet<ItemId> {
        takes(&self.map, rule as usize).flat_map(|item| self.devices_below(item)).collect()
    }

    /// The buckets that directly hold an item of this type.
    #[must_use]
    pub fn buckets_around(&self, kind: i32) -> Vec<ItemId> {
        buckets_around(&self.map, kind)
    }

    /// The classes of the map's devices; none for those without one.
    #[must_use]
    pub fn classes(&self) -> Vec<Option<&String>> {
        let map = &self.map;
        let mut classes: Vec<Option<&String>> = (0..map.max_devices)
            .filter(|id| map.item_names.contains_key(id))
            .map(|id| map.item_classes.get(&id).and_then(|class| map.class_names.get(class)))
            .collect();
        classes.sort();
        classes.dedup();
        classes
    }

    /// The state of a device, for changes; none if the osd dump lacks it.
    pub fn device_mut(&mut self, id: ItemId) -> Option<&mut Device> {
        let at = usize::try_from(id).ok()?;
        self.overlay.devices.get_mut(at).filter(|device| device.exists)
    }

    /// Changes the weight of a device in the map, and those of the buckets around it.
    ///
    /// # Errors
    /// If the map rejects the change.
    pub fn crush_reweight(&mut self, device: ItemId, weight: f32) -> Result<String, EditError> {
        let name = self.named(device);
        self.map.reweight_item(&name, weight)?;
        self.map.finalize();
        Ok(name)
    }

    /// The name of a device; if it has none, it gets the usual one.
    fn named(&mut self, device: ItemId) -> String {
        self.map.item_names.entry(device).or_insert_with(|| format!("osd.{device}")).clone()
    }

    /// Removes devices from the cluster and the map, then the buckets around them. Buckets from which rules
    /// start stay, empty.
    ///
    /// # Errors
    /// If the map rejects the change.
    pub fn remove(&mut self, top: ItemId) -> Result<(), EditError> {
        let devices = self.devices_below(top);
        let buckets = buckets_below(&self.map, top);
        for device in devices {
            let name = self.named(device);
            self.map.remove_item(&name)?;
            self.map.finalize();
            if let Some(state) = usize::try_from(device).ok().and_then(|at| self.overlay.devices.get_mut(at))
            {
                *state = Device::ABSENT;
            }
        }
        for bucket in buckets.into_iter().rev() {
            let Some(name) = self.map.item_names.get(&bucket).cloned() else { continue };
            self.map.finalize();
            match self.map.remove_item(&name) {
                Err(EditError::InUse { .. }) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        self.map.finalize();
        Ok(())
    }

    /// Adds a host with devices that are in; their ids follow all others. Returns these ids.
    ///
    /// # Errors
    /// If the map rejects the change.
    pub fn add_host(&mut self, host: &NewHost<'_>) -> Result<Vec<ItemId>, EditError> {
        let first = self.map.max_devices.max(self.overlay.devices.len() as ItemId);
        let location = BTreeMap::from([("host".to_owned(), host.name.to_owned()), host.place.clone()]);
        let new: Vec<ItemId> = (first..first + host.count as ItemId).collect();
        for &device in &new {
            if let Some(class) = host.class {
                let class = self.map.class_id_or_new(class);
                self.map.item_classes.insert(device, class);
            }
            self.map.add_item(device, host.weight, &format!("osd.{device}"), &location)?;
            // Each is a command of its own, after which Ceph writes and reads the map.
            self.map.finalize();
            self.overlay.devices.resize(device as usize + 1, Device::ABSENT);
            self.overlay.devices[device as usize] = Device::IN;
        }
        self.map.finalize();
        Ok(new)
    }
}

impl PoolState {
    /// Sets the number of groups to `count`, keeping `pgp_num` unless it would exceed `count`. Returns
    /// whether it had to be lowered.
    pub fn set_pg_num(&mut self, count: u32) -> bool {
        let pool = &mut self.placed;
        pool.pg_num = count;
        let follows = pool.pgp_num > count;
        pool.pgp_num = pool.pgp_num.min(count);
        follows
    }
}
