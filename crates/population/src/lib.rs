//! Data sets as distributions: any object, its size and its key, without a table of objects.
//!
//! A [`SizeHistogram`] says how large files are, a [`Layout`] how a file becomes objects, and an [`Extent`]
//! how much there is of it. A [`Population`] of these three and a seed answers for every object by itself:
//! object 1,234,567,890 has the same size, file and key whoever asks, and in whatever order. It takes memory
//! by the kinds of files, not by their number.
//!
//! Objects have dense ids from 0, and a place in the order of keys ([`Population::rank`]) that is a keyed
//! permutation of the ids with an inverse. So a placement that knows which keys touch a server leads to the
//! objects of that server without looking at any other ([`Population::ids_with_keys`],
//! [`Population::ids_in_residue`]); where a placement has no inverse, [`Thinning`] draws as if each object
//! were asked by itself.
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
//! What is deliberately absent: contents, names, times, and where objects lie (`placement`). Files are read
//! from bytes that somebody else has opened.

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
