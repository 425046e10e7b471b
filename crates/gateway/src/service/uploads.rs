//! Operations on uploads in parts.

use std::ops::Range;

use super::{Service, document, most_of, owner};
use crate::allowed::check_children;
use crate::attributes::{Attributes, Labels, ReportedChecksum};
use crate::checksums::Algorithm;
use crate::conditions::check_write;
use crate::depot::{After, Chosen, Part, Promise, Upload, UploadsPage};
use crate::fault::{Code, Fault};
use crate::names::Place;
use crate::payload::Payload;
use crate::reply::{Reply, quoted};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::xml::{Element, Writer};

/// The most parts or uploads of a page.
const ROWS_MAX: usize = 1_000;

/// The id of the upload in a request.
fn id_of(request: &Request) -> &str {
    request.parameter("uploadId").unwrap_or_default()
}

/// A numeric parameter; 0 if it is absent.
fn number_of(request: &Request, name: &str) -> Result<u32, Fault> {
    let Some(text) = request.parameter(name).filter(|text| !text.is_empty()) else { return Ok(0) };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let fault = || Code::InvalidArgument.because(format!("`{name}` is not a number"));
    text.parse().ok().filter(|_| is_number).ok_or_else(fault)
}

impl<S: Shelf> Service<S> {
    pub(super) fn begin_upload(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        let labels = Labels::of(request)?;
        let checksum = kind_of(request)?;
        let id = self.depot.begin_upload(place, labels, checksum.clone(), (self.now)())?;
        let mut writer = Writer::new("InitiateMultipartUploadResult");
        writer.leaf("Bucket", &place.bucket);
        writer.leaf("Key", &place.key);
        writer.leaf("UploadId", id);
        let mut reply = Reply::document(writer);
        if let Some(kind) = checksum {
            reply = reply.with("x-amz-checksum-algorithm", kind.algorithm.name());
            reply = reply.with("x-amz-checksum-type", kind.kind());
        }
        Ok(reply)
    }

    pub(super) fn put_part(
        &self,
        request: &Request,
        place: &Place,
        payload: Payload<'_>,
    ) -> Result<Reply<'_>, Fault> {
        let number = number_of(request, "partNumber")?;
        let part = self.depot.put_part(place, id_of(request), number, payload, (self.now)())?;
        let reply = Reply::empty(200).with("etag", quoted(&part.etag));
        Ok(reply.with_checksum(part.checksum.as_ref()))
    }

    pub(super) fn copy_part(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        let number = number_of(request, "partNumber")?;
        let (_, opened) = self.source(request)?;
        let bytes = copied(request.header("x-amz-copy-source-range"), opened.attributes.length)?;
        let length = bytes.end - bytes.start;
        let payload = Payload::of(Box::new(opened.reader(bytes)), length);
        let part = self.depot.put_part(place, id_of(request), number, payload, (self.now)())?;
        let mut writer = Writer::new("CopyPartResult");
        writer.leaf("LastModified", part.modified.iso());
        writer.leaf("ETag", quoted(&part.etag));
        leaf_of(&mut writer, part.checksum.as_ref());
        Ok(Reply::document(writer))
    }

    pub(super) fn complete(
        &self,
        request: &Request,
        place: &Place,
        payload: Payload<'_>,
    ) -> Result<Reply<'_>, Fault> {
        let wanted = document(payload, "CompleteMultipartUpload")?;
        check_children(&wanted, &[], &["Part"])?;
        let chosen: Vec<Chosen> = wanted.all("Part").map(chosen).collect::<Result<_, _>>()?;
        let promise = Promise {
            checksum: only_one(|algorithm| request.header(&algorithm.header()))?,
            kind: request.header("x-amz-checksum-type"),
            length: request.number("x-amz-mp-object-size")?,
        };
        let condition = |object: Option<&Attributes>| check_write(request, object);
        let made = self.depot.complete(place, id_of(request), &chosen, &promise, &condition, (self.now)())?;
        let mut writer = Writer::new("CompleteMultipartUploadResult");
        let host = request.header("host").unwrap_or_default();
        writer.leaf("Location", format!("http://{host}/{}/{}", place.bucket, place.key));
        writer.leaf("Bucket", &place.bucket);
        writer.leaf("Key", &place.key);
        writer.leaf("ETag", quoted(&made.etag));
        leaf_of(&mut writer, made.checksum.as_ref());
        Ok(Reply::document(writer))
    }

    pub(super) fn abort(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        self.depot.abort(place, id_of(request))?;
        Ok(Reply::empty(204))
    }

    pub(super) fn list_parts(&self, request: &Request, place: &Place) -> Result<Reply<'_>, Fault> {
        let after = number_of(request, "part-number-marker")?;
        let most = most_of(request, "max-parts", ROWS_MAX)?;
        let page = self.depot.parts(place, id_of(request), after, most)?;
        let mut writer = Writer::new("ListPartsResult");
        writer.leaf("Bucket", &place.bucket);
        writer.leaf("Key", &place.key);
        writer.leaf("UploadId", &page.upload.id);
        owner(&mut writer, "Initiator");
        owner(&mut writer, "Owner");
        writer.leaf("StorageClass", "STANDARD");
        writer.leaf("PartNumberMarker", after.to_string());
        if let Some(Part { number, .. }) = page.parts.last() {
            writer.leaf("NextPartNumberMarker", number.to_string());
        }
        writer.leaf("MaxParts", most.to_string());
        writer.leaf("IsTruncated", page.is_cut.to_string());
        kind_leaves(&mut writer, &page.upload);
        for Part { number, attributes } in &page.parts {
            writer.within("Part", |writer| {
                writer.leaf("PartNumber", number.to_string());
                writer.leaf("LastModified", attributes.modified.iso());
                writer.leaf("ETag", quoted(&attributes.etag));
                writer.leaf("Size", attributes.length.to_string());
                leaf_of(writer, attributes.checksum.as_ref());
            });
        }
        Ok(Reply::document(writer))
    }

    pub(super) fn list_uploads(&self, request: &Request, bucket: &str) -> Result<Reply<'_>, Fault> {
        let text = |name: &str| request.parameter(name).unwrap_or_default();
        let escaped = |text: &str| match request.parameter("encoding-type") {
            Some("url") => crate::escape::escape(text, true),
            _ => text.to_owned(),
        };
        let most = most_of(request, "max-uploads", ROWS_MAX)?;
        let (key, id) = (text("key-marker"), text("upload-id-marker"));
        // Without the marker of an id, a page begins after all uploads of the marker's key.
        let after = After { key: key.to_owned(), id: Some(id.to_owned()).filter(|id| !id.is_empty()) };
        let is_first = after == After { key: String::new(), id: None };
        let after = Some(&after).filter(|_| !is_first);
        let UploadsPage { uploads, is_cut } = self.depot.uploads(bucket, text("prefix"), after, most)?;
        let mut writer = Writer::new("ListMultipartUploadsResult");
        writer.leaf("Bucket", bucket);
        writer.leaf("KeyMarker", escaped(key));
        writer.leaf("UploadIdMarker", id);
        if let Some(last) = uploads.last() {
            writer.leaf("NextKeyMarker", escaped(&last.key));
            writer.leaf("NextUploadIdMarker", &last.id);
        }
        writer.leaf("Prefix", escaped(text("prefix")));
        if request.parameter("encoding-type") == Some("url") {
            writer.leaf("EncodingType", "url");
        }
        writer.leaf("MaxUploads", most.to_string());
        writer.leaf("IsTruncated", is_cut.to_string());
        for upload in &uploads {
            writer.within("Upload", |writer| {
                writer.leaf("Key", escaped(&upload.key));
                writer.leaf("UploadId", &upload.id);
                owner(writer, "Initiator");
                owner(writer, "Owner");
                writer.leaf("StorageClass", "STANDARD");
                writer.leaf("Initiated", upload.begun.iso());
                kind_leaves(writer, upload);
            });
        }
        Ok(Reply::document(writer))
    }
}

/// The bytes of an object that are copied into a part. Unlike for a read, all of them must exist.
fn copied(asked: Option<&str>, length: u64) -> Result<Range<u64>, Fault> {
    let Some(text) = asked else { return Ok(0..length) };
    let wrong = || Code::InvalidArgument.because("the copy range must be bytes=FIRST-LAST");
    let bounds = text.strip_prefix("bytes=").and_then(|it| it.split_once('-')).ok_or_else(wrong)?;
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok());
    let (Some(Some(first)), Some(Some(last))) = (number(bounds.0), number(bounds.1)) else {
        return Err(wrong());
    };
    if first > last {
        return Err(wrong());
    }
    if last >= length {
        let message = format!("the copy range `{text}` does not lie in the {length} bytes of the source");
        return Err(Code::InvalidRange.because(message));
    }
    Ok(first..last + 1)
}

/// The one checksum that is given, if any.
fn only_one<'t>(given: impl Fn(Algorithm) -> Option<&'t str>) -> Result<Option<(Algorithm, &'t str)>, Fault> {
    let mut all = Algorithm::ALL.into_iter().filter_map(|algorithm| Some((algorithm, given(algorithm)?)));
    let first = all.next();
    match all.next() {
        Some(_) => Err(Code::InvalidRequest.because("more than one checksum is given")),
        None => Ok(first),
    }
}

/// The kind of checksum of an upload. SHA digests of parts cannot be joined; CRC-64 covers only the whole
/// object.
fn kind_of(request: &Request) -> Result<Option<ReportedChecksum>, Fault> {
    let Some(name) = request.header("x-amz-checksum-algorithm") else {
        return match request.header("x-amz-checksum-type") {
            None => Ok(None),
            Some(_) => Err(Code::InvalidRequest.because("a type of checksum needs an algorithm")),
        };
    };
    let algorithm = Algorithm::named(name)?;
    let is_composite = match (algorithm, request.header("x-amz-checksum-type")) {
        (Algorithm::Crc64Nvme, None | Some("FULL_OBJECT")) => false,
        (Algorithm::Crc32 | Algorithm::Crc32c, Some("FULL_OBJECT")) => false,
        (Algorithm::Crc64Nvme, _) | (_, Some("FULL_OBJECT")) => {
            return Err(Code::InvalidRequest.because("this algorithm has no such type"));
        }
        (_, None | Some("COMPOSITE")) => true,
        _ => return Err(Code::InvalidRequest.because("the type must be COMPOSITE or FULL_OBJECT")),
    };
    Ok(Some(ReportedChecksum { algorithm, value: String::new(), is_composite }))
}

fn chosen(part: &Element) -> Result<Chosen, Fault> {
    let name = |algorithm: Algorithm| format!("Checksum{}", algorithm.name());
    let names = Algorithm::ALL.map(name);
    let all: Vec<&str> = ["PartNumber", "ETag"].into_iter().chain(names.iter().map(String::as_str)).collect();
    check_children(part, &all, &[])?;
    let fault = || Code::MalformedXml.because("a part needs a number and an ETag");
    let number = part.child("PartNumber").and_then(|text| text.parse().ok()).ok_or_else(fault)?;
    let etag = part.child("ETag").ok_or_else(fault)?.trim_matches('"').to_owned();
    let checksum = only_one(|algorithm| part.child(&name(algorithm)))?;
    Ok(Chosen { number, etag, checksum: checksum.map(|(algorithm, text)| (algorithm, text.to_owned())) })
}

pub(super) fn leaf_of(writer: &mut Writer, checksum: Option<&ReportedChecksum>) {
    if let Some(checksum) = checksum {
        writer.leaf(&format!("Checksum{}", checksum.algorithm.name()), &checksum.value);
        writer.leaf("ChecksumType", checksum.kind());
    }
}

fn kind_leaves(writer: &mut Writer, upload: &Upload) {
    if let Some(kind) = &upload.checksum {
        writer.leaf("ChecksumAlgorithm", kind.algorithm.name());
        writer.leaf("ChecksumType", kind.kind());
    }
}
