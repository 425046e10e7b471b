//! A reply: a status, headers, and bytes that may be read from the store while they are sent.

use bytes::Bytes;

use crate::attributes::{Attributes, ReportedChecksum};
use crate::fault::{Code, Fault};
use crate::source::Source;
use crate::xml::Writer;

/// The body of a reply.
pub enum Body<'d> {
    /// These bytes.
    Bytes(Bytes),
    /// As many bytes as the header `content-length` states, one run at a time.
    Stream(Box<dyn Source + 'd>),
}

/// A reply to a request.
pub struct Reply<'d> {
    /// The HTTP status.
    pub status: u16,
    /// Headers, by lower-case name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body<'d>,
}

impl<'d> Reply<'d> {
    /// A reply without a body.
    #[must_use]
    pub fn empty(status: u16) -> Reply<'d> {
        Reply { status, headers: Vec::new(), body: Body::Bytes(Bytes::new()) }
    }

    /// A reply with an XML document.
    #[must_use]
    pub fn document(writer: Writer) -> Reply<'d> {
        let body = Body::Bytes(Bytes::from(writer.end()));
        Reply { status: 200, headers: Vec::new(), body }.with("content-type", "application/xml")
    }

    /// A reply that reports a fault; `resource` is the path of the request.
    #[must_use]
    pub fn fault(fault: &Fault, resource: &str) -> Reply<'d> {
        let (code, status) = fault.code.words();
        if fault.code == Code::NotModified {
            return Reply::empty(status);
        }
        let mut writer = Writer::new("Error");
        writer.leaf("Code", code);
        writer.leaf("Message", &fault.message);
        writer.leaf("Resource", resource);
        // Error documents have no namespace.
        let text = writer.end().replacen(" xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"", "", 1);
        let body = Body::Bytes(Bytes::from(text));
        Reply { status, headers: Vec::new(), body }.with("content-type", "application/xml")
    }

    /// Names the request in the document of a fault, as in the header.
    #[must_use]
    pub(crate) fn with_request(mut self, id: &str) -> Reply<'d> {
        const END: &[u8] = b"</Error>";
        if let (400.., Body::Bytes(bytes)) = (self.status, &self.body)
            && let Some(start) = bytes.strip_suffix(END)
        {
            let named = format!("<RequestId>{id}</RequestId>");
            self.body = Body::Bytes([start, named.as_bytes(), END].concat().into());
        }
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Reply<'d> {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Adds the headers that report a checksum.
    #[must_use]
    pub(crate) fn with_checksum(self, checksum: Option<&ReportedChecksum>) -> Reply<'d> {
        match checksum {
            None => self,
            Some(it) => {
                self.with(&it.algorithm.header(), it.value.clone()).with("x-amz-checksum-type", it.kind())
            }
        }
    }

    /// Adds the headers that report an object's attributes, except its length.
    #[must_use]
    pub(crate) fn with_object(self, object: &Attributes) -> Reply<'d> {
        let mut reply = self.with("etag", quoted(&object.etag)).with("last-modified", object.modified.http());
        reply = reply.with("accept-ranges", "bytes");
        let headers = &object.labels.headers;
        if !headers.contains_key("content-type") {
            reply = reply.with("content-type", "binary/octet-stream");
        }
        let kept = headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        let meta = object.labels.meta.iter();
        let meta = meta.map(|(name, value)| (format!("x-amz-meta-{name}"), value.clone()));
        reply.headers.extend(kept.chain(meta));
        reply
    }
}

/// A tag in the quoted form of headers and documents.
#[must_use]
pub(crate) fn quoted(etag: &str) -> String {
    format!("\"{etag}\"")
}
