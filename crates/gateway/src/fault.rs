//! Why a request is refused, with the error codes of S3, on which clients act.

/// An error code of S3, with the HTTP status that S3 assigns to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// The request is not signed, or its signature does not cover all of it.
    AccessDenied,
    /// A header or field needed for the signature is malformed.
    AuthorizationHeaderMalformed,
    /// A body does not match its `Content-MD5` or checksum.
    BadDigest,
    /// The bucket already exists, and belongs to the caller.
    BucketAlreadyOwnedByYou,
    /// A bucket with objects or uploads cannot be removed.
    BucketNotEmpty,
    /// A body exceeds the limit for an object or part.
    EntityTooLarge,
    /// A part that is not the last has less than 5 MiB.
    EntityTooSmall,
    /// The body ended before its stated length.
    IncompleteBody,
    /// An internal failure.
    InternalError,
    /// The access key is unknown.
    InvalidAccessKeyId,
    /// A header or parameter has an invalid value.
    InvalidArgument,
    /// A bucket's name breaks the rules.
    InvalidBucketName,
    /// A digest in a header is malformed.
    InvalidDigest,
    /// A part named to complete an upload is missing, or differs.
    InvalidPart,
    /// The object has no part with this number.
    InvalidPartNumber,
    /// The parts named to complete an upload are out of order.
    InvalidPartOrder,
    /// No byte of a range lies within the object.
    InvalidRange,
    /// The request contradicts itself.
    InvalidRequest,
    /// A path cannot be decoded as text.
    InvalidUri,
    /// A key has more than 1,024 bytes.
    KeyTooLong,
    /// A document cannot be parsed.
    MalformedXml,
    /// A document exceeds its limit.
    MaxMessageLengthExceeded,
    /// User metadata has more than 2 KiB.
    MetadataTooLarge,
    /// The length of a body is not stated.
    MissingContentLength,
    /// The bucket does not exist.
    NoSuchBucket,
    /// The object does not exist.
    NoSuchKey,
    /// The upload does not exist.
    NoSuchUpload,
    /// S3 has this feature, but this gateway does not.
    NotImplemented,
    /// The object is unchanged since the caller read it.
    NotModified,
    /// A condition of the request does not hold.
    PreconditionFailed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The clocks of caller and gateway differ by more than 15 minutes.
    RequestTimeTooSkewed,
    /// The store does not answer.
    ServiceUnavailable,
    /// The signature does not match the request.
    SignatureDoesNotMatch,
    /// Too many requests are waiting already.
    SlowDown,
    /// The body's SHA-256 differs from the signed one.
    ContentSha256Mismatch,
}

impl Code {
    /// The code's name in replies, and its HTTP status.
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
            Code::InvalidPartNumber => ("InvalidPartNumber", 416),
            Code::InvalidPartOrder => ("InvalidPartOrder", 400),
            Code::InvalidRange => ("InvalidRange", 416),
            Code::InvalidRequest => ("InvalidRequest", 400),
            Code::InvalidUri => ("InvalidURI", 400),
            Code::KeyTooLong => ("KeyTooLongError", 400),
            Code::MalformedXml => ("MalformedXML", 400),
            Code::MaxMessageLengthExceeded => ("MaxMessageLengthExceeded", 400),
            Code::MetadataTooLarge => ("MetadataTooLarge", 400),
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

    /// A fault with this code, and a message for a person.
    #[must_use]
    pub(crate) fn because(self, message: impl Into<String>) -> Fault {
        Fault { code: self, message: message.into() }
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.words().0)]
pub struct Fault {
    /// The code, on which clients act.
    pub code: Code,
    /// The message for a person.
    pub message: String,
}

impl From<towtank_store::StoreError> for Fault {
    fn from(error: towtank_store::StoreError) -> Fault {
        use towtank_store::StoreError;
        let code = match &error {
            // The cluster, or one of its daemons, is not reachable: a later attempt may succeed.
            StoreError::TimedOut { .. }
            | StoreError::Wire(_)
            | StoreError::Io(_)
            | StoreError::Settings(_) => Code::ServiceUnavailable,
            _ => Code::InternalError,
        };
        code.because(error.to_string())
    }
}
