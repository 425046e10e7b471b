//! Tests of described systems: published rows, closed forms, properties, refusals.

mod asked;
mod golden;
mod properties;
mod refusals;
