//! Data sets as distributions: any object, its size and its key, without a table of objects.
//!
//! A [`SizeHistogram`] is a distribution of file sizes, a [`Layout`] divides files into objects, and an
//! [`Extent`] gives the size of the data set. A [`Population`] of these three and a seed computes every
//! object independently: object 1,234,567,890 has the same size, file and key in every query, in any order.
//! Memory grows with the number of kinds of files, not with the number of files.
//!
//! Objects have dense ids from 0, and a position in the order of keys ([`Population::rank`]) that is a keyed,
//! invertible permutation of the ids. So a placement that knows which keys touch a server can list the
//! objects of that server without visiting others ([`Population::ids_with_keys`],
//! [`Population::ids_in_residue`]); for a placement without an inverse, [`Thinning`] draws a subset as if
//! each object were tested independently.
//!
//! ```
//! # use towtank_population::{Extent, Layout, Population, SizeHistogram};
//! # use towtank_streams::Seed;
//! let genomes = Population::new(
//!     &SizeHistogram::thousand_genomes(),
//!     Layout::CHUNKS,
//!     Extent::Bytes(20 << 40),
//!     Seed(7),
//! )?;
//! let object = genomes.object(genomes.objects() - 1);
//! assert!(object.size <= towtank_units::Bytes::from_mib(64));
//! # Ok::<(), towtank_population::PopulationError>(())
//! ```
//!
//! Deliberately absent: contents, names, times, and the location of objects (see `placement`). Files are read
//! from bytes that the caller supplies.

mod data_set;
mod distributions;
mod error;
mod extent;
mod histogram;
mod keys;
mod layout;
mod limits;
mod object_tally;
mod permutation;
mod presets;
mod read;
mod strata;
mod tally;
mod thinning;

pub use data_set::{File, Object, Population};
pub use distributions::{LogNormalSpec, ParetoSpec};
pub use error::{Fault, HistogramError, PopulationError, ReadError};
pub use extent::Extent;
pub use histogram::{SizeBin, SizeHistogram};
pub use keys::KeySpacing;
pub use layout::Layout;
pub use limits::{KINDS_MAX, OBJECTS_MAX, ROWS_MAX, SIZE_MAX};
pub use permutation::Permutation;
pub use presets::Preset;
pub use tally::{SizeTally, TallyBin};
pub use thinning::Thinning;

#[cfg(test)]
mod tests;
