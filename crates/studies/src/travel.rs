//! Every model of every study, run with workers that share no memory: messages between workers are serialised
//! and read back, late and out of order, and the outcome must equal that of one worker.

use std::cell::Cell;

use towtank_kernel::{Outcome, Portable, RunOptions};
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;
use towtank_testkit::travels;

use crate::{RunContext, check};

thread_local! {
    /// Set when a test requests the comparison: the number of models run so far, and of events that passed
    /// between workers.
    static ASKED: Cell<Option<(u32, u64)>> = const { Cell::new(None) };
}

/// When a test has requested it: runs a model again with serialised messages, and compares the outcomes.
pub fn compare<M: Portable>(model: &M, options: &RunOptions<'_>, want: &Outcome<M>) {
    let Some((models, messages)) = ASKED.get() else { return };
    // Without several workers to the end, nothing would travel.
    let options = RunOptions { progress: None, notice: None, may_switch: false, ..options.clone() };
    match travels(model, &options, want) {
        Ok(more) => ASKED.set(Some((models + 1, messages + more))),
        Err(lost) => panic!("{lost}"),
    }
}

/// Runs a scenario with each of its models compared; returns the number of models, and of events that passed
/// between workers.
fn travelled(text: &str) -> (u32, u64) {
    let document = Document::parse(&Source::file("travel.toml", text)).unwrap();
    let checked = check(crate::all(), document).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    // Replicate 1: replicate 0 does more than the others, for the figures.
    let context = RunContext::alone(Seed(3), 1);
    ASKED.set(Some((0, 0)));
    checked.points()[0].prepared.run(&context).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (models, messages) = ASKED.take().expect("it was asked for");
    assert!(models > 0 && messages > 50, "{text}: {models} models, {messages} events between workers");
    (models, messages)
}

#[test]
fn queues_travel() {
    travelled(
        r#"
study = "queue"
travel = "50ms"
warm_up = "40s"
span = "200s"

[stations.door]
service_rate = "2/s"
arrival_rate = "1/s"
routes = { desk = "60%", archive = "10%" }

[stations.desk]
servers = 3
service_rate = "0.5/s"
arrival_rate = "0.2/s"
routes = { archive = "50%" }

[stations.archive]
servers = 2
service_rate = "1/s"
routes = { desk = "30%" }
"#,
    );
}

#[test]
fn rebuilds_travel() {
    let kinds = [
        "servers = 8\nper_server = \"1GiB\"\nplacement = \"crush-straw\"\ngroups = 40\nmax_backfills = 1",
        "servers = 9\nper_server = \"500MiB\"\nec = \"4+2\"\ngather = \"target\"\nfail = [\"server\", \"server\"]",
        "servers = 8\nper_server = \"1GiB\"\nfail = [\"server=1\", \"server=2@50ms\"]\ndetection = \"20ms\"\ndown_out = \"30ms\"",
        "servers = 12\nracks = 4\nuplink = \"200MiB/s\"\nper_server = \"500MiB\"\ndisks_per_server = 2\nfailure_domain = \"rack\"\nplacement = \"crush-straw2\"\nclient_load = \"100/s\"\nlatency = \"200us\"",
        "preset = \"ceph\"\nservers = 6\nper_server = \"1GiB\"\ngroups = 40\nqueue = \"mclock\"\nosd_capacity = 1000000\nreturns = \"1s\"",
    ];
    for text in kinds {
        travelled(&format!("study = \"rebuild\"\n{text}"));
    }
}

#[test]
fn puts_travel() {
    let nodes = "gateways = 8\nservers = 18\ngroup = 9\nduration = \"800us\"";
    let honest = "in_flight = 2\nwarm_up = \"100us\"\nread_share = \"30%\"";
    let racks = format!("{honest}\n[network]\nracks = 3\nuplink = \"40Gbit/s\"");
    for protocol in ["uch-ccp", "replicast-m", "replicast-h"] {
        for more in ["fidelity = \"surge\"", honest, &racks] {
            travelled(&format!("study = \"put\"\nprotocol = \"{protocol}\"\n{nodes}\n{more}"));
        }
    }
}

#[test]
fn backfills_travel() {
    for discovery in ["scan", "bitmap", "merkle", "merkle-levels", "sketch"] {
        for more in [
            "client_writes = \"3/s\"",
            "log_entries = 500",
            "down = 2\ngroups = 3\ncreated = \"30%\"\ndeleted = \"30%\"",
        ] {
            let small = "objects_per_group = 200\nstale = \"10%\"\nranges = 64\nobject_size = \"10MiB\"";
            travelled(&format!("study = \"backfill\"\ndiscovery = \"{discovery}\"\n{small}\n{more}"));
        }
    }
}

#[test]
fn file_systems_travel() {
    for scheduler in [
        "fifo", "sfq:4", "ssfq:4", "dsfq-a:4", "mclock:4", "orr:4", "tbf:8", "bfq:4", "i2l", "dta:2",
        "sfqrc:4",
    ] {
        for more in [
            "workload = \"read\"\n[network]\nsharing = \"fair\"",
            "workload = \"mix\"\n[server]\nhandshake = true\nlocks = true",
            "workload = \"write\"\n[disk]\nmodel = \"seek\"",
        ] {
            let small = "files = 2\nfile_size = \"300KiB\"\nrequest_size = \"100KiB\"\nstripe = \"32KiB\"\nclients = 4\nservers = 3";
            let apps = "[applications.a]\nrate = \"50MB/s\"\nrequest_rate = \"1000/s\"\ndeadline = \"20ms\"\n[applications.b]\nweight = 3\n\
                        rate = \"50MB/s\"\nrequest_rate = \"1000/s\"\ndeadline = \"20ms\"";
            let (workload, tables) = more.split_once('\n').unwrap_or((more, ""));
            let head = format!(
                "study = \"pfs\"\npreset = \"paper\"\nscheduler = \"{scheduler}\"\nalone = false\n{workload}\n{small}"
            );
            travelled(&format!("{head}\n{tables}\n{apps}"));
        }
    }
}

#[test]
fn capacity_travels() {
    let small =
        "servers = 4\ndepth = 2\nwarm_up = \"200us\"\nduration = \"1ms\"\ntrip = \"20us\"\nsize = \"64KiB\"";
    let control = "[control]\ntarget = \"80%\"\nreads = [\"50%\"]\nphase = \"500us\"\nwindow = \"200us\"\noffered = \"150%\"";
    let (models, _) = travelled(&format!("study = \"capacity-sim\"\n{small}\n{control}"));
    assert!(models > 1, "rates are measured before mixes");
    let sizes = "mix = \"4KiB:50%:r100,256KiB:50%:r50\"";
    let (with_sizes, _) = travelled(&format!("study = \"capacity-sim\"\n{small}\n{sizes}\n{control}"));
    assert_eq!(with_sizes, models + 7, "two sizes alone, reads and writes, and their mix in three ways");
}
