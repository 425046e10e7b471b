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

/// S3 does so in the region of this gateway; it was a conflict.
#[test]
fn a_bucket_of_the_caller_is_made_again_and_keeps_its_objects() {
    let client = Client::new();
    client.ask("PUT", "/bucket/a", &[], b"words");
    assert_eq!(client.ask("PUT", "/bucket", &[], b"").status, 200);
    let got = client.ask("GET", "/bucket/a?partNumber=1", &[], b"");
    assert_eq!((got.text(), got.header("x-amz-mp-parts-count")), ("words", None), "it has no parts");
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
        let count = bodies.len().to_string();
        assert_eq!(last.header("x-amz-mp-parts-count"), Some(count.as_str()), "also of one part");
        let after = format!("/bucket/{key}?partNumber={}", bodies.len() + 1);
        client.refused("GET", &after, &[], b"", (416, "InvalidPartNumber"));
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

/// A wrong ETag was not looked at, and the object was removed.
#[test]
fn of_many_objects_those_with_another_tag_stay() {
    let client = Client::new();
    let tag = |key: &str| {
        let put = client.ask("PUT", &format!("/bucket/{key}"), &[], key.as_bytes());
        put.header("etag").expect("it has one").replace('"', "&quot;")
    };
    let (a, b) = (tag("a"), tag("b"));
    let object = |key: &str, etag: &str| format!("<Object><Key>{key}</Key><ETag>{etag}</ETag></Object>");
    let many = |objects: &str| {
        let body = format!("<Delete>{objects}</Delete>");
        client.ask("POST", "/bucket?delete", &[], body.as_bytes())
    };
    let answered = many(&[object("a", &b), object("b", &b), object("c", &a)].concat());
    assert_eq!(answered.all("Code"), ["PreconditionFailed", "NoSuchKey"], "{}", answered.text());
    assert_eq!(client.ask("GET", "/bucket", &[], b"").all("Key"), ["a"]);
    // What is not known of one object leaves all of them.
    let later = "<Object><Key>a</Key></Object><Object><Key>a</Key><Size>1</Size></Object>";
    assert_eq!((many(later).status, many(later).code()), (501, "NotImplemented".to_owned()));
    let twice = many("<Object><Key>b</Key><Key>a</Key></Object>");
    assert_eq!((twice.status, twice.code()), (400, "MalformedXML".to_owned()));
    assert_eq!(client.ask("GET", "/bucket", &[], b"").all("Key"), ["a"]);
}

/// The conditions on the destination of a copy were not looked at, and it was overwritten.
#[test]
fn copies_have_conditions_on_both_ends() {
    let client = Client::new();
    client.ask("PUT", "/bucket/a", &[], b"one");
    client.ask("PUT", "/bucket/b", &[], b"two");
    let copy = |condition: (&str, &str), to: &str| {
        let headers = [("x-amz-copy-source", "/bucket/a"), condition];
        client.ask("PUT", &format!("/bucket/{to}"), &headers, b"").status
    };
    assert_eq!(copy(("if-none-match", "*"), "b"), 412);
    assert_eq!(copy(("if-match", "\"x\""), "b"), 412);
    assert_eq!(copy(("if-match", "\"x\""), "c"), 404);
    assert_eq!(client.ask("GET", "/bucket/b", &[], b"").text(), "two");
    assert_eq!(copy(("if-none-match", "*"), "c"), 200);
    assert_eq!(client.ask("GET", "/bucket/c", &[], b"").text(), "one");
}

#[test]
fn buckets_have_pages_too() {
    let client = Client::new();
    for name in ["a-1", "a-2", "a-3", "other"] {
        client.ask("PUT", &format!("/{name}"), &[], b"");
    }
    let (mut names, mut target) = (Vec::new(), "/?prefix=a-&max-buckets=2".to_owned());
    loop {
        let page = client.ask("GET", &target, &[], b"");
        assert!(page.all("Name").len() <= 2, "{}", page.text());
        names.extend(page.all("Name"));
        let Some(token) = page.all("ContinuationToken").pop() else { break };
        let token = crate::escape::escape(&token, false);
        target = format!("/?prefix=a-&max-buckets=2&continuation-token={token}");
    }
    assert_eq!(names, ["a-1", "a-2", "a-3"]);
    assert_eq!(client.ask("GET", "/?bucket-region=us-east-1", &[], b"").all("Name").len(), 5);
    assert_eq!(client.ask("GET", "/?bucket-region=eu-west-1", &[], b"").all("Name").len(), 0);
    client.refused("GET", "/?max-buckets=0", &[], b"", (400, "InvalidArgument"));
    let elsewhere = b"<CreateBucketConfiguration><LocationConstraint>EU</LocationConstraint>\
                      </CreateBucketConfiguration>";
    client.refused("PUT", "/elsewhere", &[], elsewhere, (501, "NotImplemented"));
    client.refused("HEAD", "/elsewhere", &[], b"", (404, "NoSuchBucket"));
}

/// In a bucket without versions each object is the latest version of itself, with the id `null`.
#[test]
fn versions_are_those_that_are_there() {
    let client = Client::new();
    for key in ["a", "b/1", "b/2", "c"] {
        client.ask("PUT", &format!("/bucket/{key}"), &[], b"x");
    }
    let all = client.ask("GET", "/bucket?versions", &[], b"");
    assert_eq!(all.all("Key"), ["a", "b/1", "b/2", "c"]);
    assert_eq!(
        (all.all("VersionId"), all.all("IsLatest")),
        (vec!["null".to_owned(); 4], vec!["true".to_owned(); 4])
    );
    assert!(all.text().contains("<ListVersionsResult") && !all.text().contains("<DeleteMarker"));
    let (mut keys, mut prefixes, mut next) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = client.ask("GET", &format!("/bucket?versions&delimiter=%2F&max-keys=1{next}"), &[], b"");
        keys.extend(page.all("Key"));
        prefixes.extend(page.all("CommonPrefixes"));
        let Some(marker) = page.all("NextKeyMarker").pop() else { break };
        let id = page.all("NextVersionIdMarker").pop().map(|id| format!("&version-id-marker={id}"));
        next = format!("&key-marker={}{}", crate::escape::escape(&marker, false), id.unwrap_or_default());
    }
    assert_eq!(
        (keys, prefixes),
        (vec!["a".to_owned(), "c".to_owned()], vec!["<Prefix>b/</Prefix>".to_owned()])
    );
    client.refused("GET", "/bucket?versions&version-id-marker=null", &[], b"", (400, "InvalidArgument"));
    client.refused("GET", "/none?versions", &[], b"", (404, "NoSuchBucket"));
}

/// A cache needs the tag, and how long it may keep what it has.
#[test]
fn an_unchanged_object_has_its_tag() {
    let client = Client::new();
    let put = client.ask("PUT", "/bucket/a", &[("cache-control", "max-age=9")], b"words");
    let etag = put.header("etag").expect("it has one").to_owned();
    for method in ["GET", "HEAD"] {
        let same = client.ask(method, "/bucket/a", &[("if-none-match", &etag)], b"");
        assert_eq!((same.status, same.header("etag"), same.text()), (304, Some(etag.as_str()), ""));
        assert_eq!(same.header("cache-control"), Some("max-age=9"));
        assert!(same.header("last-modified").is_some());
    }
}

/// A range past the end was cut to the end, and the part had fewer bytes than its range.
#[test]
fn a_copied_range_lies_in_its_source() {
    let client = Client::new();
    client.ask("PUT", "/bucket/source", &[], b"0123456789");
    let id = client.ask("POST", "/bucket/a?uploads", &[], b"").all("UploadId").remove(0);
    let to = format!("/bucket/a?partNumber=1&uploadId={id}");
    for (range, want) in [
        ("bytes=0-9", 200),
        ("bytes=9-9", 200),
        ("bytes=0-10", 416),
        ("bytes=10-11", 416),
        ("bytes=5-4", 400),
        ("bytes=5-", 400),
        ("bytes=-5", 400),
        ("bytes=0-0,2-3", 400),
        ("0-9", 400),
    ] {
        let headers = [("x-amz-copy-source", "/bucket/source"), ("x-amz-copy-source-range", range)];
        assert_eq!(client.ask("PUT", &to, &headers, b"").status, want, "{range}");
    }
}

/// What a caller says of the object of an upload is compared with it; only a checksum was, and where the
/// upload had none of that kind it was taken on trust.
#[test]
fn an_upload_makes_the_object_that_was_promised() {
    let client = Client::new();
    let begun = client.ask("POST", "/bucket/a?uploads", &[("x-amz-checksum-algorithm", "CRC32")], b"");
    let id = begun.all("UploadId").remove(0);
    let to = format!("/bucket/a?partNumber=1&uploadId={id}");
    client.refused(
        "PUT",
        &to,
        &[("x-amz-sdk-checksum-algorithm", "SHA1")],
        b"words",
        (400, "InvalidRequest"),
    );
    let etag = client.ask("PUT", &to, &[], b"words").header("etag").expect("it has one").to_owned();
    let body = format!("<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>");
    let body = format!("<CompleteMultipartUpload>{body}</CompleteMultipartUpload>");
    let whole = format!("/bucket/a?uploadId={id}");
    let (zeros, sha1) = (base64(&[0; 4]), base64(&[0; 20]));
    for (headers, want) in [
        (&[("x-amz-mp-object-size", "4")][..], "InvalidRequest"),
        (&[("x-amz-checksum-type", "FULL_OBJECT")], "InvalidRequest"),
        (&[("x-amz-checksum-crc32", &zeros)], "BadDigest"),
        (&[("x-amz-checksum-sha1", &sha1)], "InvalidRequest"),
        (&[("x-amz-checksum-sha1", &sha1), ("x-amz-checksum-crc32", &zeros)], "InvalidRequest"),
    ] {
        client.refused("POST", &whole, headers, body.as_bytes(), (400, want));
    }
    let right = [("x-amz-mp-object-size", "5"), ("x-amz-checksum-type", "COMPOSITE"), ("if-none-match", "*")];
    let made = client.ask("POST", &whole, &right, body.as_bytes());
    assert_eq!((made.status, made.all("ChecksumCRC32").len()), (200, 1), "{}", made.text());
    client.refused(
        "POST",
        "/bucket/b?uploads",
        &[("x-amz-checksum-type", "COMPOSITE")],
        b"",
        (400, "InvalidRequest"),
    );
}

/// Browsers ask without a signature. Whatever they are told, it is not that they may.
#[test]
fn browsers_hear_what_is_lacking() {
    let client = Client::new();
    let ask = |method: &str, headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        let request = Request::new(method, "/bucket", headers).expect("it can be read");
        client.0.answer(&request, &mut Runs::of(b"", 1)).status
    };
    let preflight = [("origin", "http://x"), ("access-control-request-method", "PUT")];
    assert_eq!(ask("OPTIONS", &preflight), 501);
    assert_eq!(ask("POST", &[("content-type", "multipart/form-data; boundary=x")]), 501);
    assert_eq!(ask("POST", &[("content-type", "text/plain")]), 403);
    assert_eq!(ask("GET", &[]), 403);
}

/// What S3 has added since, and what is given twice, is not passed over.
#[test]
fn what_is_not_known_is_named() {
    let client = Client::new();
    client.ask("PUT", "/bucket/a", &[], b"words");
    for (method, target, headers, name) in [
        ("PUT", "/bucket/a?some-new-thing", &[][..], "some-new-thing"),
        ("DELETE", "/bucket/a?annotation&annotationName=x", &[], "annotation"),
        ("PUT", "/bucket/a", &[("x-amz-some-new-thing", "1")], "x-amz-some-new-thing"),
        ("PUT", "/bucket/a", &[("if-some-new-thing", "1")], "if-some-new-thing"),
        ("PUT", "/bucket/a", &[("content-range", "bytes 0-1/9")], "content-range"),
        ("PUT", "/bucket/a?partNumber=1", &[], "partNumber"),
        ("PUT", "/bucket/a?x-id=GetObject", &[], "x-id"),
        ("GET", "/bucket/a?X-Amz-Date=x", &[], "X-Amz-Date"),
        ("GET", "/bucket?list-type=3", &[], "list-type"),
        ("POST", "/bucket/a", &[], "POST"),
    ] {
        let answered = client.ask(method, target, headers, b"");
        assert_eq!((answered.status, answered.code()), (501, "NotImplemented".to_owned()), "{target}");
        assert!(answered.all("Message")[0].contains(name), "{}", answered.text());
    }
    assert_eq!(client.ask("GET", "/bucket/a?x-id=GetObject", &[], b"").text(), "words");
    client.refused("GET", "/bucket?prefix=a&prefix=b", &[], b"", (400, "InvalidArgument"));
    client.refused("GET", "//a", &[], b"", (400, "InvalidURI"));
}
