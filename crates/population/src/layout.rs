//! How a file becomes objects.

use towtank_units::Bytes;

use crate::error::PopulationError;

/// How a file becomes objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// A file is an object.
    Whole,
    /// A file is cut into objects of this size; the last one holds what is left.
    Chunks(Bytes),
    /// A file is cut into strips of `unit`, which go round and round over as many objects as there are
    /// strips, but at most `width_max`. The last strip holds what is left.
    Stripe {
        /// The size of a strip.
        unit: Bytes,
        /// The most objects of a file.
        width_max: u32,
    },
}

impl Layout {
    /// Chunks of 64 MiB, as Hadoop and the 1000 Genomes runs of the rebuild study have them.
    pub const CHUNKS: Layout = Layout::Chunks(Bytes::from_mib(64));

    /// Its pieces.
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
    /// For a unit or a width of 0.
    pub fn objects_of(self, size: Bytes) -> Result<impl Iterator<Item = Bytes>, PopulationError> {
        let pieces = self.pieces()?;
        let objects = pieces.objects_of(size.get());
        Ok((0..objects).map(move |part| Bytes::new(pieces.object_size(size.get().max(1), objects, part))))
    }
}

/// Longer than any file, and short enough that sums of two stay in 64 bits.
const UNIT_MAX: u64 = 1 << 62;

/// All layouts are one: strips of a unit over at most so many objects. Chunks may be any number, and then
/// each object has one strip; a whole file is one strip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    pub(crate) unit: u64,
    pub(crate) objects_max: u64,
}

impl Pieces {
    /// How many objects a file has; a file of 0 bytes is one of 1 byte.
    pub(crate) fn objects_of(self, size: u64) -> u64 {
        size.max(1).div_ceil(self.unit).min(self.objects_max)
    }

    /// The largest file of so many objects, if there is one below `largest`.
    pub(crate) fn largest_of(self, objects: u64, largest: u64) -> u64 {
        if objects >= self.objects_max { largest } else { objects.saturating_mul(self.unit).min(largest) }
    }

    /// The size of object `part` of a file of `size` bytes and `objects` objects.
    #[inline]
    pub(crate) fn object_size(self, size: u64, objects: u64, part: u64) -> u64 {
        // No product overflows: all objects but the last hold a unit of a file that is at most 2^60 bytes.
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
