//! Laws that `whatif` breaks, and how. A law is taken out of this list once it holds: 300 clusters without a
//! violation of a law that is here fail the test too.

/// The law, and what is wrong.
pub(super) type Known = (&'static str, &'static str);

/// None at present.
pub(super) const KNOWN: [Known; 0] = [];
