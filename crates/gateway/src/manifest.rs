//! Where the bytes of a large object are: in segments, each split into pieces, which are objects of the
//! store.
//!
//! An object that was written at once is one segment; one from a multipart upload has a segment per part.
//! Each piece has a name that no other write uses, so a manifest, once written, never refers to other bytes.

use serde::{Deserialize, Serialize};

use crate::fault::{Code, Fault};

/// Bytes of every piece except the last of a segment.
pub(crate) const PIECE_BYTES: u64 = 8 << 20;

/// The version of the manifest's encoding.
const FORMAT: u8 = 1;

/// Pieces that were written together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Segment {
    /// The id in the names of its pieces.
    pub id: String,
    /// The number of its bytes.
    pub length: u64,
    /// Bytes of every piece except the last.
    pub piece: u64,
}

impl Segment {
    /// The number of its pieces.
    #[must_use]
    pub fn pieces(&self) -> u64 {
        self.length.div_ceil(self.piece)
    }
}

/// A range of bytes within a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The segment's id.
    pub id: String,
    /// The index of the piece within the segment.
    pub piece: u64,
    /// The offset within the piece.
    pub at: u64,
    /// The number of bytes.
    pub length: u64,
}

/// The segments of an object, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The segments.
    pub segments: Vec<Segment>,
}

impl Manifest {
    /// The length of the object in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    /// The bytes that the store keeps.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend(postcard::to_stdvec(self).expect("plain data can be written"));
        bytes
    }

    /// Reads what [`Manifest::encode`] wrote.
    ///
    /// # Errors
    /// If the bytes are not a manifest, or a segment in it has no pieces.
    pub fn decode(bytes: &[u8]) -> Result<Manifest, Fault> {
        let fault = || Code::InternalError.because("the manifest of the object is invalid");
        let (format, rest) = bytes.split_first().ok_or_else(fault)?;
        let (manifest, rest): (Manifest, _) = postcard::take_from_bytes(rest).map_err(|_| fault())?;
        let sound = manifest.segments.iter().all(|segment| segment.piece > 0 && segment.length > 0);
        let sum = manifest.segments.iter().try_fold(0_u64, |sum, segment| sum.checked_add(segment.length));
        if *format != FORMAT || !rest.is_empty() || !sound || sum.is_none() {
            return Err(fault());
        }
        Ok(manifest)
    }

    /// The slices of pieces that hold the bytes from `first` up to but not including `end`, in order.
    pub(crate) fn slices(&self, first: u64, end: u64) -> impl Iterator<Item = Slice> {
        let mut begins = 0;
        self.segments.iter().flat_map(move |segment| {
            let at = begins;
            begins += segment.length;
            let (from, to) = (first.clamp(at, begins) - at, end.clamp(at, begins) - at);
            let pieces = from / segment.piece..to.div_ceil(segment.piece);
            let pieces = if from < to { pieces } else { 0..0 };
            pieces.map(move |piece| {
                let lies = piece * segment.piece;
                let (low, high) = (from.max(lies), to.min(lies.saturating_add(segment.piece)));
                Slice { id: segment.id.clone(), piece, at: low - lies, length: high - low }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest(segments: &[(u64, u64)]) -> Manifest {
        let segment =
            |(at, &(length, piece)): (usize, &(u64, u64))| Segment { id: at.to_string(), length, piece };
        Manifest { segments: segments.iter().enumerate().map(segment).collect() }
    }

    /// The location of each byte, in order.
    fn bytes(manifest: &Manifest) -> Vec<(String, u64, u64)> {
        let of = |segment: &Segment| {
            let (id, piece) = (segment.id.clone(), segment.piece);
            (0..segment.length).map(move |at| (id.clone(), at / piece, at % piece)).collect::<Vec<_>>()
        };
        manifest.segments.iter().flat_map(of).collect()
    }

    fn flat(slices: impl Iterator<Item = Slice>) -> Vec<(String, u64, u64)> {
        let of = |slice: Slice| {
            (slice.at..slice.at + slice.length).map(move |at| (slice.id.clone(), slice.piece, at))
        };
        slices.flat_map(|slice| of(slice).collect::<Vec<_>>()).collect()
    }

    proptest! {
        #[test]
        fn slices_are_the_bytes_of_a_range(
            segments in proptest::collection::vec((1..30_u64, 1..12_u64), 0..5),
            first in 0..100_u64,
            length in 0..100_u64,
        ) {
            let manifest = manifest(&segments);
            let all = bytes(&manifest);
            prop_assert_eq!(all.len() as u64, manifest.length());
            let end = (first + length).min(manifest.length());
            let want = all.get(first as usize..end as usize).unwrap_or_default();
            prop_assert_eq!(flat(manifest.slices(first, end)), want);
            prop_assert!(manifest.slices(first, end).all(|slice| slice.length > 0));
        }

        #[test]
        fn what_is_written_is_read(segments in proptest::collection::vec((1..u64::MAX / 8, 1..u64::MAX), 0..5)) {
            let manifest = manifest(&segments);
            prop_assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }

        #[test]
        fn hostile_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Manifest::decode(&bytes);
        }
    }

    /// The comparison above would detect a piece that is left out or counted twice.
    #[test]
    fn planted_slices_are_noticed() {
        let manifest = manifest(&[(10, 4), (5, 5)]);
        let slices: Vec<Slice> = manifest.slices(0, 15).collect();
        assert_eq!(slices.len(), 4);
        let want = bytes(&manifest);
        for planted in [slices[1..].to_vec(), [&slices[..1], &slices[..]].concat()] {
            assert_ne!(flat(planted.into_iter()), want);
        }
        assert!(Manifest::decode(&manifest.encode()[..5]).is_err());
        let zero = Manifest { segments: vec![Segment { id: String::new(), length: 1, piece: 0 }] };
        assert!(Manifest::decode(&zero.encode()).is_err(), "a piece of no bytes");
    }
}
