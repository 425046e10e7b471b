//! Values of exports that contradict each other, which Ceph does not write, or only for a while: each is
//! named, since what follows from it may be wrong.

use std::collections::BTreeMap;

use towtank_imports::ceph::{DeviceUse, OsdDump, PgDump};
use towtank_report::{Warning, human};

use crate::cluster::Cluster;
use crate::fill::FillLimits;

/// What the osd dump says of pools and of limits.
pub(crate) fn of_dump(dump: &OsdDump, file: &str) -> Vec<Warning> {
    let mut said = Vec::new();
    for pool in &dump.pools {
        if pool.min_size == Some(0) {
            let name = &pool.name;
            said.push(Warning::unknown(format!(
                "pool `{name}` of `{file}` has `min_size` 0, which Ceph does not write: it is not known whether its groups \
                 take writes with few devices"
            )));
        }
        let size = pool.placed().size;
        if let Some(least) = pool.min_size.filter(|least| *least > size) {
            said.push(Warning::unknown(format!(
                "pool `{}` of `{file}` has `min_size` {least}, above its `size` {size}, which Ceph does not allow: its groups \
                 count as taking no writes",
                pool.name
            )));
        }
    }
    // Of two copies it is the default.
    let mut single = dump.pools.iter().filter(|pool| pool.min_size == Some(1) && pool.placed().size > 2);
    if let Some(first) = single.next() {
        let who = match single.count() {
            0 => format!("pool `{}` of `{file}` takes", first.name),
            more => format!("{} pools of `{file}`, such as `{}`, take", more + 1, first.name),
        };
        said.push(Warning::note(format!(
            "{who} writes with a single copy (`min_size` 1): what was written then is lost with that device"
        )));
    }
    let FillLimits { nearfull, backfillfull, full } = FillLimits::written(dump);
    if nearfull > backfillfull || backfillfull > full {
        let percent = |share: f64| format!("{} %", (share * 1e4).round() / 100.0);
        let [nearfull, backfillfull, full] = [nearfull, backfillfull, full].map(percent);
        said.push(Warning::unknown(format!(
            "the limits of fill of `{file}` are out of order (OSD_OUT_OF_ORDER_FULL): nearfull {nearfull}, backfillfull \
             {backfillfull}, full {full}; devices take each for at least as high as the one below it"
        )));
    }
    said
}

/// How much older an export of groups may be than the map: statistics come a few seconds after it.
const OLDER_S: u64 = 60;

/// Says of an export of groups that it was made before the map changed for the last time.
pub(crate) fn of_time(dump: &OsdDump, (made, file): (&str, &str)) -> Option<String> {
    let seconds = dump.newer_than(made).filter(|seconds| *seconds > OLDER_S)?;
    let before = human::quantity(seconds as f64, "s");
    Some(format!(
        "`{file}` was made {before} before the last change of the map: what it says of groups is of another time"
    ))
}

/// Groups that are led by a device that does not serve them.
pub(crate) fn of_groups(dump: &PgDump, file: &str) -> Option<Warning> {
    let settled = dump.groups.iter().filter(|stat| !stat.is("stale") && !stat.is("unknown"));
    let mut led = settled.filter(|stat| {
        let primary = i32::try_from(stat.acting_primary).unwrap_or(i32::MAX);
        primary >= 0 && !stat.acting.contains(&primary)
    });
    let first = led.next()?;
    let count = 1 + led.count();
    let groups = human::plural(count as f64, ["group", "groups"]);
    Some(Warning::unknown(format!(
        "`{file}` has {groups} whose `acting_primary` is not in `acting`, such as {} with osd.{}: who reads and writes there \
         is not known",
        first.group, first.acting_primary
    )))
}

/// What an export says of the usage of devices.
pub(crate) fn of_usage(cluster: &Cluster, used: &[DeviceUse], file: &str) -> Vec<Warning> {
    let mut by_device: BTreeMap<i32, Vec<&DeviceUse>> = BTreeMap::new();
    used.iter().for_each(|one| by_device.entry(one.id).or_default().push(one));
    let mut said = Vec::new();
    let mut say = |devices: Vec<i32>, what: &str| {
        if let Some(first) = devices.first() {
            let more = match devices.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            said.push(Warning::unknown(format!("`{file}` has osd.{first}{more} {what}")));
        }
    };
    let those = |is: &dyn Fn(i32, &[&DeviceUse]) -> bool| {
        by_device.iter().filter(|(id, all)| is(**id, all)).map(|(id, _)| *id).collect::<Vec<i32>>()
    };
    say(those(&|_, all| all.len() > 1), "more than once: what is written last is taken");
    let above = |one: &DeviceUse| one.size_bytes > 0 && one.used_bytes > one.size_bytes;
    let fuller = "with more used than its size: what fits there is not known";
    say(those(&|_, all| all.last().is_some_and(|one| above(one))), fuller);
    let strange = "which the osd dump lacks: was it exported from another cluster, or at another time?";
    say(those(&|id, _| cluster.device(id).is_none()), strange);
    said
}

#[cfg(test)]
mod tests {
    use towtank_imports::File;
    use towtank_imports::ceph::{read_osd_dump, read_pg_dump};

    use super::*;

    fn dump(pool: &str, limits: &str) -> OsdDump {
        let text = format!(
            r#"{{"pools":[{{"pool":1,"pool_name":"data","type":1,"size":3,{pool}"crush_rule":0,"flags":1,"pg_num":1,"pg_placement_num":1}}],"osds":[]{limits}}}"#
        );
        read_osd_dump(File { name: "osds", bytes: text.as_bytes() }).unwrap().value
    }

    fn texts(said: impl IntoIterator<Item = Warning>) -> Vec<String> {
        said.into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn a_pool_that_can_never_take_writes_is_named() {
        assert_eq!(of_dump(&dump(r#""min_size":3,"#, ""), "osds"), []);
        let said = texts(of_dump(&dump(r#""min_size":9,"#, ""), "osds"));
        assert!(
            said[0].starts_with("pool `data` of `osds` has `min_size` 9, above its `size` 3"),
            "{said:?}"
        );
        let said = texts(of_dump(&dump(r#""min_size":1,"#, ""), "osds"));
        assert!(said[0].starts_with("pool `data` of `osds` takes writes with a single copy"), "{said:?}");
        let said = texts(of_dump(&dump(r#""min_size":0,"#, ""), "osds"));
        assert!(
            said[0].starts_with("pool `data` of `osds` has `min_size` 0, which Ceph does not"),
            "{said:?}"
        );
    }

    #[test]
    fn limits_of_fill_that_are_out_of_order_are_named() {
        assert_eq!(of_dump(&dump("", r#","backfillfull_ratio":0.95"#), "osds"), []);
        let said = texts(of_dump(&dump("", r#","backfillfull_ratio":0.97"#), "osds"));
        assert!(said[0].contains("nearfull 85 %, backfillfull 97 %, full 95 %"), "{said:?}");
        let said = texts(of_dump(&dump("", r#","nearfull_ratio":0.92"#), "osds"));
        assert!(said[0].contains("nearfull 92 %, backfillfull 90 %, full 95 %"), "{said:?}");
        // By what devices go, then.
        let limits = |key: &str| FillLimits::of(&dump("", key));
        assert_eq!(limits(r#","nearfull_ratio":0.92"#).backfillfull, 0.92);
        assert_eq!(limits(r#","nearfull_ratio":0.97"#).full, 0.97);
        assert_eq!(limits(r#","backfillfull_ratio":0.97"#).full, 0.97);
    }

    #[test]
    fn groups_of_another_time_than_the_map_are_named() {
        let dump = dump("", r#","modified":"2026-11-26T14:16:49.093844+0000""#);
        let said = |made: &str| of_time(&dump, (made, "pgs")).into_iter().collect::<Vec<String>>();
        for near in ["2026-11-26T14:17:39.257961+0000", "2026-11-26T14:16:40.0+0000", "", "0.000000", "noon"]
        {
            assert_eq!(said(near), Vec::<String>::new(), "{near}");
        }
        let old = said("2026-11-26T12:16:49.093844+0000");
        assert!(old[0].starts_with("`pgs` was made 2 h before the last change of the map"), "{old:?}");
    }

    #[test]
    fn a_group_that_is_led_by_a_stranger_is_named() {
        let said = |primary: i32, state: &str| {
            let text = format!(
                r#"[{{"pgid":"1.0","state":"{state}","up":[0,1],"acting":[0,1],"acting_primary":{primary},"stat_sum":{{"num_bytes":0,"num_objects":0}}}}]"#
            );
            let dump = read_pg_dump(File { name: "pgs", bytes: text.as_bytes() }).unwrap().value;
            of_groups(&dump, "pgs").map(|warning| warning.text)
        };
        assert_eq!(said(1, "active+clean"), None);
        assert_eq!(said(-1, "active+clean"), None);
        assert_eq!(said(99, "stale+active"), None);
        let found = said(99, "active+clean").unwrap();
        assert!(found.starts_with("`pgs` has 1 group whose `acting_primary` is not in `acting`"), "{found}");
    }

    #[test]
    fn a_usage_that_no_device_has_is_named() {
        let cluster = Cluster {
            map: Default::default(),
            overlay: dump("", "").overlay(),
            pools: Vec::new(),
            fill: BTreeMap::new(),
        };
        let of = |used: &[(i32, u64)]| {
            let used: Vec<DeviceUse> =
                used.iter().map(|&(id, used_bytes)| DeviceUse { id, size_bytes: 100, used_bytes }).collect();
            texts(of_usage(&cluster, &used, "df"))
        };
        let strange = "which the osd dump lacks: was it exported from another cluster, or at another time?";
        assert_eq!(of(&[(0, 100)]), [format!("`df` has osd.0 {strange}")]);
        assert_eq!(
            of(&[(0, 1), (0, 2), (1, 101)]),
            [
                "`df` has osd.0 more than once: what is written last is taken".to_owned(),
                "`df` has osd.1 with more used than its size: what fits there is not known".to_owned(),
                format!("`df` has osd.0 and 1 more {strange}"),
            ]
        );
    }
}
