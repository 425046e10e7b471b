//! Checksums of bodies, as clients of S3 send them: CRC-32, CRC-32C, CRC-64/NVME, SHA-1 and SHA-256.

use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, CRC_64_NVME, Crc, Table};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::fault::{Code, Fault};

static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_NVME);

/// A checksum algorithm of S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// CRC-32 as in zip files.
    Crc32,
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// CRC-64/NVME.
    Crc64Nvme,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme, Algorithm::Sha1, Algorithm::Sha256];

    /// Its name in headers, in capitals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Crc32 => "CRC32",
            Algorithm::Crc32c => "CRC32C",
            Algorithm::Crc64Nvme => "CRC64NVME",
            Algorithm::Sha1 => "SHA1",
            Algorithm::Sha256 => "SHA256",
        }
    }

    /// The header that holds a checksum of this algorithm.
    #[must_use]
    pub fn header(self) -> String {
        format!("x-amz-checksum-{}", self.name().to_ascii_lowercase())
    }

    /// The algorithm with this name.
    ///
    /// # Errors
    /// If no algorithm has this name.
    pub fn named(name: &str) -> Result<Algorithm, Fault> {
        let found = Algorithm::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Code::InvalidRequest.because(format!("`{name}` is not a checksum algorithm")))
    }

    /// The length of a checksum in bytes.
    #[must_use]
    pub fn length(self) -> usize {
        match self {
            Algorithm::Crc32 | Algorithm::Crc32c => 4,
            Algorithm::Crc64Nvme => 8,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
        }
    }

    /// Starts a checksum.
    #[must_use]
    pub fn begin(self) -> Running {
        match self {
            Algorithm::Crc32 => Running::Crc32(CRC32.digest()),
            Algorithm::Crc32c => Running::Crc32(CRC32C.digest()),
            Algorithm::Crc64Nvme => Running::Crc64(CRC64.digest()),
            Algorithm::Sha1 => Running::Sha1(Sha1::new()),
            Algorithm::Sha256 => Running::Sha256(Sha256::new()),
        }
    }

    /// The checksum of two consecutive runs of bytes, from the checksum of each; none if the algorithm does
    /// not allow that.
    #[must_use]
    pub(crate) fn joined(self, first: &[u8], second: &[u8], second_bytes: u64) -> Option<Vec<u8>> {
        let (polynomial, bits) = match self {
            Algorithm::Crc32 => (u64::from(CRC_32_ISO_HDLC.poly.reverse_bits()), 32),
            Algorithm::Crc32c => (u64::from(CRC_32_ISCSI.poly.reverse_bits()), 32),
            Algorithm::Crc64Nvme => (CRC_64_NVME.poly.reverse_bits(), 64),
            Algorithm::Sha1 | Algorithm::Sha256 => return None,
        };
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let field = Field { polynomial, bits };
        let joined = field.product(field.power(second_bytes), number(first)) ^ number(second);
        Some(joined.to_be_bytes()[8 - bits as usize / 8..].to_vec())
    }
}

/// Polynomials over the field of two elements, modulo that of a CRC; the highest bit is the lowest power.
/// Appending `n` zero bytes multiplies by x to the power of 8n (as in zlib's `crc32_combine`).
struct Field {
    polynomial: u64,
    bits: u32,
}

impl Field {
    fn product(&self, one: u64, mut other: u64) -> u64 {
        let mut sum = 0;
        for bit in (0..self.bits).rev() {
            if one >> bit & 1 == 1 {
                sum ^= other;
            }
            other = if other & 1 == 1 { other >> 1 ^ self.polynomial } else { other >> 1 };
        }
        sum
    }

    /// x to the power of eight times `bytes`.
    fn power(&self, bytes: u64) -> u64 {
        let one = 1 << (self.bits - 1);
        let mut square = one >> 8;
        let mut all = one;
        let mut left = bytes;
        while left > 0 {
            if left & 1 == 1 {
                all = self.product(square, all);
            }
            square = self.product(square, square);
            left >>= 1;
        }
        all
    }
}

/// A checksum in progress.
#[derive(Clone)]
pub enum Running {
    /// A CRC of 32 bits.
    Crc32(crc::Digest<'static, u32, Table<16>>),
    /// A CRC of 64 bits.
    Crc64(crc::Digest<'static, u64, Table<16>>),
    /// SHA-1.
    Sha1(Sha1),
    /// SHA-256.
    Sha256(Sha256),
}

impl Running {
    /// Adds more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Running::Crc32(digest) => digest.update(bytes),
            Running::Crc64(digest) => digest.update(bytes),
            Running::Sha1(digest) => digest.update(bytes),
            Running::Sha256(digest) => digest.update(bytes),
        }
    }

    /// The checksum, most significant byte first.
    #[must_use]
    pub fn end(self) -> Vec<u8> {
        match self {
            Running::Crc32(digest) => digest.finalize().to_be_bytes().to_vec(),
            Running::Crc64(digest) => digest.finalize().to_be_bytes().to_vec(),
            Running::Sha1(digest) => digest.finalize().to_vec(),
            Running::Sha256(digest) => digest.finalize().to_vec(),
        }
    }
}

/// The usual digits, with padding. Spare bits of the last digit may be set: they are no part of the value.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Encodes bytes in base64, as in checksum headers.
#[must_use]
pub(crate) fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Decodes padded base64; none if it is malformed.
#[must_use]
pub(crate) fn unbase64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(algorithm: Algorithm, bytes: &[u8]) -> Vec<u8> {
        let mut running = algorithm.begin();
        bytes.chunks(3).for_each(|part| running.update(part));
        running.end()
    }

    /// The check values of the catalogue of CRCs, and digests from FIPS 180.
    #[test]
    fn known_checksums_are_right() {
        for (algorithm, text, want) in [
            (Algorithm::Crc32, "123456789", "cbf43926"),
            (Algorithm::Crc32c, "123456789", "e3069283"),
            (Algorithm::Crc64Nvme, "123456789", "ae8b14860a799888"),
            (Algorithm::Sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (Algorithm::Sha256, "", crate::signature::EMPTY),
        ] {
            let found = of(algorithm, text.as_bytes());
            assert_eq!((crate::signature::hex(&found).as_str(), found.len()), (want, algorithm.length()));
            assert_eq!(Algorithm::named(&algorithm.name().to_lowercase()), Ok(algorithm));
        }
        assert!(Algorithm::named("MD5").is_err());
    }

    #[test]
    fn base64_has_its_padding() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!((base64(bytes.as_bytes()).as_str(), unbase64(text)), (text, Some(bytes.into())));
        }
        for bad in ["Z", "Zg", "Zg=", "====", "Zm9!", "Z===", "Zg==Zg=="] {
            assert_eq!(unbase64(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn joined_checksums_are_those_of_the_whole(
            first in proptest::collection::vec(any::<u8>(), 0..80),
            second in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            for algorithm in [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme] {
                let (one, other) = (of(algorithm, &first), of(algorithm, &second));
                let joined = algorithm.joined(&one, &other, second.len() as u64);
                prop_assert_eq!(joined, Some(of(algorithm, &[&first[..], &second].concat())));
            }
        }

        #[test]
        fn base64_is_read_as_written(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unbase64(&base64(&bytes)), Some(bytes));
        }

        #[test]
        fn hostile_base64_is_refused_or_read(text in "[A-Za-z0-9+/=é]{0,12}") {
            let _ = unbase64(&text);
        }
    }
}
