//! Errors in a description, each with what to write instead.

use super::Description;
use crate::FlowId;

/// Why a text does not describe a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// There is no scheduler of that name.
    #[error("`{name}` is not a scheduler: use {}{}", meant(*nearest), names())]
    Name {
        /// The name as written.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<&'static str>,
    },
    /// A part of the text is not understood or is missing.
    #[error("`{text}`: {what}: use `{usage}`")]
    Word {
        /// The whole text.
        text: String,
        /// The error.
        what: String,
        /// The usage of this scheduler.
        usage: &'static str,
    },
    /// A flow would starve.
    #[error("flow {} has weight 0, and `{scheduler}` would never serve it: give it a weight of at least 1", flow.0)]
    Weight {
        /// The flow.
        flow: FlowId,
        /// The scheduler that would starve it.
        scheduler: String,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(|| "one of ".to_owned(), |name| format!("`{name}`, or another of "))
}

fn names() -> String {
    Description::USAGES.map(|(name, _)| name).join(", ")
}

/// The known name nearest to an unknown one, if it is near: one that begins with it, or one in which at most
/// a third of the letters differ.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let known = Description::USAGES.map(|(known, _)| known);
    let distance = |known: &&str| strsim::damerau_levenshtein(known, name);
    let best = known.into_iter().min_by_key(distance)?;
    let begun = known.into_iter().find(|known| name.len() > 2 && known.starts_with(name));
    begun.or((distance(&best) * 3 <= name.chars().count().max(best.len())).then_some(best))
}
