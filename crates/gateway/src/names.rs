//! How things of S3 are named in the store, and which names they may have.
//!
//! `s3/buckets/BUCKET` is a bucket, `s3/objects/BUCKET/KEY` an object or its manifest, `s3/pieces/ID/N` a
//! piece, `s3/uploads/BUCKET/KEY/ID` an upload in parts, and `s3/parts/ID/N` what is known of a part.

use crate::fault::{Code, Fault};

/// Before the names of buckets.
pub const BUCKETS: &str = "s3/buckets/";

/// Before the names of objects.
pub const OBJECTS: &str = "s3/objects/";

/// Before the names of pieces.
pub const PIECES: &str = "s3/pieces/";

/// Before the names of uploads.
pub const UPLOADS: &str = "s3/uploads/";

/// Before the names of parts.
pub const PARTS: &str = "s3/parts/";

/// The longest key of an object, in bytes.
pub const KEY_MAX: usize = 1_024;

/// An object of S3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bucket that it is in.
    pub bucket: String,
    /// Its key.
    pub key: String,
}

impl Place {
    /// A place whose names may be.
    ///
    /// # Errors
    /// When one of them may not.
    pub fn new(bucket: &str, key: &str) -> Result<Place, Fault> {
        check_bucket(bucket)?;
        if key.len() > KEY_MAX {
            let message = format!("the key has {} bytes, and at most {KEY_MAX} are possible", key.len());
            return Err(Code::KeyTooLong.because(message));
        }
        Ok(Place { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// Its name in the store.
    #[must_use]
    pub fn object(&self) -> String {
        format!("{OBJECTS}{}/{}", self.bucket, self.key)
    }

    /// The name of an upload of it.
    #[must_use]
    pub fn upload(&self, id: &str) -> String {
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

/// The rules of S3: 3 to 63 small letters, digits, dots and hyphens, a letter or digit at both ends, no two
/// dots in a row, and no address of a network.
///
/// # Errors
/// When the name breaks one.
pub fn check_bucket(name: &str) -> Result<(), Fault> {
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
        Err(Code::InvalidBucketName.because(format!("`{name}` is no name of a bucket")))
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
