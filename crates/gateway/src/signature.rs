//! Signatures of requests, version 4, in a header or in the address.
//!
//! The procedure is that of "Authenticating Requests (AWS Signature Version 4)" in the S3 reference, whose
//! examples are the tests. Any region is accepted; the time is an argument.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::credentials::Credentials;
use crate::dates::Moment;
use crate::escape::escape;
use crate::fault::{Code, Fault};
use crate::request::Request;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The most seconds by which the clocks of caller and gateway may differ.
const SKEW_MAX: u64 = 15 * 60;

/// The longest validity of a signed address in seconds: a week.
const EXPIRES_MAX: u64 = 7 * 86_400;

/// The SHA-256 of no bytes.
pub(crate) const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What a signature states about the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// Nothing.
    Unsigned,
    /// Its SHA-256.
    Sha256([u8; 32]),
    /// It comes in chunks, each with a signature that depends on the one before.
    Signed {
        /// The signature that the first chunk's signature depends on.
        seed: Seed,
        /// Whether signed headers follow the last chunk.
        has_trailer: bool,
    },
    /// It comes in chunks that are not signed, and headers follow the last one.
    Chunks,
}

/// The state of a chain of signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed {
    key: [u8; 32],
    /// Date and scope, as in each text that is signed.
    middle: String,
    last: String,
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Seed").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Seed {
    /// Checks the signature of the next chunk, and advances.
    ///
    /// # Errors
    /// If the signature is wrong.
    pub(crate) fn take_chunk(&mut self, signature: &str, sha256: &[u8]) -> Result<(), Fault> {
        self.take(signature, &self.text_of_chunk(sha256))
    }

    /// Checks the signature of the headers that follow the last chunk, and advances.
    ///
    /// # Errors
    /// If the signature is wrong.
    pub(crate) fn take_trailer(&mut self, signature: &str, sha256: &[u8]) -> Result<(), Fault> {
        self.take(signature, &self.text_of_trailer(sha256))
    }

    fn text_of_chunk(&self, sha256: &[u8]) -> String {
        format!("AWS4-HMAC-SHA256-PAYLOAD\n{}\n{}\n{EMPTY}\n{}", self.middle, self.last, hex(sha256))
    }

    fn text_of_trailer(&self, sha256: &[u8]) -> String {
        format!("AWS4-HMAC-SHA256-TRAILER\n{}\n{}\n{}", self.middle, self.last, hex(sha256))
    }

    fn take(&mut self, signature: &str, text: &str) -> Result<(), Fault> {
        check(&self.key, text, signature)?;
        signature.clone_into(&mut self.last);
        Ok(())
    }
}

/// The signature in a request, with its fields.
struct Claim {
    access_key: String,
    /// Date, region, service and `aws4_request`.
    scope: [String; 4],
    signed: Vec<String>,
    signature: String,
    date: String,
    payload: String,
    /// Whether it is in the address rather than in a header.
    presigned: bool,
}

/// Checks a request's signature, and returns what its body must be.
///
/// # Errors
/// If there is no signature, or it is wrong or too old.
pub fn verify(request: &Request, keys: &Credentials, now: Moment) -> Result<BodyRule, Fault> {
    let claim = match request.header("authorization") {
        Some(text) => in_header(request, text)?,
        None if request.parameter("X-Amz-Algorithm").is_some() => in_address(request)?,
        // Botocore makes such addresses unless it is given `signature_version="s3v4"`.
        None if request.parameter("AWSAccessKeyId").is_some() => {
            return Err(Code::AccessDenied.because("only addresses with version 4 signatures are accepted"));
        }
        None => return Err(Code::AccessDenied.because("the request is not signed")),
    };
    let Claim { scope: [day, region, service, last], .. } = &claim;
    let malformed = |what: &str| Code::AuthorizationHeaderMalformed.because(what);
    if service != "s3" || last != "aws4_request" {
        return Err(malformed("the scope must end with s3/aws4_request"));
    }
    let at = Moment::from_basic(&claim.date).ok_or_else(|| malformed("the date is not YYYYMMDDTHHMMSSZ"))?;
    if claim.date.get(..8) != Some(day) {
        return Err(malformed("the date of the scope differs from the request's"));
    }
    look_at_time(request, &claim, at, now)?;
    if claim.access_key != keys.access_key {
        return Err(Code::InvalidAccessKeyId.because("the access key is unknown"));
    }
    let covered = |name: &str| claim.signed.iter().any(|signed| signed == name);
    let open = request.headers.keys().find(|name| name.starts_with("x-amz-") && !covered(name));
    if let Some(name) = open.map(String::as_str).or((!covered("host")).then_some("host")) {
        return Err(Code::AccessDenied.because(format!("the header `{name}` is not signed")));
    }
    // An absent header and an empty one would be signed as the same text.
    if let Some(name) = claim.signed.iter().find(|name| request.header(name).is_none()) {
        return Err(malformed(&format!("the signed header `{name}` is not in the request")));
    }
    let key = [day, region, service, last]
        .into_iter()
        .fold(format!("AWS4{}", keys.secret_key).into_bytes(), |key, part| mac(&key, part).to_vec());
    let key: [u8; 32] = key.try_into().expect("a MAC has 32 bytes");
    let middle = format!("{}\n{}", claim.date, claim.scope.join("/"));
    let canonical = hex(&Sha256::digest(canonical(request, &claim)));
    check(&key, &format!("{ALGORITHM}\n{middle}\n{canonical}"), &claim.signature)?;
    rule(&claim, Seed { key, middle, last: claim.signature.clone() })
}

fn look_at_time(request: &Request, claim: &Claim, at: Moment, now: Moment) -> Result<(), Fault> {
    let (at, now) = (at.seconds(), now.seconds());
    if !claim.presigned {
        return match at.abs_diff(now) > SKEW_MAX {
            true => Err(Code::RequestTimeTooSkewed.because("the clocks differ by more than 15 minutes")),
            false => Ok(()),
        };
    }
    let span = request.parameter("X-Amz-Expires").and_then(|text| text.parse().ok());
    let span = span.filter(|span| (1..=EXPIRES_MAX).contains(span)).ok_or_else(|| {
        let message = format!("X-Amz-Expires must be from 1 to {EXPIRES_MAX}");
        Code::AuthorizationHeaderMalformed.because(message)
    })?;
    if at > now + SKEW_MAX {
        return Err(Code::AccessDenied.because("the request is not valid yet"));
    }
    match now > at + span {
        true => Err(Code::AccessDenied.because("the request has expired")),
        false => Ok(()),
    }
}

fn in_header(request: &Request, text: &str) -> Result<Claim, Fault> {
    let malformed = |what: &str| Code::AuthorizationHeaderMalformed.because(what);
    let fields = text
        .strip_prefix(ALGORITHM)
        .and_then(|rest| rest.strip_prefix(' '))
        .ok_or_else(|| malformed("only AWS4-HMAC-SHA256 is supported"))?;
    let field = |name: &str| {
        let mut pairs = fields.split(',').filter_map(|field| field.trim().split_once('='));
        let found = pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
        found.ok_or_else(|| malformed(&format!("`{name}` is missing")))
    };
    let payload = request.header("x-amz-content-sha256");
    let payload = payload.ok_or_else(|| Code::InvalidRequest.because("x-amz-content-sha256 is missing"))?;
    let date = request.header("x-amz-date").map(str::to_owned);
    let date = date.or_else(|| in_date(request.header("date")?).map(Moment::basic));
    let (access_key, scope) = credential(&field("Credential")?)?;
    Ok(Claim {
        access_key,
        scope,
        signed: field("SignedHeaders")?.split(';').map(str::to_owned).collect(),
        signature: field("Signature")?,
        date: date.ok_or_else(|| Code::AccessDenied.because("a signed request needs x-amz-date"))?,
        payload: payload.to_owned(),
        presigned: false,
    })
}

/// The time in the header `date`, which botocore signs in the form of mail: with `-0000` for `GMT`.
fn in_date(text: &str) -> Option<Moment> {
    let zone = [" -0000", " +0000"].into_iter().find_map(|zone| text.strip_suffix(zone));
    zone.map_or_else(|| Moment::from_http(text), |rest| Moment::from_http(&format!("{rest} GMT")))
}

fn in_address(request: &Request) -> Result<Claim, Fault> {
    let malformed = |what: &str| Code::AuthorizationHeaderMalformed.because(what);
    let field = |name: &str| {
        let found = request.parameter(name).map(str::to_owned);
        found.ok_or_else(|| malformed(&format!("the parameter `{name}` is missing")))
    };
    if field("X-Amz-Algorithm")? != ALGORITHM {
        return Err(malformed("only AWS4-HMAC-SHA256 is supported"));
    }
    let (access_key, scope) = credential(&field("X-Amz-Credential")?)?;
    let payload = request.parameter("X-Amz-Content-Sha256").or(request.header("x-amz-content-sha256"));
    Ok(Claim {
        access_key,
        scope,
        signed: field("X-Amz-SignedHeaders")?.split(';').map(str::to_owned).collect(),
        signature: field("X-Amz-Signature")?,
        date: field("X-Amz-Date")?,
        payload: payload.unwrap_or("UNSIGNED-PAYLOAD").to_owned(),
        presigned: true,
    })
}

/// The access key, which may contain slashes, and the four words of the scope.
fn credential(text: &str) -> Result<(String, [String; 4]), Fault> {
    let mut words: Vec<String> = text.rsplitn(5, '/').map(str::to_owned).collect();
    words.reverse();
    match <[String; 5]>::try_from(words) {
        Ok([access_key, day, region, service, last]) => Ok((access_key, [day, region, service, last])),
        Err(_) => Err(Code::AuthorizationHeaderMalformed.because("the credential has no scope")),
    }
}

fn canonical(request: &Request, claim: &Claim) -> String {
    // The signature of an address covers every parameter but itself.
    let is_own = |(key, _): &(String, String)| claim.presigned && key == "X-Amz-Signature";
    let own = request.parameters.iter().position(is_own);
    let mut query: Vec<String> = (0..request.parameters.len())
        .filter(|at| Some(*at) != own)
        .map(|at| &request.parameters[at])
        .map(|(key, value)| format!("{}={}", escape(key, false), escape(value, false)))
        .collect();
    query.sort_by(|one, other| one.split_once('=').cmp(&other.split_once('=')));
    let mut text = format!("{}\n{}\n{}\n", request.method, escape(&request.path, true), query.join("&"));
    for name in &claim.signed {
        let value = request.header(name).unwrap_or_default();
        let words: Vec<&str> = value.split(' ').filter(|word| !word.is_empty()).collect();
        text += &format!("{name}:{}\n", words.join(" "));
    }
    text + &format!("\n{}\n{}", claim.signed.join(";"), claim.payload)
}

fn rule(claim: &Claim, seed: Seed) -> Result<BodyRule, Fault> {
    Ok(match claim.payload.as_str() {
        "UNSIGNED-PAYLOAD" => BodyRule::Unsigned,
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" => BodyRule::Signed { seed, has_trailer: false },
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" => BodyRule::Signed { seed, has_trailer: true },
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => BodyRule::Chunks,
        text => {
            let bytes = unhex(text).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let message = "x-amz-content-sha256 must be a SHA-256, UNSIGNED-PAYLOAD or STREAMING-…";
            BodyRule::Sha256(bytes.ok_or_else(|| Code::InvalidArgument.because(message))?)
        }
    })
}

fn mac(key: &[u8], text: &str) -> [u8; 32] {
    keyed(key, text).finalize().into_bytes().into()
}

fn keyed(key: &[u8], text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(text.as_bytes());
    mac
}

/// Compares in constant time.
fn check(key: &[u8], text: &str, signature: &str) -> Result<(), Fault> {
    let claimed = unhex(signature).unwrap_or_default();
    keyed(key, text).verify_slice(&claimed).map_err(|_| {
        Code::SignatureDoesNotMatch.because("the signature does not match the request: check the secret key")
    })
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits; none if there are other characters.
#[must_use]
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

mod signing;

pub(crate) use signing::*;

#[cfg(test)]
mod tests;
