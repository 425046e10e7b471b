//! What this gateway knows of S3: its operations, and the query parameters and headers of each.
//!
//! The list is of what is allowed. A request that has anything else, such as a parameter that S3 has added
//! since, is refused before anything is read or written: without that parameter it would be another request,
//! often one that overwrites or deletes. `model.tsv`, made from the service model of botocore, has every
//! parameter that S3 knows, and a test sends each of them.

use crate::checksums::Algorithm;
use crate::fault::{Code, Fault};
use crate::request::Request;
use crate::xml::Element;

/// An operation of S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    ListBuckets,
    CreateBucket,
    HeadBucket,
    DeleteBucket,
    GetBucketLocation,
    GetBucketVersioning,
    ListMultipartUploads,
    ListObjects,
    ListObjectsV2,
    ListObjectVersions,
    DeleteObjects,
    GetObject,
    HeadObject,
    GetObjectTagging,
    PutObject,
    CopyObject,
    DeleteObject,
    CreateMultipartUpload,
    UploadPart,
    UploadPartCopy,
    CompleteMultipartUpload,
    AbortMultipartUpload,
    ListParts,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    All,
    Bucket,
    Object,
}

impl About {
    fn words(self) -> &'static str {
        match self {
            About::All => "all buckets",
            About::Bucket => "a bucket",
            About::Object => "an object",
        }
    }
}

/// How an operation is recognised, and what it takes.
struct Row {
    operation: Operation,
    method: &'static str,
    about: About,
    /// The query parameters and the header that select it: all of them must be there.
    selectors: &'static [&'static str],
    copies: bool,
    parameters: &'static [&'static str],
    headers: &'static [&'static [&'static str]],
}

/// Headers of every request. The last one is what clients in a browser send for `user-agent`.
const COMMON: &[&str] = &["x-amz-date", "x-amz-content-sha256", "x-amz-user-agent"];

/// Headers about a body.
const BODY: &[&str] = &[
    "content-md5",
    "x-amz-decoded-content-length",
    "x-amz-trailer",
    "x-amz-sdk-checksum-algorithm",
    "x-amz-checksum-crc32",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-crc64nvme",
    "x-amz-checksum-sha1",
    "x-amz-checksum-sha256",
];

/// Headers about the document that completes an upload, and about the object that it makes.
const COMPLETES: &[&str] = &[
    "content-md5",
    "x-amz-decoded-content-length",
    "x-amz-checksum-crc32",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-crc64nvme",
    "x-amz-checksum-sha1",
    "x-amz-checksum-sha256",
    "x-amz-checksum-type",
    "x-amz-mp-object-size",
];

/// Headers that are kept with an object. Those that HTTP has too may be in any request.
const LABELS: &[&str] = &["x-amz-acl", "x-amz-storage-class", META];

/// Stands for every header that begins with it.
const META: &str = "x-amz-meta-";

const READS: &[&str] = &[
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
    "x-amz-checksum-mode",
];

const WRITES: &[&str] = &["if-match", "if-none-match"];

const COPIES: &[&str] = &[
    "x-amz-copy-source",
    "x-amz-copy-source-if-match",
    "x-amz-copy-source-if-modified-since",
    "x-amz-copy-source-if-none-match",
    "x-amz-copy-source-if-unmodified-since",
];

const OF_OBJECT: &[&str] = &[
    "partNumber",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "versionId",
];

/// Parameters of a signature in the address.
const PRESIGNED: [&str; 7] = [
    "X-Amz-Algorithm",
    "X-Amz-Content-Sha256",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
];

const fn row(operation: Operation, method: &'static str, about: About) -> Row {
    Row { operation, method, about, selectors: &[], copies: false, parameters: &[], headers: &[] }
}

const fn chosen(
    operation: Operation,
    method: &'static str,
    about: About,
    selectors: &'static [&'static str],
) -> Row {
    Row { selectors, ..row(operation, method, about) }
}

use About::{All, Bucket, Object};
use Operation as It;

/// All operations. Of several rows that fit a request, the one with the most selectors counts.
const ROWS: [Row; 23] = [
    Row {
        parameters: &["bucket-region", "continuation-token", "max-buckets", "prefix"],
        ..row(It::ListBuckets, "GET", All)
    },
    Row {
        headers: &[&["x-amz-acl", "x-amz-bucket-object-lock-enabled"], BODY],
        ..row(It::CreateBucket, "PUT", Bucket)
    },
    row(It::HeadBucket, "HEAD", Bucket),
    row(It::DeleteBucket, "DELETE", Bucket),
    chosen(It::GetBucketLocation, "GET", Bucket, &["location"]),
    chosen(It::GetBucketVersioning, "GET", Bucket, &["versioning"]),
    Row {
        parameters: &["encoding-type", "key-marker", "max-uploads", "prefix", "upload-id-marker"],
        ..chosen(It::ListMultipartUploads, "GET", Bucket, &["uploads"])
    },
    Row {
        parameters: &["delimiter", "encoding-type", "marker", "max-keys", "prefix"],
        ..row(It::ListObjects, "GET", Bucket)
    },
    Row {
        parameters: &[
            "continuation-token",
            "delimiter",
            "encoding-type",
            "fetch-owner",
            "max-keys",
            "prefix",
            "start-after",
        ],
        ..chosen(It::ListObjectsV2, "GET", Bucket, &["list-type"])
    },
    Row {
        parameters: &["delimiter", "encoding-type", "key-marker", "max-keys", "prefix", "version-id-marker"],
        ..chosen(It::ListObjectVersions, "GET", Bucket, &["versions"])
    },
    Row { headers: &[BODY], ..chosen(It::DeleteObjects, "POST", Bucket, &["delete"]) },
    Row { parameters: OF_OBJECT, headers: &[READS], ..row(It::GetObject, "GET", Object) },
    Row { parameters: OF_OBJECT, headers: &[READS], ..row(It::HeadObject, "HEAD", Object) },
    Row { parameters: &["versionId"], ..chosen(It::GetObjectTagging, "GET", Object, &["tagging"]) },
    Row { headers: &[BODY, LABELS, WRITES], ..row(It::PutObject, "PUT", Object) },
    Row {
        copies: true,
        headers: &[COPIES, LABELS, WRITES, &["x-amz-checksum-algorithm", "x-amz-metadata-directive"]],
        ..row(It::CopyObject, "PUT", Object)
    },
    Row { parameters: &["versionId"], headers: &[&["if-match"]], ..row(It::DeleteObject, "DELETE", Object) },
    Row {
        headers: &[LABELS, &["x-amz-checksum-algorithm", "x-amz-checksum-type"]],
        ..chosen(It::CreateMultipartUpload, "POST", Object, &["uploads"])
    },
    Row {
        parameters: &["partNumber"],
        headers: &[BODY],
        ..chosen(It::UploadPart, "PUT", Object, &["uploadId"])
    },
    Row {
        copies: true,
        parameters: &["partNumber"],
        headers: &[COPIES, &["x-amz-copy-source-range"]],
        ..chosen(It::UploadPartCopy, "PUT", Object, &["uploadId"])
    },
    Row {
        headers: &[COMPLETES, WRITES],
        ..chosen(It::CompleteMultipartUpload, "POST", Object, &["uploadId"])
    },
    chosen(It::AbortMultipartUpload, "DELETE", Object, &["uploadId"]),
    Row {
        parameters: &["max-parts", "part-number-marker"],
        ..chosen(It::ListParts, "GET", Object, &["uploadId"])
    },
];

impl Row {
    fn fits(&self, request: &Request, about: About) -> bool {
        let is_copy = request.header("x-amz-copy-source").is_some();
        self.method == request.method
            && self.about == about
            && self.selectors.iter().all(|name| request.parameter(name).is_some())
            && (is_copy || !self.copies)
    }

    fn takes_header(&self, name: &str) -> bool {
        let mut known = COMMON.iter().chain(self.headers.iter().copied().flatten());
        known.any(|known| *known == name || *known == META && name.starts_with(META))
    }

    fn takes_parameter(&self, name: &str, is_presigned: bool) -> bool {
        // Some clients name the operation in the address.
        let is_common = name == "x-id" || is_presigned && PRESIGNED.contains(&name);
        is_common || self.selectors.contains(&name) || self.parameters.contains(&name)
    }

    /// Whether a parameter or header that the operation takes may have this value.
    fn takes_value(&self, name: &str, value: &str) -> bool {
        let is = |word: &str| value.eq_ignore_ascii_case(word);
        match name {
            // The only version of an object where a bucket has no versions.
            "versionId" | "version-id-marker" => value == "null",
            "list-type" => value == "2",
            "x-id" => value == format!("{:?}", self.operation),
            "x-amz-acl" if self.operation == It::CreateBucket => value == "private",
            "x-amz-acl" => matches!(value, "private" | "bucket-owner-full-control"),
            "x-amz-storage-class" => value == "STANDARD",
            "x-amz-bucket-object-lock-enabled" => is("false"),
            "x-amz-checksum-mode" => is("ENABLED"),
            "x-amz-checksum-algorithm" | "x-amz-sdk-checksum-algorithm" => Algorithm::named(value).is_ok(),
            "x-amz-trailer" => Algorithm::ALL.iter().any(|algorithm| is(&algorithm.header())),
            "if-none-match" if matches!(self.method, "PUT" | "POST") => value == "*",
            _ => true,
        }
    }
}

/// Whether a header asks for something of S3, and not only of HTTP.
fn is_of_s3(name: &str) -> bool {
    let asks = ["content-md5", "content-range", "range"].contains(&name);
    asks || name.starts_with("x-amz-") || name.starts_with("if-")
}

/// The operation that a request asks for.
///
/// # Errors
/// If this gateway lacks the operation, or one of its parameters, headers or their values.
pub(crate) fn operation(request: &Request) -> Result<Operation, Fault> {
    let lacks = |what: String| Err(Code::NotImplemented.because(format!("{what} is not implemented")));
    let about = match request.resource() {
        (None, None) => All,
        (Some(_), None) => Bucket,
        (Some(_), Some(_)) => Object,
        (None, Some(_)) => return Err(Code::InvalidUri.because("the path has no bucket")),
    };
    let fitting = ROWS.iter().filter(|row| row.fits(request, about));
    let Some(row) = fitting.max_by_key(|row| (row.selectors.len(), row.copies)) else {
        let names: Vec<&str> = request.parameters.iter().map(|(name, _)| name.as_str()).collect();
        return lacks(format!("`{}` of {} with `?{}`", request.method, about.words(), names.join("&")));
    };
    let operation = row.operation;
    let is_presigned = request.header("authorization").is_none();
    let mut seen: Vec<&str> = Vec::new();
    for (name, value) in &request.parameters {
        // With it, S3 may know the request as another operation than this one.
        if !row.takes_parameter(name, is_presigned) {
            let method = &request.method;
            return lacks(format!("`{method}` of {} with the parameter `{name}`", about.words()));
        }
        if !row.takes_value(name, value) {
            return lacks(format!("{operation:?} with `{name}={value}`"));
        }
        if seen.contains(&name.as_str()) {
            return Err(Code::InvalidArgument.because(format!("the parameter `{name}` is given twice")));
        }
        seen.push(name);
    }
    for (name, value) in request.headers.iter().filter(|(name, _)| is_of_s3(name)) {
        if !row.takes_header(name) {
            return lacks(format!("{operation:?} with the header `{name}`"));
        }
        if !row.takes_value(name, value) {
            return lacks(format!("{operation:?} with `{name}: {value}`"));
        }
    }
    Ok(operation)
}

/// Refuses what a browser asks for without a signature: whether a page of another site may send a request,
/// and a form that uploads a file.
///
/// # Errors
/// If the request is one of these.
pub(crate) fn refuse_browsers(request: &Request) -> Result<(), Fault> {
    let form = || request.header("content-type").is_some_and(|kind| kind.starts_with("multipart/form-data"));
    match request.method.as_str() {
        "OPTIONS" => {
            Err(Code::NotImplemented.because("`OPTIONS`, with which browsers ask, is not implemented"))
        }
        "POST" if form() => {
            Err(Code::NotImplemented.because("uploads by a form of a page are not implemented"))
        }
        _ => Ok(()),
    }
}

/// Refuses an element of a document that has children other than these: each of `once` at most once, and
/// `many` any number of times.
///
/// # Errors
/// If there is another one, or one of `once` twice.
pub(crate) fn check_children(element: &Element, once: &[&str], many: &[&str]) -> Result<(), Fault> {
    let name = &element.name;
    for (at, child) in element.children.iter().enumerate() {
        let child = child.name.as_str();
        if many.contains(&child) {
            continue;
        }
        if !once.contains(&child) {
            let message = format!("the element `{child}` of `{name}` is not implemented");
            return Err(Code::NotImplemented.because(message));
        }
        if element.children[..at].iter().any(|earlier| earlier.name == child) {
            return Err(Code::MalformedXml.because(format!("`{name}` has two elements `{child}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
