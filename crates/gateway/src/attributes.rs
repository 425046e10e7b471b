//! The attributes that the store keeps with an S3 object: its headers, its metadata, and how its bytes are
//! stored.
//!
//! All of them are attributes of one object of the store, so that a listing or a `HEAD` reads no data.

use std::collections::BTreeMap;

use crate::checksums::{Algorithm, base64};
use crate::dates::Moment;
use crate::fault::{Code, Fault};
use crate::request::Request;

/// Request headers that are stored and returned unchanged.
pub(crate) const KEPT: [&str; 6] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
];

/// The most bytes of user metadata, names and values together, as in S3.
const META_MAX: usize = 2 << 10;

/// The most bytes of all stored headers.
const KEPT_MAX: usize = 8 << 10;

/// How the bytes of an object are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// In the store's object itself.
    #[default]
    Whole,
    /// In pieces; the store's object holds the manifest.
    Pieces,
}

/// A checksum as replies report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedChecksum {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The value in base64; for a composite checksum of an upload, followed by `-N`.
    pub value: String,
    /// Whether it is a checksum of the parts' checksums rather than of all bytes.
    pub is_composite: bool,
}

impl ReportedChecksum {
    /// The checksum of all bytes of an object.
    #[must_use]
    pub fn whole((algorithm, bytes): &(Algorithm, Vec<u8>)) -> ReportedChecksum {
        ReportedChecksum { algorithm: *algorithm, value: base64(bytes), is_composite: false }
    }

    /// S3's name for the kind of checksum.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.is_composite { "COMPOSITE" } else { "FULL_OBJECT" }
    }

    fn text(&self) -> String {
        format!("{} {} {}", self.algorithm.name(), self.kind(), self.value)
    }

    fn parse(text: &str) -> Option<ReportedChecksum> {
        let mut words = text.split(' ');
        let algorithm = Algorithm::named(words.next()?).ok()?;
        let is_composite = words.next()? == "COMPOSITE";
        Some(ReportedChecksum { algorithm, value: words.next()?.to_owned(), is_composite })
    }
}

/// The properties that the caller sets on an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Stored headers, by name.
    pub headers: BTreeMap<String, String>,
    /// User metadata, by name without `x-amz-meta-`.
    pub meta: BTreeMap<String, String>,
}

impl Labels {
    /// The labels in a request that writes an object.
    ///
    /// # Errors
    /// If they are too large.
    pub fn of(request: &Request) -> Result<Labels, Fault> {
        let mut labels = Labels::default();
        for name in KEPT {
            let Some(value) = request.header(name) else { continue };
            // `aws-chunked` describes the transfer, not the object.
            let parts = value.split(',').map(str::trim).filter(|it| *it != "aws-chunked" && !it.is_empty());
            let value = match name {
                "content-encoding" => parts.collect::<Vec<_>>().join(", "),
                _ => value.to_owned(),
            };
            if !value.is_empty() {
                labels.headers.insert(name.to_owned(), value);
            }
        }
        for (name, value) in &request.headers {
            if let Some(name) = name.strip_prefix("x-amz-meta-") {
                labels.meta.insert(name.to_owned(), value.clone());
            }
        }
        let bytes = |all: &BTreeMap<String, String>| {
            all.iter().map(|(it, value)| it.len() + value.len()).sum::<usize>()
        };
        if bytes(&labels.meta) > META_MAX {
            let message = format!("the metadata exceeds {META_MAX} bytes");
            return Err(Code::MetadataTooLarge.because(message));
        }
        if bytes(&labels.headers) > KEPT_MAX {
            return Err(Code::InvalidArgument.because(format!("the headers exceed {KEPT_MAX} bytes")));
        }
        Ok(labels)
    }
}

/// Everything that is known of an object besides its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The properties that the caller set.
    pub labels: Labels,
    /// The number of its bytes.
    pub length: u64,
    /// The hexadecimal MD5 of its bytes; for an upload in parts, the MD5 of the parts' MD5s with `-N`.
    pub etag: String,
    /// When it was written.
    pub modified: Moment,
    /// How its bytes are stored.
    pub form: Form,
    /// Its checksum, if it has one.
    pub checksum: Option<ReportedChecksum>,
    /// The id of the upload that created it.
    pub upload: Option<String>,
}

const HEADER: &str = "header:";
const META: &str = "meta:";

impl Attributes {
    /// The attributes as the store keeps them.
    #[must_use]
    pub fn encode(&self) -> BTreeMap<String, String> {
        let form = match self.form {
            Form::Whole => "whole",
            Form::Pieces => "pieces",
        };
        let mut all = BTreeMap::from([
            ("etag".to_owned(), self.etag.clone()),
            ("form".to_owned(), form.to_owned()),
            ("length".to_owned(), self.length.to_string()),
            ("modified".to_owned(), self.modified.0.to_string()),
        ]);
        all.extend(self.checksum.iter().map(|it| ("checksum".to_owned(), it.text())));
        all.extend(self.upload.iter().map(|it| ("upload".to_owned(), it.clone())));
        let prefixed = |prefix: &'static str, labels: &BTreeMap<String, String>| {
            let pairs = labels.iter().map(move |(name, value)| (format!("{prefix}{name}"), value.clone()));
            pairs.collect::<Vec<_>>()
        };
        all.extend(prefixed(HEADER, &self.labels.headers));
        all.extend(prefixed(META, &self.labels.meta));
        all
    }

    /// Reads what [`Attributes::encode`] wrote.
    ///
    /// # Errors
    /// If the stored attributes were not written by a gateway.
    pub fn decode(all: &BTreeMap<String, String>) -> Result<Attributes, Fault> {
        let fault = || Code::InternalError.because("the stored attributes of the object are invalid");
        let number = |key: &str| all.get(key).and_then(|text| text.parse().ok()).ok_or_else(fault);
        let labels = |prefix: &str| {
            let pairs = all.iter().filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value)));
            pairs.map(|(name, value)| (name.to_owned(), value.clone())).collect()
        };
        Ok(Attributes {
            labels: Labels { headers: labels(HEADER), meta: labels(META) },
            length: number("length")?,
            etag: all.get("etag").cloned().ok_or_else(fault)?,
            modified: Moment(number("modified")?),
            form: match all.get("form").map(String::as_str) {
                Some("whole") => Form::Whole,
                Some("pieces") => Form::Pieces,
                _ => return Err(fault()),
            },
            checksum: all.get("checksum").and_then(|text| ReportedChecksum::parse(text)),
            upload: all.get("upload").cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(headers: &[(&str, &str)]) -> Result<Labels, Code> {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        Labels::of(&Request::new("PUT", "/b/k", headers).expect("it can be read")).map_err(|it| it.code)
    }

    #[test]
    fn what_the_caller_says_is_kept() {
        let found = labels(&[
            ("Content-Type", "text/plain"),
            ("content-encoding", "deflate, gzip, aws-chunked"),
            ("x-amz-meta-Colour", "blue"),
            ("x-amz-date", "never"),
        ]);
        let found = found.expect("it can be kept");
        assert_eq!(found.headers["content-type"], "text/plain");
        assert_eq!((found.headers["content-encoding"].as_str(), found.headers.len()), ("deflate, gzip", 2));
        assert_eq!(found.meta, [("colour".to_owned(), "blue".to_owned())].into());
        let chunked = labels(&[("content-encoding", "aws-chunked")]).expect("it can be kept");
        assert_eq!(chunked, Labels::default());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        for (header, want) in [
            (("x-amz-meta-a", "x".repeat(META_MAX)), Code::MetadataTooLarge),
            (("cache-control", "x".repeat(KEPT_MAX)), Code::InvalidArgument),
        ] {
            assert_eq!(labels(&[(header.0, &header.1)]), Err(want), "{}", header.0);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            meta in proptest::collection::btree_map("[a-z:]{1,8}", ".{0,20}", 0..4),
            headers in proptest::collection::btree_map("[a-z-]{1,8}", ".{0,20}", 0..4),
            length: u64,
            composite: bool,
        ) {
            let attributes = Attributes {
                labels: Labels { headers, meta },
                length,
                etag: "abc-2".to_owned(),
                modified: Moment(length),
                form: Form::Pieces,
                checksum: Some(ReportedChecksum {
                    algorithm: Algorithm::Sha1,
                    value: "AA==".to_owned(),
                    is_composite: composite,
                }),
                upload: Some("u".to_owned()),
            };
            prop_assert_eq!(Attributes::decode(&attributes.encode()), Ok(attributes));
        }
    }

    #[test]
    fn objects_of_others_are_distinguished() {
        let whole = Attributes::default().encode();
        for key in ["etag", "form", "length", "modified"] {
            let mut planted = whole.clone();
            planted.remove(key);
            assert!(Attributes::decode(&planted).is_err(), "without {key}");
        }
    }
}
