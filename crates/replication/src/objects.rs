//! What a replica keeps its objects in: the host's store, or its model of one.
//!
//! All that one call of [`Replica::handle`](crate::Replica::handle) does to the objects and to the
//! [`Durable`](crate::Durable) state is one atomic transaction, which is durable before any action of the
//! call is carried out. A crash loses all else.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

use crate::{Cursor, DeviceId, Key, Version};

/// What an object holds. A simulator has its size alone, a store its bytes.
pub trait Payload: Clone + Debug + PartialEq + Eq + Hash {
    /// How many bytes it stands for.
    fn size(&self) -> u64;
}

impl Payload for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }
}

/// Of so many bytes, which nobody looks at.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Size(pub u64);

impl Payload for Size {
    fn size(&self) -> u64 {
        self.0
    }
}

/// An object as a scan finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Listed {
    /// Which it is.
    pub key: Key,
    /// Its version.
    pub version: Version,
    /// Its bytes.
    pub size: u64,
}

/// The objects of one replica of one group.
pub trait Objects {
    /// What an object holds.
    type Payload: Payload;

    /// The object's version and size; none where there is no such object.
    fn look_up(&self, key: Key) -> Option<Listed>;

    /// At most `most` objects from `from` to before `to`, in order, none left out.
    fn scan(&self, from: Key, to: Cursor, most: usize) -> Vec<Listed>;

    /// The part of an object from byte `at`, at most `length` long; none where there is no such object.
    fn read(&self, key: Key, at: u64, length: u64) -> Option<Self::Payload>;

    /// In a coded group: a part of the shard that a replica holds, from the same part of the shards of
    /// others.
    fn decode(&self, shards: &BTreeMap<DeviceId, Self::Payload>, of: DeviceId) -> Self::Payload;

    /// Sets an object, whether or not there is one.
    fn put(&mut self, key: Key, version: Version, payload: Self::Payload);

    /// Removes an object, if there is one.
    fn remove(&mut self, key: Key);

    /// Appends to the temporary object of this key; `at` is its length so far, and 0 begins it anew.
    /// Temporary objects are seen by nothing but [`Objects::publish`].
    fn stage(&mut self, key: Key, at: u64, part: Self::Payload);

    /// Makes the temporary object of this key the object, in this version.
    fn publish(&mut self, key: Key, version: Version);

    /// Throws all temporary objects away.
    fn drop_staged(&mut self);

    /// The bytes of all objects, for the guard against full devices.
    fn bytes(&self) -> u64;
}

/// A payload that can be cut and put together: what [`Memory`] asks of it.
pub trait Divisible: Payload {
    /// The part from byte `at`, at most `length` long.
    fn part(&self, at: u64, length: u64) -> Self;

    /// Appends a part.
    fn append(&mut self, part: Self);
}

impl Divisible for Vec<u8> {
    fn part(&self, at: u64, length: u64) -> Self {
        let first = at.min(self.len() as u64) as usize;
        let end = at.saturating_add(length).min(self.len() as u64) as usize;
        self[first..end].to_vec()
    }

    fn append(&mut self, part: Self) {
        self.extend(part);
    }
}

impl Divisible for Size {
    fn part(&self, at: u64, length: u64) -> Self {
        Size(self.0.saturating_sub(at).min(length))
    }

    fn append(&mut self, part: Self) {
        self.0 += part.0;
    }
}

/// Objects in memory, for tests, examples and small models. In a coded group it does not tell shards apart:
/// what a replica holds of an object stands for its shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Memory<P> {
    objects: BTreeMap<Key, (Version, P)>,
    staged: BTreeMap<Key, P>,
}

impl<P> Default for Memory<P> {
    fn default() -> Self {
        Memory { objects: BTreeMap::new(), staged: BTreeMap::new() }
    }
}

impl<P> Memory<P> {
    /// No objects.
    #[must_use]
    pub fn new() -> Self {
        Memory::default()
    }

    /// All objects in order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Version, &P)> + '_ {
        self.objects.iter().map(|(key, (version, payload))| (*key, *version, payload))
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// How many temporary objects there are.
    #[must_use]
    pub fn staged(&self) -> usize {
        self.staged.len()
    }
}

impl<P: Divisible> Objects for Memory<P> {
    type Payload = P;

    fn look_up(&self, key: Key) -> Option<Listed> {
        let (version, payload) = self.objects.get(&key)?;
        Some(Listed { key, version: *version, size: payload.size() })
    }

    fn scan(&self, from: Key, to: Cursor, most: usize) -> Vec<Listed> {
        let listed = |(key, (version, payload)): (&Key, &(Version, P))| Listed {
            key: *key,
            version: *version,
            size: payload.size(),
        };
        self.objects.range(from..).take_while(|(key, _)| to.covers(**key)).take(most).map(listed).collect()
    }

    fn read(&self, key: Key, at: u64, length: u64) -> Option<P> {
        Some(self.objects.get(&key)?.1.part(at, length))
    }

    fn decode(&self, shards: &BTreeMap<DeviceId, P>, _: DeviceId) -> P {
        let mut shards = shards.values();
        let first = shards.next().expect("a shard is made from others");
        assert!(shards.all(|shard| shard == first), "shards of one object differ");
        first.clone()
    }

    fn put(&mut self, key: Key, version: Version, payload: P) {
        self.objects.insert(key, (version, payload));
    }

    fn remove(&mut self, key: Key) {
        self.objects.remove(&key);
    }

    fn stage(&mut self, key: Key, at: u64, part: P) {
        if at == 0 {
            self.staged.insert(key, part);
            return;
        }
        let staged = self.staged.get_mut(&key).expect("parts come in order, the first one first");
        assert_eq!(staged.size(), at, "a part of {key:?} is missing or came twice");
        staged.append(part);
    }

    fn publish(&mut self, key: Key, version: Version) {
        let payload = self.staged.remove(&key).expect("what is published was staged");
        self.put(key, version, payload);
    }

    fn drop_staged(&mut self) {
        self.staged.clear();
    }

    fn bytes(&self) -> u64 {
        self.objects.values().map(|(_, payload)| payload.size()).sum()
    }
}
