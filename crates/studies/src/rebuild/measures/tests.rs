//! Every measure of a rebuild, on a replicate whose counts were set by hand.

use towtank_kernel::Executor;

use super::super::generated;
use super::super::tests::{complete, with};
use super::*;
use towtank_metrics::Histogram;
use towtank_rebuild::ledger::Stuck;
use towtank_recovery::resources::Kind;
use towtank_study::testing::by_hand;

/// A rebuild of 95 seconds, which began 40 seconds after the failure.
fn seen() -> Seen {
    let text = "servers = 6\nobjects = 60\ngroups = 12\nclient_load = \"10/s\"\nfail = \"server@10s\"";
    let run = with(Executor::Sequential, 1, 1, |context| generated::seen(&complete(text), context));
    let mut seen = run.unwrap().seen.unwrap();
    let at = |seconds| SimTime::ZERO.saturating_add(SimSpan::from_secs(seconds));
    seen.waiting.detection = SimSpan::from_secs(10);
    seen.waiting.down_out = SimSpan::from_secs(30);
    seen.waiting.peering = SimSpan::from_secs(3);
    seen.replicate.setting.survivors = 5;
    seen.replicate.setting.capacity = Some(vec![100; 2]);
    // Copies that only move to a new ring follow those that were lost.
    seen.replicate.affected.follows = true;
    let recovered = &mut seen.replicate.recovered;
    recovered.last_write = at(105);
    recovered.last_by_spare[0] = Some(at(85));
    recovered.last_by_spare[1] = Some(at(95));
    recovered.moving = SimSpan::from_secs(60);
    recovered.bytes = 6_000;
    recovered.ideal = SimSpan::from_secs(20);
    recovered.bound = SimSpan::from_secs(50);
    recovered.jobs = 41;
    recovered.unwritten = 13;
    recovered.taken_back[0] = Some(at(5));
    recovered.below_min_size = 17;
    recovered.drivers = 231;
    recovered.fill = vec![30, 70];
    let waited = recovered.clients.as_mut().unwrap();
    let histogram = |us: [u64; 2]| {
        let mut histogram = Histogram::new();
        us.iter().for_each(|us| histogram.record(us * 1_000));
        histogram
    };
    waited.during.reads = histogram([220, 420]);
    waited.during.writes = histogram([1_000, 2_000]);
    waited.quiet.reads = histogram([130, 150]);
    waited.quiet.writes = histogram([710, 750]);
    (waited.during_span, waited.quiet_span) = (SimSpan::from_secs(16), SimSpan::from_secs(5));
    seen.observed.servers.truncate(3);
    let busy = [(800, 0.5, 0.1, 0.35), (100, 0.25, 0.2, 0.15), (0, 0.1, 0.05, 0.3)];
    for (server, (written, disk, sending, receiving)) in seen.observed.servers.iter_mut().zip(busy) {
        (server.written, server.disk_busy) = (written, disk);
        (server.sending_busy, server.receiving_busy) = (sending, receiving);
    }
    // Rates of 20, 30 and 10: their ranks are 2, 3 and 1.
    let passed = [(1, 4, 16, 1.0), (2, 60, 0, 2.0), (3, 0, 5, 0.5)];
    for (server, (peers, sent, received, active)) in seen.observed.servers.iter_mut().zip(passed) {
        (server.peers, server.active_s) = (Some(peers), active);
        (server.sent, server.received) = (sent, received);
    }
    let resource = |kind: Kind, busiest, mean| Resource {
        kind,
        which: String::new(),
        busiest,
        mean,
        saturated: 0,
        count: 1,
    };
    seen.replicate.setting.by_disk = true;
    let disk = |read, written| DiskSeen { disk: String::new(), read, written, busy: 0.0 };
    seen.observed.disks = vec![disk(31, 6), disk(11, 23)];
    seen.observed.resources = vec![
        resource(Kind::Sleep, 0.91, 0.09),
        resource(Kind::IdleItems, 0.93, 0.07),
        resource(Kind::Disks, 0.92, 0.45),
        resource(Kind::Uplinks, 0.55, 0.01),
        resource(Kind::Reservations, 0.93, 0.15),
    ];
    seen
}

/// Lost or stuck objects leave no time to full redundancy, so their counts are checked separately from the
/// other measures.
#[test]
fn each_measure_has_its_own_value() {
    let seen = seen();
    let affected = &seen.replicate.affected;
    let (objects, groups) = (affected.objects() as f64, affected.records() as f64);
    let expected = [
        ("time_to_full_redundancy_s", 85.0),
        ("time_to_two_copies_s", 75.0),
        ("time_to_new_ring_s", 95.0),
        ("detection_s", 10.0),
        ("down_out_s", 30.0),
        ("peering_s", 3.0),
        ("transfer_s", 60.0),
        ("aggregate_rate_bytes_per_s", 100.0),
        ("ideal_rate_bytes_per_s", 300.0),
        ("bound_rate_bytes_per_s", 120.0),
        ("ideal_share", 1.0 / 3.0),
        ("rate_per_survivor_bytes_per_s", 20.0),
        ("bytes_rebuilt", 6_000.0),
        ("objects_affected", objects),
        ("objects_rebuilt", 41.0),
        ("objects_unwritten", 13.0),
        ("groups_affected", groups),
        ("lost_objects", 0.0),
        ("stuck_objects", 0.0),
        ("below_min_size", 17.0),
        ("servers_driving", 231.0),
        ("servers_writing", 2.0),
        ("written_max_over_mean", 800.0 / 300.0),
        ("peers_rate_correlation", -0.5),
        ("disk_busy_max", 0.5),
        ("disk_busy_mean", 0.45),
        ("card_busy_max", 0.35),
        ("uplink_busy_max", 0.55),
        ("reserving_share", 0.15),
        ("sleeping_share", 0.09),
        ("idle_items_share", 0.07),
        ("disk_read_bytes_max", 31.0),
        ("disk_read_bytes_mean", 21.0),
        ("disk_written_bytes_max", 23.0),
        ("disk_written_bytes_mean", 14.5),
        ("max_device_fill", 0.7),
        ("client_operations", 4.0),
        ("client_operations_per_s", 0.25),
        ("client_operations_quiet_per_s", 0.8),
        ("client_read_latency_mean_us", 320.0),
        ("client_read_latency_p99_us", 420.0),
        ("client_write_latency_mean_us", 1_500.0),
        ("client_write_latency_p99_us", 2_000.0),
        ("client_read_latency_quiet_mean_us", 140.0),
        ("client_read_latency_quiet_p99_us", 150.0),
        ("client_write_latency_quiet_mean_us", 730.0),
        ("client_write_latency_quiet_p99_us", 750.0),
    ];
    let apart = ["lost_objects", "stuck_objects"];
    // What is replaced is not marked out, and new disks are no new ring: these are checked where disks are
    // replaced.
    let in_place = |row: &Row| ["in_place_s", "time_to_rebalanced_s"].contains(&row.name.as_ref());
    let others = || {
        let rows = measures().into_iter();
        rows.filter(|row| !apart.contains(&row.name.as_ref()) && !in_place(row)).collect()
    };
    let expected: Vec<_> = expected.into_iter().filter(|(name, _)| !apart.contains(name)).collect();
    by_hand::hold(others, &seen, &expected);
}

#[test]
fn what_is_lost_and_what_is_stuck_are_counted_apart_and_leave_no_end() {
    let mut seen = seen();
    seen.replicate.recovered.stuck = Stuck { lost: 3, waiting: 4, homeless: 5, full: 6, ..Stuck::default() };
    let value = |name: &str| measures().iter().find(|row| row.name == name).unwrap().value(&seen);
    assert_eq!(value("lost_objects"), Ok(3.0));
    assert_eq!(value("stuck_objects"), Ok(15.0));
    for time in ["time_to_full_redundancy_s", "time_to_two_copies_s"] {
        assert!(value(time).unwrap_err().starts_with("3 objects are lost"), "{time}");
    }
}

/// Measures of clients appear only where there are clients; a replicate that was stopped gives a reason for
/// each missing measure.
#[test]
fn clients_are_measured_where_there_are_some() {
    let mut seen = seen();
    seen.replicate.recovered.clients = None;
    let mut outcome = towtank_report::Outcome::default();
    towtank_study::measures::record(&mut outcome, &measures(), Ok(&seen)).unwrap();
    assert!(!outcome.measures.keys().any(|name| name.starts_with("client")));
    let mut outcome = towtank_report::Outcome::default();
    towtank_study::measures::record(&mut outcome, &measures(), Err("it was stopped")).unwrap();
    assert_eq!(outcome.measures.len(), measures().len());
}
