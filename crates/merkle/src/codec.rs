//! The byte format that all encodings of this crate share.
//!
//! An encoding is a magic number, a version, a kind, a body and the xxHash3 of everything before it. Numbers
//! are little-endian; counts and gaps are variable-length (seven bits per byte, least significant first). A
//! reader allocates at most a small multiple of the bytes that it was given, and returns a value or a
//! [`DecodeError`] for any input.

use twox_hash::XxHash3_64;

use crate::settled::Runs;
use crate::{PositionRange, Shape, Subspace};

/// The first bytes of every encoding.
const MAGIC: [u8; 4] = *b"TTMK";
/// The format version. Raise it whenever a reader of the former version would misread the new bytes.
const VERSION: u8 = 1;
/// Bytes of magic, version and kind.
const HEAD_BYTES: usize = 6;
/// Bytes of the checksum at the end.
pub(crate) const CHECKSUM_BYTES: usize = 8;

/// The kind of value in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Tree = 1,
    Record = 2,
    Message = 3,
    Sketch = 4,
    Bitmap = 5,
}

/// Why bytes cannot be decoded as the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Fewer bytes than their beginning requires.
    #[error("it has {have} bytes, but needs {need}: its end is missing")]
    Short {
        /// The number of bytes given.
        have: usize,
        /// The least number of bytes needed.
        need: usize,
    },
    /// Another format, or damage at the beginning.
    #[error("it does not start like a Merkle encoding: wrong file, or damaged")]
    Magic,
    /// Written by another version of this crate.
    #[error("it has version {found}, but this program reads version 1: use the program that wrote it")]
    Version {
        /// The version found in the bytes.
        found: u8,
    },
    /// An encoding of another kind, such as a tree where a sketch is expected.
    #[error("its kind is {found}, not {want}")]
    Kind {
        /// The kind found.
        found: u8,
        /// The kind expected.
        want: u8,
    },
    /// The checksum does not match: the bytes are damaged.
    #[error("the checksum does not match: it is damaged, read it from another copy")]
    Checksum,
    /// The checksum matches, but the content is impossible.
    #[error("{what} is impossible")]
    Impossible {
        /// The value that is impossible.
        what: &'static str,
    },
    /// More bytes than the value takes.
    #[error("{bytes} bytes are left over")]
    LeftOver {
        /// How many bytes are left over.
        bytes: usize,
    },
}

/// Builds an encoding.
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// A writer with capacity for a body of `body_bytes`.
    pub(crate) fn new(kind: Kind, body_bytes: usize) -> Writer {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body_bytes + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, kind as u8]);
        Writer { bytes }
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64s(&mut self, values: &[u64]) {
        // In blocks, which the compiler copies with vector instructions; it does not for an iterator of
        // bytes.
        const BLOCK: usize = 64;
        for values in values.chunks(BLOCK) {
            let mut block = [0; 8 * BLOCK];
            for (bytes, value) in block.chunks_exact_mut(8).zip(values) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            self.bytes.extend_from_slice(&block[..8 * values.len()]);
        }
    }

    /// Lets `put` append to the bytes written so far.
    pub(crate) fn append(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.bytes);
    }

    /// Writes a number in as few bytes of seven bits as it needs.
    pub(crate) fn count(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn shape(&mut self, shape: Shape) {
        self.byte(shape.space().bits());
        self.byte(shape.leaf_bits());
        self.u32(shape.space().prefix());
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let checksum = XxHash3_64::oneshot(&self.bytes);
        self.u64(checksum);
        self.bytes
    }
}

/// Reads the parts of an encoding.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The body of a whole encoding of that kind; checks the checksum.
    pub(crate) fn new(kind: Kind, bytes: &'a [u8]) -> Result<Reader<'a>, DecodeError> {
        let mut reader = Reader { rest: bytes };
        reader.head(kind)?;
        let need = HEAD_BYTES + CHECKSUM_BYTES;
        let end = bytes.len().checked_sub(CHECKSUM_BYTES).filter(|end| *end >= HEAD_BYTES);
        let end = end.ok_or(DecodeError::Short { have: bytes.len(), need })?;
        if checksum_of(bytes) != Some(XxHash3_64::oneshot(&bytes[..end])) {
            return Err(DecodeError::Checksum);
        }
        Ok(Reader { rest: &bytes[HEAD_BYTES..end] })
    }

    /// What follows the head of an encoding of that kind; its end is unknown and the checksum is not checked.
    pub(crate) fn unproved(kind: Kind, bytes: &'a [u8]) -> Result<Reader<'a>, DecodeError> {
        let mut reader = Reader { rest: bytes };
        reader.head(kind)?;
        Ok(reader)
    }

    fn head(&mut self, kind: Kind) -> Result<(), DecodeError> {
        let head: [u8; HEAD_BYTES] = self.array()?;
        let [magic @ .., version, found] = head;
        if magic != MAGIC {
            return Err(DecodeError::Magic);
        }
        if version != VERSION {
            return Err(DecodeError::Version { found: version });
        }
        if found != kind as u8 {
            return Err(DecodeError::Kind { found, want: kind as u8 });
        }
        Ok(())
    }

    pub(crate) fn raw(&mut self, bytes: usize) -> Result<&'a [u8], DecodeError> {
        let short = DecodeError::Short { have: self.rest.len(), need: bytes };
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let taken = self.raw(N)?;
        Ok(taken.try_into().expect("as many bytes were taken"))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn u64s(
        &mut self,
        count: usize,
    ) -> Result<impl ExactSizeIterator<Item = u64> + use<'a>, DecodeError> {
        let bytes = count.checked_mul(8).ok_or(DecodeError::Impossible { what: "a count of numbers" })?;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("chunks have eight bytes"));
        Ok(self.raw(bytes)?.chunks_exact(8).map(number))
    }

    pub(crate) fn count(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::Impossible { what: "a number of more than 64 bits" })
    }

    pub(crate) fn shape(&mut self) -> Result<Shape, DecodeError> {
        let (bits, leaf_bits, prefix) = (self.byte()?, self.byte()?, self.u32()?);
        let space =
            Subspace::of_prefix(prefix, bits).ok_or(DecodeError::Impossible { what: "a subspace" })?;
        Shape::new(space, leaf_bits).map_err(|_| DecodeError::Impossible { what: "the number of leaves" })
    }

    pub(crate) fn rest(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        let bytes = self.rest.len();
        if bytes == 0 { Ok(()) } else { Err(DecodeError::LeftOver { bytes }) }
    }
}

/// The checksum at the end of an encoding, which identifies it; none if it is too short to have one.
pub(crate) fn checksum_of(encoding: &[u8]) -> Option<u64> {
    encoding.last_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The next place at or after `from` where an encoding of that kind might begin.
pub(crate) fn next_head(kind: Kind, bytes: &[u8], from: usize) -> Option<usize> {
    let mut head = MAGIC.to_vec();
    head.extend([VERSION, kind as u8]);
    let found = bytes.get(from..)?.windows(HEAD_BYTES).position(|window| window == head)?;
    Some(from + found)
}

/// Writes indices below `end`, in order: their number, then each gap.
pub(crate) fn write_ascending(writer: &mut Writer, indices: &[u32]) {
    writer.count(indices.len() as u64);
    let mut next = 0;
    for index in indices {
        assert!(*index >= next, "nodes are written in order: {index} is below {next}");
        writer.count(u64::from(index - next));
        next = index + 1;
    }
}

/// Reads what [`write_ascending`] wrote.
pub(crate) fn read_ascending(reader: &mut Reader<'_>, end: u64) -> Result<Vec<u32>, DecodeError> {
    let impossible = DecodeError::Impossible { what: "a list of nodes" };
    let count = reader.count()?;
    // Each index takes at least a byte, so a count beyond the bytes given allocates nothing.
    let count = usize::try_from(count).ok().filter(|count| *count <= reader.rest()).ok_or(impossible)?;
    let mut indices = Vec::with_capacity(count);
    let mut next = 0_u64;
    for _ in 0..count {
        let index = next.checked_add(reader.count()?).filter(|index| *index < end).ok_or(impossible)?;
        indices.push(u32::try_from(index).map_err(|_| impossible)?);
        next = index + 1;
    }
    Ok(indices)
}

/// Writes ranges of positions, in order, as runs of leaves of a shape.
pub(crate) fn write_ranges(writer: &mut Writer, shape: Shape, ranges: &[PositionRange]) {
    writer.count(ranges.len() as u64);
    let mut next = 0;
    for range in ranges {
        let (first, last) = (shape.leaf_of(range.first), shape.leaf_of(range.last));
        assert!(next <= first && first <= last, "ranges are written in order: {range} follows leaf {next}");
        writer.count((first - next) as u64);
        writer.count((last - first) as u64);
        next = last + 1;
    }
}

/// Reads what [`write_ranges`] wrote; merges ranges that touch.
pub(crate) fn read_ranges(reader: &mut Reader<'_>, shape: Shape) -> Result<Vec<PositionRange>, DecodeError> {
    let impossible = DecodeError::Impossible { what: "a list of ranges" };
    let count = reader.count()?;
    let count = usize::try_from(count).ok().filter(|count| *count <= reader.rest()).ok_or(impossible)?;
    let mut runs = Runs::new(shape);
    let mut next = 0_u64;
    for _ in 0..count {
        let first = next.checked_add(reader.count()?).ok_or(impossible)?;
        let end =
            first.checked_add(reader.count()?).and_then(|last| last.checked_add(1)).ok_or(impossible)?;
        if end > shape.leaves() as u64 {
            return Err(impossible);
        }
        runs.add(first as usize, end as usize);
        next = end;
    }
    Ok(runs.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "nodes are written in order: 5 is below 8")]
    fn nodes_out_of_order_break_a_law() {
        write_ascending(&mut Writer::new(Kind::Message, 0), &[3, 7, 5]);
    }

    #[test]
    #[should_panic(expected = "ranges are written in order")]
    fn ranges_out_of_order_break_a_law() {
        let shape = Shape::new(Subspace::WHOLE, 4).expect("few leaves");
        let ranges = [shape.positions_of(5, 5), shape.positions_of(2, 3)];
        write_ranges(&mut Writer::new(Kind::Message, 0), shape, &ranges);
    }
}
