//! Rebuilds of rings: homes against Swift's own lists, times against the stages of one unit, and laws of the
//! report for rings drawn at random.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use towtank_kernel::Executor;
use towtank_rebuild::homes::Homes;
use towtank_report::Outcome;
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::*;
use crate::rebuild::complete::Complete;
use crate::rebuild::generated::{self, course};
use crate::rebuild::settled::Settled;
use crate::rebuild::tests::{value, with};
use crate::rebuild::{Rebuild, measures};
use towtank_study::testing::Folder;
use towtank_study::{Question, RunContext};

/// Rings of `swift-ring-builder` (`crates/imports/tests/rings/make.sh`).
fn golden() -> Folder {
    let names = ["zones.ring.gz", "zones_after.ring.gz", "fraction.ring.gz", "golden.json"];
    Folder::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../imports/tests/rings"), &names)
}

const ZONES: &str = "ring = \"zones.ring.gz\"\nobjects = 2000\npopulation.distribution = \"constant\"\n\
                     population.size = \"1MiB\"\npopulation.layout = \"whole\"\n";
const AFTER: &str = "ring_after = \"zones_after.ring.gz\"\nfail = \"d1\"\n";

fn check(folder: Folder, text: &str) -> Result<Complete, Problems> {
    let source = Source::file("rebuild.toml", format!("study = \"rebuild\"\n{text}"));
    let document = Document::parse(&source)?.with_files(Arc::new(folder));
    let outline = document.outline()?;
    let draft = outline.points()[0].draft();
    Rebuild::check(draft.read::<Scenario>()?, draft)
}

fn complete(folder: Folder, text: &str) -> Complete {
    check(folder, text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn refused(folder: Folder, text: &str) -> String {
    format!("{:?}", check(folder, text).err().unwrap_or_else(|| panic!("{text} is accepted")))
}

fn run_by(complete: &Complete, executor: Executor, workers: u32, seed: u64) -> Outcome {
    with(executor, workers, seed, |context: &RunContext<'_>| {
        let replicate = generated::seen(complete, context).unwrap();
        towtank_study::outcome::<Rebuild>(replicate, &measures::measures()).unwrap()
    })
}

fn run(complete: &Complete) -> Outcome {
    run_by(complete, Executor::Sequential, 1, 3)
}

/// The content of a ring of version 1. Each device has a zone and the last part of an address.
fn ring(places: &[(u32, u32)], rows: &[Vec<u16>]) -> Vec<u8> {
    let device = |(id, (zone, ip)): (usize, &(u32, u32))| {
        format!(
            r#"{{"id":{id},"region":1,"zone":{zone},"ip":"10.0.{zone}.{ip}","device":"s{id}","port":6200}}"#
        )
    };
    let devices: Vec<String> = places.iter().enumerate().map(device).collect();
    let shift = 32 - rows[0].len().trailing_zeros();
    let header = format!(
        r#"{{"byteorder":"big","part_shift":{shift},"replica_count":{},"devs":[{}]}}"#,
        rows.len(),
        devices.join(",")
    );
    let rows = rows.iter().flatten().flat_map(|id| id.to_be_bytes());
    let begin = [b"R1NG\0\x01", &(header.len() as u32).to_be_bytes()[..], header.as_bytes()].concat();
    begin.into_iter().chain(rows).collect()
}

fn folder(rings: &[(&str, Vec<u8>)]) -> Folder {
    Folder(rings.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect())
}

/// The ids in a ring of a record's homes.
fn ids(rings: &Rings, disks: &[DeviceId]) -> Vec<u32> {
    disks.iter().map(|disk| rings.disks[disk.index()].id).collect()
}

fn list(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

#[test]
fn machines_are_those_of_the_ring() {
    let rings = complete(golden(), ZONES).rings.unwrap();
    let names = &rings.names;
    assert_eq!(names.racks, ["r1z1", "r1z2", "r2z1"]);
    assert_eq!(
        names.servers,
        ["10.1.1.1", "10.1.1.2", "10.1.2.1", "10.1.2.2", "10.2.1.1", "10.2.1.3", "fd00::7"]
    );
    assert_eq!(names.disks[..3], ["d0 (10.1.1.1/sda)", "d1 (10.1.1.1/sdb)", "d2 (10.1.1.2/sda)"]);
    assert_eq!(rings.layout.server_of, [0, 0, 1, 2, 2, 3, 4, 4, 5, 6], "two ports of one address");
    assert_eq!(rings.layout.rack_of, [0, 0, 1, 1, 2, 2, 2]);
    // As `swift-ring-builder` lists them.
    assert_eq!(rings.held, [43, 42, 22, 64, 12, 43, 85, 43, 0, 30]);
    assert_eq!((rings.copies(), rings.servers), (3 * 128, 7));
}

/// A zone's address that is used in another zone too is another server, as in Swift.
#[test]
fn an_address_in_two_zones_is_two_servers() {
    let mut bytes = String::from_utf8(ring(&[(1, 1), (2, 1), (2, 2)], &[vec![0, 1], vec![2, 0]])).unwrap();
    bytes = bytes.replace("10.0.2.1", "10.0.1.1");
    let with = |fail: &str| format!("ring = \"r\"\nobjects = 100\nfail = \"{fail}\"");
    let bytes = [("r", bytes.into_bytes())];
    let rings = complete(folder(&bytes), &with("r1z2-10.0.1.1")).rings.unwrap();
    assert_eq!(rings.names.servers, ["r1z1-10.0.1.1", "r1z2-10.0.1.1", "10.0.2.2"]);
    assert!(refused(folder(&bytes), &with("10.0.1.1")).contains("no server of that name"));
}

/// Without the next ring, each partition of d1 goes to its first handoff in Swift's own list; with it, to the
/// rows of that ring, but not before it is in place.
#[test]
fn new_homes_are_those_of_swift() {
    let folder = golden();
    let golden: Value = serde_json::from_slice(&folder.0["golden.json"]).unwrap();
    let rings = complete(folder.clone(), &format!("{ZONES}fail = \"d1\"")).rings.unwrap();
    let both = complete(folder, &format!("{ZONES}{AFTER}")).rings.unwrap();
    let lost = rings.places.before().disks[1];
    let out: Vec<bool> = (0..rings.disks.len()).map(|disk| disk == lost.index()).collect();
    let mut handoffs = rings.places.with_out(0, &out);
    let (mut waiting, mut moved) = (both.places.with_out(0, &out), both.places.with_out(1, &out));
    let mut touched = 0;
    let lines = golden["zones"]["parts"].as_array().unwrap().iter();
    for (line, after) in lines.zip(golden["zones_after"]["parts"].as_array().unwrap()) {
        let (partition, before) = (line[0].as_u64().unwrap(), list(&line[1]));
        let mut homes = [NOWHERE; 3];
        let mut want: Vec<u32> = before.iter().copied().filter(|id| *id != 1).collect();
        touched += usize::from(want.len() < before.len());
        want.extend(list(&line[2]).into_iter().take(before.len() - want.len()));
        handoffs.find((partition, 0), &mut homes);
        assert_eq!(ids(&rings, &homes), want, "handoffs of partition {partition}");
        waiting.find((partition, 0), &mut homes);
        assert_eq!(ids(&both, &homes), before, "partition {partition} before the new ring");
        moved.find((partition, 0), &mut homes);
        assert_eq!(ids(&both, &homes), list(&after[1]), "partition {partition} after it");
        let differs = !list(&after[1]).iter().all(|id| before.contains(id));
        assert_eq!(both.places.moves(partition as usize), differs);
    }
    assert_eq!(touched, 42);
}

/// A partition of one object on two of three servers: each stage of its only unit, one after the other, as in
/// a generated cluster.
#[test]
fn one_unit_takes_what_its_stages_take() {
    let rings = [("r", ring(&[(1, 1), (2, 1), (3, 1)], &[vec![0], vec![1]]))];
    let text = "ring = \"r\"\nobjects = 1\nfail = \"10.0.1.1\"\n[population]\ndistribution = \"constant\"\nsize = \"4MiB\"";
    let outcome = run(&complete(folder(&rings), text));
    let mib = 1_048_576.0;
    let read = 11_700.3e-6 + 23.67e-6 + 4.0 * mib / 1_617_009_050.0;
    let card = 4.0 * mib / 2_012_072_435.0 + 1.1e-6;
    let write = 6_108.8e-6 + 29.67e-6 + 4.0 * mib / 1_585_132_340.0;
    let ack = 6.78e-6 + 128.0 / 2_012_072_435.0 + 1.1e-6;
    // No handoff: the third device has no partition, and Swift takes only devices that have some.
    let why = outcome.measures["time_to_full_redundancy_s"].reason().unwrap();
    assert!(why.contains("have no valid target left"), "{why}");
    let rings = [("r", ring(&[(1, 1), (2, 1), (3, 1)], &[vec![0, 2], vec![1, 1]]))];
    let outcome = run(&complete(folder(&rings), text));
    let want = read + card + 6.78e-6 + write + ack;
    assert_eq!(value(&outcome, "groups_affected"), 1.0);
    assert!(
        (value(&outcome, "transfer_s") - want).abs() < 1e-7,
        "{}, not {want}",
        value(&outcome, "transfer_s")
    );
}

/// The amount counts all copies, also half of them: 64 partitions with 2.5 copies.
#[test]
fn the_amount_is_that_of_all_copies() {
    let text = "ring = \"fraction.ring.gz\"\nper_server = \"1GiB\"\nfail = \"disk=d3\"\npopulation.distribution = \"constant\"\n\
                population.size = \"256KiB\"\npopulation.layout = \"whole\"";
    let complete = complete(golden(), text);
    let rings = complete.rings.as_ref().unwrap();
    assert_eq!((rings.copies(), rings.places.before().ring.rows(), rings.servers), (160, 3, 4));
    let population = generated::population(&complete, Seed(3)).unwrap();
    // 4 GiB in 2.5 copies.
    let bytes = population.bytes_expected();
    assert!((bytes - 4.0 * 1_073_741_824.0 / 2.5).abs() <= 262_144.0, "{bytes}");
    let used = rings.used(&population);
    assert!((used.iter().sum::<u64>() as f64 - 2.5 * bytes).abs() < 10.0, "{used:?}");
    let outcome = run(&complete);
    let lost = rings.places.before().disks[3];
    assert_eq!(value(&outcome, "groups_affected"), rings.held[lost.index()] as f64);
    let share = rings.held[lost.index()] as f64 / 64.0;
    let rebuilt = value(&outcome, "bytes_rebuilt");
    assert!((rebuilt - share * bytes).abs() < 64.0 * 262_144.0, "{rebuilt} of {}", share * bytes);
    let course =
        with(Executor::Sequential, 1, 3, |context| course(&complete, context, false)).unwrap().unwrap();
    let widths: BTreeSet<u32> =
        (0..course.affected.records()).map(|record| course.affected.kind(record).redundancy.width).collect();
    assert_eq!(widths, [2, 3].into(), "partitions with and without a third copy");
}

/// Redundancy is back once lost copies are; the new ring is complete when the copies that it moves are too.
/// Nothing begins before it is in place.
#[test]
fn the_new_ring_moves_more_than_what_was_lost() {
    let complete = complete(golden(), &format!("{ZONES}{AFTER}detection = \"10s\"\ndown_out = \"50s\""));
    let rings = complete.rings.as_ref().unwrap();
    let outcome = run(&complete);
    let (full, new) = (value(&outcome, "time_to_full_redundancy_s"), value(&outcome, "time_to_new_ring_s"));
    assert!(60.0 < full && full <= new, "{full}, {new}");
    let places = &rings.places;
    let new_on = |partition: &usize| {
        let had: Vec<DeviceId> = places.before().primaries(*partition).collect();
        places.after().unwrap().primaries(*partition).filter(|disk| !had.contains(disk)).count()
    };
    let copies: usize = (0..128).map(|partition| new_on(&partition)).sum();
    assert!(copies > 42, "the new ring moves copies besides those of d1: {copies}");
    let each = 2000.0 / 128.0 * 1_048_576.0;
    let written = value(&outcome, "bytes_rebuilt");
    assert!(
        (written / each - copies as f64).abs() < 0.05 * copies as f64,
        "{written} bytes are {copies} copies"
    );
    assert_eq!(value(&outcome, "stuck_objects") + value(&outcome, "lost_objects"), 0.0);
}

#[test]
fn without_a_new_ring_nothing_is_moved() {
    let waiting = complete(golden(), &format!("{ZONES}{AFTER}noout = true"));
    let outcome = run(&waiting);
    let why = outcome.measures["time_to_full_redundancy_s"].reason().unwrap();
    assert!(why.contains("because `noout` is set"), "{why}");
    assert_eq!(value(&outcome, "bytes_rebuilt"), 0.0);
}

/// A ring that still has partitions on what fails was not made for this failure.
#[test]
fn a_new_ring_for_another_failure_is_refused() {
    let with = |text: &str| refused(golden(), &format!("{ZONES}{text}"));
    let after = "ring_after = \"zones_after.ring.gz\"\n";
    let refusal = with(&format!("{after}fail = \"d2\""));
    assert!(refusal.contains("`ring_after` has partitions on what fails: d2 (10.1.1.2/sda)"), "{refusal}");
    let refusal = with(&format!("{after}fail = \"r2z1\""));
    assert!(refusal.contains("d6 (10.2.1.1/sda), d7 (10.2.1.1/sdb), d8 (fd00::7/sda)"), "{refusal}");
    let refusal = with(&format!("{after}fail = \"disk\""));
    assert!(refusal.contains("`fail` draws what fails"), "{refusal}");
    let refusal = with("ring_after = \"fraction.ring.gz\"\nfail = \"d1\"");
    assert!(
        refusal.contains("part power 6, 2.5 replicas, but `ring` has part power 7, 3 replicas"),
        "{refusal}"
    );
    let refusal = refused(golden(), &format!("{after}fail = \"d1\""));
    assert!(refusal.contains("the ring before the failure is missing"), "{refusal}");
}

/// A disk that is replaced in its slot takes its partitions back; the ring stays as it is.
#[test]
fn a_replaced_disk_takes_its_partitions_back() {
    let replaced = complete(golden(), &format!("{ZONES}fail = \"d1\"\nreplace = \"0s\""));
    let lost = replaced.rings.as_ref().unwrap().places.before().disks[1];
    let course =
        with(Executor::Sequential, 1, 3, |context| course(&replaced, context, false)).unwrap().unwrap();
    let written: Vec<usize> =
        (0..course.recovered.disks.len()).filter(|&at| course.recovered.disks[at].2 > 0).collect();
    assert_eq!(written, [lost.index()]);
    let refusal = refused(golden(), &format!("{ZONES}{AFTER}replace = \"0s\""));
    assert!(refusal.contains("keeps what failed in the ring, but `ring_after` moves its data"), "{refusal}");
}

#[test]
fn a_ring_is_not_made_up_as_well() {
    let generated = [
        "servers = 4",
        "racks = 2",
        "disks_per_server = 2",
        "placement = \"ring\"",
        "vnodes = 8",
        "groups = 8",
        "groups_per_server = 8",
        "failure_domain = \"rack\"",
        "replicas = 2",
        "ec = \"4+2\"",
        "pool = 2",
        "lost_set = \"draw\"",
    ];
    assert_eq!(generated.len(), GENERATED.len());
    for text in generated {
        let refusal = refused(golden(), &format!("{ZONES}{text}"));
        assert!(refusal.contains("describes a generated cluster, but `ring`"), "{text}: {refusal}");
    }
    let refusal = refused(golden(), "ring = \"golden.json\"\nobjects = 10");
    assert!(refusal.contains("it is no ring of Swift") && refusal.contains("write_ring"), "{refusal}");
    let refusal = refused(golden(), &format!("{ZONES}crush_map = \"golden.json\""));
    assert!(
        refusal.contains("is an export of a cluster of Ceph")
            && refusal.contains("leave out `ring`, `objects`, `population`"),
        "{refusal}"
    );
    let one = [("r", ring(&[(1, 1), (1, 1)], &[vec![0], vec![1]]))];
    let refusal = refused(folder(&one), "ring = \"r\"\nobjects = 10");
    assert!(refusal.contains("the ring has 1 servers, but 2 to 16384 are supported"), "{refusal}");
    let many = [("r", ring(&[(1, 1), (2, 1)], &vec![vec![0]; 17]))];
    assert!(refused(folder(&many), "ring = \"r\"\nobjects = 10").contains("17 copies, but the limit is 16"));
}

#[test]
fn failures_have_the_names_of_the_ring() {
    let struck = |fail: &str| {
        let complete = complete(golden(), &format!("{ZONES}fail = \"{fail}\""));
        let struck = towtank_rebuild::failures::strike(&complete.failures, &complete.hardware(), Seed(1));
        (struck[0].name.clone(), ids(complete.rings.as_ref().unwrap(), &struck[0].devices))
    };
    for (fail, name, devices) in [
        ("d4", "d4 (10.1.2.1/sdb)", &[4][..]),
        ("disk=4@1h", "d4 (10.1.2.1/sdb)", &[4]),
        ("disk=d4", "d4 (10.1.2.1/sdb)", &[4]),
        ("10.1.2.1/sdb", "d4 (10.1.2.1/sdb)", &[4]),
        ("10.2.1.1", "10.2.1.1", &[6, 7]),
        ("server=10.2.1.1", "10.2.1.1", &[6, 7]),
        ("host=[fd00::7]", "fd00::7", &[8]),
        ("fd00::7/sda", "d8 (fd00::7/sda)", &[8]),
        ("r1z2", "r1z2", &[3, 4, 5]),
        ("rack=r1z2", "r1z2", &[3, 4, 5]),
    ] {
        assert_eq!(struck(fail), (name.to_owned(), devices.to_vec()), "{fail}");
    }
    for kind in ["disk", "server", "zone", "rack"] {
        assert!(!struck(kind).1.is_empty(), "{kind}");
    }
    for (fail, message, hint) in [
        ("d99", "no disk of that name", "d9"),
        ("10.1.2.1/sdx", "no disk of that name", "10.1.2.1/sd"),
        ("10.1.2.9", "no server of that name", "10.1.2."),
        ("zone=r9z9", "no zone of that name", "r1z1"),
        ("node=3", "`node` is no kind of thing that fails", "server=10.0.0.3"),
        ("d1@soon", "`fail` is `d1@soon`", "@"),
    ] {
        let refusal = refused(golden(), &format!("{ZONES}fail = \"{fail}\""));
        assert!(refusal.contains(message) && refusal.contains(hint), "{fail}: {refusal}");
    }
    let twin = [("r", ring(&[(1, 1), (1, 1), (2, 1)], &[vec![0, 1], vec![2, 2]]))];
    let twin = twin.map(|(name, bytes)| {
        (name, String::from_utf8(bytes).unwrap().replace("\"s1\"", "\"s0\"").into_bytes())
    });
    let refusal = refused(folder(&twin), "ring = \"r\"\nobjects = 10\nfail = \"10.0.1.1/s0\"");
    assert!(refusal.contains("which is 2 disks: d0, d1"), "{refusal}");
}

#[test]
fn the_resolved_scenario_reads_back() {
    for text in
        [format!("{ZONES}fail = \"d1\""), format!("{ZONES}{AFTER}"), format!("{ZONES}uplink = \"1GB/s\"")]
    {
        let ready = complete(golden(), &text);
        let resolved = Rebuild::resolved(&ready);
        assert!(GENERATED.iter().all(|key| resolved.get(key).is_none()), "{resolved}");
        let again: Settled = serde_json::from_value(resolved.clone()).unwrap();
        assert_eq!(&again, Rebuild::settled(&ready), "{text}");
        let lines = resolved.as_object().unwrap().iter().map(|(key, value)| format!("{key} = {value}\n"));
        let lines: String = lines.filter(|line| !line.starts_with("population")).collect();
        let population = ZONES.lines().filter(|line| line.starts_with("population"));
        let text = population.fold(lines, |text, line| format!("{text}{line}\n"));
        let again = complete(golden(), &text);
        assert_eq!(Rebuild::resolved(&again), resolved);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// Any small ring: the model audits conservation, all executors agree, the bound holds, and each object
    /// of a partition on what fails is rebuilt, lost or stuck.
    #[test]
    fn any_small_ring_keeps_its_promises(
        at in prop::collection::vec((1u32..4, 0u32..3), 3..9),
        power in 1u32..5,
        count in 1usize..4,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 2 * 3 * 16),
        short in any::<prop::sample::Index>(),
        fail in any::<prop::sample::Index>(),
        after in any::<bool>(),
        whole_server in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let mut servers: Vec<(u32, u32)> = at.clone();
        servers.sort_unstable();
        servers.dedup();
        prop_assume!(servers.len() > 1);
        let failing = fail.index(at.len());
        let fails = |id: usize| if whole_server { at[id] == at[failing] } else { id == failing };
        let all = 1usize << power;
        let last = 1 + short.index(all);
        let rows = |from: usize, left: &dyn Fn(usize) -> bool| -> Vec<Vec<u16>> {
            let ids: Vec<u16> = (0..at.len()).filter(|&id| left(id)).map(|id| id as u16).collect();
            let length = |row: usize| if row > 0 && row + 1 == count { last } else { all };
            let pick = |row: usize, part: usize| ids[picks[from + row * 16 + part].index(ids.len())];
            (0..count).map(|row| (0..length(row)).map(|part| pick(row, part)).collect()).collect()
        };
        let rings = [
            ("before", ring(&at, &rows(0, &|_| true))),
            ("after", ring(&at, &rows(48, &|id| !fails(id)))),
        ];
        let (zone, ip) = at[failing];
        let fail = if whole_server { format!("10.0.{zone}.{ip}") } else { format!("d{failing}") };
        let next = if after { "ring_after = \"after\"\n" } else { "" };
        let text = format!(
            "ring = \"before\"\n{next}objects = 300\nfail = \"{fail}\"\nsource = \"random\"\n\
             population.distribution = \"log_normal\"\npopulation.median = \"1MiB\"\npopulation.sigma = 1.5"
        );
        let complete = complete(folder(&rings), &text);
        let want = run_by(&complete, Executor::Sequential, 1, seed);
        for (executor, workers) in [(Executor::Conservative, 2), (Executor::Optimistic, 2), (Executor::Check, 1)] {
            prop_assert_eq!(&run_by(&complete, executor, workers, seed), &want);
        }
        let of = |measure: &str| want.measures[measure].value();
        if let (Some(rate), Some(bound)) = (of("aggregate_rate_bytes_per_s"), of("bound_rate_bytes_per_s")) {
            prop_assert!(rate <= bound * (1.0 + 1e-9), "{} beats {}", rate, bound);
        }
        let rings = complete.rings.as_ref().unwrap();
        let population = generated::population(&complete, Seed(seed)).unwrap();
        let objects = |part: &usize| population.ids_in_residue(*part as u64, all as u64).count() as f64;
        let touched = |part: &usize| {
            rings.places.before().primaries(*part).any(|disk| fails(rings.disks[disk.index()].id as usize))
        };
        let (lost, stuck) = (of("lost_objects").unwrap(), of("stuck_objects").unwrap());
        let on_failed: f64 = (0..all).filter(touched).map(|part| objects(&part)).sum();
        let moved: f64 = (0..all).filter(|part| !touched(part) && rings.places.moves(*part)).map(|part| objects(&part)).sum();
        prop_assert_eq!(of("objects_affected").unwrap(), on_failed + moved);
        let alone = |part: &usize| {
            rings.places.before().primaries(*part).all(|disk| fails(rings.disks[disk.index()].id as usize))
        };
        prop_assert_eq!(lost, (0..all).filter(alone).map(|part| objects(&part)).sum::<f64>());
        let rebuilt = of("objects_rebuilt").unwrap();
        // Where two rows of the new ring name one disk, a lost copy has no home; others of its object may
        // move.
        let most = on_failed + moved - lost;
        prop_assert!(rebuilt <= most && rebuilt + stuck >= most, "{} and {} of {}", rebuilt, stuck, most);
    }
}
