//! The page for a small cluster; the tests of the command check its format.

use std::collections::BTreeMap;

use super::*;
use crate::map::{Change, ClusterMap, OsdState};

fn standing() -> Standing {
    let osd = |is_up| OsdState { is_up, is_in: true, ..OsdState::default() };
    let map = ClusterMap {
        epoch: 7,
        change: Change::Osds,
        osds: [(0, osd(true)), (1, osd(false))].into(),
        temporary: BTreeMap::new(),
        gone: Vec::new(),
        oldest: 1,
    };
    let group = GroupReport {
        acting: vec![0],
        serves: true,
        missing: 3,
        targets: 1,
        unfound: 2,
        objects: 5,
        bytes: 500,
        ..GroupReport::default()
    };
    let report = Report {
        epoch: 7,
        led: [(0, group)].into(),
        objects: 5,
        bytes: 500,
        disk_bytes: 9_000,
        free_bytes: 70_000,
        is_full: true,
        summary_bytes: 131_072,
        counters: Counters { requests: 12, backfill_ns: 1_500_000_000, ..Counters::default() },
        ..Report::default()
    };
    Standing { map, replicas: 2, groups: 2, reports: [(0, report)].into(), older: None }
}

#[test]
fn everything_that_the_monitor_knows_is_shown() {
    let standing = standing();
    let page = text_of(&standing, &Health::of(&standing));
    for line in [
        "towtank_health_status 2",
        "towtank_map_epoch 7",
        "towtank_objects 5",
        "towtank_groups{state=\"unknown\"} 1",
        "towtank_groups{state=\"active+undersized+degraded+recovery_unfound+backfilling\"} 1",
        "towtank_groups_unavailable 1",
        "towtank_objects_missing 3",
        "towtank_objects_unfound 2",
        "towtank_group_objects_missing{group=\"0\"} 3",
        "towtank_replicas_to_backfill 1",
        "towtank_osd_up{osd=\"0\"} 1",
        "towtank_osd_up{osd=\"1\"} 0",
        "towtank_osd_in{osd=\"1\"} 1",
        "towtank_osd_disk_bytes{osd=\"0\"} 9000",
        "towtank_osd_free_bytes{osd=\"0\"} 70000",
        "towtank_osd_full{osd=\"0\"} 1",
        "towtank_osd_summary_bytes{osd=\"0\"} 131072",
        "# TYPE towtank_osd_requests_total counter",
        "towtank_osd_requests_total{osd=\"0\"} 12",
        "towtank_osd_backfill_seconds_total{osd=\"0\"} 1.500000000",
    ] {
        assert!(page.lines().any(|other| other == line), "no `{line}` in\n{page}");
    }
}

/// Reports from before the last map are not shown as the current state of groups.
#[test]
fn old_reports_say_nothing_of_groups() {
    let mut standing = standing();
    standing.map.epoch = 8;
    let page = text_of(&standing, &Health::of(&standing));
    assert!(!page.contains("towtank_group_objects{"), "{page}");
    assert!(page.contains("towtank_groups{state=\"unknown\"} 2"), "{page}");
    assert!(page.contains("towtank_osd_objects{osd=\"0\"} 5"), "{page}");
}
