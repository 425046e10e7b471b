//! What Ceph refuses of groups on devices, and what one host that fails would stop.

use towtank_placement::crush::pools::GroupPlacement;

use super::rule::ruled_case;
use super::*;

/// Devices of one host with so many groups each, before and after.
fn with_groups(counts: &[(u64, u64)]) -> BTreeMap<i32, DeviceMoves> {
    let device = |&(present_shards, target_shards): &(u64, u64)| DeviceMoves {
        name: format!("with {target_shards}"),
        present_shards,
        target_shards,
        ..DeviceMoves::default()
    };
    (0..).zip(counts.iter().map(device)).collect()
}

/// What Ceph said elsewhere: "1155 total PG replicas on 4 'in' root OSDs" are 288 a device, "759 on 3" are
/// 253; both were refused with a limit of 250. Whole numbers are compared, so 1,003 on 4 are not refused.
#[test]
fn the_mean_of_the_devices_of_a_rule_decides_what_is_refused() {
    let mut case = case("pg_num = \"rbd=512\"");
    let of_rule = case.after.devices_of_rule(case.after.pools[0].placed.rule);
    let refused = |case: &Case, shares: [u64; 2]| {
        let [total, devices] = shares;
        let mut case = case.clone();
        for (at, id) in of_rule.iter().enumerate() {
            case.after.overlay.devices[*id as usize].weight = u32::from((at as u64) < devices) * FULL;
        }
        let chosen = of_rule.iter().take(devices as usize);
        let each = |(at, id): (usize, &i32)| {
            let target_shards = total / devices + u64::from((at as u64) < total % devices);
            (*id, DeviceMoves { target_shards, ..DeviceMoves::default() })
        };
        // A device that is out has as many again, and does not count.
        let others = of_rule
            .iter()
            .skip(devices as usize)
            .map(|id| (*id, DeviceMoves { target_shards: total, ..DeviceMoves::default() }));
        let all: BTreeMap<i32, DeviceMoves> = chosen.enumerate().map(each).chain(others).collect();
        group_limits::refused(&case, &|id| all[&id].target_shards)
    };
    let said = |mean: u64| {
        format!(
            "Ceph refuses `pg_num` 512 of pool `rbd`: devices would have {mean} groups on average, above \
             `mon_max_pg_per_osd` (250, unless it was raised)"
        )
    };
    assert_eq!(refused(&case, [1_155, 4]), [said(288)]);
    assert_eq!(refused(&case, [759, 3]), [said(253)]);
    assert!(refused(&case, [1_003, 4]).is_empty(), "250.75 is 250");
    assert_eq!(refused(&case, [1_004, 4]), [said(251)]);
    case.groups_max = 500;
    assert!(refused(&case, [1_155, 4]).is_empty(), "the limit of later releases");
    // Nothing is refused of a pool that keeps its groups, however many it has.
    case.groups_max = 1;
    case.after.pools[0].placed.pg_num = 256;
    assert!(refused(&case, [1_155, 4]).is_empty());
}

#[test]
fn devices_that_get_above_the_limit_are_named_and_those_that_were_above_it_are_not() {
    let said = |counts: &[(u64, u64)]| {
        let safety = Safety { groups_max: 250, ..Safety::default() };
        dangers::dangers(&Moves { devices: with_groups(counts), safety, ..Moves::default() })
    };
    assert!(said(&[(100, 250), (300, 300), (400, 260)]).is_empty());
    let one = "with 251 would have 251 groups, above `mon_max_pg_per_osd` (250 by default)";
    assert_eq!(said(&[(100, 251), (300, 300)]), [one]);
    let more =
        "with 301 would have 301 groups, above `mon_max_pg_per_osd` (250 by default), and 1 more above it";
    assert_eq!(said(&[(100, 251), (300, 301)]), [more]);
}

#[test]
fn a_split_that_ceph_refuses_is_not_safe() {
    assert!(answer(&case("pg_num = \"rbd=8192\"")).contains("Ceph refuses `pg_num` 8192 of pool `rbd`"));
    assert!(!answer(&case("pg_num = \"rbd=512\"")).contains("Ceph refuses"));
}

/// A rule over devices puts several copies on one host. For each host its groups are counted by hand: those
/// that take no writes without it, and those that have all their copies there.
#[test]
fn a_rule_that_puts_copies_on_one_host_is_not_safe() {
    let by_host = moves(&ruled_case("")).safety;
    assert_eq!((by_host.host_stops, by_host.host_stops_now), (0, 0));
    let case = ruled_case("rule = \"rbd=by_osd\"");
    let found = moves(&case);
    let hosts = case.after.hosts();
    let mut layout = LaidOut::new(&case.after).unwrap();
    let pool = &case.after.pools[0];
    let least = pool.min_size.unwrap() as usize;
    let seeds: Vec<u32> = (0..pool.placed.pg_num).collect();
    let placed = layout.place_all(&pool.placed, &seeds);
    let names: BTreeSet<&String> = hosts.values().collect();
    let count = |is: &dyn Fn(usize) -> bool| {
        let of = |host: &&String| {
            let left = |group: &&GroupPlacement| {
                is(group.up.devices.iter().filter(|id| hosts[*id] != **host).count())
            };
            placed.iter().filter(left).count() as u64
        };
        names.iter().map(of).max().unwrap()
    };
    let (stops, loses) = (count(&|left| left < least), count(&|left| left == 0));
    assert!(stops > 10 && loses > 0, "{stops} {loses}");
    assert_eq!((found.safety.host_stops, found.safety.host_loses), (stops, loses));
    let said = dangers::dangers(&found).join("; ");
    assert!(said.contains(&format!("{stops} groups would take no writes while h")), "{said}");
    assert!(said.contains("be lost if h") && said.contains("fails for good (none now)"), "{said}");
    assert_eq!(dangers::status(&found).status(), towtank_report::Status::NotSafe);
    // Beside it a planted one: what is so now already is not said of the change, but that it is so.
    let mut before = found.clone();
    (before.safety.host_stops_now, before.safety.host_loses_now) = (stops, loses);
    let whole = placed.iter().filter(|group| {
        let around: BTreeSet<&String> = group.up.devices.iter().map(|id| &hosts[id]).collect();
        around.len() == 1
    });
    let text =
        format!("{} groups have all copies or shards on one host, and would be lost with it", whole.count());
    assert_eq!(dangers::dangers(&before), [text]);
    assert_eq!(dangers::status(&before).status(), towtank_report::Status::AtRisk);
    before.safety.on_one_host = 0;
    assert_eq!(dangers::status(&before).status(), towtank_report::Status::Safe);
}

/// Each number of groups that cannot be is refused with the limit and what to do.
#[test]
fn numbers_of_groups_that_cannot_be_are_refused() {
    for (change, message) in [
        ("pg_num = \"rbd=99999999\"", "more than 65536 (`mon_max_pool_pg_num`)"),
        ("pg_num = \"rbd=99999999999999\"", "more than 65536 (`mon_max_pool_pg_num`)"),
        ("pg_num = \"rbd=65537\"", "more than 65536 (`mon_max_pool_pg_num`)"),
        ("pg_num = \"rbd=0\"", "a pool has at least 1 group"),
        ("pg_num = \"rbd=many\"", "`many` is not a number of groups"),
        ("pg_num = \"rbd=-1\"", "`-1` is not a number of groups"),
        ("pgp_num = \"rbd=257\"", "pool `rbd` has only 256 groups"),
        ("pgp_num = \"rbd=99999999\"", "pool `rbd` has only 256 groups"),
    ] {
        let Err(problems) = draft_case(usual(), &format!("{USUAL}{change}")) else { panic!("{change}") };
        assert!(problems.to_string().contains(message), "{change}: {problems}");
        assert!(!problems.to_string().contains("--pg-num rbd=99999999"), "{problems}");
    }
    assert!(draft_case(usual(), &format!("{USUAL}pg_num = \"rbd=65536\"")).is_ok(), "the limit itself");
}

/// A group alone loses its swaps, as `ceph osd rm-pg-upmap-items` takes them away; nothing else changes.
#[test]
fn swaps_of_a_group_are_removed_by_its_name() {
    let case = case("upmap_items = \"1.7\"");
    let mut left = case.before.overlay.upmap_items.clone();
    assert!(left.remove(&PgId { pool: 1, seed: 7 }).is_some());
    assert_eq!(case.after.overlay.upmap_items, left);
    assert_eq!(case.changes, ["upmap-items of 1.7 removed"]);
    let Err(problems) = draft_case(usual(), &format!("{USUAL}upmap_items = \"1.8\"")) else {
        panic!("there is nothing to remove")
    };
    assert!(problems.to_string().contains("group 1.8 has no swaps to remove"), "{problems}");
}

/// Where each copy is needed for writes, each host stops its groups, now and after any change: that one of
/// them gets a few groups more, or that groups are split, is no danger of the change.
#[test]
fn a_host_with_a_few_groups_more_is_no_danger_where_each_host_stops_its_groups() {
    let mut files = usual();
    let dump = String::from_utf8(files["osd_dump.json"].clone()).unwrap();
    let strict = dump.replacen("\"min_size\":2", "\"min_size\":3", 1);
    assert!(strict != dump, "the example has a pool with another `min_size`");
    files.insert("osd_dump.json".to_owned(), strict.into_bytes());
    for change in ["reweight = \"osd.6=0.9\"", "crush_reweight = \"osd.1=3.2\"", "pg_num = \"rbd=512\""] {
        let case = draft_case(files.clone(), &format!("{USUAL}{change}")).unwrap();
        let found = moves(&case);
        assert!(found.safety.host_stops > 50, "{change}: {:?}", found.safety);
        let said = dangers::dangers(&found).join("; ");
        assert!(!said.contains("take no writes while"), "{change}: {said}");
    }
}
