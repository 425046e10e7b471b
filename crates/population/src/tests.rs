//! Populations against a slow and obvious enumeration, and the presets against the figures they were proposed
//! with.

mod enumeration;
mod presets;
pub(crate) mod spread;
