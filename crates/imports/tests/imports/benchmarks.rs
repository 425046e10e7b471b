//! Results of benchmarks as their tools write them: what is read, and what is rejected with file, key and
//! hint.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::PathBuf;

use insta::assert_snapshot;
use proptest::prelude::*;
use towtank_imports::File;
use towtank_imports::iops::{Reading, read};

const SAMPLES: [&str; 11] = [
    "fio_rbd_4k_r100.json",
    "fio_rbd_4k_r0.json",
    "fio_rbd_4k_r50.json",
    "fio_rbd_bssplit.json",
    "fio_rbd_two_jobs.json",
    "rados_bench.txt",
    "rados_bench_read.json",
    "cosbench.csv",
    "elbencho.csv",
    "warp_analyze.csv",
    "warp_record.csv",
];

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/benchmarks").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn line(reading: &Reading) -> String {
    let parts: Vec<String> = reading
        .parts
        .iter()
        .map(|part| format!("{}:{}%:r{}", part.size_bytes, part.share_percent, part.read_percent))
        .collect();
    let system = reading.system.as_deref().map(|name| format!("{name} ")).unwrap_or_default();
    let shares = if parts.len() == 1 { String::new() } else { format!(" {:?}", reading.shares) };
    format!("{}: {system}{}{shares} {:.3}/s", reading.place, parts.join(" + "), reading.iops)
}

/// What is read from a text, or the error.
fn summary(name: &str, bytes: &[u8]) -> String {
    match read(File { name, bytes }) {
        Ok(read) => {
            let notes = read.notes.iter().map(|note| format!("note: {note}"));
            read.value.iter().map(line).chain(notes).collect::<Vec<_>>().join("\n")
        }
        Err(error) => match &error.hint {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        },
    }
}

fn summary_of_sample(name: &str) -> String {
    summary(name, &sample(name))
}

fn summary_of_text(text: &str) -> String {
    summary("runs.csv", text.as_bytes())
}

/// A sample with `from` replaced by `to`.
fn changed(name: &str, from: &str, to: &str) -> String {
    let text = String::from_utf8(sample(name)).unwrap();
    assert!(text.contains(from), "{name} has no {from}");
    summary(name, text.replace(from, to).as_bytes())
}

#[test]
fn fio_runs_are_read() {
    assert_snapshot!(summary_of_sample("fio_rbd_4k_r100.json"), @"jobs[0]: 4096:100%:r100 13072.428/s");
    assert_snapshot!(summary_of_sample("fio_rbd_4k_r0.json"), @"jobs[0]: 4096:100%:r0 1924.878/s");
    assert_snapshot!(summary_of_sample("fio_rbd_4k_r50.json"), @"jobs[0]: 4096:100%:r50 2970.458/s");
    assert_snapshot!(summary_of_sample("fio_rbd_bssplit.json"), @"jobs[0]: 16384:50%:r50 + 262144:50%:r50 Operations 943.273/s");
    assert_snapshot!(summary_of_sample("fio_rbd_two_jobs.json"), @"jobs[0]: 16384:50%:r50 + 262144:50%:r50 Concurrency 728.214/s");
}

/// Jobs of fio: their options, and the IOPS of reads and writes of 4 KiB.
fn fio(global: &str, jobs: &[(u64, &str, f64, f64)]) -> String {
    let count = |iops: f64| {
        format!(
            "{{\"iops\":{iops},\"runtime\":10000,\"total_ios\":{},\"io_bytes\":{}}}",
            iops * 10.0,
            iops * 40_960.0
        )
    };
    let job = |(group, options, reads, writes): &(u64, &str, f64, f64)| {
        format!(
            "{{\"jobname\":\"j\",\"groupid\":{group},\"error\":0,\"job options\":{{{options}}},\"read\":{},\"write\":{}}}",
            count(*reads),
            count(*writes)
        )
    };
    let jobs: Vec<String> = jobs.iter().map(job).collect();
    let text = format!(
        "fio: a warning\n{{\"fio version\":\"fio-3.33\",\"global options\":{{{global}}},\"jobs\":[{}]}}",
        jobs.join(",")
    );
    summary("out.json", text.as_bytes())
}

#[test]
fn jobs_side_by_side_are_one_run_and_jobs_in_turn_are_several() {
    let deep = "\"bs\":\"4k\",\"iodepth\":\"16\"";
    assert_snapshot!(fio(deep, &[(0, "", 100.0, 0.0), (0, "", 110.0, 0.0)]), @"jobs[0]: 4096:100%:r100 210.000/s");
    assert_snapshot!(fio(deep, &[(0, "\"rw\":\"read\"", 100.0, 0.0), (0, "\"rw\":\"write\"", 0.0, 50.0)]), @"jobs[0]: 4096:100%:r67 150.000/s");
    assert_snapshot!(fio(deep, &[(0, "\"stonewall\":\"\"", 100.0, 0.0), (1, "\"stonewall\":\"\"", 0.0, 50.0)]), @r"
    jobs[0]: 4096:100%:r100 100.000/s
    jobs[1]: 4096:100%:r0 50.000/s
    ");
    assert_snapshot!(fio(deep, &[(0, "", 100.0, 0.0), (1, "\"new_group\":\"1\"", 0.0, 50.0)]), @"jobs[0]: 4096:100%:r67 150.000/s");
    assert_snapshot!(fio("\"bs\":\"4k\"", &[(0, "\"rwmixread\":\"70\"", 71.0, 29.0)]), @r"
    jobs[0]: 4096:100%:r70 100.000/s
    note: `out.json`: jobs[0]: one operation at a time shows the latency of the system, not its capacity
    ");
}

#[test]
fn fio_jobs_that_say_nothing_are_refused() {
    assert_snapshot!(changed("fio_rbd_4k_r100.json", "\"error\" : 0", "\"error\" : 5"), @r"
    `fio_rbd_4k_r100.json`: `jobs[0].error`: job `m` had errors: 5
    hint: fix the cause and measure again
    ");
    assert_snapshot!(changed("fio_rbd_4k_r100.json", "\"iodepth\" : \"16\"", "\"iodepth\" : \"16\", \"rate_iops\" : \"500\""), @r"
    `fio_rbd_4k_r100.json`: `jobs[0].job options.rate_iops`: job `m` had a limit, rate_iops=500, so it does not show the capacity of the system
    hint: measure without it, with the queue kept full
    ");
    assert_snapshot!(fio("\"thinktime\":\"100\"", &[(0, "", 100.0, 0.0)]), @r"
    `out.json`: `jobs[0].job options.thinktime`: job `j` had a limit, thinktime=100, so it does not show the capacity of the system
    hint: measure without it, with the queue kept full
    ");
    assert_snapshot!(fio("\"bs\":\"4k\"", &[(0, "", 0.0, 0.0)]), @r"
    `out.json`: `jobs[0].read.iops`: job `j` did no I/O: reads and writes are zero
    hint: leave the job out, or find out why it did no I/O
    ");
    // A former fault: this job was said to have done no I/O.
    let missing =
        r#"{"jobs":[{"jobname":"m","read":{"total_ios":117678,"io_bytes":482009088},"write":{"iops":0.0}}]}"#;
    assert_snapshot!(summary("out.json", missing.as_bytes()), @"
    `out.json`: `jobs[0].read.iops`: the key is missing, or is no number; job `m` counts 117678 operations there
    hint: name the output of `fio --output-format=json` as fio wrote it
    ");
    assert_snapshot!(summary("out.json", missing.replace("\"total_ios", "\"iops\":nan,\"total_ios").as_bytes()), @"
    `out.json`: `jobs[0].read.iops`: the key is missing, or is no number; job `m` counts 117678 operations there
    hint: name the output of `fio --output-format=json` as fio wrote it
    ");
    assert_snapshot!(summary("out.json", b"{\"jobs\":[{\"jobname\":\"m\"}]}"), @"
    `out.json`: `jobs[0].read`: job `m` has neither `read` nor `write`
    hint: name the output of `fio --output-format=json` as fio wrote it
    ");
    assert_snapshot!(fio("\"bs\":\"64k\"", &[(0, "", 100.0, 0.0)]), @r"
    `out.json`: `jobs[0].read.io_bytes`: job `j` moved 4096 bytes per operation, but its options say 65536
    hint: `group_reporting` merges jobs of several sizes into one: leave it out
    ");
    assert_snapshot!(fio("\"bsrange\":\"4k-64k\"", &[(0, "", 100.0, 0.0)]), @r"
    `out.json`: `jobs[0].job options.bsrange`: sizes were drawn from the range 4k-64k
    hint: measure size by size, or with `bssplit`
    ");
    assert_snapshot!(fio("\"bs\":\"four\"", &[(0, "", 100.0, 0.0)]), @r"
    `out.json`: `jobs[0].job options.bs`: `four` is not a size
    hint: write it as 4k or 4096
    ");
    assert_snapshot!(summary("out.json", b"{\"jobs\":[{\"read\":{\"iops\":\"many\"}}]}"), @r#"
    `out.json`: `jobs[0].read.iops`: invalid type: string "many", expected f64 (line 1, column 31)
    hint: it should be the output of `fio --output-format=json`
    "#);
    assert_snapshot!(summary("out.json", b"{\"jobs\":[]}"), @r"
    `out.json`: it contains no run of reads or writes
    hint: name the result file of a benchmark that read or wrote
    ");
    assert_snapshot!(summary("out.json", b"{\"a\":1}"), @r"
    `out.json`: this JSON is neither fio's nor that of rados bench
    hint: fio writes it with `--output-format=json`, rados bench with `--format json`
    ");
}

#[test]
fn the_other_tools_are_read() {
    assert_snapshot!(summary_of_sample("rados_bench.txt"), @r"
    line 7: 4194304:100%:r0 40.000/s
    line 27: 4194304:100%:r100 100.000/s
    ");
    assert_snapshot!(summary_of_sample("rados_bench_read.json"), @"total_time_run: 4194304:100%:r100 100.000/s");
    assert_snapshot!(summary_of_sample("cosbench.csv"), @r"
    line 4: 16384:100%:r100 3000.500/s
    line 5: 16384:100%:r0 1200.250/s
    line 6: 16384:100%:r70 1830.000/s
    ");
    assert_snapshot!(summary_of_sample("elbencho.csv"), @r"
    line 3: 65536:100%:r0 2941.000/s
    line 4: 65536:100%:r100 9048.000/s
    line 5: 65536:100%:r30 3714.000/s
    ");
    assert_snapshot!(summary_of_sample("warp_analyze.csv"), @r"
    line 2: 4194304:100%:r80 500.000/s
    note: `warp_analyze.csv`: bytes: 4194290 bytes per operation are taken as 4194304
    ");
    assert_snapshot!(summary_of_sample("warp_record.csv"), @"line 2: 1048576:100%:r100 9.750/s");
}

#[test]
fn the_other_tools_runs_that_say_nothing_are_refused() {
    assert_snapshot!(changed("rados_bench.txt", "Total writes made:      410", "Total writes made:      0"), @"`rados_bench.txt`: `line 7`: nothing was read or written in this run");
    assert_snapshot!(changed("rados_bench.txt", "Read size:            4194304\n", ""), @r"
    `rados_bench.txt`: `line 27`: the totals of the run are incomplete
    hint: keep everything that rados bench prints, down to `Min latency`
    ");
    assert_snapshot!(changed("rados_bench.txt", "hints = 1\n", "read got -2\n"), @r"
    `rados_bench.txt`: `line 1`: the run had errors: `read got -2`
    hint: fix the cause and measure again
    ");
    assert_snapshot!(changed("rados_bench_read.json", "\"2010\"", "\"many\""), @r#"
    `rados_bench_read.json`: `total_reads_made`: "many" is not a number
    "#);
    assert_snapshot!(changed("cosbench.csv", "49160192,100%", "49160192,98.5%"), @r"
    `cosbench.csv`: `line 4, Succ-Ratio`: `98.5%` of the operations of stage `s3-reads` succeeded; runs with errors are not usable
    hint: fix the cause and measure again
    ");
    assert_snapshot!(changed("cosbench.csv", "49160192,100%,completed", "49160192,100%,terminated"), @r"
    `cosbench.csv`: `line 4, Status`: stage `s3-reads` is `terminated`, not completed
    hint: measure again until its end
    ");
    assert_snapshot!(changed("cosbench.csv", "s3-reads,read,read", "s3-reads,list,list"), @r"
    `cosbench.csv`: `line 4, Op-Type`: stage `s3-reads` has operations of type `list`, but a capacity is defined for reads and writes only
    hint: measure a stage that reads and writes only
    ");
    assert_snapshot!(changed("elbencho.csv", "\"-r\"", "\"-r\" \"--limitread\" \"1G\""), @r#"
    `elbencho.csv`: `line 4, command`: the run had a rate limit, `"--limitread"`, so it does not show the capacity of the system
    hint: measure without a limit
    "#);
    assert_snapshot!(changed("elbencho.csv", "9673,9048", "9673,"), @"`elbencho.csv`: `line 4, IOPS [last]`: it is empty");
    assert_snapshot!(changed("warp_analyze.csv", "400\t400\t0\t", "400\t400\t3\t"), @r"
    `warp_analyze.csv`: `line 2, errors`: 3 operations failed
    hint: fix the cause and measure again
    ");
    assert_snapshot!(changed("warp_record.csv", "\tGET\t", "\tSTAT\t"), @r"
    `warp_record.csv`: `line 6, op`: there are operations of type STAT, but a capacity is defined for GET and PUT only
    hint: measure with `warp get`, `warp put`, or `warp mixed --stat-distrib 0 --delete-distrib 0`
    ");
    assert_snapshot!(changed("warp_record.csv", "p3.rnd\t\t2024-05-21T10:00:00", "p3.rnd\t\tyesterday"), @"`warp_record.csv`: `line 5, start`: `yesterday.300000000+02:00` is not a timestamp, such as 2019-11-13T17:07:06.3173431+01:00");
    assert_snapshot!(summary("warp.csv.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0]), @r"
    `warp.csv.zst`: it is compressed with zstd, which is not supported
    hint: decompress it first: `zstd -d FILE`
    ");
    assert_snapshot!(summary("series.csv", b"Timestamp,Op-Count,Byte-Count\n"), @r"
    `series.csv`: this is COSBench's course of one stage, without totals
    hint: name the file of the whole workload, such as `archive/w1-name/w1-name.csv`
    ");
}

#[test]
fn our_own_csv() {
    assert_snapshot!(summary_of_text("system,size,read_percent,iops,run\na,4KiB,100,1000.5,1\na,4KiB,0%,200,1\na,4KiB,100,990,2\n"), @r"
    line 2: a 4096:100%:r100 1000.500/s
    line 3: a 4096:100%:r0 200.000/s
    line 4: a 4096:100%:r100 990.000/s
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops,note\n# a remark\n16KiB:10%+1MiB:90%,50,77,x\n"), @r"
    line 3: 16384:10%:r50 + 1048576:90%:r50 Operations 77.000/s
    note: `runs.csv`: unused columns: note
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops,shares\n16KiB:10%+1MiB:90%,50,77,concurrency\n"), @"line 2: 16384:10%:r50 + 1048576:90%:r50 Concurrency 77.000/s");
}

#[test]
fn our_own_csv_is_refused_with_line_and_column() {
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4KiB,100,12k\n"), @r"
    `runs.csv`: `line 2, iops`: `12k` is not a plain number of at least 0
    hint: write all digits, with a decimal point, such as 12500 or 12500.5
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4KiB,100,0\n"), @r"
    `runs.csv`: `line 2, iops`: it is zero, so this run did no operations
    hint: leave the run out
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4096,100,10\n"), @r#"
    `runs.csv`: `line 2, size`: `4096` has no unit, but a size needs one
    hint: write "4096B" for bytes; the units are B, kB, KB, KiB, MB, MiB, GB, GiB, TB, TiB, PB, PiB, EB, EiB
    "#);
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4K,100,10\n"), @r"
    `runs.csv`: `line 2, size`: `4K`: `K` is not a unit of a size
    hint: write `KiB` (1024 bytes) or `kB` (1000 bytes)
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4KiB,110,10\n"), @r"
    `runs.csv`: `line 2, read_percent`: `110` is not between 0 and 100
    hint: it is the share of reads in percent, such as 70
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4KiB,,10\n"), @"`runs.csv`: `line 2, read_percent`: it is empty");
    // A former fault: this was a mix of sizes with a verdict of its own.
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4KiB:50%+4096B:50%,10,10\n"), @"
    `runs.csv`: `line 2, size`: `4KiB:50%+4096B:50%` has the size 4KiB twice
    hint: add its shares up; write a size that is alone as 4KiB
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops\n4KiB:50%+8KiB:60%,10,10\n"), @"`runs.csv`: `line 2, size`: the shares of `4KiB:50%+8KiB:60%` add up to 110 %, not to 100 %");
    assert_snapshot!(summary_of_text("size,read_percent,iops,run\n4KiB,10,10,1\n4KiB,10,11,1\n"), @r"
    `runs.csv`: `line 3, run`: run 1 of this point is already in line 2
    hint: number the runs of a point, or leave the column out
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops,shares\n4KiB,10,10,ops\n"), @"`runs.csv`: `line 2, shares`: `ops` is not one of operations, concurrency, capacity");
    assert_snapshot!(summary_of_text("size,iops\n4KiB,10\n"), @r"
    `runs.csv`: `read_percent`: there is no such column in `size,iops`
    hint: name the columns in the first line
    ");
    assert_snapshot!(summary_of_text("size,iops,iops,read_percent\n4KiB,10,10,10\n"), @r"
    `runs.csv`: `iops`: this column occurs twice
    hint: keep one of them
    ");
    assert_snapshot!(summary_of_text("size,read_percent,iops\n"), @r"
    `runs.csv`: it contains no run of reads or writes
    hint: name the result file of a benchmark that read or wrote
    ");
    assert_snapshot!(summary_of_text("name,value\na,1\n"), @r"
    `runs.csv`: this is not a known benchmark result; it begins with `name,value`
    hint: supported formats: fio's JSON, the CSV of COSBench, elbencho and warp, rados bench, and CSV with the columns system,size,read_percent,iops,run
    ");
    assert_snapshot!(summary_of_text(""), @r"
    `runs.csv`: the file is empty
    hint: run the benchmark again
    ");
}

proptest! {
    #[test]
    fn damaged_results_never_panic(
        which in 0..SAMPLES.len(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = sample(SAMPLES[which]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Err(error) = read(File { name: "result", bytes: &bytes }) {
            prop_assert!(error.to_string().starts_with("`result`: "), "{}", error);
        }
    }
}
