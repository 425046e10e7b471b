//! The exports of a real cluster (Ceph 16.2.15, three devices) joined, changed, and damaged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use towtank_ceph::{
    Cluster, Export, Exports, FillLevel, FillLimits, JoinError, Joined, LaidOut, Named, NewHost, item_name,
    join, parents, parts,
};
use towtank_imports::File;
use towtank_imports::ceph::{
    DeviceUse, OsdDump, PgDump, Report, read_map, read_osd_df, read_osd_dump, read_pg_dump, read_report,
};
use towtank_placement::crush::Map;

fn bytes(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../imports/tests/exports").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read() -> (Map, OsdDump, PgDump) {
    let [map, osd_dump, pg_dump] = ["crushmap.bin", "osd_dump.json", "pg_dump.json.gz"].map(bytes);
    let file = |bytes| File { name: "export", bytes };
    (
        read_map(file(&map)).unwrap().value,
        read_osd_dump(file(&osd_dump)).unwrap().value,
        read_pg_dump(file(&pg_dump)).unwrap().value,
    )
}

fn joined(damage: impl FnOnce(&mut Map, &mut OsdDump, &mut PgDump)) -> Result<Joined, Vec<JoinError>> {
    let (mut map, mut osd_dump, mut pg_dump) = read();
    damage(&mut map, &mut osd_dump, &mut pg_dump);
    join(Exports {
        map: Named { value: map, file: "map".to_owned() },
        osd_dump: Named { value: osd_dump, file: "osds".to_owned() },
        pg_dump: Some(Named { value: pg_dump, file: "groups".to_owned() }),
        report: None,
        report_file: "report",
        fill: None,
        states: &[("active", "they serve")],
    })
}

fn cluster() -> Cluster {
    joined(|_, _, _| {}).unwrap_or_else(|errors| panic!("{errors:?}")).cluster
}

#[test]
fn every_group_belongs_where_the_dump_has_it() {
    let joined = joined(|_, _, _| {}).unwrap_or_else(|errors| panic!("{errors:?}"));
    let cluster = joined.cluster;
    assert!(joined.warnings.iter().any(|warning| warning.text.ends_with("are active: they serve")));
    let mut laid_out = LaidOut::new(&cluster).unwrap();
    let mut groups = 0;
    for pool in &cluster.pools {
        for (seed, group) in (0..).zip(&pool.groups) {
            let up = laid_out.place(&pool.placed, seed).up.devices;
            assert_eq!(group.up.as_ref(), Some(&up), "group {seed} of {}", pool.name);
            groups += 1;
        }
        let bytes: u64 = pool.groups.iter().map(|group| group.bytes).sum();
        for count in [pool.placed.pg_num, 2 * pool.placed.pg_num, 3 * pool.placed.pg_num] {
            assert_eq!(parts(pool, count).iter().sum::<u64>(), bytes, "{count} groups");
        }
    }
    assert!(groups > 60, "{groups}");
}

#[test]
fn what_does_not_fit_is_refused_with_its_export_and_a_next_step() {
    type Damage = fn(&mut Map, &mut OsdDump, &mut PgDump);
    let cases: [(&str, Export, Damage); 4] = [
        ("`osds`: the pools have", Export::OsdDump, |_, dump, _| dump.pools[0].pg_num = u32::MAX),
        ("which `map` lacks", Export::OsdDump, |map, _, _| map.rules.clear()),
        ("is listed twice", Export::PgDump, |_, _, dump| dump.groups.push(dump.groups[0].clone())),
        ("had not heard", Export::PgDump, |_, _, dump| {
            dump.ready = Some(false);
            dump.groups.clear();
        }),
    ];
    for (words, export, damage) in cases {
        let Err(errors) = joined(damage) else { panic!("nothing is wrong: {words}") };
        assert!(errors[0].to_string().contains(words), "{words}: {}", errors[0]);
        assert_eq!(errors[0].export(), export, "{words}");
        assert!(!errors[0].hint().is_empty(), "{words}");
    }
}

/// Entries of objects (omap) are copied too, so they count with the bytes of their groups, and that is said.
/// A device of the map that the osd dump lacks, and one of the dump that the map lacks, are named.
#[test]
fn devices_that_only_one_export_has_are_named() {
    let joined = joined(|_, osd_dump, pg_dump| {
        osd_dump.osds[2].id = 7;
        for stat in &mut pg_dump.groups {
            for osds in [&mut stat.up, &mut stat.acting] {
                osds.retain(|osd| *osd != 2);
            }
        }
    });
    let warnings = joined.unwrap_or_else(|errors| panic!("{errors:?}")).warnings;
    for words in ["`map` contains osd.2, which `osds` lacks", "osd.7 of `osds` is in no bucket of `map`"] {
        assert!(warnings.iter().any(|warning| warning.text.contains(words)), "{words}: {warnings:?}");
    }
}

#[test]
fn entries_count_as_bytes() {
    let bytes = |joined: &Joined| -> u64 {
        joined.cluster.pools.iter().flat_map(|pool| &pool.groups).map(|group| group.bytes).sum()
    };
    let words = "they are copied like data, though they lie with the metadata";
    let warns = |joined: &Joined| {
        joined
            .warnings
            .iter()
            .any(|warning| warning.text.contains("entries (omap)") && warning.text.ends_with(words))
    };
    let without = joined(|_, _, _| {}).unwrap();
    assert!(!warns(&without), "this cluster has none");
    let with = joined(|_, _, dump| dump.groups.iter_mut().for_each(|stat| stat.sum.num_omap_bytes = 1_000));
    let with = with.unwrap();
    assert_eq!(bytes(&with), bytes(&without) + 1_000 * 65);
    assert!(warns(&with), "{:?}", with.warnings);
    let report = |entries: u64| {
        of_report(|report| report.pools.iter_mut().for_each(|(_, sum)| sum.num_omap_bytes = entries))
    };
    let (without, with) = (report(0), report(65_000));
    assert_eq!(bytes(&with), bytes(&without) + 65_000 * with.cluster.pools.len() as u64);
    assert!(warns(&with) && !warns(&without));
}

#[test]
fn hosts_come_and_go() {
    let mut cluster = cluster();
    let before = cluster.devices();
    let hosts: BTreeSet<String> = cluster.hosts().into_values().collect();
    let host = cluster.item(hosts.first().unwrap()).unwrap();
    let root = parents(&cluster.map)[&host];
    let place = (cluster.type_of(root).to_owned(), item_name(&cluster.map, root));
    let host = NewHost { name: "new", count: 2, weight: 1.0, class: None, place };
    let new = cluster.add_host(&host).unwrap();
    assert_eq!(cluster.devices().len(), before.len() + 2);
    assert!(new.iter().all(|id| cluster.serves(*id) && cluster.hosts()[id] == "new"));
    assert!(LaidOut::new(&cluster).is_ok());
    let added = cluster.item("new").unwrap();
    assert_eq!(cluster.devices_below(added).len(), 2);
    cluster.remove(added).unwrap();
    assert_eq!(cluster.devices(), before);
    assert_eq!(cluster.item("new"), None);
}

#[test]
fn a_rack_is_dead_when_nothing_in_it_serves() {
    let cluster = cluster();
    let all = cluster.devices();
    let first = *all.first().unwrap();
    let racks = cluster.map.type_id("rack").is_some();
    assert_eq!(cluster.in_dead_rack(first, &all), racks, "all of the cluster is down");
    assert!(!cluster.in_dead_rack(first, &BTreeSet::from([first])));
    assert_eq!(cluster.share_in(&BTreeSet::new()), 1.0);
    assert_eq!(cluster.share_in(&all), 0.0);
}

#[test]
fn fill_is_judged_by_the_worst_limit() {
    let limits = FillLimits::default();
    let of = |fill| limits.above(fill).map(FillLevel::name);
    assert_eq!(
        [of(0.5), of(0.86), of(0.91), of(0.96)],
        [None, Some("nearfull"), Some("backfillfull"), Some("full")]
    );
}

/// The report of the same cluster alone, joined after a change of it.
fn of_report(change: impl FnOnce(&mut Report)) -> Joined {
    let text = bytes("report.json.gz");
    let mut report = read_report(File { name: "report", bytes: &text }).unwrap().value;
    change(&mut report);
    let named = |file: &str| file.to_owned();
    join(Exports {
        map: Named { value: report.map.clone(), file: named("report") },
        osd_dump: Named { value: report.osd_dump.clone(), file: named("report") },
        pg_dump: None,
        report: Some(&report),
        report_file: "report",
        fill: None,
        states: &[("degraded", "they lack copies")],
    })
    .unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn is_estimated(joined: &Joined) -> bool {
    joined.warnings.iter().any(|warning| warning.text.contains("it is estimated from their sizes"))
}

/// The metadata of these devices differ by 0.2 % of what each uses: that is how exact equal parts can be.
#[test]
fn a_report_gives_about_the_usage_of_each_device() {
    let joined = of_report(|_| ());
    assert!(is_estimated(&joined));
    let text = bytes("osd_df.json");
    let stated = read_osd_df(File { name: "osd_df", bytes: &text }).unwrap().value;
    assert_eq!(joined.cluster.fill.len(), stated.len());
    for DeviceUse { id, size_bytes, used_bytes } in stated {
        let found = joined.cluster.fill[&id];
        assert_eq!(found.size_bytes, size_bytes, "osd.{id}");
        let ratio = found.used_bytes as f64 / used_bytes as f64;
        assert!((ratio - 1.0).abs() < 0.002, "osd.{id}: {ratio}");
    }
}

/// Worked by hand: a device without weight has its part of the metadata alone, and the others half of the
/// data each.
#[test]
fn usage_is_where_the_map_places_data() {
    let mut used = None;
    let joined = of_report(|report| {
        used = report.used;
        let device = report.osd_dump.osds.iter_mut().find(|device| device.id == 2).unwrap();
        device.weight = 0;
    });
    let (used, fill) = (used.unwrap(), joined.cluster.fill);
    let of = |id: i32| fill[&id].used_bytes;
    assert_eq!(of(2), used.meta_bytes / 3);
    assert!(of(0) > of(2) + used.data_bytes / 3, "as much as the others had before");
    assert_eq!((of(0), of(0) - of(2)), (of(1), used.data_bytes / 2));
}

#[test]
fn no_usage_is_estimated_from_parts_of_a_report() {
    for change in [
        (|report| report.used = None) as fn(&mut Report),
        |report| report.sizes.retain(|(id, _)| *id != 1),
        |report| report.pools.clear(),
    ] {
        let joined = of_report(change);
        assert!(!is_estimated(&joined) && joined.cluster.fill.is_empty(), "{:?}", joined.cluster.fill);
    }
}

/// A report has no groups, but it has their states.
#[test]
fn states_of_groups_in_a_report_are_named() {
    let warns = |joined: &Joined| {
        joined.warnings.iter().any(|warning| warning.text.contains("are degraded: they lack"))
    };
    assert!(!warns(&of_report(|_| ())));
    let joined = of_report(|report| report.states[0].state = "active+undersized+degraded".to_owned());
    assert!(warns(&joined), "{:?}", joined.warnings);
}
