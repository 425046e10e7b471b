//! Flags on the command line that set keys.

use crate::key::KeyPath;

/// A flag that sets a key, for hints about missing keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagName {
    /// The flag with its dashes: `--servers`.
    pub flag: String,
    /// The key it sets.
    pub key: KeyPath,
}
