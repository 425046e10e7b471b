//! Operations on uploads in parts.

use super::{Service, document, most_of, owner};
use crate::attributes::{Attributes, Labels, ReportedChecksum};
use crate::checksums::Algorithm;
use crate::conditions::{check_write, range};
use crate::depot::{After, Chosen, Part, Upload, UploadsPage};
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

    pub(super) fn put_part<'s>(
        &self,
        request: &Request,
        place: &Place,
        payload: impl FnOnce() -> Result<Payload<'s>, Fault>,
    ) -> Result<Reply<'_>, Fault> {
        let number = number_of(request, "partNumber")?;
        let now = (self.now)();
        if request.header("x-amz-copy-source").is_none() {
            let part = self.depot.put_part(place, id_of(request), number, payload()?, now)?;
            let reply = Reply::empty(200).with("etag", quoted(&part.etag));
            return Ok(reply.with_checksum(part.checksum.as_ref()));
        }
        let (_, opened) = self.source(request)?;
        let length = opened.attributes.length;
        let asked = request.header("x-amz-copy-source-range");
        let bytes = match range(asked, length)? {
            None if asked.is_some() => {
                return Err(Code::InvalidArgument.because("the copy range must be bytes=FIRST-LAST"));
            }
            bytes => bytes.unwrap_or(0..length),
        };
        let length = bytes.end - bytes.start;
        let payload = Payload::of(Box::new(opened.reader(bytes)), length);
        let part = self.depot.put_part(place, id_of(request), number, payload, now)?;
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
        let chosen: Vec<Chosen> = wanted.all("Part").map(chosen).collect::<Result<_, _>>()?;
        let want = Algorithm::ALL.into_iter().find_map(|it| request.header(&it.header()));
        let condition = |object: Option<&Attributes>| check_write(request, object);
        let made = self.depot.complete(place, id_of(request), &chosen, want, &condition, (self.now)())?;
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
        if !text("delimiter").is_empty() {
            return Err(Code::NotImplemented.because("`delimiter` is not implemented for uploads"));
        }
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

/// The kind of checksum of an upload. SHA digests of parts cannot be joined; CRC-64 covers only the whole
/// object.
fn kind_of(request: &Request) -> Result<Option<ReportedChecksum>, Fault> {
    let name = request.header("x-amz-checksum-algorithm").or(request.header("x-amz-sdk-checksum-algorithm"));
    let Some(name) = name else { return Ok(None) };
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
    let fault = || Code::MalformedXml.because("a part needs a number and an ETag");
    let number = part.child("PartNumber").and_then(|text| text.parse().ok()).ok_or_else(fault)?;
    let etag = part.child("ETag").ok_or_else(fault)?.trim_matches('"').to_owned();
    let name = |algorithm: Algorithm| format!("Checksum{}", algorithm.name());
    let checksum = Algorithm::ALL.into_iter().find_map(|algorithm| part.child(&name(algorithm)));
    Ok(Chosen { number, etag, checksum: checksum.map(str::to_owned) })
}

fn leaf_of(writer: &mut Writer, checksum: Option<&ReportedChecksum>) {
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
