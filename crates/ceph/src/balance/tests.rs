//! A small cluster, for planted violations: two copies of eight groups of 1,000 bytes on four hosts of one
//! device each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use towtank_imports::File;
use towtank_imports::ceph::{DeviceUse, read_map};
use towtank_placement::crush::RuleKind;
use towtank_placement::crush::pools::{Device, Overlay, Pool};

use super::Spread;
use crate::{Cluster, FillLimits, Group, PoolState, Stated};

const RULE: &str = "rule copies {\n id 0\n type replicated\n min_size 1\n max_size 10\n step take default\n step \
                    chooseleaf firstn 0 type host\n step emit\n}\n";

fn text() -> String {
    let mut text: String = (0..4).map(|id| format!("device {id} osd.{id} class hdd\n")).collect();
    text += "type 0 osd\ntype 1 host\ntype 11 root\n";
    let mut hosts = String::new();
    for id in 0..4 {
        writeln!(
            text,
            "host h{id} {{\n id -{}\n alg straw2\n hash 0\n item osd.{id} weight 1.000\n}}",
            id + 2
        )
        .expect("a string takes everything");
        writeln!(hosts, " item h{id} weight 1.000").expect("a string takes everything");
    }
    writeln!(text, "root default {{\n id -1\n alg straw2\n hash 0\n{hosts}}}")
        .expect("a string takes everything");
    text + RULE
}

pub(crate) fn cluster() -> Cluster {
    let bytes = text().into_bytes();
    let map = read_map(File { name: "map", bytes: &bytes }).expect("it is a map").value;
    let placed =
        Pool { id: 1, kind: RuleKind::Replicated, size: 2, rule: 0, pg_num: 8, pgp_num: 8, hashpspool: true };
    let group = Group { bytes: 1_000, stated: Some(Stated::default()), ..Group::default() };
    let pool = PoolState {
        name: "pool".to_owned(),
        placed,
        data_shards: 1,
        min_size: Some(1),
        groups: vec![group; 8],
    };
    let using = |id| (id, DeviceUse { id, size_bytes: 1 << 20, used_bytes: 0 });
    Cluster {
        map,
        overlay: Overlay { devices: vec![Device::IN; 4], ..Overlay::default() },
        pools: vec![pool],
        fill: BTreeMap::from([0, 1, 2, 3].map(using)),
    }
}

pub(crate) fn spread(cluster: &Cluster) -> Spread {
    let spread = Spread::of(cluster, FillLimits::default(), &mut |_| true);
    spread.expect("the map is valid").expect("nobody stopped it")
}
