//! The inventory of a group on a device, object by object.

use towtank_replication::{Cursor, Key, Replica, Summary};

use crate::content::{self, Encoded};
use crate::engine::{EngineError, ObjectHead, Table, Transaction, key_bytes, key_of, read};
use crate::frames::Inventory;

/// Objects that are looked at together.
const PAGE: usize = 64;

/// Versions and checksums of a group's objects, and those whose bytes are not as they were written. Whether
/// the replica is complete is not checked.
pub(super) fn of_group(
    group: u32,
    replica: &Replica<Encoded>,
    transaction: &mut Transaction<'_>,
) -> Inventory {
    let mut inventory = Inventory::default();
    let mut from = Key::MIN;
    loop {
        let rows = transaction.scan(Table::Heads, &group.to_be_bytes(), &key_bytes(group, from), PAGE);
        let is_last = rows.len() < PAGE;
        for (row, head) in rows {
            let (Some(key), Ok(head)) = (key_of(&row), read::<ObjectHead>("the head of an object", &head))
            else {
                transaction
                    .fail(EngineError::Damaged { what: format!("{row:x?}"), why: "no object".to_owned() });
                return inventory;
            };
            let bytes = transaction.get_if_sound(Table::Data, &row).unwrap_or_default();
            let checksum = match content::decode(&bytes) {
                Ok((found, _)) if found.name == head.name && bytes.len() as u64 == head.size => {
                    bytes.last_chunk::<8>().map_or(0, |checksum| u64::from_le_bytes(*checksum))
                }
                _ => {
                    inventory.damaged.push((key, head.name));
                    0
                }
            };
            inventory.objects.push((key, head.version, checksum));
        }
        match inventory.objects.last().map(|(key, ..)| Cursor::after(*key)) {
            Some(Cursor::At(next)) if !is_last => from = next,
            _ => break,
        }
    }
    let versions = inventory.objects.iter().map(|(key, version, _)| (*key, *version));
    inventory.sums_up =
        replica.durable().summary.sums_up_as(&Summary::of_objects(replica.config(), versions));
    inventory
}
