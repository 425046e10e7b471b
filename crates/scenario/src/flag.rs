//! Flags on the command line that stand for keys.

use crate::key::KeyPath;

/// A flag that sets a key, for hints about keys that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagName {
    /// With its dashes: `--servers`.
    pub flag: String,
    /// The key it sets.
    pub key: KeyPath,
}
