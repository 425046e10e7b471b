//! The examples of the S3 reference, and requests that must be refused.

use super::*;

const HOST: &str = "examplebucket.s3.amazonaws.com";
const AT: &str = "20130524T000000Z";

fn keys() -> Credentials {
    Credentials {
        access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
        secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
    }
}

fn at() -> Moment {
    Moment::from_basic(AT).expect("it is a moment")
}

fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
    let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
    Request::new(method, target, headers).expect("it can be read")
}

fn authorization(signed: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
         SignedHeaders={signed},Signature={signature}"
    )
}

/// "Example: GET Object".
fn get() -> Request {
    let signature = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    let authorization = authorization("host;range;x-amz-content-sha256;x-amz-date", signature);
    request(
        "GET",
        "/test.txt",
        &[
            ("Host", HOST),
            ("Range", "bytes=0-9"),
            ("x-amz-content-sha256", EMPTY),
            ("x-amz-date", AT),
            ("Authorization", &authorization),
        ],
    )
}

/// "Example: Signature Calculation" with query parameters.
fn presigned() -> Request {
    let target = "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
        &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
        &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
        &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
    request("GET", target, &[("host", HOST)])
}

#[test]
fn the_examples_of_the_reference_are_right() {
    let empty = unhex(EMPTY).and_then(|bytes| bytes.try_into().ok()).expect("it is a digest");
    assert_eq!(verify(&get(), &keys(), at()), Ok(BodyRule::Sha256(empty)));
    assert_eq!(verify(&presigned(), &keys(), at()), Ok(BodyRule::Unsigned));
}

/// Botocore signs such a header if it is asked for a date of the caller's own.
#[test]
fn the_date_may_be_that_of_mail() {
    for zone in ["GMT", "-0000", "+0000"] {
        assert_eq!(in_date(&format!("Fri, 24 May 2013 00:00:00 {zone}")), Some(at()), "{zone}");
    }
    for text in ["Fri, 24 May 2013 00:00:00 +0100", "Fri, 24 May 2013 00:00:00", "-0000", ""] {
        assert_eq!(in_date(text), None, "{text}");
    }
}

/// "Example: PUT Object" with a signed body in chunks.
#[test]
fn chunks_are_signed_one_after_the_other() {
    let signature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
    let signed = "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;\
                  x-amz-decoded-content-length;x-amz-storage-class";
    let put = request(
        "PUT",
        "/examplebucket/chunkObject.txt",
        &[
            ("host", "s3.amazonaws.com"),
            ("x-amz-date", AT),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
            ("content-encoding", "aws-chunked"),
            ("x-amz-decoded-content-length", "66560"),
            ("content-length", "66824"),
            ("authorization", &authorization(signed, signature)),
        ],
    );
    let rule = verify(&put, &keys(), at());
    let Ok(BodyRule::Signed { mut seed, has_trailer: false }) = rule else { panic!("{rule:?}") };
    for (length, signature) in [
        (65_536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
        (1_024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
        (0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
    ] {
        let digest = Sha256::digest(vec![b'a'; length]);
        let mut other = seed.clone();
        assert!(other.take_chunk(signature, &Sha256::digest(b"b")).is_err(), "another chunk");
        assert_eq!(seed.take_chunk(signature, &digest), Ok(()), "{length}");
        assert!(seed.take_chunk(signature, &digest).is_err(), "the same once more");
    }
}

fn refused(request: &Request, keys: &Credentials, now: Moment, want: Code) {
    let found = verify(request, keys, now).map_err(|fault| fault.code);
    assert_eq!(found, Err(want), "{request:?}");
}

/// Every change that a faulty caller makes is detected.
#[test]
fn what_is_not_as_it_was_signed_is_refused() {
    let changes: [fn(&mut Request); 6] = [
        |it| it.method = "PUT".to_owned(),
        |it| it.path += "x",
        |it| it.parameters.push(("acl".to_owned(), String::new())),
        |it| drop(it.headers.insert("range".to_owned(), "bytes=0-90".to_owned())),
        |it| drop(it.headers.insert("host".to_owned(), "other".to_owned())),
        |it| drop(it.headers.insert("x-amz-content-sha256".to_owned(), "UNSIGNED-PAYLOAD".to_owned())),
    ];
    for change in changes {
        let mut changed = get();
        change(&mut changed);
        refused(&changed, &keys(), at(), Code::SignatureDoesNotMatch);
    }
    let other = Credentials { secret_key: "another".to_owned(), ..keys() };
    refused(&get(), &other, at(), Code::SignatureDoesNotMatch);
    refused(&presigned(), &other, at(), Code::SignatureDoesNotMatch);
    let other = Credentials { access_key: "another".to_owned(), ..keys() };
    refused(&get(), &other, at(), Code::InvalidAccessKeyId);
}

/// The signature's parameter was left out of what is signed wherever it stood, so that a caller could add it.
#[test]
fn a_second_signature_in_the_address_is_refused() {
    for mut changed in [get(), presigned()] {
        changed.parameters.push(("X-Amz-Signature".to_owned(), "00".to_owned()));
        refused(&changed, &keys(), at(), Code::SignatureDoesNotMatch);
    }
}

/// An absent header counted as an empty one, so that a header could be taken out of a request, or added.
#[test]
fn a_signed_header_that_is_absent_is_refused() {
    let mut signed = get();
    signed.headers.insert("range".to_owned(), String::new());
    sign(&mut signed, &keys(), at(), EMPTY);
    assert!(verify(&signed, &keys(), at()).is_ok(), "an empty header can be signed");
    signed.headers.remove("range");
    refused(&signed, &keys(), at(), Code::AuthorizationHeaderMalformed);
}

#[test]
fn what_is_not_covered_late_or_malformed_is_refused() {
    let mut open = get();
    open.headers.insert("x-amz-meta-a".to_owned(), "b".to_owned());
    refused(&open, &keys(), at(), Code::AccessDenied);
    let mut bare = get();
    bare.headers.remove("authorization");
    refused(&bare, &keys(), at(), Code::AccessDenied);
    let late = |seconds: u64| Moment(at().0 + seconds * 1_000);
    refused(&get(), &keys(), late(SKEW_MAX + 1), Code::RequestTimeTooSkewed);
    assert!(verify(&get(), &keys(), late(SKEW_MAX)).is_ok());
    refused(&presigned(), &keys(), late(86_401), Code::AccessDenied);
    assert!(verify(&presigned(), &keys(), late(86_400)).is_ok());
    for text in
        ["", "AWS4-HMAC-SHA256 ", "AWS4-HMAC-SHA256 Credential=a,SignedHeaders=b,Signature=c", "Basic x"]
    {
        let mut malformed = get();
        malformed.headers.insert("authorization".to_owned(), text.to_owned());
        refused(&malformed, &keys(), at(), Code::AuthorizationHeaderMalformed);
    }
}
