//! Buckets of a type inside buckets of that type, and devices below two buckets: CRUSH stops its descent at
//! the outermost bucket of the type, and so do the monitors where they check explicit mappings.

use std::fmt::Write as _;

use towtank_ceph::balance::{Broken, Limits, Spread, applied, plan, unmappable};
use towtank_ceph::{Cluster, upmaps};

use super::clusters::{Draws, PoolSpec, TIB, cluster_of, limits};

const TYPES: &str = "type 0 osd\ntype 1 host\ntype 2 rack\ntype 3 root\n";
const RULE: &str = "rule copies {\n id 0\n type replicated\n min_size 1\n max_size 10\n";
const COPIES: &str = " step take all\n step chooseleaf firstn 0 type host\n step emit\n}\n";

fn bucket(text: &mut String, (kind, name, id): (&str, &str, usize), items: &[String]) {
    writeln!(text, "{kind} {name} {{\n id -{id}\n alg straw2\n hash 0").unwrap();
    for item in items {
        let weight = if item.starts_with("osd") { " weight 1.000" } else { "" };
        writeln!(text, " item {item}{weight}").unwrap();
    }
    *text += "}\n";
}

/// Enclosures of type host, each with two hosts of two devices; `root` is the type of the top.
fn enclosures(count: usize, root: &str, steps: &str) -> Cluster {
    let mut text = String::from("tunable choose_total_tries 50\ntunable chooseleaf_descend_once 1\n");
    text += "tunable chooseleaf_vary_r 1\ntunable chooseleaf_stable 1\n";
    text += "tunable choose_local_tries 0\ntunable choose_local_fallback_tries 0\n";
    (0..4 * count).for_each(|id| writeln!(text, "device {id} osd.{id}").unwrap());
    text += TYPES;
    for host in 0..2 * count {
        let devices: Vec<String> = (2 * host..2 * host + 2).map(|id| format!("osd.{id}")).collect();
        bucket(&mut text, ("host", &format!("h{host}"), 10 + host), &devices);
    }
    for outer in 0..count {
        let hosts: Vec<String> = (2 * outer..2 * outer + 2).map(|host| format!("h{host}")).collect();
        bucket(&mut text, ("host", &format!("e{outer}"), 100 + outer), &hosts);
    }
    let outer: Vec<String> = (0..count).map(|outer| format!("e{outer}")).collect();
    bucket(&mut text, (root, "all", 1), &outer);
    text = text + RULE + steps;
    let bytes = vec![TIB / 200; 128];
    let pool = PoolSpec { erasure: false, size: 3, data_shards: 1, pg_num: 128, rule: 0, bytes };
    cluster_of(&text, &vec![1.0; 4 * count], &[pool], |_| 1.0)
}

fn spread(cluster: &Cluster) -> Spread {
    Spread::of(cluster, limits(), &mut |_| true).unwrap().unwrap()
}

const ALL: Limits = Limits { moves: 1_000, destinations: None };

/// The outer host is the failure domain: no two copies of a group are below the same one after the plan.
#[test]
fn hosts_in_hosts_are_balanced_between_the_outer_ones() {
    let cluster = enclosures(5, "root", COPIES);
    let spread = spread(&cluster);
    assert_eq!(unmappable(&spread, &cluster), [0]);
    let moves = plan(&spread, &cluster, &ALL);
    assert!(moves.len() > 5, "{} moves", moves.len());
    let after = applied(&cluster, &spread, &moves, 2).unwrap().after;
    let outer = |id: i32| id / 4;
    for group in &after.groups {
        let mut domains: Vec<i32> = group.held().map(outer).collect();
        domains.sort_unstable();
        domains.dedup();
        assert_eq!(domains.len(), 3, "group {} has two copies in one enclosure", group.seed);
    }
}

/// Planted: a move into the enclosure of another copy, but into a host of its own, is found.
#[test]
fn a_move_into_the_same_outer_host_is_found() {
    let cluster = enclosures(5, "root", COPIES);
    let spread = spread(&cluster);
    let mut moves = plan(&spread, &cluster, &ALL);
    let group = spread.groups.iter().find(|group| group.seed == moves[0].seed).unwrap();
    let other = group.held().find(|id| *id != moves[0].from).unwrap();
    // The other host of its enclosure.
    moves[0].to = other ^ 2;
    moves[0].items = vec![(moves[0].from, other ^ 2)];
    moves.truncate(1);
    let found = applied(&cluster, &spread, &moves, 1).map(|_| ());
    assert!(matches!(found, Err(Broken::Dropped(_) | Broken::Shared(_) | Broken::Fuller(_))), "{found:?}");
}

/// Regression test: by these rules the monitors keep no explicit mapping, because they see all copies in one
/// outermost host. Moves were planned, the check found that they would be dropped, and the answer was a
/// failure.
#[test]
fn where_monitors_keep_no_mapping_nothing_is_moved() {
    let nested = " step take all\n step choose firstn 1 type host\n step chooseleaf firstn 0 type host\n step emit\n}\n";
    for (root, steps, size) in [("host", COPIES, 5), ("root", nested, 3)] {
        let cluster = enclosures(size, root, steps);
        let spread = spread(&cluster);
        let several = spread.groups.iter().filter(|group| group.held().count() > 1).count() as u64;
        assert!(several > 100, "{root}: {several} groups have several copies");
        assert_eq!(unmappable(&spread, &cluster), [several], "{root}");
        assert!(plan(&spread, &cluster, &ALL).iter().all(|one| {
            spread.groups.iter().any(|group| group.seed == one.seed && group.held().count() == 1)
        }));
        // And the monitors do drop them.
        let mut mapped = cluster.clone();
        let group = &spread.groups[0];
        let (from, to) = (group.held().next().unwrap(), (0..20).find(|id| !group.raw.contains(id)).unwrap());
        let id = towtank_placement::crush::pools::PgId { pool: 1, seed: group.seed };
        mapped.overlay.upmap_items.insert(id, vec![(from, to)]);
        assert_eq!(upmaps::drop_broken(&mut mapped), 1, "{root}");
    }
}

/// Any tree: hosts in hosts, in racks or beside them, devices below two buckets or at the root, empty hosts.
fn tree(seed: u64) -> Cluster {
    let mut draws = Draws(seed);
    let count = 6 + draws.below(10) as usize;
    let mut text = String::from("tunable choose_total_tries 50\ntunable chooseleaf_stable 1\n");
    (0..count).for_each(|id| writeln!(text, "device {id} osd.{id}").unwrap());
    text += TYPES;
    let (mut id, mut level) = (1, Vec::new());
    let mut parts = vec![Vec::new(); 3 + draws.below(4) as usize];
    for device in 0..count {
        let part = draws.below(parts.len() as u64) as usize;
        parts[part].push(format!("osd.{device}"));
    }
    if draws.below(3) == 0 {
        let twice = format!("osd.{}", draws.below(count as u64));
        parts
            .iter_mut()
            .filter(|part| !part.contains(&twice))
            .take(1)
            .for_each(|part| part.push(twice.clone()));
    }
    for round in 0..1 + draws.below(3) {
        if round > 0 {
            parts = vec![Vec::new(); 1 + draws.below(4) as usize];
            for item in std::mem::take(&mut level) {
                let part = draws.below(parts.len() as u64) as usize;
                parts[part].push(item);
            }
        }
        for part in &parts {
            let kind = if round == 0 { "host" } else { ["host", "rack"][draws.below(2) as usize] };
            bucket(&mut text, (kind, &format!("b{id}"), id), part);
            level.push(format!("b{id}"));
            id += 1;
        }
    }
    if draws.below(3) == 0 {
        level.push(format!("osd.{}", draws.below(count as u64)));
    }
    bucket(&mut text, (["root", "root", "host"][draws.below(3) as usize], "all", id), &level);
    let steps = [
        COPIES,
        " step take all\n step choose firstn 0 type host\n step choose firstn 1 type osd\n step emit\n}\n",
        " step take all\n step choose firstn 2 type host\n step chooseleaf firstn 2 type host\n step emit\n}\n",
        " step take all\n step chooseleaf firstn 0 type rack\n step emit\n}\n",
    ];
    text = text + RULE + steps[draws.below(4) as usize];
    let bytes = (0..64).map(|_| TIB / 400 * (1 + draws.below(3))).collect();
    let size = 1 + draws.below(4) as u32;
    let pool = PoolSpec { erasure: false, size, data_shards: 1, pg_num: 64, rule: 0, bytes };
    cluster_of(&text, &vec![1.0; count], &[pool], |_| 1.0)
}

/// `TREES=8000` draws more of them.
#[test]
fn every_plan_on_any_tree_passes_its_check() {
    let count = std::env::var("TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let mut moved = 0;
    for seed in 0..count {
        let cluster = tree(seed);
        let spread = spread(&cluster);
        let moves = plan(&spread, &cluster, &Limits { moves: 40, destinations: None });
        if let Err(broken) = applied(&cluster, &spread, &moves, 3) {
            panic!("tree {seed}: {broken}");
        }
        moved += moves.len();
    }
    assert!(moved as u64 > count, "{moved} moves");
}
