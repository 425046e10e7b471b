//! Bursts: published and exact values, small systems by exhaustion, and the ways to find one value against
//! each other.

use proptest::prelude::*;
use towtank_durability::burst::copysets::{self, Nodes, Sets};
use towtank_durability::burst::{Explicit, Layout, Method, Units, share_of};
use towtank_durability::{DurabilityError, Group};
use towtank_streams::Seed;

use crate::golden::{Row, all_met, rows};

fn layout_of(row: &Row) -> Layout {
    let (racks, disks) = (row.count("racks"), row.count("disks_per_rack"));
    let layout = |racks_per_set, local, local_tolerance, top_tolerance| Layout {
        sets: racks / racks_per_set,
        racks_per_set,
        places: disks / local,
        local,
        local_tolerance,
        top_tolerance,
    };
    match row.case.as_str() {
        "burst local 8+2" => layout(1, 10, 2, 0),
        "burst declustered 8+2" => layout(1, 100, 2, 0),
        "burst network 8+2" => layout(10, 1, 0, 2),
        "burst MLEC (9+1)(9+1)" => layout(10, 10, 1, 1),
        other => panic!("no layout is called {other}"),
    }
}

#[test]
fn regular_layouts_meet_their_rows_to_every_digit() {
    let rows = rows("burst");
    assert_eq!(rows.len(), 22);
    let value = |layout: Layout, row: &Row| layout.loss(row.count("failed_disks"), row.count("racks_hit"));
    all_met(&rows, |row| value(layout_of(row), row).expect("the row is a burst"));
    for row in &rows {
        let wrong = Layout { places: layout_of(row).places - 1, ..layout_of(row) };
        assert!(!row.is_met_by(value(wrong, row).expect("a burst")), "{} with a place less", row.case);
    }
}

#[test]
fn copysets_meet_their_rows() {
    let nodes = |row: &Row| Nodes {
        nodes: row.count("nodes") as u64,
        lost: row.count("nodes_lost") as u64,
        copies: row.count("replicas") as u64,
    };
    let loss = |row: &Row, sets| copysets::loss(nodes(row), sets).expect("the row is a burst");
    let exact = |row: &Row, value: f64| {
        let want = row.recomputed.unwrap_or(row.value);
        assert!((value / want - 1.0).abs() < 5e-6, "{}: {value:.7e}, not {want:.6e}", row.case);
    };
    for row in rows("copysets") {
        let width = row.params["scatter_width"].as_u64().unwrap_or(0);
        match row.case.as_str() {
            "copysets RAMCloud random" => {
                let chunks = row.number("nodes") * row.number("chunks_per_node") / 3.0;
                exact(&row, loss(&row, Sets::Chunks { chunks }));
            }
            "copysets HDFS Facebook random" => {
                exact(&row, loss(&row, Sets::Random { scatter_width: width }));
                assert!(!row.is_met_by(loss(&row, Sets::Random { scatter_width: width })));
                assert!(
                    row.is_met_by(loss(&row, Sets::Known(55.0 * row.number("nodes")))),
                    "22.8 % needs 55 sets"
                );
            }
            "copysets partition exact" => {
                let value = copysets::partition(nodes(&row)).expect("the sets divide the nodes");
                assert!(row.is_met_by(value), "{value:e}");
                let formula = loss(&row, Sets::Copyset { scatter_width: 2 });
                exact(&row, formula);
                assert!(!row.is_met_by(formula), "the formula takes sets as independent, which shows here");
            }
            _ if row.params["scheme"] == "random" => {
                exact(&row, loss(&row, Sets::Random { scatter_width: width }))
            }
            _ => exact(&row, loss(&row, Sets::Copyset { scatter_width: width })),
        }
    }
    let lost = Nodes { nodes: 10, lost: 11, copies: 3 };
    assert!(copysets::loss(lost, Sets::Known(1.0)).is_err());
}

/// A layout as an explicit list: a host for each device.
fn explicit(layout: Layout, devices: usize) -> Explicit {
    assert!(layout.racks_per_set == 1 || layout.local == 1, "only one level can be a list of groups");
    let racks = layout.sets * layout.racks_per_set;
    let per_rack = layout.places * layout.local;
    assert_eq!(racks * per_rack, devices);
    let host_of = (0..devices).collect();
    let rack_of = (0..devices).map(|device| device / per_rack).collect();
    let groups = if layout.racks_per_set == 1 {
        let member = |group: usize| (0..layout.local).map(move |place| group * layout.local + place);
        let group = |index| Group { devices: member(index).collect(), tolerance: layout.local_tolerance };
        (0..racks * layout.places).map(group).collect()
    } else {
        let in_set = |set: usize, place: usize| {
            let rack = move |rack: usize| (set * layout.racks_per_set + rack) * per_rack + place;
            (0..layout.racks_per_set).map(rack).collect()
        };
        let place = |set| (0..layout.places).map(move |place| (set, place));
        let all = (0..layout.sets).flat_map(place);
        all.map(|(set, place)| Group { devices: in_set(set, place), tolerance: layout.top_tolerance })
            .collect()
    };
    Explicit::new(host_of, rack_of, groups).expect("it names what is there")
}

#[test]
fn layouts_are_as_their_lists_by_exhaustion() {
    let local =
        Layout { sets: 3, racks_per_set: 1, places: 2, local: 3, local_tolerance: 1, top_tolerance: 0 };
    let network =
        Layout { sets: 2, racks_per_set: 3, places: 3, local: 1, local_tolerance: 0, top_tolerance: 1 };
    for layout in [local, network] {
        let list = explicit(layout, 18);
        for failed in 2..=6 {
            for racks in 1..=4 {
                let found = list.loss(Units::Devices, (failed, Some(racks)), 0, Seed(0));
                match layout.loss(failed, racks) {
                    Ok(want) => {
                        let found = found.expect("the layout has such a burst");
                        assert_eq!(found.method, Method::Exhausted);
                        assert!(
                            (found.loss - want).abs() < 1e-12,
                            "{layout:?} {failed} {racks}: {found:?} {want}"
                        );
                    }
                    Err(refused) => assert_eq!(found, Err(refused), "{layout:?}"),
                }
            }
            let found = list.loss(Units::Devices, (failed, None), 0, Seed(0)).expect("a burst");
            let want = layout.loss_anywhere(failed).expect("a burst");
            assert!((found.loss - want).abs() < 1e-12, "{layout:?} {failed}");
        }
    }
}

/// Local and network groups in one: by looking at every set of failed devices.
#[test]
fn two_levels_are_as_every_set_says() {
    let layout =
        Layout { sets: 1, racks_per_set: 3, places: 2, local: 3, local_tolerance: 1, top_tolerance: 1 };
    for failed in 3..=7u32 {
        for racks in 1..=3u32 {
            let (mut sets, mut losses) = (0u32, 0u32);
            for set in (0u32..1 << 18).filter(|set| set.count_ones() == failed) {
                let rack = |rack: u32| set >> (6 * rack) & 0b11_1111;
                if (0..3).filter(|index| rack(*index) != 0).count() != racks as usize {
                    continue;
                }
                let lost = |index: u32, place: u32| (rack(index) >> (3 * place) & 0b111).count_ones() > 1;
                let is_lost = (0..2).any(|place| (0..3).filter(|index| lost(*index, place)).count() > 1);
                sets += 1;
                losses += u32::from(is_lost);
            }
            match layout.loss(failed as usize, racks as usize) {
                Ok(found) => {
                    assert!((found - f64::from(losses) / f64::from(sets)).abs() < 1e-12, "{failed} {racks}")
                }
                Err(_) => assert_eq!(sets, 0, "{failed} {racks}"),
            }
        }
    }
}

#[test]
fn large_lists_are_counted_or_drawn() {
    let layout =
        Layout { sets: 10, racks_per_set: 1, places: 10, local: 10, local_tolerance: 2, top_tolerance: 0 };
    let list = explicit(layout, 1000);
    for racks in [None, Some(1), Some(2)] {
        let want = match racks {
            Some(racks) => layout.loss(3, racks).expect("a burst"),
            None => layout.loss_anywhere(3).expect("a burst"),
        };
        let found = list.loss(Units::Devices, (3, racks), 0, Seed(0)).expect("a burst");
        assert_eq!(found.method, Method::Counted);
        assert!((found.loss - want).abs() <= 1e-9 * want, "{racks:?}: {} {want}", found.loss);
    }
    let mut misses = 0;
    for seed in 0..20 {
        let found = list.loss(Units::Devices, (12, Some(3)), 20_000, Seed(seed)).expect("a burst");
        let want = layout.loss(12, 3).expect("a burst");
        assert!(matches!(found.method, Method::Drawn { sets: 20_000, losses } if losses > 0), "{found:?}");
        misses += u32::from(!found.interval.holds(want));
        let wrong = Layout { local_tolerance: 1, ..layout }.loss(12, 3).expect("a burst");
        assert!(!found.interval.holds(wrong), "a tolerance of 1 is not taken for one of 2");
    }
    // Of 20 intervals of 95 %, five or more miss once in 400.
    assert!(misses < 5, "{misses} of 20 intervals miss");
    let refused = list.loss(Units::Devices, (5, Some(6)), 1000, Seed(0));
    assert_eq!(refused, Err(DurabilityError::NoSuchBurst { failed: 5, racks: 6 }));
}

#[test]
fn hosts_fail_with_their_devices() {
    // Four hosts of two devices in two racks; three groups of two copies, tolerance 1.
    let host_of = vec![0, 0, 1, 1, 2, 2, 3, 3];
    let group = |left, right| Group { devices: vec![left, right], tolerance: 1 };
    let groups = vec![group(0, 2), group(1, 3), group(4, 6)];
    let list = Explicit::new(host_of.clone(), vec![0, 0, 1, 1], groups).expect("it names what is there");
    let found = list.loss(Units::Hosts, (2, None), 0, Seed(0)).expect("a burst");
    // Of six pairs of hosts, (0, 1) loses two groups and (2, 3) one.
    assert!(
        (found.loss - 2.0 / 6.0).abs() < 1e-15 && (found.groups_lost - 3.0 / 18.0).abs() < 1e-15,
        "{found:?}"
    );
    let across = list.loss(Units::Hosts, (2, Some(2)), 0, Seed(0)).expect("a burst");
    assert_eq!(across.loss, 0.0);
    assert_eq!((share_of(0.01, 250), share_of(0.01, 200), share_of(0.5, 4)), (3, 2, 2));
    let stray = Explicit::new(host_of, vec![0, 0, 1], vec![group(0, 1)]).expect_err("host 3 is not there");
    assert_eq!(stray.to_string(), "device 6 names 3, but there are 3: name one of these");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// More failures lose more; more tolerance and racks that share them lose less.
    #[test]
    fn bursts_are_monotone(local in 3usize..8, places in 1usize..5, racks in 2usize..5, failed in 2usize..9) {
        let layout = |local_tolerance| Layout {
            sets: racks, racks_per_set: 1, places, local, local_tolerance, top_tolerance: 0,
        };
        prop_assume!(failed < local * places);
        let here = layout(1).loss(failed, 1).expect("one rack has that many devices");
        let more = layout(1).loss_anywhere(failed + 1).expect("there are so many devices");
        let anywhere = layout(1).loss_anywhere(failed).expect("there are so many devices");
        prop_assert!(more >= anywhere - 1e-12 && anywhere <= here + 1e-12);
        prop_assert!(layout(2).loss(failed, 1).expect("a burst") <= here);
        prop_assert!((0.0..=1.0).contains(&here));
    }
}
