//! One chassis against closed forms, against as many servers of one disk, and by its refusals.

use towtank_kernel::Executor;
use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::plan::DeviceId;

use super::super::generated::{Course, course};
use super::super::tests::{complete, outcome, prepare, value, with};

/// 12 disks that read 200 and write 100 MB/s.
const CHASSIS: &str = "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = 12\ndisk_read = \"200MB/s\"\n\
                       disk_write = \"100MB/s\"\n";

fn course_of(text: &str, seed: u64) -> Course {
    let complete = complete(text);
    with(Executor::Sequential, 1, seed, |context| course(&complete, context, false)).unwrap().unwrap()
}

fn refusal(text: &str) -> String {
    let problems = prepare(text).expect_err(text);
    let each = problems
        .iter()
        .map(|problem| format!("{}\n  hint: {}", problem.message(), problem.next_step().unwrap_or_default()));
    each.collect::<Vec<_>>().join("\n")
}

/// Seconds to read or write so many bytes in units of 4 MiB, each with the time of a request.
fn span(bytes: f64, rate: f64, request_us: f64) -> f64 {
    bytes / rate + bytes / f64::from(4 << 20) * request_us * 1e-6
}

const READ_US: f64 = 23.67;
const WRITE_US: f64 = 29.67;
const GIB: f64 = 1_073_741_824.0;

/// The spare writes without a pause: the size of a disk over its write rate. The first unit must be read
/// before that, and no more than the units in flight are left at the end.
#[test]
fn a_raid_takes_as_long_as_its_spare_writes() {
    let raid = format!(
        "{CHASSIS}array = \"raid\"\nec = \"8+2\"\nspares = 2\ndisk_capacity = \"16GiB\"\nfail = \"disk=3\""
    );
    let want = span(16.0 * GIB, 100e6, WRITE_US);
    let check = |text: &str| {
        let found = value(&outcome(text, 1), "transfer_s");
        (want..want + 0.5).contains(&found)
    };
    assert!(check(&raid));
    assert!(!check(&raid.replace("100MB/s", "99MB/s")), "a slower spare is noticed");
    assert!(!check(&raid.replace("disk_capacity = \"16GiB\"", "disk_capacity = \"15GiB\"")));
}

/// Where reading is the slower part, each of the nine survivors of 8+2 is left out of one turn in ten, and
/// one of them of two.
#[test]
fn a_raid_that_reads_slowly_takes_as_long_as_its_survivors_read() {
    let text = format!(
        "{CHASSIS}array = \"raid\"\nec = \"8+2\"\nspares = 2\ndisk_capacity = \"16GiB\"\nfail = \"disk=3\""
    )
    .replace("200MB/s", "50MB/s");
    let found = outcome(&text, 1);
    let each = 16.0 * GIB * 9.0 / 10.0;
    let want = span(each, 50e6, READ_US);
    let time = value(&found, "transfer_s");
    // 1,024 rows do not divide by ten, and the last ones are read by few disks.
    assert!((want..want * 1.01).contains(&time), "{time} s, expected {want}");
    assert!((value(&found, "disk_read_bytes_max") / each - 1.0).abs() < 0.002);
    let mean = 16.0 * GIB * 8.0 / 11.0;
    assert!(
        (value(&found, "disk_read_bytes_mean") / mean - 1.0).abs() < 1e-9,
        "over 11 disks, 2 of them spares"
    );
    assert_eq!(value(&found, "disk_written_bytes_max"), 16.0 * GIB);
}

/// A dRAID: each survivor has 1/(n - 1) of the work, as many reads as parts are left and a write for each
/// part that is lost.
#[test]
fn a_draid_shares_the_work_among_all_survivors() {
    let text = format!(
        "{CHASSIS}array = \"draid\"\nec = \"4+2\"\nspares = 1\nper_server = \"480GiB\"\nfail = \"disk=3\""
    );
    let lost = 40.0 * GIB;
    let of = |reads: f64| (reads * span(lost, 200e6, READ_US) + span(lost, 100e6, WRITE_US)) / 11.0;
    let want = of(5.0);
    for seed in 1..4 {
        let found = outcome(&text, seed);
        let (time, bytes) = (value(&found, "transfer_s"), value(&found, "bytes_rebuilt"));
        assert!((bytes / lost - 1.0).abs() < 0.01, "{bytes} bytes of {lost}");
        // OpenZFS has up to 1.097 times more on the busiest of 12 disks than on the least busy.
        assert!((want * 0.99..want * 1.097).contains(&time), "{time} s, expected {want}");
        let [read, written] =
            ["disk_read_bytes_mean", "disk_written_bytes_mean"].map(|name| value(&found, name));
        assert!((read / written - 5.0).abs() < 1e-9, "five parts are read for each that is written");
        assert!((written * 11.0 / bytes - 1.0).abs() < 1e-9);
        assert!(value(&found, "disk_read_bytes_max") < 1.097 * read);
    }
    let needed = outcome(&format!("{text}\nreads = \"needed\""), 1);
    let (time, want) = (value(&needed, "transfer_s"), of(4.0));
    assert!((want * 0.99..want * 1.097).contains(&time), "{time} s, expected {want}");
    let want = of(5.0);
    // As a RAID the same disks are bounded by one spare.
    let raid = format!(
        "{CHASSIS}array = \"raid\"\nec = \"4+2\"\nspares = 6\ndisk_capacity = \"40GiB\"\nfail = \"disk=3\""
    );
    let ratio = value(&outcome(&raid, 1), "transfer_s") / value(&outcome(&text, 1), "transfer_s");
    let least = span(lost, 100e6, WRITE_US) / (want * 1.097);
    assert!((least..least * 1.12).contains(&ratio), "{ratio}, at least {least}");
}

/// New disks take back what the spares hold: a copy from disk to disk, bounded by the new disk's writes.
#[test]
fn a_second_phase_fills_the_new_disk() {
    for (form, data) in [("raid\"\ndisk_capacity = \"20GiB", 20.0), ("draid\"\nper_server = \"240GiB", 20.0)]
    {
        let text = format!(
            "{CHASSIS}array = \"{form}\"\nec = \"3+2\"\nspares = 2\nfail = \"disk=3\"\nreplace = \"1h\""
        );
        let found = outcome(&text, 1);
        let bytes = data * GIB;
        let later = value(&found, "time_to_rebalanced_s") - 3_600.0;
        let want = span(bytes, 100e6, WRITE_US);
        assert!((want * 0.98..want * 1.03).contains(&later), "{form}: {later} s, expected {want}");
        let spared = value(&found, "time_to_full_redundancy_s");
        let alone = outcome(&text.replace("\nreplace = \"1h\"", ""), 1);
        assert_eq!(spared, value(&alone, "time_to_full_redundancy_s"), "the first phase is the same");
        let Course { affected, recovered, .. } = course_of(&text, 1);
        let lost: u64 = (0..affected.records()).map(|record| affected.bytes_of(record)).sum();
        assert_eq!(recovered.disks[12].2, lost, "the new disk has all that the failed one had");
        assert!(!recovered.stuck.any());
        assert!(alone.measures.get("time_to_rebalanced_s").is_none_or(|one| one.value().is_none()));
    }
}

/// A disk that is replaced before its spare has all: the stripes of a RAID are whole on the spare only at the
/// end, so all of them are decoded again.
#[test]
fn a_new_disk_that_comes_early_takes_the_rest() {
    let text = format!(
        "{CHASSIS}array = \"raid\"\nec = \"3+2\"\nspares = 2\ndisk_capacity = \"20GiB\"\nfail = \"disk=3\""
    );
    let spare = span(20.0 * GIB, 100e6, WRITE_US);
    let early = format!("{text}\nreplace = \"{}s\"", (spare / 2.0) as u64);
    let found = outcome(&early, 1);
    let (full, moved) = (value(&found, "time_to_full_redundancy_s"), value(&found, "time_to_rebalanced_s"));
    assert_eq!(full, moved);
    assert!((1.49..1.51).contains(&(moved / spare)), "{moved} s, a spare alone takes {spare}");
    let Course { recovered, .. } = course_of(&early, 1);
    assert_eq!(recovered.disks[12].2 as f64, 20.0 * GIB);
}

/// Two disks of one array at once: both spares write side by side, and stripes without parity come first.
#[test]
fn two_failures_at_once_take_both_spares() {
    let raid = format!("{CHASSIS}array = \"raid\"\nec = \"8+2\"\nspares = 2\ndisk_capacity = \"16GiB\"\n");
    let one = value(&outcome(&format!("{raid}fail = \"disk=3\""), 1), "transfer_s");
    let two = outcome(&format!("{raid}fail = [\"disk=3\", \"disk=5\"]"), 1);
    assert!((value(&two, "transfer_s") / one - 1.0).abs() < 0.01, "two spares write at once");
    assert_eq!(value(&two, "bytes_rebuilt"), 32.0 * GIB);
    assert_eq!(value(&two, "time_to_two_copies_s"), value(&two, "time_to_full_redundancy_s"));
    let three = outcome(&format!("{raid}fail = [\"disk=3\", \"disk=5\", \"disk=7\"]"), 1);
    assert!(value(&three, "lost_objects") > 0.0, "a third is one too many");
    // Of a dRAID few stripes have lost two parts, and they come first.
    let draid = format!("{CHASSIS}array = \"draid\"\nec = \"4+2\"\nspares = 2\nper_server = \"240GiB\"\n");
    let two = outcome(&format!("{draid}fail = [\"disk=3\", \"disk=5\"]"), 1);
    let (bare, full) = (value(&two, "time_to_two_copies_s"), value(&two, "time_to_full_redundancy_s"));
    // A stripe of a disk is on another with probability 5/11.
    assert!((0.2..0.6).contains(&(bare / full)), "{bare} of {full} s with stripes that have no parity left");
}

/// What has no spare stays as it is, and there is no time until all is back.
#[test]
fn more_failures_than_spares_leave_stripes_without_a_target() {
    for array in ["draid\"\nper_server = \"120GiB", "raid\"\ndisk_capacity = \"10GiB"] {
        let fails = |spares: u32| {
            let text = format!(
                "{}array = \"{array}\"\nec = \"3+2\"\nspares = {spares}\nfail = [\"disk=1\", \"disk=2\"]",
                CHASSIS.replace("12", &(10 + spares).to_string())
            );
            outcome(&text, 1)
        };
        let (short, enough) = (fails(1), fails(2));
        assert!(value(&short, "stuck_objects") > 0.0, "{array}");
        assert_eq!(value(&short, "lost_objects"), 0.0, "{array}");
        assert!(short.measures["time_to_full_redundancy_s"].value().is_none(), "{array}");
        assert_eq!(value(&enough, "stuck_objects"), 0.0, "{array}");
    }
}

/// One chassis is as many servers of one disk, if their network takes no time.
#[test]
fn disks_of_one_server_are_servers_of_one_disk_without_a_network() {
    for rest in [
        "per_server = \"60GiB\"\nec = \"4+2\"\n",
        "per_server = \"60GiB\"\nreplicas = 3\nplacement = \"rendezvous\"\n",
        "per_server = \"60GiB\"\ngroups = 128\nplacement = \"crush-straw2\"\nec = \"4+2\"\n",
    ] {
        let one = format!("{CHASSIS}{rest}fail = \"disk=5\"");
        let many = rest.replace("60GiB", "5GiB");
        let many = format!(
            "servers = 12\ndisk_read = \"200MB/s\"\ndisk_write = \"100MB/s\"\nnic = \"1000GB/s\"\nlatency = \"1ns\"\n{many}fail = \"server=5\""
        );
        for seed in 1..4 {
            let (one, many) = (outcome(&one, seed), outcome(&many, seed));
            for measure in ["bytes_rebuilt", "objects_affected", "bound_rate_bytes_per_s"] {
                let [left, right] = [&one, &many].map(|seen| value(seen, measure));
                assert!((left / right - 1.0).abs() < 1e-9, "{measure}: {left} and {right}: {rest}");
            }
            let [left, right] = [&one, &many].map(|seen| value(seen, "transfer_s"));
            assert!((left / right - 1.0).abs() < 0.02, "{left} s and {right} s: {rest}");
        }
    }
}

/// "When performing a sequential resilver to a distributed hot spare the performance scales with the number
/// of disks divided by the stripe width (D+P)", says the documentation of dRAID. Where disks read as fast as
/// they write, that is n - 1 over k+m if all parts are read; if only k are, it is not.
#[test]
fn a_draid_scales_as_its_documentation_says() {
    let time = |(disks, data): (u32, u32), reads: &str| {
        let text = format!(
            "servers = 1\nfailure_domain = \"disk\"\ndisks_per_server = {disks}\narray = \"draid\"\nec = \"{data}+2\"\n\
             spares = 1\nper_server = \"{}GiB\"\ndisk_read = \"100MB/s\"\ndisk_write = \"100MB/s\"\nreads = \"{reads}\"\n\
             unit = \"16MiB\"",
            200 * disks
        );
        let each = outcome(&text, 1);
        value(&each, "transfer_s") / value(&each, "bytes_rebuilt")
    };
    // So many rows that most permutations are in use: with a tenth of them, the busiest of 48 disks has a
    // third more to do than the mean.
    let follows = |reads: &str| {
        let base = time((24, 4), reads);
        [(24, 16), (48, 4), (12, 4), (36, 8)].into_iter().all(|(disks, data)| {
            let want = f64::from(data + 2) / f64::from(disks - 1) * 23.0 / 6.0;
            (time((disks, data), reads) / base / want - 1.0).abs() < 0.08
        })
    };
    assert!(follows("all"));
    assert!(!follows("needed"), "the check tells them apart");
}

#[test]
fn what_a_chassis_does_not_have_is_refused() {
    let array = format!("{CHASSIS}array = \"draid\"\nec = \"4+2\"\nspares = 1\nper_server = \"1TB\"\n");
    prepare(&array).expect("it is legal");
    for (text, message, hint) in [
        ("servers = 1", "`servers` is 1, but copies must lie", "failure_domain = \"disk\""),
        ("failure_domain = \"disk\"", "there are 64", "set servers = 1"),
        ("array = \"raid\"", "the failure domain is not", "servers = 1"),
        ("spares = 2", "`array` is left out", "array = \"raid\""),
        ("reads = \"all\"", "`array` is left out", "leave it out"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(message) && refusal.contains(hint), "{text}: {refusal}");
    }
    for (line, message) in [
        ("nic = \"1GB/s\"", "`nic` is about a network"),
        ("latency = \"1us\"", "`latency` is about a network"),
        ("uplink = \"1GB/s\"", "`uplink` is about a network"),
        ("client_load = \"10/s\"", "not modelled in one chassis"),
        ("client_depth = 4", "not modelled in one chassis"),
        ("fail = \"server\"", "takes the only server"),
        ("fail = \"rack=0\"", "takes the only server"),
        ("racks = 2", "`racks` is 2"),
        ("placement = \"ring\"", "`placement` is about objects"),
        ("vnodes = 8", "`vnodes` is about objects"),
        ("groups = 8", "`groups` is about objects"),
        ("groups_per_server = 8", "`groups_per_server` is about objects"),
        ("pool = 8", "`pool` is about objects"),
        ("lost_set = \"draw\"", "`lost_set` is about objects"),
        ("objects = 8", "`objects` is about objects"),
        ("order = \"group\"", "`order` is about objects"),
        ("max_backfills = 1", "`max_backfills` is about objects"),
        ("returns = \"1s\"", "`returns` is about objects"),
        ("seeks = \"hdd\"", "`seeks` is about seeks"),
        ("io_cost = \"1ms\"", "`io_cost` is about seeks"),
        ("seek_extent = \"1MiB\"", "`seek_extent` is about seeks"),
        ("preset = \"ceph\"", "which has no arrays"),
        ("disk_capacity = \"10GB\"", "more than 11 disks of 10GB hold"),
        ("[population]\npreset = \"mira\"", "`population` is about objects"),
    ] {
        let refusal = refusal(&format!("{array}{line}"));
        assert!(refusal.contains(message), "{line}: {refusal}");
    }
    for (from, to, message) in [
        ("spares = 1\n", "", "an array without spares"),
        ("ec = \"4+2\"\n", "", "`ec` is left out"),
        ("4+2", "7+4", "at most 3 parity disks"),
        ("4+2", "10+2", "are fewer than 12"),
        ("per_server = \"1TB\"\n", "", "that is not known"),
        ("draid", "raid", "a RAID rebuilds whole disks, full or not"),
        ("array = \"draid\"", "array = \"raid\"\ndisk_capacity = \"1TB\"", "no whole number of arrays of 6"),
    ] {
        let refusal = refusal(&array.replace(from, to));
        assert!(refusal.contains(message), "{to}: {refusal}");
    }
}

/// What is printed as the resolved scenario is legal again, and means the same.
#[test]
fn the_resolved_scenario_runs_again() {
    for text in [
        format!("{CHASSIS}array = \"draid\"\nec = \"4+2\"\nspares = 1\nper_server = \"24GiB\""),
        format!("{CHASSIS}array = \"raid\"\nec = \"4+2\"\nspares = 6\ndisk_capacity = \"1GiB\""),
        format!("{CHASSIS}ec = \"4+2\"\nper_server = \"24GiB\""),
        "servers = 8\nper_server = \"1GiB\"\nplacement = \"ring\"\nvnodes = 9".to_owned(),
    ] {
        let ready = complete(&text);
        let resolved = super::super::generated::resolved(&ready.scenario);
        let (simple, tables): (Vec<_>, Vec<_>) =
            resolved.as_object().expect("a table").iter().partition(|(_, value)| !value.is_object());
        let line = |(key, value): (&String, &serde_json::Value)| format!("{key} = {value}\n");
        let mut again: String = simple.into_iter().map(line).collect();
        for (name, table) in tables {
            again += &format!("[{name}]\n");
            again.extend(table.as_object().expect("a table").iter().map(line));
        }
        assert_eq!(super::super::generated::resolved(&complete(&again).scenario), resolved, "{text}");
        assert_eq!(complete(&again).scenario, ready.scenario, "{text}");
    }
}

/// Keys of placements: each is refused by a placement, or changes what happens there.
#[test]
fn no_placement_ignores_a_key() {
    let keys = [
        ("vnodes", ["vnodes = 4", "vnodes = 32"]),
        ("groups", ["groups = 16", "groups = 40"]),
        ("groups_per_server", ["groups_per_server = 6", "groups_per_server = 15"]),
        ("pool", ["groups = 16\npool = 3", "groups = 16\npool = 4"]),
        ("failure_domain", ["failure_domain = \"server\"", "failure_domain = \"rack\""]),
        ("lost_set", ["lost_set = \"enumerate\"", "lost_set = \"draw\""]),
        ("lost_set", ["groups = 16\nlost_set = \"auto\"", "groups = 16\nlost_set = \"draw\""]),
        ("replicas", ["replicas = 2", "replicas = 3"]),
    ];
    for placement in Algorithm::ALL {
        for (key, lines) in &keys {
            let seen = lines.each_ref().map(|lines| {
                let text = format!(
                    "servers = 8\nracks = 4\nobjects = 400\nfail = \"server=3\"\nplacement = \"{}\"\n{lines}",
                    placement.name()
                );
                let refused = prepare(&text).err().map(|_| refusal(&text));
                match refused {
                    Some(refusal) => Err(refusal),
                    None => Ok(outcome(&text, 1).digest),
                }
            });
            match &seen {
                [Ok(one), Ok(other)] => assert_ne!(one, other, "{} ignores {lines:?}", placement.name()),
                all => {
                    let refusal = all.iter().find_map(|one| one.as_ref().err()).expect("one is refused");
                    let named = refusal.contains(&format!("`{key}`")) || refusal.contains("`placement`");
                    assert!(named, "{}: {refusal}", placement.name());
                }
            }
        }
    }
}

/// Where the parts of a chassis are is what they would be on as many servers, whatever fails.
#[test]
fn a_disk_of_a_chassis_never_writes_what_it_holds() {
    let text = format!("{CHASSIS}per_server = \"24GiB\"\nec = \"4+2\"\nfail = [\"disk=2\", \"disk=9@1s\"]");
    let Course { affected, recovered, .. } = course_of(&text, 2);
    for record in 0..affected.records() {
        let list = &affected.list(record)[..6];
        assert!((1..6).all(|at| !list[..at].contains(&list[at])), "{list:?}");
    }
    assert!(!recovered.stuck.any());
    assert_eq!(recovered.disks[DeviceId(2).index()].2, 0, "a disk that failed wrote nothing");
}
