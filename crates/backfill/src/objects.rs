//! The objects of a replica. Objects unchanged since the group was filled are computed; changed ones are
//! kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_replication::objects::Size;
use towtank_replication::{Cursor, DeviceId, Key, Listed, Objects, Version};

use crate::layout::Layouts;

/// The changes of one replica since its group was filled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Overlay {
    /// Objects that changed, in order; `None` means deleted.
    #[serde(with = "towtank_units::pairs")]
    changed: BTreeMap<Key, Option<(Version, u64)>>,
    /// Temporary objects.
    #[serde(with = "towtank_units::pairs")]
    staged: BTreeMap<Key, u64>,
    /// Bytes of all objects, less those when the group was filled.
    grown: i64,
}

impl Overlay {
    /// The number of objects that differ from the filled group.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changed.len()
    }

    /// Whether no object differs from the filled group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }
}

/// A replica's objects: those of its group's table, with its changes.
#[derive(Debug)]
pub struct View<'a> {
    /// The positions of objects.
    pub layouts: &'a Layouts,
    /// The group of the replica.
    pub group: u32,
    /// Bytes that a replica held of each object when the group was filled.
    pub object_bytes: u64,
    /// The changes.
    pub overlay: &'a mut Overlay,
}

impl View<'_> {
    fn change(&mut self, key: Key, to: Option<(Version, u64)>) {
        let before = self.look_up(key).map_or(0, |listed| listed.size);
        let after = to.map_or(0, |(_, size)| size);
        self.overlay.grown += after.cast_signed() - before.cast_signed();
        // An object as in the filled group, or one deleted that is not in the table, needs no entry.
        let first = self.layouts.version(self.group, key).map(|version| (version, self.object_bytes));
        if to == first {
            self.overlay.changed.remove(&key);
        } else {
            self.overlay.changed.insert(key, to);
        }
    }
}

impl Objects for View<'_> {
    type Payload = Size;

    fn look_up(&self, key: Key) -> Option<Listed> {
        let (version, size) = match self.overlay.changed.get(&key) {
            Some(changed) => (*changed)?,
            None => (self.layouts.version(self.group, key)?, self.object_bytes),
        };
        Some(Listed { key, version, size })
    }

    fn scan(&self, from: Key, to: Cursor, most: usize) -> Vec<Listed> {
        let mut listed = Vec::with_capacity(most.min(128));
        let mut first = self.layouts.range(self.group, from, to).peekable();
        let mut changed =
            self.overlay.changed.range(from..).take_while(|(key, _)| to.covers(**key)).peekable();
        while listed.len() < most {
            let key = match (first.peek(), changed.peek()) {
                (Some(one), Some((other, _))) if *one < **other => *one,
                (_, Some((other, _))) => **other,
                (Some(one), None) => *one,
                (None, None) => break,
            };
            let is_first = first.next_if_eq(&key).is_some();
            match changed.next_if(|(other, _)| **other == key) {
                Some((_, Some((version, size)))) => {
                    listed.push(Listed { key, version: *version, size: *size })
                }
                Some((_, None)) => {}
                None => {
                    assert!(is_first, "{key:?} comes from one of both");
                    let version = Layouts::first_version(key.id);
                    listed.push(Listed { key, version, size: self.object_bytes });
                }
            }
        }
        listed
    }

    fn read(&self, key: Key, at: u64, length: u64) -> Option<Size> {
        let listed = self.look_up(key)?;
        Some(Size(listed.size.saturating_sub(at).min(length)))
    }

    fn decode(&self, shards: &BTreeMap<DeviceId, Size>, _: DeviceId) -> Size {
        // All shards of an object have the same length, and decoding takes no time here.
        *shards.values().next().expect("a shard is made from others")
    }

    fn put(&mut self, key: Key, version: Version, payload: Size) {
        self.change(key, Some((version, payload.0)));
    }

    fn remove(&mut self, key: Key) {
        self.change(key, None);
    }

    fn stage(&mut self, key: Key, at: u64, part: Size) {
        let staged = self.overlay.staged.entry(key).or_default();
        if at == 0 {
            *staged = 0;
        }
        assert_eq!(*staged, at, "a part of {key:?} is missing or came twice");
        *staged += part.0;
    }

    fn publish(&mut self, key: Key, version: Version) {
        let size = self.overlay.staged.remove(&key).expect("what is published was staged");
        self.change(key, Some((version, size)));
    }

    fn drop_staged(&mut self) {
        self.overlay.staged.clear();
    }

    fn bytes(&self) -> u64 {
        let filled = u64::from(self.layouts.objects()) * self.object_bytes;
        filled.checked_add_signed(self.overlay.grown).expect("no more is removed than there was")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use towtank_replication::objects::Memory;
    use towtank_streams::Seed;

    use super::*;

    /// The objects of a view, as a plain map.
    fn plainly(layouts: &Layouts, bytes: u64) -> Memory<Size> {
        let mut memory = Memory::new();
        layouts
            .range(0, Key::MIN, Cursor::End)
            .for_each(|key| memory.put(key, Layouts::first_version(key.id), Size(bytes)));
        memory
    }

    proptest! {
        /// A view of computed objects with changes equals a plain map.
        #[test]
        fn a_view_is_a_plain_map(
            changes in prop::collection::vec((0u64..60, 0u8..4, 1u64..9), 0..80),
            from in 0u64..60, to in 0u64..60, most in 1usize..70,
        ) {
            let layouts = Layouts::new(1, 40, Seed(9));
            let mut overlay = Overlay::default();
            let mut view = View { layouts: &layouts, group: 0, object_bytes: 5, overlay: &mut overlay };
            let mut plain = plainly(&layouts, 5);
            for (at, (id, what, size)) in (0u64..).zip(changes) {
                let (key, version) = (layouts.key(0, id), Version { epoch: 2, counter: 100 + at });
                match what {
                    0 => { view.remove(key); plain.remove(key); }
                    1 if id < 40 => {
                        view.put(key, Layouts::first_version(id), Size(5));
                        plain.put(key, Layouts::first_version(id), Size(5));
                    }
                    2 => {
                        for objects in [&mut view as &mut dyn Objects<Payload = Size>, &mut plain] {
                            objects.stage(key, 0, Size(size));
                            objects.stage(key, size, Size(1));
                            objects.publish(key, version);
                        }
                    }
                    _ => { view.put(key, version, Size(size)); plain.put(key, version, Size(size)); }
                }
            }
            prop_assert_eq!(view.bytes(), plain.bytes());
            let (from, to) = (layouts.key(0, from), Cursor::At(layouts.key(0, to)));
            prop_assert_eq!(view.scan(from, to, most), plain.scan(from, to, most));
            prop_assert_eq!(view.scan(Key::MIN, Cursor::End, 1_000), plain.scan(Key::MIN, Cursor::End, 1_000));
            for id in 0..60 {
                let key = layouts.key(0, id);
                prop_assert_eq!(view.look_up(key), plain.look_up(key));
                prop_assert_eq!(view.read(key, 2, 3), plain.read(key, 2, 3));
            }
        }
    }
}
