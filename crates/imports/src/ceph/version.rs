//! The version of a daemon of Ceph: `18.2.5`.

use std::fmt;
use std::str::FromStr;

/// The names of Ceph's releases from 15 on.
pub(super) const NAMES: [&str; 7] = ["octopus", "pacific", "quincy", "reef", "squid", "tentacle", "umbrella"];

/// The first of these.
pub(super) const FIRST_NAMED: u32 = 15;

/// The number of the release of this name.
#[must_use]
pub(super) fn of_name(name: &str) -> Option<u32> {
    (FIRST_NAMED..).zip(NAMES).find(|(_, known)| *known == name).map(|(number, _)| number)
}

/// A version, or the part of it that is known: `18`, `18.2`, `18.2.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The release: 18 is Reef.
    pub major: u32,
    /// 0 while it is developed, 1 for candidates, 2 when it is stable.
    pub minor: Option<u32>,
    /// The number of corrections.
    pub patch: Option<u32>,
}

impl Version {
    /// A release without its minor version.
    #[must_use]
    pub const fn of_major(major: u32) -> Version {
        Version { major, minor: None, patch: None }
    }

    /// The version in what a daemon says of itself: `18.2.0-1-g5dd2413`, `ceph version 18.2.0 (5dd2413) reef
    /// (stable)`. None where it has no number, as builds without one.
    #[must_use]
    pub(crate) fn in_text(text: &str) -> Option<Version> {
        let word =
            text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        let end = |word: &str| word.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
        let word = word?;
        word[..end(word).unwrap_or(word.len())].parse().ok()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.major)?;
        for part in [self.minor, self.patch].into_iter().map_while(|part| part) {
            write!(f, ".{part}")?;
        }
        Ok(())
    }
}

/// The text is no version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no version of Ceph")]
pub struct NoVersion;

impl FromStr for Version {
    type Err = NoVersion;

    /// Reads `18`, `18.2.5`, or the name of a release, `reef`.
    fn from_str(text: &str) -> Result<Version, NoVersion> {
        if let Some(major) = of_name(text) {
            return Ok(Version::of_major(major));
        }
        let part = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number).ok_or(NoVersion)
        };
        let parts: Vec<u32> = text.split('.').map(part).collect::<Result<_, _>>()?;
        match parts[..] {
            [major] => Ok(Version::of_major(major)),
            [major, minor] => Ok(Version { major, minor: Some(minor), patch: None }),
            [major, minor, patch] => Ok(Version { major, minor: Some(minor), patch: Some(patch) }),
            _ => Err(NoVersion),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_written() {
        for text in ["18", "18.2", "18.2.5", "9.0.0"] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
        }
        assert_eq!("reef".parse(), Ok(Version::of_major(18)));
        assert_eq!(NAMES.len(), NAMES.iter().filter_map(|name| of_name(name)).count());
        for text in [
            "",
            "Reef",
            "nautilus",
            "18.",
            ".2",
            "18.2.5.1",
            "v18",
            "18.2.x",
            "-1",
            "+18",
            "18 ",
            "99999999999",
        ] {
            assert_eq!(text.parse::<Version>(), Err(NoVersion), "{text}");
        }
    }

    #[test]
    fn what_daemons_say_has_a_version() {
        let of = |text: &str| Version::in_text(text).map(|version| version.to_string());
        let reef = "ceph version 18.2.0 (5dd24139a1eada541a3bc16b6941c5dde975e26d) reef (stable)";
        assert_eq!(of(reef).as_deref(), Some("18.2.0"));
        assert_eq!(of("18.2.0-131.el9cp").as_deref(), Some("18.2.0"));
        assert_eq!(of("19.0.0-1234-g5dd2413a").as_deref(), Some("19.0.0"));
        assert_eq!(of("ceph version Development (no_version) squid (dev)"), None);
        assert_eq!(of(""), None);
        assert_eq!(of("18..2"), None);
    }
}
