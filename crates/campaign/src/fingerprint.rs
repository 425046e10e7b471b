//! Short names for long contents: the first half of a SHA-256, as 32 hexadecimal digits.
//!
//! 128 bits make accidental collisions practically impossible. Names are not protected against forgery.

use sha2::{Digest, Sha256};

/// Takes parts in order. Each part is hashed with its length, so that `("ab", "c")` and `("a", "bc")` differ.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    /// Starts a name for `purpose`, so that equal parts with another meaning get another name.
    pub(crate) fn of(purpose: &str) -> Self {
        Self(Sha256::new()).part(purpose)
    }

    /// Adds a part.
    #[must_use]
    pub(crate) fn part(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        let length = u64::try_from(part.len()).expect("no part is longer than 2^64 bytes");
        self.0.update(length.to_le_bytes());
        self.0.update(part);
        self
    }

    /// Adds a number.
    #[must_use]
    pub(crate) fn number(self, number: u64) -> Self {
        self.part(number.to_le_bytes())
    }

    /// The name of all parts so far.
    pub(crate) fn hex(self) -> String {
        self.0.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let name = |parts: &[&str]| parts.iter().fold(Fingerprint::of("test"), |f, part| f.part(part)).hex();
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_ne!(name(&["ab"]), name(&["ab", ""]));
        assert_eq!(name(&["ab", "c"]).len(), 32);
        assert_ne!(Fingerprint::of("one").hex(), Fingerprint::of("other").hex());
    }

    #[test]
    fn a_name_never_changes_between_versions() {
        // printf '\x04\0\0\0\0\0\0\0test\x03\0\0\0\0\0\0\0abc' | sha256sum
        insta::assert_snapshot!(Fingerprint::of("test").part("abc").hex(), @"d1511677872b3eff330423e6cb979b33");
    }
}
