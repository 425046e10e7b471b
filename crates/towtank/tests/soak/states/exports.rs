//! The exports of a drawn cluster, as Ceph's commands write them: the CRUSH map, `osd dump`, `pg dump`,
//! `osd df` and `ceph report`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::cluster::{Cluster, Group, NONE, Osd, Pooled, Shown};

/// The tunables of Jewel and later releases.
const TUNABLES: &str = "tunable choose_local_tries 0\ntunable choose_local_fallback_tries 0\n\
    tunable choose_total_tries 50\ntunable chooseleaf_descend_once 1\ntunable chooseleaf_vary_r 1\n\
    tunable chooseleaf_stable 1\ntunable straw_calc_version 1\ntunable allowed_bucket_algs 54\n";

/// The CRUSH map as text.
pub(super) fn map(cluster: &Cluster) -> String {
    let mut map = if cluster.is_old { String::new() } else { TUNABLES.to_owned() };
    for (osd, device) in cluster.devices.iter().enumerate() {
        let _ = writeln!(map, "device {osd} osd.{osd} class {}", device.class);
    }
    map += "type 0 osd\ntype 1 host\ntype 3 rack\ntype 11 root\n";
    let mut bucket = |kind: &str, name: &str, id: usize, items: Vec<(String, u32)>| {
        let _ = write!(map, "{kind} {name} {{\n\tid -{id}\n\talg straw2\n\thash 0\n");
        for (item, weight) in items {
            let _ = writeln!(map, "\titem {item} weight {}.{:02}", weight / 100, weight % 100);
        }
        map += "}\n";
    };
    for (at, host) in cluster.hosts.iter().enumerate() {
        let heavy = |osd: i32| cluster.devices[osd as usize].heavy;
        let osds = host.osds.iter().map(|osd| (format!("osd.{osd}"), heavy(*osd))).collect();
        bucket("host", &format!("h{at}"), at + 2, osds);
    }
    let hosts = |rack: u32| {
        let of = cluster.hosts.iter().enumerate().filter(move |(_, host)| host.rack == rack);
        let heavy = |host: &super::cluster::Host| {
            host.osds.iter().map(|osd| cluster.devices[*osd as usize].heavy).sum::<u32>()
        };
        of.map(|(at, host)| (format!("h{at}"), heavy(host))).collect::<Vec<_>>()
    };
    for rack in 0..cluster.racks {
        bucket("rack", &format!("r{rack}"), 100 + rack as usize, hosts(rack));
    }
    let rack = |rack: u32| (format!("r{rack}"), hosts(rack).iter().map(|(_, weight)| weight).sum());
    let below = if cluster.racks > 0 { (0..cluster.racks).map(rack).collect() } else { hosts(0) };
    bucket("root", "default", 1, below);
    let top = if cluster.racks > 0 { "rack" } else { "host" };
    let mut all = map + &rules((0, ""), top);
    for (first, class) in [(4, "hdd"), (8, "ssd")] {
        if cluster.is_wide && cluster.devices.iter().any(|osd| osd.class == class) {
            all += &rules((first, class), top);
        }
    }
    all
}

/// Four rules, from this number on, that take the devices of a class; of each class if it is empty.
fn rules((from, class): (usize, &str), top: &str) -> String {
    let mut rules = String::new();
    let take = if class.is_empty() { String::new() } else { format!(" class {class}") };
    for (id, (kind, step, over)) in [
        ("replicated", "firstn", "host"),
        ("erasure", "indep", "host"),
        ("replicated", "firstn", top),
        ("erasure", "indep", top),
    ]
    .into_iter()
    .enumerate()
    {
        let tries = "\tstep set_chooseleaf_tries 5\n\tstep set_choose_tries 100\n";
        let id = from + id;
        let tries = if step == "indep" { tries } else { "" };
        let _ = write!(
            rules,
            "rule {kind}_{id} {{\n\tid {id}\n\ttype {kind}\n\tmin_size 1\n\tmax_size 10\n{tries}\tstep take default{take}\n\
             \tstep chooseleaf {step} 0 type {over}\n\tstep emit\n}}\n"
        );
    }
    rules
}

/// The same map as `ceph osd crush dump` writes it.
pub(super) fn map_json(cluster: &Cluster) -> Value {
    let mut text = String::new();
    towtank_placement::crush::dump(&cluster.map, &mut text).expect("text takes all");
    serde_json::from_str(&text).expect("a dump is JSON")
}

pub(super) fn osd_dump(cluster: &Cluster) -> Value {
    let osd = |(id, osd): (usize, &Osd)| {
        let mut state = vec![if osd.destroyed { "destroyed" } else { "exists" }];
        state.extend(osd.destroyed.then_some("exists"));
        state.extend(osd.up.then_some("up"));
        state.extend(osd.noout.then_some("noout"));
        json!({
            "osd": id, "up": u8::from(osd.up), "in": u8::from(osd.weight > 0),
            "weight": f64::from(osd.weight) / 65_536.0, "state": state,
            "primary_affinity": f64::from(osd.affinity) / 65_536.0,
        })
    };
    let swap = |(group, swaps): (&_, &Vec<(i32, i32)>)| {
        let swaps: Vec<Value> = swaps.iter().map(|(from, to)| json!({"from": from, "to": to})).collect();
        json!({"pgid": format!("{group}"), "mappings": swaps})
    };
    let whole = |(group, osds): (&_, &Vec<i32>)| json!({"pgid": format!("{group}"), "osds": osds});
    let temporary = |group: &&Group| {
        cluster.live(group).len() >= cluster.pool(group).data as usize && group.acting != group.up
    };
    let temporary = cluster.groups.iter().filter(temporary);
    let temporary: Vec<Value> =
        temporary.map(|group| json!({"pgid": group.id.to_string(), "osds": group.acting})).collect();
    let profile = |(k, m): (u32, u32)| {
        let plugin = cluster.pools.iter().find(|pool| (pool.data, pool.width) == (k, k + m));
        let plugin = plugin.map_or("jerasure", |pool| pool.plugin);
        let profile =
            json!({"k": k.to_string(), "m": m.to_string(), "plugin": plugin, "technique": "reed_sol_van"});
        (format!("k{k}m{m}"), profile)
    };
    let profiles: serde_json::Map<String, Value> =
        [(2, 1), (2, 2), (4, 2), (2, 3), (4, 3), (8, 2)].map(profile).into_iter().collect();
    let mut dump = json!({
        "epoch": 400, "flags": cluster.flags.join(","),
        "full_ratio": 0.95, "backfillfull_ratio": 0.9, "nearfull_ratio": 0.85,
        "max_osd": cluster.devices.len(),
        "pools": cluster.pools.iter().map(pool).collect::<Vec<_>>(),
        "osds": cluster.devices.iter().enumerate().map(osd).collect::<Vec<_>>(),
        "pg_upmap": cluster.whole_upmaps.iter().map(whole).collect::<Vec<_>>(),
        "pg_upmap_items": cluster.upmaps.iter().map(swap).collect::<Vec<_>>(),
        "pg_temp": temporary, "primary_temp": [], "erasure_code_profiles": profiles,
    });
    if cluster.is_wide {
        let of_hosts = cluster.hosts.iter().enumerate().filter(|(_, host)| host.noout);
        let of_hosts: serde_json::Map<String, Value> =
            of_hosts.map(|(at, _)| (format!("h{at}"), json!(["noout"]))).collect();
        let of_class = cluster.noout_class.map(|class| (class.to_owned(), json!(["noout"])));
        dump["crush_node_flags"] = of_hosts.into();
        dump["device_class_flags"] = of_class.into_iter().collect::<serde_json::Map<_, _>>().into();
    }
    if let Some(release) = cluster.release {
        dump["require_osd_release"] = release.into();
    }
    dump
}

fn pool(pool: &Pooled) -> Value {
    let profile = format!("k{}m{}", pool.data, pool.width - pool.data);
    json!({
        "pool": pool.id, "pool_name": format!("p{}", pool.id), "type": if pool.is_coded() { 3 } else { 1 },
        "size": pool.width, "min_size": pool.least, "crush_rule": pool.rule, "flags": 1,
        "flags_names": "hashpspool", "pg_num": pool.groups, "pg_placement_num": pool.placed_groups,
        "pg_num_target": pool.goal, "pg_placement_num_target": pool.goal,
        "erasure_code_profile": if pool.is_coded() { &profile[..] } else { "" },
    })
}

/// The state of a group, as its primary reports it.
pub(super) fn state(cluster: &Cluster, group: &Group) -> String {
    let pool = cluster.pool(group);
    let live = cluster.live(group).len();
    if live < pool.data as usize {
        let may_return = live + cluster.asleep(group) >= pool.data as usize;
        return if may_return { "down" } else { "incomplete" }.to_owned();
    }
    let serving = group.acting.iter().filter(|osd| **osd != NONE).count();
    if group.behind {
        let word = if group.begun { "recovering" } else { "recovery_wait" };
        return format!("active+{word}+degraded");
    }
    let mut words = Vec::new();
    let is_active = live >= pool.least as usize;
    words.extend(is_active.then_some("active"));
    if serving < pool.width as usize {
        words.push("undersized");
        words.extend((group.objects > 0).then_some("degraded"));
    }
    let waits = super::oracle::to_copy(cluster, group, &group.up).of_all() > 0;
    if serving == pool.width as usize && !waits {
        words.push("clean");
    }
    words.extend((group.acting != group.up).then_some("remapped"));
    if waits {
        words.push(if group.begun { "backfilling" } else { "backfill_wait" });
    }
    words.extend((!is_active).then_some("peered"));
    words.join("+")
}

/// The state that a dump has.
fn shown(cluster: &Cluster, group: &Group) -> String {
    match group.shown {
        Shown::Unknown => "unknown".to_owned(),
        Shown::Stale => format!("stale+{}", group.last_state),
        _ => state(cluster, group),
    }
}

fn listed(devices: &[i32]) -> Vec<i64> {
    devices.iter().map(|osd| i64::from(*osd)).collect()
}

/// Objects of a group that are degraded and misplaced, as its primary counts them: what its new homes lack
/// is misplaced as far as others that serve it have it, and degraded otherwise; so is what has no home.
fn lacking(cluster: &Cluster, group: &Group) -> (u64, u64) {
    let homes = super::oracle::new_homes(cluster, group);
    let lacks = |osd: &i32| group.objects - group.part.get(osd).copied().unwrap_or(0);
    let pool = cluster.pool(group);
    if cluster.live(group).len() < pool.data as usize {
        let serving = group.acting.iter().filter(|osd| **osd != NONE).count() as u64;
        return (u64::from(pool.width).saturating_sub(serving) * group.objects, 0);
    }
    if !pool.is_coded() {
        let spare = group.acting.iter().filter(|osd| !group.up.contains(osd)).count();
        let absent = (pool.width as usize).saturating_sub(group.up.len());
        let mut lacking = vec![group.objects; absent];
        lacking.extend(homes.iter().map(lacks));
        lacking.sort_unstable_by(|one, other| other.cmp(one));
        let (moved, missing) = lacking.split_at(spare.min(lacking.len()));
        return (missing.iter().sum(), moved.iter().sum());
    }
    let mut found = (0, 0);
    for (up, acting) in group.up.iter().zip(&group.acting) {
        let of = if *acting == NONE { &mut found.0 } else { &mut found.1 };
        if *up == NONE {
            *of += group.objects;
        } else if up != acting {
            *of += lacks(up);
        }
    }
    found
}

/// The statistics of some groups together, as a pool and a group have them.
fn sum(cluster: &Cluster, groups: &[&Group]) -> Value {
    let add = |of: &dyn Fn(&Group) -> u64| groups.iter().map(|group| of(group)).sum::<u64>();
    let lacks =
        |group: &Group| lacking(cluster, group).0 + u64::from(group.behind) * group.objects.div_ceil(2);
    let moves = |group: &Group| lacking(cluster, group).1;
    let copies = |group: &Group| u64::from(cluster.pool(group).width) * group.objects;
    let mut sum = json!({
        "num_bytes": add(&|group| group.bytes), "num_objects": add(&|group| group.objects), "num_omap_bytes": 0,
        "num_object_copies": add(&copies), "num_objects_degraded": add(&lacks),
        "num_objects_misplaced": add(&moves), "num_objects_unfound": 0,
    });
    if !cluster.counts_objects {
        sum.as_object_mut().expect("it is one").remove("num_objects");
    }
    sum
}

fn group(cluster: &Cluster, group: &Group) -> Value {
    let (up, acting) = match group.shown {
        Shown::Unknown => (Vec::new(), Vec::new()),
        Shown::Stale => group.last.clone(),
        _ => (group.up.clone(), group.acting.clone()),
    };
    let first = |devices: &[i32]| devices.iter().copied().find(|osd| *osd != NONE).unwrap_or(-1);
    // Affinity chooses among the devices of `up`; a temporary mapping begins with its primary.
    let led = |devices: &[i32]| {
        let chosen = Some(group.primary).filter(|osd| devices == group.up && devices.contains(osd));
        chosen.unwrap_or_else(|| first(devices))
    };
    let counted: &[&Group] = if group.shown == Shown::Unknown { &[] } else { &[group] };
    let mut shown = json!({
        "pgid": group.id.to_string(), "state": shown(cluster, group),
        "stat_sum": sum(cluster, counted),
        "up": listed(&up), "acting": listed(&acting),
        "up_primary": led(&up), "acting_primary": led(&acting),
    });
    if group.invalid {
        shown["stats_invalid"] = true.into();
    }
    shown
}

pub(super) fn pg_dump(cluster: &Cluster) -> Value {
    let groups = cluster.groups.iter().filter(|group| group.shown != Shown::Left);
    let groups: Vec<Value> = groups.map(|one| group(cluster, one)).collect();
    json!({"pg_ready": true, "pg_map": {"version": 1, "pg_stats": groups}})
}

/// KiB used of each device; a destroyed one holds nothing.
fn used(cluster: &Cluster) -> Vec<u64> {
    cluster.held().into_iter().map(|bytes| bytes / 1_024 + 1_024).collect()
}

pub(super) fn osd_df(cluster: &Cluster) -> Value {
    let node = |(id, used): (usize, u64)| {
        // A device that is out has no size in `osd df`.
        let kb = if cluster.devices[id].weight == 0 { 0 } else { cluster.size_kib };
        let used = if kb == 0 { 0 } else { used };
        json!({"id": id, "name": format!("osd.{id}"), "type": "osd", "kb": kb, "kb_used": used})
    };
    json!({"nodes": used(cluster).into_iter().enumerate().map(node).collect::<Vec<_>>(), "stray": []})
}

pub(super) fn report(cluster: &Cluster) -> Value {
    let pools: Vec<Value> = (cluster.pools.iter().enumerate())
        .map(|(at, pool)| {
            let of = |group: &&Group| group.pool == at && group.shown != Shown::Unknown;
            let of: Vec<&Group> = cluster.groups.iter().filter(of).collect();
            json!({"poolid": pool.id, "num_pg": pool.groups, "stat_sum": sum(cluster, &of)})
        })
        .collect();
    let mut states: BTreeMap<String, u64> = BTreeMap::new();
    for group in &cluster.groups {
        *states.entry(shown(cluster, group)).or_default() += 1;
    }
    let states: Vec<Value> = states.iter().map(|(state, num)| json!({"state": state, "num": num})).collect();
    let metadata = |id: usize| {
        let rotates = if cluster.devices[id].class == "ssd" { "0" } else { "1" };
        let size = (cluster.size_kib * 1_024).to_string();
        json!({
            "id": id, "hostname": "h", "rotational": rotates, "journal_rotational": rotates, "devices": "sdb",
            "bluestore_bdev_size": size,
        })
    };
    let is_there = |id: &usize| !cluster.devices[*id].destroyed;
    let all: u64 = used(cluster).iter().sum();
    let data: u64 = cluster.held().iter().map(|bytes| bytes / 1_024).sum();
    json!({
        "osdmap": osd_dump(cluster), "crushmap": map_json(cluster), "pool_stats": pools,
        "num_pg_by_state": states, "num_pg": cluster.groups.len(),
        "osd_metadata": (0..cluster.devices.len()).filter(is_there).map(metadata).collect::<Vec<_>>(),
        "osd_sum": {"kb": cluster.size_kib * cluster.devices.len() as u64, "kb_used": all,
            "kb_used_data": data, "kb_used_omap": 0, "kb_used_meta": all - data},
    })
}

/// The files of a cluster by name; a number chooses among the forms that a user may export.
pub(super) fn files(cluster: &Cluster, form: u64) -> Vec<(&'static str, String)> {
    let crush = if form.is_multiple_of(2) { map_json(cluster).to_string() } else { map(cluster) };
    let groups = pg_dump(cluster);
    let groups = match form % 3 {
        0 => groups["pg_map"]["pg_stats"].to_string(),
        1 => format!("dumped all\n{groups}"),
        _ => groups.to_string(),
    };
    vec![
        ("crush", crush),
        ("osd_dump.json", osd_dump(cluster).to_string()),
        ("pg_dump.json", groups),
        ("osd_df.json", osd_df(cluster).to_string()),
        ("report.json", report(cluster).to_string()),
    ]
}
