//! Requests: what their addresses and headers mean, who signed them, and the operations they ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use super::{NOW, is_refused, keys, now, reads_back, says_why};
use crate::attributes::Labels;
use crate::checksums::{base64, unbase64};
use crate::conditions::range;
use crate::credentials::Credentials;
use crate::dates::Moment;
use crate::depot::Depot;
use crate::escape::{escape, parameters, unescape};
use crate::fault::{Code, Fault};
use crate::names::Place;
use crate::payload::Payload;
use crate::reply::{Body, Reply};
use crate::request::Request;
use crate::service::Service;
use crate::shelf::Found;
use crate::shelf::memory::Memory;
use crate::signature::{BodyRule, hex, presign, sign, verify};
use crate::source::Runs;
use crate::xml::{Element, parse};

/// How long a signed address is valid, in seconds.
const EXPIRES: u64 = 3_600;

/// The first two bytes choose; then comes a line `METHOD TARGET`, a line `NAME:VALUE` per header, an empty
/// line and a body. What HTTP does not allow is left out of it.
///
/// What is read from an address and from headers is written and read as the same, and ranges lie in their
/// objects. The request is refused as it is, accepted once we have signed it, and refused again after a
/// change. Its operation on a small store gives a sound reply, and changes nothing where it is refused.
pub fn request(data: &[u8]) {
    let Some((&[choice, place], rest)) = data.split_first_chunk::<2>() else { return };
    let Some((mut request, body)) = head(rest) else { return };
    let of_address = Request { headers: BTreeMap::new(), ..request.clone() };
    reads_back(&of_address, address_again(&request).ok().as_ref());
    request.headers.values().for_each(|value| value_means(value));
    is_refused(&verify(&request, &keys(), NOW), "a request that nobody has signed");

    let payload = match request.header("x-amz-content-sha256") {
        Some(payload) => payload.to_owned(),
        None => hex(&Sha256::digest(body)),
    };
    match choice & 1 {
        0 => sign(&mut request, &keys(), NOW, &payload),
        _ => presign(&mut request, &keys(), NOW, &payload, EXPIRES),
    }
    is_accepted(&verify(&request, &keys(), NOW));
    let (mut changed, mut other, mut at) = (request.clone(), keys(), NOW);
    if change(&mut changed, &mut other, &mut at, usize::from(choice >> 1), usize::from(place)) {
        is_refused(&verify(&changed, &other, at), "a request that was changed after it was signed");
    }
    request.headers.entry("content-length".to_owned()).or_insert(body.len().to_string());
    operate(&mut request, &payload, body, choice & 1 == 1);
}

/// The request in an input, unless HTTP does not allow it.
fn head(data: &[u8]) -> Option<(Request, &[u8])> {
    let end = data.windows(2).position(|two| two == b"\n\n").unwrap_or(data.len());
    let body = data.get(end + 2..).unwrap_or_default();
    let mut lines = data[..end].split(|byte| *byte == b'\n');
    let first = std::str::from_utf8(lines.next()?).ok()?;
    let (method, target) = first.split_once(' ')?;
    let method = hyper::Method::from_bytes(method.as_bytes()).ok()?;
    let target: hyper::Uri = target.parse().ok()?;
    let target = target.path_and_query().map_or("/", |target| target.as_str());
    let headers: Vec<(HeaderName, HeaderValue)> = lines
        .filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(&line[..at]).ok()?;
            Some((name, HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?))
        })
        .collect();
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    match Request::new(method.as_str(), target, headers) {
        Ok(request) => Some((request, body)),
        Err(fault) => {
            says_why(&fault);
            None
        }
    }
}

/// The path and the parameters of a request, written as in an address and read again.
pub(super) fn address_again(request: &Request) -> Result<Request, Fault> {
    let pair = |(name, value): &(String, String)| format!("{}={}", escape(name, false), escape(value, false));
    let query: Vec<String> = request.parameters.iter().map(pair).collect();
    Ok(Request {
        method: request.method.clone(),
        path: unescape(&escape(&request.path, true))?,
        parameters: parameters(&query.join("&"))?,
        headers: BTreeMap::new(),
    })
}

/// The value of a header as each of the things that it can be.
fn value_means(value: &str) {
    for length in [0, 1, 35, u64::MAX] {
        match range(Some(value), length) {
            Ok(Some(range)) => lies_within(&range, length),
            Ok(None) => {}
            Err(fault) => assert_eq!(fault.code, Code::InvalidRange, "{value}: {fault}"),
        }
    }
    if let Some(moment) = Moment::from_http(value) {
        // The last second of the last year may be a leap second: it begins a year that no form can express.
        reads_back(&moment.http(), Moment::from_http(&moment.http()).map(Moment::http).as_ref());
    }
    if let Some(moment) = Moment::from_basic(value) {
        reads_back(&moment.basic(), Moment::from_basic(&moment.basic()).map(Moment::basic).as_ref());
    }
    if let Some(bytes) = unbase64(value) {
        reads_back(&bytes, unbase64(&base64(&bytes)).as_ref());
    }
    if let Ok(text) = unescape(value) {
        reads_back(&text, unescape(&escape(&text, false)).ok().as_ref());
    }
}

/// A range has bytes, and they are bytes of the object.
pub(super) fn lies_within(range: &std::ops::Range<u64>, length: u64) {
    assert!(range.start < range.end && range.end <= length, "{range:?} does not lie in {length} bytes");
}

/// A signed request is accepted, unless what it states about its body means nothing.
pub(super) fn is_accepted(found: &Result<BodyRule, Fault>) {
    if let Err(fault) = found {
        assert_eq!(fault.code, Code::InvalidArgument, "a signed request is refused: {fault}");
    }
}

/// Changes one thing that is signed; false if there is no such thing.
pub(super) fn change(
    request: &mut Request,
    keys: &mut Credentials,
    now: &mut Moment,
    choice: usize,
    place: usize,
) -> bool {
    let count = request.parameters.len();
    let names: Vec<String> = request.headers.keys().filter(|it| *it != "authorization").cloned().collect();
    let name = names[place % names.len()].clone();
    match choice % 12 {
        0 => request.method.push('X'),
        1 => request.path.push('x'),
        2 => request.parameters.push(("acl".to_owned(), String::new())),
        3 if count > 0 => request.parameters[place % count].1.push('0'),
        4 if count > 0 => drop(request.parameters.remove(place % count)),
        5 => request.headers.entry(name).or_default().push('x'),
        // A header without a value is signed as one that is absent.
        6 => return request.headers.remove(&name).is_some_and(|value| !value.trim_matches(' ').is_empty()),
        7 => request.headers.entry("x-amz-copy-source".to_owned()).or_default().push_str("/bucket/a"),
        8 => keys.secret_key.push('x'),
        9 => keys.access_key.push('x'),
        10 => now.0 += (EXPIRES + 1) * 1_000,
        11 => request.parameters.push(("X-Amz-Signature".to_owned(), "0".repeat(64))),
        _ => return false,
    }
    true
}

/// A store in memory with a bucket, objects of all forms, and an upload in progress.
fn small_store() -> (Arc<Memory>, Service<Arc<Memory>>) {
    let memory = Memory::new();
    let depot = Depot::with_sizes(Arc::clone(&memory), "run0", 7, 5).expect("it answers");
    depot.make_bucket("bucket", NOW).expect("there was none");
    let place = |key: &str| Place::new("bucket", key).expect("it is short");
    let payload = |text: &'static str| Payload::of(Box::new(Runs::of(text.as_bytes(), 9)), text.len() as u64);
    for (key, text) in [("a", ""), ("a/b", "small"), ("a/c d", "some words that need several pieces")] {
        let put = depot.put(&place(key), Labels::default(), payload(text), &|_| Ok(()), NOW);
        put.expect("it is as promised");
    }
    let id = depot.begin_upload(&place("up"), Labels::default(), None, NOW).expect("there is a bucket");
    for (number, text) in [(1, "first part"), (2, "second")] {
        depot.put_part(&place("up"), &id, number, payload(text), NOW).expect("it is as promised");
    }
    (memory, Service::new(depot, keys(), now))
}

/// Answers a request that is signed again, now that its headers are complete.
fn operate(request: &mut Request, payload: &str, body: &[u8], in_address: bool) {
    match in_address {
        false => sign(request, &keys(), NOW, payload),
        true => presign(request, &keys(), NOW, payload, EXPIRES),
    }
    let (memory, service) = small_store();
    let objects = || memory.objects.lock().expect("nobody panics with it").clone();
    let before = objects();
    let reply = service.answer(request, &mut Runs::of(body, 16));
    let (status, headers) = (reply.status, reply.headers.clone());
    let sent = sent(reply);
    is_sound(request, status, &headers, &sent);
    if status >= 300 {
        changes_nothing(&before, &objects());
    }
    if status < 300 {
        is_part_of_object(request, &headers, &sent);
    }
    if let Err(fault) = memory.audit() {
        panic!("after {} {}: {fault}", request.method, request.path);
    }
}

/// The bytes of a reply.
fn sent(reply: Reply<'_>) -> Vec<u8> {
    let mut source = match reply.body {
        Body::Bytes(bytes) => return bytes.to_vec(),
        Body::Stream(source) => source,
    };
    let mut all = Vec::new();
    while let Some(run) = source.next().expect("no piece is missing") {
        all.extend_from_slice(&run);
    }
    all
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

/// A sound store gives no internal error; documents can be parsed; listings hold what was asked for.
pub(super) fn is_sound(request: &Request, status: u16, headers: &[(String, String)], sent: &[u8]) {
    assert!((200..500).contains(&status) || status == 501, "{status} for {request:?}");
    let is_document =
        header(headers, "content-type") == Some("application/xml") && sent.starts_with(b"<?xml");
    let text = String::from_utf8_lossy(sent);
    // No parser reads this reference, with which S3 also answers.
    if !is_document || text.contains("&#x0;") {
        return;
    }
    let root = text.split('<').nth(2).and_then(|it| it.split([' ', '>']).next()).unwrap_or_default();
    let read = parse(sent, root).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    assert!(status < 300 || read.child("Code").is_some_and(|code| !code.is_empty()), "{text}");
    if root == "ListBucketResult" {
        listing_is_sound(&read);
    }
}

/// A page has at most the rows that were asked for, each begins with the prefix, and a page that is cut says
/// where the next begins.
pub(super) fn listing_is_sound(page: &Element) {
    let raw = |of: &Element, name: &str| of.all(name).next().map(|it| it.text.clone()).unwrap_or_default();
    let is_escaped = raw(page, "EncodingType") == "url";
    let text = |text: String| match is_escaped {
        true => unescape(&text).expect("we escaped it"),
        false => text,
    };
    let keys: Vec<String> = page.all("Contents").map(|row| text(raw(row, "Key"))).collect();
    let common: Vec<String> = page.all("CommonPrefixes").map(|row| text(raw(row, "Prefix"))).collect();
    let prefix = text(raw(page, "Prefix"));
    let most: usize = raw(page, "MaxKeys").parse().expect("it is a number");
    assert!(keys.len() + common.len() <= most, "a page has more than {most} rows");
    for rows in [&keys, &common] {
        assert!(rows.windows(2).all(|two| two[0] < two[1]), "rows are out of order: {rows:?}");
        assert!(rows.iter().all(|row| row.starts_with(&prefix)), "a row lacks the prefix: {rows:?}");
    }
    let next = ["NextMarker", "NextContinuationToken"].map(|name| raw(page, name));
    let is_cut = raw(page, "IsTruncated") == "true";
    assert_eq!(is_cut, next.iter().any(|next| !next.is_empty()), "a page that is cut says so, and no other");
}

/// A request that is refused leaves the store as it was.
pub(super) fn changes_nothing(before: &BTreeMap<String, Found>, after: &BTreeMap<String, Found>) {
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    let name = before.keys().chain(after.keys()).find(differs);
    assert_eq!(name, None, "a request that was refused changed the store");
}

/// The bytes of a reply are those of the object, all or in the range that the reply states.
pub(super) fn is_part_of_object(request: &Request, headers: &[(String, String)], sent: &[u8]) {
    let whole = match request.path.as_str() {
        "/bucket/a" => "",
        "/bucket/a/b" => "small",
        "/bucket/a/c d" => "some words that need several pieces",
        _ => return,
    };
    // Documents about an object have no such header yet.
    let Some(length) = header(headers, "content-length") else { return };
    let length: usize = length.parse().expect("it is a number");
    let first = match header(headers, "content-range") {
        Some(text) => {
            let bounds =
                text.strip_prefix("bytes ").and_then(|it| it.strip_suffix(&format!("/{}", whole.len())));
            let (first, last) = bounds.and_then(|it| it.split_once('-')).expect("a range has two ends");
            let (first, last): (u64, u64) = (first.parse().expect("it is"), last.parse().expect("it is"));
            lies_within(&(first..last + 1), whole.len() as u64);
            assert_eq!(last + 1 - first, length as u64, "a range is not as long as the reply");
            first as usize
        }
        None => 0,
    };
    let want = &whole.as_bytes()[first..first + length];
    assert!(sent == want || request.method == "HEAD" && sent.is_empty(), "other bytes than the object's");
}
