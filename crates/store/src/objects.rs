//! The objects of one group on a device, as the protocol sees them: reads and writes in a transaction.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_replication::{Cursor, DeviceId, Key, Listed, Objects, Version};

use crate::content::{self, Encoded};
use crate::engine::{ObjectHead, Table, Transaction, key_bytes, key_of, name_bytes, read, written};

/// The totals of a group's objects on this device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The number of objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The objects of a group, seen through a transaction.
///
/// The protocol's calls cannot fail. If the disk fails, the transaction fails, none of the call's changes
/// count, and the device stops. Lookups also record failures, so the state is in a `RefCell`.
#[derive(Debug)]
pub struct View<'t, 'e>(RefCell<Inner<'t, 'e>>);

#[derive(Debug)]
struct Inner<'t, 'e> {
    transaction: &'t mut Transaction<'e>,
    group: u32,
    totals: &'t mut Totals,
}

impl<'t, 'e> View<'t, 'e> {
    /// The objects of a group; `totals` is kept up to date.
    #[must_use]
    pub fn new(transaction: &'t mut Transaction<'e>, group: u32, totals: &'t mut Totals) -> View<'t, 'e> {
        View(RefCell::new(Inner { transaction, group, totals }))
    }
}

impl Inner<'_, '_> {
    fn head(&mut self, key: Key) -> Option<ObjectHead> {
        let bytes = self.transaction.get(Table::Heads, &key_bytes(self.group, key))?;
        let head = read("the head of an object", &bytes).map(Some);
        self.transaction.expect(head)
    }

    fn set(&mut self, key: Key, version: Version, bytes: Vec<u8>) {
        self.forget(key);
        let content::Head { name, attributes, length } = match content::head(&bytes) {
            Ok((head, _)) => head,
            // The bytes that a peer sent are damaged. They are kept unchanged, so that replicas stay equal;
            // reading the object is an error.
            Err(_) => content::Head::default(),
        };
        let size = bytes.len() as u64;
        self.totals.objects += 1;
        self.totals.bytes += size;
        let at = key_bytes(self.group, key).to_vec();
        self.transaction.set(Table::Names, name_bytes(self.group, &name), at[4..].to_vec());
        let head = ObjectHead { version, size, name, length, attributes };
        self.transaction.set(Table::Heads, at.clone(), written(&head));
        self.transaction.set(Table::Data, at, bytes);
    }

    fn forget(&mut self, key: Key) {
        let Some(head) = self.head(key) else { return };
        self.totals.objects =
            self.totals.objects.checked_sub(1).expect("an object that is there was counted");
        self.totals.bytes = self.totals.bytes.checked_sub(head.size).expect("its bytes were counted");
        let at = key_bytes(self.group, key).to_vec();
        self.transaction.remove(Table::Names, name_bytes(self.group, &head.name));
        self.transaction.remove(Table::Heads, at.clone());
        self.transaction.remove(Table::Data, at);
    }

    fn staged(&mut self, key: Key) -> Vec<(Vec<u8>, Vec<u8>)> {
        let prefix = key_bytes(self.group, key);
        self.transaction.scan(Table::Staged, &prefix, &prefix, usize::MAX)
    }
}

impl Objects for View<'_, '_> {
    type Payload = Encoded;

    fn look_up(&self, key: Key) -> Option<Listed> {
        let head = self.0.borrow_mut().head(key)?;
        Some(Listed { key, version: head.version, size: head.size })
    }

    fn scan(&self, from: Key, to: Cursor, most: usize) -> Vec<Listed> {
        let mut view = self.0.borrow_mut();
        let group = view.group;
        let mut listed = Vec::new();
        // Reads no further than requested: a backfill looks at many short ranges.
        let (first, prefix) = (key_bytes(group, from), group.to_be_bytes());
        let belongs = |at: &[u8]| at.starts_with(&prefix) && key_of(at).is_some_and(|key| to.covers(key));
        for (at, bytes) in view.transaction.scan_while(Table::Heads, &first, most, &belongs) {
            let Some(key) = key_of(&at) else { break };
            let head: Option<ObjectHead> =
                view.transaction.expect(read("the head of an object", &bytes).map(Some));
            listed.extend(head.map(|head| Listed { key, version: head.version, size: head.size }));
        }
        listed
    }

    fn read(&self, key: Key, at: u64, length: u64) -> Option<Encoded> {
        let mut view = self.0.borrow_mut();
        let row = key_bytes(view.group, key);
        let size = view.head(key)?.size as usize;
        // Unreadable bytes are replaced by others of the same length: their checksum is wrong, and the reader
        // notices.
        let mut bytes = view.transaction.get_if_sound(Table::Data, &row).unwrap_or_default();
        bytes.resize(size, 0);
        let first = at.min(bytes.len() as u64) as usize;
        let end = at.saturating_add(length).min(bytes.len() as u64) as usize;
        Some(Encoded(if first == 0 && end == bytes.len() { bytes } else { bytes[first..end].to_vec() }))
    }

    fn decode(&self, _: &BTreeMap<DeviceId, Encoded>, _: DeviceId) -> Encoded {
        unreachable!("the store has copies, and no shards")
    }

    fn put(&mut self, key: Key, version: Version, payload: Encoded) {
        self.0.get_mut().set(key, version, payload.0);
    }

    fn remove(&mut self, key: Key) {
        self.0.get_mut().forget(key);
    }

    fn stage(&mut self, key: Key, at: u64, part: Encoded) {
        let view = self.0.get_mut();
        if at == 0 {
            for (before, _) in view.staged(key) {
                view.transaction.remove(Table::Staged, before);
            }
        }
        let row = [&key_bytes(view.group, key)[..], &at.to_be_bytes()].concat();
        view.transaction.set(Table::Staged, row, part.0);
    }

    fn publish(&mut self, key: Key, version: Version) {
        let view = self.0.get_mut();
        let mut bytes = Vec::new();
        for (row, part) in view.staged(key) {
            bytes.extend(part);
            view.transaction.remove(Table::Staged, row);
        }
        view.set(key, version, bytes);
    }

    fn drop_staged(&mut self) {
        let view = self.0.get_mut();
        let prefix = view.group.to_be_bytes();
        for (row, _) in view.transaction.scan(Table::Staged, &prefix, &prefix, usize::MAX) {
            view.transaction.remove(Table::Staged, row);
        }
    }

    fn bytes(&self) -> u64 {
        self.0.borrow().totals.bytes
    }
}
