//! A release as a user names it in a scenario: `18`, or `"18.2.5"`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use towtank_imports::ceph::Version;
use towtank_units::HINT_MARK;

/// A version of Ceph, or the part of it that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CephRelease(pub Version);

impl CephRelease {
    /// A release without its minor version.
    #[must_use]
    pub const fn of_major(major: u32) -> CephRelease {
        CephRelease(Version::of_major(major))
    }
}

impl Serialize for CephRelease {
    /// A release without its minor version is a number, as it was before there were versions: scenarios that
    /// name one keep their hash.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Version { major, minor: None, .. } => serializer.serialize_u32(major),
            version => serializer.collect_str(&version),
        }
    }
}

struct OfKey;

impl Visitor<'_> for OfKey {
    type Value = CephRelease;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a version of Ceph, such as 18, \"18.2.5\" or \"reef\"")
    }

    fn visit_u64<E: de::Error>(self, major: u64) -> Result<CephRelease, E> {
        u32::try_from(major).map(CephRelease::of_major).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, major: i64) -> Result<CephRelease, E> {
        u32::try_from(major).map(CephRelease::of_major).map_err(E::custom)
    }

    /// `18.2`, which is a number where a flag or a file has it without quotes. A number says no more than
    /// that: 18.20 is the same one.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<CephRelease, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CephRelease, E> {
        text.parse()
            .map(CephRelease)
            .map_err(|error| {
                E::custom(format!(
                    "`ceph_release` is \"{text}\": {error}{HINT_MARK}write `18`, `\"18.2.5\"`, or the name of a release, \
                     `\"reef\"`"
                ))
            })
    }
}

impl<'de> Deserialize<'de> for CephRelease {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CephRelease, D::Error> {
        deserializer.deserialize_any(OfKey)
    }
}

impl JsonSchema for CephRelease {
    fn schema_name() -> Cow<'static, str> {
        "CephRelease".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["integer", "number", "string"],
            "minimum": 1,
            "maximum": 99,
            "pattern": "^([0-9]+([.][0-9]+){0,2}|[a-z]+)$",
            "examples": ["18", "18.2.5", "reef"]
        })
    }
}
