//! Where the bytes of a large object lie: in segments, each cut into pieces that are objects of the store.
//!
//! An object that was written at once is one segment; one of a multipart upload has a segment a part. A piece
//! has a name of its own that no other writing uses, so that a manifest, once written, never means other
//! bytes.

use serde::{Deserialize, Serialize};

use crate::fault::{Code, Fault};

/// Bytes of a piece, but the last of a segment.
pub const PIECE_BYTES: u64 = 8 << 20;

/// The layout of a manifest's bytes.
const FORMAT: u8 = 1;

/// A run of pieces that were written together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Segment {
    /// What its pieces are named by.
    pub id: String,
    /// Its bytes.
    pub length: u64,
    /// Bytes of a piece, but the last.
    pub piece: u64,
}

impl Segment {
    /// How many pieces it has.
    #[must_use]
    pub fn pieces(&self) -> u64 {
        self.length.div_ceil(self.piece)
    }
}

/// A part of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The segment's id.
    pub id: String,
    /// The number of the piece in it.
    pub piece: u64,
    /// Where it begins in the piece.
    pub at: u64,
    /// Its bytes.
    pub length: u64,
}

/// The segments of an object, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The segments.
    pub segments: Vec<Segment>,
}

impl Manifest {
    /// Bytes of the object.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    /// As the store holds it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend(postcard::to_stdvec(self).expect("plain data can be written"));
        bytes
    }

    /// Reads what [`Manifest::encode`] wrote.
    ///
    /// # Errors
    /// When the bytes are no manifest, or a segment of it has no pieces.
    pub fn decode(bytes: &[u8]) -> Result<Manifest, Fault> {
        let fault = || Code::InternalError.because("the manifest of the object cannot be read");
        let (format, rest) = bytes.split_first().ok_or_else(fault)?;
        let (manifest, rest): (Manifest, _) = postcard::take_from_bytes(rest).map_err(|_| fault())?;
        let sound = manifest.segments.iter().all(|segment| segment.piece > 0 && segment.length > 0);
        let sum = manifest.segments.iter().try_fold(0_u64, |sum, segment| sum.checked_add(segment.length));
        if *format != FORMAT || !rest.is_empty() || !sound || sum.is_none() {
            return Err(fault());
        }
        Ok(manifest)
    }

    /// The pieces that hold the bytes from `first` to before `end`, in order.
    pub fn slices(&self, first: u64, end: u64) -> impl Iterator<Item = Slice> {
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

    /// Where each byte lies, one after the other.
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

    /// A piece that is left out or counted twice would be noticed by the comparison above.
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
