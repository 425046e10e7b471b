//! One bit per leaf, set by every write: the thesis's other way to remember what changed (equation 2).
//!
//! A bitmap is kept for each replica that is away, from the moment it left. It takes 1/128 of a tree's memory
//! and costs each write one bit. But the primary at the time the replica leaves must keep it, it counts a
//! change that was reverted, and it knows nothing of changes from before it was started or made on the other
//! side.

use crate::codec::{DecodeError, Kind, Reader, Writer};
use crate::marks::Marks;
use crate::settled::ranges_of;
use crate::{Position, PositionRange, Shape};

/// The leaves that were written to since the bitmap was started.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Bitmap {
    shape: Shape,
    marks: Marks,
}

impl Bitmap {
    /// A bitmap with no leaf marked.
    #[must_use]
    pub fn new(shape: Shape) -> Bitmap {
        Bitmap { shape, marks: Marks::new(shape.leaves()) }
    }

    /// A bitmap with every leaf marked: any of them may have been written to.
    #[must_use]
    pub fn of_all(shape: Shape) -> Bitmap {
        let mut bitmap = Bitmap::new(shape);
        (0..shape.leaves()).for_each(|leaf| bitmap.marks.set(leaf));
        bitmap
    }

    /// The positions and leaves that the bitmap covers.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Records a write to an object with this hash.
    ///
    /// # Panics
    ///
    /// If the hash lies outside the bitmap's space.
    #[inline]
    pub fn mark(&mut self, hash: u32) {
        self.marks.set(self.shape.leaf_of(Position::of_hash(hash)));
    }

    /// How many leaves were written to.
    #[must_use]
    pub fn marked(&self) -> usize {
        self.marks.count()
    }

    /// The ranges that were written to, merged where they touch, in order.
    #[must_use]
    pub fn ranges(&self) -> Vec<PositionRange> {
        ranges_of(self.shape, &self.marks)
    }

    /// The bitmap as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(Kind::Bitmap, 6 + 8 * self.marks.words().len());
        writer.shape(self.shape);
        writer.u64s(self.marks.words());
        writer.finish()
    }

    /// Decodes a bitmap from [`Bitmap::encode`]'s bytes.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid encoding of a bitmap.
    pub fn decode(bytes: &[u8]) -> Result<Bitmap, DecodeError> {
        let mut reader = Reader::new(Kind::Bitmap, bytes)?;
        let shape = reader.shape()?;
        let words = reader.u64s(shape.leaves().div_ceil(64))?.collect();
        reader.finish()?;
        let marks = Marks::of_words(words);
        let is_within = marks.iter().last().is_none_or(|last| last < shape.leaves());
        let bitmap = Bitmap { shape, marks };
        if is_within {
            Ok(bitmap)
        } else {
            Err(DecodeError::Impossible { what: "a mark behind the last leaf" })
        }
    }
}

impl From<Bitmap> for Vec<u8> {
    fn from(it: Bitmap) -> Vec<u8> {
        it.encode()
    }
}

impl TryFrom<Vec<u8>> for Bitmap {
    type Error = DecodeError;

    fn try_from(bytes: Vec<u8>) -> Result<Bitmap, DecodeError> {
        Bitmap::decode(&bytes)
    }
}
