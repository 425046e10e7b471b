//! What is wrong with a description, and what to write instead.

use super::Description;
use crate::FlowId;

/// Why a text describes no scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// There is no scheduler of that name.
    #[error("`{name}` is no scheduler: write {}{}", meant(*nearest), names())]
    Name {
        /// What was written.
        name: String,
        /// What was probably meant.
        nearest: Option<&'static str>,
    },
    /// A part of the text is not understood, or one is missing.
    #[error("`{text}`: {what}: write `{usage}`")]
    Word {
        /// The whole text.
        text: String,
        /// What is wrong.
        what: String,
        /// What may be written.
        usage: &'static str,
    },
    /// A flow would starve.
    #[error("flow {} has weight 0, and `{scheduler}` would never serve it: give it a weight of at least 1", flow.0)]
    Weight {
        /// Which.
        flow: FlowId,
        /// By which scheduler.
        scheduler: String,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(|| "one of ".to_owned(), |name| format!("`{name}`, or another of "))
}

fn names() -> String {
    Description::USAGES.map(|(name, _)| name).join(", ")
}

/// The known name nearest to one that is not known, if it is near: it begins so, or at most a third
/// of the letters differ.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let known = Description::USAGES.map(|(known, _)| known);
    let distance = |known: &&str| strsim::damerau_levenshtein(known, name);
    let best = known.into_iter().min_by_key(distance)?;
    let begun = known.into_iter().find(|known| name.len() > 2 && known.starts_with(name));
    begun.or((distance(&best) * 3 <= name.chars().count().max(best.len())).then_some(best))
}
