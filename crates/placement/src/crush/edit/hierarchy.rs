//! Adds, moves and removes items in the hierarchy, making missing buckets.

use super::weights::Sets;
use super::{EditError, Location, check_name, fixed_point};
use crate::crush::bucket::{Bucket, BucketError, BucketSpec, Shape};
use crate::crush::locate::parent_of;
use crate::crush::map::{ItemId, Map, id_of, slot_of};
use crate::crush::weight_sets;
use std::collections::BTreeSet;

impl Map {
    /// Adds an item at `location`, making the buckets that are missing. If the item is also elsewhere, it
    /// stays there.
    pub fn add_item(
        &mut self,
        item: ItemId,
        weight: f32,
        name: &str,
        location: &Location,
    ) -> Result<(), EditError> {
        self.insert(item, weight, name, location, Sets::Follow)
    }

    /// Changes the weight or name of an item at `location`; an item that is elsewhere is moved there.
    pub fn update_item(
        &mut self,
        item: ItemId,
        weight: f32,
        name: &str,
        location: &Location,
    ) -> Result<(), EditError> {
        check_name(name)?;
        check_location(location)?;
        let fixed = fixed_point(weight)?;
        let Some(present) = self.weight_at(item, location) else {
            if self.item_names.contains_key(&item) {
                self.unlink(item)?;
            }
            return self.insert(item, weight, name, location, Sets::Follow);
        };
        if present != fixed {
            self.adjust_weight_at(item, fixed, location, Sets::Follow);
            self.rebuild_shadows()?;
        }
        // As in Ceph, even if another item has the name.
        self.item_names.insert(item, name.to_owned());
        Ok(())
    }

    /// Moves an item to `location`, with its weight.
    pub fn move_item(&mut self, name: &str, location: &Location) -> Result<(), EditError> {
        let item = self.named(name)?;
        if location.is_empty() {
            return Err(EditError::NoPlace { name: name.to_owned() });
        }
        if self.weight_at(item, location).is_some() {
            let place: Vec<String> =
                location.iter().map(|(kind, bucket)| format!("{kind}={bucket}")).collect();
            return Err(EditError::AlreadyThere { name: name.to_owned(), place: place.join(",") });
        }
        if item < 0 {
            return self.move_bucket(item, location);
        }
        check_name(name)?;
        let mut weight = 0.0;
        if let Some(held) = self.first_weight(item) {
            weight = held as i32 as f32 / 65_536.0;
            self.unlink(item)?;
        }
        self.insert(item, weight, name, location, Sets::Follow)
    }

    /// Makes an empty bucket, at `location` if that is not empty.
    pub fn create_bucket(&mut self, name: &str, kind: &str, location: &Location) -> Result<(), EditError> {
        if let Some(id) = self.item_id(name) {
            return Err(EditError::NameTaken { name: name.to_owned(), id });
        }
        let number = self.type_id(kind).filter(|&number| number > 0);
        let number = number.ok_or_else(|| EditError::NoType { name: kind.to_owned() })?;
        check_name(name)?;
        let id = self.new_bucket(number, None)?;
        self.item_names.insert(id, name.to_owned());
        if location.is_empty() || self.weight_at(id, location).is_some() {
            return Ok(());
        }
        self.move_bucket(id, location)
    }

    /// Refuses a location whose missing buckets crushtool cannot make: it reserves as many weight sets for a
    /// new bucket as the bucket has items, one, and writes as many as the others have. With more it
    /// overwrites its memory, and crashes or writes a wrong map. The changes themselves make the sets that
    /// Ceph means to make.
    pub fn check_new_buckets(&self, location: &Location) -> Result<(), EditError> {
        let mut types = self.type_names.iter().filter(|(id, _)| **id != 0);
        let inner = types.find_map(|(_, kind)| Some((kind, location.get(kind)?)));
        let Some((kind, bucket)) = inner.filter(|(_, bucket)| self.item_id(bucket).is_none()) else {
            return Ok(());
        };
        let mut sets = self.choose_args.iter().map(|(&index, args)| (index, weight_sets::positions(args)));
        match sets.find(|&(_, positions)| positions > 1) {
            Some((index, positions)) => {
                Err(EditError::NewBucketSets { bucket: bucket.clone(), kind: kind.clone(), index, positions })
            }
            None => Ok(()),
        }
    }

    /// Removes an item from every bucket, and all data about it. A bucket must be empty, and no rule may
    /// start from it.
    pub fn remove_item(&mut self, name: &str) -> Result<(), EditError> {
        let item = self.named(name)?;
        self.check_shadow_sets()?;
        if item < 0 {
            let bucket = self.bucket(item).ok_or_else(|| EditError::NoItem { name: name.to_owned() })?;
            let items = bucket.items.len();
            if items > 0 {
                return Err(EditError::NotEmpty { name: name.to_owned(), items });
            }
            if self.is_in_use(item) {
                return Err(EditError::InUse { name: name.to_owned() });
            }
        }
        self.take_out_everywhere(item);
        if self.is_held(item) || (item < 0 && self.is_in_use(item)) {
            return Ok(());
        }
        if let Some(slot) = slot_of(item) {
            self.buckets[slot] = None;
            self.forget_bucket(item);
            weight_sets::normalize(self);
        } else {
            self.item_names.remove(&item);
            self.item_classes.remove(&item);
        }
        self.rebuild_shadows_if_possible()
    }

    /// Removes an item from every bucket; its class stays, and so does a bucket's name.
    fn unlink(&mut self, item: ItemId) -> Result<(), EditError> {
        self.check_shadow_sets()?;
        self.take_out_everywhere(item);
        if self.is_held(item) || (item < 0 && self.is_in_use(item)) {
            return Ok(());
        }
        if item >= 0 {
            self.item_names.remove(&item);
        }
        self.rebuild_shadows_if_possible()
    }

    fn take_out_everywhere(&mut self, item: ItemId) {
        for slot in 0..self.buckets.len() {
            let bucket = id_of(slot);
            let mut position = 0;
            while let Some(&held) = self.bucket(bucket).and_then(|bucket| bucket.items.get(position)) {
                if held == item {
                    self.adjust_weight_in(item, 0, bucket, Sets::Follow);
                    self.take_out_of(bucket, item);
                }
                // Of two adjacent equal items, Ceph skips the second.
                position += 1;
            }
        }
    }

    fn take_out_of(&mut self, bucket: ItemId, item: ItemId) {
        let version = self.tunables.straw_calc_version;
        let Some(inner) = self.bucket_mut(bucket) else { return };
        let Some(position) = inner.items.iter().position(|&held| held == item) else { return };
        inner.take_out(position, version);
        weight_sets::remove_item(self, bucket, position);
    }

    fn move_bucket(&mut self, id: ItemId, location: &Location) -> Result<(), EditError> {
        let name = self.name_or_number(id);
        let weight = self.bucket(id).map_or(0, |bucket| bucket.weight);
        if let Some(parent) = parent_of(self, id) {
            self.adjust_weight_in(id, 0, parent, Sets::Follow);
            self.take_out_of(parent, id);
        }
        // Through single precision, as in Ceph.
        self.insert(id, weight as f32 / 65_536.0, &name, location, Sets::Stay)
    }

    fn insert(
        &mut self,
        item: ItemId,
        weight: f32,
        name: &str,
        location: &Location,
        sets: Sets,
    ) -> Result<(), EditError> {
        check_name(name)?;
        check_location(location)?;
        let weight = fixed_point(weight)?;
        match self.item_id(name) {
            Some(id) if id != item => return Err(EditError::NameTaken { name: name.to_owned(), id }),
            Some(_) => {}
            None => {
                self.item_names.insert(item, name.to_owned());
            }
        }
        self.check_shadow_sets()?;
        self.link(item, name, location)?;
        let sets = if item >= 0 { sets } else { Sets::Stay };
        if !self.adjust_weight_at(item, weight, location, sets) {
            return Err(EditError::NoPlace { name: name.to_owned() });
        }
        self.max_devices = self.max_devices.max(item.saturating_add(1));
        self.rebuild_shadows()
    }

    /// Adds an item, still without weight, to the innermost bucket of the location; missing buckets are made
    /// and added to the next outer one.
    fn link(&mut self, item: ItemId, name: &str, location: &Location) -> Result<(), EditError> {
        let mut inner = item;
        let types: Vec<(i32, String)> = self
            .type_names
            .iter()
            .filter(|(id, _)| **id != 0)
            .map(|(&id, name)| (id, name.clone()))
            .collect();
        for (kind, kind_name) in types {
            let Some(bucket_name) = location.get(&kind_name) else { continue };
            let Some(id) = self.item_id(bucket_name) else {
                inner = self.new_bucket(kind, Some(inner))?;
                self.item_names.insert(inner, bucket_name.clone());
                continue;
            };
            let Some(bucket) = self.bucket(id) else {
                return Err(EditError::NotABucket { name: bucket_name.clone() });
            };
            let item_name = || self.item_names.get(&inner).cloned().unwrap_or_else(|| name.to_owned());
            if self.contains(id, inner) {
                return Err(EditError::AlreadyBelow { name: item_name(), bucket: bucket_name.clone() });
            }
            if i32::from(bucket.kind) != kind {
                let is = self.type_names.get(&i32::from(bucket.kind)).cloned();
                let is = is.unwrap_or_else(|| format!("type{}", bucket.kind));
                return Err(EditError::OtherType { bucket: bucket_name.clone(), is, asked: kind_name });
            }
            if self.contains(inner, id) {
                return Err(EditError::Loop { name: item_name(), bucket: bucket_name.clone() });
            }
            return self.append(id, inner);
        }
        Ok(())
    }

    fn append(&mut self, bucket: ItemId, item: ItemId) -> Result<(), EditError> {
        let version = self.tunables.straw_calc_version;
        let name = self.name_or_number(bucket);
        let inner = self.bucket_mut(bucket).expect("the caller found it");
        inner.push(item, 0, version).map_err(|why| match (why, &inner.shape) {
            (BucketError::UniformMixed, &Shape::Uniform { item_weight }) => {
                let weight = (f64::from(item_weight) / 65_536.0).to_string();
                EditError::Uniform { bucket: name, weight }
            }
            (why, _) => EditError::Bucket { bucket: name, why },
        })?;
        weight_sets::add_item(self, bucket, item);
        Ok(())
    }

    /// A new bucket of the usual algorithm, empty or with one item without weight.
    fn new_bucket(&mut self, kind: i32, item: Option<ItemId>) -> Result<ItemId, EditError> {
        let alg = self.usual_alg()?;
        let free = self.buckets.iter().position(Option::is_none).unwrap_or(self.buckets.len());
        let id = id_of(free);
        let kind = u16::try_from(kind).map_err(|_| EditError::NoType { name: kind.to_string() })?;
        let straw_calc_version = self.tunables.straw_calc_version;
        let spec = BucketSpec { straw_calc_version, ..BucketSpec::new(id, kind, alg) };
        let items: Vec<ItemId> = item.into_iter().collect();
        let weights = vec![0; items.len()];
        let bucket = Bucket::new(spec, items, weights)
            .map_err(|why| EditError::Bucket { bucket: id.to_string(), why })?;
        weight_sets::add_bucket(self, &bucket);
        self.add_bucket(bucket).map_err(|_| EditError::BucketsFull)?;
        Ok(id)
    }

    /// Changes the weight of the item in the buckets of the location; returns whether any of them contains
    /// it.
    fn adjust_weight_at(&mut self, item: ItemId, weight: u32, location: &Location, sets: Sets) -> bool {
        let mut held = false;
        for name in location.values() {
            if let Some(bucket) = self.item_id(name).filter(|&id| self.bucket(id).is_some()) {
                held |= self.adjust_weight_in(item, weight, bucket, sets);
            }
        }
        held
    }

    /// The weight of an item in the innermost bucket of the location, if it is there.
    fn weight_at(&self, item: ItemId, location: &Location) -> Option<u32> {
        let mut types = self.type_names.iter().filter(|(id, _)| **id != 0);
        let name = types.find_map(|(_, kind)| location.get(kind))?;
        let bucket = self.bucket(self.item_id(name)?)?;
        let position = bucket.items.iter().position(|&held| held == item)?;
        Some(bucket.item_weight(position))
    }

    /// The weight of an item in the first bucket that contains it.
    fn first_weight(&self, item: ItemId) -> Option<u32> {
        self.each_bucket().find_map(|bucket| {
            let position = bucket.items.iter().position(|&held| held == item)?;
            Some(bucket.item_weight(position))
        })
    }

    fn is_held(&self, item: ItemId) -> bool {
        self.each_bucket().any(|bucket| bucket.items.contains(&item))
    }

    /// Whether `item` is `root` or below it.
    fn contains(&self, root: ItemId, item: ItemId) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![root]);
        while let Some(id) = open.pop() {
            if id == item {
                return true;
            }
            if let Some(bucket) = self.bucket(id).filter(|_| seen.insert(id)) {
                open.extend(&bucket.items);
            }
        }
        false
    }

    pub(super) fn bucket_mut(&mut self, id: ItemId) -> Option<&mut Bucket> {
        self.buckets.get_mut(slot_of(id)?)?.as_deref_mut()
    }
}

fn check_location(location: &Location) -> Result<(), EditError> {
    location.iter().try_for_each(|(kind, name)| check_name(kind).and_then(|()| check_name(name)))
}
