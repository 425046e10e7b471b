//! P(loss | burst): so many units fail at once, and nothing is repaired between. A burst is a condition, so
//! these are no probabilities in a year.
//!
//! - [`Layout`]: regular layouts, exactly.
//! - [`copysets`]: many copies of few sets of nodes (Cidon et al., USENIX ATC 2013).
//! - [`Explicit`]: a list of groups as it is, exactly where the sets can be counted, else with an exact
//!   interval of drawn ones.

pub mod copysets;
mod explicit;
mod layout;
mod polynomial;
mod subsets;

pub use explicit::{Explicit, Found, Method, Units, share_of};
pub use layout::Layout;
