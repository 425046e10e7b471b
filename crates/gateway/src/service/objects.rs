//! Operations on objects: reading, writing, copying, removing.

use std::ops::Range;

use bytes::Bytes;

use super::Service;
use super::uploads::leaf_of;
use crate::attributes::{Attributes, KEPT, Labels};
use crate::checksums::Algorithm;
use crate::conditions::{check_read, check_write, range};
use crate::depot::Opened;
use crate::escape::unescape;
use crate::fault::{Code, Fault};
use crate::names::Place;
use crate::payload::{BODY_MAX, Payload};
use crate::reply::{Body, Reply, quoted};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::xml::Writer;

/// The prefix of headers with conditions on the source of a copy.
const SOURCE: &str = "x-amz-copy-source-";

/// The bytes of an object that a request wants.
struct Wanted {
    range: Range<u64>,
    /// Whether they are only a part of it, which the reply must state.
    is_part: bool,
    /// The number of parts of the object, if it was uploaded in parts and the request names one.
    parts: Option<usize>,
}

impl<S: Shelf> Service<S> {
    pub(super) fn get(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        let opened = self.depot.open_object(place)?;
        if !is_changed(request, &opened.attributes)? {
            return Ok(unchanged(&opened.attributes));
        }
        let parts = opened.parts();
        let wanted = wanted(request, &opened.attributes, parts.as_deref())?;
        let mut reply = about(request, &opened.attributes, &wanted);
        reply.body = Body::Stream(Box::new(opened.reader(wanted.range)));
        Ok(reply)
    }

    pub(super) fn head(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        let (object, parts) = match request.parameter("partNumber") {
            // The ends of parts are recorded in the manifest.
            Some(_) => {
                let opened = self.depot.open_object(place)?;
                (opened.attributes.clone(), opened.parts())
            }
            None => (self.depot.look(place)?, None),
        };
        if !is_changed(request, &object)? {
            return Ok(unchanged(&object));
        }
        let wanted = wanted(request, &object, parts.as_deref())?;
        Ok(about(request, &object, &wanted))
    }

    pub(super) fn put(
        &self,
        request: &Request,
        place: &Place,
        payload: Payload<'_>,
    ) -> Result<Reply<'_>, Fault> {
        let labels = Labels::of(request)?;
        // Also checked before the body is received, because it may be large.
        if request.header("if-match").is_some() || request.header("if-none-match").is_some() {
            check_write(request, self.depot.look(place).ok().as_ref())?;
        }
        let condition = |object: Option<&Attributes>| check_write(request, object);
        let written = self.depot.put(place, labels, payload, &condition, (self.now)())?;
        let reply = Reply::empty(200).with("etag", quoted(&written.etag));
        Ok(reply.with_checksum(written.checksum.as_ref()))
    }

    pub(super) fn delete(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        self.depot.remove(place, &|object| check_write(request, object))?;
        Ok(Reply::empty(204))
    }

    pub(super) fn tags(&self, place: &Place) -> Result<Reply<'_>, Fault> {
        self.depot.look(place)?;
        let mut writer = Writer::new("Tagging");
        writer.within("TagSet", |_| {});
        Ok(Reply::document(writer))
    }

    /// The source of a copy, if it meets its conditions.
    pub(super) fn source(&self, request: &Request) -> Result<(Place, Opened<'_, S>), Fault> {
        let text = request.header("x-amz-copy-source").unwrap_or_default();
        let (path, version) = text.split_once("?versionId=").unwrap_or((text, "null"));
        if version != "null" {
            return Err(Code::NotImplemented.because("versions are not implemented"));
        }
        let path = unescape(path)?;
        let (bucket, key) = path.strip_prefix('/').unwrap_or(&path).split_once('/').unwrap_or_default();
        if key.is_empty() {
            return Err(Code::InvalidArgument.because("`x-amz-copy-source` must be BUCKET/KEY"));
        }
        let place = Place::new(bucket, key)?;
        let opened = self.depot.open_object(&place)?;
        check_read(request, SOURCE, &opened.attributes)?;
        Ok((place, opened))
    }

    pub(super) fn copy(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        let replaces = match request.header("x-amz-metadata-directive") {
            None | Some("COPY") => false,
            Some("REPLACE") => true,
            Some(_) => return Err(Code::InvalidArgument.because("use COPY or REPLACE")),
        };
        let given = Labels::of(request)?;
        let (from, opened) = self.source(request)?;
        if from == *place && !replaces {
            let message = "to copy an object onto itself, use the directive REPLACE";
            return Err(Code::InvalidRequest.because(message));
        }
        let length = opened.attributes.length;
        if length > BODY_MAX {
            return Err(Code::InvalidRequest.because("the object exceeds 5 GiB: copy it in parts"));
        }
        let labels = if replaces { given } else { opened.attributes.labels.clone() };
        let of_source = opened.attributes.checksum.as_ref().map(|checksum| checksum.algorithm);
        let chosen = request.header("x-amz-checksum-algorithm").map(Algorithm::named).transpose()?;
        let mut payload = Payload::of(Box::new(opened.reader(0..length)), length);
        payload.choose(chosen.or(of_source));
        let condition = |object: Option<&Attributes>| check_write(request, object);
        let written = self.depot.put(place, labels, payload, &condition, (self.now)())?;
        let mut writer = Writer::new("CopyObjectResult");
        writer.leaf("LastModified", written.modified.iso());
        writer.leaf("ETag", quoted(&written.etag));
        leaf_of(&mut writer, written.checksum.as_ref());
        Ok(Reply::document(writer))
    }
}

/// Whether an object meets the conditions of a read; false if only those of a caller's copy are not met,
/// which is up to date.
fn is_changed(request: &Request, object: &Attributes) -> Result<bool, Fault> {
    match check_read(request, "", object) {
        Err(fault) if fault.code == Code::NotModified => Ok(false),
        checked => checked.map(|()| true),
    }
}

/// The reply with which a caller's copy stays valid (RFC 9110, section 15.4.5).
fn unchanged<'d>(object: &Attributes) -> Reply<'d> {
    let mut reply = Reply::empty(Code::NotModified.words().1);
    reply = reply.with("etag", quoted(&object.etag)).with("last-modified", object.modified.http());
    for name in ["cache-control", "expires"] {
        let kept = object.labels.headers.get(name);
        reply.headers.extend(kept.map(|value| (name.to_owned(), value.clone())));
    }
    reply
}

fn wanted(request: &Request, object: &Attributes, parts: Option<&[u64]>) -> Result<Wanted, Fault> {
    let length = object.length;
    if let Some(text) = request.parameter("partNumber") {
        if request.header("range").is_some() {
            return Err(Code::InvalidRequest.because("request a range or a part, not both"));
        }
        let (whole, count) = ([length], parts.map(<[u64]>::len));
        let parts = parts.unwrap_or(&whole);
        let number: usize = text.parse().unwrap_or_default();
        let fault = || Code::InvalidPartNumber.because(format!("the object has {} parts", parts.len()));
        let before = number.checked_sub(1).filter(|before| *before < parts.len()).ok_or_else(fault)?;
        let first: u64 = parts[..before].iter().sum();
        let is_part = parts.len() > 1;
        return Ok(Wanted { range: first..first + parts[before], is_part, parts: count });
    }
    // If the request has `if-range`, the range applies only to the version with that tag.
    let is_known = request.header("if-range").is_none_or(|tag| tag.trim_matches('"') == object.etag);
    let range = range(request.header("range").filter(|_| is_known), length)?;
    let is_part = range.is_some();
    Ok(Wanted { range: range.unwrap_or(0..length), is_part, parts: None })
}

fn about<'d>(request: &Request, object: &Attributes, wanted: &Wanted) -> Reply<'d> {
    let Wanted { range, is_part, parts } = wanted;
    let mut reply = Reply::empty(if *is_part { 206 } else { 200 }).with_object(object);
    reply = reply.with("content-length", (range.end - range.start).to_string());
    if *is_part {
        let last = range.end.saturating_sub(1);
        reply = reply.with("content-range", format!("bytes {}-{last}/{}", range.start, object.length));
    } else if request.header("x-amz-checksum-mode").is_some_and(|it| it.eq_ignore_ascii_case("enabled")) {
        reply = reply.with_checksum(object.checksum.as_ref());
    }
    if let Some(parts) = parts {
        reply = reply.with("x-amz-mp-parts-count", parts.to_string());
    }
    for name in KEPT {
        let Some(value) = request.parameter(&format!("response-{name}")) else { continue };
        reply.headers.retain(|(other, _)| other != name);
        reply = reply.with(name, value);
    }
    reply.body = Body::Bytes(Bytes::new());
    reply
}
