//! The position of an item in the hierarchy: its parent bucket, that bucket's parent, and so on up to a root.

use super::map::{ItemId, Map};
use std::collections::BTreeMap;

/// The bucket that contains an item, ignoring shadows; of several, the one with the lowest slot.
pub(super) fn parent_of(map: &Map, item: ItemId) -> Option<ItemId> {
    map.each_bucket()
        .find(|bucket| bucket.items.contains(&item) && !is_shadow(map, bucket.id))
        .map(|bucket| bucket.id)
}

/// Whether a bucket is the shadow of another for one device class.
pub(super) fn is_shadow(map: &Map, id: ItemId) -> bool {
    id < 0 && map.item_names.get(&id).is_some_and(|name| name.contains('~'))
}

/// The buckets above an item, by the names of their types; of two with the same type, the inner one. Empty
/// for an item without a name in the map.
#[must_use]
pub fn location(map: &Map, item: ItemId) -> BTreeMap<String, String> {
    let mut around = BTreeMap::new();
    let mut at = item;
    while map.item_names.contains_key(&at)
        && let Some(parent) = parent_of(map, at)
    {
        let kind = map.bucket(parent).map_or(0, |bucket| i32::from(bucket.kind));
        let kind = map.type_names.get(&kind).cloned().unwrap_or_else(|| format!("type{kind}"));
        let name = map.item_names.get(&parent).cloned().unwrap_or_else(|| format!("bucket{}", -1 - parent));
        around.entry(kind).or_insert(name);
        at = parent;
    }
    around
}
