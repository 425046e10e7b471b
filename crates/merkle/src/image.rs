//! A tree or a sketch on a disk: a full image, and records of the leaves or cells that changed since.
//!
//! The owner writes what these functions give, in the same transaction as the objects or after it, and a
//! crash costs at most the records that were not written: no crash makes it read objects. A record holds
//! leaves as they are, not as they changed, so that one that is applied twice does no harm. It names its
//! image, and is numbered: records of another image, or with one missing between them, are not applied.

use std::marker::PhantomData;

use crate::codec::{CHECKSUM_BYTES, DecodeError, Kind, Reader, Writer, checksum_of, next_head};
use crate::{Settled, Shape, Sketch, Tree};

/// Shape of the tree, before its leaves.
const SHAPE_BYTES: usize = 6;

/// What is kept up to date in memory and can be restored after a crash: a [`Tree`] or a [`Sketch`].
pub trait Restorable: sealed::Parts {}

impl Restorable for Tree {}
impl Restorable for Sketch {}

pub(crate) mod sealed {
    use crate::DecodeError;

    /// A list of parts, each of which is saved when it has changed.
    pub trait Parts: Sized {
        /// What a part takes in a record, besides its index.
        const PART_BYTES: usize;

        /// All of it.
        fn to_image(&self) -> Vec<u8>;

        /// What [`Parts::to_image`] gave.
        fn of_image(bytes: &[u8]) -> Result<Self, DecodeError>;

        /// Parts that changed since the last image or record, in order; none is left.
        fn take_unsaved(&mut self) -> Vec<u32>;

        /// Appends a part.
        fn write_part(&self, index: u32, bytes: &mut Vec<u8>);

        /// Sets a part to what was written of it.
        fn set_part(&mut self, index: u32, bytes: &[u8]) -> Result<(), DecodeError>;
    }
}

/// The index of a part in a record.
const INDEX_BYTES: usize = 4;

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

fn encode(shape: Shape, leaves: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Kind::Tree, SHAPE_BYTES + 8 * leaves.len());
    writer.shape(shape);
    writer.u64s(leaves);
    writer.finish()
}

/// Makes images and records of one tree, or of one sketch.
#[derive(Debug)]
pub struct Saver<T> {
    /// The checksum of the image, by which records know it.
    image: u64,
    /// Of the next record.
    number: u64,
    of: PhantomData<fn(&mut T)>,
}

impl<T> Clone for Saver<T> {
    fn clone(&self) -> Saver<T> {
        Saver { image: self.image, number: self.number, of: PhantomData }
    }
}

impl<T: Restorable> Saver<T> {
    /// A full image. It replaces all former images and records once it is written.
    #[must_use]
    pub fn image(of: &mut T) -> (Saver<T>, Vec<u8>) {
        let bytes = of.to_image();
        let _ = of.take_unsaved();
        let image = checksum_of(&bytes).expect("an encoding ends with its checksum");
        (Saver { image, number: 0, of: PhantomData }, bytes)
    }

    /// What changed since the last image or record, to be appended to the records of this image; none where
    /// nothing did. If it cannot be written, make a new image: its leaves count as saved.
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

/// What an image and its records hold.
#[derive(Debug)]
pub struct Restored<T> {
    /// The tree or sketch as of the last whole record.
    pub state: T,
    /// Goes on after it: truncate the records to [`Restored::record_bytes`] and append.
    pub saver: Saver<T>,
    /// How many records were applied.
    pub records: u64,
    /// The length of the whole records.
    pub record_bytes: usize,
    /// What follows them: a last record that was not written to its end.
    pub torn_bytes: usize,
}

/// Why a tree or a sketch cannot be had from an image and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The image is damaged.
    #[error("the image cannot be read: {0}")]
    Image(#[from] DecodeError),
    /// A damaged record with sound ones after it: no torn write does that.
    #[error("the records are damaged at byte {at}, and sound ones follow: rebuild it from the objects")]
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

/// Whether a later record of the same image begins after `at`; a file that is used again may hold some of a
/// former image. What hostile bytes can make this read is bounded.
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

/// A record at the beginning of some bytes.
struct Record<'a> {
    image: u64,
    number: u64,
    parts: &'a [u8],
    /// Its whole length.
    bytes: usize,
}

impl<'a> Record<'a> {
    /// How long a record says that it is.
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
