//! Recovery in an erasure-coded group: the primary collects a shard from each of as many replicas as make up
//! an object, including its own if it has it, and has the missing shard decoded from them. As in Ceph, all
//! data pass through the primary, and the first acting replicas are asked.

use std::collections::{BTreeMap, BTreeSet};

use super::{After, Turn};
use crate::objects::{Objects, Payload};
use crate::{Body, DeviceId, Key, Planted, Version, Work};

/// A part of a shard that is being decoded from the same part of other shards.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(bound(serialize = "P: serde::Serialize", deserialize = "P: serde::Deserialize<'de>"))]
pub(super) struct Gather<P> {
    /// The owner of the shard; the primary itself if its own shard is missing.
    pub(super) to: DeviceId,
    pub(super) key: Key,
    pub(super) version: Version,
    /// The offset of the part.
    at: u64,
    waits_for: BTreeSet<DeviceId>,
    #[serde(with = "towtank_units::pairs")]
    shards: BTreeMap<DeviceId, P>,
    /// Whether the first part that arrived is the last of its shard; all shards of an object have the same
    /// length.
    is_last: Option<bool>,
}

impl<O: Objects> Turn<'_, O> {
    /// The replicas that have a shard of an object, the primary first.
    fn holders(&self, key: Key) -> Vec<DeviceId> {
        let me = self.it.me;
        let Some(primary) = self.it.primary.as_ref() else { return Vec::new() };
        let has = |device: &DeviceId| match primary.peers.get(device) {
            Some(peer) => !peer.is_target && !peer.missing.contains_key(&key),
            None => *device == me && !self.it.durable.missing.contains_key(&key),
        };
        self.it.acting().iter().copied().filter(has).collect()
    }

    /// Whether enough replicas have a shard of an object to decode any other.
    pub(super) fn can_gather(&self, key: Key) -> bool {
        let needed = self.it.config.data_shards;
        needed == 1 || self.holders(key).len() >= needed
    }

    /// Begins to decode a part of a shard.
    pub(super) fn gather(&mut self, to: DeviceId, key: Key, version: Version, at: u64) {
        let me = self.it.me;
        let needed = self.it.config.data_shards;
        let mut sources = self.holders(key);
        assert!(sources.len() >= needed, "{key:?} is in {} places, and it takes {needed}", sources.len());
        let too_few = self.it.config.planted == Some(Planted::GathersTooFew);
        sources.truncate(needed - usize::from(too_few));
        assert!(!sources.contains(&to), "{to:?} misses {key:?} and is to give it");
        let Some(primary) = self.it.primary.as_mut() else { return };
        primary.gathers_begun += 1;
        let number = primary.gathers_begun;
        let waits_for = sources.iter().copied().collect();
        let (shards, is_last) = (BTreeMap::new(), None);
        primary.gathers.insert(number, Gather { to, key, version, at, waits_for, shards, is_last });
        for source in sources {
            if source == me {
                let (part, is_last) = self.part_of(key, version, at);
                let work = Work::Read { bytes: part.size(), is_recovery: true };
                self.work(work, After::Gathered { number, part, is_last });
            } else {
                self.say(source, Body::Gather(number, key, version, at));
            }
        }
    }

    /// Handles the primary's request for a part of this replica's shard.
    pub(super) fn give_shard(
        &mut self,
        from: DeviceId,
        number: u64,
        (key, version): (Key, Version),
        at: u64,
    ) {
        let (part, is_last) = self.part_of(key, version, at);
        let work = Work::Read { bytes: part.size(), is_recovery: true };
        self.work(work, After::Say { to: from, body: Body::Gathered(number, part, is_last) });
    }

    /// Handles a part of a shard; when all have arrived, the missing part is decoded and sent to its owner.
    pub(super) fn gathered(&mut self, from: DeviceId, number: u64, part: O::Payload, is_last: bool) {
        let me = self.it.me;
        let Some(primary) = self.it.primary.as_mut() else { return };
        // The part may belong to a backfill that was stopped.
        let Some(gather) = primary.gathers.get_mut(&number) else { return };
        assert!(gather.waits_for.remove(&from), "{from:?} sends a shard for which it was not asked");
        assert_eq!(*gather.is_last.get_or_insert(is_last), is_last, "shards of one object differ in length");
        gather.shards.insert(from, part);
        if !gather.waits_for.is_empty() {
            return;
        }
        let Gather { to, key, version, at, shards, .. } =
            primary.gathers.remove(&number).expect("it was just found");
        let part = self.objects.decode(&shards, to);
        if to == me {
            self.take_part(me, (key, version), at, part, is_last);
        } else {
            self.say(to, Body::Part { key, version, at, part, is_last });
        }
    }
}
