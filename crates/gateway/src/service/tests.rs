//! Requests signed as by clients, on a store in memory.

use std::sync::Arc;

use super::*;
use crate::checksums::base64;
use crate::reply::Body;
use crate::shelf::memory::Memory;
use crate::signature::{EMPTY, sign};
use crate::source::Runs;

pub(crate) fn keys() -> Credentials {
    Credentials { access_key: "TWTKA".to_owned(), secret_key: "secret".to_owned() }
}

fn now() -> Moment {
    Moment(1_800_000_000_000)
}

pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("it is text")
    }

    /// The texts of all elements with this name.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let parts = self.text().split(open.as_str()).skip(1);
        parts.map(|part| part.split(close.as_str()).next().unwrap_or_default().to_owned()).collect()
    }

    pub(crate) fn code(&self) -> String {
        self.all("Code").pop().unwrap_or_default()
    }
}

/// A client of a gateway, and its store.
pub(crate) struct Client(Service<Arc<Memory>>, pub(crate) Arc<Memory>);

impl Client {
    pub(crate) fn new() -> Client {
        let memory = Memory::new();
        let depot = Depot::with_sizes(Arc::clone(&memory), "run0", 7, 5).expect("it answers");
        let client = Client(Service::new(depot, keys(), now), memory);
        assert_eq!(client.ask("PUT", "/bucket", &[], b"").status, 200);
        client
    }

    fn ask_as(
        &self,
        keys: &Credentials,
        (method, target): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answered {
        let given = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        let mut request = Request::new(method, target, given).expect("it can be read");
        request.headers.entry("content-length".to_owned()).or_insert(body.len().to_string());
        let payload = if body.is_empty() { EMPTY } else { "UNSIGNED-PAYLOAD" };
        let payload = request.headers.remove("x-amz-content-sha256").unwrap_or(payload.to_owned());
        sign(&mut request, keys, now(), &payload);
        let reply = self.0.answer(&request, &mut Runs::of(body, 5));
        let mut all = Vec::new();
        match reply.body {
            Body::Bytes(bytes) => all.extend_from_slice(&bytes),
            Body::Stream(mut source) => {
                while let Some(run) = source.next().expect("it can be read") {
                    all.extend_from_slice(&run);
                }
            }
        }
        Answered { status: reply.status, headers: reply.headers, body: all }
    }

    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answered {
        self.ask_as(&keys(), (method, target), headers, body)
    }

    fn refused(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8], want: (u16, &str)) {
        let answered = self.ask(method, target, headers, body);
        assert_eq!((answered.status, answered.code().as_str()), want, "{method} {target} {headers:?}");
    }
}

#[test]
fn objects_go_in_and_come_out() {
    let client = Client::new();
    let headers = [("content-type", "text/plain"), ("x-amz-meta-colour", "blue")];
    for body in [&b""[..], b"small", b"some words that need several pieces"] {
        let put = client.ask("PUT", "/bucket/a%20b/c", &headers, body);
        assert_eq!(put.status, 200, "{}", put.text());
        let got = client.ask("GET", "/bucket/a%20b/c", &[], b"");
        assert_eq!((got.status, &got.body[..]), (200, body));
        assert_eq!(got.header("etag"), put.header("etag"));
        assert_eq!(
            (got.header("content-type"), got.header("x-amz-meta-colour")),
            (Some("text/plain"), Some("blue"))
        );
        let head = client.ask("HEAD", "/bucket/a%20b/c", &[], b"");
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("content-length"), Some(body.len().to_string().as_str()));
        assert_eq!(head.header("last-modified"), Some("Fri, 15 Jan 2027 08:00:00 GMT"));
    }
    let part = client.ask("GET", "/bucket/a%20b/c", &[("range", "bytes=5-9")], b"");
    assert_eq!(
        (part.status, part.text(), part.header("content-range")),
        (206, "words", Some("bytes 5-9/35"))
    );
    client.refused("GET", "/bucket/a%20b/c", &[("range", "bytes=99-")], b"", (416, "InvalidRange"));
    let etag = part.header("etag").expect("it has one").to_owned();
    assert_eq!(client.ask("GET", "/bucket/a%20b/c", &[("if-none-match", &etag)], b"").status, 304);
    client.refused("PUT", "/bucket/a%20b/c", &[("if-none-match", "*")], b"x", (412, "PreconditionFailed"));
    assert_eq!(client.ask("DELETE", "/bucket/a%20b/c", &[], b"").status, 204);
    client.refused("GET", "/bucket/a%20b/c", &[], b"", (404, "NoSuchKey"));
    assert_eq!(client.ask("DELETE", "/bucket/a%20b/c", &[], b"").status, 204);
}

#[test]
fn what_is_not_as_promised_is_refused_and_leaves_nothing() {
    let client = Client::new();
    let body = b"some words that need several pieces";
    let other = Credentials { secret_key: "another".to_owned(), ..keys() };
    let answered = client.ask_as(&other, ("PUT", "/bucket/a"), &[], body);
    assert_eq!((answered.status, answered.code()), (403, "SignatureDoesNotMatch".to_owned()));
    let wrong = base64(&[0; 4]);
    client.refused("PUT", "/bucket/a", &[("x-amz-checksum-crc32", &wrong)], body, (400, "BadDigest"));
    client.refused("PUT", "/bucket/a", &[("content-md5", &base64(&[0; 16]))], body, (400, "BadDigest"));
    let sha256 = [("x-amz-content-sha256", EMPTY)];
    client.refused("PUT", "/bucket/a", &sha256, body, (400, "XAmzContentSHA256Mismatch"));
    client.refused("PUT", "/bucket/a", &[("content-length", "99")], body, (400, "IncompleteBody"));
    client.refused("PUT", "/other/a", &[], body, (404, "NoSuchBucket"));
    client.refused("PUT", "/UPPER/a", &[], body, (400, "InvalidBucketName"));
    client.refused("PUT", "/bucket/a", &[("x-amz-acl", "public-read")], body, (501, "NotImplemented"));
    client.refused("GET", "/bucket?policy", &[], b"", (501, "NotImplemented"));
    client.refused("GET", "/bucket/a?versionId=7", &[], b"", (501, "NotImplemented"));
    client.refused("PATCH", "/bucket/a", &[], b"", (501, "NotImplemented"));
    client.refused("DELETE", "/", &[], b"", (501, "NotImplemented"));
    client.refused("POST", "/bucket?delete", &[], b"<Other/>", (400, "MalformedXML"));
    client.refused("GET", "/bucket/a", &[], b"", (404, "NoSuchKey"));
    let key = "k".repeat(1_025);
    client.refused("PUT", &format!("/bucket/{key}"), &[], b"", (400, "KeyTooLongError"));
}

#[test]
fn buckets_are_listed_page_by_page() {
    let client = Client::new();
    for key in ["a", "b/1", "b/2", "c%20d", "e/f/g"] {
        client.ask("PUT", &format!("/bucket/{key}"), &[], b"x");
    }
    let all = client.ask("GET", "/bucket?list-type=2&encoding-type=url", &[], b"");
    assert_eq!(all.all("Key"), ["a", "b/1", "b/2", "c%20d", "e/f/g"]);
    assert_eq!(
        (all.all("IsTruncated"), all.all("KeyCount")),
        (vec!["false".to_owned()], vec!["5".to_owned()])
    );
    let mut target = "/bucket?list-type=2&delimiter=%2F&max-keys=2".to_owned();
    let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
    loop {
        let page = client.ask("GET", &target, &[], b"");
        keys.extend(page.all("Key"));
        prefixes.extend(page.all("CommonPrefixes"));
        let Some(token) = page.all("NextContinuationToken").pop() else { break };
        let token = crate::escape::escape(&token, false);
        target = format!("/bucket?list-type=2&delimiter=%2F&max-keys=2&continuation-token={token}");
    }
    assert_eq!(
        (keys, prefixes.concat()),
        (vec!["a".to_owned(), "c d".to_owned()], "<Prefix>b/</Prefix><Prefix>e/</Prefix>".to_owned())
    );
    let first = client.ask("GET", "/bucket?marker=b%2F1&prefix=b", &[], b"");
    assert_eq!((first.all("Key"), first.all("Marker")), (vec!["b/2".to_owned()], vec!["b/1".to_owned()]));
    client.refused("GET", "/bucket?list-type=2&continuation-token=%21", &[], b"", (400, "InvalidArgument"));
    client.refused("GET", "/bucket?max-keys=x", &[], b"", (400, "InvalidArgument"));
    assert_eq!(client.ask("GET", "/", &[], b"").all("Name"), ["bucket"]);
    assert_eq!(client.ask("DELETE", "/bucket", &[], b"").status, 409);
    let many = b"<Delete><Object><Key>a</Key></Object><Object><Key>c d</Key></Object></Delete>";
    assert_eq!(client.ask("POST", "/bucket?delete", &[], many).all("Deleted").len(), 2);
    assert_eq!(client.ask("GET", "/bucket", &[], b"").all("Key").len(), 3);
}

#[test]
fn copies_keep_or_replace_what_is_said_of_an_object() {
    let client = Client::new();
    client.ask("PUT", "/bucket/a", &[("x-amz-meta-x", "1")], b"some words of an object");
    let source = ("x-amz-copy-source", "/bucket/a");
    assert_eq!(client.ask("PUT", "/bucket/b", &[source], b"").all("ETag").len(), 1);
    let copy = client.ask("GET", "/bucket/b", &[], b"");
    assert_eq!((copy.text(), copy.header("x-amz-meta-x")), ("some words of an object", Some("1")));
    let replaced = [source, ("x-amz-metadata-directive", "REPLACE"), ("x-amz-meta-x", "2")];
    assert_eq!(client.ask("PUT", "/bucket/a", &replaced, b"").status, 200);
    let itself = client.ask("GET", "/bucket/a", &[], b"");
    assert_eq!((itself.text(), itself.header("x-amz-meta-x")), ("some words of an object", Some("2")));
    client.refused("PUT", "/bucket/a", &[source], b"", (400, "InvalidRequest"));
    client.refused("PUT", "/bucket/c", &[("x-amz-copy-source", "bucket/none")], b"", (404, "NoSuchKey"));
    let condition = ("x-amz-copy-source-if-match", "\"0\"");
    client.refused("PUT", "/bucket/c", &[source, condition], b"", (412, "PreconditionFailed"));
}

#[test]
fn uploads_in_parts_make_objects() {
    let client = Client::new();
    let begun = client.ask("POST", "/bucket/a?uploads", &[("content-type", "text/x")], b"");
    let id = begun.all("UploadId").pop().expect("it has an id");
    let part = |number: u32, headers: &[(&str, &str)], body: &[u8]| {
        let answered =
            client.ask("PUT", &format!("/bucket/a?partNumber={number}&uploadId={id}"), headers, body);
        assert_eq!(answered.status, 200, "{}", answered.text());
        let etag = answered.header("etag").map(str::to_owned);
        etag.unwrap_or_else(|| answered.all("ETag").pop().expect("it has one").replace("&quot;", "\""))
    };
    client.ask("PUT", "/bucket/source", &[], b"0123456789");
    let copied = [("x-amz-copy-source", "bucket/source"), ("x-amz-copy-source-range", "bytes=2-7")];
    let etags = [part(1, &[], b"some words "), part(2, &copied, b""), part(5, &[], b"end")];
    assert_eq!(client.ask("GET", "/bucket?uploads", &[], b"").all("UploadId"), [id.as_str()]);
    let listed = client.ask("GET", &format!("/bucket/a?uploadId={id}&max-parts=2"), &[], b"");
    assert_eq!(
        (listed.all("PartNumber"), listed.all("IsTruncated")),
        (vec!["1".to_owned(), "2".to_owned()], vec!["true".to_owned()])
    );
    let body: String = [1, 2, 5]
        .iter()
        .zip(&etags)
        .map(|(number, etag)| format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"))
        .collect();
    let body = format!("<CompleteMultipartUpload>{body}</CompleteMultipartUpload>");
    let made = client.ask("POST", &format!("/bucket/a?uploadId={id}"), &[], body.as_bytes());
    assert!(made.all("ETag")[0].ends_with("-3&quot;"), "{}", made.text());
    let got = client.ask("GET", "/bucket/a", &[], b"");
    assert_eq!((got.text(), got.header("content-type")), ("some words 234567end", Some("text/x")));
    let second = client.ask("GET", "/bucket/a?partNumber=2", &[], b"");
    assert_eq!(
        (second.status, second.text(), second.header("x-amz-mp-parts-count")),
        (206, "234567", Some("3"))
    );
    let ended = format!("/bucket/a?uploadId={id}");
    client.refused("DELETE", &ended, &[], b"", (404, "NoSuchUpload"));
    client.refused("PUT", &format!("{ended}&partNumber=1"), &[], b"x", (404, "NoSuchUpload"));
    client.refused("PUT", &format!("{ended}&partNumber=0"), &[], b"x", (400, "InvalidArgument"));
    let begun = client.ask("POST", "/bucket/b?uploads", &[], b"");
    let id = begun.all("UploadId").pop().expect("it has an id");
    assert_eq!(client.ask("DELETE", &format!("/bucket/b?uploadId={id}"), &[], b"").status, 204);
    assert_eq!(client.ask("GET", "/bucket?uploads", &[], b"").all("UploadId"), [""; 0]);
}

/// An empty part has no bytes in the manifest; it counted as no part.
#[test]
fn an_empty_part_is_a_part() {
    let client = Client::new();
    for (key, bodies) in [("one", &[&b""[..]][..]), ("two", &[b"some words", b""])] {
        let begun = client.ask("POST", &format!("/bucket/{key}?uploads"), &[], b"");
        let id = begun.all("UploadId").pop().expect("it has an id");
        let mut parts = String::new();
        for (number, body) in (1..).zip(bodies) {
            let to = format!("/bucket/{key}?partNumber={number}&uploadId={id}");
            let put = client.ask("PUT", &to, &[], body);
            let etag = put.header("etag").expect("it has one");
            parts += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        }
        let parts = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        client.ask("POST", &format!("/bucket/{key}?uploadId={id}"), &[], parts.as_bytes());
        let last = client.ask("GET", &format!("/bucket/{key}?partNumber={}", bodies.len()), &[], b"");
        assert_eq!((last.status / 100, last.text()), (2, ""), "the last part of `{key}`");
        let after = format!("/bucket/{key}?partNumber={}", bodies.len() + 1);
        client.refused("GET", &after, &[], b"", (416, "InvalidRange"));
    }
}

/// Pages of one upload are the whole list, also where the order of keys is not that of the store's names.
#[test]
fn uploads_are_listed_in_pages() {
    let client = Client::new();
    for key in ["a", "a!b", "a", "b", "a/c"] {
        client.ask("POST", &format!("/bucket/{}?uploads", crate::escape::escape(key, true)), &[], b"");
    }
    let all = client.ask("GET", "/bucket?uploads", &[], b"");
    assert_eq!(all.all("Key"), ["a", "a", "a!b", "a/c", "b"]);
    let (mut ids, mut next) = (Vec::new(), String::new());
    loop {
        let page = client.ask("GET", &format!("/bucket?max-uploads=1&uploads{next}"), &[], b"");
        ids.extend(page.all("UploadId"));
        if page.all("IsTruncated") == ["false"] {
            break;
        }
        let marker = |name: &str| crate::escape::escape(&page.all(name)[0], false);
        next = format!(
            "&key-marker={}&upload-id-marker={}",
            marker("NextKeyMarker"),
            marker("NextUploadIdMarker")
        );
    }
    assert_eq!(ids, all.all("UploadId"));
    let after = client.ask("GET", "/bucket?uploads&key-marker=a", &[], b"");
    assert_eq!(after.all("Key"), ["a!b", "a/c", "b"], "all uploads of the marker's key are skipped");
}
