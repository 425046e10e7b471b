//! Another rule for a pool: clusters worked by hand, the same rule in another map, and what is refused.

use super::*;

/// The rules of a text: name, type, sizes and steps. The first has the id 0.
type Rules<'a> = &'a [(&'a str, &'a str, &'a str, &'a str)];

fn rules(first: usize, rules: Rules<'_>) -> String {
    let text = |(id, (name, kind, sizes, steps)): (usize, &(&str, &str, &str, &str))| {
        let (least, most) = sizes.split_once("..").unwrap();
        let steps: String = steps.split("; ").map(|step| format!("\tstep {step}\n")).collect();
        format!(
            "rule {name} {{\n\tid {id}\n\ttype {kind}\n\tmin_size {least}\n\tmax_size {most}\n{steps}\tstep emit\n}}\n"
        )
    };
    (first..).zip(rules).map(text).collect()
}

/// Rules to choose from: with all devices of a class, with few devices, and for pools of shards.
const MORE: Rules<'_> = &[
    ("by_osd", "replicated", "1..10", "take default class hdd; chooseleaf firstn 0 type osd"),
    ("flash", "replicated", "1..10", "take default class ssd; chooseleaf firstn 0 type host"),
    ("shards_by_osd", "erasure", "3..6", "take default; choose indep 0 type osd"),
    ("two_hosts", "replicated", "1..10", "take default class hdd; chooseleaf firstn 2 type host"),
    ("one_device", "replicated", "1..10", "take h0 class ssd; choose firstn 0 type osd"),
    ("pairs", "replicated", "1..2", "take default; chooseleaf firstn 0 type host"),
];

/// The example with more rules in its map.
pub(super) fn ruled() -> BTreeMap<String, Vec<u8>> {
    let mut files = usual();
    files.get_mut("crush.txt").unwrap().extend(rules(2, MORE).into_bytes());
    files
}

pub(super) fn ruled_case(changes: &str) -> Case {
    draft_case(ruled(), &format!("{USUAL}{changes}"))
        .unwrap_or_else(|problems| panic!("{changes}: {problems:?}"))
}

/// Bytes of a group of the clusters worked by hand.
const GROUP: u64 = 40 << 20;

/// Hosts with these devices, each with its class, and a pool `data` of the first rule whose groups are on
/// `held`. `more` is added to the osd dump.
fn by_hand(hosts: &[&[(u32, &str)]], rules: &str, held: &[&[u32]], more: &str) -> BTreeMap<String, Vec<u8>> {
    let mut map = String::new();
    let devices: BTreeMap<u32, &str> = hosts.iter().copied().flatten().copied().collect();
    devices.iter().for_each(|(osd, class)| map += &format!("device {osd} osd.{osd} class {class}\n"));
    map += "type 0 osd\ntype 1 host\ntype 11 root\n";
    let mut root = String::new();
    for (host, devices) in hosts.iter().enumerate() {
        let items: String = devices.iter().map(|(osd, _)| format!("\titem osd.{osd} weight 1.0\n")).collect();
        map += &format!("host h{host} {{\n\tid -{}\n\talg straw2\n\thash 0\n{items}}}\n", host + 2);
        root += &format!("\titem h{host} weight {}.0\n", devices.len());
    }
    map += &format!("root default {{\n\tid -1\n\talg straw2\n\thash 0\n{root}}}\n{rules}");
    let osds: Vec<String> =
        devices.keys().map(|osd| format!(r#"{{"osd":{osd},"up":1,"in":1,"weight":1.0}}"#)).collect();
    let (count, size) = (held.len(), held[0].len());
    let dump = format!(
        r#"{{"pools":[{{"pool":1,"pool_name":"data","type":1,"size":{size},"min_size":2,"crush_rule":0,"flags":1,"pg_num":{count},"pg_placement_num":{count}}}],"osds":[{}]{more}}}"#,
        osds.join(",")
    );
    let stat = |(seed, held): (usize, &&[u32])| {
        format!(
            r#"{{"pgid":"1.{seed:x}","state":"active+clean","up":{held:?},"acting":{held:?},"acting_primary":{},"stat_sum":{{"num_bytes":{GROUP},"num_objects":10}}}}"#,
            held[0]
        )
    };
    let stats: Vec<String> = held.iter().enumerate().map(stat).collect();
    let node = |osd: &u32| format!(r#"{{"id":{osd},"kb":1048576,"kb_used":0}}"#);
    let fill = format!(r#"{{"nodes":[{}]}}"#, devices.keys().map(node).collect::<Vec<_>>().join(","));
    let files = [("crush.txt", map), ("osds", dump), ("pgs", format!("[{}]", stats.join(","))), ("df", fill)];
    files.map(|(name, text)| (name.to_owned(), text.into_bytes())).into()
}

const BY_HAND: &str = "crush_map = \"crush.txt\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"\nosd_df = \"df\"\n";

/// Three hosts with an hdd each, and the first `flash` of them with an ssd: osd.3, osd.4 and osd.5. Two
/// groups of three copies are on the three hdds.
fn two_classes(flash: u32) -> BTreeMap<String, Vec<u8>> {
    let hosts: Vec<Vec<(u32, &str)>> = (0..3)
        .map(|host| [Some((host, "hdd")), (host < flash).then_some((host + 3, "ssd"))])
        .map(|devices| devices.into_iter().flatten().collect())
        .collect();
    let hosts: Vec<&[(u32, &str)]> = hosts.iter().map(Vec::as_slice).collect();
    let steps =
        ["hdd", "ssd"].map(|class| format!("take default class {class}; chooseleaf firstn 0 type host"));
    let own = rules(
        0,
        &[("spinning", "replicated", "1..10", &steps[0]), ("flash", "replicated", "1..10", &steps[1])],
    );
    by_hand(&hosts, &own, &[&[0, 1, 2], &[1, 2, 0]], "")
}

/// Worked by hand: each ssd takes a copy of both groups. With fewer ssds than copies, the groups end short of
/// copies, and with fewer than `min_size` they take no writes: the answer says so first.
#[test]
fn a_pool_moves_to_the_devices_of_its_rule() {
    let mut answers = Vec::new();
    for (flash, short, below) in [(3, 0.0, 0.0), (2, 2.0, 0.0), (1, 2.0, 2.0)] {
        let text = format!("{BY_HAND}rule = \"data=flash\"");
        let case = draft_case(two_classes(flash), &text).unwrap_or_else(|problems| panic!("{problems:?}"));
        let (found, outcome) = (moves(&case), outcome(&case));
        let value = |name: &str| outcome.measures[name].value().unwrap();
        assert_eq!((found.moved_groups, found.moved_shards), (2, 2 * u64::from(flash)));
        assert_eq!(
            (found.moved_bytes, found.minimum_bytes()),
            (found.moved_shards * GROUP, found.moved_bytes)
        );
        for osd in 0..3 + flash as i32 {
            let device = &found.devices[&osd];
            let want = if osd < 3 { (0, 2 * GROUP, 0) } else { (2 * GROUP, 0, 2 * GROUP) };
            assert_eq!((device.in_bytes, device.out_bytes, device.target_bytes), want, "osd.{osd}");
        }
        assert_eq!((value("groups_short"), value("groups_on_old_devices")), (short, below), "{flash} ssds");
        answers.push(answer(&case));
    }
    insta::assert_snapshot!(answers.join("\n"), @"
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. data with rule flash: 2/2 (100.00 %) groups, 240 MiB/240 MiB (100.0 %) bytes to move; the least possible is 240 MiB.
    At risk: 2 groups would be short of copies. data with rule flash: 2/2 (100.00 %) groups, 160 MiB/240 MiB (66.7 %) bytes to move; the least possible is 160 MiB.
    Not safe: 2 groups would have fewer than `min_size` devices by the map, and would take writes only while those that hold them now stay up. data with rule flash: 2/2 (100.00 %) groups, 80 MiB/240 MiB (33.3 %) bytes to move; the least possible is 80 MiB.
    ");
}

/// Worked by hand: two hosts of two devices, copies on any two devices. Group 1.0 is mapped to both devices
/// of h0, which the new rule does not allow, so the monitors drop the mapping and one copy moves to h1. The
/// mapping of group 1.1 has a device in each host, so it stays, and nothing of that group moves.
#[test]
fn explicit_mappings_that_violate_the_new_rule_are_dropped() {
    let own = rules(
        0,
        &[
            ("by_osd", "replicated", "1..10", "take default; chooseleaf firstn 0 type osd"),
            ("by_host", "replicated", "1..10", "take default; chooseleaf firstn 0 type host"),
        ],
    );
    let hosts: [&[(u32, &str)]; 2] = [&[(0, "hdd"), (1, "hdd")], &[(2, "hdd"), (3, "hdd")]];
    let more = r#","pg_upmap":[{"pgid":"1.0","osds":[0,1]},{"pgid":"1.1","osds":[1,2]}]"#;
    let files = by_hand(&hosts, &own, &[&[0, 1], &[1, 2]], more);
    let asked = |changes: &str| draft_case(files.clone(), &format!("{BY_HAND}{changes}")).unwrap();
    let unchanged = asked("");
    assert_eq!((unchanged.upmaps_dropped, moves(&unchanged).moved_bytes), (0, 0));
    let changed = asked("rule = \"data=by_host\"");
    let kept: Vec<String> = changed.after.overlay.upmap.keys().map(ToString::to_string).collect();
    assert_eq!((changed.upmaps_dropped, kept), (1, vec!["1.1".to_owned()]));
    let found = moves(&changed);
    assert_eq!((found.moved_groups, found.moved_bytes), (1, GROUP));
    // With the mappings left as they are, the second copy would stay in the same host.
    let mut planted = changed.clone();
    planted.after.overlay = unchanged.after.overlay.clone();
    assert_eq!(moves(&planted).moved_bytes, 0);
}

/// The same as another map in which the pool's own rule has these steps, by name and by id. The oracle
/// notices a change that is not made.
#[test]
fn a_rule_is_as_good_as_the_same_steps_in_the_own_rule() {
    let own = "step take default class hdd\n\tstep chooseleaf firstn 0 type host\n";
    for (at, steps) in [
        (2, "class hdd\n\tstep chooseleaf firstn 0 type osd\n"),
        (3, "class ssd\n\tstep chooseleaf firstn 0 type host\n"),
    ] {
        let mut files = ruled();
        let map = String::from_utf8(files["crush.txt"].clone()).unwrap();
        assert!(map.contains(own));
        let other = map.replacen(own, &format!("step take default {steps}"), 1);
        files.insert("other.txt".to_owned(), other.into_bytes());
        let asked = |changes: &str| draft_case(files.clone(), &format!("{USUAL}{changes}")).unwrap();
        let other = asked("after_map = \"other.txt\"");
        let want = (moves(&other), other.upmaps_dropped);
        let name = MORE[at - 2].0;
        for rule in [name.to_owned(), at.to_string()] {
            let case = asked(&format!("rule = \"rbd={rule}\""));
            assert_eq!((moves(&case), case.upmaps_dropped), want, "{rule}");
            assert_eq!(case.changes, [format!("rbd with rule {name}")]);
            assert!(want.0.moved_groups > 100, "{} groups move", want.0.moved_groups);
            let mut planted = case.clone();
            planted.after.pools[0].placed.rule = 0;
            let planted = moves(&planted);
            assert_ne!((planted.moved_bytes, planted.moved_groups, planted.minimum_bytes()), oracle(&case));
        }
    }
}

#[test]
fn a_rule_that_a_pool_has_already_is_noted() {
    let case = ruled_case("rule = [\"2=1\", \"1=0\"]");
    assert_eq!(moves(&case).moved_bytes, 0);
    let notes: Vec<&str> = case.warnings.iter().map(|warning| warning.text.as_str()).collect();
    insta::assert_snapshot!(notes.join("\n"), @"
    pool `2` has rule `coded` already
    pool `1` has rule `replicated_rule` already
    ");
}

#[test]
fn rules_that_a_pool_cannot_have_are_refused() {
    let refusals = [
        "rbd",
        "rdb=by_osd",
        "rbd=by_ods",
        "rbd=by_rack",
        "rbd=8",
        "rbd=-1",
        "rbd=",
        "rbd=coded",
        "archive=by_osd",
        "rbd=pairs",
    ]
    .map(|rule| {
        let problems = draft_case(ruled(), &format!("{USUAL}rule = \"{rule}\"")).expect_err(rule);
        let problem = problems.iter().next().unwrap();
        format!("{}\n  hint: {}", problem.message(), problem.next_step().unwrap_or_default())
    });
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    `rule` is "rbd": there is no `=` in it
      hint: write it as in `rbd=replicated_rule`
    `rule` is "rdb=by_osd": there is no pool called `rdb`
      hint: did you mean `rbd`?
    `rule` is "rbd=by_ods": there is no rule called `by_ods`
      hint: did you mean `by_osd`? the rules of the map are 0 (replicated_rule), 1 (coded), 2 (by_osd), 3 (flash), 4 (shards_by_osd), 5 (two_hosts), 6 (one_device), 7 (pairs)
    `rule` is "rbd=by_rack": there is no rule called `by_rack`
      hint: the rules of the map are 0 (replicated_rule), 1 (coded), 2 (by_osd), 3 (flash), 4 (shards_by_osd), 5 (two_hosts), 6 (one_device), 7 (pairs)
    `rule` is "rbd=8": there is no rule called `8`
      hint: the rules of the map are 0 (replicated_rule), 1 (coded), 2 (by_osd), 3 (flash), 4 (shards_by_osd), 5 (two_hosts), 6 (one_device), 7 (pairs)
    `rule` is "rbd=-1": there is no rule called `-1`
      hint: the rules of the map are 0 (replicated_rule), 1 (coded), 2 (by_osd), 3 (flash), 4 (shards_by_osd), 5 (two_hosts), 6 (one_device), 7 (pairs)
    `rule` is "rbd=": there is no rule called ``
      hint: the rules of the map are 0 (replicated_rule), 1 (coded), 2 (by_osd), 3 (flash), 4 (shards_by_osd), 5 (two_hosts), 6 (one_device), 7 (pairs)
    `rule` is "rbd=coded": rule `coded` is for erasure-coded pools, but pool `rbd` is replicated
      hint: the rules for replicated pools are 0 (replicated_rule), 2 (by_osd), 3 (flash), 5 (two_hosts), 6 (one_device), 7 (pairs)
    `rule` is "archive=by_osd": rule `by_osd` is for replicated pools, but pool `archive` is erasure-coded
      hint: the rules for erasure-coded pools are 1 (coded), 4 (shards_by_osd)
    `rule` is "rbd=pairs": rule `pairs` is for pools of size 1 to 2, but pool `rbd` has size 3
      hint: name another rule, or change `min_size` and `max_size` of this one in the map
    "#);
}
