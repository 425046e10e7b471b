//! `towtank crush` beside the real crushtool of Ceph 16.2 (Debian: `ceph-base`), and its errors, which are
//! ours.
//!
//! Without crushtool the comparisons are skipped, and say so; under `CI=true` its absence fails.

mod display;
mod edits;
mod errors;
mod tool;
