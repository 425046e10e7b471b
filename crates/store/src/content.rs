//! An object as replicas hold it: its name, its attributes and its data in one byte string, with a checksum.
//!
//! The protocol moves these bytes without interpreting them, so a replica after a backfill also has names and
//! attributes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// The largest object, in bytes of data. Larger files must be split into several objects.
pub const DATA_MAX: usize = 64 << 20;

/// The version of the encoding.
const FORMAT: u8 = 1;

const CHECKSUM_BYTES: usize = 8;

/// Everything that is known of an object besides its data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its name.
    pub name: String,
    /// The attributes that its owner set.
    pub attributes: BTreeMap<String, String>,
    /// The number of bytes of data.
    pub length: u64,
}

/// The bytes of an object or of a part of one, as messages carry them: one byte string, which is copied as a
/// whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Encoded(#[serde(with = "serde_bytes")] pub Vec<u8>);

impl std::ops::Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl towtank_replication::Payload for Encoded {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Why bytes are not a valid object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The bytes are not those that were written.
    #[error("the object is damaged: its checksum is {found:016x}, but {want:016x} was written")]
    Checksum {
        /// The checksum of the bytes found.
        found: u64,
        /// The checksum that was written.
        want: u64,
    },
    /// The bytes end too early, or have another encoding.
    #[error("the object cannot be read: {0}")]
    Layout(&'static str),
}

/// Encodes an object.
///
/// # Panics
/// If its name or its attributes cannot be encoded, which never happens for plain text.
#[must_use]
pub fn encode(name: &str, attributes: &BTreeMap<String, String>, data: &[u8]) -> Encoded {
    let head = Head { name: name.to_owned(), attributes: attributes.clone(), length: data.len() as u64 };
    let head = postcard::to_stdvec(&head).expect("text and numbers can be written");
    let mut bytes = Vec::with_capacity(1 + 4 + head.len() + data.len() + CHECKSUM_BYTES);
    bytes.push(FORMAT);
    bytes.extend((head.len() as u32).to_le_bytes());
    bytes.extend(head);
    bytes.extend(data);
    let checksum = XxHash3_64::oneshot(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Encoded(bytes)
}

/// The head of an object, and the offset of its data. The checksum is not checked.
///
/// # Errors
/// When the bytes are not an object.
pub fn head(bytes: &[u8]) -> Result<(Head, usize), ContentError> {
    let layout = ContentError::Layout;
    let (format, rest) = bytes.split_first().ok_or(layout("it is empty"))?;
    if *format != FORMAT {
        return Err(layout("it was written by another version"));
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or(layout("its head is cut short"))?;
    let length = u32::from_le_bytes(*length) as usize;
    let head = rest.get(..length).ok_or(layout("its head is cut short"))?;
    let head = postcard::from_bytes(head).map_err(|_| layout("its head is damaged"))?;
    Ok((head, 1 + 4 + length))
}

/// The head and the data of an object, after checking its checksum.
///
/// # Errors
/// When the bytes are not those that were written.
pub fn decode(bytes: &[u8]) -> Result<(Head, &[u8]), ContentError> {
    let (body, checksum) = bytes
        .split_last_chunk::<CHECKSUM_BYTES>()
        .ok_or(ContentError::Layout("its checksum is cut short"))?;
    let (found, want) = (XxHash3_64::oneshot(body), u64::from_le_bytes(*checksum));
    if found != want {
        return Err(ContentError::Checksum { found, want });
    }
    let (head, at) = head(body)?;
    let data = &body[at..];
    if data.len() as u64 != head.length {
        return Err(ContentError::Layout("its length is wrong"));
    }
    Ok((head, data))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            name in ".{1,40}",
            attributes in proptest::collection::btree_map("[a-z]{1,8}", ".{0,20}", 0..4),
            data in proptest::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let bytes = encode(&name, &attributes, &data);
            let (head, found) = decode(&bytes).expect("it was just written");
            prop_assert_eq!((&head.name, &head.attributes, found), (&name, &attributes, &data[..]));
        }

        #[test]
        fn every_changed_bit_is_noticed(data in proptest::collection::vec(any::<u8>(), 0..200), at: prop::sample::Index, bit in 0..8_u8) {
            let mut bytes = encode("a", &BTreeMap::new(), &data).0;
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(decode(&bytes).is_err());
        }

        #[test]
        fn hostile_bytes_give_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(decode(&bytes).is_err());
            let _ = head(&bytes);
        }
    }
}
