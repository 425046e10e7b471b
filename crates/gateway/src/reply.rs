//! An answer: a status, headers, and bytes that may come from the store while they are sent.

use bytes::Bytes;

use crate::attributes::{Attributes, ToldChecksum};
use crate::fault::{Code, Fault};
use crate::source::Source;
use crate::xml::Writer;

/// What follows the headers.
pub enum Body<'d> {
    /// These bytes.
    Bytes(Bytes),
    /// As many bytes as the header `content-length` says, a run at a time.
    Stream(Box<dyn Source + 'd>),
}

/// An answer.
pub struct Reply<'d> {
    /// The status of HTTP.
    pub status: u16,
    /// Headers, by name in small letters.
    pub headers: Vec<(String, String)>,
    /// What follows.
    pub body: Body<'d>,
}

impl<'d> Reply<'d> {
    /// Without a body.
    #[must_use]
    pub fn empty(status: u16) -> Reply<'d> {
        Reply { status, headers: Vec::new(), body: Body::Bytes(Bytes::new()) }
    }

    /// A document.
    #[must_use]
    pub fn document(writer: Writer) -> Reply<'d> {
        let body = Body::Bytes(Bytes::from(writer.end()));
        Reply { status: 200, headers: Vec::new(), body }.with("content-type", "application/xml")
    }

    /// What was refused, with why; `resource` is the path that it was asked of.
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
        // Documents of errors have no namespace.
        let text = writer.end().replacen(" xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"", "", 1);
        let body = Body::Bytes(Bytes::from(text));
        Reply { status, headers: Vec::new(), body }.with("content-type", "application/xml")
    }

    /// With a header more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Reply<'d> {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With headers that tell a checksum.
    #[must_use]
    pub fn with_checksum(self, checksum: Option<&ToldChecksum>) -> Reply<'d> {
        match checksum {
            None => self,
            Some(it) => {
                self.with(&it.algorithm.header(), it.value.clone()).with("x-amz-checksum-type", it.kind())
            }
        }
    }

    /// With headers that tell what is known of an object, but its length.
    #[must_use]
    pub fn with_object(self, object: &Attributes) -> Reply<'d> {
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

/// A tag as headers and documents have it.
#[must_use]
pub fn quoted(etag: &str) -> String {
    format!("\"{etag}\"")
}
