//! Each study's estimate of its memory is within a factor of two of what a run takes.
//!
//! Each run has a process of its own: this test program starts itself, and the child reports by how much its
//! peak grew.

// `unwrap` is allowed in tests, and an integration test contains nothing else.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::process::Command;

use towtank_scenario::{Document, Source};
use towtank_streams::Seed;
use towtank_study::RunContext;

const CASE: &str = "MEMORY_CASE";

fn rebuilds() -> Vec<(&'static str, String)> {
    let rebuild = |text: &str| format!("study = \"rebuild\"\n{text}");
    vec![
        ("many servers", rebuild("servers = 4000\nper_server = \"20GiB\"")),
        (
            "many disks",
            rebuild(
                "servers = 1000\ndisks_per_server = 24\nper_server = \"20GiB\"\ngroups = 20000\nplacement = \"crush-straw2\"",
            ),
        ),
        (
            "many small objects",
            rebuild(
                "servers = 16\nobjects = 800000\n[population]\ndistribution = \"constant\"\nsize = \"4KiB\"\nlayout = \"whole\"",
            ),
        ),
        (
            "many shards",
            rebuild(
                "servers = 24\nec = \"8+3\"\nplacement = \"crush-straw2\"\nobjects = 150000\n[population]\n\
                 distribution = \"constant\"\nsize = \"64KiB\"\nlayout = \"whole\"",
            ),
        ),
    ]
}

fn backfills() -> Vec<(&'static str, String)> {
    let backfill = |discovery: &str, text: &str| {
        format!("study = \"backfill\"\npreset = \"ceph16-loopback\"\ndiscovery = \"{discovery}\"\n{text}")
    };
    vec![
        ("a large group", backfill("merkle", "objects_per_group = 2000000\nstale = \"0.5%\"")),
        ("many changes", backfill("scan", "objects_per_group = 300000\nstale = \"40%\"")),
        (
            "many trees",
            backfill("bitmap,merkle-levels", "groups = 20\nobjects_per_group = 1000\nranges = 262144"),
        ),
        (
            "large sketches",
            backfill(
                "sketch",
                "groups = 60\nobjects_per_group = 1000\nranges = 16\nsketch_cells = 20000\ndown = 2",
            ),
        ),
    ]
}

/// Stations with interruptions, and histograms of each class.
fn queues_with_classes() -> String {
    let class = |at: u32| format!("[[classes]]\nname = \"c{at}\"\nshare = \"12.5%\"\n");
    let station = |at: u32| {
        format!(
            "stations.s{at} = {{ service_rate = \"200/s\", arrival_rate = \"150/s\", order = \"preemptive\" }}\n"
        )
    };
    let classes: String = (0..8).map(class).collect();
    let stations: String = (0..16).map(station).collect();
    format!("study = \"queue\"\nwarm_up = \"1s\"\nspan = \"20s\"\n{stations}{classes}")
}

fn file_systems() -> Vec<(&'static str, String)> {
    let pfs = |text: &str| format!("study = \"pfs\"\nalone = false\n{text}");
    vec![
        ("small files", pfs("clients = 64\nfiles = 3000\nfile_size = \"4KiB\"\nrequest_size = \"4KiB\"")),
        (
            "many ranges of pages",
            pfs("preset = \"paper\"\nworkload = \"read\"\nclients = 32\nfiles = 400\nfile_size = \"1MiB\""),
        ),
        (
            "many jobs at once",
            pfs(
                "clients = 200\nflows = 64\nservers = 32\nfiles = 8\nfile_size = \"8MiB\"\nrequest_size = \"8MiB\"",
            ),
        ),
        (
            "many clients",
            pfs("clients = 30000\nfiles = 1\nfile_size = \"64KiB\"\nstripe_count = 1\nservers = 64"),
        ),
    ]
}

fn cases() -> Vec<(&'static str, String)> {
    let put = |text: &str| format!("study = \"put\"\nwarm_up = \"1ms\"\n{text}");
    let stations = (0..64)
        .map(|at| format!("stations.s{at} = {{ service_rate = \"100/s\", arrival_rate = \"70/s\" }}\n"));
    let queues =
        format!("study = \"queue\"\nwarm_up = \"1s\"\nspan = \"20s\"\n{}", stations.collect::<String>());
    let mixes = "study = \"capacity-sim\"\nwarm_up = \"1ms\"\nduration = \"2ms\"\n";
    let mut cases = rebuilds();
    cases.extend(backfills());
    cases.extend(file_systems());
    cases.extend([
        ("many puts at once", put("gateways = 100\nservers = 99\nin_flight = 64\nduration = \"1ms\"")),
        (
            "larger groups",
            put("gateways = 100\nservers = 120\ngroup = 30\nin_flight = 16\nduration = \"1ms\""),
        ),
        (
            "many nodes",
            put("gateways = 4500\nservers = 4500\nduration = \"500us\"\nprotocol = \"replicast-h\""),
        ),
        ("a long run that is drawn", put("gateways = 30\nservers = 90\nduration = \"300ms\"")),
        (
            "flows that all hear of each other",
            put("protocol = \"uch-ccp\"\ngateways = 20\nservers = 20\nin_flight = 256\nduration = \"1ms\""),
        ),
        (
            "a server that has failed",
            put(
                "gateways = 400\nservers = 396\nin_flight = 4\nduration = \"5ms\"\nfaults = { failed_servers = 3 }",
            ),
        ),
        (
            "more chunks than can be stored",
            put("gateways = 9\nservers = 9\nduration = \"60ms\"\narrival_rate = \"20000000/s\""),
        ),
        ("many classes", queues_with_classes()),
        ("many stations", queues),
        (
            "jobs on their way",
            "study = \"queue\"\ntravel = \"1s\"\nwarm_up = \"1s\"\nspan = \"1s\"\n\
             stations.a = { service_rate = \"200000/s\", arrival_rate = \"100000/s\" }"
                .to_owned(),
        ),
        (
            "many operations",
            format!("{mixes}servers = 1000\ndepth = 100\ncontrol = {{ phase = \"1ms\", window = \"1ms\" }}"),
        ),
        (
            "many windows",
            format!("{mixes}servers = 100\ncontrol = {{ phase = \"5ms\", window = \"500ns\" }}"),
        ),
        (
            "many virtual nodes",
            "study = \"place\"\nalgorithm = \"ring\"\nservers = 16384\nkeys = 1000".to_owned(),
        ),
        ("many pairs", "study = \"place\"\nalgorithm = \"jump\"\nservers = 16384\nkeys = 50000".to_owned()),
        ("a large table", "study = \"place\"\nalgorithm = \"two_choice\"\ngroups = 1000000".to_owned()),
    ]);
    cases
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The estimate and the growth of the peak, in KiB.
fn measured(text: &str) -> (u64, u64) {
    let document = Document::parse(&Source::file("memory.toml", text)).unwrap();
    let checked = towtank_study::check(towtank::studies(), document)
        .unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
    let prepared = &checked.points()[0].prepared;
    let estimate = prepared.memory_estimate().unwrap().get() >> 10;
    let before = peak_kib();
    let context = RunContext::alone(Seed(1), 0);
    let outcome = prepared.run(&context).unwrap();
    assert!(!outcome.measures.is_empty());
    (estimate, peak_kib() - before)
}

/// The run in the child; does nothing in the parent.
#[test]
fn one_run_in_a_process_of_its_own() {
    let Ok(at) = std::env::var(CASE) else { return };
    let (estimate, used) = measured(&cases()[at.parse::<usize>().unwrap()].1);
    println!("measured {estimate} {used}");
}

fn of_child(at: usize) -> (u64, u64) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_run_in_a_process_of_its_own", "--nocapture", "--test-threads", "1"])
        .env(CASE, at.to_string())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&child.stdout).into_owned();
    let line = stdout.split("measured ").nth(1).unwrap_or_else(|| {
        panic!("{stdout}{}", String::from_utf8_lossy(&child.stderr));
    });
    let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Why an estimate is wrong, if it is.
fn judged((estimate, used): (u64, u64)) -> Option<String> {
    (estimate > 2 * used || used > 2 * estimate).then(|| format!("{estimate} KiB estimated, {used} KiB used"))
}

#[test]
fn memory_used_is_within_twice_the_estimate() {
    let wrong: Vec<String> = (0..cases().len())
        .filter_map(|at| Some(format!("{}: {}", cases()[at].0, judged(of_child(at))?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_estimate_that_is_wrong_is_noticed() {
    assert_eq!(judged((100, 200)), None);
    assert!(judged((99, 200)).is_some() && judged((201, 100)).is_some());
}
