//! Where a replica keeps its objects: the host's store, or a model of one.
//!
//! All changes that one call of [`Replica::handle`](crate::Replica::handle) makes to the objects and to the
//! [`Durable`](crate::Durable) state are one atomic transaction, which is durable before any action of the
//! call is carried out. A crash loses everything else.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

use crate::{Cursor, DeviceId, Key, Version};

/// The content of an object. A simulator keeps only its size, a store its bytes.
pub trait Payload: Clone + Debug + PartialEq + Eq + Hash {
    /// The number of bytes.
    fn size(&self) -> u64;
}

impl Payload for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }
}

/// A payload of this many bytes, without the bytes themselves.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Size(pub u64);

impl Payload for Size {
    fn size(&self) -> u64 {
        self.0
    }
}

/// An object as a scan returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Listed {
    /// The object.
    pub key: Key,
    /// Its version.
    pub version: Version,
    /// Its size in bytes.
    pub size: u64,
}

/// The objects of one replica of one group.
pub trait Objects {
    /// The content of an object.
    type Payload: Payload;

    /// The object's version and size; none if it does not exist.
    fn look_up(&self, key: Key) -> Option<Listed>;

    /// The first `most` objects, or fewer, from `from` up to but not including `to`, in order and without
    /// gaps.
    fn scan(&self, from: Key, to: Cursor, most: usize) -> Vec<Listed>;

    /// The part of an object from byte `at`, at most `length` bytes long; none if it does not exist.
    fn read(&self, key: Key, at: u64, length: u64) -> Option<Self::Payload>;

    /// In a coded group: a part of the shard of replica `of`, decoded from the same part of other replicas'
    /// shards.
    fn decode(&self, shards: &BTreeMap<DeviceId, Self::Payload>, of: DeviceId) -> Self::Payload;

    /// Sets an object, whether or not it exists.
    fn put(&mut self, key: Key, version: Version, payload: Self::Payload);

    /// Removes an object, if it exists.
    fn remove(&mut self, key: Key);

    /// Appends to the temporary object of this key; `at` is its length so far, and 0 starts it again.
    /// Temporary objects are visible only to [`Objects::publish`].
    fn stage(&mut self, key: Key, at: u64, part: Self::Payload);

    /// Makes the temporary object of this key the object, with this version.
    fn publish(&mut self, key: Key, version: Version);

    /// Discards all temporary objects.
    fn drop_staged(&mut self);

    /// The bytes of all objects, for the check against full devices.
    fn bytes(&self) -> u64;
}

/// A payload that can be divided and appended to, as [`Memory`] requires.
pub trait Divisible: Payload {
    /// The part from byte `at`, at most `length` bytes long.
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

/// Objects in memory, for tests, examples and small models. In a coded group it does not distinguish shards:
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
    /// An empty set of objects.
    #[must_use]
    pub fn new() -> Self {
        Memory::default()
    }

    /// All objects, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Version, &P)> + '_ {
        self.objects.iter().map(|(key, (version, payload))| (*key, *version, payload))
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The number of temporary objects.
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
