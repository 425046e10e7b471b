//! The operations of S3 that this gateway implements: requests in, replies out.

mod buckets;
mod objects;
mod uploads;

use crate::credentials::Credentials;
use crate::dates::Moment;
use crate::depot::Depot;
use crate::fault::{Code, Fault};
use crate::names::Place;
use crate::payload::Payload;
use crate::reply::Reply;
use crate::request::Request;
use crate::shelf::Shelf;
use crate::signature::verify;
use crate::source::Source;
use crate::xml::{Element, Writer, parse};

/// The most bytes of a document: completing an upload of 10,000 parts with checksums takes fewer.
const DOCUMENT_MAX: u64 = 4 << 20;

/// The owner of all buckets and objects.
const OWNER: &str = "towtank";

/// Subresources of buckets and objects in S3 that this gateway lacks.
const LACKING: [&str; 29] = [
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "session",
    "torrent",
    "versionId",
    "versions",
    "website",
];

/// The operations on a depot, for callers with its credentials.
pub struct Service<S> {
    depot: Depot<S>,
    keys: Credentials,
    now: fn() -> Moment,
}

impl<S: Shelf> Service<S> {
    /// A service on a depot.
    #[must_use]
    pub fn new(depot: Depot<S>, keys: Credentials, now: fn() -> Moment) -> Service<S> {
        Service { depot, keys, now }
    }

    /// The depot.
    #[must_use]
    pub(crate) fn depot(&self) -> &Depot<S> {
        &self.depot
    }

    /// Handles a request. Its body comes from `source`, which need not be read to its end.
    pub fn answer(&self, request: &Request, source: &mut dyn Source) -> Reply<'_> {
        let answered = self.checked(request, source);
        answered.unwrap_or_else(|fault| Reply::fault(&fault, &request.path))
    }

    fn checked(&self, request: &Request, source: &mut dyn Source) -> Result<Reply<'_>, Fault> {
        let rule = verify(request, &self.keys, (self.now)())?;
        // The version `null` is the only one that exists.
        let is_lacking = |(key, value): &&(String, String)| {
            LACKING.contains(&key.as_str()) && (key != "versionId" || value != "null")
        };
        if let Some((key, _)) = request.parameters.iter().find(is_lacking) {
            return Err(Code::NotImplemented.because(format!("`{key}` is not implemented")));
        }
        let payload = || Payload::of_request(request, rule, Borrowed(source));
        match request.resource() {
            (None, _) => match request.method.as_str() {
                "GET" | "HEAD" => Ok(self.list_buckets()),
                _ => Err(not_allowed(request)),
            },
            (Some(bucket), None) => self.of_bucket(request, bucket, payload),
            (Some(bucket), Some(key)) => self.of_object(request, &Place::new(bucket, key)?, payload),
        }
    }

    fn of_object<'s>(
        &self,
        request: &Request,
        place: &Place,
        payload: impl FnOnce() -> Result<Payload<'s>, Fault>,
    ) -> Result<Reply<'_>, Fault> {
        let has = |name: &str| request.parameter(name).is_some();
        match request.method.as_str() {
            "GET" | "HEAD" if has("tagging") => self.tags(place),
            _ if has("tagging") => Err(Code::NotImplemented.because("tags are not implemented")),
            "GET" if has("uploadId") => self.list_parts(request, place),
            "GET" => self.get(request, place),
            "HEAD" => self.head(request, place),
            "PUT" if has("uploadId") => self.put_part(request, place, payload),
            "PUT" if request.header("x-amz-copy-source").is_some() => self.copy(request, place),
            "PUT" => self.put(request, place, payload()?),
            "DELETE" if has("uploadId") => self.abort(request, place),
            "DELETE" => self.delete(request, place),
            "POST" if has("uploads") => self.begin_upload(request, place),
            "POST" if has("uploadId") => self.complete(request, place, payload()?),
            _ => Err(not_allowed(request)),
        }
    }
}

/// A borrowed source.
struct Borrowed<'s>(&'s mut dyn Source);

impl Source for Borrowed<'_> {
    fn next(&mut self) -> Result<Option<bytes::Bytes>, Fault> {
        self.0.next()
    }

    fn trailer(&self, name: &str) -> Option<&str> {
        self.0.trailer(name)
    }
}

fn not_allowed(request: &Request) -> Fault {
    Code::MethodNotAllowed.because(format!("`{}` is not supported on this resource", request.method))
}

fn document(payload: Payload<'_>, name: &str) -> Result<Element, Fault> {
    parse(&payload.document(DOCUMENT_MAX)?, name)
}

/// A numeric parameter, limited to `most`; `most` if it is absent.
fn most_of(request: &Request, name: &str, most: usize) -> Result<usize, Fault> {
    let Some(text) = request.parameter(name).filter(|text| !text.is_empty()) else { return Ok(most) };
    let fault = || Code::InvalidArgument.because(format!("`{name}` is not a number"));
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number: usize = text.parse().ok().filter(|_| is_number).ok_or_else(fault)?;
    Ok(number.min(most))
}

fn owner(writer: &mut Writer, name: &'static str) {
    writer.within(name, |writer| {
        writer.leaf("ID", OWNER);
        writer.leaf("DisplayName", OWNER);
    });
}

#[cfg(test)]
mod tests;
