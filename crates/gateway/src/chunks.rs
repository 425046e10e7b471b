//! Bodies in S3's own chunk encoding (`aws-chunked`): lengths and signatures between the bytes, and trailing
//! headers.
//!
//! A chunk is `LENGTH[;chunk-signature=SIGNATURE]\r\n`, the bytes, and `\r\n`; the last chunk is empty.
//! Trailing headers, if any, are between the last chunk's first line and an empty line. The bytes of a chunk
//! are passed on before its signature has been checked: the receiver must not act on them before the end.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};

use crate::fault::{Code, Fault};
use crate::signature::Seed;
use crate::source::Source;

/// The longest line between chunks.
pub(crate) const LINE_MAX: usize = 1 << 10;

/// The most headers after the last chunk.
const TRAILERS_MAX: usize = 8;

enum State {
    /// Expects a line with a length.
    Line,
    /// Expects this many more bytes of the chunk.
    Data { left: u64 },
    /// Expects the line end after the chunk's bytes.
    DataEnd,
    /// Expects trailing headers.
    Trailer,
    /// Expects nothing more.
    End,
}

/// Decodes a body in chunks.
pub struct Chunks<S> {
    source: S,
    buffer: BytesMut,
    state: State,
    seed: Option<Seed>,
    /// The chunk's claimed signature, and the digest of its bytes so far.
    claimed: Option<(String, Sha256)>,
    has_trailer: bool,
    trailers: BTreeMap<String, String>,
    /// The trailing headers in the form that is signed.
    signed: String,
}

fn malformed(what: &str) -> Fault {
    Code::InvalidRequest.because(format!("the body's chunks are malformed: {what}"))
}

impl<S: Source> Chunks<S> {
    /// A decoder of a body. With a seed, each chunk must be signed.
    pub fn new(source: S, seed: Option<Seed>, has_trailer: bool) -> Chunks<S> {
        Chunks {
            source,
            buffer: BytesMut::new(),
            state: State::Line,
            seed,
            claimed: None,
            has_trailer,
            trailers: BTreeMap::new(),
            signed: String::new(),
        }
    }

    /// Reads more bytes of the body; false at its end.
    fn fill(&mut self) -> Result<bool, Fault> {
        let Some(run) = self.source.next()? else { return Ok(false) };
        self.buffer.extend_from_slice(&run);
        Ok(true)
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<String, Fault> {
        loop {
            let end = self.buffer.windows(2).position(|two| two == b"\r\n");
            // Whether a line is too long does not depend on the runs in which it arrives.
            if end.unwrap_or(self.buffer.len().saturating_sub(1)) > LINE_MAX {
                return Err(malformed("a line is too long"));
            }
            if let Some(at) = end {
                let line = self.buffer.split_to(at + 2);
                let line = std::str::from_utf8(&line[..at]).map_err(|_| malformed("a line is not UTF-8"))?;
                return Ok(line.to_owned());
            }
            if !self.fill()? {
                return Err(Code::IncompleteBody.because("the body ends before its last chunk"));
            }
        }
    }

    /// The bytes that have been read and not yet passed on.
    pub(crate) fn waiting(&self) -> usize {
        self.buffer.len()
    }

    /// All trailing headers.
    pub(crate) fn trailers(&self) -> &BTreeMap<String, String> {
        &self.trailers
    }

    fn begin_chunk(&mut self) -> Result<(), Fault> {
        let line = self.line()?;
        let (length, extension) = line.split_once(';').unwrap_or((&line, ""));
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_hexdigit());
        let left = u64::from_str_radix(length, 16).ok().filter(|_| is_number);
        let left = left.ok_or_else(|| malformed("a length is not hex"))?;
        if self.seed.is_some() {
            let signature = extension.strip_prefix("chunk-signature=");
            let signature = signature.ok_or_else(|| malformed("a chunk is not signed"))?;
            self.claimed = Some((signature.to_owned(), Sha256::new()));
        }
        self.state = if left > 0 { State::Data { left } } else { self.end_chunk()? };
        Ok(())
    }

    /// The state after a chunk that is complete; fails if its signature is wrong.
    fn end_chunk(&mut self) -> Result<State, Fault> {
        let is_last = !matches!(self.state, State::Data { .. });
        if let (Some(seed), Some((signature, digest))) = (&mut self.seed, self.claimed.take()) {
            seed.take_chunk(&signature, &digest.finalize())?;
        }
        Ok(match (is_last, self.has_trailer) {
            (false, _) => State::DataEnd,
            (true, true) => State::Trailer,
            (true, false) => {
                self.expect_end()?;
                State::End
            }
        })
    }

    /// An empty line follows the last chunk; some clients leave it out, and nothing else may follow.
    fn expect_end(&mut self) -> Result<(), Fault> {
        loop {
            if !b"\r\n".starts_with(&self.buffer) {
                return Err(malformed("data follows the last chunk"));
            }
            if !self.fill()? {
                return match self.buffer.len() {
                    1 => Err(malformed("data follows the last chunk")),
                    _ => Ok(()),
                };
            }
        }
    }

    fn take_trailers(&mut self) -> Result<(), Fault> {
        for _ in 0..=TRAILERS_MAX {
            let line = match self.line() {
                // The empty line after the headers may be missing.
                Err(fault) if fault.code == Code::IncompleteBody && self.buffer.is_empty() => String::new(),
                line => line?,
            };
            if line.is_empty() {
                return self.end_trailers();
            }
            // One client puts a line feed at the end of a header, before the line end.
            let (name, value) = line
                .trim_end_matches('\n')
                .split_once(':')
                .ok_or_else(|| malformed("a trailer has no `:`"))?;
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
            if name != "x-amz-trailer-signature" {
                self.signed += &format!("{name}:{value}\n");
            }
            self.trailers.insert(name, value);
        }
        Err(malformed("there are too many trailers"))
    }

    fn end_trailers(&mut self) -> Result<(), Fault> {
        if let Some(seed) = &mut self.seed {
            let signature = self.trailers.get("x-amz-trailer-signature");
            let signature = signature.ok_or_else(|| malformed("the trailers are not signed"))?;
            seed.take_trailer(signature, &Sha256::digest(&self.signed))?;
        }
        self.expect_end()?;
        self.state = State::End;
        Ok(())
    }
}

impl<S: Source> Source for Chunks<S> {
    fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            match self.state {
                State::Line => self.begin_chunk()?,
                State::Data { left: 0 } => self.state = self.end_chunk()?,
                State::Data { left } => {
                    if self.buffer.is_empty() && !self.fill()? {
                        return Err(Code::IncompleteBody.because("the body ends inside a chunk"));
                    }
                    let length = left.min(self.buffer.len() as u64);
                    let run = self.buffer.split_to(length as usize).freeze();
                    if let Some((_, digest)) = &mut self.claimed {
                        digest.update(&run);
                    }
                    self.state = State::Data { left: left - length };
                    return Ok(Some(run));
                }
                State::DataEnd => {
                    if !self.line()?.is_empty() {
                        return Err(malformed("a chunk is longer than its length"));
                    }
                    self.state = State::Line;
                }
                State::Trailer => self.take_trailers()?,
                State::End => return Ok(None),
            }
        }
    }

    fn trailing(&self) -> Vec<&str> {
        self.trailers.keys().map(String::as_str).collect()
    }

    fn trailer(&self, name: &str) -> Option<&str> {
        self.trailers.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::Runs;

    /// The decoded bytes and a trailer of an unsigned body that arrives in runs of `run` bytes.
    fn read(body: &[u8], run: usize, has_trailer: bool) -> Result<(Vec<u8>, Option<String>), Fault> {
        let runs = body.chunks(run).map(Bytes::copy_from_slice).collect();
        let mut chunks = Chunks::new(Runs(runs), None, has_trailer);
        let mut all = Vec::new();
        while let Some(run) = chunks.next()? {
            assert!(!run.is_empty());
            all.extend_from_slice(&run);
        }
        Ok((all, chunks.trailer("x-amz-checksum-crc32").map(str::to_owned)))
    }

    #[test]
    fn bodies_are_read_however_they_are_cut() {
        let body = b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nx-amz-checksum-crc32: abcd\r\n\r\n";
        for run in 1..body.len() {
            let (all, trailer) = read(body, run, true).expect("it is well formed");
            assert_eq!((&all[..], trailer.as_deref()), (&b"abc0123456789"[..], Some("abcd")), "{run}");
        }
        for plain in [&b"1\r\na\r\n0\r\n\r\n"[..], b"1\r\na\r\n0\r\n"] {
            assert_eq!(read(plain, 2, false), Ok((b"a".to_vec(), None)));
        }
        assert_eq!(
            read(b"0\r\nx-amz-checksum-crc32:a\n\r\n", 9, true),
            Ok((Vec::new(), Some("a".to_owned())))
        );
    }

    #[test]
    fn malformed_bodies_are_refused() {
        for (body, want) in [
            (&b""[..], Code::IncompleteBody),
            (b"3\r\nab", Code::IncompleteBody),
            (b"3\r\nabc\r\n", Code::IncompleteBody),
            (b"3\r\nabcd\r\n0\r\n\r\n", Code::InvalidRequest),
            (b"x\r\n", Code::InvalidRequest),
            (b"-1\r\n", Code::InvalidRequest),
            (b"\r\n\r\n", Code::InvalidRequest),
            (b"11111111111111111\r\n", Code::InvalidRequest),
            (b"0\r\n\r\nmore", Code::InvalidRequest),
            (&[b'1'; 2 * LINE_MAX], Code::InvalidRequest),
        ] {
            let found = read(body, 7, false).map_err(|fault| fault.code);
            assert_eq!(found, Err(want), "{}", String::from_utf8_lossy(body));
        }
        for more in ["x", "\r\nx", "\r"] {
            let found = read(format!("0\r\na:b\r\n\r\n{more}").as_bytes(), 7, true);
            assert_eq!(
                found.map_err(|fault| fault.code),
                Err(Code::InvalidRequest),
                "{more:?} after trailers"
            );
        }
        let many = format!("0\r\n{}\r\n", "a:b\r\n".repeat(TRAILERS_MAX + 1));
        assert!(read(many.as_bytes(), 7, true).is_err());
    }

    /// What follows the last chunk was read to its end and kept before it was refused.
    #[test]
    fn data_after_the_last_chunk_is_not_kept() {
        let body = [&b"0\r\n\r\n"[..], &[b'x'; 10_000]].concat();
        for has_trailer in [false, true] {
            let mut chunks = Chunks::new(Runs::of(&body, 10), None, has_trailer);
            assert!(chunks.next().is_err_and(|fault| fault.code == Code::InvalidRequest));
            assert!(chunks.waiting() <= 20, "{} bytes are kept", chunks.waiting());
        }
    }

    /// A line longer than the limit was accepted where it arrived in one run.
    #[test]
    fn the_limit_of_a_line_does_not_depend_on_runs() {
        for (length, want) in [(LINE_MAX, Ok(())), (LINE_MAX + 1, Err(Code::InvalidRequest))] {
            let body = format!("0;{}\r\n\r\n", "x".repeat(length - 2));
            for run in [1, 7, 1_024, 1_025, 1_026, 1_027, 5_000] {
                let found = read(body.as_bytes(), run, false).map(|_| ()).map_err(|fault| fault.code);
                assert_eq!(found, want, "{length} bytes in runs of {run}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_cut_into_chunks_is_the_whole(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
            run in 1..50_usize,
        ) {
            let mut body = Vec::new();
            for part in &parts {
                body.extend(format!("{:x}\r\n", part.len()).into_bytes());
                body.extend(part);
                body.extend(b"\r\n");
            }
            body.extend(b"0\r\n\r\n");
            prop_assert_eq!(read(&body, run, false), Ok((parts.concat(), None)));
        }

        #[test]
        fn hostile_bytes_end(body in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'1'), any::<u8>()], 0..60), run in 1..9_usize) {
            let _ = read(&body, run, true);
        }
    }
}
