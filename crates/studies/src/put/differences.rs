//! The effect of each difference between the two fidelities: the model with one property of SURGE at a time.
//!
//! `cargo test -p towtank-studies what_each_difference_does -- --nocapture` prints a table: by how many
//! percent more chunks are stored, and by how many points disks are busier. That of `docs/put.md` has
//! [`SEEDS`] set to 5 and [`DURATION`] to 20 ms.

use std::collections::BTreeMap;

use towtank_kernel::RunOptions;
use towtank_negotiation::Protocol;
use towtank_puts::{Cluster, Counted};
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;
use towtank_units::{SimSpan, SimTime};

use super::Put;
use super::observed::value;
use super::scenario::Settled;
use towtank_study::Study;

const SEEDS: u32 = 1;
const DURATION: &str = "4ms";

/// One property in which SURGE differs.
struct Difference {
    name: &'static str,
    /// The protocols that it concerns.
    protocols: &'static [Protocol],
    /// Keys of the scenario that produce it.
    keys: &'static str,
    /// The change of the cluster that produces it, where keys do not.
    change: fn(&mut Cluster),
}

use Protocol::{ReplicastH, ReplicastM, UchCcp};

const ALL: &[Protocol] = &[UchCcp, ReplicastM, ReplicastH];
const NEGOTIATE: &[Protocol] = &[ReplicastM, ReplicastH];

const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "beginning",
        protocols: ALL,
        keys: "warm_up = \"0s\"\nstart_spread = \"0s\"",
        change: |_| {},
    },
    Difference {
        name: "what counts: chunks",
        protocols: ALL,
        keys: "",
        change: |cluster| {
            let end = cluster.measured.end.as_ns();
            let tail = (end - cluster.measured.from.as_ns()) / 100;
            cluster.measured.until = SimTime::from_ns(end - tail);
        },
    },
    Difference {
        name: "what counts: disks",
        protocols: ALL,
        keys: "",
        change: |cluster| {
            cluster.quirks.work_counts_early = true;
        },
    },
    Difference {
        name: "control messages are free",
        protocols: ALL,
        keys: "",
        change: |cluster| {
            cluster.quirks.control_is_free = true;
        },
    },
    Difference {
        name: "... and windows as soon",
        protocols: NEGOTIATE,
        keys: "",
        change: |cluster| {
            cluster.quirks.control_is_free = true;
            cluster.terms.lead = SimSpan::from_ns(5_848);
        },
    },
    Difference {
        name: "soonest window",
        protocols: NEGOTIATE,
        keys: "bids.lead = \"5848ns\"",
        change: |_| {},
    },
    Difference {
        name: "list with holes",
        protocols: &[ReplicastM],
        keys: "bids.keep_holes = true",
        change: |_| {},
    },
    Difference {
        name: "chunks are dropped",
        protocols: &[ReplicastM],
        keys: "",
        change: |cluster| {
            cluster.terms.fixed.rules.drops_chunks = true;
        },
    },
    Difference {
        name: "last choice not looked at",
        protocols: &[ReplicastM],
        keys: "",
        change: |cluster| {
            cluster.terms.fixed.rules.skips_last_choice = true;
        },
    },
    Difference {
        name: "trims at once",
        protocols: &[ReplicastH],
        keys: "",
        change: |cluster| {
            cluster.terms.fixed.rules.trims_at_once = true;
            // Lets transfers leave their windows, as in SURGE.
            cluster.surge = true;
        },
    },
    Difference {
        name: "control holds data",
        protocols: &[ReplicastH],
        keys: "",
        change: |cluster| {
            cluster.terms.fixed.rules.control_holds_data = true;
            cluster.surge = true;
        },
    },
    Difference {
        name: "unicast frames",
        protocols: &[UchCcp],
        keys: "",
        change: |cluster| {
            cluster.quirks.buckets_admit = true;
            cluster.terms.fixed.rules.frames_at_flow_rate = true;
            cluster.terms.fixed.rules.last_frame_free = true;
        },
    },
    Difference { name: "everything", protocols: ALL, keys: "fidelity = \"surge\"", change: |_| {} },
];

/// Chunks per second with their scatter, and utilisation in percent.
fn measured(protocol: Protocol, chunk: &str, disk: &str, keys: &str, change: fn(&mut Cluster)) -> (f64, f64) {
    let text = format!(
        "study = \"put\"\nprotocol = \"{}\"\nchunk = \"{chunk}\"\ndisk = \"{disk}\"\nduration = \"{DURATION}\"\n{keys}",
        protocol.name()
    );
    let document = Document::parse(&Source::file("put.toml", &text)).expect("it is TOML");
    let outline = document.outline().expect("it names a study");
    let prepared = Put.check(outline.points()[0].draft()).unwrap_or_else(|_| panic!("{text}"));
    let settled: Settled = serde_json::from_value(prepared.resolved()).expect("it reads back");
    let (mut rates, mut busy) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let mut cluster = settled.spec.cluster(protocol, false);
        change(&mut cluster);
        let end = Some(SimTime::from_ns(cluster.measured.end.as_ns() + 1));
        let options = RunOptions { end, seed: Seed(1).replicate(seed), ..RunOptions::default() };
        let run = towtank_kernel::run(&cluster, options).unwrap_or_else(|error| panic!("{text}: {error}"));
        let counted = Counted::of_run(&cluster, &run).expect("it ran to its end");
        rates += value(&counted, "chunks_per_second").unwrap_or_default() / f64::from(SEEDS);
        busy += value(&counted, "disk_utilisation").unwrap_or_default() * 100.0 / f64::from(SEEDS);
    }
    (rates, busy)
}

#[test]
#[expect(clippy::print_stdout, reason = "what is measured is to be seen")]
fn what_each_difference_does() {
    let points = [
        ("16KiB", "400MiB/s"),
        ("128KiB", "400MiB/s"),
        ("1MiB", "400MiB/s"),
        ("16KiB", "1000MiB/s"),
        ("128KiB", "1000MiB/s"),
    ];
    let mut effects = BTreeMap::new();
    for protocol in ALL {
        let plain = points.map(|(chunk, disk)| measured(*protocol, chunk, disk, "", |_| {}));
        for difference in DIFFERENCES.iter().filter(|one| one.protocols.contains(protocol)) {
            let mut row = format!("| {} | {} |", protocol.name(), difference.name);
            for ((chunk, disk), (rate, busy)) in points.iter().zip(plain) {
                let (changed, changed_busy) =
                    measured(*protocol, chunk, disk, difference.keys, difference.change);
                let more = (changed / rate - 1.0) * 100.0;
                row += &format!(" {more:+.1} % ({:+.1}) |", changed_busy - busy);
                effects.insert((protocol.name(), difference.name, *chunk, *disk), more);
            }
            println!("{row}");
        }
    }
    // The differences that matter according to the guide, and those that have no effect according to it.
    let of = |protocol, name, chunk, disk| effects[&(protocol, name, chunk, disk)];
    assert!(of("replicast-m", "beginning", "1MiB", "400MiB/s") < -15.0);
    assert!(of("replicast-m", "control messages are free", "16KiB", "1000MiB/s") > 20.0);
    assert!(of("replicast-m", "list with holes", "16KiB", "1000MiB/s") < -30.0);
    for name in ["trims at once", "control holds data"] {
        assert!(of("replicast-h", name, "16KiB", "1000MiB/s").abs() < 3.0, "{name}");
    }
}
