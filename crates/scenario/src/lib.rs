//! Turns scenario text into checked values: keys, units, errors with their place, sweeps, the resolved form
//! and its hash, JSON Schema, and the gate expressions of `--fail-if`.
//!
//! The steps: [`Document::parse`] a file (or begin [`Document::of_study`]), [`Document::set`] the values of
//! flags, [`Document::outline`] it into points, let the study [`Draft::read`] each point into its scenario
//! type, and [`Outline::resolve`] the results of the study.
//!
//! A scenario type is a plain struct that derives `serde` with `deny_unknown_fields` and
//! `schemars::JsonSchema`; its doc comments become the help of its keys, and its ranges and names the errors.
//! All errors are found at once where possible, and each [`Problem`] has its place, its limit and a next
//! step.
//!
//! **Invariant:** nothing here opens a file; input files come through [`Files`], which the front end
//! implements. Nothing here prints; the front end decides how a [`Problem`] looks. No text makes any of this
//! panic.

mod aliases;
mod check;
mod document;
mod draft;
mod flag;
pub mod gate;
mod hash;
mod header;
mod header_keys;
mod key;
mod node;
mod problem;
mod read;
mod resolved;
mod schema;
mod setting;
mod source;
mod suggest;
mod sweep;
mod words;

pub use aliases::other_names;
pub use document::{Document, Outline, Point};
pub use draft::{Draft, Files, Input};
pub use flag::FlagName;
pub use hash::hash_of_bytes;
pub use header::Header;
pub use key::{KeyPath, KeyPathError, Segment};
pub use problem::{Problem, Problems};
pub use resolved::{HashedBeside, Resolved, ResolvedAxis, ResolvedPoint};
pub use schema::{SchemaParts, file_schema};
pub use setting::Setting;
pub use source::{Place, Source, SourceKind};
pub use suggest::{did_you_mean, nearest};
pub use words::words_of;
