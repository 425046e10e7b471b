//! Every operation and every parameter that S3 knows, sent to a gateway: either the parameter changes what
//! happens, or the answer is 501 and nothing has changed.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::escape::escape;
use crate::service::tests::{Answered, Client};
use crate::shelf::Found;

const MODEL: &str = include_str!("model.tsv");

/// A line of the table.
#[derive(Clone, Copy, Debug)]
struct Line<'t> {
    operation: &'t str,
    member: &'t str,
    place: &'t str,
    name: &'t str,
    kind: &'t str,
    verdict: &'t str,
}

impl<'t> Line<'t> {
    fn read(text: &'t str) -> Line<'t> {
        let words: Vec<&str> = text.split('\t').collect();
        let [operation, member, place, name, kind, verdict] = words[..] else { panic!("{text}") };
        Line { operation, member, place, name, kind, verdict }
    }

    fn is_required(&self) -> bool {
        self.kind.ends_with('!')
    }

    /// The values that are tried.
    fn values(&self) -> Vec<&'t str> {
        let kind = self.kind.trim_end_matches('!');
        let mut values: Vec<&str> = match (self.name.to_ascii_lowercase().as_str(), kind) {
            ("range" | "x-amz-copy-source-range", _) => vec!["bytes=0-0"],
            (_, "timestamp") => vec!["Thu, 01 Jan 1970 00:00:09 GMT", "Fri, 15 Jan 2027 08:00:00 GMT"],
            (_, "integer" | "long") => vec!["1", "2"],
            (_, "boolean") => vec!["true"],
            (_, "string" | "blob" | "map" | "list") => vec!["x"],
            (_, list) => list.split('|').collect(),
        };
        values.extend(self.honoured());
        if self.name.to_ascii_lowercase().ends_with("if-none-match") {
            values.push("*");
        }
        values
    }

    /// The values that alone are honoured.
    fn honoured(&self) -> Vec<&'t str> {
        self.verdict.strip_prefix("only ").map(|it| it.split(' ').collect()).unwrap_or_default()
    }
}

fn table() -> Vec<Line<'static>> {
    MODEL.lines().filter(|line| !line.starts_with('#')).map(Line::read).collect()
}

/// A request in parts, of which one can be replaced.
#[derive(Clone, Debug, Default)]
struct Asked {
    method: String,
    uri: String,
    bucket: String,
    key: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    /// Elements of the document by path, in order.
    elements: Vec<(String, String)>,
    body: String,
}

/// A small store: two buckets, two objects, and an upload with a part. Returns the upload's id and the part's
/// tag.
fn stocked() -> (Client, String, String) {
    let client = Client::new();
    client.ask("PUT", "/empty", &[], b"");
    let headers = [("x-amz-sdk-checksum-algorithm", "CRC32"), ("x-amz-meta-a", "b")];
    for key in ["a", "b"] {
        let body = key.repeat(3);
        assert_eq!(client.ask("PUT", &format!("/bucket/{key}"), &headers, body.as_bytes()).status, 200);
    }
    let begun = client.ask("POST", "/bucket/up?uploads", &[("x-amz-checksum-algorithm", "CRC32")], b"");
    let id = begun.all("UploadId").remove(0);
    let put = client.ask("PUT", &format!("/bucket/up?partNumber=1&uploadId={id}"), &[], b"part");
    let tag = put.header("etag").expect("it has one").to_owned();
    (client, id, tag)
}

/// The least request of an operation that is complete.
fn base(lines: &[Line<'_>], operation: &str, id: &str, tag: &str) -> Asked {
    let of = || lines.iter().filter(|line| line.operation == operation);
    let whole = of().find(|line| line.member == "-").expect("each operation has its line");
    let is_upload = of().any(|line| line.name == "uploadId");
    let bucket = match operation {
        "CreateBucket" => "new",
        "DeleteBucket" => "empty",
        _ => "bucket",
    };
    let (bucket, key) = (bucket.to_owned(), if is_upload { "up" } else { "a" }.to_owned());
    let (method, uri) = (whole.place.to_owned(), whole.name.to_owned());
    let mut asked = Asked { method, uri, bucket, key, ..Asked::default() };
    if operation.starts_with("Upload") || operation.starts_with("Put") {
        asked.body = "body".to_owned();
    }
    for line in of().filter(|line| line.is_required()) {
        let value = match line.name {
            "uploadId" => id,
            "x-amz-copy-source" => "/bucket/b",
            _ => line.values()[0],
        };
        if line.place != "uri" && line.kind != "structure!" && line.place != "element" {
            asked.put(line, value);
        }
    }
    let pairs: &[(&str, &str)] = match operation {
        "DeleteObjects" => &[("Delete/Object/Key", "a")],
        "CompleteMultipartUpload" => {
            &[("CompleteMultipartUpload/Part/PartNumber", "1"), ("CompleteMultipartUpload/Part/ETag", tag)]
        }
        _ => &[],
    };
    asked.elements = pairs.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    asked
}

impl Asked {
    /// Adds a parameter, or gives it another value.
    fn put(&mut self, line: &Line<'_>, value: &str) {
        let value = value.to_owned();
        match line.place {
            "uri" if line.name == "Bucket" => self.bucket = "other".to_owned(),
            "uri" => self.key = value,
            "query" => drop(self.query.insert(line.name.to_owned(), value)),
            "headers" => drop(self.headers.insert(format!("{}x", line.name), value)),
            "header" => drop(self.headers.insert(line.name.to_ascii_lowercase(), value)),
            "element" => match self.elements.iter_mut().find(|(path, _)| path == line.name) {
                Some(element) => element.1 = value,
                None => self.elements.push((line.name.to_owned(), value)),
            },
            "body" => self.body = value,
            other => panic!("{other}"),
        }
    }

    fn send(&self, ask: &Ask<'_>) -> Answered {
        let (path, fixed) = self.uri.split_once('?').unwrap_or((&self.uri, ""));
        let path = path.replace("{Bucket}", &self.bucket).replace("{Key+}", &self.key);
        let pair = |(name, value): (&String, &String)| format!("{name}={}", escape(value, false));
        let given = Some(fixed.to_owned()).filter(|fixed| !fixed.is_empty()).into_iter();
        let query: Vec<String> = given.chain(self.query.iter().map(pair)).collect();
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let body = if self.elements.is_empty() { self.body.clone() } else { written(&self.elements) };
        ask(&self.method, &format!("{path}?{}", query.join("&")), &headers, body.as_bytes())
    }
}

/// A document with these elements, of which those that follow each other share their parents.
fn written(elements: &[(String, String)]) -> String {
    let mut text = String::new();
    let mut open: Vec<&str> = Vec::new();
    // A document has one root, so elements of the root come last where they do not fit.
    for (path, value) in elements {
        let mut words: Vec<&str> = path.split('/').collect();
        let leaf = words.pop().expect("a path has a name");
        let shared = open.iter().zip(&words).take_while(|(one, other)| one == other).count();
        open.drain(shared..).rev().for_each(|name| text += &format!("</{name}>"));
        words[shared..].iter().for_each(|name| text += &format!("<{name}>"));
        open = words;
        text += &format!("<{leaf}>{}</{leaf}>", value.replace('"', "&quot;"));
    }
    open.iter().rev().for_each(|name| text += &format!("</{name}>"));
    text
}

type Ask<'c> = dyn Fn(&str, &str, &[(&str, &str)], &[u8]) -> Answered + 'c;

/// What a request did: the answer, and the store afterwards.
#[derive(PartialEq)]
struct Done {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    store: BTreeMap<String, Found>,
}

/// How a request reaches a gateway: a planted gateway changes it on the way.
type Through<'p> = &'p dyn Fn(&Client, &str, &str, &[(&str, &str)], &[u8]) -> Answered;

fn plainly(client: &Client, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answered {
    client.ask(method, target, headers, body)
}

fn done(lines: &[Line<'_>], line: &Line<'_>, value: Option<&str>, through: Through<'_>) -> (Done, bool) {
    let (client, id, tag) = stocked();
    let store = || client.1.objects.lock().expect("no test panics with it").clone();
    let before = store();
    let mut asked = base(lines, line.operation, &id, &tag);
    // A copy keeps what is said of its source, unless it is to replace it.
    let is_label = ["cache-control", "content-", "expires", "x-amz-meta-"];
    let name = line.name.to_ascii_lowercase();
    if line.operation == "CopyObject" && is_label.iter().any(|start| name.starts_with(start)) {
        asked.headers.insert("x-amz-metadata-directive".to_owned(), "REPLACE".to_owned());
    }
    if let Some(value) = value {
        asked.put(line, value);
    }
    let answered =
        asked.send(&|method, target, headers, body| through(&client, method, target, headers, body));
    let after = store();
    let is_changed = before != after;
    let Answered { status, headers, body } = answered;
    (Done { status, headers, body, store: after }, is_changed)
}

/// What is wrong with how a gateway treats a line of the table.
fn faults(lines: &[Line<'_>], line: &Line<'_>, through: Through<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |what: &str, value: &str| {
        faults.push(format!("{} {} = `{value}`: {what}", line.operation, line.member));
    };
    let refused = |value: Option<&str>| {
        let (done, is_changed) = done(lines, line, value, through);
        let text = String::from_utf8_lossy(&done.body).into_owned();
        // Of elements within each other the outermost one that is lacking is named.
        let mut names = line.name.split('/').skip(usize::from(line.place == "element"));
        let names_it = names.any(|name| text.to_ascii_lowercase().contains(&name.to_ascii_lowercase()));
        (done.status == 501 && text.contains("<Code>NotImplemented</Code>"), is_changed, names_it)
    };
    if line.member == "-" {
        let (is_refused, is_changed, _) = refused(None);
        if is_refused != (line.verdict == "no") {
            fault("the operation is not treated as its verdict says", "");
        }
        if is_refused && is_changed {
            fault("the operation is refused, but the store has changed", "");
        }
        return faults;
    }
    // Structures are there where their elements are.
    if line.kind.trim_end_matches('!') == "structure" {
        return faults;
    }
    let of_operation = lines.iter().find(|it| it.operation == line.operation && it.member == "-");
    let is_known = of_operation.is_some_and(|it| it.verdict != "no");
    let (plain, _) = done(lines, line, None, through);
    let (mut is_honoured, honoured) = (false, line.honoured());
    for value in line.values() {
        let (is_refused, is_changed, names_it) = refused(Some(value));
        // Which parameter of an operation that is refused as a whole is named does not matter.
        let may_be = line.verdict == "yes" || honoured.contains(&value);
        match is_refused {
            true if is_changed => fault("it is refused, but the store has changed", value),
            true if may_be => fault("it is refused, but the table says that it is honoured", value),
            true if is_known && !names_it => fault("it is refused, but not named", value),
            false if !may_be => fault("it is answered, but the table says 501", value),
            _ => {}
        }
        is_honoured |= !is_refused && done(lines, line, Some(value), through).0 != plain;
    }
    if line.verdict == "yes" && !is_honoured {
        fault("it is taken, but changes nothing", "");
    }
    faults
}

#[test]
fn everything_that_s3_knows_is_honoured_or_refused() {
    let lines = table();
    let all: Vec<String> = lines.iter().flat_map(|line| faults(&lines, line, &plainly)).collect();
    assert_eq!(all, Vec::<String>::new());
    assert!(lines.len() > 900, "{} lines", lines.len());
}

/// What is allowed is in the table: a line that was taken out is missed.
#[test]
fn nothing_is_allowed_that_s3_does_not_know() {
    assert_eq!(unknown(&table()), Vec::<String>::new());
    for planted in ["partNumber", "x-amz-copy-source-if-match", "ListParts"] {
        let lines: Vec<_> =
            table().into_iter().filter(|line| line.name != planted && line.operation != planted).collect();
        assert!(!unknown(&lines).is_empty(), "without `{planted}` nothing is missed");
    }
}

/// What is allowed though no line of the table says so.
fn unknown(lines: &[Line<'_>]) -> Vec<String> {
    // Signatures, and how a body is sent, are no part of the service model; `if-range` is one of HTTP.
    let sent = ["if-range", "x-amz-trailer", "x-amz-decoded-content-length"];
    let mut unknown = Vec::new();
    for row in &ROWS {
        let name = format!("{:?}", row.operation);
        let known: BTreeSet<String> = lines
            .iter()
            .filter(|line| line.operation == name && line.verdict != "no")
            .map(|line| line.name.to_ascii_lowercase())
            .collect();
        let uri = lines.iter().find(|line| line.operation == name && line.member == "-");
        if uri.is_none_or(|line| line.verdict == "no") {
            unknown.push(name.clone());
        }
        let selects = |it: &str| uri.is_some_and(|line| line.name.contains(it));
        let headers = row.headers.iter().copied().flatten().filter(|it| !sent.contains(it));
        for it in row.parameters.iter().chain(row.selectors).chain(headers) {
            // Botocore adds checksums of a body by itself.
            let is_of_body =
                it.starts_with("x-amz-checksum-") || *it == "content-md5" || it.contains("-sdk-");
            if !known.contains(&it.to_ascii_lowercase()) && !selects(it) && !is_of_body {
                unknown.push(format!("{name} {it}"));
            }
        }
    }
    unknown
}

/// A gateway that does not look at one parameter, as it was before there was a list of what is allowed.
#[test]
fn planted_gateways_are_noticed() {
    let lines = table();
    let find = |operation: &str, member: &str| {
        *lines.iter().find(|line| line.operation == operation && line.member == member).expect("it is there")
    };
    let deaf = |client: &Client, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]| {
        let is_unheard = ["annotation", "metadataConfiguration"].iter().any(|it| target.contains(it));
        let target = if is_unheard { target.split('?').next().unwrap_or_default() } else { target };
        let skipped = ["x-amz-write-offset-bytes", "if-match", "x-amz-checksum-sha512"];
        let headers: Vec<_> = headers.iter().filter(|(name, _)| !skipped.contains(name)).copied().collect();
        client.ask(method, target, &headers, body)
    };
    for (operation, member) in [
        ("PutObjectAnnotation", "-"),
        ("DeleteObjectAnnotation", "-"),
        ("DeleteBucketMetadataConfiguration", "-"),
        ("PutObject", "WriteOffsetBytes"),
        ("PutObject", "ChecksumSHA512"),
        ("CopyObject", "IfMatch"),
        ("GetObject", "IfMatch"),
    ] {
        let line = find(operation, member);
        assert_eq!(faults(&lines, &line, &plainly), Vec::<String>::new(), "{line:?}");
        assert_ne!(faults(&lines, &line, &deaf), Vec::<String>::new(), "{line:?}");
    }
    // A verdict that is not so.
    for (operation, member, verdict) in [
        ("PutObject", "ACL", "yes"),
        ("PutObject", "IfMatch", "no"),
        ("ListObjects", "Prefix", "no"),
        ("GetObject", "RequestPayer", "yes"),
        ("DeleteObjects", "Delete/Object/Size", "yes"),
        ("GetBucketAcl", "-", "yes"),
    ] {
        let line = Line { verdict, ..find(operation, member) };
        assert_ne!(faults(&lines, &line, &plainly), Vec::<String>::new(), "{line:?}");
    }
}
