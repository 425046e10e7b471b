//! Clusters for tests: one from a short description, and any number drawn at random.

use std::fmt::Write as _;

use towtank_ceph::{Cluster, FillLimits, Group, PoolState, Stated};
use towtank_imports::File;
use towtank_imports::ceph::{DeviceUse, read_map};
use towtank_placement::crush::pools::{Device, Overlay, PgId, Pool};
use towtank_placement::crush::{Map, RuleKind, Step};

pub const TIB: u64 = 1 << 40;

/// A host: the weights of its devices, and the class of all of them.
pub struct Host {
    pub rack: usize,
    pub class: &'static str,
    pub weights: Vec<f64>,
}

pub struct PoolSpec {
    pub erasure: bool,
    pub size: u32,
    pub data_shards: u32,
    pub pg_num: u32,
    pub rule: u32,
    /// Bytes of each group.
    pub bytes: Vec<u64>,
}

/// The rules: copies on hosts, shards on hosts, copies on hosts of class ssd, two racks with two hosts
/// each; and shards on as many hosts as there are.
const RULES: &str = "
rule copies {\n id 0\n type replicated\n min_size 1\n max_size 10\n step take default\n step chooseleaf firstn 0 type host\n step emit\n}
rule shards {\n id 1\n type erasure\n min_size 1\n max_size 10\n step set_chooseleaf_tries 5\n step set_choose_tries 100\n step take default\n step chooseleaf indep 0 type host\n step emit\n}
rule racks {\n id 2\n type replicated\n min_size 1\n max_size 10\n step take default\n step choose firstn 2 type rack\n step chooseleaf firstn 2 type host\n step emit\n}
rule devices {\n id 3\n type replicated\n min_size 1\n max_size 10\n step take default\n step choose firstn 0 type osd\n step emit\n}
rule wide {\n id 5\n type erasure\n min_size 1\n max_size 20\n step set_chooseleaf_tries 5\n step set_choose_tries 2000\n step take default\n step chooseleaf indep 0 type host\n step emit\n}
";

const SSD: &str = "
rule ssd {\n id 4\n type replicated\n min_size 1\n max_size 10\n step take default class ssd\n step chooseleaf firstn 0 type host\n step emit\n}
";

fn text(hosts: &[Host]) -> String {
    let mut text = String::from(
        "tunable choose_local_tries 0\ntunable choose_local_fallback_tries 0\ntunable choose_total_tries 50\n\
         tunable chooseleaf_descend_once 1\ntunable chooseleaf_vary_r 1\ntunable chooseleaf_stable 1\n\
         tunable straw_calc_version 1\ntunable allowed_bucket_algs 54\n",
    );
    let mut id = 0;
    for host in hosts {
        for _ in &host.weights {
            writeln!(text, "device {id} osd.{id} class {}", host.class).unwrap();
            id += 1;
        }
    }
    text += "type 0 osd\ntype 1 host\ntype 3 rack\ntype 11 root\n";
    let mut id = 0;
    for (at, host) in hosts.iter().enumerate() {
        writeln!(text, "host h{at} {{\n id -{}\n alg straw2\n hash 0", at + 10).unwrap();
        for weight in &host.weights {
            writeln!(text, " item osd.{id} weight {weight:.3}").unwrap();
            id += 1;
        }
        text += "}\n";
    }
    let racks = hosts.iter().map(|host| host.rack).max().unwrap_or(0) + 1;
    let weight = |hosts: &mut dyn Iterator<Item = &Host>| -> f64 {
        hosts.flat_map(|host| &host.weights).map(|weight| (weight * 1e3).round() / 1e3).sum()
    };
    for rack in 0..racks {
        writeln!(text, "rack r{rack} {{\n id -{}\n alg straw2\n hash 0", rack + 2).unwrap();
        for (at, host) in hosts.iter().enumerate().filter(|(_, host)| host.rack == rack) {
            writeln!(text, " item h{at} weight {:.3}", weight(&mut std::iter::once(host))).unwrap();
        }
        text += "}\n";
    }
    text += "root default {\n id -1\n alg straw2\n hash 0\n";
    for rack in 0..racks {
        let weight = weight(&mut hosts.iter().filter(|host| host.rack == rack));
        writeln!(text, " item r{rack} weight {weight:.3}").unwrap();
    }
    text += "}\n";
    text + RULES + if hosts.iter().any(|host| host.class == "ssd") { SSD } else { "" }
}

/// A cluster whose devices have one TiB for each unit of weight, times `stretch` of their number, and no
/// overhead.
pub fn cluster(hosts: &[Host], pools: &[PoolSpec], stretch: impl Fn(usize) -> f64) -> Cluster {
    let weights: Vec<f64> = hosts.iter().flat_map(|host| host.weights.iter().copied()).collect();
    cluster_of(&text(hosts), &weights, pools, stretch)
}

/// The same of the text of any map, with the weights of its devices by their ids.
pub fn cluster_of(
    text: &str,
    weights: &[f64],
    pools: &[PoolSpec],
    stretch: impl Fn(usize) -> f64,
) -> Cluster {
    let map = read_map(File { name: "map", bytes: text.as_bytes() })
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let overlay = Overlay { devices: vec![Device::IN; weights.len()], ..Overlay::default() };
    let pools = (1..).zip(pools).map(|(id, spec)| PoolState {
        name: format!("pool{id}"),
        placed: Pool {
            id,
            kind: if spec.erasure { RuleKind::Erasure } else { RuleKind::Replicated },
            size: spec.size,
            rule: spec.rule,
            pg_num: spec.pg_num,
            pgp_num: spec.pg_num,
            hashpspool: true,
        },
        data_shards: spec.data_shards,
        min_size: Some(1),
        groups: spec
            .bytes
            .iter()
            .map(|&bytes| Group { bytes, stated: Some(Stated::default()), ..Group::default() })
            .collect(),
    });
    let mut cluster =
        Cluster { map: map.value, overlay, pools: pools.collect(), fill: std::collections::BTreeMap::new() };
    for (at, weight) in weights.iter().enumerate() {
        let size_bytes = (weight * stretch(at) * TIB as f64) as u64;
        let used = DeviceUse { id: at as i32, size_bytes, used_bytes: 0 };
        cluster.fill.insert(at as i32, used);
    }
    settle(&mut cluster, |_| 0);
    cluster
}

/// Gives each device the used space of its groups, and an overhead.
pub fn settle(cluster: &mut Cluster, overhead: impl Fn(i32) -> u64) {
    let mut held = std::collections::BTreeMap::<i32, u64>::new();
    {
        let mut laid_out = towtank_ceph::LaidOut::new(cluster).unwrap();
        for pool in &cluster.pools {
            for (seed, group) in (0..).zip(&pool.groups) {
                for id in laid_out.place(&pool.placed, seed).up.devices.into_iter().filter(|id| *id >= 0) {
                    *held.entry(id).or_default() += group.bytes.div_ceil(u64::from(pool.data_shards));
                }
            }
        }
    }
    for (id, using) in &mut cluster.fill {
        using.used_bytes = held.get(id).copied().unwrap_or(0) + overhead(*id);
    }
}

/// Numbers from a seed (SplitMix64, Steele et al. 2014).
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Any cluster: unequal hosts, racks, classes, several pools, weights that do not fit, overrides, devices
/// that are down or out, and explicit mappings, some of them useless.
pub fn drawn(seed: u64) -> Cluster {
    let mut draws = Draws(seed);
    let (racks, ssd) = (draws.pick(&[1, 1, 2, 3]), draws.below(3) == 0);
    let equal = draws.below(3) == 0;
    let mut hosts = Vec::new();
    for at in 0..(draws.pick(&[3, 4, 4, 5, 6, 8]).max(2 * racks)) {
        let devices = if equal { 3 } else { 1 + draws.below(4) };
        let class = if ssd && at % 3 == 0 { "ssd" } else { "hdd" };
        let weights =
            (0..devices).map(|_| if equal { 2.0 } else { draws.pick(&[1.0, 2.0, 2.0, 4.0, 3.638]) });
        hosts.push(Host { rack: at % racks, class, weights: weights.collect() });
    }
    let mut pools = Vec::new();
    for _ in 0..1 + draws.below(3) {
        let rule = draws.pick(&[0, 0, 0, 1, 2, 3, if ssd { 4 } else { 0 }]);
        let rule = if rule == 2 && racks < 2 { 0 } else { rule };
        let (erasure, size, data_shards) = match rule {
            1 => (true, 3, 2),
            2 => (false, 4, 1),
            _ => (false, draws.pick(&[2, 3, 3]), 1),
        };
        let pg_num = draws.pick(&[1, 8, 16, 24, 32, 64, 128]);
        let each = draws.below(40) * (TIB / 1024) * draws.pick(&[0, 1, 1, 2]);
        let bytes = (0..pg_num).map(|_| each + each / 10 * draws.below(4) + draws.below(1_000)).collect();
        pools.push(PoolSpec { erasure, size, data_shards, pg_num: pg_num as u32, rule, bytes });
    }
    let skewed = draws.below(3) == 0;
    let stretches: Vec<f64> =
        (0..64).map(|_| if skewed { draws.pick(&[0.8, 1.0, 1.25]) } else { 1.0 }).collect();
    let mut cluster = cluster(&hosts, &pools, |at| stretches[at % 64]);
    if retries(seed) {
        retry(&mut cluster.map);
    }
    let count = cluster.overlay.devices.len() as u64;
    if draws.below(3) == 0 {
        for _ in 0..1 + draws.below(2) {
            let device = &mut cluster.overlay.devices[draws.below(count) as usize];
            device.weight = draws.pick(&[0x8000, 0xc000, 0xf000, 0]);
        }
    }
    if draws.below(6) == 0 {
        cluster.overlay.devices[draws.below(count) as usize].up = false;
    }
    if draws.below(2) == 0 {
        for _ in 0..draws.below(12) {
            let pool = &cluster.pools[draws.below(cluster.pools.len() as u64) as usize];
            let group =
                PgId { pool: pool.placed.id, seed: draws.below(u64::from(pool.placed.pg_num)) as u32 };
            let pair = (draws.below(count) as i32, draws.below(count) as i32);
            cluster.overlay.upmap_items.insert(group, vec![pair]);
        }
        towtank_ceph::upmaps::drop_broken(&mut cluster);
    }
    let overhead: Vec<u64> = (0..count).map(|_| draws.below(20) * (TIB / 4096)).collect();
    settle(&mut cluster, |id| overhead[id as usize]);
    cluster
}

/// Whether the rules of the cluster of a seed are for multi-step retry.
pub fn retries(seed: u64) -> bool {
    seed % 5 == 4
}

/// Makes multi-step-retry rules of the usual ones, with the same failure domains.
fn retry(map: &mut Map) {
    for rule in map.rules.iter_mut().flatten() {
        rule.kind = if rule.kind == RuleKind::Erasure { RuleKind::MsrIndep } else { RuleKind::MsrFirstn };
        let steps = rule.steps.iter().flat_map(|step| match *step {
            Step::Choose { leaf, count, kind, .. } => {
                let leaf = (leaf && kind != 0).then_some(Step::ChooseMsr { count: 1, kind: 0 });
                vec![Some(Step::ChooseMsr { count, kind }), leaf]
            }
            Step::Set(..) => Vec::new(),
            other => vec![Some(other)],
        });
        rule.steps = steps.flatten().collect();
    }
}

/// Ceph's defaults.
pub fn limits() -> FillLimits {
    FillLimits::default()
}
