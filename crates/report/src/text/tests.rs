//! The terminal's view of the sample reports, as snapshots.

use super::*;
use crate::sample;

#[test]
fn placeholder() {}
