//! Damaged traces are read or rejected, and never cause a panic: cut anywhere, with bytes changed, duplicated
//! or random.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::PathBuf;

use towtank_traces::{Format, Options, Place, Reader, read_layouts};

/// Pseudo-random numbers, the same each time: a multiplicative generator, for tests only.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("samples");
    let mut samples: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    samples.sort();
    samples
}

/// Reads bytes in a format; errors must have a message and a place within the text.
fn read(bytes: &[u8], format: Option<Format>) {
    let Ok(trace) = Reader::open("trace", bytes, format, Options::default()) else { return };
    for record in trace {
        if let Err(error) = record {
            assert!(!error.reason.is_empty());
            let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
            let packed = bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5]);
            match error.place {
                Place::Line(line) => assert!(line >= 1 && (packed || line <= lines), "{error}"),
                Place::Byte(at) => assert!(packed || at < bytes.len() as u64, "{error}"),
                Place::File => {}
            }
        }
    }
}

#[test]
fn tens_of_thousands_of_mutations_never_panic() {
    let samples = samples();
    assert!(samples.len() >= 16, "{} samples", samples.len());
    let mut numbers = Numbers(7);
    for round in 0..40_000 {
        let (_, sample) = &samples[numbers.below(samples.len())];
        let mut bytes = sample.clone();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
            match numbers.below(5) {
                0 => bytes.truncate(at),
                1 if !bytes.is_empty() => bytes[at] = numbers.below(256) as u8,
                2 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.below(8),
                3 => {
                    let digits = b"99999999999999999999-,. \n\t[]e0";
                    let from = numbers.below(digits.len());
                    bytes.splice(at..at, digits[from..].iter().copied().take(25));
                }
                _ => {
                    let end = (at + numbers.below(80)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        let format = Format::ALL.get(numbers.below(Format::ALL.len() + 4)).copied();
        read(&bytes, format);
        if round % 8 == 0 {
            let _ = read_layouts("layout", &bytes[..]);
        }
    }
}

#[test]
fn each_cut_of_each_sample_is_read_or_refused() {
    for (name, sample) in samples() {
        for cut in 0..sample.len() {
            read(&sample[..cut], None);
        }
        // A cut within a record of a binary trace is reported with its place.
        if name == "oracle-general.bin" {
            let cut = &sample[..sample.len() - 1];
            let last =
                Reader::open("trace", cut, Some(Format::OracleGeneral), Options::default()).unwrap().last();
            let error = last.unwrap().unwrap_err();
            let want = "`trace`, byte 360: it ends after 23 of the 24 bytes of a record";
            assert_eq!(error.to_string(), want);
        }
    }
}

#[test]
fn a_packed_trace_that_is_damaged_says_so() {
    for (name, by) in [("msr.csv.gz", "gzip"), ("alibaba.csv.zst", "zstd")] {
        let (_, sample) = samples().into_iter().find(|(found, _)| found == name).unwrap();
        let cut = &sample[..sample.len() / 2];
        let last = Reader::open("trace", cut, Some(Format::Msr), Options::default()).unwrap().last();
        let error = last.unwrap().unwrap_err();
        assert!(error.reason.starts_with(&format!("decompressing it with {by} fails")), "{error}");
        assert_eq!(error.hint.as_deref(), Some("copy or compress it again"));
    }
}
