//! The operations of S3 that this gateway implements: requests in, replies out.

mod buckets;
mod objects;
mod uploads;

use crate::allowed::{Operation, operation, refuse_browsers};
use crate::credentials::Credentials;
use crate::dates::Moment;
use crate::depot::Depot;
use crate::fault::{Code, Fault};
use crate::names::Place;
use crate::payload::Payload;
use crate::reply::Reply;
use crate::request::Request;
use crate::shelf::Shelf;
use crate::signature::{BodyRule, verify};
use crate::source::Source;
use crate::xml::{Element, Writer, parse};

/// The most bytes of a document: completing an upload of 10,000 parts with checksums takes fewer.
const DOCUMENT_MAX: u64 = 4 << 20;

/// The owner of all buckets and objects.
const OWNER: &str = "towtank";

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

    /// Checks who has signed a request, and whether this gateway knows all that it asks for. Neither its body
    /// nor the store is read.
    ///
    /// # Errors
    /// If it is not signed, or asks for something that this gateway lacks.
    pub(crate) fn admit(&self, request: &Request) -> Result<Admitted, Fault> {
        refuse_browsers(request)?;
        let rule = verify(request, &self.keys, (self.now)())?;
        Ok(Admitted { operation: operation(request)?, rule })
    }

    /// Handles a request. Its body comes from `source`, which need not be read to its end.
    pub fn answer(&self, request: &Request, source: &mut dyn Source) -> Reply<'_> {
        match self.admit(request) {
            Ok(admitted) => self.perform(request, admitted, source),
            Err(fault) => Reply::fault(&fault, &request.path),
        }
    }

    /// Handles a request that was admitted.
    pub(crate) fn perform(
        &self,
        request: &Request,
        admitted: Admitted,
        source: &mut dyn Source,
    ) -> Reply<'_> {
        let Admitted { operation, rule } = admitted;
        let payload = || Payload::of_request(request, rule, Borrowed(source));
        let performed = match request.resource() {
            (None, _) => self.list_buckets(request),
            (Some(bucket), None) => self.of_bucket(request, operation, bucket, payload),
            (Some(bucket), Some(key)) => {
                Place::new(bucket, key).and_then(|place| self.of_object(request, operation, &place, payload))
            }
        };
        performed.unwrap_or_else(|fault| Reply::fault(&fault, &request.path))
    }

    fn of_bucket<'s>(
        &self,
        request: &Request,
        operation: Operation,
        bucket: &str,
        payload: impl FnOnce() -> Result<Payload<'s>, Fault>,
    ) -> Result<Reply<'_>, Fault> {
        match operation {
            Operation::CreateBucket => self.make_bucket(bucket, payload()?),
            Operation::HeadBucket => self.head_bucket(bucket),
            Operation::DeleteBucket => self.remove_bucket(bucket),
            Operation::GetBucketLocation => self.about(bucket, "LocationConstraint"),
            Operation::GetBucketVersioning => self.about(bucket, "VersioningConfiguration"),
            Operation::ListMultipartUploads => self.list_uploads(request, bucket),
            Operation::ListObjects => self.list_first(request, bucket),
            Operation::ListObjectsV2 => self.list_second(request, bucket),
            Operation::ListObjectVersions => self.list_versions(request, bucket),
            Operation::DeleteObjects => self.delete_many(bucket, payload()?),
            other => Err(misplaced(other)),
        }
    }

    fn of_object<'s>(
        &self,
        request: &Request,
        operation: Operation,
        place: &Place,
        payload: impl FnOnce() -> Result<Payload<'s>, Fault>,
    ) -> Result<Reply<'_>, Fault> {
        match operation {
            Operation::GetObject => self.get(request, place),
            Operation::HeadObject => self.head(request, place),
            Operation::GetObjectTagging => self.tags(place),
            Operation::PutObject => self.put(request, place, payload()?),
            Operation::CopyObject => self.copy(request, place),
            Operation::DeleteObject => self.delete(request, place),
            Operation::CreateMultipartUpload => self.begin_upload(request, place),
            Operation::UploadPart => self.put_part(request, place, payload()?),
            Operation::UploadPartCopy => self.copy_part(request, place),
            Operation::CompleteMultipartUpload => self.complete(request, place, payload()?),
            Operation::AbortMultipartUpload => self.abort(request, place),
            Operation::ListParts => self.list_parts(request, place),
            other => Err(misplaced(other)),
        }
    }
}

/// A request that is signed, and of which everything is known.
#[derive(Debug)]
pub(crate) struct Admitted {
    operation: Operation,
    rule: BodyRule,
}

/// The list of operations says what each is about, so this is a mistake in the list.
fn misplaced(operation: Operation) -> Fault {
    Code::NotImplemented.because(format!("{operation:?} is not implemented here"))
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
pub(crate) mod tests;
