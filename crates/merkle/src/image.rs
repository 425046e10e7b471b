//! A tree on a disk: a full image, and records of the leaves that changed since.
//!
//! The owner writes what these functions give, in the same transaction as the objects or after it, and a crash costs at
//! most the records that were not written: no crash makes it read objects. A record holds leaves as they are, not as
//! they changed, so that one that is applied twice does no harm. It names its image, and is numbered: records of
//! another image, or with one missing between them, are not applied.

use crate::codec::{CHECKSUM_BYTES, DecodeError, Kind, Reader, Writer, checksum_of, next_head};
use crate::{Settled, Tree};

/// Shape of the tree, before its leaves.
const SHAPE_BYTES: usize = 6;
/// A leaf in a record: its index and its value.
const ENTRY_BYTES: usize = 12;

impl Settled<'_> {
    /// The tree as bytes: its shape and its leaves; parents are computed from them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode(self.shape(), self.leaves())
    }
}

impl Tree {
    /// The tree as bytes: its shape and its leaves; parents are computed from them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode(self.shape(), self.leaves())
    }

    /// The tree that was encoded.
    ///
    /// # Errors
    ///
    /// Where the bytes are not those of a tree.
    pub fn decode(bytes: &[u8]) -> Result<Tree, DecodeError> {
        let mut reader = Reader::new(Kind::Tree, bytes)?;
        let shape = reader.shape()?;
        let leaves = reader.u64s(shape.leaves())?;
        reader.finish()?;
        Ok(Tree::of_leaves(shape, leaves))
    }
}

fn encode(shape: crate::Shape, leaves: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Kind::Tree, SHAPE_BYTES + 8 * leaves.len());
    writer.shape(shape);
    writer.u64s(leaves);
    writer.finish()
}

/// Makes images and records of one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saver {
    /// The checksum of the image, by which records know it.
    image: u64,
    /// Of the next record.
    number: u64,
}

impl Saver {
    /// A full image. It replaces all former images and records once it is written.
    #[must_use]
    pub fn image(tree: &mut Tree) -> (Saver, Vec<u8>) {
        let bytes = tree.encode();
        tree.forget_unsaved();
        let image = checksum_of(&bytes).expect("an encoding ends with its checksum");
        (Saver { image, number: 0 }, bytes)
    }

    /// The leaves that changed since the last image or record, to be appended to the records of this image; none where
    /// nothing did. If it cannot be written, make a new image: its leaves count as saved.
    pub fn record(&mut self, tree: &mut Tree) -> Option<Vec<u8>> {
        let leaves = tree.take_unsaved();
        if leaves.is_empty() {
            return None;
        }
        let mut writer = Writer::new(Kind::Record, 8 + 8 + 4 + ENTRY_BYTES * leaves.len());
        writer.u64(self.image);
        writer.u64(self.number);
        writer.u32(leaves.len() as u32);
        for (leaf, value) in leaves {
            writer.u32(leaf);
            writer.u64(value);
        }
        self.number += 1;
        Some(writer.finish())
    }
}

/// What an image and its records hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The tree as of the last whole record.
    pub tree: Tree,
    /// Goes on after it: truncate the records to [`Restored::record_bytes`] and append.
    pub saver: Saver,
    /// How many records were applied.
    pub records: u64,
    /// The length of the whole records.
    pub record_bytes: usize,
    /// What follows them: a last record that was not written to its end.
    pub torn_bytes: usize,
}

/// Why a tree cannot be had from an image and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The image is damaged.
    #[error("the image cannot be read: {0}")]
    Image(#[from] DecodeError),
    /// A damaged record with sound ones after it: no torn write does that.
    #[error(
        "the records are damaged at byte {at}, and sound ones follow: take the tree from a replica, or rebuild it"
    )]
    Damaged {
        /// Where the first damaged one begins.
        at: usize,
    },
    /// A sound record that cannot follow.
    #[error("the record at byte {at} belongs to another image, or one before it is missing")]
    OutOfOrder {
        /// Where it begins.
        at: usize,
    },
}

/// Applies records to an image, and notices a last record that is torn.
///
/// # Errors
///
/// Where the image is damaged, or the records are in a way that no crash explains.
pub fn restore(image: &[u8], records: &[u8]) -> Result<Restored, RestoreError> {
    let mut tree = Tree::decode(image)?;
    let mut saver = Saver { image: checksum_of(image).unwrap_or_default(), number: 0 };
    let mut at = 0;
    while at < records.len() {
        let Ok(record) = Record::read(&records[at..]) else { break };
        if record.image != saver.image || record.number != saver.number {
            return Err(RestoreError::OutOfOrder { at });
        }
        record.apply(&mut tree).map_err(|_| RestoreError::Damaged { at })?;
        saver.number += 1;
        at += record.bytes;
    }
    if is_followed_by_a_record(records, at, &saver) {
        return Err(RestoreError::Damaged { at });
    }
    tree.forget_unsaved();
    let records_applied = saver.number;
    Ok(Restored { tree, saver, records: records_applied, record_bytes: at, torn_bytes: records.len() - at })
}

/// Whether a later record of the same image begins after `at`; a file that is used again may hold some of a former image.
/// What hostile bytes can make this read is bounded.
fn is_followed_by_a_record(records: &[u8], at: usize, saver: &Saver) -> bool {
    let mut budget = 4 * records.len();
    let mut from = at + 1;
    while let Some(head) = next_head(Kind::Record, records, from) {
        let read = Record::read(&records[head..]);
        if read.is_ok_and(|record| record.image == saver.image && record.number >= saver.number) {
            return true;
        }
        let length = Record::length(&records[head..]).unwrap_or(0).min(records.len());
        budget = budget.saturating_sub(length);
        if budget == 0 {
            return true;
        }
        from = head + 1;
    }
    false
}

/// A record at the beginning of some bytes.
struct Record<'a> {
    image: u64,
    number: u64,
    entries: &'a [u8],
    /// Its whole length.
    bytes: usize,
}

impl<'a> Record<'a> {
    /// How long a record says that it is.
    fn length(bytes: &[u8]) -> Result<usize, DecodeError> {
        let mut reader = Reader::unproved(Kind::Record, bytes)?;
        reader.raw(16)?;
        let entries = reader.u32()? as usize;
        let head = bytes.len() - reader.rest();
        Ok(entries.saturating_mul(ENTRY_BYTES).saturating_add(head + CHECKSUM_BYTES))
    }

    fn read(bytes: &'a [u8]) -> Result<Record<'a>, DecodeError> {
        let length = Record::length(bytes)?;
        let own = bytes.get(..length).ok_or(DecodeError::Short { have: bytes.len(), need: length })?;
        let mut reader = Reader::new(Kind::Record, own)?;
        let (image, number, count) = (reader.u64()?, reader.u64()?, reader.u32()? as usize);
        let entries = reader.raw(count * ENTRY_BYTES)?;
        reader.finish()?;
        Ok(Record { image, number, entries, bytes: length })
    }

    fn apply(&self, tree: &mut Tree) -> Result<(), DecodeError> {
        let leaves = tree.shape().leaves();
        for entry in self.entries.chunks_exact(ENTRY_BYTES) {
            let (leaf, value) = entry.split_at(4);
            let leaf = u32::from_le_bytes(leaf.try_into().expect("four bytes")) as usize;
            if leaf >= leaves {
                return Err(DecodeError::Impossible { what: "a leaf of a record" });
            }
            tree.set_leaf(leaf, u64::from_le_bytes(value.try_into().expect("eight bytes")));
        }
        Ok(())
    }
}
