//! The heads of objects, single or in a range of names: what a listing needs, without data.

use towtank_replication::Key;

use crate::engine::{ObjectHead, Table, Transaction, key_bytes, name_bytes, read};
use crate::frames::Reply;

/// The most heads in one answer.
const HEADS_MAX: usize = 1_000;

/// An answer ends once it holds this many bytes of names and attributes; the last head may exceed the limit.
const BYTES_MAX: usize = 4 << 20;

/// Heads of objects whose names begin with `prefix`, from `from` on; none if the tables contradict each other
/// or cannot be read.
pub(super) fn names(
    group: u32,
    (prefix, from): (&str, &str),
    most: usize,
    transaction: &mut Transaction<'_>,
) -> Option<Reply> {
    let most = most.clamp(1, HEADS_MAX);
    let (begin, first) = (name_bytes(group, prefix), name_bytes(group, from.max(prefix)));
    // One more row tells whether another name follows; damaged objects have an empty name, which is skipped.
    let rows = transaction.scan(Table::Names, &begin, &first, most + 2);
    let mut heads = Vec::new();
    let mut bytes = 0;
    for (row, at) in rows {
        if row.len() <= 4 {
            continue;
        }
        if heads.len() == most || bytes >= BYTES_MAX {
            return Some(Reply::Names { heads, is_last: false });
        }
        let head = transaction.get(Table::Heads, &[&group.to_be_bytes()[..], &at].concat())?;
        let head: ObjectHead = read("the head of an object", &head).ok()?;
        bytes += head.name.len();
        bytes += head.attributes.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        heads.push(head);
    }
    Some(Reply::Names { heads, is_last: true })
}

/// The head of an object.
pub(super) fn head(group: u32, key: Key, transaction: &mut Transaction<'_>) -> Option<Reply> {
    let Some(head) = transaction.get(Table::Heads, &key_bytes(group, key)) else {
        return Some(Reply::Head(None));
    };
    Some(Reply::Head(Some(read("the head of an object", &head).ok()?)))
}
