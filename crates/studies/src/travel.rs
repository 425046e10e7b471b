//! Every model of every study, run with workers that share no memory: messages between workers are serialised
//! and read back, late and out of order, and the outcome must equal that of one worker.

use std::cell::Cell;

use towtank_kernel::{Outcome, Portable, RunError, RunOptions, Runs, Simulator};
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;
use towtank_study::{RunContext, check};
use towtank_testkit::travels;
use towtank_units::SimTime;

thread_local! {
    /// Set when a test requests the comparison: the number of models run so far, and of events that passed
    /// between workers.
    static ASKED: Cell<Option<(u32, u64)>> = const { Cell::new(None) };
}

/// When a test has requested it: runs a model again, from this seed until this time, with serialised
/// messages, and compares the outcomes.
pub fn compare<M: Portable>(model: &M, seed: Seed, end: Option<SimTime>, want: &Outcome<M>) {
    let Some((models, messages)) = ASKED.get() else { return };
    let options = RunOptions { seed, end, ..RunOptions::default() };
    match travels(model, &options, want) {
        Ok(more) => ASKED.set(Some((models + 1, messages + more))),
        Err(lost) => panic!("{lost}"),
    }
}

/// Runs each model as its context does, and compares it.
pub(crate) struct Travelling<'a>(pub RunContext<'a>);

impl Simulator for Travelling<'_> {
    fn seed(&self) -> Seed {
        self.0.seed
    }

    fn run_model<M: Runs>(
        &self,
        model: &M,
        seed: Seed,
        end: Option<SimTime>,
    ) -> Result<Outcome<M>, RunError> {
        let outcome = self.0.run_model(model, seed, end)?;
        compare(model, seed, end, &outcome);
        Ok(outcome)
    }
}

/// Does something with each of its models compared; returns the number of models, and of events that passed
/// between workers.
pub fn counted(text: &str, run: impl FnOnce()) -> (u32, u64) {
    ASKED.set(Some((0, 0)));
    run();
    let (models, messages) = ASKED.take().expect("it was asked for");
    assert!(models > 0 && messages > 50, "{text}: {models} models, {messages} events between workers");
    (models, messages)
}

/// Runs a scenario with each of its models compared; returns the number of models, and of events that passed
/// between workers.
fn travelled(text: &str) -> (u32, u64) {
    let document = Document::parse(&Source::file("travel.toml", text)).unwrap();
    let checked = check(crate::all(), document).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    // Replicate 1: replicate 0 does more than the others, for the figures.
    let context = RunContext::alone(Seed(3), 1);
    counted(text, || {
        checked.points()[0].prepared.run(&context).unwrap_or_else(|error| panic!("{text}: {error}"));
    })
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
