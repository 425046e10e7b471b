//! Readers of I/O traces: any of thirteen formats in, one kind of record out, one record at a time.
//!
//! [`Reader`] is an iterator over any readable source, compressed by gzip or zstd or not. Its memory does not
//! grow with the trace: it holds one block of text, and the distinct names if the format has names. The
//! format is given, or detected from the first block. [`read_layouts`] reads the file layouts of a PFSsim
//! scenario.
//!
//! ```
//! use towtank_traces::{Format, Op, Options, Reader, When};
//! use towtank_units::SimTime;
//!
//! let text = "3,R,4096,8192,1577808000000100\n3,W,0,4096,1577808000000350\n";
//! let mut trace = Reader::open("io_traces.csv", text.as_bytes(), None, Options::default())?;
//! assert_eq!(trace.format(), Format::Alibaba);
//! trace.next().expect("two records")?;
//! let second = trace.next().expect("two records")?;
//! assert_eq!((second.at, second.op), (When::At(SimTime::from_ns(250_000)), Op::Write));
//! # Ok::<(), towtank_traces::TraceError>(())
//! ```
//!
//! What a format does not record is `None`, never 0. Times, sizes and offsets are whole numbers throughout: a
//! decimal fraction of a second is cut after its ninth digit, and no value passes through a float.
//!
//! Left out on purpose: opening files (the source is an argument), any interpretation of the records for a
//! simulation, and continuing after an unreadable line: the first one is an error, with its number.
//!
//! **Invariant:** no input makes a reader panic, and none takes more memory than [`MEMORY_MAX_BYTES`].

mod detect;
mod error;
mod fields;
mod format;
mod formats;
mod layouts;
mod lines;
mod names;
mod options;
mod packing;
mod reader;
mod record;

pub use error::{Place, TraceError};
pub use format::{Clock, Format, UnknownFormat};
pub use layouts::{FILES_MAX, Layout, STRIPES_MAX, Stripe, read_layouts};
pub use lines::LINE_MAX_BYTES;
pub use names::{NAMES_MAX, NAMES_MAX_BYTES, Names};
pub use options::{IoLayer, Options, Order, Origin, Stage};
pub use packing::WINDOW_MAX_BYTES;
pub use reader::{MEMORY_MAX_BYTES, Reader};
pub use record::{Op, Record, When};
