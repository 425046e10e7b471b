//! Operations on buckets: creating, listing, removing.

use super::{Service, document, most_of, owner};
use crate::allowed::check_children;
use crate::attributes::Attributes;
use crate::checksums::{base64, unbase64};
use crate::conditions::check_tag;
use crate::escape::escape;
use crate::fault::{Code, Fault};
use crate::listing::{Question, Row};
use crate::names::Place;
use crate::payload::Payload;
use crate::reply::{Reply, quoted};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::xml::{Element, Writer};

/// The most keys of a page or of a removal.
const KEYS_MAX: usize = 1_000;

/// The most buckets of a page, as in S3.
const BUCKETS_MAX: usize = 10_000;

/// The region of all buckets, which S3 writes as an empty value.
const REGION: &str = "us-east-1";

impl<S: Shelf> Service<S> {
    pub(super) fn list_buckets(&self, request: &Request) -> Result<Reply<'_>, Fault> {
        let text = |name: &str| request.parameter(name).unwrap_or_default();
        let most = most_of(request, "max-buckets", BUCKETS_MAX)?;
        if most == 0 {
            return Err(Code::InvalidArgument.because("`max-buckets` must be at least 1"));
        }
        let after = request.parameter("continuation-token").map(decode_token).transpose()?;
        let prefix = text("prefix");
        let is_here = [None, Some(""), Some(REGION)].contains(&request.parameter("bucket-region"));
        let mut left = self.depot.buckets().into_iter().filter(|(name, _)| {
            is_here && name.starts_with(prefix) && after.as_ref().is_none_or(|after| name > after)
        });
        let page: Vec<_> = left.by_ref().take(most).collect();
        let mut writer = Writer::new("ListAllMyBucketsResult");
        owner(&mut writer, "Owner");
        writer.within("Buckets", |writer| {
            for (name, made) in &page {
                writer.within("Bucket", |writer| {
                    writer.leaf("Name", name);
                    writer.leaf("CreationDate", made.iso());
                    writer.leaf("BucketRegion", REGION);
                });
            }
        });
        if let Some((last, _)) = page.last().filter(|_| left.next().is_some()) {
            writer.leaf("ContinuationToken", base64(last.as_bytes()));
        }
        if !prefix.is_empty() {
            writer.leaf("Prefix", prefix);
        }
        Ok(Reply::document(writer))
    }

    pub(super) fn head_bucket(&self, bucket: &str) -> Result<Reply<'_>, Fault> {
        self.depot.check_bucket(bucket)?;
        Ok(Reply::empty(200).with("x-amz-bucket-region", REGION))
    }

    pub(super) fn remove_bucket(&self, bucket: &str) -> Result<Reply<'_>, Fault> {
        self.depot.remove_bucket(bucket)?;
        Ok(Reply::empty(204))
    }

    /// An empty document about a bucket that exists: it is in the default region, and has no versions.
    pub(super) fn about(&self, bucket: &str, name: &'static str) -> Result<Reply<'_>, Fault> {
        self.depot.check_bucket(bucket)?;
        Ok(Reply::document(Writer::new(name)))
    }

    pub(super) fn make_bucket(&self, bucket: &str, payload: Payload<'_>) -> Result<Reply<'_>, Fault> {
        if payload.length() > 0 {
            let wanted = document(payload, "CreateBucketConfiguration")?;
            check_children(&wanted, &["LocationConstraint"], &[])?;
            let region = wanted.child("LocationConstraint").unwrap_or_default();
            if !["", REGION].contains(&region) {
                let message =
                    format!("the LocationConstraint `{region}` is not implemented: all are in {REGION}");
                return Err(Code::NotImplemented.because(message));
            }
        } else {
            payload.end()?;
        }
        // In this region S3 answers so if the bucket is the caller's already, and changes nothing.
        match self.depot.make_bucket(bucket, (self.now)()) {
            Err(fault) if fault.code == Code::BucketAlreadyOwnedByYou => {}
            made => made?,
        }
        Ok(Reply::empty(200).with("location", format!("/{bucket}")))
    }

    pub(super) fn delete_many(&self, bucket: &str, payload: Payload<'_>) -> Result<Reply<'_>, Fault> {
        let wanted = document(payload, "Delete")?;
        // All of it is checked before the first object is removed.
        check_children(&wanted, &["Quiet"], &["Object"])?;
        let doomed: Vec<Doomed<'_>> = wanted.all("Object").map(Doomed::of).collect::<Result<_, _>>()?;
        self.depot.check_bucket(bucket)?;
        let is_quiet = wanted.child("Quiet") == Some("true");
        if doomed.is_empty() || doomed.len() > KEYS_MAX {
            return Err(Code::MalformedXml.because(format!("list 1 to {KEYS_MAX} keys")));
        }
        let mut writer = Writer::new("DeleteResult");
        for Doomed { key, etag } in doomed {
            let condition = |object: Option<&Attributes>| check_tag(etag, object);
            let removed = Place::new(bucket, key).and_then(|place| self.depot.remove(&place, &condition));
            match removed {
                Ok(()) if is_quiet => {}
                Ok(()) => writer.within("Deleted", |writer| writer.leaf("Key", key)),
                Err(fault) => writer.within("Error", |writer| {
                    writer.leaf("Key", key);
                    writer.leaf("Code", fault.code.words().0);
                    writer.leaf("Message", &fault.message);
                }),
            }
        }
        Ok(Reply::document(writer))
    }

    pub(super) fn list_first(&self, request: &Request, bucket: &str) -> Result<Reply<'_>, Fault> {
        let asked = Asked::of(request, request.parameter("marker").unwrap_or_default().to_owned())?;
        let (rows, is_cut) = self.depot.list(bucket, &asked.question)?;
        let mut writer = Writer::new("ListBucketResult");
        asked.head(&mut writer, bucket, is_cut);
        writer.leaf("Marker", asked.text(&asked.question.after));
        if let Some(last) = rows.last().filter(|_| is_cut) {
            writer.leaf("NextMarker", asked.text(last.name()));
        }
        asked.rows(&mut writer, &rows, true);
        Ok(Reply::document(writer))
    }

    pub(super) fn list_second(&self, request: &Request, bucket: &str) -> Result<Reply<'_>, Fault> {
        let token = request.parameter("continuation-token");
        let start = request.parameter("start-after").unwrap_or_default();
        let after = match token {
            Some(token) => decode_token(token)?,
            None => start.to_owned(),
        };
        let asked = Asked::of(request, after)?;
        let (rows, is_cut) = self.depot.list(bucket, &asked.question)?;
        let mut writer = Writer::new("ListBucketResult");
        asked.head(&mut writer, bucket, is_cut);
        writer.leaf("KeyCount", rows.len().to_string());
        if !start.is_empty() {
            writer.leaf("StartAfter", asked.text(start));
        }
        if let Some(token) = token {
            writer.leaf("ContinuationToken", token);
        }
        if let Some(last) = rows.last().filter(|_| is_cut) {
            writer.leaf("NextContinuationToken", base64(last.name().as_bytes()));
        }
        asked.rows(&mut writer, &rows, request.parameter("fetch-owner") == Some("true"));
        Ok(Reply::document(writer))
    }

    /// Each object of a bucket without versions is the only one of its key, with the id `null`.
    pub(super) fn list_versions(&self, request: &Request, bucket: &str) -> Result<Reply<'_>, Fault> {
        let marker = request.parameter("key-marker").unwrap_or_default();
        let id = request.parameter("version-id-marker");
        if id.is_some() && marker.is_empty() {
            return Err(Code::InvalidArgument.because("`version-id-marker` needs a `key-marker`"));
        }
        let asked = Asked::of(request, marker.to_owned())?;
        let (rows, is_cut) = self.depot.list(bucket, &asked.question)?;
        let mut writer = Writer::new("ListVersionsResult");
        asked.head(&mut writer, bucket, is_cut);
        writer.leaf("KeyMarker", asked.text(marker));
        writer.leaf("VersionIdMarker", id.unwrap_or_default());
        if let Some(last) = rows.last().filter(|_| is_cut) {
            writer.leaf("NextKeyMarker", asked.text(last.name()));
            if matches!(last, Row::Object(..)) {
                writer.leaf("NextVersionIdMarker", "null");
            }
        }
        asked.versions(&mut writer, &rows);
        Ok(Reply::document(writer))
    }
}

/// An object that a request removes with others.
struct Doomed<'e> {
    key: &'e str,
    etag: Option<&'e str>,
}

impl<'e> Doomed<'e> {
    fn of(object: &'e Element) -> Result<Doomed<'e>, Fault> {
        check_children(object, &["Key", "VersionId", "ETag"], &[])?;
        // A key may begin with a blank.
        let key = object.children.iter().find(|it| it.name == "Key").map(|it| it.text.as_str());
        let key = key.filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| Code::MalformedXml.because("an object has no key"))?;
        match object.child("VersionId") {
            None | Some("" | "null") => Ok(Doomed { key, etag: object.child("ETag") }),
            Some(_) => Err(Code::NotImplemented.because("a VersionId other than `null` is not implemented")),
        }
    }
}

/// A continuation token is the last row of the page before, in base64.
fn decode_token(token: &str) -> Result<String, Fault> {
    let text = unbase64(token).and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| Code::InvalidArgument.because("the continuation token is invalid"))
}

/// The parameters of a listing request.
struct Asked {
    question: Question,
    escapes: bool,
}

impl Asked {
    fn of(request: &Request, after: String) -> Result<Asked, Fault> {
        let text = |name: &str| request.parameter(name).unwrap_or_default().to_owned();
        let escapes = match request.parameter("encoding-type") {
            None | Some("") => false,
            Some("url") => true,
            Some(_) => return Err(Code::InvalidArgument.because("`encoding-type` must be `url`")),
        };
        let most = most_of(request, "max-keys", KEYS_MAX)?;
        let question = Question { prefix: text("prefix"), delimiter: text("delimiter"), after, most };
        Ok(Asked { question, escapes })
    }

    fn text(&self, text: &str) -> String {
        if self.escapes { escape(text, true) } else { text.to_owned() }
    }

    fn head(&self, writer: &mut Writer, bucket: &str, is_cut: bool) {
        writer.leaf("Name", bucket);
        writer.leaf("Prefix", self.text(&self.question.prefix));
        writer.leaf("MaxKeys", self.question.most.to_string());
        if !self.question.delimiter.is_empty() {
            writer.leaf("Delimiter", self.text(&self.question.delimiter));
        }
        if self.escapes {
            writer.leaf("EncodingType", "url");
        }
        writer.leaf("IsTruncated", is_cut.to_string());
    }

    fn rows(&self, writer: &mut Writer, rows: &[Row<Attributes>], tells_owner: bool) {
        for row in rows {
            let Row::Object(key, object) = row else { continue };
            writer.within("Contents", |writer| {
                self.row(writer, key, object);
                if tells_owner {
                    owner(writer, "Owner");
                }
            });
        }
        self.prefixes(writer, rows);
    }

    fn versions(&self, writer: &mut Writer, rows: &[Row<Attributes>]) {
        for row in rows {
            let Row::Object(key, object) = row else { continue };
            writer.within("Version", |writer| {
                self.row(writer, key, object);
                writer.leaf("VersionId", "null");
                writer.leaf("IsLatest", "true");
                owner(writer, "Owner");
            });
        }
        self.prefixes(writer, rows);
    }

    fn row(&self, writer: &mut Writer, key: &str, object: &Attributes) {
        writer.leaf("Key", self.text(key));
        writer.leaf("LastModified", object.modified.iso());
        writer.leaf("ETag", quoted(&object.etag));
        writer.leaf("Size", object.length.to_string());
        writer.leaf("StorageClass", "STANDARD");
        if let Some(checksum) = &object.checksum {
            writer.leaf("ChecksumAlgorithm", checksum.algorithm.name());
            writer.leaf("ChecksumType", checksum.kind());
        }
    }

    fn prefixes(&self, writer: &mut Writer, rows: &[Row<Attributes>]) {
        for row in rows {
            let Row::Common(prefix) = row else { continue };
            writer.within("CommonPrefixes", |writer| writer.leaf("Prefix", self.text(prefix)));
        }
    }
}
