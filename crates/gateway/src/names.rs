//! The names of S3's buckets, objects and uploads in the store, and the rules for bucket names and keys.
//!
//! `s3/buckets/BUCKET` is a bucket, `s3/objects/BUCKET/KEY` an object or its manifest, `s3/pieces/ID/N` a
//! piece, `s3/uploads/BUCKET/KEY/ID` an upload in parts, and `s3/parts/ID/N` the record of a part.

use crate::fault::{Code, Fault};

/// The prefix of buckets.
pub(crate) const BUCKETS: &str = "s3/buckets/";

/// The prefix of objects.
pub(crate) const OBJECTS: &str = "s3/objects/";

/// The prefix of pieces.
pub(crate) const PIECES: &str = "s3/pieces/";

/// The prefix of uploads.
pub(crate) const UPLOADS: &str = "s3/uploads/";

/// The prefix of parts.
pub(crate) const PARTS: &str = "s3/parts/";

/// The longest key of an object, in bytes.
const KEY_MAX: usize = 1_024;

/// The bucket and key of an S3 object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bucket.
    pub bucket: String,
    /// The key.
    pub key: String,
}

impl Place {
    /// A place whose bucket name and key are valid.
    ///
    /// # Errors
    /// If one of them is not valid.
    pub fn new(bucket: &str, key: &str) -> Result<Place, Fault> {
        check_bucket(bucket)?;
        if key.len() > KEY_MAX {
            let message = format!("the key has {} bytes, but the limit is {KEY_MAX}", key.len());
            return Err(Code::KeyTooLong.because(message));
        }
        Ok(Place { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// The object's name in the store.
    #[must_use]
    pub fn object(&self) -> String {
        format!("{OBJECTS}{}/{}", self.bucket, self.key)
    }

    /// The name of an upload for this object.
    #[must_use]
    pub(crate) fn upload(&self, id: &str) -> String {
        format!("{UPLOADS}{}/{}/{id}", self.bucket, self.key)
    }
}

/// The name of a piece of a segment.
#[must_use]
pub fn piece(id: &str, number: u64) -> String {
    format!("{PIECES}{id}/{number:06}")
}

/// The name of a part of an upload.
#[must_use]
pub fn part(upload: &str, number: u32) -> String {
    format!("{PARTS}{upload}/{number:05}")
}

/// Checks a bucket name by the rules of S3: 3 to 63 lower-case letters, digits, dots and hyphens, with a
/// letter or digit at both ends, no two dots in a row, and not an IP address.
///
/// # Errors
/// If the name breaks one of them.
pub(crate) fn check_bucket(name: &str) -> Result<(), Fault> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().next_back()];
    let sound = (3..=63).contains(&name.len())
        && name.bytes().all(|byte| is_plain(byte) || byte == b'.' || byte == b'-')
        && ends.into_iter().flatten().all(is_plain)
        && !name.contains("..")
        && name.parse::<std::net::Ipv4Addr>().is_err();
    if sound {
        Ok(())
    } else {
        Err(Code::InvalidBucketName.because(format!("`{name}` is not a bucket name")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_rules() {
        for name in ["abc", "a.b-c.1", &"a".repeat(63)] {
            assert_eq!(check_bucket(name), Ok(()), "{name}");
        }
        for name in ["", "ab", &"a".repeat(64), "Abc", "a_b", "-ab", "ab.", "a..b", "127.0.0.1", "a/b", "äbc"]
        {
            assert!(check_bucket(name).is_err(), "{name}");
        }
    }

    #[test]
    fn all_names_fit_into_the_store() {
        let place = Place::new(&"b".repeat(63), &"k".repeat(KEY_MAX)).expect("it may be");
        let id = "0".repeat(64);
        for name in [place.object(), place.upload(&id), piece(&id, u64::MAX), part(&id, u32::MAX)] {
            assert_eq!(towtank_store::names::fault_of(&name), None, "{name}");
        }
        assert!(Place::new("abc", &"k".repeat(KEY_MAX + 1)).is_err());
    }
}
