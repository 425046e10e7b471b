//! Operations on buckets: creating, listing, removing.

use super::{Service, document, most_of, not_allowed, owner};
use crate::attributes::Attributes;
use crate::checksums::{base64, unbase64};
use crate::escape::escape;
use crate::fault::{Code, Fault};
use crate::listing::{Question, Row};
use crate::names::Place;
use crate::payload::Payload;
use crate::reply::{Reply, quoted};
use crate::request::Request;
use crate::shelf::Shelf;
use crate::xml::Writer;

/// The most keys of a page or of a removal.
const KEYS_MAX: usize = 1_000;

/// The region of all buckets, which S3 writes as an empty value.
const REGION: &str = "us-east-1";

impl<S: Shelf> Service<S> {
    pub(super) fn list_buckets(&self) -> Reply<'_> {
        let mut writer = Writer::new("ListAllMyBucketsResult");
        owner(&mut writer, "Owner");
        writer.within("Buckets", |writer| {
            for (name, made) in self.depot.buckets() {
                writer.within("Bucket", |writer| {
                    writer.leaf("Name", name);
                    writer.leaf("CreationDate", made.iso());
                });
            }
        });
        Reply::document(writer)
    }

    pub(super) fn of_bucket<'s>(
        &self,
        request: &Request,
        bucket: &str,
        payload: impl FnOnce() -> Result<Payload<'s>, Fault>,
    ) -> Result<Reply<'_>, Fault> {
        let has = |name: &str| request.parameter(name).is_some();
        match request.method.as_str() {
            "PUT" if has("versioning") || has("tagging") => {
                Err(Code::NotImplemented.because("versions and tags are not implemented"))
            }
            "PUT" => self.make_bucket(request, bucket, payload()?),
            "HEAD" => {
                self.depot.check_bucket(bucket)?;
                Ok(Reply::empty(200).with("x-amz-bucket-region", REGION))
            }
            "DELETE" if !has("tagging") => {
                self.depot.remove_bucket(bucket)?;
                Ok(Reply::empty(204))
            }
            "GET" if has("location") => self.about(bucket, "LocationConstraint"),
            "GET" if has("versioning") => self.about(bucket, "VersioningConfiguration"),
            "GET" if has("uploads") => self.list_uploads(request, bucket),
            "GET" if has("tagging") => Err(Code::NotImplemented.because("tags are not implemented")),
            "GET" if request.parameter("list-type") == Some("2") => self.list_second(request, bucket),
            "GET" => self.list_first(request, bucket),
            "POST" if has("delete") => self.delete_many(bucket, payload()?),
            _ => Err(not_allowed(request)),
        }
    }

    /// An empty document about a bucket that exists: it is in the default region, and has no versions.
    fn about(&self, bucket: &str, name: &'static str) -> Result<Reply<'_>, Fault> {
        self.depot.check_bucket(bucket)?;
        Ok(Reply::document(Writer::new(name)))
    }

    fn make_bucket(&self, request: &Request, bucket: &str, payload: Payload<'_>) -> Result<Reply<'_>, Fault> {
        if request.header("x-amz-bucket-object-lock-enabled").is_some_and(|text| text != "false") {
            return Err(Code::NotImplemented.because("object locks are not implemented"));
        }
        // Any region that the request names is accepted.
        if payload.length() > 0 {
            document(payload, "CreateBucketConfiguration")?;
        } else {
            payload.end()?;
        }
        self.depot.make_bucket(bucket, (self.now)())?;
        Ok(Reply::empty(200).with("location", format!("/{bucket}")))
    }

    fn delete_many(&self, bucket: &str, payload: Payload<'_>) -> Result<Reply<'_>, Fault> {
        let wanted = document(payload, "Delete")?;
        self.depot.check_bucket(bucket)?;
        let is_quiet = wanted.child("Quiet") == Some("true");
        let keys: Vec<&str> = wanted
            .all("Object")
            .map(|object| {
                match (object.children.iter().find(|it| it.name == "Key"), object.child("VersionId")) {
                    (Some(key), None | Some("" | "null")) if !key.text.is_empty() => Ok(key.text.as_str()),
                    (Some(_), Some(_)) => Err(Code::NotImplemented.because("versions are not implemented")),
                    _ => Err(Code::MalformedXml.because("an object has no key")),
                }
            })
            .collect::<Result<_, _>>()?;
        if keys.is_empty() || keys.len() > KEYS_MAX {
            return Err(Code::MalformedXml.because(format!("list 1 to {KEYS_MAX} keys")));
        }
        let mut writer = Writer::new("DeleteResult");
        for key in keys {
            let removed = Place::new(bucket, key).and_then(|place| self.depot.remove(&place, &|_| Ok(())));
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

    fn list_first(&self, request: &Request, bucket: &str) -> Result<Reply<'_>, Fault> {
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

    fn list_second(&self, request: &Request, bucket: &str) -> Result<Reply<'_>, Fault> {
        let token = request.parameter("continuation-token");
        let start = request.parameter("start-after").unwrap_or_default();
        let after = match token {
            Some(token) => {
                let text = unbase64(token).and_then(|bytes| String::from_utf8(bytes).ok());
                text.ok_or_else(|| Code::InvalidArgument.because("the continuation token is invalid"))?
            }
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
                writer.leaf("Key", self.text(key));
                writer.leaf("LastModified", object.modified.iso());
                writer.leaf("ETag", quoted(&object.etag));
                writer.leaf("Size", object.length.to_string());
                writer.leaf("StorageClass", "STANDARD");
                if let Some(checksum) = &object.checksum {
                    writer.leaf("ChecksumAlgorithm", checksum.algorithm.name());
                    writer.leaf("ChecksumType", checksum.kind());
                }
                if tells_owner {
                    owner(writer, "Owner");
                }
            });
        }
        for row in rows {
            let Row::Common(prefix) = row else { continue };
            writer.within("CommonPrefixes", |writer| writer.leaf("Prefix", self.text(prefix)));
        }
    }
}
