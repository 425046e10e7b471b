//! Queries on the buckets of a map: parents, descendants, and names.

use std::collections::BTreeMap;

use towtank_placement::crush::{ItemId, Map, Step};

/// Whether a bucket belongs to a shadow tree, which Ceph keeps for a device class.
fn is_shadow(map: &Map, bucket: ItemId) -> bool {
    map.item_names.get(&bucket).is_some_and(|name| name.contains('~'))
}

/// The bucket that holds each item; shadow trees are skipped.
#[must_use]
pub fn parents(map: &Map) -> BTreeMap<ItemId, ItemId> {
    let mut parents = BTreeMap::new();
    for bucket in map.each_bucket().filter(|bucket| !is_shadow(map, bucket.id)) {
        for &item in &bucket.items {
            parents.entry(item).or_insert(bucket.id);
        }
    }
    parents
}

/// The name of an item of the map.
#[must_use]
pub fn item_name(map: &Map, item: ItemId) -> String {
    map.item_names.get(&item).cloned().unwrap_or_else(|| match item {
        0.. => format!("osd.{item}"),
        _ => format!("bucket {item}"),
    })
}

/// A list of devices for messages: the first few by name.
#[must_use]
pub fn device_list(ids: &[i32]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = ids.iter().take(SHOWN).map(|id| format!("osd.{id}")).collect();
    match ids.len() {
        0..=SHOWN => names.join(", "),
        all => format!("{} and {} more", names.join(", "), all - SHOWN),
    }
}

/// The devices below an item, or the device itself, in the order of the map.
pub(crate) fn devices_below(map: &Map, top: ItemId) -> Vec<ItemId> {
    let mut devices = Vec::new();
    let mut open = vec![top];
    while let Some(item) = open.pop() {
        match map.bucket(item) {
            Some(bucket) => open.extend(bucket.items.iter().rev()),
            None => devices.push(item),
        }
    }
    devices.dedup();
    devices
}

/// The items where a rule begins.
pub(crate) fn takes(map: &Map, rule: usize) -> impl Iterator<Item = ItemId> {
    let steps = map.rule(rule).map(|rule| rule.steps.as_slice()).unwrap_or_default();
    steps.iter().filter_map(|step| if let Step::Take(item) = step { Some(*item) } else { None })
}

/// The buckets below an item, including itself, each after the one that holds it.
pub(crate) fn buckets_below(map: &Map, top: ItemId) -> Vec<ItemId> {
    let mut buckets = Vec::new();
    let mut open = vec![top];
    while let Some(item) = open.pop() {
        if let Some(bucket) = map.bucket(item) {
            buckets.push(item);
            open.extend(&bucket.items);
        }
    }
    buckets
}

/// The buckets that hold an item of this type; shadow trees are skipped.
pub(crate) fn buckets_around(map: &Map, kind: i32) -> Vec<ItemId> {
    let is_one = |item: &ItemId| map.bucket(*item).is_some_and(|bucket| i32::from(bucket.kind) == kind);
    let around =
        map.each_bucket().filter(|bucket| !is_shadow(map, bucket.id) && bucket.items.iter().any(is_one));
    around.map(|bucket| bucket.id).collect()
}
