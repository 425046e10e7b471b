//! The study against closed forms, exhaustive enumeration and its own invariants.

mod coarse;
mod in_place;
mod mended;
mod phases;
mod progress;
mod slowest;
mod travels;
mod waiting_clients;

use proptest::prelude::*;
use towtank_kernel::Executor;
use towtank_report::Outcome;
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::generated::course;
use super::settled::Settled;
use super::*;
use towtank_rebuild::plan::NOWHERE;

impl Complete {
    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        towtank_study::outcome::<Rebuild>(Rebuild::run(self, context)?, &measures::measures())
    }
}

pub(super) fn prepare(text: &str) -> Result<Complete, Problems> {
    let source = Source::file("rebuild.toml", format!("study = \"rebuild\"\n{text}"));
    let outline = Document::parse(&source)?.outline()?;
    let draft = outline.points()[0].draft();
    draft.read::<Scenario>()?.complete(draft)
}

pub(super) fn complete(text: &str) -> Complete {
    prepare(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

pub(super) fn with<T>(
    executor: Executor,
    workers: u32,
    seed: u64,
    run: impl FnOnce(&RunContext<'_>) -> T,
) -> T {
    run(&RunContext { executor, workers, ..RunContext::alone(Seed(seed), 0) })
}

pub(super) fn outcome(text: &str, seed: u64) -> Outcome {
    let ready = complete(text);
    with(Executor::Sequential, 1, seed, |context| ready.run(context)).unwrap()
}

pub(super) fn value(outcome: &Outcome, measure: &str) -> f64 {
    outcome.measures[measure].value().unwrap_or_else(|| panic!("{measure} is missing"))
}

/// Small clusters of every kind: copies and shards, gathered at different places, groups with reservations,
/// racks, sleeps, rates, queues, several disks, successive failures, and what is replaced or comes back.
const KINDS: [&str; 26] = [
    "servers = 8\nper_server = \"2GiB\"",
    "servers = 8\nper_server = \"4GiB\"\nplacement = \"crush-straw\"\ngroups = 40\nmax_backfills = 1",
    "servers = 9\nper_server = \"2GiB\"\nec = \"4+2\"\nplacement = \"crush-straw2\"",
    "servers = 9\nper_server = \"2GiB\"\nec = \"4+2\"\ngather = \"target\"\nfail = [\"server\", \"server\"]",
    "servers = 9\nper_server = \"2GiB\"\nec = \"3+2\"\ngroups = 30\nmax_backfills = 1\nfail = [\"server\", \"server\"]",
    "servers = 12\nracks = 4\nuplink = \"200MiB/s\"\nper_server = \"2GiB\"\nfailure_domain = \"rack\"\nplacement = \"crush-straw2\"\nfail = \"rack\"",
    "servers = 6\nper_server = \"1GiB\"\nrecovery_sleep = \"10ms\"\nplacement = \"ring\"",
    "servers = 6\nper_server = \"1GiB\"\nstream_limit = \"50MiB/s\"\nrate_cap = \"80MiB/s\"\nplacement = \"multiring\"",
    "servers = 6\ndisks_per_server = 3\nper_server = \"3GiB\"\nfail = \"disk\"\nsource = \"random\"",
    "servers = 8\nper_server = \"4GiB\"\nfail = [\"server=1\", \"server=2@200ms\"]\ndetection = \"20ms\"\ndown_out = \"30ms\"\nsource = \"least-loaded\"",
    "servers = 8\nper_server = \"2GiB\"\nfail = [\"server=1\", \"server=2\"]\norder = \"random\"",
    "servers = 8\nper_server = \"2GiB\"\nfail = [\"server=1\", \"server=2\"]\norder = \"object\"\nplacement = \"rendezvous\"",
    "servers = 8\nper_server = \"4GiB\"\nplacement = \"crush-straw\"\ngroups = 40\nmax_backfills = 1\nfail = [\"server=1\", \"server=2\"]\norder = \"group\"",
    "servers = 6\nper_server = \"1GiB\"\nclient_load = \"200/s\"\nlatency = \"200us\"",
    "servers = 12\nracks = 4\nuplink = \"200MiB/s\"\nper_server = \"1GiB\"\ndisks_per_server = 2\nfailure_domain = \"rack\"\nplacement = \"crush-straw2\"\nclient_load = \"500/s\"\nclient_weight = 8\nlatency = \"200us\"",
    "servers = 9\nper_server = \"1GiB\"\nec = \"4+2\"\ngroups = 30\nmax_backfills = 1\nfail = [\"server=1\", \"server=2@200ms\"]\ndetection = \"20ms\"\ndown_out = \"30ms\"\nclient_load = \"100/s\"\nclient_size = \"1MiB\"\nlatency = \"200us\"",
    "servers = 6\ndisks_per_server = 3\nper_server = \"3GiB\"\nfail = \"server\"\nserver_max_active = 2\nserver_rate_cap = \"300MiB/s\"",
    "servers = 6\ndisks_per_server = 2\nper_server = \"2GiB\"\nec = \"3+2\"\ngather = \"target\"\nfail = \"disk\"\nreplace = \"0s\"\nplacement = \"rendezvous\"",
    "servers = 8\nper_server = \"2GiB\"\ngroups = 40\nmax_backfills = 1\nfail = [\"server=1\", \"server=2@200ms\"]\ndetection = \"20ms\"\nreplace = \"30ms\"\nserver_max_active = 1",
    "preset = \"ceph\"\nservers = 6\nper_server = \"2GiB\"\ngroups = 40\nqueue = \"mclock\"\nceph_release = \"17.2.5\"\nosd_capacity = 1000000\nseeks = \"none\"\nfail = \"server\"\nreturns = \"1s\"",
    "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = 9\nper_server = \"9GiB\"\nec = \"4+2\"",
    "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = 9\nper_server = \"9GiB\"\ngroups = 60\nmax_backfills = 1\nplacement = \"crush-straw2\"\nfail = [\"disk=1\", \"disk=2@100ms\"]",
    "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = 13\narray = \"raid\"\nec = \"4+2\"\nspares = 1\ndisk_capacity = \"1GiB\"\ngather = \"target\"",
    "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = 12\narray = \"raid\"\nec = \"3+2\"\nspares = 2\ndisk_capacity = \"1GiB\"\nfail = [\"disk=1\", \"disk=4@300ms\"]\nreplace = \"1s\"",
    "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = 12\narray = \"draid\"\nec = \"4+2\"\nspares = 2\nper_server = \"12GiB\"\nfail = [\"disk=7\", \"disk=2@50ms\"]\ndetection = \"20ms\"\nserver_rate_cap = \"900MiB/s\"",
    "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = 11\narray = \"draid\"\nec = \"4+1\"\nspares = 1\nper_server = \"11GiB\"\nreplace = \"400ms\"\nserver_max_active = 6",
];

#[test]
fn executors_and_workers_never_show() {
    for text in KINDS {
        let ready = complete(text);
        let run = |executor, workers| with(executor, workers, 5, |context| ready.run(context)).unwrap();
        let want = run(Executor::Sequential, 1);
        assert!(want.events > 100, "{text}");
        for (executor, workers) in [
            (Executor::Check, 1),
            (Executor::Conservative, 2),
            (Executor::Optimistic, 1),
            (Executor::Optimistic, 2),
            (Executor::Optimistic, 3),
        ] {
            assert_eq!(run(executor, workers), want, "{executor:?} on {workers}: {text}");
        }
    }
}

#[test]
fn the_bound_is_never_beaten_and_all_comes_back() {
    for text in KINDS {
        for seed in 1..4 {
            let outcome = outcome(text, seed);
            let (rate, bound) =
                (value(&outcome, "aggregate_rate_bytes_per_s"), value(&outcome, "bound_rate_bytes_per_s"));
            assert!(rate <= bound * (1.0 + 1e-9), "{rate} beats {bound}: {text}");
            assert!(rate > 0.05 * bound, "{rate} is far below {bound}: {text}");
            assert!(value(&outcome, "disk_busy_max") <= 1.0 + 1e-9, "{text}");
            assert_eq!(value(&outcome, "lost_objects") + value(&outcome, "stuck_objects"), 0.0, "{text}");
        }
    }
}

/// How many seconds a unit takes from its read to the acknowledgement, by the tables.
fn one_unit_s() -> f64 {
    let mib = 1_048_576.0;
    let read = 11_700.3e-6 + 23.67e-6 + 4.0 * mib / 1_617_009_050.0;
    let card = 4.0 * mib / 2_012_072_435.0 + 1.1e-6;
    let write = 6_108.8e-6 + 29.67e-6 + 4.0 * mib / 1_585_132_340.0;
    let ack = 6.78e-6 + 128.0 / 2_012_072_435.0 + 1.1e-6;
    read + card + 6.78e-6 + write + ack
}

/// One object of one unit: each stage takes the time of the tables, one after the other.
#[test]
fn one_unit_takes_what_its_stages_take() {
    let text = "servers = 3\nreplicas = 2\nobjects = 1\nfail = \"server=0\"\n[population]\ndistribution = \"constant\"\n\
                size = \"4MiB\"";
    let want = one_unit_s();
    let mut seen = 0;
    for seed in 0..20 {
        let outcome = outcome(text, seed);
        if value(&outcome, "objects_rebuilt") == 1.0 {
            seen += 1;
            let found = value(&outcome, "transfer_s");
            assert!((found - want).abs() < 1e-7, "{found} s, expected {want} s");
        }
    }
    // The object lies on two of three servers.
    assert!(seen > 5, "{seen} of 20 placements touch server 0");
}

/// Many objects of one size from one disk to another: the slower of the two disks sets the pace.
#[test]
fn a_long_stream_runs_at_the_pace_of_its_slowest_stage() {
    let text = "servers = 3\nreplicas = 2\nobjects = 30\nfail = \"server=0\"\nseeks = \"none\"\nplacement = \"static-modulo\"\n\
                recovery_max_active = 1\nwindow = 8\n[population]\ndistribution = \"constant\"\nsize = \"1GiB\"\nlayout = \"whole\"";
    let outcome = outcome(text, 1);
    // Server 0 shares a third of all objects with each of the others; each disk reads its own and writes the
    // other's.
    let (bytes, rate) = (value(&outcome, "bytes_rebuilt"), value(&outcome, "aggregate_rate_bytes_per_s"));
    let unit = 4.0 * 1_048_576.0;
    let both = 23.67e-6 + 29.67e-6 + unit / 1_617_009_050.0 + unit / 1_585_132_340.0;
    let want = 2.0 * unit / both;
    assert!(bytes > 0.0 && (rate / want - 1.0).abs() < 0.12, "{rate}, expected about {want}");
}

#[test]
fn rests_set_the_time_where_they_are_long() {
    let text = "servers = 4\nreplicas = 2\nobjects = 400\nfail = \"server=0\"\nrecovery_sleep = \"100ms\"\n\
                [population]\ndistribution = \"constant\"\nsize = \"1KiB\"";
    let outcome = outcome(text, 2);
    let seen: towtank_recovery::observed::Observed =
        serde_json::from_value(outcome.series["observed"].clone()).unwrap();
    // The disk that leads the most objects sleeps after each object but the last.
    let most = seen.servers.iter().map(|server| server.read / 1024).max().unwrap() as f64;
    let found = value(&outcome, "transfer_s");
    assert!(found > 0.1 * (most - 1.0) && found < 0.11 * most, "{found} s for {most} objects");
    assert!(seen.bottleneck.unwrap().contains("sleep"));
}

#[test]
fn objects_on_both_of_two_failed_servers_are_lost_with_two_copies() {
    let text = "servers = 6\nreplicas = 2\nobjects = 20_000\nfail = [\"server=1\", \"server=2\"]";
    let complete = complete(text);
    let course =
        with(Executor::Sequential, 1, 4, |context| course(&complete, context, false)).unwrap().unwrap();
    let both = (0..course.affected.records())
        .filter(|&record| course.affected.list(record)[..2].iter().all(|device| [1, 2].contains(&device.0)))
        .count();
    assert!(both > 1_000);
    let outcome = outcome(text, 4);
    assert_eq!(value(&outcome, "lost_objects"), both as f64);
    let measure = &outcome.measures["time_to_full_redundancy_s"];
    assert_eq!(measure.value(), None);
    assert!(measure.reason().unwrap().contains("are lost"), "{measure:?}");
    assert_eq!(value(&outcome, "objects_rebuilt") as usize, course.affected.records() - both);
}

/// Objects without a target for one of their copies still have others: how many says whether any was down to
/// a single one.
#[test]
fn objects_without_a_target_may_have_two_copies_left() {
    for (text, has_two) in [
        ("servers = 3\nreplicas = 3\nobjects = 100\nfail = \"server\"", true),
        ("servers = 4\nec = \"2+2\"\nobjects = 100\nfail = \"server\"", true),
        ("servers = 2\nreplicas = 2\nobjects = 100\nfail = \"server\"", false),
        ("servers = 3\nec = \"2+1\"\nobjects = 100\nfail = \"server\"", false),
        ("servers = 3\nreplicas = 3\nobjects = 100\nfail = [\"server=0\", \"server=1\"]", false),
    ] {
        let found = outcome(text, 3);
        assert_eq!(value(&found, "stuck_objects"), 100.0, "{text}");
        let two = &found.measures["time_to_two_copies_s"];
        assert_eq!(two.value(), has_two.then_some(0.0), "{text}");
        assert_eq!(two.reason().is_some_and(|why| why.contains("no valid target")), !has_two, "{text}");
    }
}

/// The parts of the time are those of what happens.
#[test]
fn what_is_replaced_is_never_marked_out() {
    let text = "servers = 4\nobjects = 100\nfail = \"server\"\ndown_out = \"10min\"\ndetection = \"2s\"";
    let out = outcome(text, 3);
    assert_eq!(value(&out, "down_out_s"), 600.0);
    assert!(!out.measures.contains_key("in_place_s") || out.measures["in_place_s"].value().is_none());
    let replaced = outcome(&format!("{text}\nreplace = \"1min\""), 3);
    assert_eq!(replaced.measures["down_out_s"].value(), None);
    let parts = ["detection_s", "in_place_s", "peering_s", "transfer_s"];
    let sum: f64 = parts.iter().filter_map(|part| replaced.measures.get(*part)?.value()).sum();
    let all = value(&replaced, "time_to_full_redundancy_s");
    assert!((sum - all).abs() < 1e-6, "the parts add up to {sum} s, of {all} s");
}

#[test]
fn a_second_failure_loses_only_what_was_not_yet_rebuilt() {
    let lost = |second: &str| {
        let text = format!(
            "servers = 6\nreplicas = 2\nobjects = 2_000\nfail = [\"server=1\", \"server=2@{second}\"]\n\
             [population]\ndistribution = \"constant\"\nsize = \"64MiB\""
        );
        value(&outcome(&text, 4), "lost_objects")
    };
    let (at_once, meanwhile, after) = (lost("0s"), lost("5s"), lost("10h"));
    assert!(at_once > meanwhile && meanwhile > after, "{at_once} {meanwhile} {after}");
    assert_eq!(after, 0.0);
}

#[test]
fn those_below_min_size_take_writes_again_one_after_the_other() {
    for groups in ["", "groups = 60\nmax_backfills = 1\n"] {
        let text = format!("servers = 8\nper_server = \"4GiB\"\n{groups}fail = [\"server=1\", \"server=2\"]");
        let outcome = outcome(&text, 4);
        let below: Vec<(f64, u64)> =
            serde_json::from_value(outcome.series["observed"]["below"].clone()).unwrap();
        assert_eq!(below[0].1 as f64, value(&outcome, "below_min_size"), "{text}");
        assert!(below[0].1 > 0 && below.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{text}: {below:?}");
        assert_eq!(below.last().unwrap().1, 0, "{text}");
    }
}

#[test]
fn what_cannot_be_rebuilt_has_its_reason() {
    let check = |text: &str, words: &str| {
        let outcome = outcome(text, 1);
        let measure = &outcome.measures["time_to_full_redundancy_s"];
        assert_eq!(measure.value(), None, "{text}");
        assert!(measure.reason().unwrap().contains(words), "{text}: {measure:?}");
        assert!(value(&outcome, "stuck_objects") > 0.0, "{text}");
    };
    check("servers = 3\nobjects = 500", "no valid target");
    check("servers = 6\nobjects = 500\nnoout = true", "`noout` is set");
    check("servers = 8\nracks = 4\nobjects = 500\nfail = \"rack\"\nrack_out = false", "not marked out");
    check("servers = 6\nper_server = \"10GiB\"\ndisk_capacity = \"11GiB\"", "backfillfull_ratio");
}

#[test]
fn detection_and_waiting_come_before_transfers() {
    let outcome =
        outcome("servers = 8\nper_server = \"1GiB\"\npreset = \"ceph\"\nrecovery_sleep = \"0s\"", 1);
    let all = value(&outcome, "time_to_full_redundancy_s");
    assert!((all - 620.0 - value(&outcome, "transfer_s")).abs() < 1e-6, "{all}");
    assert_eq!(value(&outcome, "time_to_two_copies_s"), 0.0);
}

#[test]
fn mistakes_are_refused_with_their_next_step() {
    let refusal = |text: &str| {
        let Err(problems) = prepare(text) else { panic!("{text} is legal") };
        let all: Vec<String> = problems
            .iter()
            .map(|problem| format!("{} | {}", problem.message(), problem.next_step().unwrap_or("")))
            .collect();
        all.join("\n")
    };
    insta::assert_snapshot!(refusal("servers = 3\nreplicas = 4"), @"4 copies are required, but there are 3 servers | set more servers, or fewer copies");
    insta::assert_snapshot!(refusal("ec = \"8\""), @r#"`ec` is `8`, which is not an erasure code | write data and parity shards, such as "8+3": at most 64 together"#);
    insta::assert_snapshot!(refusal("fail = \"server=99\""), @"`fail` names `server=99`, but servers go from 0 to 63 | use one of 0 to 63");
    insta::assert_snapshot!(refusal("fail = \"moon\""), @"`fail` names `moon`, which is no server, disk or rack | write server, disk or rack to have one drawn, or name it: server=5, disk=3, rack=1");
    insta::assert_snapshot!(refusal("groups = 8\ngroups_per_server = 3"), @"`groups` and `groups_per_server` both set the number of groups | leave one of them out");
    insta::assert_snapshot!(refusal("failure_domain = \"rack\"\nracks = 4"), @r#"`failure_domain` is `rack`, but only `crush-straw2` supports racks | set placement = "crush-straw2""#);
    insta::assert_snapshot!(refusal("servers = 4\nclient_load = \"50000/s\""), @"`client_load` is 50000/s, but the cluster serves at most 1151/s of 64KiB at 90 % of its disks or NICs | lower it, or set more or faster disks");
    insta::assert_snapshot!(refusal("client_size = \"4KiB\""), @r#"`client_size` describes clients, but `client_load` and `client_depth` are left out | set client_load = "1000/s", or leave it out"#);
    insta::assert_snapshot!(refusal("client_load = \"5/s\"\nclient_size = \"1GiB\""), @"`client_size` is 1GiB, but it must lie from 512B to 64MiB | leave it out for 64KiB");
    insta::assert_snapshot!(refusal("objects = 5\nper_server = \"1GiB\""), @"`objects` and `per_server` both set the amount of data | leave one of them out");
}

#[test]
fn the_resolved_scenario_reads_back() {
    for text in KINDS {
        let ready = complete(text);
        let again: Settled = serde_json::from_value(Rebuild::resolved(&ready)).unwrap();
        assert_eq!(&again, Rebuild::settled(&ready), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any small cluster: the model audits conservation, the bound holds, and the number of workers does not
    /// change the result.
    #[test]
    fn any_small_cluster_keeps_its_promises(
        servers in 5u32..14, replicas in 2u32..4, disks in 1u32..4, mib in 1u64..200, groups in prop::option::of(4u32..50),
        streams in 1u32..5, window in 1u32..9, placement in 0usize..6, seed in 0u64..1000,
    ) {
        let placement = ["crush-vring", "crush-straw", "ring", "multiring", "rendezvous", "jump"][placement];
        let groups = groups.map_or(String::new(), |groups| format!("groups = {groups}\nmax_backfills = 1\n"));
        let text = format!(
            "servers = {servers}\nreplicas = {replicas}\ndisks_per_server = {disks}\nobjects = 300\n\
             recovery_max_active = {streams}\nwindow = {window}\nplacement = \"{placement}\"\n{groups}\
             [population]\ndistribution = \"log_normal\"\nmedian = \"{mib}MiB\"\nsigma = 1.5\nlayout = \"chunks\""
        );
        let ready = complete(&text);
        let run = |executor, workers| with(executor, workers, seed, |context| ready.run(context)).unwrap();
        let want = run(Executor::Sequential, 1);
        prop_assert_eq!(&run(Executor::Optimistic, 2), &want);
        prop_assert_eq!(&run(Executor::Conservative, 2), &want);
        prop_assert_eq!(&run(Executor::Check, 1), &want);
        if let (Some(rate), Some(bound)) = (
            want.measures["aggregate_rate_bytes_per_s"].value(),
            want.measures["bound_rate_bytes_per_s"].value(),
        ) {
            prop_assert!(rate <= bound * (1.0 + 1e-9), "{} beats {}", rate, bound);
        }
        prop_assert!(value(&want, "lost_objects") == 0.0);
    }
}

/// Clients alone on slow disks: each disk is M/D/1 with reads only, so the mean wait is known.
#[test]
fn clients_without_a_rebuild_wait_as_queueing_theory_says() {
    let text = "servers = 5\nper_server = \"2GiB\"\nseeks = \"hdd\"\nclient_load = \"300/s\"\nclient_read = \"100%\"\n\
                client_size = \"64KiB\"\nrate_cap = \"5MiB/s\"";
    let outcome = outcome(text, 3);
    let scenario = complete(text).scenario;
    let disk = towtank_devices::DiskClock::new(scenario.settings.disk(), towtank_units::Bytes::from_mib(4));
    let service =
        (disk.transfer(64 << 10, false).as_secs_f64() + disk.seek(64 << 10, false).as_secs_f64()) * 1e6;
    let load = 60.0 * service / 1e6;
    let wait = load * service / (2.0 * (1.0 - load));
    // Added to the wait: the request, the transfer of the reply over the NIC, and a NIC that is nearly always
    // free.
    let hardware = cluster::machines(&scenario, None, 0);
    let card = hardware.card();
    let way = hardware.control().as_secs_f64()
        + card.span(64 << 10).as_secs_f64()
        + card.spec().latency.as_secs_f64();
    let want = service + wait + way * 1e6;
    let got = value(&outcome, "client_read_latency_quiet_mean_us");
    assert!((got / want - 1.0).abs() < 0.02, "{got} instead of {want}, load {load}");
}

#[test]
fn weight_shifts_the_burden_between_clients_and_the_rebuild() {
    let run = |weight: u32| {
        outcome(
            &format!(
                "servers = 8\nper_server = \"8GiB\"\nseeks = \"hdd\"\nclient_load = \"500/s\"\nclient_weight = {weight}\n\
                 window = 8"
            ),
            2,
        )
    };
    let (even, kind) = (run(1), run(20));
    let alone = outcome("servers = 8\nper_server = \"8GiB\"\nseeks = \"hdd\"\nwindow = 8", 2);
    let latency = |outcome: &Outcome| value(outcome, "client_read_latency_mean_us");
    assert!(latency(&kind) < 0.8 * latency(&even), "{} and {}", latency(&kind), latency(&even));
    assert!(latency(&kind) > value(&kind, "client_read_latency_quiet_mean_us"));
    let time = |outcome: &Outcome| value(outcome, "transfer_s");
    assert!(
        time(&alone) < time(&even) && time(&even) < time(&kind) * 1.02,
        "{} {} {}",
        time(&alone),
        time(&even),
        time(&kind)
    );
    assert_eq!(value(&alone, "bytes_rebuilt"), value(&kind, "bytes_rebuilt"));
}

#[test]
fn exports_of_ceph_are_for_whatif() {
    let refusal = |text: &str| {
        let source = Source::file("rebuild.toml", format!("study = \"rebuild\"\n{text}"));
        let outline = Document::parse(&source).unwrap().outline().unwrap();
        let draft = outline.points()[0].draft();
        let problems = Rebuild::check(draft.read().unwrap(), draft).expect_err("it is refused");
        let problem = problems.iter().next().expect("there is one").clone();
        format!("{}\n{}", problem.message(), problem.next_step().unwrap_or_default())
    };
    let plain = "osd_dump = \"d.json\"\ncrush_map = \"m\"\nfail = \"osd.3@2h\"\npeering = \"5s\"\n";
    insta::assert_snapshot!("exports_of_ceph_with_a_start", refusal(plain));
    insta::assert_snapshot!(refusal(
        "report = \"r.json\"\nfail = [\"osd.3\", \"host@2h\"]\npreset = \"paper\"\nmax_backfills = 2\n"
    ));
}
