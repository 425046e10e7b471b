//! A tree or a sketch on disk: a full image, and records of the leaves or cells that changed since.
//!
//! The owner writes the bytes that these functions return, in the same transaction as the objects or after
//! it. A crash loses at most the records that were not written, and never requires reading objects. A record
//! holds the values of leaves, not their changes, so that applying one twice does no harm. Each record names
//! its image and has a number: records of another image, or after a missing one, are not applied.

use std::marker::PhantomData;

use crate::codec::{CHECKSUM_BYTES, DecodeError, Kind, Reader, Writer, checksum_of, next_head};
use crate::{Settled, Shape, Sketch, Tree};

/// Bytes of the tree's shape, before its leaves.
const SHAPE_BYTES: usize = 6;

/// A summary kept in memory that can be restored after a crash: a [`Tree`] or a [`Sketch`].
pub trait Restorable: sealed::Parts {}

impl Restorable for Tree {}
impl Restorable for Sketch {}

pub(crate) mod sealed {
    use crate::DecodeError;

    /// A list of parts, each of which is saved after it changes.
    pub trait Parts: Sized {
        /// Bytes of a part in a record, without its index.
        const PART_BYTES: usize;

        /// The whole value as bytes.
        fn to_image(&self) -> Vec<u8>;

        /// Reads what [`Parts::to_image`] returned.
        fn of_image(bytes: &[u8]) -> Result<Self, DecodeError>;

        /// Takes the parts that changed since the last image or record, in order, and clears the list.
        fn take_unsaved(&mut self) -> Vec<u32>;

        /// Appends the bytes of a part.
        fn write_part(&self, index: u32, bytes: &mut Vec<u8>);

        /// Sets a part from its bytes in a record.
        fn set_part(&mut self, index: u32, bytes: &[u8]) -> Result<(), DecodeError>;
    }
}

/// Bytes of a part's index in a record.
const INDEX_BYTES: usize = 4;

impl Settled<'_> {
    /// The tree as bytes: its shape and its leaves; a reader computes the parents from them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode(self.shape(), self.leaves())
    }
}

impl Tree {
    /// The tree as bytes: its shape and its leaves; a reader computes the parents from them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode(self.shape(), self.leaves())
    }

    /// Decodes a tree from [`Tree::encode`]'s bytes.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid encoding of a tree.
    pub fn decode(bytes: &[u8]) -> Result<Tree, DecodeError> {
        let mut reader = Reader::new(Kind::Tree, bytes)?;
        let shape = reader.shape()?;
        let leaves = reader.u64s(shape.leaves())?;
        reader.finish()?;
        Ok(Tree::of_leaves(shape, leaves))
    }
}

fn encode(shape: Shape, leaves: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Kind::Tree, SHAPE_BYTES + 8 * leaves.len());
    writer.shape(shape);
    writer.u64s(leaves);
    writer.finish()
}

/// Makes images and records of one tree or one sketch.
#[derive(Debug)]
pub struct Saver<T> {
    /// The checksum of the image, by which records refer to it.
    image: u64,
    /// The number of the next record.
    number: u64,
    of: PhantomData<fn(&mut T)>,
}

impl<T> Clone for Saver<T> {
    fn clone(&self) -> Saver<T> {
        Saver { image: self.image, number: self.number, of: PhantomData }
    }
}

impl<T: Restorable> Saver<T> {
    /// Makes a full image. Once written, it replaces all former images and records.
    #[must_use]
    pub fn image(of: &mut T) -> (Saver<T>, Vec<u8>) {
        let bytes = of.to_image();
        let _ = of.take_unsaved();
        let image = checksum_of(&bytes).expect("an encoding ends with its checksum");
        (Saver { image, number: 0, of: PhantomData }, bytes)
    }

    /// The changes since the last image or record, to be appended to the records of this image; none if
    /// nothing changed. If the record cannot be written, make a new image: its leaves already count as saved.
    pub fn record(&mut self, of: &mut T) -> Option<Vec<u8>> {
        let parts = of.take_unsaved();
        if parts.is_empty() {
            return None;
        }
        let mut writer = Writer::new(Kind::Record, 8 + 8 + 4 + (INDEX_BYTES + T::PART_BYTES) * parts.len());
        writer.u64(self.image);
        writer.u64(self.number);
        writer.u32(parts.len() as u32);
        for part in parts {
            writer.u32(part);
            writer.append(|bytes| of.write_part(part, bytes));
        }
        self.number += 1;
        Some(writer.finish())
    }
}

/// The state read from an image and its records.
#[derive(Debug)]
pub struct Restored<T> {
    /// The tree or sketch as of the last whole record.
    pub state: T,
    /// A saver that continues after it: truncate the records to [`Restored::record_bytes`] and append.
    pub saver: Saver<T>,
    /// The number of records applied.
    pub records: u64,
    /// The length of the whole records in bytes.
    pub record_bytes: usize,
    /// Bytes after them: a last record that was not completely written.
    pub torn_bytes: usize,
}

/// Why a tree or a sketch cannot be restored from an image and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The image is damaged.
    #[error("the image cannot be read: {0}")]
    Image(#[from] DecodeError),
    /// A damaged record with valid ones after it: a torn write cannot cause that.
    #[error("the records are damaged at byte {at}, but valid ones follow: rebuild it from the objects")]
    Damaged {
        /// The offset of the first damaged record.
        at: usize,
    },
    /// A valid record that cannot follow the one before it.
    #[error("the record at byte {at} belongs to another image, or one before it is missing")]
    OutOfOrder {
        /// The offset of the record.
        at: usize,
    },
}

/// Applies records to an image, and detects a last record that is torn.
///
/// # Errors
///
/// If the image is damaged, or the records are in a state that no crash explains.
pub fn restore<T: Restorable>(image: &[u8], records: &[u8]) -> Result<Restored<T>, RestoreError> {
    let mut state = T::of_image(image)?;
    let mut saver = Saver { image: checksum_of(image).unwrap_or_default(), number: 0, of: PhantomData };
    let mut at = 0;
    while at < records.len() {
        let Ok(record) = Record::read::<T>(&records[at..]) else { break };
        if record.image != saver.image || record.number != saver.number {
            return Err(RestoreError::OutOfOrder { at });
        }
        record.apply(&mut state).map_err(|_| RestoreError::Damaged { at })?;
        saver.number += 1;
        at += record.bytes;
    }
    if is_followed_by_a_record(records, at, &saver) {
        return Err(RestoreError::Damaged { at });
    }
    let _ = state.take_unsaved();
    let applied = saver.number;
    Ok(Restored { state, saver, records: applied, record_bytes: at, torn_bytes: records.len() - at })
}

/// Whether a later record of the same image begins after `at`; a reused file may hold records of a former
/// image. The budget bounds the work that hostile bytes can cause.
fn is_followed_by_a_record<T: Restorable>(records: &[u8], at: usize, saver: &Saver<T>) -> bool {
    let mut budget = 4 * records.len();
    let mut from = at + 1;
    while let Some(head) = next_head(Kind::Record, records, from) {
        let read = Record::read::<T>(&records[head..]);
        if read.is_ok_and(|record| record.image == saver.image && record.number >= saver.number) {
            return true;
        }
        let length = Record::length::<T>(&records[head..]).unwrap_or(0).min(records.len());
        budget = budget.saturating_sub(length);
        if budget == 0 {
            return true;
        }
        from = head + 1;
    }
    false
}

/// A record at the beginning of a byte slice.
struct Record<'a> {
    image: u64,
    number: u64,
    parts: &'a [u8],
    /// The length of the whole record in bytes.
    bytes: usize,
}

impl<'a> Record<'a> {
    /// The length that the record states.
    fn length<T: Restorable>(bytes: &[u8]) -> Result<usize, DecodeError> {
        let mut reader = Reader::unproved(Kind::Record, bytes)?;
        reader.raw(16)?;
        let parts = reader.u32()? as usize;
        let head = bytes.len() - reader.rest();
        Ok(parts.saturating_mul(INDEX_BYTES + T::PART_BYTES).saturating_add(head + CHECKSUM_BYTES))
    }

    fn read<T: Restorable>(bytes: &'a [u8]) -> Result<Record<'a>, DecodeError> {
        let length = Record::length::<T>(bytes)?;
        let own = bytes.get(..length).ok_or(DecodeError::Short { have: bytes.len(), need: length })?;
        let mut reader = Reader::new(Kind::Record, own)?;
        let (image, number, count) = (reader.u64()?, reader.u64()?, reader.u32()? as usize);
        let parts = reader.raw(count * (INDEX_BYTES + T::PART_BYTES))?;
        reader.finish()?;
        Ok(Record { image, number, parts, bytes: length })
    }

    fn apply<T: Restorable>(&self, state: &mut T) -> Result<(), DecodeError> {
        self.parts.chunks_exact(INDEX_BYTES + T::PART_BYTES).try_for_each(|part| {
            let (index, part) = part.split_first_chunk().expect("a part begins with its index");
            state.set_part(u32::from_le_bytes(*index), part)
        })
    }
}

impl sealed::Parts for Tree {
    const PART_BYTES: usize = 8;

    fn to_image(&self) -> Vec<u8> {
        self.encode()
    }

    fn of_image(bytes: &[u8]) -> Result<Tree, DecodeError> {
        Tree::decode(bytes)
    }

    fn take_unsaved(&mut self) -> Vec<u32> {
        Tree::take_unsaved(self)
    }

    fn write_part(&self, index: u32, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.leaves()[index as usize].to_le_bytes());
    }

    fn set_part(&mut self, index: u32, bytes: &[u8]) -> Result<(), DecodeError> {
        let value = bytes.try_into().map(u64::from_le_bytes);
        let impossible = DecodeError::Impossible { what: "a leaf of a record" };
        let is_a_leaf = (index as usize) < self.shape().leaves();
        let value = value.ok().filter(|_| is_a_leaf).ok_or(impossible)?;
        self.set_leaf(index as usize, value);
        Ok(())
    }
}

impl sealed::Parts for Sketch {
    const PART_BYTES: usize = crate::Cell::BYTES;

    fn to_image(&self) -> Vec<u8> {
        self.encode()
    }

    fn of_image(bytes: &[u8]) -> Result<Sketch, DecodeError> {
        Sketch::decode(bytes)
    }

    fn take_unsaved(&mut self) -> Vec<u32> {
        Sketch::take_unsaved(self)
    }

    fn write_part(&self, index: u32, bytes: &mut Vec<u8>) {
        bytes.extend(self.cells()[index as usize].to_bytes());
    }

    fn set_part(&mut self, index: u32, bytes: &[u8]) -> Result<(), DecodeError> {
        let impossible = DecodeError::Impossible { what: "a cell of a record" };
        let cell = bytes.try_into().ok().and_then(crate::Cell::from_bytes).ok_or(impossible)?;
        self.set_cell(index as usize, cell).ok_or(impossible)
    }
}
