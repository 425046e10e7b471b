//! The samples, each read in its format; the first records were worked out by hand from the lines.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs::File;
use std::path::PathBuf;

use towtank_traces::{Format, IoLayer, Op, Options, Origin, Reader, Record, Stage, When, read_layouts};
use towtank_units::{SimSpan, SimTime};

const ALL: [(&str, Format, usize); 13] = [
    ("pfssim.trace", Format::Pfssim, 12),
    ("pfssim-v0.13.trace", Format::PfssimV013, 11),
    ("msr.csv", Format::Msr, 15),
    ("alibaba.csv", Format::Alibaba, 15),
    ("tencent.csv", Format::Tencent, 15),
    ("systor17.csv", Format::Systor17, 15),
    ("spc.spc", Format::Spc, 15),
    ("ibm-cos.txt", Format::IbmCos, 17),
    ("fio-v2.log", Format::FioV2, 15),
    ("fio-v3.log", Format::FioV3, 13),
    ("blkparse.txt", Format::Blkparse, 5),
    ("dxt.txt", Format::Dxt, 7),
    ("oracle-general.bin", Format::OracleGeneral, 16),
];

fn open(sample: &str) -> File {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("samples").join(sample);
    File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_with(sample: &str, format: Option<Format>, options: Options) -> Vec<Record> {
    let trace = Reader::open(sample, open(sample), format, options).unwrap();
    trace.map(|record| record.unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn read(sample: &str) -> Vec<Record> {
    read_with(sample, None, Options::default())
}

fn at(ns: u64) -> When {
    When::At(SimTime::from_ns(ns))
}

/// A record with only these fields.
fn record(when: When, op: Op) -> Record {
    Record { at: when, stream: None, file: None, offset: None, size: None, op, app: None, response: None }
}

fn bytes(record: Record, offset: u64, size: u64) -> Record {
    Record { offset: Some(offset), size: Some(size), ..record }
}

fn volume(record: Record, number: u64) -> Record {
    Record { stream: Some(number), file: Some(number), ..record }
}

fn took(record: Record, ns: u64) -> Record {
    Record { response: Some(SimSpan::from_ns(ns)), ..record }
}

#[test]
fn each_sample_is_detected_and_read_to_its_end() {
    for (sample, format, count) in ALL {
        let mut trace = Reader::open(sample, open(sample), None, Options::default()).unwrap();
        assert_eq!(trace.format(), format, "{sample}");
        let read =
            trace.by_ref().collect::<Result<Vec<_>, _>>().unwrap_or_else(|error| panic!("{error}")).len();
        assert_eq!(read, count, "{sample}");
        assert_eq!(read_with(sample, Some(format), Options::default()), self::read(sample));
    }
}

#[test]
fn packed_samples_are_the_same() {
    for (packed, plain) in [
        ("msr.csv.gz", "msr.csv"),
        ("alibaba.csv.zst", "alibaba.csv"),
        ("oracle-general.bin.zst", "oracle-general.bin"),
    ] {
        assert_eq!(read(packed), read(plain), "{packed}");
    }
}

#[test]
fn pfssim_has_instants_and_think_times() {
    let of = |when, file, offset, size, op| Record {
        file: Some(file),
        app: Some(0),
        ..bytes(record(when, op), offset, size)
    };
    let found = read("pfssim.trace");
    assert_eq!(found[0], of(at(37_100_000), 0, 0, 1 << 20, Op::Read));
    assert_eq!(found[1], of(When::AfterEnd(SimSpan::ZERO), 0, 1 << 20, 1 << 20, Op::Read));
    assert_eq!(found[9], Record { app: Some(1), ..of(at(1_500_000_000), 1, 0, 4096, Op::Write) });
    assert_eq!(found[10].at, When::AfterEnd(SimSpan::from_us(50)));
    let old = read("pfssim-v0.13.trace");
    let first = Record { app: Some(3), ..bytes(record(at(12_500_000), Op::Write), 0, 262_144) };
    assert_eq!(old[0], first);
    assert_eq!(old[1].at, When::AfterEnd(SimSpan::from_ms(1)));
}

#[test]
fn volumes_count_from_the_first_record() {
    let mut trace = Reader::open("msr.csv", open("msr.csv"), None, Options::default()).unwrap();
    let msr: Vec<Record> = trace.by_ref().map(Result::unwrap).collect();
    assert_eq!(msr[0], took(volume(bytes(record(at(0), Op::Read), 1 << 20, 32_768), 0), 50_000));
    assert_eq!(msr[1], took(volume(bytes(record(at(15_600), Op::Write), 24_576, 4096), 0), 250_000));
    // Earlier than the previous record, which this format allows.
    assert_eq!(msr[2], took(volume(bytes(record(at(11_600), Op::Read), 1 << 31, 4096), 1), 8_100_000));
    assert_eq!(trace.names().name(1).as_deref(), Some("hm_0"));
    assert_eq!(trace.origin(), Some(SimTime::from_ns(128_200_000_000_061_629 * 100)));

    let alibaba = read("alibaba.csv");
    assert_eq!(alibaba[0], volume(bytes(record(at(0), Op::Write), 40_960, 16_384), 31));
    assert_eq!(alibaba[2], volume(bytes(record(at(426_000), Op::Read), 53_687_091_200, 131_072), 62));

    let tencent = read("tencent.csv");
    assert_eq!(tencent[0], volume(bytes(record(at(0), Op::Read), 512_000, 65_536), 11));
    assert_eq!(tencent[1], volume(bytes(record(at(0), Op::Write), 1 << 20, 4096), 12));
    assert_eq!(tencent[2], volume(bytes(record(at(1_000_000_000), Op::Read), 511_999_488, 196_608), 13));

    let systor = read("systor17.csv");
    assert_eq!(systor[0], took(volume(bytes(record(at(0), Op::Write), 512_000, 8192), 6), 512_000));
    assert_eq!(systor[1], took(volume(bytes(record(at(584_250), Op::Read), 1024, 65_536), 4), 1_204_000));
    assert_eq!(systor[2], volume(record(at(983_000), Op::Other), 4));

    let spc = read("spc.spc");
    assert_eq!(spc[0], volume(bytes(record(at(500_000_000), Op::Write), 51_200, 8192), 0));
    assert_eq!(spc[2], volume(bytes(record(at(506_202_000), Op::Write), 1_536_000, 15_872), 1));
}

#[test]
fn objects_may_lack_a_size() {
    let of = |ms: u64, op, file| Record { file: Some(file), ..record(at(ms * 1_000_000), op) };
    let found = read("ibm-cos.txt");
    let want = [
        bytes(of(100, Op::Write, 0xa1), 0, 1000),
        Record { size: Some(640), ..of(2100, Op::Stat, 0xb2) },
        bytes(of(12_500, Op::Read, 0x0123_4567_89ab_cdef), 100, 1000),
        Record { offset: Some(0), ..of(12_501, Op::Read, 0xfedc_ba98_7654_3210) },
        bytes(of(14_000, Op::Read, 0xc3), 0, 0),
        of(14_002, Op::Delete, 0xa1),
        Record { size: Some(640), ..of(15_000, Op::Copy, 0xb2) },
    ];
    assert_eq!(found[..7], want);
    let objects = read("oracle-general.bin");
    let of = |seconds: u64, file, size| Record {
        file: Some(file),
        ..bytes(record(at(seconds * 1_000_000_000), Op::Read), 0, size)
    };
    assert_eq!(objects[0], of(0, 0xfeed_face_cafe_beef, 4096));
    assert_eq!(objects[1], of(0, 7, 65_536));
    assert_eq!(objects[3], of(3, 7, 65_536));
}

#[test]
fn fio_waits_and_names() {
    let mut trace = Reader::open("fio-v2.log", open("fio-v2.log"), None, Options::default()).unwrap();
    let log: Vec<Record> = trace.by_ref().map(Result::unwrap).collect();
    let now = When::AfterEnd(SimSpan::ZERO);
    let of = |when, op, file| Record { file: Some(file), ..record(when, op) };
    let want = [
        of(now, Op::Open, 0),
        of(now, Op::Open, 1),
        bytes(of(now, Op::Read, 0), 0, 4096),
        bytes(of(When::AfterStart(SimSpan::from_ms(2)), Op::Write, 1), 8192, 65_536),
        of(now, Op::Sync, 1),
        bytes(of(now, Op::Trim, 0), 1 << 20, 4096),
    ];
    assert_eq!(log[..6], want);
    assert_eq!((trace.names().len(), trace.names().name(1).as_deref()), (2, Some("/data/b")));

    let log = read("fio-v3.log");
    let want = [
        of(at(3_000), Op::Open, 0),
        bytes(of(at(250_000), Op::Read, 0), 4096, 8192),
        bytes(of(at(1_250_000), Op::Write, 0), 0, 4096),
        of(at(1_251_000), Op::Sync, 0),
    ];
    assert_eq!(log[..4], want);
}

#[test]
fn one_stage_of_the_block_layer_is_read() {
    let (disk, other) = (8 << 20, 8 << 20 | 16);
    let of = |ns, op, pid, file| Record { stream: Some(pid), file: Some(file), ..record(at(ns), op) };
    let read = |stage| read_with("blkparse.txt", None, Options { stage, ..Options::default() });
    let want = [
        bytes(of(561, Op::Write, 7001, disk), 20_480_000 * 512, 4096),
        of(110_000, Op::Sync, 97, disk),
        bytes(of(112_000, Op::Read, 7001, disk), 32_768, 131_072),
        bytes(of(116_000, Op::Trim, 12, disk), 1 << 20, 2 << 20),
        of(118_250, Op::Sync, 7002, other),
    ];
    assert_eq!(read(Stage::Queued), want);
    let times = |stage| read(stage).iter().map(|record| record.at).collect::<Vec<When>>();
    assert_eq!(times(Stage::Issued), [at(8_812), at(115_000)]);
    assert_eq!(times(Stage::Completed), [at(103_400), at(4_150_000)]);
}

#[test]
fn one_layer_of_darshan_is_read() {
    let mut trace = Reader::open("dxt.txt", open("dxt.txt"), None, Options::default()).unwrap();
    let calls: Vec<Record> = trace.by_ref().map(Result::unwrap).collect();
    let of = |ns, op, rank, file| Record { stream: Some(rank), file: Some(file), ..record(at(ns), op) };
    assert_eq!(calls[0], took(bytes(of(2_900_000, Op::Write, 0, 0), 0, 1 << 20), 8_300_000));
    assert_eq!(calls[3], took(bytes(of(500_000_000, Op::Read, 0, 0), 0, 262_144), 400_000));
    // The times of the next rank start again.
    assert_eq!(calls[4], took(bytes(of(3_100_000, Op::Write, 1, 0), 4 << 20, 1 << 20), 11_900_000));
    assert_eq!(calls[6], took(bytes(of(100_000, Op::Read, 1, 1), 0, 812), 0));
    assert_eq!(trace.names().name(0).as_deref(), Some("/scratch/run 1/out"));
    let mpi = read_with("dxt.txt", None, Options { layer: IoLayer::MpiIo, ..Options::default() });
    assert_eq!(mpi, [took(bytes(of(2_800_000, Op::Write, 0, 0), 0, 3_670_016), 30_600_000)]);
}

#[test]
fn the_origin_is_what_was_asked_for() {
    let first = |sample, origin| read_with(sample, None, Options { origin, ..Options::default() })[0].at;
    assert_eq!(first("spc.spc", Origin::Usual), at(500_000_000));
    assert_eq!(first("spc.spc", Origin::FirstRecord), at(0));
    assert_eq!(first("alibaba.csv", Origin::AsWritten), at(1_600_000_000_000_626_000));
    let instant = Origin::At(SimTime::from_ns(1_600_000_000_000_000_000));
    assert_eq!(first("alibaba.csv", instant), at(626_000));
}

#[test]
fn the_layout_of_pfssim_is_read() {
    let layouts = read_layouts("pfssim.layout", open("pfssim.layout")).unwrap();
    let of = |file: u64| -> Vec<(u32, u64)> {
        layouts[&file].stripes.iter().map(|stripe| (stripe.server, stripe.bytes)).collect()
    };
    assert_eq!(layouts.len(), 4);
    assert_eq!(of(1), [(1, 65_536), (2, 65_536), (3, 65_536), (0, 65_536)]);
    assert_eq!(of(2), [(2, 1 << 20), (3, 512 << 10)]);
    assert_eq!(of(3), [(0, 65_536)]);
}
