//! Where an item is in the hierarchy: the bucket that holds it, the one that holds that, and so on to a root.

use super::map::{ItemId, Map};
use std::collections::BTreeMap;

/// The bucket that holds an item; shadows are passed over. Of several, the one of the lowest slot.
pub(super) fn parent_of(map: &Map, item: ItemId) -> Option<ItemId> {
    map.each_bucket()
        .find(|bucket| bucket.items.contains(&item) && !is_shadow(map, bucket.id))
        .map(|bucket| bucket.id)
}

/// Whether a bucket is the shadow of another for one device class.
pub(super) fn is_shadow(map: &Map, id: ItemId) -> bool {
    id < 0 && map.item_names.get(&id).is_some_and(|name| name.contains('~'))
}

/// The buckets around an item, by the names of their types; of two of one type, the inner one.
/// Empty for an item that the map does not name.
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
