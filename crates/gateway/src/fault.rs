//! Why a request is refused, in the codes of S3, which clients act upon.

/// A code of S3. Each has the status of HTTP that S3 gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// The request is not signed, or what is signed does not cover it.
    AccessDenied,
    /// A header or field that the signature needs is malformed.
    AuthorizationHeaderMalformed,
    /// A body is not the one of its `Content-MD5` or checksum.
    BadDigest,
    /// The bucket is there already, and is the caller's own.
    BucketAlreadyOwnedByYou,
    /// A bucket with objects or uploads cannot be removed.
    BucketNotEmpty,
    /// A body is longer than an object or part may be.
    EntityTooLarge,
    /// A part that is not the last has less than 5 MiB.
    EntityTooSmall,
    /// The body ended before its length.
    IncompleteBody,
    /// Something failed here.
    InternalError,
    /// There is no such key of access.
    InvalidAccessKeyId,
    /// A header or parameter has no meaning.
    InvalidArgument,
    /// A bucket's name breaks the rules.
    InvalidBucketName,
    /// A digest in a header is no digest.
    InvalidDigest,
    /// A part that completes an upload is not there, or is another.
    InvalidPart,
    /// Parts that complete an upload are not in order.
    InvalidPartOrder,
    /// No byte of a range lies in the object.
    InvalidRange,
    /// The request contradicts itself.
    InvalidRequest,
    /// There is one class of storage.
    InvalidStorageClass,
    /// A path that is no text.
    InvalidUri,
    /// A key has more than 1,024 bytes.
    KeyTooLong,
    /// A document that cannot be read.
    MalformedXml,
    /// A document is longer than it may be.
    MaxMessageLengthExceeded,
    /// User metadata has more than 2 KiB.
    MetadataTooLarge,
    /// The operation is not one of the resource.
    MethodNotAllowed,
    /// The length of a body is not told.
    MissingContentLength,
    /// There is no such bucket.
    NoSuchBucket,
    /// There is no such object.
    NoSuchKey,
    /// There is no such upload.
    NoSuchUpload,
    /// S3 has this, and this gateway does not.
    NotImplemented,
    /// The object is as the caller has it.
    NotModified,
    /// A condition of the caller does not hold.
    PreconditionFailed,
    /// The body did not come in time.
    RequestTimeout,
    /// The clocks of caller and gateway differ by more than 15 minutes.
    RequestTimeTooSkewed,
    /// The store does not answer.
    ServiceUnavailable,
    /// The signature is not that of the request.
    SignatureDoesNotMatch,
    /// Too much waits already.
    SlowDown,
    /// A body has another SHA-256 than was signed.
    ContentSha256Mismatch,
}

impl Code {
    /// The code's name in answers, and the status of HTTP that goes with it.
    #[must_use]
    pub fn words(self) -> (&'static str, u16) {
        match self {
            Code::AccessDenied => ("AccessDenied", 403),
            Code::AuthorizationHeaderMalformed => ("AuthorizationHeaderMalformed", 400),
            Code::BadDigest => ("BadDigest", 400),
            Code::BucketAlreadyOwnedByYou => ("BucketAlreadyOwnedByYou", 409),
            Code::BucketNotEmpty => ("BucketNotEmpty", 409),
            Code::EntityTooLarge => ("EntityTooLarge", 400),
            Code::EntityTooSmall => ("EntityTooSmall", 400),
            Code::IncompleteBody => ("IncompleteBody", 400),
            Code::InternalError => ("InternalError", 500),
            Code::InvalidAccessKeyId => ("InvalidAccessKeyId", 403),
            Code::InvalidArgument => ("InvalidArgument", 400),
            Code::InvalidBucketName => ("InvalidBucketName", 400),
            Code::InvalidDigest => ("InvalidDigest", 400),
            Code::InvalidPart => ("InvalidPart", 400),
            Code::InvalidPartOrder => ("InvalidPartOrder", 400),
            Code::InvalidRange => ("InvalidRange", 416),
            Code::InvalidRequest => ("InvalidRequest", 400),
            Code::InvalidStorageClass => ("InvalidStorageClass", 400),
            Code::InvalidUri => ("InvalidURI", 400),
            Code::KeyTooLong => ("KeyTooLongError", 400),
            Code::MalformedXml => ("MalformedXML", 400),
            Code::MaxMessageLengthExceeded => ("MaxMessageLengthExceeded", 400),
            Code::MetadataTooLarge => ("MetadataTooLarge", 400),
            Code::MethodNotAllowed => ("MethodNotAllowed", 405),
            Code::MissingContentLength => ("MissingContentLength", 411),
            Code::NoSuchBucket => ("NoSuchBucket", 404),
            Code::NoSuchKey => ("NoSuchKey", 404),
            Code::NoSuchUpload => ("NoSuchUpload", 404),
            Code::NotImplemented => ("NotImplemented", 501),
            Code::NotModified => ("NotModified", 304),
            Code::PreconditionFailed => ("PreconditionFailed", 412),
            Code::RequestTimeout => ("RequestTimeout", 400),
            Code::RequestTimeTooSkewed => ("RequestTimeTooSkewed", 403),
            Code::ServiceUnavailable => ("ServiceUnavailable", 503),
            Code::SignatureDoesNotMatch => ("SignatureDoesNotMatch", 403),
            Code::SlowDown => ("SlowDown", 503),
            Code::ContentSha256Mismatch => ("XAmzContentSHA256Mismatch", 400),
        }
    }

    /// A fault of this code, with words for a person.
    #[must_use]
    pub fn because(self, message: impl Into<String>) -> Fault {
        Fault { code: self, message: message.into() }
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.words().0)]
pub struct Fault {
    /// What clients act upon.
    pub code: Code,
    /// What a person reads.
    pub message: String,
}

impl From<towtank_store::StoreError> for Fault {
    fn from(error: towtank_store::StoreError) -> Fault {
        use towtank_store::StoreError;
        let code = match &error {
            // The cluster, or a daemon of it, is away: asking again later may help.
            StoreError::TimedOut { .. }
            | StoreError::Wire(_)
            | StoreError::Io(_)
            | StoreError::Settings(_) => Code::ServiceUnavailable,
            _ => Code::InternalError,
        };
        code.because(error.to_string())
    }
}
