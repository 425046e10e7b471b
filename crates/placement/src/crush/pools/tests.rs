//! Tests of the mappings on top of CRUSH, on a cluster of five devices.

use super::*;
use crate::crush::text::compile;

const TEXT: &str = "device 0 a\ndevice 1 b\ndevice 2 c\ndevice 3 d\ndevice 4 e\ntype 0 osd\ntype 1 root\nroot r { id -1 alg straw2
 item a weight 1 item b weight 1 item c weight 1 item d weight 1 item e weight 1 }
rule rep { id 0 type replicated min_size 1 max_size 4 step take r step choose firstn 0 type osd step emit }
rule ec { id 1 type erasure min_size 1 max_size 10 step take r step choose indep 0 type osd step emit }";

const POOL: Pool =
    Pool { id: 1, kind: RuleKind::Replicated, size: 3, rule: 0, pg_num: 8, pgp_num: 8, hashpspool: true };
const CODED: Pool = Pool { kind: RuleKind::Erasure, rule: 1, ..POOL };
const GROUP: PgId = PgId { pool: 1, seed: 0 };

/// The placement of group 0 after `change`, and its devices before.
fn placed(pool: &Pool, change: impl FnOnce(&mut Overlay, &[ItemId])) -> (GroupPlacement, Vec<ItemId>) {
    let map = compile(TEXT).unwrap();
    let mut overlay = Overlay { devices: vec![Device::IN; 5], ..Overlay::default() };
    let before = Placer::new(&map, &overlay).place(pool, 0).up.devices;
    change(&mut overlay, &before);
    (Placer::new(&map, &overlay).place(pool, 0), before)
}

fn spare(before: &[ItemId]) -> ItemId {
    (0..5).find(|id| !before.contains(id)).unwrap()
}

#[test]
fn a_device_that_is_down_leaves_a_shorter_list_or_a_hole() {
    let down = |overlay: &mut Overlay, before: &[ItemId]| overlay.devices[before[0] as usize].up = false;
    let (after, before) = placed(&POOL, down);
    assert_eq!(after.up.devices, before[1..]);
    assert_eq!(after.up.primary, Some(before[1]));
    let (after, before) = placed(&CODED, down);
    assert_eq!(after.up.devices, [NONE, before[1], before[2]]);
    assert_eq!(after.up.primary, Some(before[1]));
}

#[test]
fn a_device_that_is_out_is_replaced() {
    let (after, before) = placed(&POOL, |overlay, before| overlay.devices[before[0] as usize].weight = 0);
    assert_eq!(after.up.devices.len(), 3);
    assert!(!after.up.devices.contains(&before[0]));
}

#[test]
fn explicit_mappings_hold_unless_their_target_is_out() {
    let swap = |overlay: &mut Overlay, before: &[ItemId]| {
        overlay.upmap_items.insert(GROUP, vec![(before[1], spare(before))]);
    };
    let (after, before) = placed(&POOL, swap);
    assert_eq!(after.up.devices, [before[0], spare(&before), before[2]]);
    let (after, before) = placed(&POOL, |overlay, before| {
        swap(overlay, before);
        overlay.devices[spare(before) as usize].weight = 0;
    });
    assert_eq!(after.up.devices, before);
    let (after, _) = placed(&POOL, |overlay, _| {
        overlay.upmap.insert(GROUP, vec![4, 3, 2]);
    });
    assert_eq!(after.up.devices, [4, 3, 2]);
}

#[test]
fn a_swap_to_a_device_that_is_there_already_does_nothing() {
    let (after, before) = placed(&POOL, |overlay, before| {
        overlay.upmap_items.insert(GROUP, vec![(before[0], before[1]), (before[1], before[0])]);
    });
    assert_eq!(after.up.devices, before);
}

#[test]
fn an_unwilling_primary_steps_back() {
    let (after, before) = placed(&POOL, |overlay, before| {
        overlay.devices[before[0] as usize].primary_affinity = 0;
    });
    assert_eq!(after.up.devices, [before[1], before[0], before[2]]);
    let (after, before) = placed(&CODED, |overlay, before| {
        overlay.devices[before[0] as usize].primary_affinity = 0;
    });
    assert_eq!((after.up.devices, after.up.primary), (before.clone(), Some(before[1])));
    let (after, before) = placed(&POOL, |overlay, _| {
        overlay.devices.iter_mut().for_each(|device| device.primary_affinity = 0);
    });
    assert_eq!(after.up.primary, Some(before[0]));
}

#[test]
fn the_read_balancer_names_the_primary_of_copies() {
    let named = |pool: &Pool, place: usize, change: &dyn Fn(&mut Overlay, &[ItemId])| {
        let (after, before) = placed(pool, |overlay, before| {
            overlay.upmap_primary.insert(GROUP, before[place]);
            change(overlay, before);
        });
        let places = after.up.devices.iter().map(|id| before.iter().position(|one| one == id).unwrap());
        places.collect::<Vec<_>>()
    };
    assert_eq!(named(&POOL, 2, &|_, _| {}), [2, 1, 0]);
    assert_eq!(named(&CODED, 2, &|_, _| {}), [0, 1, 2], "shards have their places");
    let unwilling = |overlay: &mut Overlay, before: &[ItemId]| {
        overlay.devices[before[1] as usize].primary_affinity = 0;
    };
    assert_eq!(named(&POOL, 1, &unwilling), [0, 1, 2], "affinity is looked at afterwards");
    let elsewhere = |overlay: &mut Overlay, before: &[ItemId]| {
        let other = (0..overlay.devices.len() as ItemId).find(|id| !before.contains(id)).unwrap();
        overlay.upmap_primary.insert(GROUP, other);
    };
    assert_eq!(named(&POOL, 1, &elsewhere), [0, 1, 2], "it is none of the group's");
}

#[test]
fn temporary_mappings_serve_without_changing_the_target() {
    let (after, before) = placed(&POOL, |overlay, _| {
        overlay.pg_temp.insert(GROUP, vec![4, 0]);
        overlay.primary_temp.insert(GROUP, 0);
    });
    assert_eq!(after.up.devices, before);
    assert_eq!(after.acting, Placed { devices: vec![4, 0], primary: Some(0) });
}

#[test]
fn a_rule_that_does_not_fit_the_pool_places_nothing() {
    let (after, _) = placed(&Pool { size: 5, ..POOL }, |_, _| {});
    assert_eq!(after.up, Placed { devices: vec![], primary: None });
}

#[test]
#[should_panic(expected = "CRUSH finds no more devices for a group than its pool asks for: 4 of 3")]
fn more_devices_than_were_asked_for_break_a_law() {
    let map = Map::default();
    let overlay = Overlay::default();
    let placer = Placer::new(&map, &overlay);
    placer.place_raw(&POOL, 0, vec![0, 1, 2, 3]);
}
