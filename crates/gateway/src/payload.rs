//! A body with what its request states about it: length, digests, checksum.
//!
//! Bytes are passed on as they arrive; whether they are correct is known only at the end. Until
//! [`Payload::end`] has succeeded, nothing made from them may become visible.

use bytes::Bytes;
use md5::Md5;
use sha2::{Digest, Sha256};

use crate::checksums::{Algorithm, Running, unbase64};
use crate::chunks::Chunks;
use crate::fault::{Code, Fault};
use crate::request::Request;
use crate::signature::BodyRule;
use crate::source::Source;

/// The longest body of an object or of a part: 5 GiB.
pub(crate) const BODY_MAX: u64 = 5 << 30;

/// A checksum with its algorithm.
pub type Checksum = (Algorithm, Vec<u8>);

/// The digests of a body that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Its MD5.
    pub md5: [u8; 16],
    /// Its checksum, if the caller chose one.
    pub checksum: Option<Checksum>,
}

/// The value that a checksum is compared with.
enum Want {
    /// No value: the checksum is only reported.
    Nothing,
    /// A value from the headers before the body.
    Value(Vec<u8>),
    /// A value in a header after the body.
    Trailer,
}

/// A body that is being received.
pub struct Payload<'s> {
    source: Box<dyn Source + 's>,
    length: u64,
    left: u64,
    run: Bytes,
    md5: Md5,
    content_md5: Option<Vec<u8>>,
    sha256: Option<(Sha256, [u8; 32])>,
    checksum: Option<(Algorithm, Running, Want)>,
}

impl<'s> Payload<'s> {
    /// The body of a request.
    ///
    /// # Errors
    /// If its length is not stated or too large, or a digest is malformed.
    pub(crate) fn of_request(
        request: &Request,
        rule: BodyRule,
        source: impl Source + 's,
    ) -> Result<Payload<'s>, Fault> {
        let is_cut = matches!(rule, BodyRule::Signed { .. } | BodyRule::Chunks);
        let header = if is_cut { "x-amz-decoded-content-length" } else { "content-length" };
        let missing = || Code::MissingContentLength.because(format!("the header `{header}` is missing"));
        // Without a length and without HTTP chunks there is no body.
        let is_absent = !is_cut && request.header("transfer-encoding").is_none();
        let length = request.number(header)?.or(is_absent.then_some(0)).ok_or_else(missing)?;
        if length > BODY_MAX {
            return Err(
                Code::EntityTooLarge.because(format!("{length} bytes exceed the limit of {BODY_MAX}"))
            );
        }
        let content_md5 = request.header("content-md5").map(|text| {
            let bytes = unbase64(text).filter(|bytes| bytes.len() == 16);
            bytes.ok_or_else(|| Code::InvalidDigest.because("Content-MD5 is invalid"))
        });
        let (sha256, source): (_, Box<dyn Source + 's>) = match rule {
            BodyRule::Unsigned => (None, Box::new(source)),
            BodyRule::Sha256(want) => (Some((Sha256::new(), want)), Box::new(source)),
            BodyRule::Signed { seed, has_trailer } => {
                (None, Box::new(Chunks::new(source, Some(seed), has_trailer)))
            }
            BodyRule::Chunks => (None, Box::new(Chunks::new(source, None, true))),
        };
        Ok(Payload {
            content_md5: content_md5.transpose()?,
            sha256,
            checksum: checksum(request)?,
            ..Payload::of(source, length)
        })
    }

    /// A body of which only the length is known.
    #[must_use]
    pub fn of(source: Box<dyn Source + 's>, length: u64) -> Payload<'s> {
        Payload {
            source,
            length,
            left: length,
            run: Bytes::new(),
            md5: Md5::new(),
            content_md5: None,
            sha256: None,
            checksum: None,
        }
    }

    /// Chooses a checksum to compute, unless the request chose one.
    pub(crate) fn choose(&mut self, algorithm: Option<Algorithm>) {
        if let (None, Some(algorithm)) = (&self.checksum, algorithm) {
            self.checksum = Some((algorithm, algorithm.begin(), Want::Nothing));
        }
    }

    /// The algorithm of the checksum that the request chose.
    #[must_use]
    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        self.checksum.as_ref().map(|(algorithm, _, _)| *algorithm)
    }

    /// The length of the whole body in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The next bytes: `most`, or all that are left if they are fewer.
    ///
    /// # Errors
    /// If they do not arrive.
    pub fn piece(&mut self, most: u64) -> Result<Vec<u8>, Fault> {
        let wanted = self.left.min(most) as usize;
        let mut piece = Vec::with_capacity(wanted);
        while piece.len() < wanted {
            if self.run.is_empty() {
                let ended = || Code::IncompleteBody.because("the body is shorter than its length");
                self.run = self.source.next()?.ok_or_else(ended)?;
            }
            let part = self.run.split_to(self.run.len().min(wanted - piece.len()));
            self.md5.update(&part);
            if let Some((digest, _)) = &mut self.sha256 {
                digest.update(&part);
            }
            if let Some((_, running, _)) = &mut self.checksum {
                running.update(&part);
            }
            piece.extend_from_slice(&part);
        }
        self.left -= wanted as u64;
        Ok(piece)
    }

    /// The whole body, as a document of at most `most` bytes.
    ///
    /// # Errors
    /// If it is longer, does not arrive, or does not match its request.
    pub fn document(mut self, most: u64) -> Result<Vec<u8>, Fault> {
        if self.length > most {
            let message = format!("the document has {} bytes, but the limit is {most}", self.length);
            return Err(Code::MaxMessageLengthExceeded.because(message));
        }
        let bytes = self.piece(most)?;
        self.end()?;
        Ok(bytes)
    }

    /// Ends a body of which all bytes have been taken, and checks it.
    ///
    /// # Errors
    /// If it does not match its request.
    pub fn end(mut self) -> Result<Digests, Fault> {
        assert_eq!(self.left, 0, "bytes of a body were not taken");
        if !self.run.is_empty() || self.source.next()?.is_some() {
            return Err(Code::InvalidRequest.because("the body is longer than its length"));
        }
        self.check_announced()?;
        let md5: [u8; 16] = self.md5.finalize().into();
        if self.content_md5.is_some_and(|want| want != md5) {
            return Err(Code::BadDigest.because("the body does not match Content-MD5"));
        }
        if let Some((digest, want)) = self.sha256
            && <[u8; 32]>::from(digest.finalize()) != want
        {
            let message = "the body does not match x-amz-content-sha256";
            return Err(Code::ContentSha256Mismatch.because(message));
        }
        let Some((algorithm, running, want)) = self.checksum else {
            return Ok(Digests { md5, checksum: None });
        };
        let found = running.end();
        let want = match want {
            Want::Nothing => None,
            Want::Value(value) => Some(value),
            Want::Trailer => {
                let text = self.source.trailer(&algorithm.header());
                let missing = || Code::InvalidRequest.because("the trailer with the checksum is missing");
                Some(value(algorithm, text.ok_or_else(missing)?)?)
            }
        };
        if want.is_some_and(|want| want != found) {
            return Err(Code::BadDigest.because(format!("the body's {} differs", algorithm.name())));
        }
        Ok(Digests { md5, checksum: Some((algorithm, found)) })
    }
}

impl Payload<'_> {
    /// Refuses a checksum after the body that the request did not announce: it is compared with nothing.
    fn check_announced(&self) -> Result<(), Fault> {
        let announced = match &self.checksum {
            Some((algorithm, _, Want::Trailer)) => Some(algorithm.header()),
            _ => None,
        };
        let names = self.source.trailing();
        let mut checksums = names.into_iter().filter(|name| name.starts_with("x-amz-checksum-"));
        match checksums.find(|name| announced.as_deref() != Some(*name)) {
            Some(name) => {
                Err(Code::InvalidRequest.because(format!("the trailer `{name}` is not in x-amz-trailer")))
            }
            None => Ok(()),
        }
    }
}

fn checksum(request: &Request) -> Result<Option<(Algorithm, Running, Want)>, Fault> {
    // In a request that completes an upload, the checksum is the object's and not the document's.
    if request.method == "POST" && request.parameter("uploadId").is_some() {
        return Ok(None);
    }
    let trailer = request.header("x-amz-trailer").unwrap_or_default().to_ascii_lowercase();
    let mut found = Vec::new();
    for algorithm in Algorithm::ALL {
        let header = algorithm.header();
        if let Some(text) = request.header(&header) {
            found.push((algorithm, algorithm.begin(), Want::Value(value(algorithm, text)?)));
        } else if trailer.split(',').any(|name| name.trim() == header) {
            found.push((algorithm, algorithm.begin(), Want::Trailer));
        }
    }
    if found.len() > 1 {
        return Err(Code::InvalidRequest.because("more than one checksum is given"));
    }
    if let Some(name) = request.header("x-amz-sdk-checksum-algorithm").filter(|_| found.is_empty()) {
        let algorithm = Algorithm::named(name)?;
        found.push((algorithm, algorithm.begin(), Want::Nothing));
    }
    Ok(found.pop())
}

fn value(algorithm: Algorithm, text: &str) -> Result<Vec<u8>, Fault> {
    let bytes = unbase64(text).filter(|bytes| bytes.len() == algorithm.length());
    bytes.ok_or_else(|| Code::InvalidRequest.because(format!("`{}` is not a checksum", algorithm.header())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksums::base64;
    use crate::source::Runs;

    const BODY: &[u8] = b"some words of a body";

    fn end(headers: &[(&str, &str)], rule: BodyRule, body: &[u8]) -> Result<Digests, Fault> {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        let request = Request::new("PUT", "/b/k", headers)?;
        let source = Runs(body.chunks(7).map(Bytes::copy_from_slice).collect());
        let mut payload = Payload::of_request(&request, rule, source)?;
        while payload.left > 0 {
            let piece = payload.piece(6)?;
            assert!(piece.len() == 6 || payload.left == 0, "a piece is whole");
        }
        payload.end()
    }

    fn check(more: (&str, &str), rule: BodyRule, body: &[u8], want: Result<(), Code>) {
        let length = BODY.len().to_string();
        let found = end(&[("content-length", &length), more], rule, body);
        assert_eq!(found.map(|_| ()).map_err(|fault| fault.code), want, "{more:?}");
    }

    #[test]
    fn bodies_that_are_not_as_promised_are_refused() {
        let sha256 = |bytes: &[u8]| BodyRule::Sha256(Sha256::digest(bytes).into());
        check(("a", ""), BodyRule::Unsigned, BODY, Ok(()));
        check(("a", ""), sha256(BODY), BODY, Ok(()));
        check(("a", ""), sha256(b"other"), BODY, Err(Code::ContentSha256Mismatch));
        check(("a", ""), BodyRule::Unsigned, &BODY[1..], Err(Code::IncompleteBody));
        check(("a", ""), BodyRule::Unsigned, b"some words of a body and more", Err(Code::InvalidRequest));
        let md5 = |bytes: &[u8]| base64(&Md5::digest(bytes));
        check(("content-md5", &md5(BODY)), BodyRule::Unsigned, BODY, Ok(()));
        check(("content-md5", &md5(b"")), BodyRule::Unsigned, BODY, Err(Code::BadDigest));
        check(("content-md5", "x"), BodyRule::Unsigned, BODY, Err(Code::InvalidDigest));
        check(("x-amz-sdk-checksum-algorithm", "CRC32"), BodyRule::Unsigned, BODY, Ok(()));
        check(("x-amz-sdk-checksum-algorithm", "CRC"), BodyRule::Unsigned, BODY, Err(Code::InvalidRequest));
        for algorithm in Algorithm::ALL {
            let mut running = algorithm.begin();
            running.update(BODY);
            let (header, right) = (algorithm.header(), base64(&running.end()));
            let wrong = base64(&vec![0; algorithm.length()]);
            check((&header, &right), BodyRule::Unsigned, BODY, Ok(()));
            check((&header, &wrong), BodyRule::Unsigned, BODY, Err(Code::BadDigest));
            check((&header, "AA=="), BodyRule::Unsigned, BODY, Err(Code::InvalidRequest));
        }
    }

    #[test]
    fn checksums_may_follow_the_body() {
        let mut running = Algorithm::Crc64Nvme.begin();
        running.update(BODY);
        let right = base64(&running.end());
        let length = BODY.len().to_string();
        let headers = [
            ("x-amz-decoded-content-length", length.as_str()),
            ("x-amz-trailer", "x-amz-checksum-crc64nvme"),
        ];
        let body = |trailer: &str| {
            let text = std::str::from_utf8(BODY).expect("it is text");
            format!("{:x}\r\n{text}\r\n0\r\n{trailer}\r\n", BODY.len()).into_bytes()
        };
        let with = |value: &str| body(&format!("x-amz-checksum-crc64nvme:{value}\r\n"));
        let ended = end(&headers, BodyRule::Chunks, &with(&right)).expect("it is as promised");
        assert_eq!(ended.checksum.map(|(algorithm, _)| algorithm), Some(Algorithm::Crc64Nvme));
        for (body, want) in [
            (with("AAAAAAAAAAA="), Code::BadDigest),
            (with("AA=="), Code::InvalidRequest),
            (body(""), Code::InvalidRequest),
            // The second one is compared with nothing.
            (
                body(&format!("x-amz-checksum-crc64nvme:{right}\r\nx-amz-checksum-sha512:AA==\r\n")),
                Code::InvalidRequest,
            ),
        ] {
            let found = end(&headers, BodyRule::Chunks, &body).map_err(|fault| fault.code);
            assert_eq!(found, Err(want));
        }
    }

    #[test]
    fn lengths_are_needed_and_bounded() {
        let refused = |headers: &[(&str, &str)]| {
            end(headers, BodyRule::Unsigned, b"").map(|_| ()).map_err(|fault| fault.code)
        };
        assert_eq!(refused(&[]), Ok(()));
        assert_eq!(refused(&[("transfer-encoding", "chunked")]), Err(Code::MissingContentLength));
        let length = (BODY_MAX + 1).to_string();
        assert_eq!(refused(&[("content-length", &length)]), Err(Code::EntityTooLarge));
    }
}
