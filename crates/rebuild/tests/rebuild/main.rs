//! Tests of what this crate shows to others: which failures strike what, what they affect, where it belongs
//! afterwards, and that the audit of the model notices a damaged state.

mod cluster;
mod damaged;
mod homes;
mod lost;
mod struck;

/// The small clusters of the tests beside the code, which name the modules that are imported here.
#[allow(dead_code, reason = "the tests beside the code use more of it")]
#[path = "../../src/sample.rs"]
mod sample;

use towtank_rebuild::{hardware, model, placing, plan, redundancy};
