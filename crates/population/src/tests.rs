//! Populations compared with a simple enumeration, and the presets compared with the figures of their
//! proposal.

mod enumeration;
mod presets;
pub(crate) mod spread;
