//! Bodies in chunks.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{NOW, is_refused, keys, says_why};
use crate::chunks::{Chunks, LINE_MAX};
use crate::fault::Fault;
use crate::payload::Payload;
use crate::request::Request;
use crate::signature::{BodyRule, EMPTY, Seed, sign, verify};
use crate::source::{Runs, Source};

/// The most chunks of a body that is signed here: each signature takes time.
const CHUNKS_MAX: usize = 32;

/// The most runs in which a body arrives, about: a line is searched for its end again with each run.
const RUNS_MAX: usize = 64;

/// The bytes of a body, and its trailing headers.
pub(super) type Decoded = (Vec<u8>, BTreeMap<String, String>);

/// The first four bytes choose; the rest is a body in chunks, and the content of one that is signed.
///
/// A body gives the same result in whatever runs it arrives, fewer bytes than were sent, and few of them wait
/// in memory. Nothing is accepted that nobody has signed. A signed body is read as it was written; with one
/// byte changed, it is refused, or read as the same.
pub fn body(data: &[u8]) {
    let Some((&[run, size, place, change], rest)) = data.split_first_chunk::<4>() else { return };
    let run = (usize::from(run) + 1).max(rest.len() / RUNS_MAX);
    for has_trailer in [false, true] {
        let found = read(rest, run, None, has_trailer);
        is_as_sent(&found, rest.len());
        is_same(&found, &read(rest, rest.len().max(1), None, has_trailer));
        is_refused(&read(rest, run, Some(seed(has_trailer)), has_trailer), "a body that nobody has signed");
        let size = (usize::from(size) + 1).max(rest.len() / CHUNKS_MAX);
        let sealed = seal(rest, size, seed(has_trailer), has_trailer);
        let want = read(&sealed, run, Some(seed(has_trailer)), has_trailer).expect("it was signed");
        assert!(want.0 == rest, "a signed body is not read as it was written");
        let mut changed = sealed.clone();
        let at = usize::from(place) * changed.len() / 256;
        changed[at] ^= change.max(1);
        is_refused_or_same(&read(&changed, run, Some(seed(has_trailer)), has_trailer), &want);
        let cut = &sealed[..at];
        is_refused_or_same(&read(cut, run, Some(seed(has_trailer)), has_trailer), &want);
    }
    taken_by_length(rest, run);
}

/// A body whose request states its length and its digest: all of it is taken, or it is refused.
fn taken_by_length(rest: &[u8], run: usize) {
    let Some((&stated, rest)) = rest.split_first() else { return };
    let stated = u64::from(stated);
    let length = stated.to_string();
    let digest: [u8; 32] = Sha256::digest(rest).into();
    for rule in [BodyRule::Unsigned, BodyRule::Sha256(digest), BodyRule::Chunks] {
        let is_cut = rule == BodyRule::Chunks;
        let headers =
            [("content-length", length.as_bytes()), ("x-amz-decoded-content-length", length.as_bytes())];
        let request = Request::new("PUT", "/b/k", headers).expect("it is plain text");
        let payload = Payload::of_request(&request, rule, Runs::of(rest, run)).expect("it is short enough");
        match payload.document(u64::MAX) {
            Ok(found) => {
                assert_eq!(found.len() as u64, stated, "a body is not as long as its length");
                assert!(is_cut || found == rest, "a body is not read as it was sent");
            }
            Err(fault) => {
                says_why(&fault);
                assert!(is_cut || rest.len() as u64 != stated, "a body of this length is refused: {fault}");
            }
        }
    }
}

/// The state before the first chunk of a signed body.
pub(super) fn seed(has_trailer: bool) -> Seed {
    let payload = match has_trailer {
        false => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        true => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    };
    let mut request = Request { method: "PUT".to_owned(), path: "/b/k".to_owned(), ..Request::default() };
    sign(&mut request, &keys(), NOW, payload);
    match verify(&request, &keys(), NOW) {
        Ok(BodyRule::Signed { seed, .. }) => seed,
        other => panic!("it was just signed: {other:?}"),
    }
}

/// A body in signed chunks of `size` bytes, and with a signed trailer if it has one.
pub(super) fn seal(content: &[u8], size: usize, mut seed: Seed, has_trailer: bool) -> Vec<u8> {
    let mut body = Vec::new();
    for chunk in content.chunks(size) {
        let signature = seed.sign_chunk(&Sha256::digest(chunk));
        body.extend(format!("{:x};chunk-signature={signature}\r\n", chunk.len()).into_bytes());
        body.extend(chunk);
        body.extend(b"\r\n");
    }
    let last = seed.sign_chunk(&Sha256::digest([]));
    body.extend(format!("0;chunk-signature={last}\r\n").into_bytes());
    if has_trailer {
        let signature = seed.sign_trailer(&Sha256::digest(format!("x-amz-meta-a:{EMPTY}\n")));
        let trailer = format!("x-amz-meta-a:{EMPTY}\r\nx-amz-trailer-signature:{signature}\r\n");
        body.extend(trailer.into_bytes());
    }
    body.extend(b"\r\n");
    body
}

/// A body in chunks that arrives in runs of `run` bytes.
pub(super) fn read(body: &[u8], run: usize, seed: Option<Seed>, has_trailer: bool) -> Result<Decoded, Fault> {
    let mut chunks = Chunks::new(Runs::of(body, run), seed, has_trailer);
    let mut all = Vec::new();
    loop {
        let next = chunks.next();
        few_wait(chunks.waiting(), run);
        match next? {
            Some(bytes) => {
                assert!(!bytes.is_empty(), "a run is empty");
                all.extend_from_slice(&bytes);
            }
            None => return Ok((all, chunks.trailers().clone())),
        }
    }
}

/// No more than a line and the run that has just arrived wait in memory.
pub(super) fn few_wait(waiting: usize, run: usize) {
    assert!(waiting <= LINE_MAX + 2 + run, "{waiting} bytes wait in memory, with runs of {run}");
}

/// Chunks have their lengths besides their bytes: at least `0\r\n`.
pub(super) fn is_as_sent(found: &Result<Decoded, Fault>, sent: usize) {
    match found {
        Ok((bytes, _)) => assert!(bytes.len() + 3 <= sent, "{} bytes of {sent}", bytes.len()),
        Err(fault) => says_why(fault),
    }
}

/// A body is accepted or refused in whatever runs it arrives.
pub(super) fn is_same(one: &Result<Decoded, Fault>, other: &Result<Decoded, Fault>) {
    assert_eq!(one, other, "the result depends on the runs in which a body arrives");
}

/// A body that is not as it was signed is refused, or the change was one of form.
pub(super) fn is_refused_or_same(found: &Result<Decoded, Fault>, want: &Decoded) {
    let Ok(found) = found else { return };
    // The signature of trailers is itself one of them, and its digits have two forms.
    let signed = |it: &Decoded| it.1.get("x-amz-meta-a").cloned();
    assert!(found.0 == want.0 && signed(found) == signed(want), "a body that was changed is accepted");
}
