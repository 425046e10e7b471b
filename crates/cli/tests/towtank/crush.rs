//! Compares `towtank crush` with the real crushtool of Ceph 16.2 (Debian: `ceph-base`), and checks its
//! errors, which are ours.
//!
//! Without crushtool the comparisons are skipped with a message; under `CI=true` its absence fails.

mod display;
mod edits;
mod errors;
mod tool;
