//! What is written in a format is read back from it; errors name their line.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::written::{drawn, write};
use proptest::prelude::*;
use proptest::sample::select;
use towtank_traces::{Format, Options, Order, Origin, Place, Reader, Record, TraceError};

const WRITTEN: Options = Options {
    origin: Origin::AsWritten,
    order: Order::Usual,
    stage: towtank_traces::Stage::Queued,
    layer: towtank_traces::IoLayer::Posix,
};

fn read(bytes: &[u8], format: Option<Format>, options: Options) -> Result<Vec<Record>, TraceError> {
    Reader::open("trace", bytes, format, options)?.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_is_read(format in select(&Format::ALL[..]), drawn in drawn()) {
        let written = write(format, &drawn);
        prop_assert_eq!(written.format, format);
        let found = read(&written.bytes, Some(format), WRITTEN);
        prop_assert_eq!(found.as_ref(), Ok(&written.records));
        let detected = read(&written.bytes, None, WRITTEN);
        prop_assert_eq!(detected.as_ref(), Ok(&written.records));
    }

    #[test]
    fn a_planted_line_is_reported_with_its_number(
        format in select(&Format::ALL[..]),
        drawn in drawn(),
        at in any::<prop::sample::Index>(),
    ) {
        let written = write(format, &drawn);
        let at = at.index(written.records.len());
        let place = written.places[at];
        let mut bytes = written.bytes;
        let (want, options) = if format.is_text() {
            // A line that is invalid in every format replaces a valid one.
            let start = line_start(&bytes, place);
            bytes.splice(start..start, *b"-1,=,-3,x ");
            (Place::Line(place), WRITTEN)
        } else {
            // A time before that of the previous record.
            bytes[place as usize..][..4].fill(if at == 0 { 0xff } else { 0 });
            prop_assume!(at > 0 && bytes[..place as usize][(at - 1) * 24..][..4] != [0; 4]);
            (Place::Byte(place), Options { order: Order::Rising, ..WRITTEN })
        };
        let error = read(&bytes, Some(format), options).unwrap_err();
        prop_assert_eq!(error.place, want, "{}", error);
        prop_assert!(error.to_string().starts_with("`trace`, "), "{}", error);
    }

    #[test]
    fn a_line_before_the_last_is_reported_where_times_rise(
        format in select(&Format::ALL[..]),
        drawn in drawn(),
    ) {
        prop_assume!(format != Format::FioV2 && drawn.len() > 1);
        let mut written = write(format, &drawn);
        let rising = Options { order: Order::Rising, ..WRITTEN };
        let any = Options { order: Order::Any, ..WRITTEN };
        let whole = read(&written.bytes, Some(format), rising);
        prop_assert!(whole.is_ok());
        // The first record again at the end, with the lines that belong to it.
        let end = if format.is_text() { line_start(&written.bytes, written.places[0] + 1) } else { 24 };
        let start = if format.is_text() { line_start(&written.bytes, written.places[0]) } else { 0 };
        let first = written.bytes[start..end].to_vec();
        written.bytes.extend_from_slice(&first);
        let instants: Vec<_> = written.records.iter().map(|record| record.at).collect();
        let instant = |when: &towtank_traces::When| matches!(when, towtank_traces::When::At(_));
        let last = instants.iter().rfind(|when| instant(when));
        let falls = instant(&instants[0]) && last != Some(&instants[0]);
        let strict = read(&written.bytes, Some(format), rising);
        prop_assert_eq!(strict.is_err(), falls);
        let usual = read(&written.bytes, Some(format), WRITTEN);
        prop_assert_eq!(usual.is_err(), falls && !format.may_go_back());
        let lenient = read(&written.bytes, Some(format), any);
        prop_assert!(lenient.is_ok());
    }
}

/// The start of a line, counted from 1.
fn line_start(bytes: &[u8], line: u64) -> usize {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).nth(line as usize - 1).unwrap()
}

/// A trace is rejected with this message and this hint.
fn check(format: Format, text: &str, want: &str, hint: &str) {
    let error = read(text.as_bytes(), Some(format), Options::default()).unwrap_err();
    assert_eq!(error.to_string(), want);
    let found = error.hint.unwrap_or_default();
    assert!(found.contains(hint) && found.is_empty() == hint.is_empty(), "{found}");
}

#[test]
fn each_fault_of_a_volume_is_reported_with_its_limit_and_what_to_do() {
    check(Format::Msr, "1,a,0,Read,-5,1,1", "`trace`, line 1: `Offset` is -5, but must be 0 or more", "");
    check(
        Format::Alibaba,
        "1,R,0,1,5\n1,X,0,1,6",
        "`trace`, line 2: `opcode` is `X`, but must be `R` or `W`",
        "",
    );
    check(
        Format::Alibaba,
        "1,R,18446744073709551615,1,5",
        "`trace`, line 1: 1 bytes from 18446744073709551615 on end beyond 18446744073709551615, the limit of 64 bits",
        "damaged",
    );
    check(
        Format::Tencent,
        "1,36028797018963968,1,0,1",
        "`trace`, line 1: `Offset` is 36028797018963968, but must be at most 36028797018963967, so that 512 times it fits in 64 bits",
        "",
    );
    check(
        Format::Spc,
        "0,1,512,R,2.5\n0,1,512,R,2.25",
        "`trace`, line 2: its time is 250ms before that of the previous record, but times of this format never decrease",
        "sort the trace",
    );
    check(
        Format::Alibaba,
        "1,R,0,1,5\n1,W,0,1,4",
        "`trace`, line 2: its time is 1us before the origin of the times",
        "earlier origin",
    );
    check(
        Format::Tencent,
        "1,2,3,0",
        "`trace`, line 1: it has 4 of 5 columns: `VolumeID` is missing",
        "a line of this format is `Timestamp,Offset,Size,IOType,VolumeID`",
    );
}

#[test]
fn each_fault_of_a_log_is_reported_with_what_to_do() {
    check(
        Format::FioV3,
        "fio version 2 iolog\n",
        "`trace`, line 1: the first line is not `fio version 3 iolog`",
        "give the version",
    );
    check(
        Format::Dxt,
        "# darshan log version: 3.41\n X_POSIX 0 write 0 0 5 0.1 0.2",
        "`trace`, line 2: no line before it names a file",
        "# DXT",
    );
    check(
        Format::Dxt,
        "# DXT, file_id: 1, file_name: a\n X_POSIX 0 write 0 0 5 0.2 0.1",
        "`trace`, line 2: `End(s)` is `0.1`, but must be an end that is not before the start",
        "",
    );
    check(
        Format::IbmCos,
        "1 REST.GET.OBJECT 00ff 10 7 5",
        "`trace`, line 1: `end` is `5`, but must be the last byte of a range that starts at 7",
        "",
    );
    check(
        Format::Blkparse,
        "sda 0 1 0.1 5 Q R 1 + 8 [a]",
        "`trace`, line 1: `maj,min` is `sda`, but must be a device, as in `8,0`",
        "default format",
    );
    check(Format::Pfssim, "0.5 1 0 4096 2 0 0", "`trace`, line 1: `read` is `2`, but must be 0 or 1", "");
}

#[test]
fn a_format_that_nobody_knows_is_refused_with_a_list() {
    for text in ["hello\n", "1 2 3\n", "a,b,c,d,e\n1,2,3,4,5\n", "\u{1}\u{2}\u{3}"] {
        let error = read(text.as_bytes(), None, Options::default()).unwrap_err();
        assert!(error.reason.starts_with("it matches no known format: "), "{error}");
        assert!(Format::ALL.iter().all(|format| error.reason.contains(&format!("`{format}`"))), "{error}");
    }
    let heading = read(b"Timestamp,Offset\n", None, Options::default()).unwrap_err();
    assert_eq!(heading.reason, "it may be any of `msr`, `tencent`, `systor17`");
    assert_eq!(heading.hint.as_deref(), Some("give its format"));
    let empty = read(b" \n\n", None, Options::default()).unwrap_err();
    assert_eq!(empty.to_string(), "`trace`: it is empty");
    assert_eq!(Format::detect(b"1,R,2,3,4\n1,R,2,", false), Ok(Format::Alibaba));
}

#[test]
fn an_archive_is_distinguished_from_a_trace() {
    let hint = |head: &[u8]| read(head, None, Options::default()).unwrap_err().hint.unwrap_or_default();
    let mut archive = vec![0; 512];
    archive[..9].copy_from_slice(b"trace.csv");
    archive[257..262].copy_from_slice(b"ustar");
    assert!(hint(&archive).starts_with("it is a tar archive"));
    assert!(hint(b"\xfd7zXZ\0\0\0").contains("`xz -d`"));
    assert!(hint(b"BZh91AY&SY").contains("`bzip2 -d`"));
    assert!(hint(b"hello").contains("give its format"));
    // A binary trace that begins like gzip is read, because its fourth byte is not valid in gzip.
    let record = [&[0x1f, 0x8b, 8, 0x60][..], &[7; 8], &[0, 16, 0, 0], &[0xff; 8]].concat();
    let found = read(&record, None, WRITTEN).unwrap();
    assert_eq!((found.len(), found[0].size), (1, Some(4096)));
}

#[test]
fn nothing_comes_after_an_error() {
    let text = "1,R,0,1,5\nbad\n1,R,0,1,6\n";
    let mut trace = Reader::open("trace", text.as_bytes(), Some(Format::Alibaba), WRITTEN).unwrap();
    assert!(trace.next().is_some_and(|record| record.is_ok()));
    assert!(trace.next().is_some_and(|record| record.is_err()));
    assert!(trace.next().is_none());
}

#[test]
fn a_mark_of_byte_order_and_other_line_ends_are_read() {
    let text = "\u{feff}1,R,0,1,5\r\n\r\n1,R,0,1,6";
    assert_eq!(read(text.as_bytes(), None, WRITTEN).map(|records| records.len()), Ok(2));
}
