//! The positions of disks and servers, and what faster machines share with those that they replace.

use proptest::prelude::*;

use super::*;
use crate::sample::{self, Size, UNIT};

proptest! {
    /// Every disk has one place in one server, and the servers together hold all disks.
    #[test]
    fn each_disk_has_one_place(
        racks in 1u32..5, servers in 1u32..12, disks in 1u32..6, bytes in 1u64..1 << 40
    ) {
        let racks = racks.min(servers);
        let hardware = sample::hardware(Size { racks, servers, disks });
        prop_assert_eq!(hardware.devices(), servers * disks);
        prop_assert_eq!((hardware.servers(), hardware.racks()), (servers, racks));
        let mut seen = 0;
        for server in 0..servers {
            prop_assert!(hardware.rack_of(server) < racks);
            for (place, device) in hardware.devices_of(server).enumerate() {
                prop_assert_eq!(device, DeviceId(seen));
                prop_assert_eq!(hardware.server_of(device), server);
                prop_assert_eq!(hardware.place_of(device), place);
                seen += 1;
            }
        }
        prop_assert_eq!(seen, hardware.devices());
        let units = u64::from(hardware.units(bytes.min(UNIT << 30)));
        let bytes = bytes.min(UNIT << 30);
        prop_assert!(units * UNIT >= bytes && (units - 1) * UNIT < bytes);
    }
}

#[test]
fn faster_machines_take_half_as_long() {
    let hardware = sample::hardware(Size { racks: 2, servers: 4, disks: 2 });
    let (one, two) = (DeviceId(0), SimSpan::from_ns(2));
    let disks = hardware.faster_disks();
    for write in [false, true] {
        let before = hardware.disk(one).transfer(UNIT, write);
        assert_eq!(disks.disk(one).transfer(UNIT, write).saturating_mul(2), before);
        assert_eq!(disks.disk(one).seek(UNIT, write).saturating_mul(2), hardware.disk(one).seek(UNIT, write));
    }
    assert_eq!(disks.card().span(UNIT), hardware.card().span(UNIT), "cards stay as they are");
    let cards = hardware.faster_cards();
    assert_eq!(cards.card().span(UNIT).saturating_mul(2), hardware.card().span(UNIT));
    assert_eq!(cards.card().spec().latency, hardware.card().spec().latency);
    assert_eq!(cards.disk(one).transfer(UNIT, true), hardware.disk(one).transfer(UNIT, true));
    let uplinks = hardware.faster_uplinks().and_then(|faster| faster.uplinks()).map(|uplinks| uplinks.rate);
    assert_eq!(uplinks, Some(sample::rate(800_000_000)));
    let flat = sample::hardware(Size { racks: 1, servers: 4, disks: 2 });
    assert!(flat.faster_uplinks().is_none() && flat.uplinks().is_none());
    assert_eq!(
        (at_speed(two, 2_000), at_speed(SimSpan::from_ns(1), 2_000)),
        (SimSpan::from_ns(1), SimSpan::ZERO)
    );
    assert_eq!(double(sample::rate(u64::MAX)), sample::rate(u64::MAX), "twice the greatest rate is itself");
}

fn names(servers: usize, disks: usize, racks: usize) -> Names {
    let of = |what: &str, count: usize| (0..count).map(|number| format!("{what}-{number}")).collect();
    Names { servers: of("host", servers), disks: of("osd", disks), racks: of("rack", racks) }
}

#[test]
fn machines_are_called_by_name_or_number() {
    let hardware = sample::hardware(Size { racks: 2, servers: 2, disks: 2 });
    assert!(hardware.names().is_none());
    assert_eq!(hardware.disk_name(DeviceId(3)), "disk 3");
    assert_eq!((hardware.server_name(1), hardware.rack_name(0)), ("server 1".into(), "rack 0".into()));
    let named = hardware.with_names(names(2, 4, 2));
    assert_eq!(named.disk_name(DeviceId(3)), "osd-3");
    assert_eq!((named.server_name(1), named.rack_name(0)), ("host-1".into(), "rack-0".into()));
    assert_eq!(named.names(), Some(&names(2, 4, 2)));
}

#[test]
#[should_panic(expected = "names of disks, and disks")]
fn a_name_too_few_is_refused() {
    let _ = sample::hardware(Size { racks: 2, servers: 2, disks: 2 }).with_names(names(2, 3, 2));
}

fn made(server_of: &[u32], unit: u64) -> Hardware {
    let usual = sample::hardware(Size { racks: 1, servers: 1, disks: 1 });
    let disk = usual.disk(DeviceId(0)).spec().clone();
    let class_of = vec![0; server_of.len()];
    let layout = Layout { server_of: server_of.to_vec(), rack_of: vec![0; 2], class_of };
    Hardware::new(layout, vec![disk], *usual.card().spec(), None, Bytes::new(unit))
}

#[test]
fn a_server_may_have_no_disk() {
    let hardware = made(&[1, 1], 1);
    assert_eq!(hardware.devices_of(0).len(), 0);
    assert_eq!(hardware.devices_of(1).collect::<Vec<_>>(), [DeviceId(0), DeviceId(1)]);
    assert_eq!([hardware.kinds(), hardware.class_of(DeviceId(1))], [1, 0]);
    assert_eq!(
        hardware.control(),
        SimSpan::from_ns(3_128),
        "a latency, and 128 bytes at a byte a nanosecond"
    );
}

#[test]
#[should_panic(expected = "the devices of server 0 follow each other")]
fn disks_of_a_server_that_lie_apart_are_refused() {
    let _ = made(&[0, 1, 0], 1);
}

#[test]
#[should_panic(expected = "a unit has no bytes")]
fn a_unit_without_bytes_is_refused() {
    let _ = made(&[0, 1], 0);
}

proptest! {
    /// A request of several units takes as long as these units, each with its seek, to the
    /// nanosecond of each.
    #[test]
    fn a_larger_unit_takes_as_long_as_those_it_stands_for(factor in 1u32..64, units in 1u64..64, write: bool) {
        let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
        let larger = hardware.with_larger_units(factor);
        prop_assert_eq!(larger.unit(), UNIT * u64::from(factor));
        let (one, disk) = (hardware.disk(DeviceId(0)), larger.disk(DeviceId(0)));
        let units = units.min(u64::from(factor));
        let (want, found) =
            (one.transfer(UNIT, write).as_ns() * units, disk.transfer(UNIT * units, write).as_ns());
        // The rate is a whole number of bytes per second.
        prop_assert!(found.abs_diff(want) <= want / 10_000 + units, "{} ns instead of {}", found, want);
        prop_assert!(want.abs_diff(one.transfer(UNIT, write).as_ns() * (units + 1)) > want / 10_000 + units);
        let extents = (UNIT * units).div_ceil(one.spec().extent.get().max(UNIT));
        prop_assert_eq!(disk.seek(UNIT * units, write), one.seek(UNIT, write).saturating_mul(extents));
    }
}

/// Servers of one disk each, whose numbers are those of the disks or not.
#[test]
fn a_disk_alone_in_its_server_is_the_first() {
    let hardware = sample::hardware(Size { racks: 1, servers: 3, disks: 1 });
    let layout = |server_of: [u32; 3]| Layout {
        server_of: server_of.to_vec(),
        rack_of: vec![0; 3],
        class_of: vec![0; 3],
    };
    for (server_of, single) in [([0, 1, 2], true), ([2, 0, 1], false)] {
        let disks = vec![hardware.disk(DeviceId(0)).spec().clone()];
        let card = *hardware.card().spec();
        let placed = Hardware::new(layout(server_of), disks, card, None, Bytes::new(UNIT));
        assert_eq!(placed.single, single);
        let of = |device| (placed.server_of(DeviceId(device)), placed.place_of(DeviceId(device)));
        assert_eq!([0, 1, 2].map(of), server_of.map(|server| (server, 0)));
    }
}
