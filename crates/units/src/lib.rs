//! Quantities with explicit units: simulated time, sizes, rates, frequencies and shares.
//!
//! Every quantity is stored as an integer, so sums and comparisons are exact and the same on every machine.
//! Text with a unit ("60TiB", "250us", "10Gbit/s") is read exactly or refused with a hint, and printed text
//! reads back as the same value. The crate contains no terms of storage.
//!
//! ```
//! # use towtank_units as units;
//! use towtank_units::{Bytes, Rate, SimSpan};
//!
//! let rate: Rate = "10Gbit/s".parse()?;
//! let size: Bytes = "1.5GiB".parse()?;
//! assert_eq!(rate.span_for(size), SimSpan::from_ns(1_288_490_189));
//! assert_eq!(rate.to_string(), "1.25GB/s");
//!
//! let error = "5m".parse::<SimSpan>().unwrap_err();
//! assert_eq!(error.to_string(), "`5m`: `m` is not a unit of a duration");
//! assert_eq!(error.hint(), "write `min` for minutes or `ms` for milliseconds");
//! # Ok::<(), towtank_units::UnitError>(())
//! ```

mod amount;
mod bits;
mod bytes;
mod error;
mod kind;
pub mod pairs;
mod percent;
mod quantity;
mod rate;
mod scale;
mod time;

#[cfg(test)]
mod tests;

pub use bits::Bits;
pub use bytes::Bytes;
pub use error::{HINT_MARK, UnitError};
pub use kind::UnitErrorKind;
pub use percent::Percent;
pub use quantity::{Quantity, plain};
pub use rate::{BitRate, Frequency, Rate, Rounding};
pub use scale::Scale;
pub use time::{SimSpan, SimTime};
