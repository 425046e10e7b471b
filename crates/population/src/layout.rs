//! The division of files into objects.

use towtank_units::Bytes;

use crate::error::PopulationError;

/// How a file is divided into objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Each file is one object.
    Whole,
    /// A file is divided into objects of this size; the last one holds the remainder.
    Chunks(Bytes),
    /// A file is divided into strips of `unit`, distributed round robin over as many objects as there are
    /// strips, but at most `width_max`. The last strip holds the remainder.
    Stripe {
        /// The size of a strip.
        unit: Bytes,
        /// The maximum number of objects per file.
        width_max: u32,
    },
}

impl Layout {
    /// Chunks of 64 MiB, as in Hadoop and in the 1000 Genomes runs of the rebuild study.
    pub const CHUNKS: Layout = Layout::Chunks(Bytes::from_mib(64));

    /// The layout as strips.
    pub(crate) fn pieces(self) -> Result<Pieces, PopulationError> {
        let zero = |parameter| Err(PopulationError::ZeroLayout { parameter });
        match self {
            Layout::Whole => Ok(Pieces { unit: UNIT_MAX, objects_max: 1 }),
            Layout::Chunks(chunk) if chunk.is_zero() => zero("chunk"),
            Layout::Chunks(chunk) => Ok(Pieces { unit: chunk.get().min(UNIT_MAX), objects_max: u64::MAX }),
            Layout::Stripe { unit, .. } if unit.is_zero() => zero("stripe_unit"),
            Layout::Stripe { width_max: 0, .. } => zero("stripe_width_max"),
            Layout::Stripe { unit, width_max } => {
                Ok(Pieces { unit: unit.get().min(UNIT_MAX), objects_max: u64::from(width_max) })
            }
        }
    }

    /// The sizes of a file's objects, in order.
    ///
    /// # Errors
    /// If a unit or a width is 0.
    pub fn objects_of(self, size: Bytes) -> Result<impl Iterator<Item = Bytes>, PopulationError> {
        let pieces = self.pieces()?;
        let objects = pieces.objects_of(size.get());
        Ok((0..objects).map(move |part| Bytes::new(pieces.object_size(size.get().max(1), objects, part))))
    }
}

/// Longer than any file, and small enough that the sum of two fits in 64 bits.
const UNIT_MAX: u64 = 1 << 62;

/// The common form of all layouts: strips of `unit` over at most `objects_max` objects. With chunks that
/// number is unlimited, so each object has one strip; a whole file is one strip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    pub(crate) unit: u64,
    pub(crate) objects_max: u64,
}

impl Pieces {
    /// The number of objects of a file; a file of 0 bytes counts as 1 byte.
    pub(crate) fn objects_of(self, size: u64) -> u64 {
        size.max(1).div_ceil(self.unit).min(self.objects_max)
    }

    /// The size of the largest file with at most this many objects, limited to `largest`.
    pub(crate) fn largest_of(self, objects: u64, largest: u64) -> u64 {
        if objects >= self.objects_max { largest } else { objects.saturating_mul(self.unit).min(largest) }
    }

    /// The size of object `part` of a file of `size` bytes and `objects` objects.
    #[inline]
    pub(crate) fn object_size(self, size: u64, objects: u64, part: u64) -> u64 {
        // No product overflows: all objects but the last hold one unit of a file of at most 2^60 bytes.
        if size <= objects * self.unit {
            return if part + 1 < objects { self.unit } else { size - part * self.unit };
        }
        let (full, tail) = (size / self.unit, size % self.unit);
        let (rows, over) = (full / objects, full % objects);
        rows * self.unit + if part < over { self.unit } else { 0 } + if part == over { tail } else { 0 }
    }
}

#[cfg(test)]
mod tests;
