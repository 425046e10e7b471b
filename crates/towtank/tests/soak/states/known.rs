//! Laws that `whatif` breaks, and how. A law is taken out of this list once it holds: a long soak without a
//! violation of a law that is here fails too.

/// The law, and what is wrong.
pub(super) type Known = (&'static str, &'static str);

pub(super) const KNOWN: [Known; 0] = [];

/// Those that `whatif` breaks for wide clusters.
pub(super) const KNOWN_WIDE: [Known; 0] = [];
