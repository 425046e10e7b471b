//! The other side of signatures: signs requests and chunks as clients do.

use sha2::{Digest, Sha256};

use super::{ALGORITHM, Claim, Seed, canonical, hex, mac};
use crate::credentials::Credentials;
use crate::dates::Moment;
use crate::request::Request;

/// Signs a request in its header.
pub(crate) fn sign(request: &mut Request, keys: &Credentials, now: Moment, payload: &str) {
    let mut set = |name: &str, value: &str| drop(request.headers.insert(name.to_owned(), value.to_owned()));
    set("x-amz-date", &now.basic());
    set("x-amz-content-sha256", payload);
    set("host", "localhost");
    request.headers.remove("authorization");
    let mut claim = claim(request, keys, now, payload, false);
    claim.signature = signature(request, keys, &claim);
    let text = format!(
        "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={}",
        claim.access_key,
        claim.scope.join("/"),
        claim.signed.join(";"),
        claim.signature
    );
    request.headers.insert("authorization".to_owned(), text);
}

/// Signs a request in its address. It is valid for `expires` seconds.
pub(crate) fn presign(request: &mut Request, keys: &Credentials, now: Moment, payload: &str, expires: u64) {
    request.headers.remove("authorization");
    request.headers.insert("host".to_owned(), "localhost".to_owned());
    let mut claim = claim(request, keys, now, payload, true);
    request.parameters.retain(|(name, _)| !name.starts_with("X-Amz-"));
    let fields = [
        ("X-Amz-Algorithm", ALGORITHM.to_owned()),
        ("X-Amz-Content-Sha256", payload.to_owned()),
        ("X-Amz-Credential", format!("{}/{}", claim.access_key, claim.scope.join("/"))),
        ("X-Amz-Date", claim.date.clone()),
        ("X-Amz-Expires", expires.to_string()),
        ("X-Amz-SignedHeaders", claim.signed.join(";")),
    ];
    request.parameters.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    claim.signature = signature(request, keys, &claim);
    request.parameters.push(("X-Amz-Signature".to_owned(), claim.signature));
}

/// A claim that covers all headers, without its signature.
fn claim(request: &Request, keys: &Credentials, now: Moment, payload: &str, presigned: bool) -> Claim {
    let date = now.basic();
    let scope = [&date[..8], "us-east-1", "s3", "aws4_request"].map(str::to_owned);
    Claim {
        access_key: keys.access_key.clone(),
        signed: request.headers.keys().cloned().collect(),
        signature: String::new(),
        date,
        payload: payload.to_owned(),
        presigned,
        scope,
    }
}

fn signature(request: &Request, keys: &Credentials, claim: &Claim) -> String {
    let first = format!("AWS4{}", keys.secret_key).into_bytes();
    let key = claim.scope.iter().fold(first, |key, part| mac(&key, part).to_vec());
    let canonical = hex(&Sha256::digest(canonical(request, claim)));
    let scope = claim.scope.join("/");
    hex(&mac(&key, &format!("{ALGORITHM}\n{}\n{scope}\n{canonical}", claim.date)))
}

impl Seed {
    /// Signs the next chunk, and advances.
    pub(crate) fn sign_chunk(&mut self, sha256: &[u8]) -> String {
        self.last = hex(&mac(&self.key, &self.text_of_chunk(sha256)));
        self.last.clone()
    }

    /// Signs the headers that follow the last chunk, and advances.
    pub(crate) fn sign_trailer(&mut self, sha256: &[u8]) -> String {
        self.last = hex(&mac(&self.key, &self.text_of_trailer(sha256)));
        self.last.clone()
    }
}
