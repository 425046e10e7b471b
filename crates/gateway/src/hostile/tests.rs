//! The functions that fuzz targets call, on generated inputs and on changed inputs of the corpus; and for
//! each of their checks, a value that it must not let pass.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;

use super::body::{few_wait, is_as_sent, is_refused_or_same, is_same, seal, seed};
use super::connection::all_are_refused;
use super::document::{takes_little, written};
use super::request::{
    address_again, change, changes_nothing, is_accepted, is_part_of_object, is_sound, lies_within,
    listing_is_sound,
};
use super::stored::slices_follow;
use super::*;
use crate::manifest::{Manifest, Segment};
use crate::request::Request;
use crate::signature::{sign, verify};
use crate::xml::parse;

/// The corpus of a target, sorted by name.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("it can be read")).collect()
}

/// An input of the corpus with some bytes changed, left out, put in or repeated.
fn changed(target: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let edit = (0..4_u8, any::<prop::sample::Index>(), any::<u8>(), 1..24_usize);
    (select(corpus(target)), prop::collection::vec(edit, 0..4)).prop_map(|(mut data, edits)| {
        for (kind, at, byte, length) in edits {
            let at = at.index(data.len() + 1).min(data.len().saturating_sub(1));
            let end = (at + length).min(data.len());
            match kind {
                0 if !data.is_empty() => data[at] = byte,
                1 => drop(data.drain(at..end)),
                2 => data.insert(at, byte),
                _ => drop(data.splice(at..at, data[at..end].to_vec())),
            }
        }
        data
    })
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

/// A request as the targets take it, of words that mean something to the gateway.
fn requests() -> impl Strategy<Value = Vec<u8>> {
    let method = select(vec!["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"]);
    let path = select(vec![
        "/",
        "/bucket",
        "/other",
        "/bucket/a",
        "/bucket/a/b",
        "/bucket/a/c%20d",
        "/bucket/up",
        "/bucket/%00%ff",
        "/bucket/%e2%82%ac",
        "*",
    ]);
    let name = "uploads|uploadId|delete|list-type|prefix|delimiter|marker|start-after|continuation-token|\
                max-keys|partNumber|encoding-type|versionId|max-parts|location|tagging|response-expires|\
                X-Amz-Signature|acl|[a-z]{0,3}";
    let value = "|0|1|2|9999999999999999999999|url|run0-00000005|a/|a|YQ==|null|%00|[ -\"$-~]{0,6}";
    let query = prop::collection::vec((name, value), 0..4);
    let header = "range|x-amz-copy-source-range|if-match|if-none-match|if-modified-since|x-amz-copy-source|\
                  content-md5|content-length|x-amz-decoded-content-length|x-amz-meta-[a-z]|content-type|\
                  x-amz-content-sha256|x-amz-checksum-crc32|x-amz-trailer|x-amz-metadata-directive|date|\
                  x-amz-sdk-checksum-algorithm|x-amz-checksum-type|authorization|expires|transfer-encoding";
    let given = "bytes=[0-9]{0,20}-[0-9]{0,2}|\\*|\"[a-f0-9]{0,4}\"|/bucket/a/c%20d|/bucket/a|[0-9]{1,2}|AAAAAA==|\
                 UNSIGNED-PAYLOAD|STREAMING-UNSIGNED-PAYLOAD-TRAILER|STREAMING-AWS4-HMAC-SHA256-PAYLOAD|\
                 REPLACE|x-amz-checksum-crc32|CRC64NVME|FULL_OBJECT|Fri, 15 Jan 2027 08:00:00 GMT|[ -~]{0,12}";
    let headers = prop::collection::vec((header, given), 0..4);
    let body = "|words|5\r\nwords\r\n0\r\n\r\n|<Delete><Object><Key>a</Key></Object></Delete>|\
                <CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>e</ETag></Part>\
                </CompleteMultipartUpload>|[ -~]{0,20}";
    (any::<[u8; 2]>(), method, path, query, headers, body).prop_map(
        |(choices, method, path, query, headers, body)| {
            let pair = |(name, value): &(String, String)| format!("{name}={value}");
            let query: Vec<String> = query.iter().map(pair).collect();
            let mut data = choices.to_vec();
            data.extend(format!("{method} {path}?{}\n", query.join("&")).into_bytes());
            for (name, value) in headers {
                data.extend(format!("{name}:{value}\n").into_bytes());
            }
            data.extend(format!("\n{body}").into_bytes());
            data
        },
    )
}

/// Text of the marks that XML, chunks and attributes are made of.
fn marks() -> impl Strategy<Value = Vec<u8>> {
    let word = "<|>|/|&|;|Delete|Object|<Key>|</Key>|&#x0;|&#65;|\r\n|\n|0|1|a|:|=|length=|etag=|form=whole|modified=";
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn requests_mean_what_they_say(data in prop_oneof![4 => requests(), 2 => changed("gateway_request"), 1 => noise()]) {
        request(&data);
    }

    #[test]
    fn bodies_are_read_as_they_were_signed(data in prop_oneof![changed("gateway_body"), noise(), marks()]) {
        body(&data);
    }

    #[test]
    fn documents_are_read_or_refused(data in prop_oneof![changed("gateway_document"), noise(), marks()]) {
        document(&data);
    }

    #[test]
    fn what_is_stored_is_read_or_refused(data in prop_oneof![changed("gateway_stored"), noise(), marks()]) {
        stored(&data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn unsigned_connections_get_nothing(data in prop_oneof![3 => changed("gateway_connection"), 1 => noise()]) {
        connection(&data);
    }
}

/// Whether a check panics.
fn notices(check: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

fn signed() -> Request {
    let mut request =
        Request::new("GET", "/b/k?a=b", [("range", &b"bytes=0-1"[..])]).expect("it can be read");
    sign(&mut request, &keys(), NOW, "UNSIGNED-PAYLOAD");
    request
}

#[test]
fn planted_acceptance_is_noticed() {
    let accepted = verify(&signed(), &keys(), NOW);
    assert!(notices(|| is_refused(&accepted, "a request")));
    assert!(notices(|| is_refused::<()>(&Err(Code::InternalError.because("x")), "a request")));
    assert!(notices(|| is_refused::<()>(&Err(Code::AccessDenied.because("")), "a request")));
    is_accepted(&accepted);
    assert!(notices(|| is_accepted(&Err(Code::SignatureDoesNotMatch.because("x")))));
    for answered in ["HTTP/1.1 200 OK", "HTTP/1.1 500 ", "HTTP/1.1 100 Continue"] {
        assert!(notices(|| all_are_refused(answered.as_bytes(), 0)), "{answered}");
    }
    assert!(notices(|| all_are_refused(b"HTTP/1.1 403 Forbidden", 1)));
    all_are_refused(b"HTTP/1.1 403 Forbidden", 0);
}

/// Without the check of signatures, each of the changes would be accepted: none of them is empty.
#[test]
fn each_change_changes_the_request_or_what_it_is_checked_with() {
    for choice in 0..12 {
        let (mut request, mut other, mut at) = (signed(), keys(), NOW);
        assert!(change(&mut request, &mut other, &mut at, choice, 1), "{choice}");
        assert!((request, other, at) != (signed(), keys(), NOW), "{choice}");
    }
}

#[test]
fn planted_values_that_do_not_read_back_are_noticed() {
    let request = Request::new("GET", "/b/k%25?a=%26", []).expect("it can be read");
    reads_back(&request, address_again(&request).ok().as_ref());
    let planted = Request { path: "/b/k".to_owned(), ..request.clone() };
    assert!(notices(|| reads_back(&planted, address_again(&request).ok().as_ref())));
    assert!(notices(|| reads_back(&1, None)));
    assert_eq!(written("a<&\x01\r\n>"), Some("a<&\x01\r\n>".to_owned()));
}

#[test]
fn planted_ranges_are_noticed() {
    lies_within(&(0..1), 1);
    for (range, length) in [(0..2, 1), (1..1, 1), (9..9, 8)] {
        assert!(notices(|| lies_within(&range, length)), "{range:?} of {length}");
    }
}

#[test]
fn planted_bodies_are_noticed() {
    let of = |bytes: &[u8]| (bytes.to_vec(), BTreeMap::new());
    is_as_sent(&Ok(of(b"")), 3);
    assert!(notices(|| is_as_sent(&Ok(of(b"abc")), 5)), "more bytes than were sent");
    assert!(notices(|| is_same(&Ok(of(b"a")), &Ok(of(b"b")))));
    assert!(notices(|| is_refused_or_same(&Ok(of(b"a")), &of(b"b"))));
    let trailer = [("x-amz-meta-a".to_owned(), "b".to_owned())].into();
    assert!(notices(|| is_refused_or_same(&Ok((Vec::new(), trailer)), &of(b""))));
    assert!(notices(|| few_wait(9_000, 1)));
    // A decoder without the seed accepts what was changed.
    let mut planted = seal(b"words", 3, seed(false), false);
    let at = planted.iter().position(|byte| *byte == b'w').expect("it is there");
    planted[at] = b'W';
    let found = super::body::read(&planted, 7, None, false);
    assert!(found.is_ok() && notices(|| is_refused_or_same(&found, &of(b"words"))));
}

#[test]
fn planted_elements_are_noticed() {
    let text = b"<Delete><Key>a</Key></Delete>";
    let read = parse(text, "Delete").expect("it is well-formed");
    takes_little(&read, text.len());
    assert!(notices(|| takes_little(&read, 9)), "more elements than the document has room for");
}

#[test]
fn planted_slices_are_noticed() {
    let segment = |id: &str, length, piece| Segment { id: id.to_owned(), length, piece };
    let manifest = Manifest { segments: vec![segment("a", 10, 4), segment("b", 5, 5)] };
    let slices: Vec<_> = manifest.slices(2, 14).collect();
    slices_follow(&manifest, (2, 14), &slices);
    let mut longer = slices.clone();
    longer[0].length += 1;
    let mut elsewhere = slices.clone();
    elsewhere[1].piece += 1;
    for planted in [&slices[1..], &slices[..2], &longer, &elsewhere] {
        assert!(notices(|| slices_follow(&manifest, (2, 14), planted)), "{planted:?}");
    }
}

#[test]
fn planted_replies_are_noticed() {
    let request = Request { path: "/bucket/a/b".to_owned(), method: "GET".to_owned(), ..Request::default() };
    let xml = [("content-type".to_owned(), "application/xml".to_owned())];
    is_sound(&request, 404, &xml, b"<?xml?>\n<Error><Code>NoSuchKey</Code></Error>");
    assert!(notices(|| is_sound(&request, 500, &[], b"")));
    assert!(notices(|| is_sound(&request, 404, &xml, b"<?xml?>\n<Error></Error>")), "without a code");
    assert!(notices(|| is_sound(&request, 200, &xml, b"<?xml?>\n<A><B></A>")), "malformed");
    let ranged = |length: &str, range: &str| {
        [("content-length", length), ("content-range", range)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    is_part_of_object(&request, &ranged("2", "bytes 1-2/5"), b"ma");
    assert!(notices(|| is_part_of_object(&request, &ranged("2", "bytes 1-2/5"), b"al")), "other bytes");
    assert!(notices(|| is_part_of_object(&request, &ranged("3", "bytes 1-2/5"), b"mal")), "another length");
    assert!(notices(|| is_part_of_object(&request, &ranged("2", "bytes 4-5/5"), b"l")), "past the end");
    let before: BTreeMap<_, _> = [("a".to_owned(), (BTreeMap::new(), vec![1]))].into();
    changes_nothing(&before, &before);
    for after in [BTreeMap::new(), [("a".to_owned(), (BTreeMap::new(), vec![2]))].into()] {
        assert!(notices(|| changes_nothing(&before, &after)));
    }
}

#[test]
fn planted_listings_are_noticed() {
    let page = |text: &str| {
        let text = format!("<L><MaxKeys>2</MaxKeys><Prefix>a</Prefix>{text}</L>");
        parse(text.as_bytes(), "L").expect("it is well-formed")
    };
    let key = |key: &str| format!("<Contents><Key>{key}</Key></Contents>");
    listing_is_sound(&page(&[key("a"), key("ab")].concat()));
    for planted in [
        [key("a"), key("ab"), key("ac")].concat(),
        [key("ab"), key("a")].concat(),
        key("b"),
        "<IsTruncated>true</IsTruncated>".to_owned(),
        "<NextMarker>a</NextMarker>".to_owned(),
    ] {
        assert!(notices(|| listing_is_sound(&page(&planted))), "{planted}");
    }
}
